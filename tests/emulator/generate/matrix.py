"""Cases of mma.sync, ldmatrix, stmatrix and movmatrix; arithmetic is product.py's. Fragments are
laid out here as the ISA draws them; kernels move whole registers."""

import random

from case import Case
from product import BITS, FLAVOURS, Product


# ---- mma.sync
# ------------------------------------------------------------------------------------------


def mma_registers(p):
    """Lists of [register][lane] words: A, B, C or D from rows."""
    per = 1 if p.ta == "f64" else 32 // BITS[p.ta]
    halves = p.m // 8
    a_regs = p.m * len(p.a[0]) // per // 32
    b_regs = p.n * p.k // per // 32
    a, b = [], []
    for r in range(a_regs):
        a.append([])
        for lane in range(32):
            row, k = lane // 4 + 8 * (r % halves), per * (lane % 4 + 4 * (r // halves))
            a[-1].append(p.word(p.ta, p.a[row][k : k + per]))
    for r in range(b_regs):
        b.append([])
        for lane in range(32):
            col, k = lane // 4, per * (lane % 4 + 4 * r)
            b[-1].append(p.word(p.tb, p.b[col][k : k + per]))
    return a, b


def c_registers(p, rows, warps=1):
    """[register][thread]; f16 in pairs. Rows of 16 (or 8) per warp, as for mma.sync and wgmma."""
    halves = max(1, min(2, p.m // 8 // warps))
    out = []
    for j in range(p.n // 8):
        for h in range(halves):
            pair = [
                [
                    rows[16 * (t // 32) + t % 32 // 4 + 8 * h][8 * j + 2 * (t % 4) + q]
                    for t in range(32 * warps)
                ]
                for q in range(2)
            ]
            out += [[x | y << 16 for x, y in zip(*pair)]] if p.td == "f16" else pair
    return out


def flat(registers):
    return [w for r in registers for w in r]


def load_registers(param, regs, count, size, threads):
    """PTX that loads [register][thread] words of this thread."""
    text = [f"    ld.param.u64 %p, [{param}];", f"    mad.wide.u32 %p, %t, {size}, %p;"]
    for i in range(count):
        text.append(f"    ld.global.b{8 * size} {regs}{i}, [%p + {i * threads * size}];")
    return text


def store_registers(param, regs, count, size, threads):
    text = [f"    ld.param.u64 %p, [{param}];", f"    mad.wide.u32 %p, %t, {size}, %p;"]
    for i in range(count):
        text.append(f"    st.global.b{8 * size} [%p + {i * threads * size}], {regs}{i};")
    return text


def vector(regs, count):
    return "{" + ", ".join(f"{regs}{i}" for i in range(count)) + "}"


def mma_case(name, text, products, version="8.4", selector=None):
    """One launch of as many CTAs as products, a warp each; selector: products are sparse
    (sparse.py)."""
    p = products[0]
    size = 8 if p.ta == "f64" else 4
    case = Case(name, f"{text}: {len(products)} sets of operands", block=32, grid=len(products))
    case.version = version
    fragments = [mma_registers(q) for q in products]
    a_regs, b_regs = len(fragments[0][0]), len(fragments[0][1])
    c_words = [flat(c_registers(q, q.c)) for q in products]
    c_regs = len(c_words[0]) // 32
    case.buffer("in", "a", size, [w for f in fragments for w in flat(f[0])])
    case.buffer("in", "b", size, [w for f in fragments for w in flat(f[1])])
    case.buffer("in", "c", size, [w for words in c_words for w in words])
    if selector is not None:
        case.buffer("in", "e", 4, [w for q in products for w in q.indices_of_lanes(selector)])
    case.buffer("out", "d", size, [w for q in products for w in flat(c_registers(q, q.d()))])
    case.exact = True
    kind = f".b{8 * size}" if size == 4 else ".f64"
    body = ["    .reg .b32 %t, %lane, %cta;", "    .reg .b64 %p;"]
    body += [
        f"    .reg {kind} %{x}<{count}>;"
        for x, count in (("a", a_regs), ("b", b_regs), ("c", c_regs), ("d", c_regs))
    ]
    body += ["    mov.u32 %lane, %tid.x;", "    mov.u32 %cta, %ctaid.x;"]
    for param, count in (("a", a_regs), ("b", b_regs), ("c", c_regs)):
        body.append(f"    mad.lo.u32 %t, %cta, {32 * count}, %lane;")
        body += load_registers(param, "%" + param, count, size, 32)
    sparse = ""
    if selector is not None:
        body += ["    .reg .b32 %e<1>;", "    mad.lo.u32 %t, %cta, 32, %lane;"]
        body += load_registers("e", "%e", 1, 4, 32)
        sparse = f", %e0, {selector}"
    body.append(
        f"    {text} {vector('%d', c_regs)}, {vector('%a', a_regs)}, {vector('%b', b_regs)}, {vector('%c', c_regs)}{sparse};"
    )
    body.append(f"    mad.lo.u32 %t, %cta, {32 * c_regs}, %lane;")
    body += store_registers("d", "%d", c_regs, size, 32)
    case.body = "\n".join(body) + "\n    ret;\n"
    if size == 8:
        case.body = case.body.replace("ld.global.b64", "ld.global.f64").replace(
            "st.global.b64", "st.global.f64"
        )
    case.write()


def mma_cases():
    floats = [
        ((16, 8, 8), "f16", "f16", "f32"),
        ((16, 8, 16), "f16", "f16", "f32"),
        ((16, 8, 8), "f16", "f16", "f16"),
        ((16, 8, 16), "f16", "f16", "f16"),
        ((16, 8, 8), "bf16", "bf16", "f32"),
        ((16, 8, 16), "bf16", "bf16", "f32"),
        ((16, 8, 4), "tf32", "tf32", "f32"),
        ((16, 8, 8), "tf32", "tf32", "f32"),
    ]
    floats += [((16, 8, 32), x, y, "f32") for x in ("e4m3", "e5m2") for y in ("e4m3", "e5m2")]
    for shape, ta, tb, td in floats:
        m, nn, k = shape
        text = f"mma.sync.aligned.m{m}n{nn}k{k}.row.col.{td}.{ta}.{tb}.{td}"
        mma_case(
            f"mma_m{m}n{nn}k{k}_{td}_{ta}_{tb}",
            text,
            [Product(shape, ta, tb, td, f, 0) for f in FLAVOURS],
        )
    for shape in ((8, 8, 16), (16, 8, 16), (16, 8, 32)):
        for ta in ("s8", "u8"):
            for tb in ("s8", "u8"):
                for sat in ("", ".satfinite"):
                    m, nn, k = shape
                    text = f"mma.sync.aligned.m{m}n{nn}k{k}.row.col{sat}.s32.{ta}.{tb}.s32"
                    mma_case(
                        f"mma_m{m}n{nn}k{k}_{ta}_{tb}{sat.replace('.', '_')}",
                        text,
                        [Product(shape, ta, tb, "s32", "", 0, satfinite=bool(sat))],
                    )
    for shape, sat in (((8, 8, 32), ""), ((16, 8, 32), ".satfinite"), ((16, 8, 64), "")):
        for ta in ("s4", "u4"):
            for tb in ("s4", "u4"):
                m, nn, k = shape
                mma_case(
                    f"mma_m{m}n{nn}k{k}_{ta}_{tb}{sat.replace('.', '_')}",
                    f"mma.sync.aligned.m{m}n{nn}k{k}.row.col{sat}.s32.{ta}.{tb}.s32",
                    [Product(shape, ta, tb, "s32", "", 0, satfinite=bool(sat))],
                )
    for shape in ((16, 8, 16), (16, 8, 32)):
        for ta, tb in (("e4m3", "e4m3"), ("e5m2", "e4m3")):
            m, nn, k = shape
            mma_case(
                f"mma_m{m}n{nn}k{k}_f16_{ta}_{tb}",
                f"mma.sync.aligned.m{m}n{nn}k{k}.row.col.f16.{ta}.{tb}.f16",
                [Product(shape, ta, tb, "f16", "small", s) for s in range(2)],
                version="8.7",
            )
    for shape in ((8, 8, 128), (16, 8, 128), (16, 8, 256)):
        for op in ("xor", "and"):
            m, nn, k = shape
            mma_case(
                f"mma_m{m}n{nn}k{k}_b1_{op}",
                f"mma.sync.aligned.m{m}n{nn}k{k}.row.col.s32.b1.b1.s32.{op}.popc",
                [Product(shape, "b1", "b1", "s32", "", 0, xor=op == "xor")],
            )
    for shape in ((8, 8, 4), (16, 8, 4), (16, 8, 8), (16, 8, 16)):
        m, nn, k = shape
        mma_case(
            f"mma_m{m}n{nn}k{k}_f64",
            f"mma.sync.aligned.m{m}n{nn}k{k}.row.col.f64.f64.f64.f64",
            [Product(shape, "f64", "f64", "f64", f, 0) for f in ("near_one", "finite")],
        )


# ---- 8 x 8 matrices
# ------------------------------------------------------------------------------------------


def fragment(matrix, trans):
    """Register of every lane: two elements of row lane/4."""
    pick = (lambda r, c: matrix[c][r]) if trans else (lambda r, c: matrix[r][c])
    return [pick(t // 4, 2 * (t % 4)) | pick(t // 4, 2 * (t % 4) + 1) << 16 for t in range(32)]


def matrix_move_cases():
    rng = random.Random("ldmatrix")
    for count in (1, 2, 4):
        for trans in (False, True):
            matrices = [
                [[rng.randrange(1 << 16) for _ in range(8)] for _ in range(8)] for _ in range(count)
            ]
            order = list(range(8 * count))  # rows lie in shared memory in a shuffled order
            rng.shuffle(order)
            suffix = f"x{count}{'_trans' if trans else ''}"
            modifiers = f"m8n8.x{count}{'.trans' if trans else ''}.shared.b16"
            image = [0] * (32 * count)
            for i, place in enumerate(order):
                row = matrices[i // 8][i % 8]
                image[4 * place : 4 * place + 4] = [
                    row[2 * k] | row[2 * k + 1] << 16 for k in range(4)
                ]
            offsets = [16 * order[i] if i < 8 * count else 0xFFFF0 for i in range(32)]
            move_case(
                "ldmatrix",
                suffix,
                modifiers,
                count,
                image,
                offsets,
                [fragment(m, trans) for m in matrices],
            )
            move_case(
                "stmatrix",
                suffix,
                modifiers,
                count,
                image,
                offsets,
                [fragment(m, trans) for m in matrices],
            )
    matrix = [[rng.randrange(1 << 16) for _ in range(8)] for _ in range(8)]
    case = Case("movmatrix", "movmatrix transposes across the warp", block=32)
    case.buffer("in", "a", 4, fragment(matrix, False))
    case.buffer("out", "d", 4, fragment(matrix, True))
    case.body = "\n".join(
        [
            "    .reg .b32 %t, %a0, %d0;",
            "    .reg .b64 %p;",
            "    mov.u32 %t, %tid.x;",
            *load_registers("a", "%a", 1, 4, 32),
            "    movmatrix.sync.aligned.m8n8.trans.b16 %d0, %a0;",
            *store_registers("d", "%d", 1, 4, 32),
            "    ret;\n",
        ]
    )
    case.write()


def move_case(mnemonic, suffix, modifiers, count, image, offsets, fragments):
    """ldmatrix reads the image into fragments; stmatrix writes fragments as the image. Only lanes
    that must give an address give a good one."""
    load = mnemonic == "ldmatrix"
    case = Case(f"{mnemonic}_{suffix}", f"{mnemonic}.{modifiers}", block=32)
    case.buffer("in", "offset", 4, offsets)
    if load:
        case.buffer("in", "image", 4, image)
        case.buffer("out", "d", 4, flat(fragments))
    else:
        case.buffer("in", "a", 4, flat(fragments))
        case.buffer("out", "image", 4, image)
    body = [
        f"    .shared .align 128 .b8 smem[{128 * count}];",
        "    .reg .b32 %t, %s, %w, %o0, %x;",
        "    .reg .b64 %p;",
        f"    .reg .b32 %d<{count}>, %i<{count}>;",
        "    mov.u32 %t, %tid.x;",
        "    mov.u32 %s, smem;",
    ]
    body += load_registers("offset", "%o", 1, 4, 32) + [
        "    add.u32 %x, %s, %o0;",
        "    mad.lo.u32 %w, %t, 4, %s;",
    ]
    if load:
        body += load_registers("image", "%i", count, 4, 32)
        body += [f"    st.shared.b32 [%w + {128 * i}], %i{i};" for i in range(count)] + [
            "    bar.sync 0;"
        ]
        body.append(f"    ldmatrix.sync.aligned.{modifiers} {vector('%d', count)}, [%x];")
        body += store_registers("d", "%d", count, 4, 32)
    else:
        body += load_registers("a", "%d", count, 4, 32)
        body += [
            f"    stmatrix.sync.aligned.{modifiers} [%x], {vector('%d', count)};",
            "    bar.sync 0;",
        ]
        body += [f"    ld.shared.b32 %i{i}, [%w + {128 * i}];" for i in range(count)]
        body += store_registers("image", "%i", count, 4, 32)
    case.body = "\n".join(body) + "\n    ret;\n"
    case.write()


def generate():
    mma_cases()
    matrix_move_cases()
