"""Cases of floating-point instructions: f32, f64, f16, bf16 and packed pairs."""

import number as n
from case import Elementwise

MODES = ("rn", "rz", "rm", "rp")
BINARY = {"add": n.add, "sub": n.sub, "mul": n.mul}
COUNT = 64


def f32_rule(function, ftz, sat):
    def rule(*operands):
        if ftz:
            operands = [n.flush(n.F32, x) for x in operands]
        r = function(*operands)
        if ftz:
            r = n.flush(n.F32, r)
        return n.saturate(n.F32, r) if sat else r

    return rule


def f32_cases():
    for name, function in BINARY.items():
        e = Elementwise(
            f"{name}_f32",
            f"{name}.f32: rounding modes, .ftz, .sat",
            n.float_inputs(n.F32, 2, COUNT, name),
            (4, 4),
        )
        for mode in MODES:
            for ftz in (False, True):
                for sat in (False, True):
                    suffix = f".{mode}" + (".ftz" if ftz else "") + (".sat" if sat else "")
                    rule = f32_rule(lambda a, b, m=mode: function(n.F32, a, b, m), ftz, sat)
                    e.op(f"{name}{suffix}.f32 $, %0, %1;", 4, rule)
        e.op(f"{name}.f32 $, %0, %1;", 4, lambda a, b: function(n.F32, a, b))
        e.write()
    e = Elementwise(
        "fma_f32",
        "fma.f32 and mad.f32: rounding modes, .ftz, .sat",
        n.float_inputs(n.F32, 3, COUNT, 0),
        (4,) * 3,
    )
    for mode in MODES:
        for ftz in (False, True):
            for sat in (False, True):
                suffix = f".{mode}" + (".ftz" if ftz else "") + (".sat" if sat else "")
                rule = f32_rule(lambda a, b, c, m=mode: n.fma(n.F32, a, b, c, m), ftz, sat)
                e.op(f"fma{suffix}.f32 $, %0, %1, %2;", 4, rule)
    e.op("mad.rn.f32 $, %0, %1, %2;", 4, lambda a, b, c: n.fma(n.F32, a, b, c))
    e.write()


def f32_division_cases():
    e = Elementwise(
        "div_f32", "div.f32 in all rounding modes", n.float_inputs(n.F32, 2, COUNT, "div"), (4, 4)
    )
    r = Elementwise(
        "rcp_sqrt_f32",
        "rcp.f32 and sqrt.f32 in all rounding modes",
        n.float_inputs(n.F32, 1, COUNT, "rcp"),
        (4,),
    )
    one = n.F32.bias << 23
    for mode in MODES:
        for ftz in (False, True):
            suffix = f".{mode}" + (".ftz" if ftz else "")
            e.op(
                f"div{suffix}.f32 $, %0, %1;",
                4,
                f32_rule(lambda a, b, m=mode: n.div(n.F32, a, b, m), ftz, False),
            )
            r.op(
                f"rcp{suffix}.f32 $, %0;",
                4,
                f32_rule(lambda a, m=mode: n.div(n.F32, one, a, m), ftz, False),
            )
            r.op(
                f"sqrt{suffix}.f32 $, %0;",
                4,
                f32_rule(lambda a, m=mode: n.sqrt(n.F32, a, m), ftz, False),
            )
    e.write()
    r.write()


def f64_cases():
    e = Elementwise(
        "arith_f64",
        "add, sub, mul, div of f64 in all rounding modes",
        n.float_inputs(n.F64, 2, 64, 0),
        (8, 8),
    )
    f = Elementwise(
        "fma_f64",
        "fma.f64 and mad.f64 in all rounding modes",
        n.float_inputs(n.F64, 3, 64, 0),
        (8,) * 3,
    )
    r = Elementwise(
        "rcp_sqrt_f64",
        "rcp.f64 and sqrt.f64 in all rounding modes",
        n.float_inputs(n.F64, 1, 64, 0),
        (8,),
    )
    one = n.F64.bias << 52
    for mode in MODES:
        for name, function in (*BINARY.items(), ("div", n.div)):
            e.op(
                f"{name}.{mode}.f64 $, %0, %1;",
                8,
                lambda a, b, m=mode, g=function: g(n.F64, a, b, m),
            )
        f.op(f"fma.{mode}.f64 $, %0, %1, %2;", 8, lambda a, b, c, m=mode: n.fma(n.F64, a, b, c, m))
        f.op(f"mad.{mode}.f64 $, %0, %1, %2;", 8, lambda a, b, c, m=mode: n.fma(n.F64, a, b, c, m))
        r.op(f"rcp.{mode}.f64 $, %0;", 8, lambda a, m=mode: n.div(n.F64, one, a, m))
        r.op(f"sqrt.{mode}.f64 $, %0;", 8, lambda a, m=mode: n.sqrt(n.F64, a, m))
    for x in (e, f, r):
        x.write()


def with_sign(fmt, a, result):
    """abs and neg are additions to the GPU: of a NaN comes the NaN of an operation."""
    return n.nan_of(fmt, a) if fmt.decode(a)[0] == "n" else result


def simple_f32_f64_cases():
    """min, max, abs, neg, copysign, testp."""
    e = Elementwise(
        "minmax_f32",
        "min.f32 and max.f32 with .ftz, .NaN, .xorsign.abs",
        n.float_inputs(n.F32, 2, COUNT, "min"),
        (4, 4),
    )
    for name in ("min", "max"):
        for ftz in ("", ".ftz"):
            for nan in ("", ".NaN"):
                for xorsign in ("", ".xorsign.abs"):

                    def rule(a, b, k=(name == "max", ftz, nan, xorsign)):
                        if k[1]:
                            a, b = n.flush(n.F32, a), n.flush(n.F32, b)
                        return n.minmax(n.F32, a, b, k[0], bool(k[2]), bool(k[3]))

                    e.op(f"{name}{ftz}{nan}{xorsign}.f32 $, %0, %1;", 4, rule)
    e.write()
    e = Elementwise(
        "minmax_f64", "min.f64, max.f64, copysign.f64", n.float_inputs(n.F64, 2, 64, "min"), (8, 8)
    )
    e.op("min.f64 $, %0, %1;", 8, lambda a, b: n.minmax(n.F64, a, b, False))
    e.op("max.f64 $, %0, %1;", 8, lambda a, b: n.minmax(n.F64, a, b, True))
    e.op("copysign.f64 $, %0, %1;", 8, lambda a, b: (a & 1 << 63) | (b & ~(1 << 63)))
    e.op("abs.f64 $, %0;", 8, lambda a, b: with_sign(n.F64, a, a & ~(1 << 63)))
    e.op("neg.f64 $, %0;", 8, lambda a, b: with_sign(n.F64, a, a ^ 1 << 63))
    e.write()
    e = Elementwise(
        "sign_f32",
        "abs.f32, neg.f32, copysign.f32",
        n.float_inputs(n.F32, 2, COUNT, "sign"),
        (4, 4),
    )
    e.op("abs.f32 $, %0;", 4, lambda a, b: with_sign(n.F32, a, a & 0x7FFFFFFF))
    e.op("neg.f32 $, %0;", 4, lambda a, b: with_sign(n.F32, a, a ^ 0x80000000))
    e.op("abs.ftz.f32 $, %0;", 4, lambda a, b: with_sign(n.F32, a, n.flush(n.F32, a) & 0x7FFFFFFF))
    e.op("neg.ftz.f32 $, %0;", 4, lambda a, b: with_sign(n.F32, a, n.flush(n.F32, a) ^ 0x80000000))
    e.op("copysign.f32 $, %0, %1;", 4, lambda a, b: (a & 0x80000000) | (b & 0x7FFFFFFF))
    e.write()


def testp_cases():
    for fmt, size in ((n.F32, 4), (n.F64, 8)):
        e = Elementwise(
            f"testp_{fmt.name}", f"testp.{fmt.name}", n.float_inputs(fmt, 1, 64, "testp"), (size,)
        )
        subnormal = lambda a, f=fmt: f.decode(a)[0] == "f" and 0 < f.decode(a)[2] < f.magnitude(
            1 << f.man
        )
        tests = {
            "finite": lambda a, f=fmt: f.decode(a)[0] == "f",
            "infinite": lambda a, f=fmt: f.decode(a)[0] == "i",
            "number": lambda a, f=fmt: f.decode(a)[0] != "n",
            "notanumber": lambda a, f=fmt: f.decode(a)[0] == "n",
            "normal": lambda a, f=fmt: f.decode(a)[0] == "f"
            and not subnormal(a),  # zero counts as normal
            "subnormal": subnormal,
        }
        for name, test in tests.items():
            e.op(
                f"testp.{name}.{fmt.name} %q, %0;\nselp.b32 $, 1, 0, %q;",
                4,
                lambda a, t=test: int(t(a)),
            )
        e.write()


COMPARISONS = (
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "equ",
    "neu",
    "ltu",
    "leu",
    "gtu",
    "geu",
    "num",
    "nan",
)


def compare(fmt, a, b, op):
    """A comparison as setp defines it; the u forms hold for NaN."""
    x, y = fmt.decode(a), fmt.decode(b)
    unordered = "n" in (x[0], y[0])
    if op in ("num", "nan"):
        return unordered == (op == "nan")
    if unordered:
        return op.endswith("u") or op == "ne" and False
    big = 10**400
    u, v = (-1 if x[1] else 1) * (big if x[0] == "i" else x[2]), (-1 if y[1] else 1) * (
        big if y[0] == "i" else y[2]
    )
    return {"eq": u == v, "ne": u != v, "lt": u < v, "le": u <= v, "gt": u > v, "ge": u >= v}[
        op.removesuffix("u")
    ]


def setp_cases():
    for fmt, size in ((n.F32, 4), (n.F64, 8), (n.F16, 2), (n.BF16, 2)):
        e = Elementwise(
            f"setp_{fmt.name}",
            f"setp.{fmt.name}: every comparison",
            n.float_inputs(fmt, 2, 64, "setp"),
            (size, size),
        )
        for op in COMPARISONS:
            e.op(
                f"setp.{op}.{fmt.name} %q, %0, %1;\nselp.b32 $, 1, 0, %q;",
                4,
                lambda a, b, f=fmt, o=op: int(compare(f, a, b, o)),
            )
        if fmt is n.F32:
            e.op(
                "setp.lt.ftz.f32 %q, %0, %1;\nselp.b32 $, 1, 0, %q;",
                4,
                lambda a, b: int(compare(n.F32, n.flush(n.F32, a), n.flush(n.F32, b), "lt")),
            )
            e.op(
                "setp.lt.f32 %q|%q2, %0, %1;\nselp.b32 $, 1, 0, %q2;",
                4,
                lambda a, b: int(not compare(n.F32, a, b, "lt")),
            )
            e.op(
                "set.gt.u32.f32 $, %0, %1;",
                4,
                lambda a, b: 0xFFFFFFFF if compare(n.F32, a, b, "gt") else 0,
            )
            e.op(
                "set.gt.f32.f32 $, %0, %1;",
                4,
                lambda a, b: 0x3F800000 if compare(n.F32, a, b, "gt") else 0,
            )
        e.write()


def setp_packed_cases():
    """setp of two halves: p is of the lower ones, q of the upper ones."""
    for fmt, name in ((n.F16, "f16x2"), (n.BF16, "bf16x2")):
        low, high = (n.float_inputs(fmt, 2, 64, f"setp {half}") for half in ("low", "high"))
        rows = [(a | c << 16, b | d << 16) for (a, b), (c, d) in zip(low, high)]
        e = Elementwise(f"setp_{name}", f"setp.{name}: p and q", rows, (4, 4))
        both = ".reg .b32 %y;"

        def rule(op, with_p=None, flush=False):
            def f(a, b):
                bits = 0
                for i in range(2):
                    x, y = a >> 16 * i & 0xFFFF, b >> 16 * i & 0xFFFF
                    if flush:
                        x, y = n.flush(fmt, x), n.flush(fmt, y)
                    t = compare(fmt, x, y, op)
                    bits |= int(with_p(t, a < b) if with_p else t) << i
                return bits

            return f

        selects = "\nselp.b32 $, 1, 0, %q;\nselp.b32 %y, 2, 0, %q2;\nor.b32 $, $, %y;"
        for op in COMPARISONS:
            e.op(f"setp.{op}.{name} %q|%q2, %0, %1;{selects}", 4, rule(op), both)
        for name_of, f in (
            ("and", lambda t, p: t and p),
            ("or", lambda t, p: t or p),
            ("xor", lambda t, p: t != p),
        ):
            e.op(
                f"setp.lt.u32 %q3, %0, %1;\nsetp.le.{name_of}.{name} %q|%q2, %0, %1, %q3;{selects}",
                4,
                rule("le", f),
                both + "\n.reg .pred %q3;",
            )
        if fmt is n.F16:
            e.op(f"setp.gt.ftz.{name} %q|%q2, %0, %1;{selects}", 4, rule("gt", flush=True), both)
        e.write()


def half_rule(fmt, function, ftz=False, sat=False, relu=False):
    def rule(*operands):
        if ftz:
            operands = [n.flush(fmt, x) for x in operands]
        r = function(*operands)
        if ftz:
            r = n.flush(fmt, r)
        if sat:
            return n.saturate(fmt, r)
        return 0 if relu and r & 0x8000 and fmt.decode(r)[0] != "n" else r

    return rule


def packed(rule):
    """The rule on both halves."""
    return lambda *x: rule(*(v & 0xFFFF for v in x)) | rule(*(v >> 16 for v in x)) << 16


def half_forms(fmt):
    """(mnemonic with modifiers, operand count, scalar rule)"""
    f16 = fmt is n.F16
    for name, function in BINARY.items():
        plain = lambda a, b, g=function: g(fmt, a, b)
        yield f"{name}.rn", 2, half_rule(fmt, plain)
        if f16:
            yield f"{name}.ftz", 2, half_rule(fmt, plain, ftz=True)
            yield f"{name}.sat", 2, half_rule(fmt, plain, sat=True)
            yield f"{name}.rn.ftz.sat", 2, half_rule(fmt, plain, ftz=True, sat=True)
    fused = lambda a, b, c: n.fma(fmt, a, b, c)
    yield "fma.rn", 3, half_rule(fmt, fused)
    yield "fma.rn.relu", 3, half_rule(fmt, fused, relu=True)
    if f16:
        yield "fma.rn.ftz", 3, half_rule(fmt, fused, ftz=True)
        yield "fma.rn.sat", 3, half_rule(fmt, fused, sat=True)
        yield "fma.rn.ftz.relu", 3, half_rule(fmt, fused, ftz=True, relu=True)
    for name in ("min", "max"):
        for nan in ("", ".NaN"):
            for xorsign in ("", ".xorsign.abs"):
                for ftz in ("", ".ftz") if f16 else ("",):
                    rule = lambda a, b, k=(name == "max", bool(nan), bool(xorsign)): n.minmax(
                        fmt, a, b, *k
                    )
                    yield f"{name}{ftz}{nan}{xorsign}", 2, half_rule(fmt, rule, ftz=bool(ftz))
    yield "neg", 1, lambda a: with_sign(fmt, a, a ^ 0x8000)
    yield "abs", 1, lambda a: with_sign(fmt, a, a & 0x7FFF)


def half_cases():
    for fmt in (n.F16, n.BF16):
        rows = n.float_inputs(fmt, 3, COUNT, "half")
        pairs = [
            tuple(x | y << 16 for x, y in zip(r, s)) for r, s in zip(rows, rows[1:] + rows[:1])
        ]
        for group in ("add", "sub", "mul", "fma", "min", "max", "neg_abs"):
            scalar = Elementwise(f"{group}_{fmt.name}", f"{group}.{fmt.name}", rows, (2, 2, 2))
            double = Elementwise(f"{group}_{fmt.name}x2", f"{group}.{fmt.name}x2", pairs, (4, 4, 4))
            for text, count, rule in half_forms(fmt):
                if text.split(".")[0] not in group.split("_"):
                    continue
                operands = ", ".join(f"%{i}" for i in range(count))
                apply = lambda *x, r=rule, c=count: r(*x[:c])
                scalar.op(f"{text}.{fmt.name} $, {operands};", 2, apply)
                double.op(f"{text}.{fmt.name}x2 $, {operands};", 4, packed(apply))
            scalar.write()
            double.write()


def generate():
    f32_cases()
    f32_division_cases()
    f64_cases()
    simple_f32_f64_cases()
    testp_cases()
    setp_cases()
    setp_packed_cases()
    half_cases()
