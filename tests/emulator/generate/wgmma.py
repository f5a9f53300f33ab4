"""Cases of wgmma; arithmetic is product.py's. Operands are placed in shared memory by the canonical
layouts, fragments as the ISA draws them."""

from case import Case
from matrix import c_registers, flat, load_registers, store_registers, vector
from product import BITS, FLAVOURS, Product


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


def generate():
    wgmma_cases()
