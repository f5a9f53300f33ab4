"""Cases of mma.sync of floats of 8, 6 and 4 bits by kind, with and without block scales, for the
emulator only: sm_120a. The arithmetic is tcgen05.mma's (tensor_mma.py). Bits that must not be read
are noise: beside an element in its byte, and the scales that no selector names."""

import random

from case import Case
from matrix import c_registers, flat, load_registers, store_registers, vector
from tensor_mma import draw, draw_d, float_output

M, N = 16, 8
PADDED = {"e2m1": (2, 0x3C), "e2m3": (0, 0x3F), "e3m2": (0, 0x3F)}  # shift, mask of a byte


class Product:
    """Operands of one warp. ids: (byte, lanes) of A's scales and of B's."""

    def __init__(self, o, flavour, seed):
        rng = random.Random(seed)
        self.__dict__.update(
            kind=o.kind, ta=o.ta, tb=o.tb, td=o.td, m=M, n=N, k=o.k, block=o.block,
            scale_type=o.scale_type, negate=(0, 0), scale_d=0, ids=o.ids,
        )  # fmt: skip
        self.noise = random.Random(seed + 1)
        self.a = [[draw(rng, self.ta, flavour) for _ in range(self.k)] for _ in range(M)]
        self.b = [[draw(rng, self.tb, flavour) for _ in range(self.k)] for _ in range(N)]
        self.c = [[draw_d(rng, self.td, flavour) for _ in range(N)] for _ in range(M)]
        per_row = self.k // self.block if self.block else 0
        scale = 0x38 if self.scale_type == "ue4m3" else 127
        self.sfa = [[scale + rng.randrange(-4, 5) for _ in range(per_row)] for _ in range(M)]
        self.sfb = [[scale + rng.randrange(-4, 5) for _ in range(per_row)] for _ in range(N)]
        if flavour == "any" and per_row:
            self.sfa[3][0] = 0xFF if self.scale_type == "ue8m0" else 0x7F  # NaN

    def word(self, t, codes):
        if self.k == 64:
            return sum(c << 4 * i for i, c in enumerate(codes))
        shift, mask = PADDED.get(t, (0, 0xFF))
        return sum(
            (c << shift | self.noise.randrange(256) & ~mask & 0xFF) << 8 * i
            for i, c in enumerate(codes)
        )

    def fragments(self):
        """[register][lane]: of A, of B."""
        per = self.k // 8
        a = [[self.a_word(lane, r, per) for lane in range(32)] for r in range(4)]
        b = [
            [self.word(self.tb, self.along(self.b[lane // 4], lane, r, per)) for lane in range(32)]
            for r in range(2)
        ]
        return a, b

    def along(self, row, lane, half, per):
        k = per * (lane % 4 + 4 * half)
        return row[k : k + per]

    def a_word(self, lane, r, per):
        return self.word(self.ta, self.along(self.a[lane // 4 + 8 * (r % 2)], lane, r // 2, per))

    def scale_words(self, scales, ids, width):
        """A word a lane: of each four lanes, the `width` that ids name hold the rows' scales."""
        words = [self.noise.randrange(1 << 32) for _ in range(32)]
        for row, codes in enumerate(scales):
            lane = row % 8 * 4 + ids[1] * width + row // 8
            for i, code in enumerate(codes):
                shift = 8 * (ids[0] + i)
                words[lane] = words[lane] & ~(0xFF << shift) | code << shift
        return words

    def d(self):
        return [
            [
                float_output(self, self.a[r], self.b[c], self.sfa[r], self.sfb[c], self.c[r][c])
                for c in range(N)
            ]
            for r in range(M)
        ]


class Small:
    """One case of three warps: their products differ in flavour, not in what the text says."""

    def __init__(self, kind, ta, tb, td="f32", vec="", scale_type="ue8m0", ids=((0, 0), (0, 0))):
        self.kind, self.ta, self.tb, self.td = kind, ta, tb, td
        self.k = 64 if kind.startswith("mxf4") else 32
        self.scale_type, self.ids, self.vec = scale_type, ids, vec
        self.block = 0 if kind == "f8f6f4" else 16 if vec == "4X" else 32

    def text(self):
        vec = f".scale_vec::{self.vec}" if self.vec else ""
        scaled, scales = (f".block_scale{vec}", f".{self.scale_type}") if self.block else ("", "")
        types = f".{self.td}.{self.ta}.{self.tb}.{self.td}"
        return f"mma.sync.aligned.m16n8k{self.k}.row.col.kind::{self.kind}{scaled}{types}{scales}"

    def write(self, name):
        flavours = ("near_one", "finite", "any")
        products = [Product(self, f, hash_of(name) + 7 * i) for i, f in enumerate(flavours)]
        case = Case(name, self.text(), block=32, grid=len(products))
        case.version, case.target, case.exact = "8.8", "sm_120a", True
        fragments = [p.fragments() for p in products]
        buffers = {
            "a": (4, [w for f in fragments for w in flat(f[0])]),
            "b": (2, [w for f in fragments for w in flat(f[1])]),
            "c": (2 if self.td == "f16" else 4,
                  [w for p in products for w in flat(c_registers(p, p.c))]),
        }  # fmt: skip
        if self.block:
            buffers["s"] = (1, [w for p in products for w in p.scale_words(p.sfa, p.ids[0], 2)])
            buffers["t"] = (1, [w for p in products for w in p.scale_words(p.sfb, p.ids[1], 1)])
        for buffer, (_, words) in buffers.items():
            case.buffer("in", buffer, 4, words)
        case.buffer("out", "d", 4, [w for p in products for w in flat(c_registers(p, p.d()))])
        case.body = "\n".join(self.body(buffers)) + "\n    ret;\n"
        case.write()

    def body(self, buffers):
        c_regs = buffers["c"][0]
        text = ["    .reg .b32 %t, %lane, %cta;", "    .reg .b64 %p;"]
        text += [f"    .reg .b32 %{x}<{count}>;" for x, (count, _) in buffers.items()]
        text += [f"    .reg .b32 %d<{c_regs}>;"]
        text += ["    mov.u32 %lane, %tid.x;", "    mov.u32 %cta, %ctaid.x;"]
        for x, (count, _) in buffers.items():
            text.append(f"    mad.lo.u32 %t, %cta, {32 * count}, %lane;")
            text += load_registers(x, "%" + x, count, 4, 32)
        scales = ""
        if self.block:  # one selector by register, one as it is
            (byte, lanes), of_b = self.ids
            text += ["    .reg .b16 %byte;", f"    mov.u16 %byte, {byte};"]
            scales = f", %s0, {{%byte, {lanes}}}, %t0, {{{of_b[0]}, {of_b[1]}}}"
        text.append(
            f"    {self.text()} {vector('%d', c_regs)}, {vector('%a', 4)}, {vector('%b', 2)}, "
            f"{vector('%c', c_regs)}{scales};"
        )
        text.append(f"    mad.lo.u32 %t, %cta, {32 * c_regs}, %lane;")
        return text + store_registers("d", "%d", c_regs, 4, 32)


def hash_of(name):
    return sum(ord(c) * 31**i for i, c in enumerate(name)) % (1 << 31)


def generate():
    types = ("e4m3", "e5m2", "e2m3", "e3m2", "e2m1")
    for i, ta in enumerate(types):
        tb = types[(i + 3) % len(types)]
        Small("f8f6f4", ta, tb).write(f"mma_small_{ta}_{tb}")
        Small("f8f6f4", ta, tb, td="f16").write(f"mma_small_f16_{ta}_{tb}")
        ids = ((i % 4, i % 2), ((i + 1) % 4, (i + 2) % 4))
        Small("mxf8f6f4", tb, ta, vec="1X" if i % 2 else "", ids=ids).write(
            f"mma_small_mx_{tb}_{ta}"
        )
    Small("mxf4", "e2m1", "e2m1", vec="2X", ids=((2, 1), (0, 3))).write("mma_small_mxf4")
    Small("mxf4", "e2m1", "e2m1", ids=((0, 0), (2, 2))).write("mma_small_mxf4_plain")
    Small("mxf4nvf4", "e2m1", "e2m1", vec="2X", ids=((0, 1), (2, 1))).write("mma_small_nvf4_2x")
    Small("mxf4nvf4", "e2m1", "e2m1", vec="4X", scale_type="ue4m3", ids=((0, 1), (0, 2))).write(
        "mma_small_nvf4_4x"
    )
