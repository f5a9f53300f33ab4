"""Cases of integer, bit and comparison instructions."""

import number as n
from case import Elementwise

COUNT = 64
PREDICATE = "%q, %0, %1;\nselp.b32 $, 1, 0, %q;"


def mask(bits):
    return (1 << bits) - 1


def signed(t, x):
    return n.to_signed(x, int(t[1:])) if t[0] == "s" else x & mask(int(t[1:]))


def c_div(x, y):
    """Towards zero."""
    q = abs(x) // abs(y)
    return -q if (x < 0) != (y < 0) else q


def clamp32(v):
    return max(-(1 << 31), min((1 << 31) - 1, v))


def arithmetic(t):
    """(instruction, result bytes, function of signed values)"""
    bits, size = int(t[1:]), int(t[1:]) // 8
    yield f"add.{t} $, %0, %1;", size, lambda a, b, c: a + b
    yield f"sub.{t} $, %0, %1;", size, lambda a, b, c: a - b
    yield f"mul.lo.{t} $, %0, %1;", size, lambda a, b, c: a * b
    yield f"mul.hi.{t} $, %0, %1;", size, lambda a, b, c: a * b >> bits
    yield f"mad.lo.{t} $, %0, %1, %2;", size, lambda a, b, c: a * b + c
    yield f"mad.hi.{t} $, %0, %1, %2;", size, lambda a, b, c: (a * b >> bits) + c
    if bits < 64:
        yield f"mul.wide.{t} $, %0, %1;", 2 * size, lambda a, b, c: a * b
    yield f"min.{t} $, %0, %1;", size, lambda a, b, c: min(a, b)
    yield f"max.{t} $, %0, %1;", size, lambda a, b, c: max(a, b)
    yield f"sad.{t} $, %0, %1, %2;", size, lambda a, b, c: c + abs(a - b)
    # a divisor of zero is left open by the ISA
    yield f"or.b{bits} %y, %1, 1;\ndiv.{t} $, %0, %y;", size, lambda a, b, c: c_div(a, b | 1)
    yield f"or.b{bits} %y, %1, 1;\nrem.{t} $, %0, %y;", size, lambda a, b, c: a - (b | 1) * c_div(
        a, b | 1
    )
    if t[0] == "s":
        yield f"neg.{t} $, %0;", size, lambda a, b, c: -a
        yield f"abs.{t} $, %0;", size, lambda a, b, c: abs(a)
    if t == "s32":
        yield "add.sat.s32 $, %0, %1;", 4, lambda a, b, c: clamp32(a + b)
        yield "sub.sat.s32 $, %0, %1;", 4, lambda a, b, c: clamp32(a - b)
        yield "mad.hi.sat.s32 $, %0, %1, %2;", 4, lambda a, b, c: clamp32((a * b >> 32) + c)
        yield "min.relu.s32 $, %0, %1;", 4, lambda a, b, c: max(0, min(a, b))
        yield "max.relu.s32 $, %0, %1;", 4, lambda a, b, c: max(0, max(a, b))
    if bits == 32:
        w = (lambda x: n.to_signed(x, 24)) if t[0] == "s" else (lambda x: x & mask(24))
        yield f"mul24.lo.{t} $, %0, %1;", 4, lambda a, b, c: w(a) * w(b)
        yield f"mul24.hi.{t} $, %0, %1;", 4, lambda a, b, c: w(a) * w(b) >> 16
        yield f"mad24.lo.{t} $, %0, %1, %2;", 4, lambda a, b, c: w(a) * w(b) + c
        yield f"mad24.hi.{t} $, %0, %1, %2;", 4, lambda a, b, c: (w(a) * w(b) >> 16) + c
        if t[0] == "s":
            yield "mad24.hi.sat.s32 $, %0, %1, %2;", 4, lambda a, b, c: clamp32(
                (w(a) * w(b) >> 16) + c
            )


def arithmetic_cases():
    for t in ("u16", "s16", "u32", "s32", "u64", "s64"):
        size = int(t[1:]) // 8
        e = Elementwise(
            f"integer_{t}",
            f"integer arithmetic of {t}",
            n.int_inputs(8 * size, 3, COUNT, t),
            (size,) * 3,
        )
        for text, out, function in arithmetic(t):
            rule = lambda a, b, c, f=function, o=out, t=t: f(
                signed(t, a), signed(t, b), signed(t, c)
            ) & mask(8 * o)
            e.op(text, out, rule, f".reg .b{8 * size} %y;")
        e.write()


def wide_mad_cases():
    for t in ("u16", "s16", "u32", "s32"):
        bits = int(t[1:])
        rows = [
            (a, b, c)
            for (a, b), (c,) in zip(
                n.int_inputs(bits, 2, COUNT, t), n.int_inputs(2 * bits, 1, COUNT, t)
            )
        ]
        e = Elementwise(f"mad_wide_{t}", f"mad.wide.{t}", rows, (bits // 8, bits // 8, bits // 4))
        e.op(
            f"mad.wide.{t} $, %0, %1, %2;",
            bits // 4,
            lambda a, b, c, t=t: (signed(t, a) * signed(t, b) + c) & mask(2 * int(t[1:])),
        )
        e.write()


def shifts(bits):
    size = bits // 8
    clip = lambda s: min(s, bits)
    yield f"shl.b{bits} $, %0, %1;", lambda a, s: 0 if s >= bits else a << s
    yield f"shr.u{bits} $, %0, %1;", lambda a, s: 0 if s >= bits else a >> s
    yield f"shr.s{bits} $, %0, %1;", lambda a, s: n.to_signed(a, bits) >> clip(s)
    yield f"shr.b{bits} $, %0, %1;", lambda a, s: 0 if s >= bits else a >> s


def shift_cases():
    amounts = [
        0,
        1,
        2,
        7,
        8,
        15,
        16,
        17,
        31,
        32,
        33,
        63,
        64,
        65,
        255,
        256,
        0x7FFFFFFF,
        0x80000000,
        0xFFFFFFFF,
        5,
        24,
        40,
    ]
    for bits in (16, 32, 64):
        values = [row[0] for row in n.int_inputs(bits, 1, 44, "shift")]
        rows = [(v, amounts[i % len(amounts)]) for i, v in enumerate(values)]
        e = Elementwise(
            f"shift_b{bits}",
            f"shl and shr of {bits} bits, amounts past the width",
            rows,
            (bits // 8, 4),
        )
        for text, function in shifts(bits):
            e.op(text, bits // 8, lambda a, s, f=function, b=bits: f(a, s) & mask(b))
        e.write()
    rows = [
        (a, b, amounts[i % len(amounts)]) for i, (a, b) in enumerate(n.int_inputs(32, 2, 44, "shf"))
    ]
    e = Elementwise("shf", "funnel shifts, .clamp and .wrap", rows, (4, 4, 4))
    for mode in ("clamp", "wrap"):
        amount = (lambda s: min(s, 32)) if mode == "clamp" else (lambda s: s & 31)
        e.op(
            f"shf.l.{mode}.b32 $, %0, %1, %2;",
            4,
            lambda a, b, s, g=amount: ((b << 32 | a) << g(s) >> 32) & mask(32),
        )
        e.op(
            f"shf.r.{mode}.b32 $, %0, %1, %2;",
            4,
            lambda a, b, s, g=amount: ((b << 32 | a) >> g(s)) & mask(32),
        )
    e.write()


def bit_field_cases():
    rows = n.int_inputs(32, 2, COUNT, "bfe")
    edges = [0, 1, 5, 8, 31, 32, 33, 64, 255, 256, 63]
    rows = [(a, b, edges[i % 11], edges[i * 7 % 11]) for i, (a, b) in enumerate(rows)]
    e32 = Elementwise("bit_field_b32", "bfe and bfi of 32 bits", rows, (4,) * 4)
    # positions and lengths above 255 are not defined; the 32-bit form takes the low byte
    wide = [
        (a[0], a[1], min(r[2], 255), min(r[3], 255))
        for a, r in zip(n.int_inputs(64, 2, COUNT, "bfe"), rows)
    ]
    e64 = Elementwise("bit_field_b64", "bfe and bfi of 64 bits", wide, (8, 8, 4, 4))
    for bits, e in ((32, e32), (64, e64)):

        def extract(a, b, pos, length, is_signed, bits=bits):
            pos, length = pos & 0xFF, length & 0xFF
            top = bits - 1
            sign = 0 if not is_signed or length == 0 else a >> min(pos + length - 1, top) & 1
            r = 0
            for i in range(bits):
                r |= (a >> pos + i & 1 if i < length and pos + i <= top else sign) << i
            return r

        def insert(a, b, pos, length, bits=bits):
            pos, length = pos & 0xFF, length & 0xFF
            field = mask(length) << pos & mask(bits)
            return (b & ~field) | (a << pos & field)

        e.op(
            f"bfe.u{bits} $, %0, %2, %3;",
            bits // 8,
            lambda a, b, p, l, f=extract: f(a, b, p, l, False),
        )
        e.op(
            f"bfe.s{bits} $, %0, %2, %3;",
            bits // 8,
            lambda a, b, p, l, f=extract: f(a, b, p, l, True),
        )
        e.op(f"bfi.b{bits} $, %0, %1, %2, %3;", bits // 8, insert)
        e.write()


def bfind(t, a, shiftamt):
    bits = int(t[1:])
    v = a if not (t[0] == "s" and a >> bits - 1) else ~a & mask(bits)
    if v == 0:
        return 0xFFFFFFFF
    top = v.bit_length() - 1
    return bits - 1 - top if shiftamt else top


def bit_cases():
    for bits in (32, 64):
        e = Elementwise(
            f"bit_count_b{bits}",
            f"popc, clz, bfind, brev of {bits} bits",
            n.int_inputs(bits, 1, COUNT, "bits"),
            (bits // 8,),
        )
        e.op(f"popc.b{bits} $, %0;", 4, lambda a: bin(a).count("1"))
        e.op(f"clz.b{bits} $, %0;", 4, lambda a, b=bits: b - a.bit_length())
        e.op(f"brev.b{bits} $, %0;", bits // 8, lambda a, b=bits: int(f"{a:0{b}b}"[::-1], 2))
        for t in (f"u{bits}", f"s{bits}"):
            e.op(f"bfind.{t} $, %0;", 4, lambda a, t=t: bfind(t, a, False))
            e.op(f"bfind.shiftamt.{t} $, %0;", 4, lambda a, t=t: bfind(t, a, True))
        e.write()
    for bits in (16, 32, 64):
        e = Elementwise(
            f"logic_b{bits}",
            f"and, or, xor, not, cnot, selp, slct of {bits} bits",
            n.int_inputs(bits, 2, 40, "logic"),
            (bits // 8,) * 2,
        )
        e.op(f"and.b{bits} $, %0, %1;", bits // 8, lambda a, b: a & b)
        e.op(f"or.b{bits} $, %0, %1;", bits // 8, lambda a, b: a | b)
        e.op(f"xor.b{bits} $, %0, %1;", bits // 8, lambda a, b: a ^ b)
        e.op(f"not.b{bits} $, %0;", bits // 8, lambda a, b, m=mask(bits): ~a & m)
        e.op(f"cnot.b{bits} $, %0;", bits // 8, lambda a, b: int(a == 0))
        e.op(f"setp.lt.u{bits} %q, %0, %1;\nselp.b{bits} $, %0, %1, %q;", bits // 8, min)
        e.op(f"slct.b{bits}.s32 $, %0, %1, 5;", bits // 8, lambda a, b: a)
        e.op(f"slct.b{bits}.s32 $, %0, %1, -5;", bits // 8, lambda a, b: b)
        e.op(f"slct.b{bits}.f32 $, %0, %1, 0f80000000;", bits // 8, lambda a, b: a)
        e.write()


def lop3(a, b, c, table):
    r = 0
    for i in range(32):
        r |= (table >> ((a >> i & 1) << 2 | (b >> i & 1) << 1 | (c >> i & 1)) & 1) << i
    return r


def prmt(a, b, c, mode):
    source = [(b << 32 | a) >> 8 * i & 0xFF for i in range(8)]
    s = c & 3
    modes = {
        "f4e": [s, s + 1, s + 2, s + 3],
        "b4e": [s, s - 1 & 7, s - 2 & 7, s - 3 & 7],
        "rc8": [s] * 4,
        "ecl": [max(s, i) for i in range(4)],
        "ecr": [min(s, i) for i in range(4)],
        "rc16": [2 * (s & 1), 2 * (s & 1) + 1] * 2,
    }
    if mode:
        return sum(source[i] << 8 * k for k, i in enumerate(modes[mode]))
    r = 0
    for k in range(4):
        sel = c >> 4 * k & 15
        byte = source[sel & 7]
        r |= ((0xFF if byte & 0x80 else 0) if sel & 8 else byte) << 8 * k
    return r


def dot(a, b, c, ta, tb, n_b, shift=0):
    width = 32 // (4 if n_b == 4 else 2)
    total = c
    for i in range(n_b):
        x = a >> width * i & mask(width)
        y = b >> 8 * (i + shift) & 0xFF
        total += (n.to_signed(x, width) if ta[0] == "s" else x) * (
            n.to_signed(y, 8) if tb[0] == "s" else y
        )
    return total & mask(32)


def word_cases():
    rows = n.int_inputs(32, 3, COUNT, "lop3")
    e = Elementwise("lop3", "lop3 with several tables", rows, (4,) * 3)
    for table in (0x00, 0x1A, 0x80, 0x96, 0xCA, 0xE8, 0xF8, 0xFF, 0x01):
        e.op(f"lop3.b32 $, %0, %1, %2, {table};", 4, lambda a, b, c, t=table: lop3(a, b, c, t))
    e.write()
    e = Elementwise("prmt", "prmt in all modes", rows, (4,) * 3)
    for mode in ("", "f4e", "b4e", "rc8", "ecl", "ecr", "rc16"):
        e.op(
            f"prmt.b32{'.' + mode if mode else ''} $, %0, %1, %2;",
            4,
            lambda a, b, c, m=mode: prmt(a, b, c, m),
        )
    e.write()
    e = Elementwise("dot_product", "dp4a and dp2a", rows, (4,) * 3)
    for ta in ("u32", "s32"):
        for tb in ("u32", "s32"):
            e.op(
                f"dp4a.{ta}.{tb} $, %0, %1, %2;", 4, lambda a, b, c, k=(ta, tb): dot(a, b, c, *k, 4)
            )
            e.op(
                f"dp2a.lo.{ta}.{tb} $, %0, %1, %2;",
                4,
                lambda a, b, c, k=(ta, tb): dot(a, b, c, *k, 2),
            )
            e.op(
                f"dp2a.hi.{ta}.{tb} $, %0, %1, %2;",
                4,
                lambda a, b, c, k=(ta, tb): dot(a, b, c, *k, 2, 2),
            )
    e.write()


def packed16_cases():
    e = Elementwise(
        "packed_16x2", "add, min, max of u16x2 and s16x2", n.int_inputs(32, 2, COUNT, "x2"), (4, 4)
    )
    halves = (
        lambda f: lambda a, b: (f(a & 0xFFFF, b & 0xFFFF) & 0xFFFF)
        | (f(a >> 16, b >> 16) & 0xFFFF) << 16
    )
    s16 = lambda x: n.to_signed(x, 16)
    for t in ("u16x2", "s16x2"):
        e.op(f"add.{t} $, %0, %1;", 4, halves(lambda a, b: a + b))
    e.op("min.u16x2 $, %0, %1;", 4, halves(min))
    e.op("max.u16x2 $, %0, %1;", 4, halves(max))
    e.op("min.s16x2 $, %0, %1;", 4, halves(lambda a, b: min(s16(a), s16(b))))
    e.op("max.s16x2 $, %0, %1;", 4, halves(lambda a, b: max(s16(a), s16(b))))
    e.op("min.relu.s16x2 $, %0, %1;", 4, halves(lambda a, b: max(0, min(s16(a), s16(b)))))
    e.op("max.relu.s16x2 $, %0, %1;", 4, halves(lambda a, b: max(0, s16(a), s16(b))))
    e.write()


def mask_cases():
    amounts = [0, 1, 5, 31, 32, 33, 40, 255, 0xFFFFFFFF, 16, 30]
    rows = [
        (row[0], amounts[i % 11], amounts[i * 5 % 11])
        for i, row in enumerate(n.int_inputs(32, 1, 44, "mask"))
    ]
    e = Elementwise("szext_bmsk", "szext and bmsk, .clamp and .wrap", rows, (4,) * 3)
    for mode in ("clamp", "wrap"):
        amount = (lambda s: min(s, 32)) if mode == "clamp" else (lambda s: s & 31)
        e.op(f"szext.{mode}.u32 $, %0, %1;", 4, lambda a, p, q, g=amount: a & mask(g(p)))
        e.op(
            f"szext.{mode}.s32 $, %0, %1;",
            4,
            lambda a, p, q, g=amount: (n.to_signed(a, g(p)) if g(p) else 0) & mask(32),
        )
        e.op(
            f"bmsk.{mode}.b32 $, %1, %2;",
            4,
            lambda a, p, q, g=amount: mask(g(q)) << g(p) & mask(32),
        )
    e.write()


def carry_cases():
    rows = n.int_inputs(32, 4, COUNT, "carry")
    e = Elementwise(
        "carry_chain_32", "add.cc, addc, sub.cc, subc, mad.lo.cc, madc of 32 bits", rows, (4,) * 4
    )
    declare = ".reg .b32 %y;"
    long = lambda lo, hi: lo | hi << 32
    e.op(
        "add.cc.u32 %y, %0, %1;\naddc.u32 $, %2, %3;",
        4,
        lambda a, b, c, d: (long(a, c) + long(b, d)) >> 32 & mask(32),
        declare,
    )
    e.op(
        "add.cc.s32 %y, %0, %1;\naddc.cc.s32 %y, %2, %3;\naddc.u32 $, 0, 0;",
        4,
        lambda a, b, c, d: (long(a, c) + long(b, d)) >> 64,
        declare,
    )
    e.op(
        "sub.cc.u32 %y, %0, %1;\nsubc.u32 $, %2, %3;",
        4,
        lambda a, b, c, d: (long(a, c) - long(b, d)) >> 32 & mask(32),
        declare,
    )
    e.op(
        "sub.cc.s32 %y, %0, %1;\nsubc.cc.s32 %y, %2, %3;\nsubc.u32 $, 0, 0;",
        4,
        lambda a, b, c, d: (long(a, c) - long(b, d)) >> 64 & mask(32),
        declare,
    )
    e.op(
        "mad.lo.cc.u32 %y, %0, %1, %2;\nmadc.hi.u32 $, %0, %1, %3;",
        4,
        lambda a, b, c, d: (a * b + long(c, d)) >> 32 & mask(32),
        declare,
    )
    e.op(
        "mad.lo.cc.u32 %y, %0, %1, %2;\nmadc.hi.cc.u32 %y, %0, %1, %3;\naddc.u32 $, 0, 0;",
        4,
        lambda a, b, c, d: (a * b + long(c, d)) >> 64,
        declare,
    )
    e.write()
    e = Elementwise(
        "carry_chain_64",
        "add.cc, addc, sub.cc, subc of 64 bits",
        n.int_inputs(64, 4, 40, "carry"),
        (8,) * 4,
    )
    wide = lambda lo, hi: lo | hi << 64
    e.op(
        "add.cc.u64 %y, %0, %1;\naddc.u64 $, %2, %3;",
        8,
        lambda a, b, c, d: (wide(a, c) + wide(b, d)) >> 64 & mask(64),
        ".reg .b64 %y;",
    )
    e.op(
        "sub.cc.u64 %y, %0, %1;\nsubc.u64 $, %2, %3;",
        8,
        lambda a, b, c, d: (wide(a, c) - wide(b, d)) >> 64 & mask(64),
        ".reg .b64 %y;",
    )
    e.write()


COMPARE = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}


def carry_mix_cases():
    """Chains of both kinds: the flag is that of an adder, so a subtraction leaves "no borrow" in
    it."""
    for bits in (32, 64):
        t, size, top = f"u{bits}", bits // 8, 1 << bits
        rows = n.int_inputs(bits, 2, COUNT if bits == 32 else 40, "carry mix")
        rows += [(5, 7), (7, 5), (7, 7), (0, 0), (top - 1, 1), (top - 1, top - 1)]
        e = Elementwise(f"carry_mix_{bits}",
            f"the carry flag between additions and subtractions, {bits} bits", rows, (size,) * 2)
        before = {
            f"add.cc.{t}": lambda a, b: a + b >> bits & 1,
            f"sub.cc.{t}": lambda a, b: int(a >= b),
            f"mad.lo.cc.{t}": lambda a, b: (b + a & top - 1) + b >> bits & 1,
        }
        after = {
            f"addc.{t} $, %0, %1": lambda a, b, c: a + b + c,
            f"subc.{t} $, %0, %1": lambda a, b, c: a - b - 1 + c,
            f"madc.lo.{t} $, %0, %1, %0": lambda a, b, c: a * b + a + c,
            f"madc.hi.{t} $, %0, %1, %0": lambda a, b, c: (a * b >> bits) + a + c,
        }
        for first, flag in before.items():
            for second, value in after.items():
                mad = first.startswith("mad")
                text = f"{'add' if mad else 'mov'}.{t} %z, %0{', %1' if mad else ''};\n"
                text += f"{first} %y, %z, {'1, ' if mad else ''}%1;\n{second};"

                def result(a, b, flag=flag, value=value):
                    return value(a, b, flag(a, b)) & top - 1

                e.op(text, size, result, f".reg .b{bits} %y, %z;")
        # a flag that went through both kinds
        e.op(
            f"sub.cc.{t} %y, %0, %1;\nsubc.cc.{t} %y, %1, %0;\naddc.cc.{t} %y, %0, %0;\nsubc.{t} $, 0, 0;",
            size,
            lambda a, b: chain(a, b, bits),
            f".reg .b{bits} %y;",
        )
        e.write()


def chain(a, b, bits):
    c = int(a >= b)
    c = int(b - a - 1 + c >= 0)
    c = a + a + c >> bits & 1
    return c - 1 & (1 << bits) - 1


def compare_cases():
    for t in ("u16", "s16", "u32", "s32", "u64", "s64"):
        bits = int(t[1:])
        rows = [
            (a, a if i % 6 == 0 else b) for i, (a, b) in enumerate(n.int_inputs(bits, 2, 48, "cmp"))
        ]
        e = Elementwise(f"setp_{t}", f"setp and set of {t}", rows, (bits // 8,) * 2)
        compare = dict(COMPARE)
        if t[0] == "u":
            compare.update(lo=COMPARE["lt"], ls=COMPARE["le"], hi=COMPARE["gt"], hs=COMPARE["ge"])
        for op, function in compare.items():
            rule = lambda a, b, f=function, t=t: int(f(signed(t, a), signed(t, b)))
            e.op(f"setp.{op}.{t} {PREDICATE}", 4, rule)
        e.op(
            f"setp.lt.{t} %q|%q2, %0, %1;\nselp.b32 $, 1, 0, %q2;",
            4,
            lambda a, b, t=t: int(signed(t, a) >= signed(t, b)),
        )
        for combine, function in (("and", int.__and__), ("or", int.__or__), ("xor", int.__xor__)):
            e.op(
                f"setp.eq.{t} %q2, %0, %1;\nsetp.le.{combine}.{t} %q, %0, %1, !%q2;\nselp.b32 $, 1, 0, %q;",
                4,
                lambda a, b, t=t, g=function: g(int(signed(t, a) <= signed(t, b)), int(a != b)),
            )
        e.op(
            f"set.gt.u32.{t} $, %0, %1;",
            4,
            lambda a, b, t=t: mask(32) if signed(t, a) > signed(t, b) else 0,
        )
        e.op(
            f"set.gt.f32.{t} $, %0, %1;",
            4,
            lambda a, b, t=t: 0x3F800000 if signed(t, a) > signed(t, b) else 0,
        )
        e.write()
    for bits in (16, 32, 64):
        rows = [
            (a, a if i % 3 == 0 else b)
            for i, (a, b) in enumerate(n.int_inputs(bits, 2, 40, "cmpb"))
        ]
        e = Elementwise(f"setp_b{bits}", f"setp.eq and setp.ne of b{bits}", rows, (bits // 8,) * 2)
        e.op(f"setp.eq.b{bits} {PREDICATE}", 4, lambda a, b: int(a == b))
        e.op(f"setp.ne.b{bits} {PREDICATE}", 4, lambda a, b: int(a != b))
        e.write()


def move_cases():
    rows = n.int_inputs(32, 2, 40, "mov")
    e = Elementwise("mov_32", "mov of words, packing, unpacking, immediates", rows, (4, 4))
    e.op("mov.b32 $, %0;", 4, lambda a, b: a)
    e.op("mov.b64 $, {%0, %1};", 8, lambda a, b: a | b << 32)
    e.op(
        "mov.b64 %z, {%0, %1};\nmov.b64 {%y, $}, %z;",
        4,
        lambda a, b: b,
        ".reg .b32 %y;\n.reg .b64 %z;",
    )
    e.op(
        "mov.b32 {%h, %h2}, %0;\nmov.b32 $, {%h2, %h};",
        4,
        lambda a, b: (a >> 16 | a << 16) & mask(32),
        ".reg .b16 %h, %h2;",
    )
    e.op("mov.b32 {_, %h}, %0;\ncvt.u32.u16 $, %h;", 4, lambda a, b: a >> 16, ".reg .b16 %h;")
    e.op("mov.u32 $, 0x89abcdef;", 4, lambda a, b: 0x89ABCDEF)
    e.op("mov.s32 $, -7;", 4, lambda a, b: mask(32) - 6)
    e.op("mov.f32 $, 0fbf800000;", 4, lambda a, b: 0xBF800000)
    e.op("mov.f64 $, 0d400921fb54442d18;", 8, lambda a, b: 0x400921FB54442D18)
    e.op("mov.u64 $, 0xfedcba9876543210;", 8, lambda a, b: 0xFEDCBA9876543210)
    e.op(
        "setp.lt.u32 %q, %0, %1;\nmov.pred %q2, %q;\nselp.b32 $, 1, 0, %q2;",
        4,
        lambda a, b: int(a < b),
    )
    e.op(
        "setp.lt.u32 %q, %0, %1;\nnot.pred %q2, %q;\nselp.b32 $, 1, 0, %q2;",
        4,
        lambda a, b: int(a >= b),
    )
    e.op(
        "setp.lt.u32 %q, %0, %1;\nsetp.lt.u32 %q2, %1, 100;\nand.pred %q, %q, %q2;\nselp.b32 $, 1, 0, %q;",
        4,
        lambda a, b: int(a < b and b < 100),
    )
    e.op(
        "setp.lt.u32 %q, %0, %1;\nsetp.lt.u32 %q2, %1, 100;\nor.pred %q, %q, %q2;\nselp.b32 $, 1, 0, %q;",
        4,
        lambda a, b: int(a < b or b < 100),
    )
    e.op(
        "setp.lt.u32 %q, %0, %1;\nsetp.lt.u32 %q2, %1, 100;\nxor.pred %q, %q, %q2;\nselp.b32 $, 1, 0, %q;",
        4,
        lambda a, b: int((a < b) != (b < 100)),
    )
    e.op(
        "mov.b32 $, %1;\nsetp.lt.u32 %q, %0, %1;\n@%q mov.b32 $, 1;\n@!%q mov.b32 $, 2;",
        4,
        lambda a, b: 1 if a < b else 2,
    )
    e.write()


def generate():
    arithmetic_cases()
    wide_mad_cases()
    shift_cases()
    bit_field_cases()
    bit_cases()
    word_cases()
    packed16_cases()
    mask_cases()
    carry_cases()
    carry_mix_cases()
    compare_cases()
    move_cases()
