"""Cases of approximations (where the result is exact on any hardware), narrow formats, and rare
forms."""

import random

import floating
import memory
import number as n
from case import Case, Elementwise
from convert import convert
from integer import lop3
from warp import Warpwise, rows, shuffle

INF, NAN, ONE = 0x7F800000, 0x7FFFFFFF, 0x3F800000


def f32(x):
    """A small number that f32 holds exactly."""
    return n.F32.encode(x < 0, n.Fraction(abs(x)))


def exact_points(name, points, op, fmt=n.F32, size=4):
    """points: {input bits: output bits} where no approximation can differ."""
    e = Elementwise(name, f"{op} at its exact points", [(a,) for a in points], (size,))
    e.op(f"{op}.{fmt.name} $, %0;", size, lambda a: points[a])
    return e


def approximation_cases():
    special = {0: ONE, 0x80000000: ONE, INF: INF, 0xFF800000: 0, 0x7FC00001: NAN}
    points = {
        **special,
        **{f32(i): f32(n.Fraction(2) ** i) for i in (-126, -20, -1, 1, 2, 10, 127)},
        f32(128): INF,
        f32(-1000): 0,
    }
    exact_points("ex2_approx", points, "ex2.approx").op(
        "ex2.approx.ftz.f32 $, %0;", 4, lambda a: points[a]
    ).write()
    points = {0: 0xFF800000, 0x80000000: 0xFF800000, INF: INF, 0xBF800000: NAN, NAN: NAN, ONE: 0}
    points.update({f32(n.Fraction(2) ** i): f32(i) for i in (1, 2, 10, 127)})
    exact_points("lg2_approx", points, "lg2.approx").op(
        "lg2.approx.ftz.f32 $, %0;", 4, lambda a: points[a]
    ).write()
    points = {0: INF, 0x80000000: 0xFF800000, INF: 0, 0xFF800000: 0x80000000, NAN: NAN}
    points.update(
        {
            f32(n.Fraction(2) ** i): f32(n.Fraction(2) ** -i)
            for i in (-126, -20, -1, 0, 1, 2, 10, 126)
        }
    )
    e = exact_points("rcp_approx", points, "rcp.approx").op(
        "rcp.approx.ftz.f32 $, %0;", 4, lambda a: points[a]
    )
    e.write()
    points = {0: INF, 0x80000000: 0xFF800000, INF: 0, 0xBF800000: NAN, NAN: NAN}
    points.update(
        {f32(n.Fraction(4) ** i): f32(n.Fraction(2) ** -i) for i in (-63, -20, -1, 0, 1, 2, 10, 63)}
    )
    exact_points("rsqrt_approx", points, "rsqrt.approx").op(
        "rsqrt.approx.ftz.f32 $, %0;", 4, lambda a: points[a]
    ).write()
    points = {0: 0, 0x80000000: 0x80000000, INF: INF, 0xBF800000: NAN, NAN: NAN}
    points.update(
        {f32(n.Fraction(4) ** i): f32(n.Fraction(2) ** i) for i in (-63, -20, -1, 0, 1, 2, 10, 63)}
    )
    exact_points("sqrt_approx", points, "sqrt.approx").op(
        "sqrt.approx.ftz.f32 $, %0;", 4, lambda a: points[a]
    ).write()
    exact_points(
        "sin_approx", {0: 0, 0x80000000: 0x80000000, INF: NAN, NAN: NAN}, "sin.approx"
    ).write()
    exact_points("cos_approx", {0: ONE, 0x80000000: ONE, INF: NAN, NAN: NAN}, "cos.approx").write()
    points = {0: 0, 0x80000000: 0x80000000, INF: ONE, 0xFF800000: 0xBF800000, NAN: NAN}
    exact_points("tanh_approx", points, "tanh.approx").write()
    half_points()
    rows_ = [(f32(a), f32(b)) for a, b in ((8, 2), (-12, 4), (1, 8), (0, 5), (-64, 16))]
    e = Elementwise("div_approx", "div.approx and div.full at exact points", rows_, (4, 4))
    for text in ("approx", "approx.ftz", "full", "full.ftz"):
        e.op(f"div.{text}.f32 $, %0, %1;", 4, lambda a, b: n.div(n.F32, a, b))
    e.write()
    one = 0x3FF << 52
    points = {one: one, 2 * one - one + (1 << 52): one - (1 << 52), 0: 0x7FF << 52, 0x7FF << 52: 0}
    e = exact_points("rcp_approx_f64", points, "rcp.approx.ftz", n.F64, 8)
    e.write()
    points = {one: one, 0x401 << 52: 0x3FE << 52, 0: 0x7FF << 52, 0x7FF << 52: 0}
    e = exact_points("rsqrt_approx_f64", points, "rsqrt.approx.ftz", n.F64, 8)
    e.op("rsqrt.approx.f64 $, %0;", 8, lambda a: points[a])
    e.write()


def half_points():
    for fmt in (n.F16, n.BF16):
        one = fmt.bias << fmt.man
        ftz = ".ftz" if fmt is n.BF16 else ""
        exp = {0: one, 0x8000: one, fmt.inf: fmt.inf, fmt.inf | 0x8000: 0, 0x7FFF: 0x7FFF}
        exp.update(
            {
                fmt.encode(i < 0, n.Fraction(abs(i))): fmt.encode(False, n.Fraction(2) ** i)
                for i in (-10, -1, 1, 3, 15)
            }
        )
        tanh = {0: 0, 0x8000: 0x8000, fmt.inf: one, fmt.inf | 0x8000: one | 0x8000, 0x7FFF: 0x7FFF}
        for name, points in (("ex2", exp), ("tanh", tanh)):
            mods = ".approx" + (ftz if name == "ex2" else "")
            keys = list(points)
            pairs = [(a | b << 16,) for a, b in zip(keys, keys[1:] + keys[:1])]
            exact_points(f"{name}_approx_{fmt.name}", points, name + mods, fmt, 2).write()
            e = Elementwise(
                f"{name}_approx_{fmt.name}x2",
                f"{name}{mods}.{fmt.name}x2 at its exact points",
                pairs,
                (4,),
            )
            e.op(
                f"{name}{mods}.{fmt.name}x2 $, %0;",
                4,
                lambda a, p=points: p[a & 0xFFFF] | p[a >> 16] << 16,
            )
            e.write()


def set_cases():
    for fmt, size in ((n.F64, 8), (n.F16, 2), (n.BF16, 2)):
        e = Elementwise(
            f"set_{fmt.name}",
            f"set with {fmt.name} operands",
            n.float_inputs(fmt, 2, 48, "set"),
            (size, size),
        )
        truth = lambda a, b, f=fmt: floating.compare(f, a, b, "gt")
        e.op(
            f"set.gt.u32.{fmt.name} $, %0, %1;",
            4,
            lambda a, b, t=truth: 0xFFFFFFFF if t(a, b) else 0,
        )
        e.op(
            f"set.leu.s32.{fmt.name} $, %0, %1;",
            4,
            lambda a, b, f=fmt: 0xFFFFFFFF if floating.compare(f, a, b, "leu") else 0,
        )
        if fmt is n.F64:
            e.op("set.gt.f32.f64 $, %0, %1;", 4, lambda a, b, t=truth: ONE if t(a, b) else 0)
        else:
            e.op(
                f"set.gt.{fmt.name}.{fmt.name} $, %0, %1;",
                2,
                lambda a, b, t=truth, f=fmt: f.bias << f.man if t(a, b) else 0,
            )
            e.op(
                f"set.gt.u16.{fmt.name} $, %0, %1;",
                2,
                lambda a, b, t=truth: 0xFFFF if t(a, b) else 0,
            )
        e.write()
    for fmt in (n.F16, n.BF16):
        one = fmt.bias << fmt.man
        base = n.float_inputs(fmt, 2, 48, "set")
        pairs = [
            tuple(x | y << 16 for x, y in zip(r, s)) for r, s in zip(base, base[1:] + base[:1])
        ]
        e = Elementwise(f"set_{fmt.name}x2", f"set.{fmt.name}x2", pairs, (4, 4))
        for op in ("eq", "lt", "geu", "nan"):
            rule = lambda a, b, o=op, f=fmt, v=one: v if floating.compare(f, a, b, o) else 0
            e.op(f"set.{op}.{fmt.name}x2.{fmt.name}x2 $, %0, %1;", 4, floating.packed(rule))
        for op in ("gt", "neu"):
            rule = lambda a, b, o=op, f=fmt: 0xFFFF if floating.compare(f, a, b, o) else 0
            e.op(f"set.{op}.u32.{fmt.name}x2 $, %0, %1;", 4, floating.packed(rule))
        e.write()
    e = Elementwise(
        "set_bits",
        "set.eq and set.ne of bits, with a predicate",
        n.int_inputs(32, 2, 24, "set") + [(7, 7)] * 4,
        (4, 4),
    )
    e.op("set.eq.u32.b32 $, %0, %1;", 4, lambda a, b: 0xFFFFFFFF if a == b else 0)
    e.op("set.ne.f32.b32 $, %0, %1;", 4, lambda a, b: ONE if a != b else 0)
    e.op(
        "setp.lt.u32 %q, %0, 100;\nset.eq.or.s32.b32 $, %0, %1, %q;",
        4,
        lambda a, b: 0xFFFFFFFF if a == b or a < 100 else 0,
    )
    e.op(
        "setp.lt.u32 %q, %0, 100;\nset.ne.and.u32.b32 $, %0, %1, !%q;",
        4,
        lambda a, b: 0xFFFFFFFF if a != b and a >= 100 else 0,
    )
    e.write()


def word_cases():
    data = n.int_inputs(32, 3, 48, "fns")
    e = Elementwise("lop3_pred", "lop3 with a predicate result", data, (4,) * 3)
    for table in (0x80, 0x01, 0x96):
        for op, combine in (("or", lambda r, q: r != 0 or q), ("and", lambda r, q: r != 0 and q)):
            e.op(
                f"setp.lt.u32 %q2, %0, %1;\nlop3.{op}.b32 $|%q, %0, %1, %2, {table}, %q2;\n@%q not.b32 $, $;",
                4,
                lambda a, b, c, t=table, f=combine: lop3(a, b, c, t)
                ^ (0xFFFFFFFF if f(lop3(a, b, c, t), a < b) else 0),
            )
    e.write()

    def fns(mask, base, offset):
        base, offset = base & 31, n.to_signed(offset, 32)
        if offset == 0:
            return base if mask >> base & 1 else 0xFFFFFFFF
        step, found, pos = (1 if offset > 0 else -1), 0, base
        while 0 <= pos < 32:
            found += mask >> pos & 1
            if found == abs(offset) and mask >> pos & 1:
                return pos
            pos += step
        return 0xFFFFFFFF

    offsets = (0, 1, 2, 5, -1, -2, -7, 16, 31)
    e = Elementwise(
        "fns",
        "find the n-th set bit",
        [(r[0], i * 7 % 32, offsets[i % 9] & 0xFFFFFFFF) for i, r in enumerate(data)],
        (4,) * 3,
    )
    e.op("fns.b32 $, %0, %1, %2;", 4, fns)
    e.write()


def old_warp_cases():
    """Without .sync: targets before sm_70 only."""
    e = Warpwise("shfl_vote_old", "shfl and vote without .sync", rows("old", small=True), (4,))
    e.case.version, e.case.target = "6.0", "sm_60"
    for mode, b, c in (("up", 3, 0), ("down", 5, 31), ("bfly", 9, 31), ("idx", 4, 31)):
        e.op(
            f"shfl.{mode}.b32 $|%q, %0, {b}, {c};",
            4,
            lambda w, l, k=(mode, b, c): w[shuffle(k[0], l, *k[1:])[0]][0],
        )
    flag = "setp.ne.u32 %q2, %0, 0;\n"
    e.op(
        flag + "vote.all.pred %q, %q2;\nselp.b32 $, 1, 0, %q;",
        4,
        lambda w, l: int(all(x[0] for x in w)),
    )
    e.op(
        flag + "vote.any.pred %q, %q2;\nselp.b32 $, 1, 0, %q;",
        4,
        lambda w, l: int(any(x[0] for x in w)),
    )
    e.op(
        flag + "vote.ballot.b32 $, %q2;",
        4,
        lambda w, l: sum(int(x[0] != 0) << i for i, x in enumerate(w)),
    )
    e.write()


def memory_forms():
    rng = random.Random("forms")
    data = [rng.randrange(1 << 32) for _ in range(128)]
    case = Case("cp_async_ignore", "cp.async with an ignore-src predicate", block=32)
    case.buffer("in", "in0", 4, data)
    case.buffer("out", "out0", 4, [0 if i // 4 % 3 == 0 else w for i, w in enumerate(data)])
    body = [
        "    .shared .align 16 .b8 buffer[512];",
        "    mov.u32 %s, buffer;",
        "    mad.lo.u32 %s, %t, 16, %s;",
    ] + memory.pointer("in0", 16)
    body += (
        [
            "    rem.u32 %a, %t, 3;",
            "    setp.eq.u32 %q, %a, 0;",
            "    cp.async.cg.shared.global [%s], [%p], 16, %q;",
            "    cp.async.wait_all;",
            "    ld.shared.v2.b64 {%x, %y}, [%s];",
        ]
        + memory.pointer("out0", 16)
        + ["    st.global.v2.b64 [%p], {%x, %y};"]
    )
    memory.finish(case, body)
    case = Case(
        "fence_forms",
        "fences of tensor maps and of restricted scope, discard, applypriority",
        block=32,
    )
    case.version = "8.6"
    case.buffer("in", "in0", 4, data)
    case.buffer("inout", "scratch", 4, [0] * 64)
    case.buffer("out", "out0", 4, data[:32])
    body = memory.pointer("in0", 4) + [
        "    ld.param.u64 %x, [in0];",
        "    ld.param.u64 %y, [scratch];",
        "    fence.acquire.sync_restrict::shared::cluster.cluster;",
        "    fence.release.sync_restrict::shared::cta.cluster;",
        "    fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster;",
        "    fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster;",
        "    fence.proxy.tensormap::generic.release.gpu;",
        "    fence.proxy.tensormap::generic.acquire.gpu [%x], 128;",
        "    applypriority.global.L2::evict_normal [%x], 128;",
        "    discard.global.L2 [%y], 128;",
        "    ld.global.b32 %a, [%p];",
    ]
    memory.finish(case, body + memory.pointer("out0", 4) + ["    st.global.b32 [%p], %a;"])
    for t in ("f16", "bf16", "f16x2", "bf16x2"):
        size, v = memory.size_of(t), 4
        for op in ("add", "min", "max"):
            old, x = memory.values(t, 64, op), memory.values(t, 64, op + "x")
            after = [memory.atomic(op, t, a, b) for a, b in zip(old, x)]
            case = Case(f"atom_vector_{op}_{t}", f"atom and red .v4.{t} {op}", block=16)
            case.buffer("in", "in0", size, x)
            case.buffer("inout", "memory", size, old, after)
            case.buffer("inout", "memory2", size, old, after)
            case.buffer("out", "before", size, old)
            names = lambda r: "{" + ", ".join(f"%{r}{i}" for i in range(v)) + "}"
            b = f"b{8 * size}"
            body = (
                [f"    .reg .{b} %v<4>, %w<4>;"]
                + memory.pointer("in0", size * v)
                + [f"    ld.global.v4.{b} {names('v')}, [%p];"]
            )
            body += memory.pointer("memory", size * v) + [
                f"    atom.global.v4.{t}.{op}.noftz {names('w')}, [%p], {names('v')};"
            ]
            body += memory.pointer("memory2", size * v) + [
                f"    red.global.v4.{t}.{op}.noftz [%p], {names('v')};"
            ]
            memory.finish(
                case,
                body
                + memory.pointer("before", size * v)
                + [f"    st.global.v4.{b} [%p], {names('w')};"],
            )


# ---- sm_100 forms: no GPU of ours runs them
# --------------------------------------------------------------

E2M3 = n.Format("e2m3", 2, 3, 0x1F, False, 0x1F)
E3M2 = n.Format("e3m2", 3, 2, 0x1F, False, 0x1F)
E2M1 = n.Format("e2m1", 2, 1, 0x7, False, 0x7)


def blackwell(e):
    e.case.version, e.case.target = "8.7", "sm_100a"
    e.write()


def points_of(fmt):
    out = []
    for code in range(fmt.max_code + 1):
        v, w = fmt.magnitude(code), fmt.magnitude(code + 1)
        mid = n.F32.encode(False, (v + w) / 2)
        out += [n.F32.encode(False, v), mid, mid + 1, mid - 1]
    return [p | (0x80000000 if i & 1 else 0) for i, p in enumerate(out)]


def narrow_cases():
    for fmt, shift in ((E2M3, 8), (E3M2, 8), (E2M1, 4)):
        p = points_of(fmt) + [r[0] for r in n.float_inputs(n.F32, 1, 20, fmt.name)]
        pairs = [(p[i], p[-1 - i]) for i in range(len(p))]
        e = Elementwise(f"cvt_{fmt.name}x2_f32", f"cvt to {fmt.name}x2", pairs, (4, 4))
        u = Elementwise(
            f"cvt_f16x2_{fmt.name}x2",
            f"cvt from {fmt.name}x2",
            [
                (i | (fmt.max_code - i % (fmt.max_code + 1)) << shift,)
                for i in range(2 * fmt.max_code + 2)
            ],
            (2,),
        )
        for relu in (False, True):
            rule = lambda a, r=relu, f=fmt: convert(f, n.F32, a, "rn", satfinite=True, relu=r)
            mods = f"rn.satfinite{'.relu' if relu else ''}"
            narrow = (
                f"cvt.{mods}.{fmt.name}x2.f32 $, %0, %1;"
                if shift == 8
                else f"cvt.{mods}.{fmt.name}x2.f32 %y, %0, %1;\nmov.b16 $, {{%y, 0}};"
            )
            e.op(
                narrow,
                2,
                lambda a, b, g=rule, s=shift: g(a) << s | g(b),
                ".reg .b8 %y;" if shift == 4 else "",
            )
            wide = lambda a, r=relu, f=fmt: convert(n.F16, f, a, "rn", relu=r)
            text = f"cvt.rn{'.relu' if relu else ''}.f16x2.{fmt.name}x2 $, "
            text = text + "%0;" if shift == 8 else "mov.b16 {%y, _}, %0;\n" + text + "%y;"
            mask = (1 << shift) - 1
            u.op(
                text,
                4,
                lambda a, g=wide, s=shift, m=mask: g(a & m) | g(a >> s & m) << 16,
                ".reg .b8 %y;" if shift == 4 else "",
            )
        blackwell(e)
        blackwell(u)
    scale_cases()
    stochastic_cases()


def ue8m0(a, fmt, mode, satfinite):
    kind, _, value = fmt.decode(a)
    if kind == "n":
        return 0xFF
    if kind == "i":
        return 0xFE if satfinite else 0xFF
    if value == 0:
        return 0
    code = 0
    while n.Fraction(2) ** (code + 1 - 127) <= value:
        code += 1
    if mode == "rp" and n.Fraction(2) ** (code - 127) < value:
        code += 1
    if code > 254:
        return 0xFE if satfinite else 0xFF
    return code


def scale_cases():
    p = [r[0] & 0x7FFFFFFF for r in n.float_inputs(n.F32, 1, 64, "ue8m0")]
    e = Elementwise(
        "cvt_ue8m0x2_f32", "cvt to ue8m0x2 from f32", [(p[i], p[-1 - i]) for i in range(64)], (4, 4)
    )
    b = [r[0] & 0x7FFF for r in n.float_inputs(n.BF16, 1, 64, "ue8m0")]
    h = Elementwise(
        "cvt_ue8m0x2_bf16x2",
        "cvt to ue8m0x2 from bf16x2",
        [(b[i] | b[-1 - i] << 16,) for i in range(64)],
        (4,),
    )
    for mode in ("rz", "rp"):
        for fin in (False, True):
            text = f"cvt.{mode}{'.satfinite' if fin else ''}.ue8m0x2"
            e.op(
                f"{text}.f32 $, %0, %1;",
                2,
                lambda a, b, k=(mode, fin): ue8m0(a, n.F32, *k) << 8 | ue8m0(b, n.F32, *k),
            )
            h.op(
                f"{text}.bf16x2 $, %0;",
                2,
                lambda a, k=(mode, fin): ue8m0(a >> 16, n.BF16, *k) << 8
                | ue8m0(a & 0xFFFF, n.BF16, *k),
            )
    blackwell(e)
    blackwell(h)
    bf16 = lambda c: 0x7FFF if c == 255 else 0x0040 if c == 0 else c << 7
    e = Elementwise(
        "cvt_bf16x2_ue8m0x2", "cvt from ue8m0x2", [(i | (255 - i) << 8,) for i in range(256)], (2,)
    )
    e.op("cvt.rn.bf16x2.ue8m0x2 $, %0;", 4, lambda a: bf16(a >> 8) << 16 | bf16(a & 255))
    blackwell(e)


def stochastic(fmt, a, random_bits, width, relu=False, satfinite=False):
    kind, negative, value = n.F32.decode(a)
    sign = fmt.sign_bit if negative else 0
    if kind != "f":
        return convert(fmt, n.F32, a, "rz", satfinite=satfinite, relu=relu)
    top = fmt.encode(False, value, "rz")
    lo, hi = fmt.magnitude(top), fmt.magnitude(top + 1)
    part = (value - lo) * (1 << width) / (hi - lo)
    code = (
        top + (part.numerator // part.denominator + random_bits >= 1 << width)
        if value < hi
        else top
    )
    if fmt.top_is_special and code == fmt.inf and satfinite:
        code -= 1
    code = min(code, fmt.max_code) if not fmt.top_is_special else code
    return 0 if relu and negative else code | sign


def stochastic_cases():
    rng = random.Random("rs")
    finite = [
        (r[0] & 0x8FFFFFFF | 0x30000000, r[1] & 0x8FFFFFFF | 0x30000000, rng.randrange(1 << 32))
        for r in n.float_inputs(n.F32, 2, 64, "rs")
    ]
    for fmt, width in ((n.F16, 13), (n.BF16, 16)):
        e = Elementwise(f"cvt_rs_{fmt.name}x2", f"cvt.rs.{fmt.name}x2", finite, (4,) * 3)
        for relu in (False, True):
            for fin in (False, True):
                rule = lambda a, r, f=fmt, w=width, k=(relu, fin): stochastic(
                    f, a, r & (1 << w) - 1, w, *k
                )
                e.op(
                    f"cvt.rs{'.relu' if relu else ''}{'.satfinite' if fin else ''}.{fmt.name}x2.f32 $, %0, %1, %2;",
                    4,
                    lambda a, b, r, g=rule: g(a, r >> 16) << 16 | g(b, r & 0xFFFF),
                )
        blackwell(e)
    four = [(*r, s[0], s[1]) for r, s in zip(finite, finite[1:] + finite[:1])]  # a, b, random, e, f
    for fmt in (n.E4M3, n.E5M2, E2M3, E3M2, E2M1):
        e = Elementwise(f"cvt_rs_{fmt.name}x4", f"cvt.rs.satfinite.{fmt.name}x4", four, (4,) * 5)
        for relu in (False, True):

            def rule(a, b, r, c, d, f=fmt, k=relu):
                if f is E2M1:
                    bits, width = [r >> s & 0xFF for s in (0, 16, 8, 24)], 8
                else:
                    bits, width = [r & 0xFFFF, r & 0xFFFF, r >> 16, r >> 16], 16
                step = 4 if f is E2M1 else 8
                return sum(
                    stochastic(f, v, q, width, k, True) << step * i
                    for i, (v, q) in enumerate(zip((d, c, b, a), bits))
                )

            e.op(
                f"cvt.rs{'.relu' if relu else ''}.satfinite.{fmt.name}x4.f32 $, {{%0, %1, %3, %4}}, %2;",
                2 if fmt is E2M1 else 4,
                rule,
            )
        blackwell(e)


def f32x2_cases():
    pair = [
        tuple(a | b << 32 for a, b in zip(r, s))
        for r, s in zip(n.float_inputs(n.F32, 3, 48, "x2"), n.float_inputs(n.F32, 3, 48, "y2"))
    ]
    e = Elementwise("arith_f32x2", "add, sub, mul, fma of f32x2", pair, (8,) * 3)
    both = lambda g: lambda *x: g(*(v & 0xFFFFFFFF for v in x)) | g(*(v >> 32 for v in x)) << 32
    for mode in floating.MODES:
        for ftz in (False, True):
            suffix = f"{mode}{'.ftz' if ftz else ''}.f32x2"
            for name, function in floating.BINARY.items():
                rule = floating.f32_rule(
                    lambda a, b, f=function, m=mode: f(n.F32, a, b, m), ftz, False
                )
                e.op(f"{name}.{suffix} $, %0, %1;", 8, both(lambda a, b, c, r=rule: r(a, b)))
            e.op(
                f"fma.{suffix} $, %0, %1, %2;",
                8,
                both(
                    floating.f32_rule(lambda a, b, c, m=mode: n.fma(n.F32, a, b, c, m), ftz, False)
                ),
            )
    blackwell(e)
    e = Elementwise(
        "minmax3_f32", "min and max of three", n.float_inputs(n.F32, 3, 48, "three"), (4,) * 3
    )
    for name in ("min", "max"):
        for nan in ("", ".NaN"):
            big = name == "max"
            rule = lambda a, b, c, g=big, q=bool(nan): n.minmax(
                n.F32, n.minmax(n.F32, a, b, g, q), c, g, q
            )
            e.op(f"{name}{nan}.f32 $, %0, %1, %2;", 4, rule)
    e.case.version, e.case.target = "8.8", "sm_100a"
    e.write()


def generate():
    approximation_cases()
    set_cases()
    word_cases()
    old_warp_cases()
    memory_forms()
    narrow_cases()
    f32x2_cases()
