"""Products of matrices by the published model of the tensor core (arXiv 2512.07004), in Python
integers: products and C aligned to the largest exponent, cut to F fraction bits, summed exactly,
rounded once. Shared by the cases of mma.sync, wgmma, wmma and tcgen05.mma."""

import random

import number as n

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
