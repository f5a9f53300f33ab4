"""Cases of mma.sync.m8n8k4 of halves: four products a warp, each of a quad and of the one 16 lanes
further on. All values are small multiples of 1/4, so that every order of adding gives the same
sum."""

import random
import struct

from case import Case


def half(x):
    return struct.unpack("<H", struct.pack("<e", x))[0]


def single(x):
    return struct.unpack("<I", struct.pack("<f", x))[0]


def lanes(product):
    return [4 * product + i for i in range(4)] + [4 * product + 16 + i for i in range(4)]


def pairs(values):
    """Lists of halves by lane as 32-bit registers, lane after lane."""
    return [half(v[i]) | half(v[i + 1]) << 16 for v in values for i in range(0, len(v), 2)]


def place(single_precision, lane, i):
    """Row and column of element i of an accumulator (PTX ISA 9.0, 9.7.14.5.1)."""
    low = 4 * (lane >= 16)
    if not single_precision:
        return lane % 4 + low, i
    return (lane & 1) + (i & 2) + low, (i & 4) + (lane & 2) + (i & 1)


def quad_case(a_row, b_row, tc, td):
    layout = lambda row: "row" if row else "col"
    name = f"mma_m8n8k4_{layout(a_row)}_{layout(b_row)}_{td}_{tc}"
    rng = random.Random(name)
    case = Case(name, "mma.sync.m8n8k4 of halves: four products a warp", block=32)
    value = lambda span: rng.randint(-span, span) / 4
    a = [[[value(9) for _ in range(4)] for _ in range(8)] for _ in range(4)]
    b = [[[value(9) for _ in range(8)] for _ in range(4)] for _ in range(4)]
    c = [[[value(40) for _ in range(8)] for _ in range(8)] for _ in range(4)]
    fa, fb, fc, fd = ([None] * 32 for _ in range(4))
    for q in range(4):
        d = [
            [c[q][m][n] + sum(a[q][m][k] * b[q][k][n] for k in range(4)) for n in range(8)]
            for m in range(8)
        ]
        for lane in lanes(q):
            low, x = 4 * (lane >= 16), lane % 4
            fa[lane] = [a[q][x + low][i] if a_row else a[q][i + low][x] for i in range(4)]
            fb[lane] = [b[q][x][i + low] if b_row else b[q][i][x + low] for i in range(4)]
            at = lambda t, i: place(t == "f32", lane, i)
            fc[lane] = [c[q][at(tc, i)[0]][at(tc, i)[1]] for i in range(8)]
            fd[lane] = [d[at(td, i)[0]][at(td, i)[1]] for i in range(8)]
    words = lambda t, values: (
        [single(v) for lane in values for v in lane] if t == "f32" else pairs(values)
    )
    case.buffer("in", "a", 4, pairs(fa))
    case.buffer("in", "b", 4, pairs(fb))
    case.buffer("in", "c", 4, words(tc, fc))
    case.buffer("out", "d", 4, words(td, fd))
    registers = lambda n, t: [f"%{n}{i}" for i in range(8 if t == "f32" else 4)]
    rc, rd = registers("c", tc), registers("d", td)
    body = ["    .reg .b32 %t, %a<2>, %b<2>, %c<8>, %d<8>;", "    .reg .b64 %p;",
            "    mov.u32 %t, %tid.x;"]

    def each(param, names, move):
        lines = [f"    ld.param.u64 %p, [{param}];",
                 f"    mad.wide.u32 %p, %t, {4 * len(names)}, %p;"]
        return lines + [move.format(r=r, at=4 * i) for i, r in enumerate(names)]

    load = "    ld.global.b32 {r}, [%p + {at}];"
    body += each("a", ["%a0", "%a1"], load) + each("b", ["%b0", "%b1"], load) + each("c", rc, load)
    body += [
        f"    mma.sync.aligned.m8n8k4.{layout(a_row)}.{layout(b_row)}.{td}.f16.f16.{tc} "
        f"{{{', '.join(rd)}}}, {{%a0, %a1}}, {{%b0, %b1}}, {{{', '.join(rc)}}};"
    ]
    body += each("d", rd, "    st.global.b32 [%p + {at}], {r};")
    case.body = "\n".join(body) + "\n    ret;\n"
    case.write()


def generate():
    for a_row in (True, False):
        for b_row in (True, False):
            for tc, td in (("f16", "f16"), ("f16", "f32"), ("f32", "f32")):
                quad_case(a_row, b_row, tc, td)
