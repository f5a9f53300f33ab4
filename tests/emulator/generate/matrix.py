"""Cases of mma.sync, wgmma, ldmatrix, stmatrix and movmatrix.

The arithmetic is the published model of the tensor core (arXiv 2512.07004), in Python integers:
products and C aligned to the largest exponent, cut to F fraction bits, summed exactly, rounded
once. Fragments are laid out here as the ISA draws them; kernels move whole registers."""

import random

import number as n
from case import Case

FORMATS = {"f16": n.F16, "bf16": n.BF16, "tf32": n.TF32, "e4m3": n.E4M3, "e5m2": n.E5M2}
INTEGERS = ("s8", "u8", "s4", "u4")
BITS = {
    "f16": 16,
    "bf16": 16,
    "tf32": 32,
    "e4m3": 8,
    "e5m2": 8,
    "s8": 8,
    "u8": 8,
    "s4": 4,
    "u4": 4,
    "b1": 1,
    "s32": 32,
    "f32": 32,
    "f64": 64,
}


# ---- arithmetic
# ------------------------------------------------------------------------------------------


def split(fmt, code):
    """(kind, signed significand, exponent): value = significand * 2^(exponent - man)."""
    kind, negative, _ = fmt.decode(code)
    man, exp = code & ((1 << fmt.man) - 1), code >> fmt.man & ((1 << fmt.exp) - 1)
    sig = man | (1 << fmt.man) if exp else man
    return kind, -sig if negative else sig, max(exp, 1) - fmt.bias


def cut(sig, down):
    """sig * 2^-down towards zero."""
    if down <= 0:
        return sig << -down
    return -(-sig >> down) if sig < 0 else sig >> down


def dot(fa, fb, a, b, c, fc, negate, fraction, low_precision):
    """One output. a, b: codes along K; c: code in format fc (F32 or F16)."""
    terms, plus, minus, bad = [], False, False, False
    for x, y in zip(a, b):
        kx, sx, ex = split(fa, x)
        ky, sy, ey = split(fb, y)
        if "n" in (kx, ky):
            bad = True
            continue
        if "i" in (kx, ky):
            if (kx == "f" and sx == 0) or (ky == "f" and sy == 0):
                bad = True
                continue
            negative = (bool(x & fa.sign_bit) != bool(y & fb.sign_bit)) != negate
            plus, minus = plus or not negative, minus or negative
            continue
        product = -sx * sy if negate else sx * sy
        if product:
            terms.append((product, ex + ey, fa.man + fb.man))
    kc, sc, ec = split(fc, c)
    bad |= kc == "n"
    plus |= kc == "i" and not c & fc.sign_bit
    minus |= kc == "i" and bool(c & fc.sign_bit)
    if bad or (plus and minus):
        return fc.nan
    if plus or minus:
        return fc.inf | (fc.sign_bit if minus else 0)
    largest = max(([ec] if sc else []) + [e for _, e, _ in terms], default=0)
    total = cut(sc, largest - ec + fc.man - fraction)
    total += sum(cut(s, largest - e + man - fraction) for s, e, man in terms)
    return finish(fc, total, largest - fraction, low_precision)


def finish(fc, total, exponent, low_precision):
    """total * 2^exponent: to nearest even as f16, towards zero as f32 (13 fraction bits in low
    precision)."""
    if fc is n.F16:
        code = n.F16.encode(total < 0, n.Fraction(abs(total)) * n.Fraction(2) ** exponent, "rn")
        return 0 if code == n.F16.sign_bit else code  # never -0
    sign, magnitude = (n.F32.sign_bit if total < 0 else 0), abs(total)
    top = magnitude.bit_length() - 1 + exponent
    if total == 0 or top > 127:
        return n.F32.inf | sign if total else 0
    code = cut(magnitude, max(top, -126) - 23 - exponent)
    if low_precision:
        code &= ~0x3FF
    if not code:
        return 0
    return sign | code + ((top + 126) << 23 if top >= -126 else 0)


def integer_dot(ta, tb, a, b, c, satfinite):
    value = lambda t, x: n.to_signed(x, BITS[t]) if t[0] == "s" else x
    total = n.to_signed(c, 32) + sum(value(ta, x) * value(tb, y) for x, y in zip(a, b))
    if satfinite:
        total = max(-(1 << 31), min((1 << 31) - 1, total))
    return total & 0xFFFFFFFF


# ---- operands
# ------------------------------------------------------------------------------------------

FLAVOURS = ("near_one", "finite", "any", "cancelling", "subnormal")


def element(rng, t, flavour):
    if t in INTEGERS:
        top = 1 << BITS[t] - 1
        return rng.choice((top, top - 1, 2 * top - 1, 0, 1, rng.randrange(2 * top)))
    if t == "b1":
        return rng.randrange(2)
    fmt = FORMATS.get(t, n.F64)
    sign, man = rng.choice((0, fmt.sign_bit)), rng.randrange(1 << fmt.man)
    top = (1 << fmt.exp) - 1
    if flavour == "near_one":
        exp = fmt.bias - rng.randrange(4)
    elif flavour == "finite":
        exp = rng.randrange(top)
    elif flavour == "any":
        exp = (
            rng.choice((top, top - 1, 0, rng.randrange(top + 1)))
            if rng.randrange(4) == 0
            else rng.randrange(top)
        )
    elif flavour == "cancelling":
        man, exp = rng.choice((0, (1 << fmt.man) - 1)), fmt.bias + rng.randrange(2)
    elif flavour == "small":  # 1, 1.5, 2, 3: every sum of a tile is exact, in f16 as well
        man, exp = rng.randrange(2) << fmt.man - 1, fmt.bias + rng.randrange(2)
    else:
        exp = 0 if rng.randrange(4) else rng.randrange(4)
    return sign | exp << fmt.man | man


def accumulator(rng, fmt, flavour):
    if fmt is n.F16:
        return element(rng, "f16", flavour)
    sign, man = rng.choice((0, fmt.sign_bit)), rng.randrange(1 << fmt.man)
    if flavour in ("near_one", "cancelling"):
        return sign | (fmt.bias + rng.randrange(12)) << fmt.man | man
    if flavour == "subnormal":
        return sign | rng.choice((0, man, 1 << fmt.man | man))
    top = (1 << fmt.exp) - 1
    return sign | rng.randrange(top + (flavour == "any")) << fmt.man | man


def widen(t, code):
    """fp8 as f16."""
    kind, negative, value = FORMATS[t].decode(code)
    if kind == "n":
        return n.F16.nan
    return (n.F16.inf if kind == "i" else n.F16.encode(False, value)) | negative << 15


class Product:
    """A (m x k), B (n x k), C (m x n) as codes, and the D that the model gives."""

    def __init__(self, shape, ta, tb, td, flavour, seed, **options):
        self.m, self.n, self.k = shape
        self.ta, self.tb, self.td, self.options = ta, tb, td, options
        rng = random.Random(f"{shape} {ta} {tb} {td} {flavour} {seed}")
        self.a = [[element(rng, ta, flavour) for _ in range(self.k)] for _ in range(self.m)]
        self.b = [[element(rng, tb, flavour) for _ in range(self.k)] for _ in range(self.n)]
        if td == "s32":
            draw = lambda: rng.choice((0, 0x7FFFFFFF, 0x80000000, rng.randrange(1 << 32)))
        else:
            fc = {"f32": n.F32, "f16": n.F16, "f64": n.F64}[td]
            draw = lambda: accumulator(rng, fc, flavour)
        self.c = [[draw() for _ in range(self.n)] for _ in range(self.m)]
        self.noise = rng

    def operands(self, row, col, k0, k1):
        """What one output multiplies."""
        return self.a[row][k0:k1], self.b[col][k0:k1]

    def output(self, row, col, c, k0=0, k1=None):
        (a, b), o = self.operands(row, col, k0, k1), self.options
        if self.ta in INTEGERS:
            return integer_dot(self.ta, self.tb, a, b, c, o.get("satfinite"))
        if self.ta == "b1":
            hit = (lambda x, y: x ^ y) if o.get("xor") else (lambda x, y: x & y)
            return (c + sum(hit(x, y) for x, y in zip(a, b))) & 0xFFFFFFFF
        if self.ta == "f64":
            for x, y in zip(a, b):
                c = n.fma(n.F64, x, y, c)
            return c
        if BITS[self.ta] == 8 and not o.get("low_precision"):
            return self.fp8_output(a, b, c)
        fc = n.F16 if self.td == "f16" else n.F32
        low = o.get("low_precision", False)
        return dot(
            FORMATS[self.ta],
            FORMATS[self.tb],
            a,
            b,
            c,
            fc,
            o.get("negate", False),
            13 if low else 25,
            low,
        )

    def fp8_output(self, a, b, c):
        """mma.sync on Hopper: widened to f16, one step for the lower pair of every register and one
        for the upper, C added last as f32."""
        if (
            self.td == "f16"
        ):  # how Hopper rounds here is not known: operands for which nothing is rounded
            value = lambda fmt, code: (-1 if fmt.decode(code)[1] else 1) * fmt.decode(code)[2]
            fa, fb = FORMATS[self.ta], FORMATS[self.tb]
            exact = value(n.F16, c) + sum(value(fa, x) * value(fb, y) for x, y in zip(a, b))
            return n.F16.encode(exact < 0, abs(exact))
        total = 0
        for pair in (0, 2):
            ks = [k for k in range(len(a)) if k % 4 // 2 * 2 == pair]
            x, y = [widen(self.ta, a[k]) for k in ks], [widen(self.tb, b[k]) for k in ks]
            total = dot(n.F16, n.F16, x, y, total, n.F32, False, 25, False)
        return n.add(n.F32, total, c)

    def d(self, k_step=None, zero_c=False):
        """All outputs; k_step: one instruction for every k_step of K, in order."""
        step = k_step or self.k
        rows = []
        for i in range(self.m):
            row = []
            for j in range(self.n):
                c = 0 if zero_c else self.c[i][j]
                for k in range(0, self.k, step):
                    c = self.output(i, j, c, k, k + step)
                row.append(c)
            rows.append(row)
        return rows

    def word(self, t, codes):
        """Consecutive elements as one register."""
        if t == "tf32":  # the low 13 bits are noise that the tensor core ignores
            return codes[0] << 13 | self.noise.randrange(1 << 13)
        bits = BITS[t]
        return sum(c << bits * i for i, c in enumerate(codes))


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


# ---- wgmma
# ------------------------------------------------------------------------------------------

SWIZZLES = {"none": (0, 0), "128B": (128, 1), "64B": (64, 2), "32B": (32, 3)}


class Image:
    """Shared memory as bytes, from address 0 of a 1024-aligned array."""

    def __init__(self):
        self.data = bytearray()

    def put(self, address, value, size):
        if len(self.data) < address + size:
            self.data.extend(bytes(address + size - len(self.data)))
        self.data[address : address + size] = value.to_bytes(size, "little")

    def words(self):
        data = bytes(self.data) + bytes(-len(self.data) % 512)
        return [int.from_bytes(data[i : i + 4], "little") for i in range(0, len(data), 4)]


def swizzle(address, span):
    """16-byte chunk index XOR 128-byte line index, within the span."""
    if not span:
        return address
    line = address // 128 % (span // 16)
    return address ^ line * 16


def place_operand(image, p, rows, t, base, mode, mn_major):
    """Writes an operand (rows of codes along K) into the image; returns (start, leading, stride) in
    bytes of the descriptor of the first K step. K-major: tiles of 8 rows; MN-major: blocks as wide
    as the swizzle.
    """
    span, _ = SWIZZLES[mode]
    size = max(1, BITS[t] // 8)
    step = 1 if BITS[t] >= 8 else 8  # bits travel as bytes
    units = [[p.word(t, r[i : i + step]) for i in range(0, len(r), step)] for r in rows]
    count, depth = len(units), len(units[0])
    width = span or 16
    if not mn_major:
        stride = 8 * width
        leading = 16 if span else count // 8 * 128
        for r in range(count):
            for k in range(depth):
                x = k * size
                at = r // 8 * stride + r % 8 * width + (x if span else x % 16 + x // 16 * leading)
                image.put(base + swizzle(at, span), units[r][k], size)
        return leading, stride
    per_line = width // size
    if span:
        stride, leading = 8 * width, max(1, depth // 8) * 8 * width
    else:
        leading, stride = 128, depth // 8 * 128
    for r in range(count):
        for k in range(depth):
            outer = r // per_line * (leading if span else stride)
            at = (
                outer + k // 8 * (stride if span else leading) + k % 8 * width + r % per_line * size
            )
            image.put(base + swizzle(at, span), units[r][k], size)
    return leading, stride


def descriptor(leading, stride, mode):
    return (leading >> 4) << 16 | (stride >> 4) << 32 | SWIZZLES[mode][1] << 62


def wgmma_k(t):
    return 256 // BITS[t] if t != "b1" else 256


class Wgmma:
    """One case: sets of operands, one CTA of 128 threads each, K of one or more instructions."""

    def __init__(
        self,
        name,
        products,
        a_mode=None,
        b_mode=None,
        a_mn=False,
        b_mn=False,
        a_regs=False,
        scale=(1, 1),
        zero=False,
        fold=False,
    ):
        self.name, self.products, self.p = name, products, products[0]
        self.a_mn, self.b_mn, self.a_regs = a_mn, b_mn, a_regs
        self.scale, self.zero, self.fold = scale, zero, fold
        self.k = self.k_of_one()
        self.steps = self.p.k // self.k
        densest = {1: "32B", 2: "64B", 4: "128B"}[self.steps]  # no gaps in shared memory
        self.a_mode, self.b_mode = a_mode or densest, b_mode or densest

    def k_of_one(self):
        return wgmma_k(self.p.ta)

    def indices(self, step):
        """Operands behind B's descriptor."""
        return ""

    def text(self):
        p = self.p
        sat = ".satfinite" if p.options.get("satfinite") else ""
        op = ".and.popc" if p.ta == "b1" else ""
        return f"wgmma.mma_async.sync.aligned.m64n{p.n}k{self.k}{sat}.{p.td}.{p.ta}.{p.tb}{op}"

    def immediates(self):
        p = self.p
        if p.ta in ("s8", "u8", "b1"):
            return ""
        imm = [str(self.scale[0]), str(self.scale[1])]
        if p.ta in ("f16", "bf16"):
            imm += (
                [str(int(self.b_mn))] if self.a_regs else [str(int(self.a_mn)), str(int(self.b_mn))]
            )
        return ", " + ", ".join(imm)

    def k_advance(self, rows, mn, mode, leading, stride):
        """Bytes from one K step of an operand to the next."""
        span, k = SWIZZLES[mode][0], len(rows[0]) // self.steps
        if not mn:
            size = k * BITS[self.p.ta] // 8
            return size if span else size // 16 * leading
        return k // 8 * (stride if span else leading)

    def images(self):
        words, self.b_base = [], 0
        for p in self.products:
            image = Image()
            if not self.a_regs:
                self.a_desc = place_operand(image, p, p.a, p.ta, 0, self.a_mode, self.a_mn)
            self.b_base = (len(image.data) + 1023) // 1024 * 1024
            self.b_desc = place_operand(image, p, p.b, p.tb, self.b_base, self.b_mode, self.b_mn)
            words += image.words()
            self.image_words = len(image.words())
        return words

    def a_fragments(self, p):
        """[step * 4 + register][thread]"""
        out = []
        per, k = 32 // BITS[p.ta], len(p.a[0]) // self.steps
        for s in range(self.steps):
            for r in range(4):
                out.append(
                    [
                        p.word(
                            p.ta,
                            p.a[16 * (t // 32) + t % 32 // 4 + 8 * (r & 1)][
                                s * k + per * (t % 4 + 4 * (r >> 1)) :
                            ][:per],
                        )
                        for t in range(128)
                    ]
                )
        return out

    def expected(self):
        words = []
        for p in self.products:
            registers = c_registers(p, p.d(self.k, self.zero), warps=4)
            if self.fold:
                for t in range(128):
                    h = 0
                    for r in registers:
                        h = (h * 31 + r[t]) & 0xFFFFFFFF
                    words.append(h)
            else:
                words += flat(registers)
        return words

    def write(self):
        p = self.p
        case = Case(self.name, self.text(), block=128, grid=len(self.products))
        case.exact = True
        case.buffer("in", "image", 4, self.images())
        if self.a_regs:
            case.buffer("in", "a", 4, [w for q in self.products for w in flat(self.a_fragments(q))])
        d_regs = p.n // (4 if p.td == "f16" else 2)
        if not self.zero:
            case.buffer(
                "in", "c", 4, [w for q in self.products for w in flat(c_registers(q, q.c, warps=4))]
            )
        self.more_buffers(case)
        case.buffer("out", "d", 4, self.expected())
        case.body = "\n".join(self.body(d_regs)) + "\n    ret;\n"
        case.write()

    def more_buffers(self, case):
        pass

    def more_registers(self):
        return []

    def body(self, d_regs):
        p = self.p
        yield from [
            f"    .shared .align 1024 .b8 smem[{4 * self.image_words}];",
            "    .reg .b32 %t, %tid0, %cta, %s, %w, %i, %h;",
            "    .reg .b64 %p, %da, %db, %x;",
            "    .reg .pred %q, %scale;",
            f"    .reg .b32 %d<{d_regs}>;",
        ]
        yield "    mov.u32 %tid0, %tid.x;\n    mov.u32 %cta, %ctaid.x;\n    mov.u32 %s, smem;"
        yield f"    ld.param.u64 %p, [image];\n    mad.wide.u32 %p, %cta, {4 * self.image_words}, %p;"
        yield "    mad.wide.u32 %p, %tid0, 4, %p;\n    mad.lo.u32 %w, %tid0, 4, %s;\n    mov.u32 %i, 0;"
        yield "copy:\n    ld.global.b32 %h, [%p];\n    st.shared.b32 [%w], %h;\n    add.u64 %p, %p, 512;\n    add.u32 %w, %w, 512;"
        yield f"    add.u32 %i, %i, 1;\n    setp.lt.u32 %q, %i, {self.image_words // 128};\n    @%q bra copy;"
        yield "    fence.proxy.async.shared::cta;\n    bar.sync 0;"
        if self.a_regs:
            yield f"    .reg .b32 %a<{4 * self.steps}>;\n    mad.lo.u32 %t, %cta, {128 * 4 * self.steps}, %tid0;"
            yield from load_registers("a", "%a", 4 * self.steps, 4, 128)
        yield from self.more_registers()
        if self.zero:
            yield from [f"    mov.b32 %d{i}, 0x7fc00000;" for i in range(d_regs)]
        else:
            yield f"    mad.lo.u32 %t, %cta, {128 * d_regs}, %tid0;"
            yield from load_registers("c", "%d", d_regs, 4, 128)
        yield "    cvt.u64.u32 %x, %s;\n    shr.u64 %x, %x, 4;\n    and.b64 %x, %x, 0x3fff;"
        if not self.a_regs:
            yield f"    or.b64 %da, %x, {hex(descriptor(*self.a_desc, self.a_mode))};"
        yield f"    add.u64 %x, %x, {self.b_base >> 4};\n    or.b64 %db, %x, {hex(descriptor(*self.b_desc, self.b_mode))};"
        yield "    wgmma.fence.sync.aligned;"
        for s in range(self.steps):
            a = "{" + ", ".join(f"%a{4 * s + i}" for i in range(4)) + "}" if self.a_regs else "%da"
            yield f"    setp.ne.u32 %scale, {int(not self.zero or s > 0)}, 0;"
            yield f"    {self.text()} {vector('%d', d_regs)}, {a}, %db{self.indices(s)}, %scale{self.immediates()};"
            if s + 1 < self.steps:
                if not self.a_regs:
                    yield f"    add.u64 %da, %da, {self.k_advance(p.a, self.a_mn, self.a_mode, *self.a_desc) >> 4};"
                yield f"    add.u64 %db, %db, {self.k_advance(p.b, self.b_mn, self.b_mode, *self.b_desc) >> 4};"
        yield "    wgmma.commit_group.sync.aligned;\n    wgmma.wait_group.sync.aligned 0;"
        if self.fold:
            yield "    mov.u32 %h, 0;"
            yield from [f"    mad.lo.u32 %h, %h, 31, %d{i};" for i in range(d_regs)]
            yield "    mad.lo.u32 %t, %cta, 128, %tid0;"
            yield from [
                "    ld.param.u64 %p, [d];",
                "    mad.wide.u32 %p, %t, 4, %p;",
                "    st.global.b32 [%p], %h;",
            ]
        else:
            yield f"    mad.lo.u32 %t, %cta, {128 * d_regs}, %tid0;"
            yield from store_registers("d", "%d", d_regs, 4, 128)


def wgmma_cases():
    pairs = [
        ("f16", "f16", "f32"),
        ("f16", "f16", "f16"),
        ("bf16", "bf16", "f32"),
        ("tf32", "tf32", "f32"),
    ]
    pairs += [(x, y, d) for x in ("e4m3", "e5m2") for y in ("e4m3", "e5m2") for d in ("f32", "f16")]
    for ta, tb, td in pairs:
        low = BITS[ta] == 8
        make = lambda f, k=1, nn=8, **o: Product(
            (64, nn, k * wgmma_k(ta)), ta, tb, td, f, 1, low_precision=low, **o
        )
        basic = ta == "f16"
        flavours = FLAVOURS if basic else ("finite", "any", "cancelling")
        Wgmma(f"wgmma_{td}_{ta}_{tb}", [make(f) for f in flavours], fold=not basic).write()
        Wgmma(
            f"wgmma_{td}_{ta}_{tb}_registers", [make("near_one", 2)], a_regs=True, fold=True
        ).write()
    for ta in ("s8", "u8"):
        for tb in ("s8", "u8"):
            for sat in (False, True):
                p = Product((64, 8, 32), ta, tb, "s32", "", 1, satfinite=sat)
                Wgmma(f"wgmma_s32_{ta}_{tb}{'_satfinite' if sat else ''}", [p], fold=True).write()
                Wgmma(
                    f"wgmma_s32_{ta}_{tb}{'_satfinite' if sat else ''}_registers",
                    [p],
                    a_regs=True,
                    fold=True,
                ).write()
    p = Product((64, 8, 256), "b1", "b1", "s32", "", 1)
    Wgmma("wgmma_b1", [p]).write()
    Wgmma("wgmma_b1_registers", [p], a_regs=True).write()
    wgmma_layout_cases()


def wgmma_layout_cases():
    make = lambda t, k, nn, **o: Product((64, nn, k * wgmma_k(t)), t, t, "f32", "near_one", 2, **o)
    for mode in ("none", "32B", "64B", "128B"):
        k = max(1, (SWIZZLES[mode][0] or 64) // 32)
        Wgmma(
            f"wgmma_layout_{mode}",
            [make("f16", k, 16)],
            a_mode=mode,
            b_mode=mode,
            zero=True,
            fold=True,
        ).write()
        Wgmma(
            f"wgmma_layout_{mode}_tf32",
            [make("tf32", k, 16)],
            a_mode=mode,
            b_mode=mode,
            zero=True,
            fold=True,
        ).write()
        Wgmma(
            f"wgmma_layout_{mode}_transposed",
            [make("f16", 2, 64)],
            a_mode=mode,
            b_mode=mode,
            a_mn=True,
            b_mn=True,
            zero=True,
            fold=True,
        ).write()
        Wgmma(
            f"wgmma_layout_{mode}_b_transposed",
            [make("bf16", 2, 64)],
            b_mode=mode,
            b_mn=True,
            zero=True,
            fold=True,
        ).write()
    for scale in ((-1, 1), (1, -1), (-1, -1)):
        negate = scale[0] != scale[1]
        Wgmma(
            f"wgmma_scale_{scale[0]}_{scale[1]}".replace("-1", "m1"),
            [make("f16", 1, 8, negate=negate)],
            scale=scale,
        ).write()
    Wgmma("wgmma_zero_d", [make("f16", 2, 8)], zero=True).write()
    for nn in (24, 40, 104, 128, 192, 256):
        Wgmma(f"wgmma_n{nn}", [make("f16", 1, nn)], zero=True, fold=True).write()


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
    wgmma_cases()
    matrix_move_cases()
