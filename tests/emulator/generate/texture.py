"""Cases of textures and surfaces. Texels and coordinates are such that every weight of a filter is
a multiple of 1/4 and every sum exact, since neither the order nor the rounding of hardware's sums
is published."""

import random
import struct

from case import Case

FORMATS = {"u8": (1, 1), "u16": (2, 2), "u32": (3, 4), "s8": (8, 1), "s16": (9, 2), "s32": (10, 4),
           "f16": (16, 2), "f32": (32, 4)}
WRAP, CLAMP, MIRROR, BORDER = range(4)


def bits(x):
    return struct.unpack("<I", struct.pack("<f", x))[0]


def half(x):
    return struct.unpack("<H", struct.pack("<e", x))[0]


class Image:
    def __init__(self, name, format_, channels, extent, layers=0, cube=0,
            address=(CLAMP, CLAMP, CLAMP), linear=0, integers=0, normalized=0, border=(0, 0, 0, 0)):
        self.name, self.format, self.channels = name, format_, channels
        self.layers, self.cube = layers, cube
        self.extent = list(extent) + [1] * (3 - len(extent))
        self.dimensions = len(extent)
        self.address, self.linear, self.integers = address, linear, integers
        self.normalized, self.border = normalized, border
        self.code, self.size = FORMATS[format_]
        rng = random.Random(f"{name} {format_} {extent} {layers}")
        count = self.extent[0] * self.extent[1] * self.extent[2] * (layers or 1) * channels
        top = 1 << 8 * self.size
        if format_ == "f32":
            self.words = [bits(rng.randrange(-64, 64) / 4) for _ in range(count)]
        elif format_ == "f16":
            self.words = [half(rng.randrange(-64, 64) / 4) for _ in range(count)]
        else:
            self.words = [
                rng.choice((0, top - 1, top // 2, top // 2 - 1, rng.randrange(top)))
                for _ in range(count)
            ]

    def value(self, word):
        """A channel as tex gives it: a number."""
        if self.format == "f32":
            return struct.unpack("<f", struct.pack("<I", word))[0]
        if self.format == "f16":
            return struct.unpack("<e", struct.pack("<H", word))[0]
        signed = self.format[0] == "s"
        n = 8 * self.size
        x = word - (1 << n) if signed and word >> n - 1 else word
        if self.integers:
            return x
        most = (1 << n - 1) - 1 if signed else (1 << n) - 1
        return max(struct.unpack("<f", struct.pack("<f", x / most))[0], -1.0)

    def is_float(self):
        return not self.integers or self.format in ("f16", "f32")

    def fill(self, channels):
        return channels + [0] * (4 - len(channels))

    def mode(self, i):
        repeats = self.address[i] in (WRAP, MIRROR)
        return CLAMP if repeats and not self.normalized else self.address[i]

    def texel(self, index, layer=0):
        at = []
        for i, x in enumerate(index):
            n, mode = self.extent[i], self.mode(i)
            if not 0 <= x < n:
                if mode == BORDER:
                    return self.fill(
                        [float(b) if self.is_float() else b for b in self.border[: self.channels]]
                    )
                if mode == WRAP:
                    x %= n
                elif mode == MIRROR:
                    x %= 2 * n
                    x = x if x < n else 2 * n - 1 - x
                else:
                    x = min(max(x, 0), n - 1)
            at.append(x)
        at += [0] * (3 - len(at))
        layer = min(layer, max(self.layers - 1, 0))
        first = (
            ((layer * self.extent[2] + at[2]) * self.extent[1] + at[1]) * self.extent[0] + at[0]
        ) * self.channels
        return self.fill([self.value(w) for w in self.words[first : first + self.channels]])

    def scaled(self, coords):
        return [c * n if self.normalized else c for c, n in zip(coords, self.extent)]

    def sample(self, coords, layer=0, integers=False):
        import math

        if integers:
            return self.texel(coords, layer)
        x = self.scaled(coords)
        if not self.linear:
            return self.texel([math.floor(c) for c in x], layer)
        first = [math.floor(c - 0.5) for c in x]
        weight = [c - 0.5 - f for c, f in zip(x, first)]
        total = [0.0] * 4
        for corner in range(1 << len(x)):
            w, index = 1.0, []
            for i, f in enumerate(first):
                upper = corner >> i & 1
                index.append(f + upper)
                w *= weight[i] if upper else 1 - weight[i]
            if w:
                total = [t + w * v for t, v in zip(total, self.texel(index, layer))]
        return total

    def declare(self, case, kind="texture", handle="t"):
        text = lambda v: ",".join(map(str, v))
        case.lines.append(
            f"//: {kind} {handle} over=image format={self.code} channels={self.channels} extent={text(self.extent)} layers={self.layers} cube={self.cube} "
            f"address={text(self.address)} linear={self.linear} integers={self.integers} normalized={self.normalized} border={text(self.border)}"
        )
        case.params.append(f".param .u64 {handle}")


def word_of(value, kind):
    return bits(value) if kind == "f32" else value & 0xFFFFFFFF


COUNT = 64


def face(direction):
    """Layer and coordinates of the place on a cube's faces."""
    x, y, z = direction
    axis = max(range(3), key=lambda i: abs(direction[i]))
    major, negative = abs(direction[axis]), direction[axis] < 0
    s, t = ((z if negative else -z, -y), (x, -z if negative else z),
            (-x if negative else x, -y))[axis]
    return 2 * axis + negative, ((s / major + 1) / 2, (t / major + 1) / 2)


def tex_case(name, image, geometry, coords, kind="f32", integers=False, layers=None, mnemonic="tex",
             more=""):
    """coords: one tuple a thread; kind: of the result, f16x2 too; more: operands behind the
    place."""
    count = len(coords)
    case = Case(name, f"tex.{geometry}: {image.format} x {image.channels}", block=count)
    case.buffer("in", "image", image.size, image.words)
    image.declare(case)
    given = len(coords[0])
    flat = [c if integers else bits(c) for i in range(given) for c in (p[i] for p in coords)]
    case.buffer("in", "at", 4, flat)
    if layers:
        case.buffer("in", "layer", 4, layers)
    out = []
    for i, c in enumerate(coords):
        layer = layers[i] if layers else 0
        if image.cube:
            layer, c = face(c)
        values = image.sample(c, layer, integers)
        if kind == "f16x2":
            halves = [half(v) for v in values]
            out += [halves[0] | halves[1] << 16, halves[2] | halves[3] << 16, 0, 0]
        else:
            out += [word_of(v, kind) for v in values]
    case.buffer("out", "d", 4, out)
    body = ["    .reg .b32 %t, %n, %c<4>, %l, %r<4>;", "    .reg .b64 %h, %p;",
            "    mov.u32 %t, %tid.x;"]
    body += ["    ld.param.u64 %h, [t];", "    ld.param.u64 %p, [at];",
             "    mad.wide.u32 %p, %t, 4, %p;"]
    body += [f"    mov.b32 %c{i}, 0;" for i in range(4)]
    body += [f"    ld.global.b32 %c{i}, [%p + {4 * count * i}];" for i in range(given)]
    names = [f"%c{i}" for i in range(given)]
    if layers:
        body += ["    ld.param.u64 %p, [layer];", "    mad.wide.u32 %p, %t, 4, %p;",
                 "    ld.global.b32 %l, [%p];"]
        names = ["%l"] + names
    while len(names) == 3:
        names.append("%c3")
    coordinate = "s32" if integers else "f32"
    into = "v2.f16x2" if kind == "f16x2" else f"v4.{kind}"
    results = "%r0, %r1" if kind == "f16x2" else "%r0, %r1, %r2, %r3"
    body += [f"    mov.b32 %r{i}, 0;" for i in (2, 3)]
    body.append(f"    {mnemonic}.{geometry}.{into}.{coordinate} {{{results}}}, [%h, {{{', '.join(names)}}}]{more};")
    body += ["    ld.param.u64 %p, [d];", "    mad.wide.u32 %p, %t, 16, %p;",
             "    st.global.v4.b32 [%p], {%r0, %r1, %r2, %r3};"]
    case.body = "\n".join(body) + "\n    ret;\n"
    case.version = "8.4"
    case.write()


def points(rng, count, extent, step, low=-1.0, high=2.0):
    """Multiples of `step` over and beyond the image."""
    return [
        tuple(rng.randrange(int(low * n / step), int(high * n / step)) * step for n in extent)
        for _ in range(count)
    ]


def texture_cases():
    rng = random.Random("textures")
    for geometry, extent in (("1d", (16,)), ("2d", (16, 8)), ("3d", (8, 4, 4))):
        for address in (CLAMP, BORDER):
            image = Image(f"tex_{geometry}", "f32", 4, extent, address=(address,) * 3,
                          border=(1, 2, 3, 4))
            tex_case(f"tex_{geometry}_point_{'clamp' if address == CLAMP else 'border'}", image,
                     geometry, points(rng, COUNT, extent, 0.25))
        for name, address in (("wrap", WRAP), ("mirror", MIRROR), ("clamp", CLAMP)):
            image = Image(f"tex_{geometry}_n", "f32", 1, extent, address=(address,) * 3,
                          normalized=1, linear=1)
            coords = [
                tuple(c / n for c, n in zip(p, extent)) for p in points(rng, COUNT, extent, 0.25)
            ]
            tex_case(f"tex_{geometry}_linear_{name}", image, geometry, coords)
        image = Image(f"tex_{geometry}_i", "s16", 2, extent, integers=1)
        tex_case(f"tex_{geometry}_integers", image, geometry, points(rng, COUNT, extent, 0.5),
                 "s32")
        image = Image(f"tex_{geometry}_l", "f16", 2, extent, linear=1)
        tex_case(f"tex_{geometry}_linear_f16", image, geometry, points(rng, COUNT, extent, 0.25))
    for format_ in FORMATS:
        whole = format_ in ("u32", "s32")
        image = Image(f"tex_{format_}", format_, 4, (16, 8), integers=int(whole))
        tex_case(f"tex_format_{format_}", image, "2d", points(rng, COUNT, (16, 8), 0.5, 0, 1),
                 "u32" if whole else "f32")
    image = Image("tex_fetch", "f32", 2, (16, 8))
    tex_case("tex_fetch_2d", image, "2d",
             [(rng.randrange(16), rng.randrange(8)) for _ in range(COUNT)], integers=True)
    image = Image("tex_layers", "f32", 1, (16, 8), layers=3)
    tex_case("tex_a2d", image, "a2d", points(rng, COUNT, (16, 8), 0.5),
             layers=[rng.randrange(5) for _ in range(COUNT)])
    image = Image("tex_lines", "f32", 1, (16,), layers=3)
    tex_case("tex_a1d", image, "a1d", points(rng, COUNT, (16,), 0.5),
             layers=[rng.randrange(4) for _ in range(COUNT)])


def other_cases():
    rng = random.Random("other textures")
    image = Image("tex_level", "f32", 2, (16, 8))
    tex_case("tex_base_2d", image, "2d", points(rng, COUNT, (16, 8), 0.5), mnemonic="tex.base")
    tex_case("tex_level_2d", image, "2d", points(rng, COUNT, (16, 8), 0.5), mnemonic="tex.level",
             more=", 0f3F800000")
    tex_case("tex_grad_2d", image, "2d", points(rng, COUNT, (16, 8), 0.5), mnemonic="tex.grad",
             more=", {%c0, %c1}, {%c1, %c0}")
    image = Image("tex_halves", "f16", 4, (16, 8))
    tex_case("tex_f16x2", image, "2d", points(rng, COUNT, (16, 8), 0.5), "f16x2")
    image = Image("tex_cube", "f32", 1, (8, 8), layers=6, cube=1, normalized=1)
    directions = []
    for _ in range(COUNT):
        d = [rng.randrange(-7, 8) / 8 + 1 / 64 for _ in range(3)]
        d[rng.randrange(3)] = rng.choice((-1.0, 1.0))
        directions.append(tuple(d))
    tex_case("tex_cube", image, "cube", directions)


def surface_body(before, text, after):
    body = ["    .reg .b32 %t, %x, %y, %z, %n, %v<4>;", "    .reg .b64 %h, %p, %w<2>;",
            "    .reg .b16 %s;", "    mov.u32 %t, %tid.x;", "    ld.param.u64 %h, [t];"]
    return "\n".join(body + before + text + after) + "\n    ret;\n"


def stored(image, words):
    """The texel that sust.p makes of words: clamped integers, floats scaled and rounded to nearest
    even."""
    from fractions import Fraction

    out, n = [], 8 * image.size
    signed = image.format[0] == "s"
    for i in range(image.channels):
        word = words[i] if i < len(words) else 0
        most = (1 << n - 1) - 1 if signed else (1 << n) - 1
        least = -most - 1 if signed else 0
        if image.format == "f32":
            out.append(word)
        elif image.format == "f16":
            out.append(half(struct.unpack("<f", struct.pack("<I", word))[0]))
        elif image.integers or n == 32:
            x = word - (word >> 31 << 32) if signed else word
            out.append(min(max(x, least), most) & (1 << n) - 1)
        else:
            x = struct.unpack("<f", struct.pack("<I", word))[0]
            x = 0.0 if x != x else min(max(x, -1.0 if signed else 0.0), 1.0)
            out.append(round(Fraction(x) * most) & (1 << n) - 1)  # half to even
    return out


def formatted_cases(write_case, own):
    """sust.p and sured.p: texels, not bytes."""
    rng = random.Random("formatted surfaces")
    x = ["    and.b32 %x, %t, 7;", "    shr.u32 %y, %t, 3;", "    ld.param.u64 %p, [v];"]
    for format_, channels, integers, given in (
        ("u8", 4, 1, 4), ("s8", 4, 1, 4), ("u16", 2, 1, 2), ("s16", 1, 1, 1), ("u32", 2, 1,
            4), ("s32", 4, 1, 2),
        ("u8", 4, 0, 4), ("s16", 2, 0, 2), ("f16", 2, 0, 2), ("f32", 4, 0, 4), ("u8", 2, 0, 1),
    ):  # fmt: skip
        image = Image("formatted", format_, channels, (8, 8), integers=integers)
        floats = format_[0] == "f" or not integers
        odd = [0x7FC00000, bits(2.0), bits(-3.0), bits(-0.25), bits(0.5 / 255), bits(1.5 / 255),
               0x80000000, bits(1.0)]
        draw = (
            (lambda: rng.choice(odd + [bits(rng.randrange(-256, 512) / 256)] * 8))
            if floats
            else (
                lambda: rng.choice(
                    (
                        0,
                        127,
                        128,
                        255,
                        256,
                        0x7FFF,
                        0x8000,
                        0xFFFF,
                        0x7FFFFFFF,
                        0x80000000,
                        M32 := 0xFFFFFFFF,
                        rng.randrange(M32),
                    )
                )
            )
        )
        if format_ == "f16":
            draw = lambda: bits(rng.randrange(-64, 64) / 4)
        values = [[draw() for _ in range(given)] for _ in range(64)]
        after = [w for v in values for w in stored(image, v)]
        registers = [f"%v{i}" for i in range(given)]
        vector = f".v{given}" if given > 1 else ""
        value = "{" + ", ".join(registers) + "}" if given > 1 else "%v0"
        text = [f"    mad.wide.u32 %p, %t, {4 * given}, %p;",
            f"    ld.global{vector}.b32 {value}, [%p];",
            f"    sust.p.2d{vector}.b32.trap [%h, {{%x, %y}}], {value};"]
        name = (
            f"sust_p_{format_}_{channels}"
            + ("" if integers or format_[0] == "f" else "_normalized")
            + (f"_{given}" if given != channels else "")
        )
        write_case(name, f"sust.p.2d{vector} to {channels} x {format_}", x, text, after,
                   image=image, more=[("in", "v", 4, [w for v in values for w in v])],
                   # an array of integers is never normalized on a GPU
                   emulator_only=not integers and format_[0] != "f")
    for format_, op in (("u32", "add"), ("u32", "min"), ("s32", "min"), ("s32", "max"),
                        ("u32", "and"), ("u32", "or")):
        image = Image(f"reduced_{op}", format_, 1, (8, 8), integers=1)
        signed = lambda w: w - (w >> 31 << 32) if format_ == "s32" else w
        f = {"add": lambda a, b: a + b, "min": min, "max": max, "and": lambda a, b: a & b,
             "or": lambda a, b: a | b}[op]
        after = list(image.words)
        for t in range(64):
            after[t] = f(signed(after[t]),
                         signed(((t - 32) * 0x03000000) & 0xFFFFFFFF)) & 0xFFFFFFFF
        text = ["    sub.s32 %v0, %t, 32;", "    mul.lo.s32 %v0, %v0, 0x03000000;",
                f"    sured.p.{op}.2d.b32.trap [%h, {{%x, %y}}], %v0;"]
        write_case(f"sured_p_{op}_{format_}", f"sured.p.{op} of {format_}", x[:2], text, after,
                   image=image)


def surface_cases():
    rng = random.Random("surfaces")
    extent = (8, 8)  # u32: 64 texels, one a thread, in the order of a permutation
    order = list(range(64))
    rng.shuffle(order)
    place = ["    ld.param.u64 %p, [order];", "    mad.wide.u32 %p, %t, 4, %p;",
        "    ld.global.b32 %n, [%p];", "    and.b32 %x, %n, 7;", "    shl.b32 %x, %x, 2;",
        "    shr.u32 %y, %n, 3;"]
    image = Image("surface_2d", "u32", 1, extent, integers=1)
    case = Case("suld_2d", "suld.b.2d: a word a thread", block=64)
    case.buffer("in", "image", 4, image.words)
    image.declare(case, "surface")
    case.buffer("in", "order", 4, order)
    case.buffer("out", "d", 4, [image.words[i] for i in order])
    store = ["    ld.param.u64 %p, [d];", "    mad.wide.u32 %p, %t, 4, %p;",
             "    st.global.b32 [%p], %v0;"]
    case.body = surface_body(place, ["    suld.b.2d.b32.trap %v0, [%h, {%x, %y}];"], store)
    case.write()

    case = Case("suld_2d_outside", "suld.b.2d outside: .zero and .clamp", block=64)
    case.buffer("in", "image", 4, image.words)
    image.declare(case, "surface")
    coords = [(rng.randrange(-3, 12), rng.randrange(-3, 12)) for _ in range(64)]
    case.buffer("in", "x", 4, [4 * c[0] for c in coords])
    case.buffer("in", "y", 4, [c[1] for c in coords])
    zero = [image.words[y * 8 + x] if 0 <= x < 8 and 0 <= y < 8 else 0 for x, y in coords]
    clamp = [image.words[min(max(y, 0), 7) * 8 + min(max(x, 0), 7)] for x, y in coords]
    case.buffer("out", "d", 4, [w for pair in zip(zero, clamp) for w in pair])
    load = []
    for n in ("x", "y"):
        load += [f"    ld.param.u64 %p, [{n}];", "    mad.wide.u32 %p, %t, 4, %p;",
                 f"    ld.global.b32 %{n}, [%p];"]
    text = ["    suld.b.2d.b32.zero %v0, [%h, {%x, %y}];",
            "    suld.b.2d.b32.clamp %v1, [%h, {%x, %y}];"]
    case.body = surface_body(load, text,
        ["    ld.param.u64 %p, [d];", "    mad.wide.u32 %p, %t, 8, %p;",
         "    st.global.v2.b32 [%p], {%v0, %v1};"])
    case.write()

    def write_case(name, title, before, text, expect, image=image, block=64, more=(),
                   emulator_only=False):
        case = Case(name, title, block=block)
        case.emulator_only = emulator_only
        case.buffer("inout", "image", image.size, image.words, expect)
        image.declare(case, "surface")
        for buffer in more:
            case.buffer(*buffer)
        case.body = surface_body(before, text, [])
        case.write()

    after = list(image.words)
    for t, i in enumerate(order):
        after[i] = t * 0x01010101
    write_case("sust_2d", "sust.b.2d: a word a thread", place,
        ["    mul.lo.u32 %v0, %t, 0x01010101;",
         "    sust.b.2d.b32.trap [%h, {%x, %y}], %v0;"], after, more=[("in", "order", 4, order)])
    after = [(w + 3 * i) & 0xFFFFFFFF for i, w in enumerate(image.words)]
    own = ["    and.b32 %x, %t, 7;", "    shl.b32 %x, %x, 2;", "    shr.u32 %y, %t, 3;"]
    write_case("sured_add", "sured.b.add: every word once", own,
        ["    mul.lo.u32 %v0, %t, 3;", "    sured.b.add.2d.u32.trap [%h, {%x, %y}], %v0;"], after)
    for op, f in (("min", min), ("max", max)):
        signed = lambda w: w - (w >> 31 << 32)
        after = list(image.words)
        for t in range(64):
            v = (t - 32) * 0x03000000
            after[t % 8] = f(signed(after[t % 8]), v) & 0xFFFFFFFF
        text = ["    sub.s32 %v0, %t, 32;", "    mul.lo.s32 %v0, %v0, 0x03000000;",
                f"    sured.b.{op}.2d.s32.trap [%h, {{%x, 0}}], %v0;".replace(", 0}", ", %z}")]
        write_case(f"sured_{op}", f"sured.b.{op}: eight threads a word",
                   own + ["    mov.u32 %z, 0;"], text, after)
    wide = Image("surface_v4", "f32", 4, (16,))
    after = []
    for t in range(16):
        after += [t, t + 1, t + 2, t + 3]
    text = ["    add.u32 %v1, %t, 1;", "    add.u32 %v2, %t, 2;", "    add.u32 %v3, %t, 3;",
            "    sust.b.1d.v4.b32.trap [%h, {%x}], {%t, %v1, %v2, %v3};"]
    write_case("sust_1d_v4", "sust.b.1d.v4", ["    shl.b32 %x, %t, 4;"], text, after, image=wide,
               block=16)
    formatted_cases(write_case, own)
    layers = Image("surface_a2d", "u16", 1, (4, 4), layers=2, integers=1)
    after = [w ^ 0x5555 for w in layers.words]
    before = ["    and.b32 %x, %t, 3;", "    shl.b32 %x, %x, 1;", "    shr.u32 %y, %t, 2;",
              "    and.b32 %y, %y, 3;", "    shr.u32 %z, %t, 4;", "    mov.u32 %n, 0;"]
    text = ["    suld.b.a2d.b16.trap %s, [%h, {%z, %x, %y, %n}];", "    xor.b16 %s, %s, 0x5555;",
            "    sust.b.a2d.b16.trap [%h, {%z, %x, %y, %n}], %s;"]
    write_case("surface_a2d", "suld.b and sust.b of layers", before, text, after, image=layers,
               block=32)


def query_case():
    image = Image("txq", "f16", 2, (24, 10))
    case = Case("txq", "txq: width, height, order", block=1)
    case.emulator_only = True  # the driver of an H200 does not load txq and suq
    case.buffer("in", "image", 2, image.words)
    image.declare(case)
    case.buffer("out", "d", 4, [24, 10, 0x10B2, 10])
    text = [
        f"    txq.{q}.b32 %v{i}, [%h];" for i, q in enumerate(("width", "height", "channel_order"))
    ]
    text += ["    txq.level.height.b32 %v3, [%h], 0;"]
    case.body = surface_body([], text,
        ["    ld.param.u64 %p, [d];", "    st.global.v4.b32 [%p], {%v0, %v1, %v2, %v3};"])
    case.write()
    image = Image("suq", "s16", 4, (12, 6), integers=1)
    case = Case("suq", "suq: width, height, type, order", block=1)
    case.emulator_only = True
    case.buffer("in", "image", 2, image.words)
    image.declare(case, "surface")
    case.buffer("out", "d", 4, [12, 6, 0x10D8, 0x10B5])
    text = [
        f"    suq.{q}.b32 %v{i}, [%h];"
        for i, q in enumerate(("width", "height", "channel_data_type", "channel_order"))
    ]
    case.body = surface_body([], text,
        ["    ld.param.u64 %p, [d];", "    st.global.v4.b32 [%p], {%v0, %v1, %v2, %v3};"])
    case.write()


def gather_cases():
    import math

    rng = random.Random("gather")
    image = Image("gather", "f32", 4, (16, 8))
    for i, channel in enumerate("rgba"):
        coords = points(rng, 32, (16, 8), 0.25)
        case = Case(f"tld4_{channel}", f"tld4.{channel}: four texels", block=32)
        case.buffer("in", "image", 4, image.words)
        image.declare(case)
        case.buffer("in", "at", 4, [bits(c[k]) for k in range(2) for c in coords])
        out = []
        for c in coords:
            x, y = (math.floor(v - 0.5) for v in c)
            out += [
                bits(image.texel(p)[i]) for p in ((x, y + 1), (x + 1, y + 1), (x + 1, y), (x, y))
            ]
        case.buffer("out", "d", 4, out)
        before = ["    ld.param.u64 %p, [at];", "    mad.wide.u32 %p, %t, 4, %p;",
                  "    ld.global.b32 %x, [%p];", "    ld.global.b32 %y, [%p + 128];"]
        text = [f"    tld4.{channel}.2d.v4.f32.f32 {{%v0, %v1, %v2, %v3}}, [%h, {{%x, %y}}];"]
        case.body = surface_body(before, text,
            ["    ld.param.u64 %p, [d];", "    mad.wide.u32 %p, %t, 16, %p;",
             "    st.global.v4.b32 [%p], {%v0, %v1, %v2, %v3};"])
        case.write()


def generate():
    texture_cases()
    other_cases()
    surface_cases()
    query_case()
    gather_cases()
