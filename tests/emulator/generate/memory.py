"""Cases of loads, stores, atomics and asynchronous copies."""

import random

import number as n
from case import Case, Elementwise

M32 = 0xFFFFFFFF


def pointer(param, size, index="%t", register="%p"):
    return [
        f"    ld.param.u64 {register}, [{param}];",
        f"    mad.wide.u32 {register}, {index}, {size}, {register};",
    ]


PROLOGUE = [
    "    .reg .b32 %t, %s, %a, %b, %c, %e;",
    "    .reg .b64 %p, %g, %d, %x, %y, %z;",
    "    .reg .pred %q;",
    "    mov.u32 %t, %tid.x;",
]


def finish(case, body):
    case.body = "\n".join(PROLOGUE + body) + "\n    ret;\n"
    case.write()


# ---- ld and st
# --------------------------------------------------------------------------------------------


def extended(value, bits, signed, register):
    return (n.to_signed(value, bits) if signed else value) & (1 << register) - 1


def load_store_cases():
    rng = random.Random("ld")
    data = bytes(rng.randrange(256) for _ in range(32 * 16))
    for space in ("global", "shared", "local", "const", "generic"):
        case = Case(f"ld_{space}", f"ld and st of every width, {space}", block=32)
        case.buffer("in", "in0", 1, list(data))
        body, outs = [], []
        body += [
            f"    .shared .align 16 .b8 buffer_s[{len(data)}];",
            "    .local .align 16 .b8 buffer_l[16];",
        ]
        if space == "const":
            body = []
        for t in (
            "b8",
            "u8",
            "s8",
            "b16",
            "u16",
            "s16",
            "b32",
            "u32",
            "s32",
            "b64",
            "u64",
            "s64",
            "f32",
            "f64",
        ):
            bits = int(t[1:])
            register = max(bits, 32) if t[0] != "f" else bits
            for v in (1, 2, 4):
                if bits * v <= 128:
                    outs.append((t, bits, register, v))
        if space == "const":
            write_const(case, data, outs)
            continue
        body += pointer("in0", 16) + ["    ld.global.v2.b64 {%x, %y}, [%p];"]
        address = {"global": "%p", "generic": "%p", "shared": "%s", "local": "%s"}[space]
        if space == "shared":
            body += [
                "    mov.u32 %s, buffer_s;",
                "    mad.lo.u32 %s, %t, 16, %s;",
                "    st.shared.v2.b64 [%s], {%x, %y};",
            ]
        elif space == "local":
            body += ["    mov.u32 %s, buffer_l;", "    st.local.v2.b64 [%s], {%x, %y};"]
        dot = "" if space == "generic" else "." + space
        for i, (t, bits, register, v) in enumerate(outs):
            body += load_one(
                i, f"ld{dot}{'.v' + str(v) if v > 1 else ''}.{t}", address, register, v, t
            )
        results(case, data, outs)
        finish(case, body)


def load_one(i, text, address, register, v, t):
    kind = ".f" if t[0] == "f" else ".b"
    names = [f"%r{i}_{k}" for k in range(v)]
    regs = names[0] if v == 1 else "{" + ", ".join(names) + "}"
    out = [f"    .reg {kind}{register} {', '.join(names)};", f"    {text} {regs}, [{address}];"]
    out += pointer(f"out{i}", v * register // 8, register="%g")
    suffix = f"f{register}" if kind == ".f" else f"b{register}"
    return out + [
        f"    st.global.{suffix} [%g + {k * register // 8}], {r};" for k, r in enumerate(names)
    ]


def results(case, data, outs):
    for i, (t, bits, register, v) in enumerate(outs):
        words = []
        for lane in range(32):
            for k in range(v):
                at = 16 * lane + k * bits // 8
                value = int.from_bytes(data[at : at + bits // 8], "little")
                words.append(extended(value, bits, t[0] == "s", register))
        case.buffer("out", f"out{i}", register // 8, words)


def write_const(case, data, outs):
    """The same through a .const array that the module initialises."""
    body = ["    mov.u64 %d, table;", "    mad.wide.u32 %d, %t, 16, %d;"]
    for i, (t, bits, register, v) in enumerate(outs):
        body += load_one(i, f"ld.const{'.v' + str(v) if v > 1 else ''}.{t}", "%d", register, v, t)
    results(case, data, outs)
    case.preamble = ".const .align 16 .b8 table[512] = {" + ", ".join(map(str, data)) + "};\n"
    finish(case, body)


def store_cases():
    """Narrow stores from wide registers, vector stores, cache and ordering modifiers."""
    rng = random.Random("st")
    words = [rng.randrange(1 << 64) for _ in range(64)]
    case = Case("st_widths", "st of every width and vector length", block=32)
    case.buffer("in", "in0", 8, words)
    body = pointer("in0", 16) + [
        "    ld.global.v2.b64 {%x, %y}, [%p];",
        "    cvt.u32.u64 %a, %x;",
        "    cvt.u32.u64 %b, %y;",
    ]
    forms = [
        ("st.global.b8", "%a", 1),
        ("st.global.u16", "%h", 2),
        ("st.global.b32", "%a", 4),
        ("st.global.b64", "%x", 8),
        ("st.global.v2.b32", "{%a, %b}", 8),
        ("st.global.v4.b32", "{%a, %b, %a, %b}", 16),
        ("st.global.v2.b64", "{%x, %y}", 16),
        ("st.global.v4.b8", "{%a, %b, %a, %b}", 4),
        ("st.global.v2.b16", "{%h, %h}", 4),
        ("st.volatile.global.b32", "%a", 4),
        ("st.relaxed.gpu.global.b32", "%a", 4),
        ("st.release.sys.global.b64", "%x", 8),
        ("st.global.wb.b32", "%a", 4),
        ("st.global.cs.b32", "%a", 4),
        ("st.global.L1::no_allocate.b32", "%a", 4),
        ("st.b32", "%a", 4),
    ]
    body += ["    .reg .b16 %h;", "    cvt.u16.u32 %h, %a;"]
    for i, (text, source, size) in enumerate(forms):
        body += pointer(f"out{i}", size, register="%g") + [f"    {text} [%g], {source};"]
        out = []
        for lane in range(32):
            x, y = words[2 * lane], words[2 * lane + 1]
            value = {
                "%a": x & M32,
                "%h": x & 0xFFFF,
                "%x": x,
                "{%a, %b}": (x & M32) | (y & M32) << 32,
                "{%a, %b, %a, %b}": (
                    ((x & M32) | (y & M32) << 32) * (1 + (1 << 64))
                    if size == 16
                    else ((x & 255) | (y & 255) << 8) * 0x10001
                ),
                "{%x, %y}": x | y << 64,
                "{%h, %h}": (x & 0xFFFF) * 0x10001,
            }[source]
            out += list((value & (1 << 8 * size) - 1).to_bytes(size, "little"))
        case.buffer("out", f"out{i}", 1, out)
    finish(case, body)
    case = Case("ld_modifiers", "ld with cache, ordering and prefetch modifiers", block=32)
    case.buffer("in", "in0", 4, [w & M32 for w in words[:32]])
    body = pointer("in0", 4)
    loads = [
        "ld.global.nc.b32",
        "ld.global.ca.b32",
        "ld.global.cg.b32",
        "ld.global.cs.b32",
        "ld.global.cv.b32",
        "ld.volatile.global.b32",
        "ld.relaxed.gpu.global.b32",
        "ld.acquire.sys.global.b32",
        "ld.acquire.cta.global.b32",
        "ld.global.L1::evict_last.b32",
        "ld.global.L2::128B.b32",
        "ld.weak.global.b32",
        "ld.b32",
        "ld.volatile.b32",
        "ldu.global.b32",
    ]
    for i, text in enumerate(loads):
        body += (
            [f"    {text} %a, [%p];"]
            + pointer(f"out{i}", 4, register="%g")
            + ["    st.global.b32 [%g], %a;"]
        )
        case.buffer("out", f"out{i}", 4, [w & M32 for w in words[:32]])
    finish(case, body)


def address_cases():
    """cvta, isspacep, generic addressing of shared and local memory, prefetch, fences."""
    case = Case(
        "address_spaces", "cvta, isspacep, generic access to shared and local memory", block=32
    )
    case.buffer("in", "in0", 4, [i * 0x01010101 for i in range(32)])
    body = ["    .shared .align 4 .b8 word[128];", "    .local .align 4 .b8 own[8];"] + pointer(
        "in0", 4
    )
    body += [
        "    ld.global.b32 %a, [%p];",
        "    mov.u64 %d, word;",
        "    cvta.shared.u64 %d, %d;",
        "    mad.wide.u32 %d, %t, 4, %d;",
        "    st.b32 [%d], %a;",
        "    bar.sync 0;",
        "    mov.u32 %s, word;",
        "    mad.lo.u32 %s, %t, 4, %s;",
        "    xor.b32 %s, %s, 4;",
        "    ld.shared.b32 %b, [%s];",
        "    mov.u64 %x, own;",
        "    cvta.local.u64 %x, %x;",
        "    st.b32 [%x + 4], %b;",
        "    cvta.to.local.u64 %y, %x;",
        "    ld.local.b32 %c, [%y + 4];",
        "    cvta.to.shared.u64 %z, %d;",
        "    ld.shared.b32 %e, [%z];",
        "    prefetch.global.L2 [%p];",
        "    prefetch.global.L1 [%p];",
        "    membar.cta;",
        "    membar.gl;",
        "    membar.sys;",
        "    fence.acq_rel.gpu;",
        "    fence.sc.cta;",
        "    fence.acq_rel.cluster;",
        "    fence.proxy.async;",
        "    fence.proxy.alias;",
        "    fence.proxy.async.global;",
    ]
    body += pointer("out0", 4, register="%g") + ["    st.global.b32 [%g], %c;"]
    body += pointer("out1", 4, register="%g") + [
        "    st.global.b32 [%g], %e;",
        "    cvta.to.global.u64 %p, %p;",
        "    mov.b32 %a, 0;",
    ]
    for i, (space, address) in enumerate(
        (
            ("shared", "%d"),
            ("local", "%x"),
            ("global", "%p"),
            ("shared", "%p"),
            ("global", "%x"),
            ("local", "%d"),
        )
    ):
        body += [f"    isspacep.{space} %q, {address};", f"    @%q or.b32 %a, %a, {1 << i};"]
    body += [
        "    isspacep.shared::cta %q, %d;",
        "    @%q or.b32 %a, %a, 64;",
        "    isspacep.shared::cluster %q, %d;",
        "    @%q or.b32 %a, %a, 128;",
    ]
    body += pointer("out2", 4, register="%g") + ["    st.global.b32 [%g], %a;"]
    case.buffer("out", "out0", 4, [(i ^ 1) * 0x01010101 for i in range(32)])
    case.buffer("out", "out1", 4, [i * 0x01010101 for i in range(32)])
    case.buffer("out", "out2", 4, [0b11000111] * 32)
    finish(case, body)


def window_cases():
    """Shared memory named by the generic address of it where the instruction says .shared, which
    hardware takes the low 32 bits of."""
    case = Case("generic_as_shared", "generic addresses in the shared state space", block=32)
    body = ["    .shared .align 4 .b8 word[256];"] + [
        "    mov.u64 %d, word;",
        "    cvta.shared.u64 %d, %d;",
        "    mad.wide.u32 %d, %t, 4, %d;",
        "    mul.lo.u32 %a, %t, 3;",
        "    st.shared.b32 [%d], %a;",
        "    st.b32 [%d+128], %t;",
        "    bar.sync 0;",
        "    ld.b32 %a, [%d];",
        "    atom.shared.add.u32 %b, [%d+128], 5;",
        "    ld.shared::cluster.b32 %c, [%d+128];",
    ]
    for i, (register, of) in enumerate(
        (("%a", lambda t: 3 * t), ("%b", lambda t: t), ("%c", lambda t: t + 5))
    ):
        body += pointer(f"out{i}", 4, register="%g") + [f"    st.global.b32 [%g], {register};"]
        case.buffer("out", f"out{i}", 4, [of(t) for t in range(32)])
    finish(case, body)


# ---- atom and red
# -----------------------------------------------------------------------------------------


def atomic(op, t, old, x):
    bits = int(t.removesuffix("x2")[-2:]) if t[0] != "b" or t[1:3] != "f1" else 16
    if t in ("f32", "f64", "f16", "bf16"):
        fmt = n.FLOATS[t]
        if op == "add":
            if t == "f32":  # atomics on f32 flush subnormals in global memory
                return n.flush(fmt, n.add(fmt, n.flush(fmt, old), n.flush(fmt, x)))
            return n.add(fmt, old, x)
        return n.minmax(fmt, old, x, op == "max")
    if t in ("f16x2", "bf16x2"):
        half = t.removesuffix("x2")
        return (
            atomic(op, half, old & 0xFFFF, x & 0xFFFF) | atomic(op, half, old >> 16, x >> 16) << 16
        )
    mask = (1 << bits) - 1
    s = lambda v: n.to_signed(v, bits) if t[0] == "s" else v
    return {
        "add": lambda: old + x,
        "min": lambda: min(s(old), s(x)),
        "max": lambda: max(s(old), s(x)),
        "and": lambda: old & x,
        "or": lambda: old | x,
        "xor": lambda: old ^ x,
        "exch": lambda: x,
        "inc": lambda: 0 if old >= x else old + 1,
        "dec": lambda: x if old == 0 or old > x else old - 1,
    }[op]() & mask


ATOMICS = [("add", t) for t in ("u32", "s32", "u64", "f32", "f64")]
ATOMICS += [(o, t) for o in ("min", "max") for t in ("u32", "s32", "u64", "s64")]
ATOMICS += [(o, t) for o in ("and", "or", "xor") for t in ("b32", "b64")] + [
    ("inc", "u32"),
    ("dec", "u32"),
]
HALF_ATOMICS = [("add", t) for t in ("f16", "f16x2", "bf16", "bf16x2")]


def values(t, count, seed):
    rng = random.Random(f"{t} {seed}")
    if t in ("f32", "f64", "f16", "bf16"):
        fmt = n.FLOATS[t]
        rows = n.float_inputs(fmt, 1, count, seed)[:count]
        # no NaN: which payload an atomic keeps is not defined
        return [r[0] if fmt.decode(r[0])[0] != "n" else fmt.bias << fmt.man for r in rows]
    if t.endswith("x2"):
        low, high = (values(t.removesuffix("x2"), count, f"{seed}{i}") for i in range(2))
        return [a | b << 16 for a, b in zip(low, high)]
    bits = int(t[1:])
    return [r[0] for r in n.int_inputs(bits, 1, count, rng.random())]


def size_of(t):
    return 4 if t.endswith("x2") else int(t.lstrip("usbf")) // 8


def atomic_cases():
    for space in ("global", "shared", "generic"):
        for op, t in ATOMICS + HALF_ATOMICS + [("exch", "b32"), ("exch", "b64")]:
            atomic_case(space, op, t)
    for space in ("global", "shared"):
        cas_case(space)
        wide_case(space)


def float_add_in_shared(t):
    """atom.shared.add.f32 keeps subnormals."""
    return lambda old, x: n.add(n.F32, old, x) if t == "f32" else atomic("add", t, old, x)


def atomic_case(space, op, t):
    size, count = size_of(t), 64
    old, x = values(t, count, 1), values(t, count, 2)
    rule = lambda a, b: atomic(op, t, a, b)
    if space == "shared" and op == "add":
        rule = float_add_in_shared(t)
    after = [rule(a, b) for a, b in zip(old, x)]
    half = ".noftz" if t in ("f16", "f16x2", "bf16", "bf16x2") else ""
    dot = "" if space == "generic" else "." + space
    case = Case(f"atom_{space}_{op}_{t}", f"atom and red, {op}.{t}, {space}", block=count)
    case.buffer("in", "in0", size, x)
    case.buffer("inout", "memory", size, old, after)
    case.buffer("inout", "memory2", size, old, after)
    case.buffer("out", "before", size, old)
    body = [
        f"    .shared .align 8 .b8 buffer[{2 * size * count}];",
        f"    .reg .b{8 * size} %v, %w, %u;",
    ]
    body += (
        pointer("in0", size)
        + [f"    ld.global.b{8 * size} %v, [%p];"]
        + pointer("memory", size)
        + pointer("memory2", size, register="%d")
    )
    targets = ("[%p]", "[%d]")
    if space == "shared":
        body += ["    mov.u32 %s, buffer;", f"    mad.lo.u32 %s, %t, {size}, %s;"]
        for k, source in enumerate(("%p", "%d")):
            body += [
                f"    ld.global.b{8 * size} %w, [{source}];",
                f"    st.shared.b{8 * size} [%s + {k * size * count}], %w;",
            ]
        targets = ("[%s]", f"[%s + {size * count}]")
    body.append(f"    atom{dot}.{op}{half}.{t} %u, {targets[0]}, %v;")
    if op == "exch":
        body.append(f"    atom{dot}.{op}.{t} %w, {targets[1]}, %v;")
    else:
        body.append(f"    red.relaxed.gpu{dot}.{op}{half}.{t} {targets[1]}, %v;")
    if space == "shared":
        for k, target in enumerate(("%p", "%d")):
            body += [
                f"    ld.shared.b{8 * size} %w, {targets[k]};",
                f"    st.global.b{8 * size} [{target}], %w;",
            ]
    body += pointer("before", size, register="%g") + [f"    st.global.b{8 * size} [%g], %u;"]
    finish(case, body)


def wide_case(space):
    """atom.exch and atom.cas of 16 bytes, one element a thread."""
    rng = random.Random("b128 " + space)
    old, new = ([rng.randrange(1 << 128) for _ in range(32)] for _ in range(2))
    # differences in either half, and none
    expect = [v ^ (1 << (0, 64, 127)[i // 2 % 3] if i % 2 else 0) for i, v in enumerate(old)]
    halves = lambda values: [v >> 64 * i & (1 << 64) - 1 for v in values for i in range(2)]
    case = Case(f"atom_{space}_b128", f"atom.exch.b128 and atom.cas.b128, {space}", block=32)
    case.buffer("in", "in0", 8, halves(expect))
    case.buffer("in", "in1", 8, halves(new))
    swapped = [c if o == e else o for o, e, c in zip(old, expect, new)]
    case.buffer("inout", "exchanged", 8, halves(old), halves(new))
    case.buffer("inout", "compared", 8, halves(old), halves(swapped))
    case.buffer("out", "before", 8, halves(old))
    case.buffer("out", "before2", 8, halves(old))
    body = ["    .reg .b128 %e0, %n0, %o0;", "    .shared .align 16 .b8 buffer[1024];"]
    for register, param in (("%e0", "in0"), ("%n0", "in1")):
        body += pointer(param, 16) + [
            "    ld.global.v2.b64 {%x, %y}, [%p];",
            f"    mov.b128 {register}, {{%x, %y}};",
        ]
    for k, (param, text) in enumerate((("exchanged", "exch"), ("compared", "cas"))):
        operands = "%n0" if text == "exch" else "%e0, %n0"
        body += pointer(param, 16)
        at = "[%p]"
        if space == "shared":
            body += [
                "    mov.u32 %s, buffer;",
                "    mad.lo.u32 %s, %t, 16, %s;",
                "    ld.global.v2.b64 {%x, %y}, [%p];",
                f"    st.shared.v2.b64 [%s + {512 * k}], {{%x, %y}};",
            ]
            at = f"[%s + {512 * k}]"
        order = ".acq_rel.gpu" if text == "exch" else ""
        body.append(f"    atom{order}.{space}.{text}.b128 %o0, {at}, {operands};")
        body += ["    mov.b128 {%x, %y}, %o0;"] + pointer(
            f"before{k + 1 if k else ''}", 16, register="%g"
        )
        body.append("    st.global.v2.b64 [%g], {%x, %y};")
        if space == "shared":
            body += [
                f"    ld.shared.v2.b64 {{%x, %y}}, {at};",
                "    st.global.v2.b64 [%p], {%x, %y};",
            ]
    finish(case, body)


def mmio_case():
    rng = random.Random("mmio")
    words = [rng.randrange(1 << 64) for _ in range(32)]
    case = Case("ld_st_mmio", "ld.mmio and st.mmio of every width", block=32)
    case.buffer("in", "in0", 8, words)
    body = pointer("in0", 8) + ["    .reg .b16 %h;"]
    for i, (t, register) in enumerate((("b8", "%h"), ("u16", "%h"), ("b32", "%a"), ("b64", "%x"))):
        size = int(t[1:]) // 8
        case.buffer("out", f"out{i}", size, [w & (1 << 8 * size) - 1 for w in words])
        space = ".global" if i % 2 else ""
        body.append(f"    ld.mmio.relaxed.sys{space}.{t} {register}, [%p];")
        body += pointer(f"out{i}", size, register="%g")
        body.append(f"    st.mmio.relaxed.sys{space}.{t} [%g], {register};")
    finish(case, body)


def cas_case(space):
    for t, size in (("b16", 2), ("b32", 4), ("b64", 8)):
        old = values(t, 64, "cas")
        expect = [v if i % 2 else v ^ 1 for i, v in enumerate(old)]
        new = values(t, 64, "new")
        case = Case(f"atom_{space}_cas_{t}", f"atom.cas.{t}, {space}", block=64)
        case.buffer("in", "in0", size, expect)
        case.buffer("in", "in1", size, new)
        case.buffer(
            "inout", "memory", size, old, [b if e == o else o for o, e, b in zip(old, expect, new)]
        )
        case.buffer("out", "before", size, old)
        body = [
            f"    .shared .align 8 .b8 buffer[{size * 64}];",
            f"    .reg .b{8 * size} %v, %w, %u;",
        ]
        body += (
            pointer("in0", size)
            + [f"    ld.global.b{8 * size} %v, [%p];"]
            + pointer("in1", size)
            + [f"    ld.global.b{8 * size} %w, [%p];"]
        )
        body += pointer("memory", size)
        if space == "shared":
            body += [
                "    mov.u32 %s, buffer;",
                f"    mad.lo.u32 %s, %t, {size}, %s;",
                f"    ld.global.b{8 * size} %u, [%p];",
                f"    st.shared.b{8 * size} [%s], %u;",
                f"    atom.shared.cas.{t} %u, [%s], %v, %w;",
                f"    ld.shared.b{8 * size} %w, [%s];",
                f"    st.global.b{8 * size} [%p], %w;",
            ]
        else:
            body.append(f"    atom.acq_rel.sys.global.cas.{t} %u, [%p], %v, %w;")
        body += pointer("before", size, register="%g") + [f"    st.global.b{8 * size} [%g], %u;"]
        finish(case, body)


def contended_case():
    """All threads on one word: the sum is defined, and the values returned by exch and inc are a
    permutation."""
    case = Case(
        "atom_contended",
        "64 threads of 3 CTAs add to, or and count on the same words",
        block=64,
        grid=3,
    )
    case.buffer(
        "inout",
        "memory",
        4,
        [5, 0, 0xFFFFFFFF, 0],
        [5 + 3 * sum(range(64)), 192, 0xFFFFFFFF ^ 0, 0x3F],
    )
    body = [
        "    ld.param.u64 %p, [memory];",
        "    red.global.add.u32 [%p], %t;",
        "    atom.global.add.u32 %a, [%p + 4], 1;",
        "    atom.global.max.u32 %a, [%p + 8], %t;",
        "    red.global.or.b32 [%p + 12], %t;",
    ]
    finish(case, body)


def vector_atomic_case():
    old, x = values("f32", 64, 5), values("f32", 64, 6)
    clean = lambda v: [
        0x3F800000 if not 0x30000000 < (w & 0x7FFFFFFF) < 0x50000000 else w for w in v
    ]
    old, x = clean(old), clean(x)
    after = [atomic("add", "f32", a, b) for a, b in zip(old, x)]
    for v in (2, 4):
        case = Case(f"atom_vector_v{v}_f32", f"atom.global.v{v}.f32.add and red", block=64 // v)
        case.buffer("in", "in0", 4, x)
        case.buffer("inout", "memory", 4, old, after)
        case.buffer("inout", "memory2", 4, old, after)
        case.buffer("out", "before", 4, old)
        names = lambda r: "{" + ", ".join(f"%{r}{i}" for i in range(v)) + "}"
        body = (
            ["    .reg .f32 %v<4>, %w<4>;"]
            + pointer("in0", 4 * v)
            + [f"    ld.global.v{v}.f32 {names('v')}, [%p];"]
        )
        body += pointer("memory", 4 * v) + [
            f"    atom.global.v{v}.f32.add {names('w')}, [%p], {names('v')};"
        ]
        body += pointer("memory2", 4 * v) + [f"    red.global.v{v}.f32.add [%p], {names('v')};"]
        body += pointer("before", 4 * v) + [f"    st.global.v{v}.f32 [%p], {names('w')};"]
        finish(case, body)


# ---- cp.async
# ---------------------------------------------------------------------------------------------


def cp_async_cases():
    rng = random.Random("cp.async")
    data = [rng.randrange(1 << 32) for _ in range(128)]
    case = Case("cp_async", "cp.async of 4, 8, 16 bytes, zero fill, groups, wait_all", block=32)
    case.buffer("in", "in0", 4, data)
    forms = [
        ("cp.async.ca.shared.global", 4, ""),
        ("cp.async.ca.shared.global", 8, ""),
        ("cp.async.ca.shared.global", 16, ""),
        ("cp.async.cg.shared.global", 16, ""),
        ("cp.async.ca.shared.global", 4, "0"),
        ("cp.async.ca.shared::cta.global", 16, "5"),
        ("cp.async.cg.shared.global.L2::128B", 16, "12"),
        ("cp.async.cg.shared.global", 16, "0"),
    ]
    body = [
        "    .shared .align 16 .b8 buffer[4096];",
        "    mov.u32 %s, buffer;",
        "    mad.lo.u32 %s, %t, 16, %s;",
    ] + pointer("in0", 16)
    body += [
        f"    st.shared.b32 [%s + {512 * i + 4 * k}], 0x77777777;"
        for i in range(len(forms))
        for k in range(4)
    ]
    for i, (text, size, count) in enumerate(forms):
        body.append(f"    {text} [%s + {512 * i}], [%p], {size}{', ' + count if count else ''};")
        if i == 3:
            body.append("    cp.async.commit_group;")
        raw = []
        for lane in range(32):
            source = b"".join(w.to_bytes(4, "little") for w in data[4 * lane : 4 * lane + 4])
            kept = int(count) if count else size
            raw += list(source[:kept] + bytes(size - kept) + b"\x77" * (16 - size))
        case.buffer("out", f"out{i}", 1, raw)
    body += [
        "    cp.async.commit_group;",
        "    cp.async.wait_group 1;",
        "    cp.async.wait_group 0;",
        "    cp.async.wait_all;",
    ]
    for i in range(len(forms)):
        body += (
            [f"    ld.shared.v2.b64 {{%x, %y}}, [%s + {512 * i}];"]
            + pointer(f"out{i}", 16, register="%g")
            + ["    st.global.v2.b64 [%g], {%x, %y};"]
        )
    finish(case, body)
    for noinc in ("", ".noinc"):
        case = Case(
            f"cp_async_mbarrier{noinc.replace('.', '_')}",
            f"cp.async.mbarrier.arrive{noinc}",
            block=32,
        )
        case.buffer("in", "in0", 4, data[:32])
        case.buffer("out", "out0", 4, data[31::-1])
        body = [
            "    .shared .align 8 .b8 barrier[8];",
            "    .shared .align 16 .b8 buffer[128];",
            "    setp.ne.u32 %q, %t, 0;",
            "    @!%q mbarrier.init.shared.b64 [barrier], 32;",
            "    bar.sync 0;",
            "    mov.u32 %s, buffer;",
            "    mad.lo.u32 %s, %t, 4, %s;",
        ] + pointer("in0", 4)
        body += [
            "    cp.async.ca.shared.global [%s], [%p], 4;",
            f"    cp.async.mbarrier.arrive{noinc}.shared.b64 [barrier];",
        ]
        if not noinc:
            body.append("    mbarrier.arrive.shared.b64 %x, [barrier];")
        body += [
            "wait:",
            "    mbarrier.try_wait.parity.shared.b64 %q, [barrier], 0;",
            "    @!%q bra wait;",
            "    mov.u32 %s, buffer;",
            "    sub.u32 %a, 31, %t;",
            "    mad.lo.u32 %s, %a, 4, %s;",
            "    ld.shared.b32 %b, [%s];",
        ]
        body += pointer("out0", 4) + ["    st.global.b32 [%p], %b;"]
        finish(case, body)


def generate():
    load_store_cases()
    store_cases()
    address_cases()
    window_cases()
    atomic_cases()
    mmio_case()
    contended_case()
    vector_atomic_case()
    cp_async_cases()
