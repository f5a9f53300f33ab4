"""Cases of barriers, mbarriers and clusters."""

from case import Case
from memory import atomic, finish, pointer

BLOCK = 96
INIT = [
    "    .shared .align 8 .b8 barrier[16];",
    "    .reg .b32 %m;",
    "    mov.u32 %m, barrier;",
    "    setp.eq.u32 %q, %t, 0;",
]


def out(register="%a", param="out0"):
    return pointer(param, 4, register="%g") + [f"    st.global.b32 [%g], {register};"]


# ---- bar and barrier
# --------------------------------------------------------------------------------------


def bar_cases():
    """Threads read what their mirror image wrote before the barrier."""
    for prefix in (
        "bar",
        "bar.cta",
        "barrier",
        "barrier.cta",
        "barrier.aligned",
        "barrier.cta.aligned",
    ):
        root, aligned = prefix.removesuffix(".aligned"), (
            ".aligned" if prefix.endswith(".aligned") else ""
        )
        case = Case(prefix.replace(".", "_") + "_sync", f"{prefix}: sync, arrive, red", block=BLOCK)
        body = [
            f"    .shared .align 4 .b8 words[{4 * BLOCK}];",
            "    mov.u32 %s, words;",
            "    mad.lo.u32 %a, %t, 4, %s;",
            "    mul.lo.u32 %b, %t, 3;",
            "    st.shared.b32 [%a], %b;",
            f"    {root}.sync{aligned} 0;",
            f"    sub.u32 %c, {BLOCK - 1}, %t;",
            "    mad.lo.u32 %c, %c, 4, %s;",
            "    ld.shared.b32 %e, [%c];",
        ] + out("%e")
        case.buffer("out", "out0", 4, [3 * (BLOCK - 1 - i) for i in range(BLOCK)])
        # two warps arrive at barrier 3, the third waits for them
        body += [
            f"    {root}.sync{aligned} 0;",
            "    setp.ge.u32 %q, %t, 64;",
            "    @%q bra consumer;",
            "    add.u32 %b, %t, 1000;",
            "    st.shared.b32 [%a], %b;",
            f"    {root}.arrive{aligned} 3, {BLOCK};",
            "    bra joined;",
            "consumer:",
            f"    {root}.sync{aligned} 3, {BLOCK};",
            "    ld.shared.b32 %e, [%a + -256];",
            "joined:",
            f"    {root}.sync{aligned} 1, {BLOCK};",
        ]
        body += out("%e", "out1")
        case.buffer(
            "out",
            "out1",
            4,
            [3 * (BLOCK - 1 - i) if i < 64 else 1000 + i - 64 for i in range(BLOCK)],
        )
        for k, (count, member) in enumerate((("", BLOCK), (f", {BLOCK}", BLOCK))):
            body += [
                "    and.b32 %b, %t, 3;",
                "    setp.eq.u32 %q, %b, 0;",
                f"    {root}.red.popc{aligned}.u32 %e, 2{count}, %q;",
            ] + out("%e", f"popc{k}")
            case.buffer("out", f"popc{k}", 4, [BLOCK // 4] * BLOCK)
        body += [
            "    .reg .pred %r;",
            "    setp.lt.u32 %q, %t, 95;",
            f"    {root}.red.and{aligned}.pred %r, 4, %q;",
            "    selp.b32 %e, 1, 0, %r;",
            f"    {root}.red.or{aligned}.pred %r, 5, !%q;",
            "    selp.b32 %b, 2, 0, %r;",
            "    or.b32 %e, %e, %b;",
        ] + out("%e", "preds")
        case.buffer("out", "preds", 4, [2] * BLOCK)
        finish(case, body)


def early_exit_cases():
    """Producers arrive and exit; the count is the CTA's size, so their arrivals are all that keeps
    it."""
    head = [
        f"    .shared .align 4 .b8 words[{4 * BLOCK}];",
        "    .reg .b32 %w;",
        "    shr.u32 %w, %t, 5;",
        "    mov.u32 %s, words;",
        "    mad.lo.u32 %a, %t, 4, %s;",
        "    add.u32 %b, %t, 1000;",
    ]
    for name, count in (("counted", f", {BLOCK}"), ("mixed", "")):
        case = Case(f"bar_arrive_then_exit_{name}",
                    f"bar.arrive by warps that exit, {name} bar.sync", block=BLOCK)
        body = head + [
            "    setp.eq.u32 %q, %w, 1;",
            "    @%q bra consumer;",
            "    st.shared.b32 [%a], %b;",
            f"    bar.arrive 1, {BLOCK};",
            "    exit;",
            "consumer:",
            f"    bar.sync 1{count};",
            "    ld.shared.b32 %e, [%a + -128];",
            "    ld.shared.b32 %b, [%a + 128];",
            "    shl.b32 %b, %b, 16;",
            "    or.b32 %e, %e, %b;",
        ] + out("%e")
        if not count:  # as an H200 does: the rest of the CTA is another count
            case.lines.append("//: fails some threads give the count 96, others none")
        untouched = [0xCDCDCDCD] * 32
        case.buffer("out", "out0", 4,
                    untouched + [1000 + i | 1064 + i << 16 for i in range(32)] + untouched)
        finish(case, body)
    # without a count the barrier does not wait for who exits; a part of a warp is whole when the
    # rest has gone
    case = Case("bar_sync_after_exit", "bar.sync without a count, and by what is left of a warp",
                block=BLOCK)
    body = head + [
        "    setp.eq.u32 %q, %w, 2;",
        "    @%q exit;",
        "    st.shared.b32 [%a], %b;",
        "    and.b32 %c, %t, 8;",
        "    setp.ne.u32 %q, %c, 0;",
        "    @%q exit;",
        "    barrier.sync 0;",
        "    xor.b32 %c, %t, 32;",
        "    mad.lo.u32 %a, %c, 4, %s;",
        "    ld.shared.b32 %e, [%a];",
        "    barrier.sync 1, 64;",
    ] + out("%e")
    case.buffer("out", "out0", 4,
                [0xCDCDCDCD if i & 8 or i >= 64 else 1000 + (i ^ 32) for i in range(BLOCK)])
    finish(case, body)


def impossible_cases():
    """What hangs an H200 is a deadlock that the emulator reports."""
    for name, title, text in (
        (
            "exits",
            "a warp exits without its arrival at a counted barrier",
            ["    setp.eq.u32 %q, %w, 2;", "    @%q exit;", f"    bar.sync 1, {BLOCK};"],
        ),
        (
            "arrives_twice",
            "a warp arrives twice before the other side comes",
            [
                "    setp.ne.u32 %q, %w, 1;",
                "    @%q bra consumer;",
                "    bar.arrive 1, 64;",
                "    bar.arrive 1, 64;",
                "    st.volatile.shared.b32 [words], 1;",
                "    exit;",
                "consumer:",
                "    setp.eq.u32 %q, %w, 2;",
                "    @%q exit;",
                "    ld.volatile.shared.b32 %a, [words];",
                "    setp.eq.u32 %q, %a, 0;",
                "    @%q bra consumer;",
                "    bar.sync 1, 64;",
            ],
        ),
        (
            "too_many",
            "more threads than the CTA has",
            [f"    bar.sync 1, {BLOCK + 32};"],
        ),
    ):
        case = Case(f"bar_impossible_{name}", title, block=BLOCK)
        case.lines.append("//: fails deadlock")
        body = [
            "    .shared .align 4 .b32 words;",
            "    .reg .b32 %w;",
            "    shr.u32 %w, %t, 5;",
            "    st.volatile.shared.b32 [words], 0;",
            "    bar.sync 0;",
        ] + text
        case.buffer("out", "out0", 4, [0] * BLOCK)
        finish(case, body + out("%t"))


def tx_range_case():
    """The byte count of a phase has a range to both sides: bytes may come before they are
    expected."""
    for name, operation in (("below", "complete_tx"), ("above", "expect_tx")):
        case = Case(f"mbarrier_tx_{name}_range", f"mbarrier.{operation} beyond 2^20 - 1 bytes",
                    block=1)
        case.lines.append("//: fails outside")
        step = f"    mbarrier.{operation}.relaxed.cluster.shared::cluster.b64 [%m], 1048575;"
        body = INIT + ["    mbarrier.init.shared::cta.b64 [%m], 1;", step]
        body += ["    mbarrier.inval.shared::cta.b64 [%m];",
                 "    mbarrier.init.shared::cta.b64 [%m], 1;", step, step]
        case.buffer("out", "out0", 4, [0])
        finish(case, body + out("%t"))


# ---- mbarrier
# ---------------------------------------------------------------------------------------------


def mbarrier_local_case():
    """One thread counts phases by hand; the words that come out are predicates and pending
    counts."""
    case = Case(
        "mbarrier_forms",
        "mbarrier: init, arrive, drop, noComplete, expect_tx, complete_tx, waits, inval",
        block=1,
    )
    steps, expected = [], []

    def probe(parity, value):
        for text in (
            f"mbarrier.test_wait.parity.shared.b64 %q, [%m], {parity};",
            f"mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %q, [%m], {parity}, 100;",
        ):
            steps.append([text, "selp.b32 %a, 1, 0, %q;"])
            expected.append(value)

    def act(*lines):
        steps.append([*lines, "mov.b32 %a, 7;"])
        expected.append(7)

    act("mbarrier.init.shared.b64 [%m], 3;")
    probe(0, 0)
    probe(1, 1)  # the phase before the first counts as done
    act("mbarrier.arrive.shared.b64 %x, [%m];")
    steps.append(["mbarrier.pending_count.b64 %a, %x;"])
    expected.append(3)
    act("mbarrier.arrive.noComplete.shared.b64 %y, [%m], 1;")
    steps.append(["mbarrier.pending_count.b64 %a, %y;"])
    expected.append(2)
    steps.append(["mbarrier.test_wait.shared.b64 %q, [%m], %x;", "selp.b32 %a, 1, 0, %q;"])
    expected.append(0)
    act("mbarrier.arrive.release.cta.shared::cta.b64 _, [%m], 1;")
    steps.append(["mbarrier.test_wait.shared.b64 %q, [%m], %x;", "selp.b32 %a, 1, 0, %q;"])
    expected.append(1)
    steps.append(["mbarrier.try_wait.shared.b64 %q, [%m], %x;", "selp.b32 %a, 1, 0, %q;"])
    expected.append(1)
    probe(0, 1)
    probe(1, 0)
    act(
        "mbarrier.arrive_drop.shared.b64 %x, [%m];", "mbarrier.arrive.shared.b64 _, [%m], 2;"
    )  # phase 1 done; 2 from now on
    probe(1, 1)
    act(
        "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%m], 48;",
        "mbarrier.arrive.shared.b64 _, [%m], 2;",
    )
    probe(0, 0)
    act("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%m], 16;")
    probe(0, 0)
    act("mbarrier.complete_tx.shared::cta.b64 [%m], 32;")
    probe(0, 1)
    act(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%m], 64;",
        "mbarrier.arrive.shared.b64 _, [%m];",
    )
    probe(1, 0)
    act("mbarrier.complete_tx.shared::cta.b64 [%m], 64;")
    probe(1, 1)
    act(
        "mbarrier.arrive_drop.expect_tx.shared::cta.b64 _, [%m], 16;",
        "mbarrier.complete_tx.shared::cta.b64 [%m], 16;",
        "mbarrier.arrive.shared.b64 _, [%m];",
    )
    probe(0, 1)
    act("mbarrier.arrive.shared.b64 _, [%m];")  # one arrival is left per phase
    probe(1, 1)
    act(
        "mbarrier.inval.shared.b64 [%m];",
        "mbarrier.init.shared.b64 [%m], 4;",
        "mbarrier.arrive_drop.noComplete.shared.b64 %x, [%m], 2;",
        "mbarrier.arrive.shared.b64 _, [%m], 2;",
    )
    probe(0, 1)
    act("mbarrier.arrive.shared.b64 _, [%m], 2;")
    probe(1, 1)
    act("mbarrier.inval.shared::cta.b64 [%m];")
    body = list(INIT) + ["    ld.param.u64 %g, [out0];"]
    for i, lines in enumerate(steps):
        body += ["    " + text for text in lines] + [f"    st.global.b32 [%g + {4 * i}], %a;"]
    case.buffer("out", "out0", 4, expected)
    finish(case, body)


def mbarrier_phases_case():
    """A ring of two barriers between a producer warp and a consumer warp, eight rounds."""
    case = Case("mbarrier_ring", "full and empty barriers, eight rounds, parity waits", block=64)
    body = [
        "    .shared .align 8 .b8 full[16];",
        "    .shared .align 8 .b8 empty[16];",
        "    .shared .align 4 .b8 stage[256];",
        "    .reg .b32 %f, %w, %i, %k, %ph, %sum, %lane;",
        "    mov.u32 %f, full;",
        "    mov.u32 %w, empty;",
        "    setp.eq.u32 %q, %t, 0;",
        "    @!%q bra ready;",
    ]
    body += [f"    mbarrier.init.shared.b64 [%{r} + {o}], 32;" for r in "fw" for o in (0, 8)]
    body += [
        "ready:",
        "    bar.sync 0;",
        "    mov.u32 %i, 0;",
        "    mov.u32 %sum, 0;",
        "    and.b32 %lane, %t, 31;",
        "    setp.ge.u32 %q, %t, 32;",
        "    @%q bra consumer;",
        "producer:",
        "    and.b32 %k, %i, 1;",
        "    shr.u32 %ph, %i, 1;",
        "    and.b32 %ph, %ph, 1;",
        "    xor.b32 %ph, %ph, 1;",
        "    mad.lo.u32 %a, %k, 8, %w;",
        "pwait:",
        "    mbarrier.try_wait.parity.shared.b64 %q, [%a], %ph;",
        "    @!%q bra pwait;",
        "    mov.u32 %s, stage;",
        "    mad.lo.u32 %s, %k, 128, %s;",
        "    mad.lo.u32 %s, %lane, 4, %s;",
        "    mad.lo.u32 %b, %i, 100, %lane;",
        "    st.shared.b32 [%s], %b;",
        "    mad.lo.u32 %a, %k, 8, %f;",
        "    mbarrier.arrive.shared.b64 _, [%a];",
        "    add.u32 %i, %i, 1;",
        "    setp.lt.u32 %q, %i, 8;",
        "    @%q bra producer;",
        "    bra end;",
        "consumer:",
        "    and.b32 %k, %i, 1;",
        "    shr.u32 %ph, %i, 1;",
        "    and.b32 %ph, %ph, 1;",
        "    mad.lo.u32 %a, %k, 8, %f;",
        "cwait:",
        "    mbarrier.try_wait.parity.shared.b64 %q, [%a], %ph;",
        "    @!%q bra cwait;",
        "    mov.u32 %s, stage;",
        "    mad.lo.u32 %s, %k, 128, %s;",
        "    xor.b32 %b, %lane, 5;",
        "    mad.lo.u32 %s, %b, 4, %s;",
        "    ld.shared.b32 %c, [%s];",
        "    mad.lo.u32 %sum, %sum, 3, %c;",
        "    mad.lo.u32 %a, %k, 8, %w;",
        "    mbarrier.arrive.shared.b64 _, [%a];",
        "    add.u32 %i, %i, 1;",
        "    setp.lt.u32 %q, %i, 8;",
        "    @%q bra consumer;",
        "end:",
    ]
    sums = []
    for lane in range(32):
        total = 0
        for i in range(8):
            total = (3 * total + 100 * i + (lane ^ 5)) & 0xFFFFFFFF
        sums.append(total)
    case.buffer("out", "out0", 4, [0] * 32 + sums)
    finish(case, body + out("%sum"))


# ---- clusters
# ---------------------------------------------------------------------------------------------

CLUSTER_SYNC = [
    "    barrier.cluster.arrive.release.aligned;",
    "    barrier.cluster.wait.acquire.aligned;",
]


def cluster_cases():
    case = Case(
        "cluster_memory",
        "mapa, getctarank, ld and st of another CTA, remote mbarrier arrivals",
        block=32,
        grid=2,
        cluster=2,
    )
    body = [
        "    .shared .align 4 .b8 words[128];",
        "    .reg .b32 %rank, %peer, %rm;",
        "    .reg .b64 %w, %state;",
    ] + INIT
    body += [
        "    @%q mbarrier.init.shared.b64 [%m], 65;",
        "    fence.mbarrier_init.release.cluster;",
        "    mov.u32 %rank, %cluster_ctarank;",
        "    xor.b32 %peer, %rank, 1;",
        "    mov.u32 %s, words;",
        "    mad.lo.u32 %a, %t, 4, %s;",
        "    mad.lo.u32 %b, %rank, 1000, %t;",
        "    st.shared.b32 [%a], %b;",
        "    barrier.cluster.arrive.aligned;",
        "    barrier.cluster.wait.aligned;",
        "    mapa.shared::cluster.u32 %c, %a, %peer;",
        "    ld.shared::cluster.b32 %e, [%c];",
    ]
    case.buffer("out", "out0", 4, [1000 + i for i in range(32)] + list(range(32)))
    index = ["    .reg .b32 %n;", "    mad.lo.u32 %n, %rank, 32, %t;"]
    body += (
        index
        + pointer("out0", 4, "%n", "%g")
        + [
            "    st.global.b32 [%g], %e;",
            "    getctarank.shared::cluster.u32 %e, %c;",
            "    cvt.u64.u32 %x, %s;",
            "    cvta.shared.u64 %x, %x;",
            "    mapa.u64 %y, %x, %peer;",
            "    getctarank.u64 %b, %y;",
            "    mad.lo.u32 %e, %b, 10, %e;",
        ]
    )
    case.buffer("out", "out1", 4, [11] * 32 + [0] * 32)
    body += pointer("out1", 4, "%n", "%g") + ["    st.global.b32 [%g], %e;"] + CLUSTER_SYNC
    # every thread arrives twice at the peer's barrier, one in four ways; the last arrival is the
    # CTA's own
    body += (
        [
            "    mapa.shared::cluster.u32 %rm, %m, %peer;",
            "    mapa.shared::cluster.u32 %c, %a, %peer;",
            "    add.u32 %b, %t, 77;",
            "    st.shared::cluster.b32 [%c], %b;",
            "    mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%rm];",
            "    setp.lt.u32 %q, %t, 16;",
            "    @%q bra with_bytes;",
            "    mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%rm], 1;",
            "    bra arrived;",
            "with_bytes:",
            "    mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%rm], 8;",
            "    mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%rm], 8;",
            "arrived:",
            "    setp.eq.u32 %q, %t, 0;",
            "    @%q mbarrier.arrive.shared.b64 _, [%m];",
            "wait:",
            "    mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %q, [%m], 0;",
            "    @!%q bra wait;",
            "    ld.shared.b32 %e, [%a];",
        ]
        + pointer("out2", 4, "%n", "%g")
        + ["    st.global.b32 [%g], %e;"]
    )
    case.buffer("out", "out2", 4, [77 + i for i in range(32)] * 2)
    # dropping remote arrivals: all that is left is the own one
    body += (
        CLUSTER_SYNC
        + [
            "    mbarrier.arrive_drop.release.cluster.shared::cluster.b64 _, [%rm];",
            "    setp.lt.u32 %q, %t, 16;",
            "    @%q bra drop_bytes;",
            "    mbarrier.arrive_drop.release.cluster.shared::cluster.b64 _, [%rm], 1;",
            "    bra dropped;",
            "drop_bytes:",
            "    mbarrier.expect_tx.relaxed.cluster.shared::cluster.b64 [%rm], 4;",
            "    mbarrier.arrive_drop.expect_tx.release.cluster.shared::cluster.b64 _, [%rm], 4;",
            "    mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%rm], 8;",
            "dropped:",
            "    setp.eq.u32 %q, %t, 0;",
            "    @%q mbarrier.arrive.shared.b64 _, [%m];",
            "wait1:",
            "    mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %q, [%m], 1;",
            "    @!%q bra wait1;",
        ]
        + CLUSTER_SYNC
    )
    body += [
        "    setp.eq.u32 %q, %t, 0;",
        "    @%q mbarrier.arrive.shared.b64 _, [%m];",
        "    bar.sync 0;",
        "    mbarrier.test_wait.parity.shared.b64 %q, [%m], 0;",
        "    selp.b32 %e, 1, 0, %q;",
    ] + pointer("out3", 4, "%n", "%g")
    case.buffer("out", "out3", 4, [1] * 64)
    finish(case, body + ["    st.global.b32 [%g], %e;"])


def remote_async_case():
    """st.async and red.async from CTA 0 to CTA 1."""
    case = Case(
        "remote_async",
        "st.async and red.async of every type, completing on the peer's mbarrier",
        block=32,
        grid=2,
        cluster=2,
    )
    ops = [
        ("and", "b32"),
        ("or", "b32"),
        ("xor", "b32"),
        ("add", "u32"),
        ("add", "s32"),
        ("add", "u64"),
        ("inc", "u32"),
        ("dec", "u32"),
        ("min", "u32"),
        ("max", "u32"),
        ("min", "s32"),
        ("max", "s32"),
    ]
    total = sum(int(t[1:]) // 8 for _, t in ops) * 32 + 32 * (4 + 8 + 16)
    slot = 32 * 8
    size = slot * len(ops) + 32 * 32
    body = [f"    .shared .align 16 .b8 words[{size}];", "    .reg .b32 %rank, %c0, %rm;"] + INIT
    body += [
        "    mov.u32 %rank, %cluster_ctarank;",
        "    mov.u32 %s, words;",
        "    mad.lo.u32 %a, %t, 8, %s;",
    ]
    for k in range(len(ops)):
        body += ["    mov.b64 %x, 0x0000000a0000000c;", f"    st.shared.b64 [%a + {slot * k}], %x;"]
    body += [
        "    setp.eq.u32 %q, %t, 0;",
        "    setp.eq.and.u32 %q, %rank, 1, %q;",
        "    @!%q bra ready;",
        "    mbarrier.init.shared.b64 [%m], 1;",
        "    fence.mbarrier_init.release.cluster;",
        f"    mbarrier.arrive.expect_tx.shared::cta.b64 _, [%m], {total};",
        "ready:",
    ] + CLUSTER_SYNC
    body += [
        "    setp.eq.u32 %q, %rank, 1;",
        "    @%q bra wait;",
        "    mapa.shared::cluster.u32 %c, %a, 1;",
        "    mapa.shared::cluster.u32 %rm, %m, 1;",
        "    add.u32 %b, %t, 2;",
        "    cvt.u64.u32 %y, %b;",
    ]
    words = []
    for k, (op, t) in enumerate(ops):
        register = "%y" if t.endswith("64") else "%b"
        body.append(
            f"    red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.{op}.{t} [%c + {slot * k}], {register}, [%rm];"
        )
        row = []
        for lane in range(32):
            if t.endswith("64"):
                r = atomic(op, t, 0x0000000A0000000C, lane + 2)
                row += [r & 0xFFFFFFFF, r >> 32]
            else:
                row += [atomic(op, t, 0xC, lane + 2), 0xA]
        words += row
    base = slot * len(ops)
    body += [
        "    mapa.shared::cluster.u32 %c0, %s, 1;",
        "    mad.lo.u32 %c0, %t, 32, %c0;",
        f"    st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%c0 + {base}], %b, [%rm];",
        f"    st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%c0 + {base + 8}], {{%b, %t}}, [%rm];",
        f"    st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%c0 + {base + 16}], {{%t, %b, %b, %t}}, [%rm];",
        "    bra end;",
    ]
    body += [
        "wait:",
        "    mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %q, [%m], 0;",
        "    @!%q bra wait;",
    ]
    case.buffer("out", "out0", 4, words)
    body += pointer("out0", 8, register="%g")
    for k in range(len(ops)):
        body += [
            f"    ld.shared.b64 %x, [%a + {slot * k}];",
            f"    st.global.b64 [%g + {slot * k}], %x;",
        ]
    sent = []
    for lane in range(32):
        sent += [lane + 2, lane + 2, lane, lane, lane + 2, lane + 2, lane]
    case.buffer("out", "out1", 4, sent)
    body += pointer("out1", 28, register="%g") + ["    mad.lo.u32 %c0, %t, 32, %s;"]
    for k, at in enumerate((0, 8, 12, 16, 20, 24, 28)):
        body += [
            f"    ld.shared.b32 %b, [%c0 + {base + at}];",
            f"    st.global.b32 [%g + {4 * k}], %b;",
        ]
    finish(case, body + ["end:"] + CLUSTER_SYNC)


def generate():
    bar_cases()
    early_exit_cases()
    impossible_cases()
    tx_range_case()
    mbarrier_local_case()
    mbarrier_phases_case()
    cluster_cases()
    remote_async_case()
