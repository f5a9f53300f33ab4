"""Cases of what assemblers take beyond the usual spelling: constants as predicates, sums as
sources, whole special registers, aliases, generic addresses of parameters."""

import struct

import number as n
from case import Case, Elementwise
from memory import finish, pointer

BLOCK = 64


def store(register, param):
    return pointer(param, 4, register="%g") + [f"    st.global.b32 [%g], {register};"]


def predicate_cases():
    rows = n.int_inputs(32, 3, BLOCK, "constant predicates")
    e = Elementwise("constant_predicates",
        "selp, setp, set, lop3, bar.red, vote with constants as predicates", rows, (4,) * 3)
    declare = ".reg .pred %z;"
    e.op("selp.b32 $, %0, %1, 1;", 4, lambda a, b, c: a)
    e.op("selp.u32 $, %0, %1, 0;", 4, lambda a, b, c: b)
    e.op("setp.lt.and.u32 %z, %0, %1, 1;\nselp.b32 $, %0, %2, %z;",
         4, lambda a, b, c: a if a < b else c, declare)
    e.op("setp.lt.and.u32 %z, %0, %1, 0;\nselp.b32 $, %0, %2, %z;", 4, lambda a, b, c: c, declare)
    e.op("setp.lt.xor.s32 %z, %0, %1, 1;\nselp.b32 $, %0, %2, %z;", 4,
         lambda a, b, c: c if n_signed(a) < n_signed(b) else a, declare)  # fmt: skip
    e.op("set.ge.or.u32.u32 $, %0, %1, 0;", 4, lambda a, b, c: 0xFFFFFFFF if a >= b else 0)
    e.op("lop3.and.b32 $|%z, %0, %1, %2, 0x80, 1;\nselp.b32 $, 1, 0, %z;",
         4, lambda a, b, c: int(a & b & c != 0), declare)
    e.op("bar.red.popc.u32 $, 0, 1;", 4, lambda a, b, c: BLOCK)
    e.write()


def n_signed(x):
    return x - (1 << 32) if x >> 31 else x


def sum_cases():
    rows = [(a, b, c & 0xFFFF) for a, b, c in n.int_inputs(64, 3, BLOCK, "sums")]
    e = Elementwise("register_plus_constant",
                    "a register and a constant added where a source stands", rows, (8, 8, 2))
    m = (1 << 64) - 1
    e.op("mul.lo.u64 $, %0+8, %1;", 8, lambda a, b, c: (a + 8) * b & m)
    e.op("sub.s64 $, %0+-4, %1+0x10;", 8, lambda a, b, c: a - 4 - b - 16 & m)
    e.op("cvt.u32.u64 %y, %0;\nshl.b32 $, %y+7, 3;",
         4, lambda a, b, c: ((a & 0xFFFFFFFF) + 7) << 3 & 0xFFFFFFFF, ".reg .b32 %y;")
    e.op("mov.u64 $, %1+1;", 8, lambda a, b, c: b + 1 & m)
    e.op("setp.ne.u64 %z, %0, %1;\nmov.u64 $, 5;\n@%z mov.u64 $, %0+100;",
         8, lambda a, b, c: a + 100 & m if a != b else 5, ".reg .pred %z;")
    e.op("mul.lo.u16 $, %2+3, 5;", 2, lambda a, b, c: (c + 3) * 5 & 0xFFFF)
    e.op("mov.b64 {%y, %v}, %0+9;\nxor.b32 $, %y, %v;", 4,
         lambda a, b, c: ((a + 9 & m) >> 32 ^ a + 9) & 0xFFFFFFFF, ".reg .b32 %y, %v;")  # fmt: skip
    e.write()


def vector_case():
    """mov of vectors; %tid and its kin whole and in 16 bits."""
    case = Case("mov_vector", "mov.v2, mov.v4, whole special registers, 16-bit reads",
                block="16,2,2", grid="2,3,1")
    case.block = "16,2,2"
    body = [
        "    .reg .v4 .u32 %tid4, %cta4;\n    .reg .v4 .u16 %h;\n    .reg .v2 .b32 %two;\n    .reg .v4 .b32 %four;",
        "    .reg .b16 %hx, %hy, %hz;\n    .reg .b32 %w, %u, %v, %size;",
        "    mov.v4.u32 %tid4, %tid;\n    mov.v4.u32 %cta4, %ctaid;\n    mov.v4.u16 %h, %ntid;",
        "    mad.lo.u32 %w, %tid4.y, 16, %tid4.x;\n    mad.lo.u32 %w, %tid4.z, 32, %w;",
        "    mad.lo.u32 %u, %cta4.y, 2, %cta4.x;\n    mad.lo.u32 %t, %u, 64, %w;",
        "    cvt.u32.u16 %size, %h.x;\n    cvt.u32.u16 %v, %h.y;\n    mul.lo.u32 %size, %size, %v;",
        "    add.u32 %size, %size, %tid4.w;\n    mov.u32 %v, %tid.w;\n    add.u32 %size, %size, %v;",
    ] + store("%size", "sizes")
    case.buffer("out", "sizes", 4, [32] * 384)
    body += [
        "    mov.u16 %hx, %tid.x;\n    mov.u16 %hy, %ctaid.y;\n    mov.u16 %hz, %nctaid.x;",
        "    mul.wide.u16 %v, %hx, %hz;\n    cvt.u32.u16 %w, %hy;\n    shl.b32 %w, %w, 16;\n    add.u32 %w, %w, %v;",
    ] + store("%w", "halves")
    case.buffer("out", "halves", 4, [(i // 64 // 2 << 16) + i % 16 * 2 for i in range(384)])
    # a permutation in place: all sources are read first
    body += [
        "    add.u32 %w, %t, 10;\n    mov.v4.b32 %four, {%t, %w, 3, 4};\n    mov.v4.b32 %four, {%four.w, %four.x, %four.y, %four.z};",
        "    mov.v2.b32 %two, {%four.y, %four.z};\n    mov.v2.b32 {%u, %v}, %two;\n    mov.v2.b32 {%v, %u}, {%u, %v};",
        "    mad.lo.u32 %w, %u, 1000, %v;\n    mad.lo.u32 %w, %four.x, 1000000, %w;",
    ] + store("%w", "moved")
    case.buffer("out", "moved", 4, [4000000 + 1000 * (i + 10) + i for i in range(384)])
    case.block = "16,2,2"
    finish(case, body)


def special_case():
    case = Case("special_registers_of_drivers", "%envreg and %pm read as zero, %gridid in 32 bits",
                block=BLOCK)
    case.lines.append("//: emulator")
    body = ["    .reg .b32 %w, %v;", "    mov.u32 %w, %gridid;\n    sub.u32 %w, %w, %w;"]
    for name in ("%envreg0", "%envreg1", "%envreg31", "%pm0", "%pm7"):
        body += [f"    mov.b32 %v, {name};\n    or.b32 %w, %w, %v;"]
    body += ["    mov.u64 %d, %pm3_64;\n    cvt.u32.u64 %v, %d;\n    or.b32 %w, %w, %v;"] + store("%w", "out0")
    case.buffer("out", "out0", 4, [0] * BLOCK)
    finish(case, body)


def alias_case():
    case = Case("alias", "an alias called, called through a register, and its address", block=BLOCK)
    case.preamble = """.visible .func (.param .b32 d) twice(.param .b32 x)
{
    .reg .b32 %v;
    ld.param.b32 %v, [x];
    add.u32 %v, %v, %v;
    st.param.b32 [d], %v;
    ret;
}
.visible .func (.param .b32 d) twofold(.param .b32 x);
.alias twofold, twice;

"""
    call = "    {\n    .param .b32 a;\n    .param .b32 r;\n    st.param.b32 [a], %t;\n    call (r), CALLEE, (a)REST;\n    ld.param.b32 %w, [r];\n    }"
    body = ["    .reg .b32 %w, %v;\n    .reg .b64 %f;",
            call.replace("CALLEE", "twofold").replace("REST", "")]
    body += ["    mov.u64 %d, twofold;\n    mov.u64 %f, twice;\n    add.u32 %v, %w, 1;"]
    body += ["form: .callprototype (.param .b32 _) _ (.param .b32 _);",
             call.replace("CALLEE", "%d").replace("REST", ", form")]
    body += ["    add.u32 %w, %w, %v;"] + store("%w", "out0")
    case.buffer("out", "out0", 4, [4 * i + 1 for i in range(BLOCK)])
    finish(case, body)


def parameter_case():
    """What a compiler makes of a __grid_constant__ parameter: its generic address, read and handed
    on."""
    case = Case("parameter_by_address", "cvta.param, then generic loads of a kernel parameter",
                block=BLOCK)
    case.preamble = """.func (.param .b64 d) fetch(.param .b64 at)
{
    .reg .b64 %a, %v;
    ld.param.b64 %a, [at];
    ld.b64 %v, [%a+8];
    st.param.b64 [d], %v;
    ret;
}

"""
    case.buffer("in", "first", 4, [5 * i for i in range(BLOCK)])
    case.buffer("in", "second", 4, [7 * i + 1 for i in range(BLOCK)])
    case.buffer("out", "out0", 4, [12 * i + 1 for i in range(BLOCK)])
    case.buffer("out", "out1", 4, [1] * BLOCK)
    body = [
        "    .reg .b32 %w, %v;\n        .reg .pred %is;",
        "    mov.b64 %d, first;\n    cvta.param.u64 %d, %d;\n    ld.u64 %x, [%d];",
        "    {\n    .param .b64 a;\n    .param .b64 r;\n    st.param.b64 [a], %d;\n    call (r), fetch, (a);\n    ld.param.b64 %y, [r];\n    }",
        "    mad.wide.u32 %x, %t, 4, %x;\n    mad.wide.u32 %y, %t, 4, %y;",
        "    ld.global.b32 %w, [%x];\n    ld.b32 %v, [%y];\n    add.u32 %w, %w, %v;",
    ] + store("%w", "out0")
    body += ["    isspacep.param %is, %d;\n    selp.b32 %w, 1, 0, %is;"] + store("%w", "out1")
    finish(case, body)


def widen(half, x):
    if half == "bf16":
        return x << 16
    return struct.unpack("<I", struct.pack("<f", struct.unpack("<e", struct.pack("<H", x))[0]))[0]


def mixed_cases():
    """f32 arithmetic with half sources; of sm_100."""
    for half, fmt in (("f16", n.F16), ("bf16", n.BF16)):
        halves, floats = n.float_inputs(fmt, 2, BLOCK, "mixed " + half), n.float_inputs(n.F32, 1,
            BLOCK, "mixed")
        rows = [(*h, *f) for h, f in zip(halves, floats)]
        # sums that nearly cancel, and ties between two floats
        rows[0:4] = [
            (halves[k][0], halves[k][1], widen(half, halves[k][0]) ^ 0x80000000 | k)
            for k in range(4)
        ]
        e = Elementwise(f"mixed_{half}", f"add, sub, fma of .f32.{half}", rows, (2, 2, 4))
        e.case.version, e.case.target = "8.6", "sm_100a"
        for mode in ("", "rn", "rz", "rm", "rp"):
            for sat in (False, True):
                suffix = ("." + mode if mode else "") + (".sat" if sat else "") + f".f32.{half}"

                def rule(f, mode=mode or "rn", sat=sat, half=half):
                    def model(a, b, c):
                        r = f(widen(half, a), widen(half, b), c, mode)
                        return n.saturate(n.F32, r) if sat else r

                    return model

                e.op(f"add{suffix} $, %0, %2;", 4, rule(lambda a, b, c, m: n.add(n.F32, a, c, m)))
                e.op(f"sub{suffix} $, %0, %2;", 4, rule(lambda a, b, c, m: n.sub(n.F32, a, c, m)))
                if mode:
                    e.op(f"fma{suffix} $, %0, %1, %2;", 4,
                         rule(lambda a, b, c, m: n.fma(n.F32, a, b, c, m)))
        e.write()


def generate():
    predicate_cases()
    sum_cases()
    vector_case()
    special_case()
    alias_case()
    parameter_case()
    mixed_cases()
