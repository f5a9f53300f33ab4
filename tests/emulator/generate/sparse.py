"""Cases of mma.sp and wgmma.mma_async.sp: A has two of every four units of K, which two is in
registers of some of the lanes. A unit is an element of 16 or 8 bits, a pair of 4-bit elements, half
of a tf32 element."""

import random

import number as n
from matrix import load_registers, mma_case
from product import BITS, FLAVOURS, Product
from wgmma import Wgmma, wgmma_k


class SparseProduct(Product):
    """Product whose self.a holds what is stored; picks: the place along K of every stored
    element."""

    def __init__(self, shape, ta, tb, td, flavour, seed, **options):
        super().__init__(shape, ta, tb, td, flavour, seed, **options)
        rng = random.Random(f"sparse {shape} {ta} {tb} {td} {flavour} {seed}")
        bits = BITS[ta]
        per_unit = 2 if bits == 4 else 1
        self.unit = 2 if bits >= 16 else 1  # bytes
        self.row_bits = self.k * bits // 8 // self.unit
        self.indices, self.picks = [], []
        for row in range(self.m):
            word, picks = 0, []
            for chunk in range(self.row_bits // 4):
                if bits == 32:  # both halves of an element
                    element = rng.randrange(2)
                    units = (2 * element, 2 * element + 1)
                    picks.append(2 * chunk + element)
                else:
                    units = sorted(rng.sample(range(4), 2))
                    picks += [
                        per_unit * (4 * chunk + u) + i for u in units for i in range(per_unit)
                    ]
                word |= (units[0] | units[1] << 2) << 4 * chunk
            self.indices.append(word)
            self.picks.append(picks)
            self.a[row] = [self.a[row][k] for k in picks]

    def operands(self, row, col, k0, k1):
        k0, k1 = k0 // 2, (k1 or self.k) // 2
        return self.a[row][k0:k1], [self.b[col][k] for k in self.picks[row][k0:k1]]

    def indices_of_lanes(self, selector, step=0, steps=1, warp=0):
        """The operand of every lane; lanes that the selector leaves out have noise."""
        bits = self.row_bits // steps
        row_of = lambda r: self.indices[16 * warp + r] >> bits * step & ((1 << bits) - 1)
        words = [self.noise.randrange(1 << 32) for _ in range(32)]
        for g in range(8):
            low, high = row_of(g), row_of(g + 8)
            part = lambda i: low >> 16 * i & 0xFFFF | (high >> 16 * i & 0xFFFF) << 16
            if bits == 16:
                words[4 * g + selector] = part(0)
            elif bits == 64:
                words[4 * g : 4 * g + 4] = [low & 0xFFFFFFFF, high & 0xFFFFFFFF, low >> 32,
                                            high >> 32]
            else:
                first = 4 * g + 2 * selector
                words[first : first + 2] = [part(0), part(1)] if self.unit == 2 else [low, high]
        return words


# shape, types of A, B and D, selectors
SHAPES = [
    ((16, 8, 16), "f16", "f16", "f32", 4),
    ((16, 8, 32), "f16", "f16", "f32", 2),
    ((16, 8, 16), "f16", "f16", "f16", 4),
    ((16, 8, 32), "f16", "f16", "f16", 2),
    ((16, 8, 16), "bf16", "bf16", "f32", 4),
    ((16, 8, 32), "bf16", "bf16", "f32", 2),
    ((16, 8, 8), "tf32", "tf32", "f32", 4),
    ((16, 8, 16), "tf32", "tf32", "f32", 2),
    ((16, 8, 64), "e4m3", "e4m3", "f32", 1),
    ((16, 8, 64), "e5m2", "e4m3", "f32", 1),
    ((16, 8, 64), "e4m3", "e5m2", "f32", 1),
    ((16, 8, 32), "s8", "u8", "s32", 2),
    ((16, 8, 64), "u8", "s8", "s32", 1),
    ((16, 8, 64), "s4", "s4", "s32", 2),
    ((16, 8, 128), "u4", "s4", "s32", 1),
]


def mma_cases():
    for at, (shape, ta, tb, td, selectors) in enumerate(SHAPES):
        m, nn, k = shape
        whole = ta[0] in "su"
        for ordered in ("", "::ordered_metadata"):
            selector = (at + bool(ordered)) % selectors
            sat = ".satfinite" if whole and ordered else ""
            seed = int(bool(ordered))
            make = lambda f: SparseProduct(shape, ta, tb, td, f, seed, satfinite=bool(sat))
            mma_case(
                f"mma_sp{'_ordered' * bool(ordered)}_m{m}n{nn}k{k}_{td}_{ta}_{tb}",
                f"mma.sp{ordered}.sync.aligned.m{m}n{nn}k{k}.row.col{sat}.{td}.{ta}.{tb}.{td}",
                [
                    make(f)
                    for f in (("",) if whole else FLAVOURS if not ordered else ("any", "near_one"))
                ],
                version="8.5",
                selector=selector,
            )


class SparseWgmma(Wgmma):
    def __init__(self, name, products, selector=0, **options):
        steps = products[0].k // (2 * wgmma_k(products[0].ta))
        swizzles = ("32B", "64B", "128B")
        options.setdefault("a_mode", swizzles[steps - 1])
        options.setdefault("b_mode", swizzles[steps])
        super().__init__(name, products, **options)
        self.selector = selector

    def k_of_one(self):
        return 2 * wgmma_k(self.p.ta)

    def text(self):
        return super().text().replace("wgmma.mma_async", "wgmma.mma_async.sp")

    def indices(self, step):
        return f", %e{step}, {self.selector}"

    def more_buffers(self, case):
        words = []
        for p in self.products:
            for step in range(self.steps):
                for warp in range(4):
                    words += p.indices_of_lanes(self.selector, step, self.steps, warp)
        case.buffer("in", "e", 4, words)

    def more_registers(self):
        yield f"    .reg .b32 %e<{self.steps}>;\n    mad.lo.u32 %t, %cta, {128 * self.steps}, %tid0;"
        yield from load_registers("e", "%e", self.steps, 4, 128)


WGMMA = [
    ("f16", "f16", "f32", 2),
    ("f16", "f16", "f16", 2),
    ("bf16", "bf16", "f32", 2),
    ("tf32", "tf32", "f32", 2),
    ("e4m3", "e4m3", "f32", 1),
    ("e5m2", "e4m3", "f16", 1),
    ("s8", "u8", "s32", 1),
    ("u8", "s8", "s32", 1),
]


def wgmma_cases():
    for at, (ta, tb, td, selectors) in enumerate(WGMMA):
        low, whole = BITS[ta] == 8, td == "s32"

        def make(flavour, steps=1, nn=8):
            shape = (64, nn, 2 * steps * wgmma_k(ta))
            return SparseProduct(shape, ta, tb, td, flavour, 3, low_precision=low and not whole,
                                 satfinite=whole and at % 2)

        name = f"wgmma_sp_{td}_{ta}_{tb}"
        flavours = ("",) if whole else ("finite", "any", "cancelling")
        SparseWgmma(name, [make(f) for f in flavours], selector=at % selectors, fold=True).write()
        SparseWgmma(
            name + "_registers", [make("near_one", 2)], selector=(at + 1) % selectors, a_regs=True,
            fold=True
        ).write()
    make = lambda t, steps, nn: SparseProduct((64, nn, 2 * steps * wgmma_k(t)), t, t, "f32",
                                              "near_one", 4)
    SparseWgmma("wgmma_sp_layout_none", [make("f16", 1, 16)], a_mode="none", b_mode="none",
                zero=True, fold=True).write()
    for mode in ("64B", "128B"):
        SparseWgmma(
            f"wgmma_sp_layout_{mode}",
            [make("f16", 1, 16)],
            a_mode=mode,
            b_mode=mode,
            zero=True,
            fold=True,
        ).write()
        SparseWgmma(
            f"wgmma_sp_layout_{mode}_transposed",
            [make("f16", 2, 64)],
            a_mode=mode,
            b_mode=mode,
            a_mn=True,
            b_mn=True,
            zero=True,
            fold=True,
        ).write()
    SparseWgmma("wgmma_sp_n256", [make("bf16", 1, 256)], zero=True, fold=True, selector=1).write()


def generate():
    mma_cases()
    wgmma_cases()
