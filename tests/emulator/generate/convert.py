"""Cases of cvt."""

from fractions import Fraction

import number as n
from case import Elementwise

INT_TYPES = ("u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64")
FLOAT_ROUND = {"rn": "rn", "rz": "rz", "rm": "rm", "rp": "rp"}


def size_of(t):
    return int(t.lstrip("usbf")) // 8


def limits(t):
    bits = 8 * size_of(t)
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if t[0] == "s" else (0, (1 << bits) - 1)


def int_value(t, x):
    bits = 8 * size_of(t)
    return n.to_signed(x, bits) if t[0] == "s" else x & (1 << bits) - 1


def clamp(t, v):
    lo, hi = limits(t)
    return max(lo, min(hi, v))


def register(size):
    """8-bit results come out through a wider register, which shows the extension."""
    return max(size, 4) if size < 4 else size


def int_cases():
    for source in INT_TYPES:
        size = size_of(source)
        e = Elementwise(
            f"cvt_from_{source}",
            f"cvt from {source} to every integer and float type",
            n.int_inputs(8 * size, 1, 48, source),
            (size,),
        )
        for to in INT_TYPES:
            wide = register(size_of(to))
            e.op(
                f"cvt.{to}.{source} $, %0;",
                wide,
                lambda a, t=to, s=source, w=wide: int_value(t, int_value(s, a)) & (1 << 8 * w) - 1,
            )
            if limits(source)[0] < limits(to)[0] or limits(source)[1] > limits(to)[1]:
                e.op(
                    f"cvt.sat.{to}.{source} $, %0;",
                    wide,
                    lambda a, t=to, s=source, w=wide: clamp(t, int_value(s, a)) & (1 << 8 * w) - 1,
                )
        for to in ("f16", "bf16", "f32", "f64"):
            fmt = n.FLOATS[to]
            exact = fmt is n.BF16 and size == 1  # wants a register of .b8
            for mode in n_modes():
                e.op(
                    f"{{ .reg .b8 q; cvt.u8.u16 q, %0; cvt.{mode}.{to}.{source} $, q; }}"
                    if exact
                    else f"cvt.{mode}.{to}.{source} $, %0;",
                    fmt.bits // 8,
                    lambda a, f=fmt, s=source, m=mode: f.encode(
                        int_value(s, a) < 0, Fraction(abs(int_value(s, a))), m
                    ),
                )
        e.write()


def n_modes():
    return ("rn", "rz", "rm", "rp")


def integral(value, negative, mode):
    """A signed Fraction as an integer."""
    v = -value if negative else value
    floor = v.numerator // v.denominator
    if mode == "rmi":
        return floor
    if mode == "rpi":
        return -((-v.numerator) // v.denominator)
    if mode == "rzi":
        return floor if v >= 0 else -((-v.numerator) // v.denominator)
    rest = v - floor
    return floor + (rest > Fraction(1, 2) or (rest == Fraction(1, 2) and floor & 1))


def to_int(fmt, a, t, mode):
    kind, negative, value = fmt.decode(a)
    bits = 8 * size_of(t)
    if kind == "n":
        return 1 << bits - 1 if fmt is n.F64 or bits == 64 else 0
    if kind == "i":
        return limits(t)[0] if negative else limits(t)[1]
    return clamp(t, integral(value, negative, mode))


def integer_edges(fmt):
    """Values around the limits of the integer types, and halves."""
    codes = []
    for e in (-1, 0, 1, 7, 8, 15, 16, 31, 32, 63, 64):
        if -fmt.bias < e <= fmt.bias:
            one = (fmt.bias + e) << fmt.man
            codes += [one - 1, one, one + 1, one | 1 << fmt.man - 1]
    for half in (
        Fraction(1, 2),
        Fraction(3, 2),
        Fraction(5, 2),
        Fraction(255, 2),
        Fraction(511, 2),
    ):
        codes.append(fmt.encode(False, half))
    return [(c | s,) for c in codes for s in (0, fmt.sign_bit)]


def float_to_int_cases():
    for name, fmt in n.FLOATS.items():
        rows = integer_edges(fmt) + n.float_inputs(fmt, 1, 20, "int")
        for mode in ("rni", "rzi", "rmi", "rpi"):
            e = Elementwise(
                f"cvt_{mode}_{name}",
                f"cvt.{mode} from {name} to every integer type",
                rows,
                (fmt.bits // 8,),
            )
            for t in INT_TYPES:
                wide = register(size_of(t))
                exact = fmt is n.BF16 and size_of(t) == 1  # wants a register of .b8
                if fmt is n.BF16 and not exact:
                    wide = size_of(t)
                e.op(
                    f"{{ .reg .b8 q; cvt.{mode}.{t}.{name} q, %0; cvt.{t[0]}32.{t} $, q; }}"
                    if exact
                    else f"cvt.{mode}.{t}.{name} $, %0;",
                    wide,
                    lambda a, f=fmt, t=t, m=mode, w=wide: signed_word(to_int(f, a, t, m), t)
                    & (1 << 8 * w) - 1,
                )
                if fmt is n.F32:
                    e.op(
                        f"cvt.{mode}.ftz.{t}.f32 $, %0;",
                        wide,
                        lambda a, f=fmt, t=t, m=mode, w=wide: signed_word(
                            to_int(f, n.flush(n.F32, a), t, m), t
                        )
                        & (1 << 8 * w) - 1,
                    )
            e.write()


def signed_word(v, t):
    """1 << 63 of a NaN as the signed type sees it, so that it extends rightly."""
    return int_value(t, v)


def converted_nan(to, source, a):
    """From and to f64 the sign and the upper payload bits stay, quieted; bf16 becomes f32 by a
    shift."""
    if (to, source) == (n.F32, n.BF16):
        return a << 16
    if n.F64 not in (to, source):
        return to.nan
    payload, up = a & (1 << source.man) - 1, to.man - source.man
    payload = payload << up if up >= 0 else payload >> -up
    return (to.sign_bit if a & source.sign_bit else 0) | to.inf | 1 << to.man - 1 | payload


def convert(to, source, a, mode, ftz=False, sat=False, satfinite=False, relu=False):
    if ftz and source is n.F32 and to is not n.F16:  # the GPU rounds subnormals to f16 as they are
        a = n.flush(n.F32, a)
    kind, negative, value = source.decode(a)
    if kind == "n":
        if ftz and (to, source) == (n.F64, n.F32):
            a = source.nan
        return 0 if sat else converted_nan(to, source, a)
    if mode.endswith("i") and kind == "f":
        v = integral(value, negative, mode)
        value, mode = Fraction(abs(v)), "rn"
    sign = to.sign_bit if negative else 0
    if kind == "i":
        r = (to.max_code if satfinite or not to.top_is_special else to.inf) | sign
    else:
        r = to.encode(negative, value, mode)
        if satfinite and to.top_is_special and r & ~to.sign_bit == to.inf:
            r -= 1
    if ftz and to is n.F32:
        r = n.flush(n.F32, r)
    if relu and r & to.sign_bit:
        r = 0
    return n.saturate(to, r) if sat else r


def float_to_float_cases():
    for s_name, s in n.FLOATS.items():
        rows = n.float_inputs(s, 1, 72, "float") + integer_edges(s)[:24]
        e = Elementwise(
            f"cvt_float_{s_name}", f"cvt from {s_name} to every float type", rows, (s.bits // 8,)
        )
        for t_name, t in n.FLOATS.items():
            exact = t.bits > s.bits and t.exp >= s.exp and t.man >= s.man
            modes = ("",) if exact else ("rni", "rzi", "rmi", "rpi") if s is t else n_modes()
            for mode in modes:
                for ftz in (
                    (False, True)
                    if n.F32 in (s, t) and (s, t) not in ((n.F32, n.BF16), (n.BF16, n.F32))
                    else (False,)
                ):
                    for sat in (False, True) if t is not n.BF16 else (False,):
                        if sat and n.BF16 in (s, t):
                            continue
                        text = f"cvt{'.' + mode if mode else ''}{'.ftz' if ftz else ''}{'.sat' if sat else ''}"
                        e.op(
                            f"{text}.{t_name}.{s_name} $, %0;",
                            t.bits // 8,
                            lambda a, k=(t, s), m=mode or "rn", f=ftz, x=sat: convert(
                                k[0], k[1], a, m, f, x
                            ),
                        )
        e.write()


def half_pack_cases():
    rows = n.float_inputs(n.F32, 2, 96, "pack")
    for name in ("f16", "bf16"):
        fmt = n.FLOATS[name]
        e = Elementwise(
            f"cvt_{name}x2_f32",
            f"cvt to {name} and {name}x2 with .relu and .satfinite",
            rows,
            (4, 4),
        )
        for mode in ("rn", "rz"):
            for relu in (False, True):
                for fin in (False, True):
                    text = f"cvt.{mode}{'.relu' if relu else ''}{'.satfinite' if fin else ''}"
                    rule = lambda a, f=fmt, m=mode, r=relu, x=fin: convert(
                        f, n.F32, a, m, satfinite=x, relu=r
                    )
                    e.op(
                        f"{text}.{name}x2.f32 $, %0, %1;", 4, lambda a, b, g=rule: g(a) << 16 | g(b)
                    )
                    if relu or fin:
                        e.op(f"{text}.{name}.f32 $, %0;", 2, lambda a, b, g=rule: g(a))
        e.write()


def tf32(a, mode, satfinite=False, relu=False):
    kind, negative, value = n.F32.decode(a)
    if kind == "n":  # rna cuts the payload
        return a & 0xFFFFE000 if mode == "rna" else 0x7FFFE000
    code = (
        n.TF32.inf if kind == "i" else n.TF32.encode(False, value, "rna" if mode == "rna" else mode)
    )
    if satfinite and code == n.TF32.inf:
        code -= 1
    if relu and negative:
        return 0
    return code << 13 | (0x80000000 if negative else 0)


def tf32_cases():
    edges = [
        (c,)
        for c in (
            0x3F800FFF,
            0x3F801000,
            0x3F801001,
            0x3F802FFF,
            0x3F803000,
            0x7F7FF000,
            0x7F7FEFFF,
            0x00000FFF,
            0x00001000,
            0x00001001,
            0x80001000,
            0xBF801000,
        )
    ]
    e = Elementwise(
        "cvt_tf32_f32",
        "cvt.rna.tf32.f32 and the sm_90 modes",
        edges + n.float_inputs(n.F32, 1, 60, "tf32"),
        (4,),
    )
    for mode in ("rna", "rn", "rz"):
        for relu in (False, True) if mode != "rna" else (False,):
            # rna.satfinite needs a newer target
            e.op(
                f"cvt.{mode}{'.relu' if relu else ''}.tf32.f32 $, %0;",
                4,
                lambda a, m=mode, r=relu: tf32(a, m, False, r),
            )
    e.write()


def fp8_cases():
    for fmt in (n.E4M3, n.E5M2):
        name = fmt.name + "x2"
        points = []
        for code in range(fmt.max_code + 1):
            v, w = fmt.magnitude(code), fmt.magnitude(code + 1)
            points += [
                n.F32.encode(False, v),
                n.F32.encode(False, (v + w) / 2),
                n.F32.encode(False, (v + w) / 2) + 1,
            ]
        points = [p | (0x80000000 if i & 1 else 0) for i, p in enumerate(points)]
        points += [row[0] for row in n.float_inputs(n.F32, 1, 60, "fp8")]
        rows = [(points[i], points[-1 - i]) for i in range(min(len(points), 480))]
        e = Elementwise(f"cvt_{name}_f32", f"cvt to {name} from f32", rows, (4, 4))
        for relu in (False, True):
            rule = lambda a, r=relu: convert(fmt, n.F32, a, "rn", satfinite=True, relu=r)
            e.op(
                f"cvt.rn.satfinite{'.relu' if relu else ''}.{name}.f32 $, %0, %1;",
                2,
                lambda a, b, g=rule: g(a) << 8 | g(b),
            )
        e.write()
        half = [n.F16.encode(bool(p >> 31), n.F32.decode(p)[2]) for p in points[:256]]
        half += [row[0] for row in n.float_inputs(n.F16, 1, 60, "fp8")]
        rows = [(half[i] << 16 | half[-1 - i],) for i in range(len(half))]
        e = Elementwise(f"cvt_{name}_f16x2", f"cvt to {name} from f16x2", rows, (4,))
        for relu in (False, True):
            rule = lambda a, r=relu: convert(fmt, n.F16, a, "rn", satfinite=True, relu=r)
            e.op(
                f"cvt.rn.satfinite{'.relu' if relu else ''}.{name}.f16x2 $, %0;",
                2,
                lambda a, g=rule: g(a >> 16) << 8 | g(a & 0xFFFF),
            )
        e.write()
        e = Elementwise(
            f"cvt_f16x2_{name}",
            f"cvt to f16x2 from {name}",
            [(i | (255 - i) << 8,) for i in range(256)],
            (2,),
        )
        for relu in (False, True):
            rule = lambda a, r=relu: convert(n.F16, fmt, a, "rn", relu=r)
            e.op(
                f"cvt.rn{'.relu' if relu else ''}.f16x2.{name} $, %0;",
                4,
                lambda a, g=rule: g(a >> 8) << 16 | g(a & 255),
            )
        e.write()


def integer_pack_cases():
    e = Elementwise(
        "cvt_pack", "cvt.pack: saturation and placement", n.int_inputs(32, 3, 96, "pack"), (4, 4, 4)
    )
    for t, bits in (("u16", 16), ("s16", 16), ("u8", 8), ("s8", 8)):
        lo, hi = (-(1 << bits - 1), (1 << bits - 1) - 1) if t[0] == "s" else (0, (1 << bits) - 1)

        def rule(a, b, c, lo=lo, hi=hi, bits=bits):
            x, y = (max(lo, min(hi, n.to_signed(v, 32))) & (1 << bits) - 1 for v in (a, b))
            return (c << 2 * bits | x << bits | y) & 0xFFFFFFFF if bits < 16 else x << bits | y

        e.op(
            f"cvt.pack.sat.{t}.s32{'.b32' if bits < 16 else ''} $, %0, %1{', %2' if bits < 16 else ''};",
            4,
            rule,
        )
    e.write()


def generate():
    int_cases()
    float_to_int_cases()
    float_to_float_cases()
    half_pack_cases()
    tf32_cases()
    fp8_cases()
    integer_pack_cases()
