"""Cases of control flow: branches, calls, indirect calls, the stack."""

from case import Case
from memory import finish, pointer
from sync import out


def control_cases():
    case = Case("branches", "divergent loops, brx.idx, exit of some lanes", block=64)
    body = [
        "    .reg .b32 %i, %sum;",
        "    mov.u32 %i, %t;",
        "    mov.u32 %sum, 0;",
        "loop:",
        "    setp.eq.u32 %q, %i, 0;",
        "    @%q bra done;",
        "    add.u32 %sum, %sum, %i;",
        "    sub.u32 %i, %i, 1;",
        "    bra loop;",
        "done:",
        "    and.b32 %a, %t, 3;",
        "targets: .branchtargets one, two, three, four;",
        "    brx.idx %a, targets;",
        "one:",
        "    add.u32 %sum, %sum, 10000;",
        "    bra.uni join;",
        "two:",
        "    add.u32 %sum, %sum, 20000;",
        "    bra join;",
        "three:",
        "    add.u32 %sum, %sum, 30000;",
        "    bra join;",
        "four:",
        "    setp.gt.u32 %q, %t, 40;",
        "    @%q exit;",
        "    add.u32 %sum, %sum, 40000;",
        "join:",
    ]
    expect = []
    for i in range(64):
        gone = i % 4 == 3 and i > 40
        expect.append(0xCDCDCDCD if gone else i * (i + 1) // 2 + 10000 * (i % 4 + 1))
    case.buffer("out", "out0", 4, expect)
    finish(case, body + out("%sum"))
    case = Case("calls", "functions: parameters, results, recursion", block=32)
    case.preamble = """.func (.param .b32 result) triangle(.param .b32 count)
{
    .reg .b32 %n, %r;
    .reg .pred %q;
    ld.param.b32 %n, [count];
    mov.b32 %r, 0;
    setp.eq.u32 %q, %n, 0;
    @%q bra done;
    sub.u32 %r, %n, 1;
    {
        .param .b32 a;
        .param .b32 b;
        st.param.b32 [a], %r;
        call (b), triangle, (a);
        ld.param.b32 %r, [b];
    }
    add.u32 %r, %r, %n;
done:
    st.param.b32 [result], %r;
    ret;
}

"""
    body = [
        "    {",
        "    .param .b32 a;",
        "    .param .b32 b;",
        "    st.param.b32 [a], %t;",
        "    call.uni (b), triangle, (a);",
        "    ld.param.b32 %a, [b];",
        "    }",
    ]
    case.buffer("out", "out0", 4, [i * (i + 1) // 2 for i in range(32)])
    finish(case, body + out())
    indirect_case()
    stack_case()
    case = Case(
        "no_effect",
        "instructions that change no value: policies, hints, fences, sleeps, dependent launches",
        block=128,
    )
    case.buffer("in", "in0", 4, [5 * i for i in range(128)])
    body = pointer("in0", 4) + [
        "    griddepcontrol.wait;",
        "    createpolicy.fractional.L2::evict_last.b64 %x, 0f3f000000;",
        "    createpolicy.fractional.L2::evict_first.L2::evict_unchanged.b64 %y;",
        "    createpolicy.range.global.L2::evict_last.L2::evict_first.b64 %z, [%p], 64, 128;",
        "    createpolicy.cvt.L2.b64 %z, 0x12f0000000000000;",
        "    ld.global.L2::cache_hint.b32 %a, [%p], %x;",
        "    prefetchu.L1 [%p];",
        "    prefetch.global.L2::evict_last [%p];",
        "    prefetch.global.L2::evict_normal [%p];",
        "    pmevent 3;",
        "    pmevent.mask 5;",
        "    nanosleep.u32 20;",
        "    membar.proxy.alias;",
        "    fence.proxy.async.shared::cta;",
        "    fence.mbarrier_init.release.cluster;",
        "    griddepcontrol.launch_dependents;",
    ]
    case.buffer("out", "out0", 4, [5 * i for i in range(128)])
    finish(case, body + out())
    case = Case("setmaxnreg", "setmaxnreg.dec and .inc", block=256)
    case.directives = ".reqntid 256\n.minnctapersm 1\n"
    body = [
        "    setp.lt.u32 %q, %t, 128;",
        "    @%q bra less;",
        "    setmaxnreg.inc.sync.aligned.u32 160;",
        "    add.u32 %a, %t, 1;",
        "    bra join;",
        "less:",
        "    setmaxnreg.dec.sync.aligned.u32 40;",
        "    add.u32 %a, %t, 2;",
        "join:",
    ]
    case.buffer("out", "out0", 4, [i + (2 if i < 128 else 1) for i in range(256)])
    finish(case, body + out())
    for name in ("trap", "brkpt"):
        case = Case(name, f"{name} ends the launch", block=32)
        case.lines.append("//: fails trap" if name == "trap" else "//: fails brkpt")
        case.buffer("out", "out0", 4, [0xCDCDCDCD] * 32)
        finish(case, ["    setp.eq.u32 %q, %t, 5;", f"    @%q {name};"] + out())


FUNCTION = """.func (.param .b32 result) {name}(.param .b32 x)
{{
    .reg .b32 %v;
    ld.param.b32 %v, [x];
    {text}
    st.param.b32 [result], %v;
    ret;
}}

"""


def indirect_case():
    """Calls through a register: by prototype, out of a table; by a list of targets, of
    addresses."""
    case = Case(
        "calls_indirect", "calls through registers, of lanes that go different ways", block=64
    )
    for name, text in (
        ("twice", "add.u32 %v, %v, %v;"),
        ("square", "mul.lo.u32 %v, %v, %v;"),
        ("invert", "not.b32 %v, %v;"),
    ):
        case.preamble += FUNCTION.format(name=name, text=text)
    case.preamble += ".global .u64 table[3] = {twice, square, invert};\n\n"
    apply = lambda i, x: (2 * x, x * x, x ^ 0xFFFFFFFF)[i]
    case.buffer("out", "out0", 4, [apply(i % 3, apply(i * 7 // 2 % 3, i)) for i in range(64)])
    body = [
        "    .reg .pred %q2;",
        "    mul.lo.u32 %a, %t, 7;\n    shr.u32 %a, %a, 1;\n    rem.u32 %a, %a, 3;",
        "    mov.u64 %d, table;\n    mad.wide.u32 %d, %a, 8, %d;\n    ld.global.u64 %x, [%d];",
        "    {\n    .param .b32 p;\n    .param .b32 r;\n    st.param.b32 [p], %t;",
        "like_these: .callprototype (.param .b32 _) _ (.param .b32 _);",
        "    call (r), %x, (p), like_these;\n    ld.param.b32 %b, [r];\n    }",
        "    rem.u32 %a, %t, 3;\n    setp.eq.u32 %q, %a, 0;\n    setp.eq.u32 %q2, %a, 1;",
        "    mov.u64 %x, invert;\n    @%q mov.u64 %x, twice;\n    @%q2 mov.u64 %x, square;",
        "    {\n    .param .b32 p;\n    .param .b32 r;\n    st.param.b32 [p], %b;",
        "any_of: .calltargets twice, square, invert;",
        "    call (r), %x, (p), any_of;\n    ld.param.b32 %a, [r];\n    }",
    ]
    finish(case, body + out())


def stack_case():
    """alloca below and above a call, stacksave and stackrestore."""
    case = Case("stack_memory", "alloca, stacksave, stackrestore", block=32)
    case.preamble = """.func (.param .b32 result) sum_below(.param .b32 n)
{
    .local .align 4 .b8 scratch[64];
    .reg .b32 %n, %i, %s, %v, %at;
    .reg .pred %q;
    ld.param.b32 %n, [n];
    shl.b32 %v, %n, 2;
    alloca.u32 %at, %v, 64;
    and.b32 %s, %at, 63;
    mov.b32 %i, 0;
fill:
    shl.b32 %v, %i, 2;
    add.u32 %v, %v, %at;
    st.local.b32 [%v], %i;
    add.u32 %i, %i, 1;
    setp.lt.u32 %q, %i, %n;
    @%q bra fill;
    st.local.b32 [scratch], %s;
    mov.b32 %i, 0;
add:
    shl.b32 %v, %i, 2;
    add.u32 %v, %v, %at;
    ld.local.b32 %v, [%v];
    add.u32 %s, %s, %v;
    add.u32 %i, %i, 1;
    setp.lt.u32 %q, %i, %n;
    @%q bra add;
    st.param.b32 [result], %s;
    ret;
}

"""
    case.buffer("out", "out0", 4, [1000 * i + (i + 3) * (i + 2) // 2 + 77 for i in range(32)])
    body = [
        "    .reg .b64 %save, %first, %second;",
        "    mul.lo.u32 %a, %t, 1000;",
        "    alloca.u64 %first, 32;",
        "    st.local.b32 [%first + 28], %a;",
        "    stacksave.u64 %save;",
        "    alloca.u64 %second, 16, 8;",
        "    st.local.b32 [%second], 77;",
        "    ld.local.b32 %c, [%second];",
        "    add.u32 %b, %t, 3;",
        "    {\n    .param .b32 p;\n    .param .b32 r;\n    st.param.b32 [p], %b;",
        "    call (r), sum_below, (p);\n    ld.param.b32 %b, [r];\n    }",
        "    ld.local.b32 %a, [%first + 28];",
        "    add.u32 %b, %b, %c;",
        "    stackrestore.u64 %save;",
        "    add.u32 %a, %a, %b;",
    ]
    finish(case, body + out())


def generate():
    control_cases()
