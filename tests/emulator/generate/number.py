"""Exact number formats for expected data: fractions in, bits out. Written apart from the library's
formats.c, on purpose: values are fractions.Fraction, rounding is a comparison with the two
neighbours."""

import random
from fractions import Fraction
from math import isqrt


class Format:
    """A binary float format. top_is_special: the highest exponent holds infinity and NaN."""

    def __init__(self, name, exp, man, nan, top_is_special=True, max_code=None, bias=None):
        self.name, self.exp, self.man, self.nan = name, exp, man, nan
        self.bias = (1 << (exp - 1)) - 1 if bias is None else bias
        self.bits = 1 + exp + man
        self.top_is_special = top_is_special
        self.inf = ((1 << exp) - 1) << man if top_is_special else None
        self.max_code = max_code if max_code is not None else self.inf - 1
        self.sign_bit = 1 << (self.bits - 1)

    def magnitude(self, code):
        """The value of a non-negative code, also one past the largest finite."""
        man, exp = code & ((1 << self.man) - 1), code >> self.man
        unit = Fraction(2) ** (max(exp, 1) - self.bias - self.man)
        return ((man | (1 << self.man)) if exp else man) * unit

    def decode(self, bits):
        """(kind, negative, value): kind is 'f' finite, 'i' infinite, 'n' NaN."""
        negative, code = bool(bits & self.sign_bit), bits & (self.sign_bit - 1)
        if code > self.max_code:
            kind = "i" if self.top_is_special and code == self.inf else "n"
            return kind, negative, Fraction(0)
        return "f", negative, self.magnitude(code)

    def encode(self, negative, value, mode="rn"):
        """Bits of a non-negative Fraction with a sign, rounded. Overflow as IEEE says; no infinity:
        largest."""
        lo, hi = 0, self.max_code + 1
        if value >= self.magnitude(hi):
            lo = self.max_code
        else:
            while hi - lo > 1:
                mid = (lo + hi) // 2
                if self.magnitude(mid) <= value:
                    lo = mid
                else:
                    hi = mid
        below, above = self.magnitude(lo), self.magnitude(lo + 1)
        if value == below:
            code = lo
        elif value >= above:
            code = lo + 1 if mode in ("rn", "rna", "rp" if not negative else "rm") else lo
        elif mode in ("rz",):
            code = lo
        elif mode in ("rm", "rp"):
            code = lo + 1 if (mode == "rm") == negative else lo
        else:
            twice = 2 * value - below - above
            up = twice > 0 or (twice == 0 and (mode == "rna" or lo & 1))
            code = lo + 1 if up else lo
        if code > self.max_code and not self.top_is_special:
            code = self.max_code
        return code | (self.sign_bit if negative else 0)


F16 = Format("f16", 5, 10, 0x7FFF)
BF16 = Format("bf16", 8, 7, 0x7FFF)
F32 = Format("f32", 8, 23, 0x7FFFFFFF)
F64 = Format("f64", 11, 52, 0xFFF8000000000000)
TF32 = Format("tf32", 8, 10, 0x3FFFF)
E4M3 = Format("e4m3", 4, 3, 0x7F, False, 0x7E)
E5M2 = Format("e5m2", 5, 2, 0x7F)

FLOATS = {"f16": F16, "bf16": BF16, "f32": F32, "f64": F64}


def flush(fmt, bits):
    """Subnormals to zero of the same sign."""
    return bits & fmt.sign_bit if not bits >> fmt.man & ((1 << fmt.exp) - 1) else bits


def saturate(fmt, bits):
    """.sat: [0, 1], NaN and -0 give +0."""
    kind, negative, value = fmt.decode(bits)
    one = fmt.bias << fmt.man
    if kind == "n" or negative:
        return 0
    return one if kind == "i" or value > 1 else bits


def nan_of(fmt, *operands):
    """The NaN of an operation: canonical, except that f64 keeps the first NaN here, quieted."""
    if fmt is F64:
        for x in operands:
            if F64.decode(x)[0] == "n":
                return x | 1 << 51
    return fmt.nan


def pack_sum(fmt, total, zero_negative, mode):
    return fmt.encode(zero_negative if total == 0 else total < 0, abs(total), mode)


def signed(x):
    return -x[2] if x[1] else x[2]


def fma(fmt, a, b, c, mode="rn"):
    x, y, z = fmt.decode(a), fmt.decode(b), fmt.decode(c)
    if "n" in (x[0], y[0], z[0]):
        return nan_of(fmt, b, c, a)
    negative = x[1] != y[1]
    if "i" in (x[0], y[0]):
        zero = (x[0] == "f" and x[2] == 0) or (y[0] == "f" and y[2] == 0)
        if zero or (z[0] == "i" and z[1] != negative):
            return nan_of(fmt)
        return fmt.inf | (fmt.sign_bit if negative else 0)
    if z[0] == "i":
        return c
    product = signed(x) * signed(y)
    zero_negative = negative if negative == z[1] else mode == "rm"
    if product != 0 or z[2] != 0:
        zero_negative = mode == "rm"
    return pack_sum(fmt, product + signed(z), zero_negative, mode)


def add(fmt, a, b, mode="rn"):
    x, y = fmt.decode(a), fmt.decode(b)
    if "n" in (x[0], y[0]):
        return nan_of(fmt, b, a)
    if "i" in (x[0], y[0]):
        if x[0] == y[0] and x[1] != y[1]:
            return nan_of(fmt)
        return a if x[0] == "i" else b
    both_zero = x[2] == 0 and y[2] == 0
    zero_negative = x[1] if both_zero and x[1] == y[1] else mode == "rm"
    return pack_sum(fmt, signed(x) + signed(y), zero_negative, mode)


def sub(fmt, a, b, mode="rn"):
    if fmt.decode(b)[0] == "n":
        return nan_of(fmt, b, a)
    return add(fmt, a, b ^ fmt.sign_bit, mode)


def mul(fmt, a, b, mode="rn"):
    x, y = fmt.decode(a), fmt.decode(b)
    if "n" in (x[0], y[0]):
        return nan_of(fmt, b, a)
    negative = x[1] != y[1]
    if "i" in (x[0], y[0]):
        if (x[0] == "f" and x[2] == 0) or (y[0] == "f" and y[2] == 0):
            return nan_of(fmt)
        return fmt.inf | (fmt.sign_bit if negative else 0)
    return fmt.encode(negative, x[2] * y[2], mode)


def div(fmt, a, b, mode="rn"):
    x, y = fmt.decode(a), fmt.decode(b)
    if "n" in (x[0], y[0]):
        return nan_of(fmt, a, b)
    negative = x[1] != y[1]
    sign = fmt.sign_bit if negative else 0
    if x[0] == "i":
        return nan_of(fmt) if y[0] == "i" else fmt.inf | sign
    if y[0] == "i":
        return sign
    if y[2] == 0:
        return nan_of(fmt) if x[2] == 0 else fmt.inf | sign
    return fmt.encode(negative, x[2] / y[2], mode)


def sqrt(fmt, a, mode="rn"):
    kind, negative, value = fmt.decode(a)
    if kind == "n":
        return nan_of(fmt, a)
    if kind == "f" and value == 0:
        return a
    if negative:
        return nan_of(fmt)
    if kind == "i":
        return a
    scale = 4096  # bits; the root keeps half of them, and a sticky bit below
    scaled = value.numerator * (1 << scale) // value.denominator
    root = isqrt(scaled)
    exact = root * root * value.denominator == value.numerator << scale
    result = Fraction(root, 1 << scale // 2)
    if not exact:
        result += Fraction(1, 1 << (scale // 2 + 8))
    return fmt.encode(False, result, mode)


def order(fmt, bits):
    magnitude = bits & (fmt.sign_bit - 1)
    return -magnitude - 1 if bits & fmt.sign_bit else magnitude


def minmax(fmt, a, b, largest, nan=False, xorsign=False):
    na, nb = fmt.decode(a)[0] == "n", fmt.decode(b)[0] == "n"
    sign = (a ^ b) & fmt.sign_bit if xorsign else 0
    if na or nb:
        if nan or (na and nb):
            return nan_of(fmt, b, a)
        other = b if na else a
        return other & (fmt.sign_bit - 1) | sign if xorsign else other
    if xorsign:
        a, b = a & (fmt.sign_bit - 1), b & (fmt.sign_bit - 1)
    return (max if largest else min)(a, b, key=lambda v: order(fmt, v)) | sign


# ---- inputs
# -----------------------------------------------------------------------------------------------


def edge_floats(fmt):
    """Bit patterns where something goes wrong: zeros, subnormals, units in the last place,
    overflow, NaN."""
    one, man = fmt.bias << fmt.man, 1 << fmt.man
    codes = [
        0,
        1,
        man - 1,
        man,
        man + 1,
        one - 1,
        one,
        one + 1,
        one + man // 2,
        one + man,
        one + man + man // 2,
        one + (fmt.man // 2) * man,
        fmt.inf - 1,
        fmt.inf - man,
        fmt.inf,
        fmt.inf + 1,
        fmt.inf + man // 2,
        one - man,
        one - (fmt.man + 1) * man,
        one + (fmt.man + 1) * man,
        2 * man - 1,
        man // 2,
        3 * man - 2,
    ]
    return [c | s for c in codes for s in (0, fmt.sign_bit)]


def nan_rows(fmt, operands):
    """NaN with payloads in every operand, alone and together: which one comes out, and how much of
    it."""
    one, ones = fmt.bias << fmt.man, (1 << fmt.man) - 1
    quiet = fmt.inf | 1 << fmt.man - 1 | 0x5555555555555 & ones >> 1
    signaling = fmt.inf | 0x3333333333333 & ones >> 1
    nans = [quiet, quiet | fmt.sign_bit, signaling, signaling | fmt.sign_bit]
    rows = [
        tuple(x if i == k else one for k in range(operands)) for i in range(operands) for x in nans
    ]
    if operands > 1:
        rows += [tuple(nans[(i + 3 * k) % 4] for k in range(operands)) for i in range(4)]
    if operands > 2:
        rows += [
            tuple(one if k == i else nans[i ^ k] for k in range(operands)) for i in range(operands)
        ]
    return rows


def float_inputs(fmt, operands, count, seed):
    """`count` tuples: every edge in every position, and pairs that cancel, overlap and overflow.
    Then NaN."""
    rng = random.Random(f"{fmt.name} {operands} {seed}")
    edges, rows = edge_floats(fmt), []

    def draw():
        kind = rng.randrange(4)
        if kind == 0:
            return rng.choice(edges)
        if kind == 1:
            return rng.randrange(1 << fmt.bits)
        near = (fmt.bias + rng.randrange(-fmt.man, fmt.man)) << fmt.man
        return near | rng.randrange(1 << fmt.man) | rng.choice((0, fmt.sign_bit))

    for i in range(count):
        row = [draw() for _ in range(operands)]
        if i < len(edges):
            row[i % operands] = edges[i]
        elif operands > 1 and i % 5 == 0:
            row[1] = row[0] ^ fmt.sign_bit ^ rng.choice((0, 1, 2))
        rows.append(tuple(row))
    return rows + nan_rows(fmt, operands)


def int_inputs(bits, operands, count, seed):
    rng = random.Random(f"int {bits} {operands} {seed}")
    top = 1 << (bits - 1)
    edges = [
        0,
        1,
        2,
        3,
        top - 1,
        top,
        top + 1,
        2 * top - 1,
        2 * top - 2,
        0x55555555_55555555 % (2 * top),
        0xAAAAAAAA_AAAAAAAA % (2 * top),
        7,
        31,
        32,
        33,
        bits - 1,
        bits,
        255 % (2 * top),
        top // 2,
    ]

    def draw():
        kind = rng.randrange(3)
        if kind == 0:
            return rng.choice(edges)
        if kind == 1:
            return rng.randrange(2 * top)
        return rng.randrange(1 << rng.randrange(1, bits + 1))

    rows = [tuple(draw() for _ in range(operands)) for _ in range(count)]
    for i, e in enumerate(edges[: count // 2]):
        row = list(rows[i])
        row[i % operands] = e
        rows[i] = tuple(row)
    return rows


def to_signed(x, bits):
    x &= (1 << bits) - 1
    return x - (1 << bits) if x >> (bits - 1) else x
