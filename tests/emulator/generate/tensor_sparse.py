"""Cases of tcgen05.mma.sp, for the emulator only: sm_100a. As tensor_mma.py has them, with an A
that stores two of every four units of K. The model puts each stored element at its place in K and
looks B up there; where the indices lie in tensor memory is written down here once more, by the lane
and bit of each unit."""

from product import integer_dot
from tensor_mma import CONTAINER, Image, Mma, draw, float_output, place, row_bytes

CHOICES = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
HALVES = [(0, 1), (2, 3)]  # of tf32: the halves of an element go together


class SparseMma(Mma):
    """Options besides those of Mma: selector, sparse (the bit of the instruction descriptor)."""

    def __init__(self, name, kind, ta, tb=None, selector=0, sparse=1, **options):
        options.setdefault("b_mode", "64B")
        super().__init__(name, kind, ta, tb, **options)
        self.selector, self.sparse = selector, sparse
        self.spread = self.rows == 64 and not self.ws
        self.parts = 1 if self.spread else 128 // self.rows
        self.width = self.n // self.parts
        self.wide = CONTAINER.get(self.ta, 1) > 1
        # tensor memory is laid out again: D, A, scales, then the indices
        self.a_column = self.width
        self.sfa_column = self.a_column + (8 if self.a_tensor else 0)
        self.sfb_column = self.sfa_column + (4 if self.block else 0)
        self.e_column = self.sfb_column + ((self.width + 31) // 32 if self.block else 0)
        self.used = self.e_column + 4

    def instruction(self):
        return super().instruction() | self.sparse << 2 | self.selector

    def opcode(self):
        return super().opcode().replace("tcgen05.mma.ws", "tcgen05.mma.ws.sp").replace(
            "tcgen05.mma.cta", "tcgen05.mma.sp.cta"
        )

    def instruction_text(self):
        return super().instruction_text().replace("%db, %idesc", "%db, [%te], %idesc")

    def body(self):
        for line in super().body():
            yield line.replace("%td, %ta, ", "%td, %ta, %te, ")
            if line.startswith("    add.u32 %ta, "):
                yield f"    add.u32 %te, %td, {self.e_column};"

    # -- operands

    def units(self):
        """Stored units of a row: an element, a pair of 4-bit ones, half of a tf32 one."""
        if self.kind in ("mxf4", "mxf4nvf4"):
            return self.k // 2
        return 2 * self.k if self.ta == "tf32" else self.k

    def place_of(self, row, i):
        """Where stored element i of a row of A is along K."""
        chosen = self.chosen[row]
        if self.ta == "tf32":
            return 2 * i + chosen[2 * i] % 4 // 2
        if self.kind in ("mxf4", "mxf4nvf4"):
            unit = i // 2
            return (unit // 2 * 4 + chosen[unit]) * 2 + i % 2
        return i // 2 * 4 + chosen[i]

    def make(self):
        rng = self.rng
        pairs = HALVES if self.ta == "tf32" else CHOICES
        self.chosen = [
            [x for _ in range(self.units() // 2) for x in rng.choice(pairs)] for _ in range(self.m)
        ]
        self.a = [[draw(rng, self.ta, self.flavour) for _ in range(self.k)] for _ in range(self.m)]
        self.b = [
            [draw(rng, self.tb, self.flavour) for _ in range(2 * self.k)]
            for _ in range(self.n + self.shift)
        ]
        self.images, per = [Image() for _ in range(self.group)], self.n // self.group
        self.a_desc = 0
        for c, image in enumerate(self.images):
            base = 0
            if not self.a_tensor:
                rows = self.a[c * self.rows : (c + 1) * self.rows]
                rows = [row_bytes(r, self.ta, self.packing, rng) for r in rows]
                size = CONTAINER.get(self.ta, 1)
                self.a_desc = place(image, 0, rows, self.a_mode, size, self.a_mn, self.gap)
                base = (len(image.data) + 1023) // 1024 * 1024
            rows = self.b[c * per : c * per + per + self.shift]
            rows = [row_bytes(r, self.tb, self.packing, rng) for r in rows]
            size = CONTAINER.get(self.tb, 1)
            self.b_desc = place(image, base, rows, self.b_mode, size, self.b_mn, self.gap)
        self.image_bytes = (max(len(i.data) for i in self.images) + 511) // 512 * 512
        self.make_scales()
        self.make_tensor()

    def set_index(self, tensor, part, row, unit, index):
        """Two bits of the indices of a row of a CTA."""
        column, bit = self.e_column + self.selector, 2 * unit
        if self.wide:  # 16 bits of each of two rows, eight lanes further for the second half of K
            lane = self.lane_of(row // 16 * 16, part) + row % 8 + 8 * (bit // 16)
            bit = bit % 16 + 16 * (row // 8 % 2)
        else:
            lane = self.lane_of(row, part)
        at, bit = column + bit // 32, bit % 32
        tensor[lane][at] = tensor[lane][at] & ~(3 << bit) | index << bit

    def fill_part(self, tensor, cta, part):
        super().fill_part(tensor, cta, part)
        for row in range(self.rows):
            for unit, index in enumerate(self.chosen[cta * self.rows + row]):
                self.set_index(tensor, part, row, unit, index)

    # -- the model

    def output(self, row, column, d):
        a_row = row + 1 if self.ashift and row % self.rows < self.rows - 1 else row
        b = self.b[column if self.group == 2 else column + self.shift]
        b = [0 if self.is_zero_column(column) else b[self.place_of(row, i)] for i in range(self.k)]
        if self.kind == "i8":
            return integer_dot(self.ta, self.tb, self.a[a_row], b, d, self.saturate)
        return float_output(self, self.a[a_row], b, self.sa[row], self.sb[column], d)


def generate():
    Sp = SparseMma
    Sp("tcgen05_sparse_f16", "f16", "f16", flavour="finite").write()
    Sp("tcgen05_sparse_selector", "f16", "bf16", selector=1, steps=2).write()
    Sp("tcgen05_sparse_m64", "f16", "f16", m=64, lane=16, td="f16", selector=1,
       flavour="any").write()
    Sp("tcgen05_sparse_tf32", "tf32", "tf32", n=8, selector=1).write()
    Sp("tcgen05_sparse_tf32_m64", "tf32", "tf32", m=64, n=24, flavour="cancelling").write()
    Sp("tcgen05_sparse_i8", "i8", "s8", "u8", td="s32", saturate=True, steps=2).write()
    Sp("tcgen05_sparse_e4m3", "f8f6f4", "e4m3", "e2m1", m=64, n=8, td="f16", flavour="any").write()
    Sp("tcgen05_sparse_e2m3", "f8f6f4", "e2m3", "e5m2", b_mode="128B", flavour="finite").write()
    Sp("tcgen05_sparse_transposed", "f16", "f16", n=64, a_mn=True, b_mn=True, b_mode="128B").write()
    Sp("tcgen05_sparse_no_swizzle", "f16", "f16", a_mode="none", b_mode="none", gap=True).write()
    Sp("tcgen05_sparse_mx", "mxf8f6f4", "e4m3", "e3m2", n=8, sfa=1, sfb=3).write()
    Sp("tcgen05_sparse_mxf4", "mxf4", "e2m1", n=8, sfb=2, scale_modifier=".block32").write()
    Sp("tcgen05_sparse_nvf4", "mxf4nvf4", "e2m1", n=8, scale_type="ue4m3",
       scale_modifier=".block16", flavour="any").write()  # fmt: skip
    Sp("tcgen05_sparse_a_tensor", "f16", "f16", a_tensor=True, selector=1, n=8).write()
    Sp("tcgen05_sparse_ashift", "f8f6f4", "e5m2", a_tensor=True, ashift=True, n=8).write()
    Sp("tcgen05_sparse_masks", "f16", "f16", n=8, scale_d=2,
       masks=[0x0000FFFF, 0xAAAAAAAA, 0xFFFFFFFF, 0x00000001]).write()  # fmt: skip
    Sp("tcgen05_sparse_pair_m256", "f16", "f16", group=2, m=256, n=16, issuer=1).write()
    Sp("tcgen05_sparse_pair_m128", "f16", "bf16", group=2, m=128, n=32, selector=1).write()
    Sp("tcgen05_sparse_pair_i8", "i8", "s8", td="s32", group=2, m=128, n=32).write()
    Sp("tcgen05_sparse_pair_mx", "mxf8f6f4", "e4m3", group=2, m=256, n=16, sfa=2).write()
    for m in (32, 64, 128):
        Sp(f"tcgen05_sparse_ws_m{m}", "f16", "f16", ws=True, m=m, n=64, selector=1).write()
        Sp(f"tcgen05_sparse_ws_bytes_m{m}", "f8f6f4", "e4m3", ws=True, m=m, n=64).write()
    Sp("tcgen05_sparse_ws_zero_columns", "f16", "f16", ws=True, m=64, n=64,
       zero_columns=1 << 39 | 2 << 40 | 3 << 48 | 1 << 32).write()  # fmt: skip
    fails = "bit 2 is clear: A is dense, the instruction is .sp"
    Sp("tcgen05_sparse_bit_is_clear", "f16", "f16", n=8, sparse=0, fails=fails).write()
    Sp("tcgen05_sparse_selector_of_bytes", "i8", "s8", td="s32", n=8, selector=1,
       fails="the sparsity selector (bits 0-1) of this kind must be zero").write()  # fmt: skip
    Sp("tcgen05_sparse_pair_mx_m128", "mxf8f6f4", "e4m3", group=2, m=128, n=32,
       fails="M = 128, N = 32 is not a shape of this kind").write()  # fmt: skip
