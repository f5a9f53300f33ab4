"""Cases of wmma: load A, B and C in both layouts, multiply, store D. How a fragment lies in
registers is the implementation's own, so only memory is looked at. Hopper carries tf32's K of 8 out
in two steps (seen in its SASS and in the results)."""

from case import Case
from product import BITS, Product

SHAPES = ((16, 16, 16), (8, 32, 16), (32, 8, 16))


def pack(rows, bits, column_major, stride):
    """The bytes of a matrix whose rows (or columns) are `stride` elements apart."""
    if column_major:
        rows = [list(c) for c in zip(*rows)]
    total = 0
    for i, row in enumerate(rows):
        for k, code in enumerate(row):
            total |= code << bits * (i * stride + k)
    return list(total.to_bytes(len(rows) * stride * bits // 8, "little"))


def transposed(rows):
    return [list(c) for c in zip(*rows)]


def registers(matrix, shape, t):
    m, n, k = shape
    if t == "f16" and matrix != "c":
        return 8
    count = {"a": m * k, "b": n * k, "c": m * n}[matrix]
    return max(1, count // max(1, 32 // BITS[t]) // 32)


class Wmma:
    def __init__(self, shape, ta, td, layouts="rc", suffix="", shared=False, **options):
        self.shape, self.ta, self.td, self.suffix, self.shared = shape, ta, td, suffix, shared
        self.layouts = [{"r": "row", "c": "col"}[x] for x in layouts]
        self.options = options
        flavours = ("near_one", "any") if ta in ("f16", "bf16", "tf32") else ("near_one",)
        self.products = [Product(shape, ta, ta, td, f, "wmma", **options) for f in flavours]

    def name(self):
        return "m{}n{}k{}".format(*self.shape)

    def mma(self):
        if self.ta == "f16":
            types = f"{self.td}.{self.td}"
        elif self.ta == "f64":
            types = "f64.f64.f64.f64"
        else:
            types = f"{self.td}.{self.ta}.{self.ta}.{self.td}"
        text = (
            f"sync.aligned.{self.layouts[0]}.{self.layouts[1]}.{self.name()}.{types}{self.suffix}"
        )
        if self.ta == "b1":
            text = ("xor" if self.options["xor"] else "and") + ".popc." + text
        return "wmma.mma." + text

    def images(self, p):
        m, n, k = self.shape
        pad = 0 if BITS[self.ta] < 8 else 128 // BITS[self.ta]
        a_col, b_col = self.layouts[0] == "col", self.layouts[1] == "col"
        widen = lambda code: code << 13 if self.ta == "tf32" else code
        bits = BITS[self.ta]
        self.a_stride = (m if a_col else k) + pad
        self.b_stride = (k if b_col else n) + pad
        self.c_stride = m + 128 // BITS[self.td]
        a = pack([[widen(x) for x in r] for r in p.a], bits, a_col, self.a_stride)
        b = pack(transposed([[widen(x) for x in r] for r in p.b]), bits, b_col, self.b_stride)
        c = pack(p.c, BITS[self.td], True, self.c_stride)
        return a, b, c, pack(p.d(4 if self.ta == "tf32" else None), BITS[self.td], False, n)

    def write(self):
        images = [self.images(p) for p in self.products]
        title = f"{self.mma()}, its loads and store"
        tail = self.suffix.replace(".", "_") + ("_xor" if self.options.get("xor") else "")
        case = Case(
            f"wmma_{self.name()}_{self.td}_{self.ta}{tail}", title, block=32, grid=len(images)
        )
        for i, (kind, x) in enumerate((("in", "a"), ("in", "b"), ("in", "c"), ("out", "d"))):
            case.buffer(kind, x, 1, [byte for image in images for byte in image[i]])
        case.exact = True
        case.body = "\n".join(self.body([len(x) for x in images[0]])) + "\n    ret;\n"
        case.write()

    def body(self, sizes):
        kind = "f64" if self.ta == "f64" else "b32"
        counts = {x: registers(x, self.shape, self.td if x == "c" else self.ta) for x in "abc"}
        regs = {x: "{" + ", ".join(f"%{x}{i}" for i in range(counts[x])) + "}" for x in "abc"}
        regs["d"] = regs["c"].replace("%c", "%d")
        yield "    .reg .b32 %t, %s, %stride;\n    .reg .b64 %p, %q;"
        yield f"    .shared .align 16 .b8 smem[{sizes[0]}];"
        for x, count in [*counts.items(), ("d", counts["c"])]:
            yield f"    .reg .{kind} %{x}<{count}>;"
        yield "    mov.u32 %t, %ctaid.x;"
        for x, size, stride, layout in (
            ("a", sizes[0], self.a_stride, self.layouts[0]),
            ("b", sizes[1], self.b_stride, self.layouts[1]),
            ("c", sizes[2], self.c_stride, "col"),
        ):
            yield f"    ld.param.u64 %p, [{x}];\n    mad.wide.u32 %p, %t, {size}, %p;"
            space, at = (".global", "%p") if x != "c" else ("", "%p")
            if x == "a" and self.shared:
                yield from self.copy_to_shared(size)
                space, at = ".shared", "%s"
            t = self.td if x == "c" else self.ta
            text = f"wmma.load.{x}.sync.aligned.{layout}.{self.name()}{space}.{t}"
            yield f"    mov.u32 %stride, {stride};\n    {text} {regs[x]}, [{at}], %stride;"
        yield f"    {self.mma()} {regs['d']}, {regs['a']}, {regs['b']}, {regs['c']};"
        yield f"    ld.param.u64 %p, [d];\n    mad.wide.u32 %p, %t, {sizes[3]}, %p;"
        text = f"wmma.store.d.sync.aligned.row.{self.name()}.global.{self.td}"
        yield f"    {text} [%p], {regs['d']};"  # the stride of a matrix without gaps

    def copy_to_shared(self, size):
        yield "    .reg .b32 %lane, %v, %w;\n    mov.u32 %lane, %tid.x;\n    mov.u32 %s, smem;"
        yield "    mad.wide.u32 %q, %lane, 4, %p;\n    mad.lo.u32 %w, %lane, 4, %s;"
        for i in range(0, size, 128):
            yield f"    ld.global.b32 %v, [%q + {i}];\n    st.shared.b32 [%w + {i}], %v;"
        yield "    bar.warp.sync -1;"


def generate():
    for i, shape in enumerate(SHAPES):
        for td in ("f32", "f16"):
            Wmma(shape, "f16", td, ("rc", "cr", "rr")[i], shared=i == 0 and td == "f16").write()
        Wmma(shape, "bf16", "f32", ("cc", "rc", "cr")[i]).write()
        Wmma(shape, "s8", "s32", ("rc", "cr", "rr")[i]).write()
        Wmma(shape, "u8", "s32", ("cr", "rr", "rc")[i], ".satfinite", satfinite=True).write()
    Wmma((16, 16, 8), "tf32", "f32", "cr").write()
    Wmma((8, 8, 4), "f64", "f64", "cr").write()
    Wmma((8, 8, 32), "s4", "s32").write()
    Wmma((8, 8, 32), "u4", "s32", suffix=".satfinite", satfinite=True).write()
    for xor in (True, False):
        Wmma((8, 8, 128), "b1", "s32", xor=xor).write()
