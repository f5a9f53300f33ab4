"""A kernel of tcgen05.mma and what it must give: tensor_mma_cases.py has the cases.

Every case is a kernel of 128 threads that copies an image into shared memory and another one into
tensor memory, lets one thread issue the multiplications, and hashes every lane of tensor memory.
The expected hashes come from a model of the whole: operands are placed by the canonical layouts
(rows of K or of MN in swizzled lines), D by the ISA's layouts A to G, and the arithmetic is the
published model (arXiv 2512.07004) in Python integers."""

import random

import number as n
from case import Case
from product import cut, finish, integer_dot, split
from memory import pointer

M32 = 0xFFFFFFFF
LANES = 128

E2M3 = n.Format("e2m3", 2, 3, 0, False, 0x1F)
E3M2 = n.Format("e3m2", 3, 2, 0, False, 0x1F)
E2M1 = n.Format("e2m1", 2, 1, 0, False, 0x07)
FORMATS = {
    "f16": n.F16,
    "bf16": n.BF16,
    "tf32": n.TF32,
    "e4m3": n.E4M3,
    "e5m2": n.E5M2,
    "e2m3": E2M3,
    "e3m2": E3M2,
    "e2m1": E2M1,
}
CODES = {
    "f16": 0,
    "bf16": 1,
    "tf32": 2,
    "e4m3": 0,
    "e5m2": 1,
    "e2m3": 3,
    "e3m2": 4,
    "e2m1": 5,
    "u8": 0,
    "s8": 1,
}
CONTAINER = {"f16": 2, "bf16": 2, "tf32": 4}  # bytes; others 1
K = {"f16": 16, "tf32": 8, "f8f6f4": 32, "i8": 32, "mxf8f6f4": 32, "mxf4": 64, "mxf4nvf4": 64}
D_CODES = {"f16": 0, "f32": 1, "s32": 2}
SWIZZLES = {"none": 0, "128B_32B": 1, "128B": 2, "64B": 4, "32B": 6}
SPANS = {"none": 0, "128B_32B": 128, "128B": 128, "64B": 64, "32B": 32}


def swizzle(address, mode):
    """Chunk index XOR line index: chunks of 16 bytes, or of 32 with four to a line."""
    if mode == "none":
        return address
    line = address // 128
    if mode == "128B_32B":
        return address ^ (line % 4) * 32
    return address ^ (line % (SPANS[mode] // 16)) * 16


# ---- operands
# ------------------------------------------------------------------------------------------


def draw(rng, t, flavour):
    if t in ("s8", "u8"):
        return rng.choice((0x80, 0x7F, 0xFF, 0, 1, rng.randrange(256)))
    fmt = FORMATS[t]
    sign, man = rng.choice((0, fmt.sign_bit)), rng.randrange(1 << fmt.man)
    top = (1 << fmt.exp) - 1
    if flavour == "near_one":
        exp = fmt.bias - rng.randrange(2)
    elif flavour == "finite":
        exp = rng.randrange(top if fmt.nan else top + 1)
    elif flavour == "cancelling":
        man, exp = rng.choice((0, (1 << fmt.man) - 1)), fmt.bias + rng.randrange(2)
    else:
        exp = rng.choice((0, 0, 1, rng.randrange(top + 1)))  # "any": subnormals, infinities, NaN
    return sign | exp << fmt.man | man


def draw_d(rng, td, flavour):
    if td == "s32":
        return rng.choice((0, 0x7FFFFFFF, 0x80000000, rng.randrange(1 << 32)))
    fmt = n.F16 if td == "f16" else n.F32
    sign, man = rng.choice((0, fmt.sign_bit)), rng.randrange(1 << fmt.man)
    exp = (
        rng.randrange((1 << fmt.exp) - 1 + (flavour == "any"))
        if flavour in ("any", "finite")
        else fmt.bias + rng.randrange(12)
    )
    return sign | exp << fmt.man | man


def row_bytes(codes, t, packing, rng):
    """A row of K as it lies in memory: containers (4-bit elements in bits 2 to 5), 16 padded
    elements in 16 bytes, two to a byte."""
    if t == "tf32":  # the low 13 bits are noise
        return b"".join((c << 13 | rng.randrange(1 << 13)).to_bytes(4, "little") for c in codes)
    if t in CONTAINER:
        return b"".join(c.to_bytes(2, "little") for c in codes)
    width = {"e2m3": 6, "e3m2": 6, "e2m1": 4}.get(t, 8)
    if packing == "packed":
        return bytes(lo | hi << 4 for lo, hi in zip(codes[0::2], codes[1::2]))
    if packing == "padded" and width < 8:
        out = b""
        for i in range(0, len(codes), 16):
            bits = sum(c << width * j for j, c in enumerate(codes[i : i + 16]))
            pad = 16 - 2 * width
            out += bits.to_bytes(2 * width, "little") + bytes(
                rng.randrange(256) for _ in range(pad)
            )
        return out
    return bytes(c << 2 if width == 4 else c for c in codes)


class Image:
    def __init__(self):
        self.data = bytearray()

    def put(self, at, data):
        if len(self.data) < at + len(data):
            self.data.extend(bytes(at + len(data) - len(self.data)))
        self.data[at : at + len(data)] = data

    def words(self, size):
        data = bytes(self.data) + bytes(size - len(self.data))
        return [int.from_bytes(data[i : i + 4], "little") for i in range(0, size, 4)]


def place(image, base, rows, mode, container, mn_major, gap):
    """Rows of bytes into shared memory; the descriptor without the address of the image. K advances
    inside a swizzled line: the operand begins behind a row's width where there is room, to see
    that. `gap`: between groups of eight rows."""
    span, count, row = SPANS[mode], len(rows), len(rows[0])
    width = span or 16
    if not mn_major:
        offset = row if span > row else 0
        stride, leading = 8 * width * (1 + gap), 16 if span else (count + 7) // 8 * 128 * (1 + gap)
        for r, data in enumerate(rows):
            for x in range(0, row, 16):
                at = r // 8 * stride + r % 8 * width + (x + offset if span else x // 16 * leading)
                image.put(base + swizzle(at, mode), data[x : x + 16])
        start = base + offset
    else:
        per_line = width // container
        lines = 4 if mode == "128B_32B" else 8
        depth = row // container
        if span:
            stride = lines * width
            leading = (depth + lines - 1) // lines * stride + 1024 * gap
        else:
            leading = 128
            stride = depth // 8 * 128 + 128 * gap
        for r, data in enumerate(rows):
            for k in range(depth):
                outer = r // per_line * (leading if span else stride)
                at = (
                    outer
                    + k // lines * (stride if span else leading)
                    + k % lines * width
                    + r % per_line * container
                )
                image.put(base + swizzle(at, mode), data[k * container : (k + 1) * container])
        start = base
    return start >> 4 | (leading >> 4) << 16 | (stride >> 4) << 32 | 1 << 46 | SWIZZLES[mode] << 61


# ---- arithmetic
# ------------------------------------------------------------------------------------------


def scale_parts(kind, code):
    """(NaN?, significand, exponent, fraction bits)"""
    if kind == "ue8m0":
        return code == 0xFF, 1, code - 127, 0
    code &= 0x7F
    man, exp = code & 7, code >> 3
    return code == 0x7F, man | 8 if exp else man, max(exp, 1) - 7, 3


def fused(terms, fraction, c, fc, shift):
    """terms: (significand, exponent, fraction bits); C counts times 2^-shift."""
    _, sc, ec = split(fc, c)
    ec -= shift
    terms = [t for t in terms if t[0]]
    largest = max(([ec] if sc else []) + [e for _, e, _ in terms], default=0)
    total = cut(sc, largest - ec + fc.man - fraction)
    total += sum(cut(s, largest - e + man - fraction) for s, e, man in terms)
    return finish(fc, total, largest - fraction, False)


def special(kinds, fc):
    """kinds: of terms, 'n' NaN, '+', '-' infinite; None when there are none."""
    if "n" in kinds or ("+" in kinds and "-" in kinds):
        return fc.nan
    if kinds:
        return fc.inf | (fc.sign_bit if "-" in kinds else 0)
    return None


def kind_of_product(fa, x, fb, y, negate):
    kx, sx, _ = split(fa, x)
    ky, sy, _ = split(fb, y)
    if "n" in (kx, ky) or (
        "i" in (kx, ky) and ((kx == "f" and sx == 0) or (ky == "f" and sy == 0))
    ):
        return "n"
    if "i" in (kx, ky):
        return "-" if (bool(x & fa.sign_bit) != bool(y & fb.sign_bit)) != negate else "+"
    return None


def float_output(o, a, b, sa, sb, c):
    """One output of case o; a, b codes along K; sa, sb scale bytes of the row."""
    fa, fb, fc = FORMATS[o.ta], FORMATS[o.tb], n.F16 if o.td == "f16" else n.F32
    negate = o.negate[0] != o.negate[1]
    kinds = {kind_of_product(fa, x, fb, y, negate) for x, y in zip(a, b)} - {None}
    scales = [(scale_parts(o.scale_type, x), scale_parts(o.scale_type, y)) for x, y in zip(sa, sb)]
    if any(x[0] or y[0] for x, y in scales):
        kinds.add("n")
    kc = split(fc, c)[0]
    if kc != "f":
        kinds.add("n" if kc == "n" else "-" if c & fc.sign_bit else "+")
    if kinds:
        return special(kinds, fc)
    products = []
    for x, y in zip(a, b):
        _, sx, ex = split(fa, x)
        _, sy, ey = split(fb, y)
        products.append((-sx * sy if negate else sx * sy, ex + ey, fa.man + fb.man))
    if o.kind not in ("mxf4", "mxf4nvf4"):
        if scales:
            (_, _, ex, _), (_, _, ey, _) = scales[0]
            products = [(s, e + ex + ey, man) for s, e, man in products]
        return fused(products, 25, c, fc, o.scale_d)
    terms = []
    for g in range(0, len(products), 16):
        total = sum(
            s * 2**e for s, e, _ in [(s, e + 2, m) for s, e, m in products[g : g + 16]]
        )  # exponents >= 0
        (_, sx, ex, mx), (_, sy, ey, my) = scales[g // o.block]
        terms.append((int(total) * sx * sy, ex + ey, 2 + fa.man + fb.man + mx + my))
    return fused(terms, 35, c, fc, 0)


# ---- the whole
# ------------------------------------------------------------------------------------------


class Mma:
    """One case. Options: ta, tb, td, m, n; group (CTAs), ws; a_mode, b_mode (swizzles), a_mn, b_mn;
    a_tensor, lane (16: layout F in the upper halves); scale ids sfa, sfb, block, scale_type;
    negate, masks (lanes that are not written), scale_d, add (D is read), ashift, zero_columns
    (descriptor), saturate, issuer (rank), steps (instructions on the same accumulator), modifier
    (of the opcode), bad (changes to the instruction descriptor).
    """

    DEFAULTS = dict(
        td="f32", m=128, n=16, group=1, ws=False, a_mode="32B", b_mode="32B", gap=False, a_mn=False,
        b_mn=False,
        a_tensor=False, lane=0, sfa=0, sfb=0, block=0, scale_type="ue8m0", negate=(0, 0),
        masks=None, scale_d=0,
        add=True, ashift=False, zero_columns=None, max_shift=0, saturate=False, issuer=0, steps=1,
        modifier="",
        flavour="near_one", scale_modifier="", bits=0, fails=None, replicate=True, immediate=False,
        columns=None, id_in_address=False,
    )  # fmt: skip

    def __init__(self, name, kind, ta, tb=None, **options):
        self.name, self.kind, self.ta, self.tb = name, kind, ta, tb or ta
        for key, value in {**self.DEFAULTS, **options}.items():
            setattr(self, key, value)
        self.k = K[kind]
        self.rng = random.Random(f"{name}")
        self.rows = self.m // self.group
        self.spread = self.m == 64 and not self.ws
        self.parts = 1 if self.spread else LANES // self.rows
        self.width = self.n // self.parts
        if kind == "mxf4nvf4" and not self.block:
            self.block = 16
        elif kind.startswith("mx") and not self.block:
            self.block = 32
        self.packing = "packed" if kind.startswith("mxf4") else "padded"
        self.shift = (self.zero_columns or 0) >> 56 & 0x3F
        # tensor memory: D, A, scales
        self.a_column = self.width
        self.sfa_column = self.a_column + (8 if self.a_tensor else 0)
        self.sfb_column = self.sfa_column + (4 if self.block else 0)
        self.used = self.columns or self.sfb_column + ((self.width + 31) // 32 if self.block else 0)

    # -- shapes

    def lane_of(self, row, part):
        if self.spread:
            return row % 16 + row // 16 * 32 + self.lane
        return row + part * (LANES // self.parts)

    def instruction(self):
        bits = (
            self.bits
            | self.negate[0] << 13
            | self.negate[1] << 14
            | self.a_mn << 15
            | self.b_mn << 16
        )
        bits |= self.n >> 3 << 17
        if self.block:
            code = (lambda t: 1) if self.kind.startswith("mxf4") else (lambda t: CODES[t])
            bits |= (
                (self.scale_type == "ue8m0") << 23
                | self.m >> 7 << 27
                | self.sfa << 29
                | self.sfb << 4
            )
            return bits | code(self.ta) << 7 | code(self.tb) << 10
        bits |= self.saturate << 3 | self.max_shift << 30 | self.m >> 4 << 24
        return bits | D_CODES[self.td] << 4 | CODES[self.ta] << 7 | CODES[self.tb] << 10

    # -- operands

    def make(self):
        rng, g = self.rng, self.group
        self.a = [[draw(rng, self.ta, self.flavour) for _ in range(self.k)] for _ in range(self.m)]
        b_rows = self.n + self.shift
        self.b = [[draw(rng, self.tb, self.flavour) for _ in range(self.k)] for _ in range(b_rows)]
        self.images, per = [Image() for _ in range(g)], self.n // g
        a_size, b_size = CONTAINER.get(self.ta, 1), CONTAINER.get(self.tb, 1)
        self.a_desc = 0
        for c in range(g):
            image, base = self.images[c], 0
            if not self.a_tensor:
                rows = [
                    row_bytes(r, self.ta, self.packing, rng)
                    for r in self.a[c * self.rows : (c + 1) * self.rows]
                ]
                self.a_desc = place(image, 0, rows, self.a_mode, a_size, self.a_mn, self.gap)
                base = (len(image.data) + 1023) // 1024 * 1024
            rows = [
                row_bytes(r, self.tb, self.packing, rng)
                for r in self.b[c * per : c * per + per + self.shift]
            ]
            self.b_desc = place(image, base, rows, self.b_mode, b_size, self.b_mn, self.gap)
        self.image_bytes = (max(len(i.data) for i in self.images) + 511) // 512 * 512
        self.make_scales()
        self.make_tensor()

    def make_scales(self):
        rng, count = self.rng, self.k // self.block if self.block else 0
        low, high = (120, 132) if self.scale_type == "ue8m0" else (0x30, 0x50)
        if self.flavour == "any":
            low, high = 0, 256
        self.sa = [[rng.randrange(low, high) for _ in range(count)] for _ in range(self.m)]
        # each CTA of a pair has its own copy of B's scales; here they are equal
        self.sb = [[rng.randrange(low, high) for _ in range(count)] for _ in range(self.n)]

    def scale_word(self, scales, at):
        noise = self.rng.randrange(1 << 32)
        for i, s in enumerate(scales):
            noise = noise & ~(0xFF << 8 * (at + i)) | s << 8 * (at + i)
        return noise

    def make_tensor(self):
        """[cta][lane][column] before the instruction."""
        rng = self.rng
        self.tensor = [
            [[draw_d(rng, self.td, self.flavour) if c < self.width else rng.randrange(1 << 32)
              for c in range(self.used)] for _ in range(LANES)]
            for _ in range(self.group)
        ]  # fmt: skip
        for cta in range(self.group):
            for part in range(self.parts):
                self.fill_part(self.tensor[cta], cta, part)

    def fill_part(self, tensor, cta, part):
        for row in range(self.rows):
            if self.a_tensor:
                packing = "packed" if self.packing == "packed" else "containers"
                data = row_bytes(self.a[cta * self.rows + row], self.ta, packing, self.rng)
                for i in range(8):
                    tensor[self.lane_of(row, part)][self.a_column + i] = int.from_bytes(
                        data[4 * i : 4 * i + 4], "little"
                    )
        quarters = 4 // self.parts
        for scales, column, at, count, first in (
            (self.sa, self.sfa_column, self.sfa, self.rows, cta * self.rows),
            (self.sb, self.sfb_column, self.sfb, self.width, part * self.width),
        ):
            for row in range(count if self.block else 0):
                word = self.scale_word(scales[first + row], at)
                for q in range(quarters):
                    value = word ^ (1 << 8 * at if q and not self.replicate else 0)
                    tensor[row % 32 + 32 * (part * quarters + q)][column + row // 32] = value

    # -- the model

    def is_zero_column(self, column):
        """Section 9.7.16.4.3, by its examples."""
        bits = self.zero_columns or 0
        if not bits >> 39 & 1:
            return False
        part, at = column // self.width, column % self.width
        zeros, used = [1] * ((bits >> 40 & 0xFF) + 1), [0] * ((bits >> 48 & 0xFF) + 1)
        pattern = zeros + used if bits >> (32 + part) & 1 else used + zeros
        return bool(pattern[(at + (bits >> 8 * part & 0xFF)) % len(pattern)])

    def output(self, row, column, d):
        a_row = row
        if self.ashift and row % self.rows < self.rows - 1:
            a_row = row + 1
        per = self.n // self.group
        b_row = column if self.group == 2 else column + self.shift
        a, b = self.a[a_row], self.b[b_row]
        if self.is_zero_column(column):
            b = [0] * self.k
        if self.kind == "i8":
            return integer_dot(self.ta, self.tb, a, b, d, self.saturate)
        return float_output(self, a, b, self.sa[row], self.sb[column], d)

    def masked(self, cta, lane):
        return bool(self.masks) and bool(self.masks[4 * cta + lane // 32] >> lane % 32 & 1)

    def run(self):
        """Tensor memory afterwards."""
        result = [[list(lane) for lane in cta] for cta in self.tensor]
        for row in range(self.m):
            cta, local = row // self.rows, row % self.rows
            for column in range(self.n):
                lane, at = self.lane_of(local, column // self.width), column % self.width
                if self.masked(cta, lane):
                    continue
                d = result[cta][lane][at] if self.add else 0
                for _ in range(self.steps):
                    d = self.output(row, column, d & (0xFFFF if self.td == "f16" else M32))
                result[cta][lane][at] = d
        return result

    # -- the kernel

    def opcode(self):
        block = ".block_scale" + self.scale_modifier if self.block else ""
        return (
            f"tcgen05.mma{'.ws' if self.ws else ''}.cta_group::{self.group}.kind::{self.kind}{block}"
            f"{'.ashift' if self.ashift else ''}{self.modifier}"
        )

    def instruction_text(self):
        a = "[%ta]" if self.a_tensor else "%da"
        text = f"    {self.opcode()} [%td], {a}, %db, %idesc"
        if self.block:
            text += ", [%tsa], [%tsb]"
        if self.masks:
            text += ", {" + ", ".join(f"%m{i}" for i in range(len(self.masks))) + "}"
        text += f", {int(self.add)}" if self.immediate else ", %add"
        if self.zero_columns is not None:
            text += ", %zero"
        elif self.scale_d:
            text += f", {self.scale_d}"
        return text + ";"

    def write(self):
        self.make()
        case = Case(self.name, self.opcode(), block=LANES, grid=self.group, cluster=self.group)
        case.version, case.target = "8.8", "sm_100a"
        case.exact = True
        words = [w for i in self.images for w in i.words(self.image_bytes)]
        case.buffer("in", "image", 4, words)
        tensor = [
            cta[lane][c] for cta in self.tensor for c in range(self.used) for lane in range(LANES)
        ]
        case.buffer("in", "tensor", 4, tensor)
        if self.fails:
            case.lines.append(f"//: fails {self.fails}")
            case.buffer("out", "d", 4, [0xCDCDCDCD] * LANES * self.group)
        else:
            case.buffer("out", "d", 4, [hash_of(lane) for cta in self.run() for lane in cta])
        case.body = "\n".join(self.body()) + "\n    ret;\n"
        case.write()

    def body(self):
        columns = 32
        while columns < self.used:
            columns *= 2
        group, pair = self.group, self.group == 2
        sync = ["    bar.sync 0;"]
        if pair:
            sync = [
                "    barrier.cluster.arrive.release.aligned;",
                "    barrier.cluster.wait.acquire.aligned;",
            ]
        yield from [
            f"    .shared .align 1024 .b8 smem[{self.image_bytes}];",
            "    .shared .align 8 .b8 barrier_[8];",
            "    .shared .align 4 .b8 slot_[4];",
            "    .reg .b32 %t, %rank, %s, %w, %i, %x, %h, %bar, %slot, %tmem, %mine, %at, %idesc, %td, %ta, %tsa, %tsb;",
            "    .reg .b32 %m<8>;",
            "    .reg .b64 %p, %da, %db, %zero, %base;",
            "    .reg .b16 %both;",
            "    .reg .pred %q, %first, %warp0, %add, %lead;",
            "    mov.u32 %t, %tid.x;",
            "    mov.u32 %rank, %cluster_ctarank;",
            "    mov.u32 %s, smem;",
            "    mov.u32 %bar, barrier_;",
            "    mov.u32 %slot, slot_;",
            "    setp.lt.u32 %warp0, %t, 32;",
            "    setp.eq.u32 %first, %t, 0;",
            # the image of this CTA
            *pointer("image", self.image_bytes, "%rank"),
            "    mad.wide.u32 %p, %t, 4, %p;",
            "    mad.lo.u32 %w, %t, 4, %s;",
            "    mov.u32 %i, 0;",
            "copy:",
            "    ld.global.b32 %x, [%p];",
            "    st.shared.b32 [%w], %x;",
            "    add.u64 %p, %p, 512;",
            "    add.u32 %w, %w, 512;",
            "    add.u32 %i, %i, 512;",
            f"    setp.lt.u32 %q, %i, {self.image_bytes};",
            "    @%q bra copy;",
            "    fence.proxy.async.shared::cta;",
            "    @!%first bra allocate;",
            "    mbarrier.init.shared::cta.b64 [%bar], 1;",
            "    fence.mbarrier_init.release.cluster;",
            "allocate:",
            "    @!%warp0 bra allocated;",
            f"    tcgen05.alloc.cta_group::{group}.sync.aligned.shared::cta.b32 [%slot], {columns};",
            "allocated:",
            "    tcgen05.fence::before_thread_sync;",
            *sync,
            "    tcgen05.fence::after_thread_sync;",
            "    ld.shared.b32 %tmem, [%slot];",
            "    shr.u32 %mine, %t, 5;",
            "    shl.b32 %mine, %mine, 21;",
            "    add.u32 %mine, %mine, %tmem;",
            # tensor memory, column by column
            *pointer("tensor", 4 * LANES * self.used, "%rank"),
            "    mad.wide.u32 %p, %t, 4, %p;",
            "    mov.u32 %i, 0;",
            "fill:",
            "    ld.global.b32 %x, [%p];",
            "    add.u32 %at, %mine, %i;",
            "    tcgen05.st.sync.aligned.32x32b.x1.b32 [%at], {%x};",
            f"    add.u64 %p, %p, {4 * LANES};",
            "    add.u32 %i, %i, 1;",
            f"    setp.lt.u32 %q, %i, {self.used};",
            "    @%q bra fill;",
            "    tcgen05.wait::st.sync.aligned;",
            "    tcgen05.fence::before_thread_sync;",
            *sync,
            "    tcgen05.fence::after_thread_sync;",
            # one thread multiplies
            f"    setp.eq.u32 %lead, %rank, {self.issuer};",
            "    and.pred %lead, %lead, %first;",
            "    @!%lead bra issued;",
            "    shr.u32 %x, %s, 4;",
            "    cvt.u64.u32 %base, %x;",
            f"    add.u64 %da, %base, {hex(self.a_desc)};",
            f"    add.u64 %db, %base, {hex(self.b_desc)};",
            f"    mov.b32 %idesc, {hex(self.instruction())};",
            f"    add.u32 %td, %tmem, {self.lane << 16};",
            f"    add.u32 %ta, %td, {self.a_column};",
            f"    add.u32 %tsa, %tmem, {self.sfa_column + (self.sfa << 30 if self.id_in_address else 0)};",
            f"    add.u32 %tsb, %tmem, {self.sfb_column + (self.sfb << 30 if self.id_in_address else 0)};",
            f"    setp.ne.u32 %add, {int(self.add)}, 0;",
        ]
        yield from (f"    mov.b32 %m{i}, {hex(m)};" for i, m in enumerate(self.masks or []))
        if self.zero_columns is not None:
            yield f"    mov.b64 %zero, {hex(self.zero_columns)};"
        for step in range(self.steps):
            yield self.instruction_text()
            if step == 0 and self.steps > 1 and not self.add:
                yield "    setp.eq.u32 %add, %t, %t;"
        commit = f"    tcgen05.commit.cta_group::{group}.mbarrier::arrive::one.shared::cluster"
        if pair:
            yield "    mov.u16 %both, 3;"
            yield f"{commit}.multicast::cluster.b64 [%bar], %both;"
        else:
            yield f"{commit}.b64 [%bar];"
        yield from [
            "issued:",
            "wait:",
            "    mbarrier.try_wait.parity.shared::cta.b64 %q, [%bar], 0;",
            "    @!%q bra wait;",
            "    tcgen05.fence::after_thread_sync;",
            # a hash of each lane
            "    mov.u32 %i, 0;",
            "    mov.u32 %h, 0;",
            "read:",
            "    add.u32 %at, %mine, %i;",
            "    tcgen05.ld.sync.aligned.32x32b.x1.b32 {%x}, [%at];",
            "    tcgen05.wait::ld.sync.aligned;",
            "    mad.lo.u32 %h, %h, 31, %x;",
            "    add.u32 %i, %i, 1;",
            f"    setp.lt.u32 %q, %i, {self.used};",
            "    @%q bra read;",
            *pointer("d", 4 * LANES, "%rank"),
            "    mad.wide.u32 %p, %t, 4, %p;",
            "    st.global.b32 [%p], %h;",
            "    tcgen05.fence::before_thread_sync;",
            *sync,
            "    tcgen05.fence::after_thread_sync;",
            "    @!%warp0 bra done;",
            f"    tcgen05.relinquish_alloc_permit.cta_group::{group}.sync.aligned;",
            f"    tcgen05.dealloc.cta_group::{group}.sync.aligned.b32 %tmem, {columns};",
            "done:",
        ]


def hash_of(words):
    h = 0
    for word in words:
        h = (h * 31 + word) & M32
    return h
