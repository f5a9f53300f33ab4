"""Cases of tensor copies in im2col mode: a box is channels of pixels, which follow each other along
W, H, D within a pixel box that may reach over the tensor's edges, and then along N. Loads add
offsets to each pixel's place."""

from bulk import Tensor, load_case, store_case


class Im2col(Tensor):
    def __init__(self, type_, dims, channels, pixels, lower, upper, swizzle="none", **options):
        super().__init__(type_, dims, [channels] + [1] * (len(dims) - 1), swizzle, **options)
        self.pixels, self.lower, self.upper = pixels, lower, upper
        self.offsets = [0] * len(lower)

    def box_bytes(self):
        return self.box[0] * self.pixels * self.size

    def places(self, coords):
        """Of every pixel, without the channel."""
        at = list(coords[1:])
        for _ in range(self.pixels):
            yield [a + o for a, o in zip(at, self.offsets + [0])]
            for k, (low, up) in enumerate(zip(self.lower, self.upper)):
                at[k] += self.element_strides[k + 1]
                if at[k] < self.dims[k + 1] + up:
                    break
                at[k] = low
            else:
                at[-1] += self.element_strides[-1]

    def elements(self, coords):
        for i, place in enumerate(self.places(coords)):
            for channel in range(self.box[0]):
                whole = [coords[0] + channel] + place
                inside = all(0 <= p < d for p, d in zip(whole, self.dims))
                offset = whole[0] * self.size + sum(p * s for p, s in zip(whole[1:], self.strides))
                yield (i * self.box[0] + channel) * self.size, offset if inside else None

    def declare(self, case, over):
        super().declare(case, over)
        text = lambda values: ",".join(map(str, values))
        case.lines[-1] += f" pixels={self.pixels} lower={text(self.lower)} upper={text(self.upper)}"


class Wide(Im2col):
    """im2col::w and, with blocks of 32, im2col::w::128: along W, then along N; the halo goes on
    where a block ends."""

    def __init__(self, type_, dims, channels, pixels, lower, upper, swizzle, halo=0, mode=1,
                 **options):
        super().__init__(type_, dims, channels, pixels, [lower], [upper], swizzle, **options)
        self.halo, self.mode = halo, mode
        self.block = 32 if mode == 2 else pixels
        self.pixels = 128 if mode == 2 else pixels

    def count(self):
        return self.pixels + self.pixels // self.block * self.halo

    def box_bytes(self):
        return self.box[0] * self.count() * self.size

    def walk(self, coords):
        """Endless."""
        at = list(coords[1:])
        while True:
            yield [at[0] + self.offsets[1]] + at[1:]
            at[0] += self.element_strides[1]
            if at[0] >= self.dims[1] + self.upper[0]:
                at[0] = self.lower[0]
                at[-1] += 1

    def places(self, coords):
        walk = self.walk(coords)
        row = [next(walk) for _ in range(self.pixels + self.halo)]
        for first in range(0, self.pixels, self.block):
            yield from row[first : first + self.block + self.halo]

    def declare(self, case, over):
        super().declare(case, over)
        case.lines[-1] += f" wide={self.mode}"


def wide(name, tensor, coords, offset, mode=None, fails=None):
    tensor.offsets = [tensor.halo, offset]
    suffix = ".im2col::w::128" if (mode or tensor.mode) == 2 else ".im2col::w"
    load_case(name, tensor, coords, suffix, tensor.offsets, "sm_100a", fails)


def load(name, tensor, coords, offsets):
    tensor.offsets = list(offsets)
    load_case(name, tensor, coords, ".im2col", offsets)


def generate():
    # 3 taps, one pixel of padding; then wraps into the next image
    load("tensor_im2col_3d", Im2col("float32", [8, 6, 3], 8, 9, [-1], [-1]), [0, -1, 0], [0])
    load("tensor_im2col_3d_offset", Im2col("float32", [8, 6, 3], 8, 9, [-1], [-1]), [0, 2, 1], [2])
    load(
        "tensor_im2col_4d",
        Im2col("float16", [40, 5, 4, 2], 32, 24, [-1, -1], [-1, -1], "64B"),
        [8, 1, -1, 0],
        [2, 1],
    )
    load(
        "tensor_im2col_4d_strided",
        Im2col(
            "float16",
            [64, 9, 7, 2],
            64,
            13,
            [-1, 0],
            [-2, -3],
            "128B",
            element_strides=[1, 2, 3, 1],
        ),
        [0, -1, 0, 0],
        [1, 2],
    )
    load(
        "tensor_im2col_4d_nan",
        Im2col("bfloat16", [24, 4, 3, 2], 16, 20, [-2, -1], [1, 1], fill="nan"),
        [16, 3, 3, 1],
        [1, 0],
    )
    load(
        "tensor_im2col_5d",
        Im2col("uint8", [32, 3, 3, 3, 2], 32, 33, [-1, -1, -1], [-1, -1, 0], "32B"),
        [0, -1, 0, 1, 0],
        [2, 0, 1],
    )
    load(
        "tensor_im2col_4d_every_second_image",
        Im2col("float32", [8, 4, 3, 6], 8, 30, [0, 0], [0, 0], element_strides=[1, 2, 1, 2]),
        [0, 0, 0, 0],
        [0, 0],
    )
    load(
        "tensor_im2col_4d_narrow",
        Im2col("float16", [40, 5, 4, 2], 16, 8, [-1, -1], [-1, -1], "64B"),
        [8, 1, -1, 0],
        [2, 1],
    )
    store_case(
        "tensor_im2col_store_over_the_edge",
        Im2col("float16", [32, 5, 4, 2], 32, 3, [-1, -1], [0, 0], "64B"),
        [0, 1, 1, 0],
        suffix=".im2col_no_offs",
        fails="pixel box reaches over",
    )
    store_case(
        "tensor_im2col_store_3d",
        Im2col("float32", [12, 6, 3], 8, 9, [0], [0]),
        [4, 3, 1],
        suffix=".im2col_no_offs",
    )
    store_case(
        "tensor_im2col_store_4d",
        Im2col("float16", [32, 5, 4, 2], 32, 24, [0, 0], [-1, -1], "64B"),
        [0, 1, 0, 0],
        suffix=".im2col_no_offs",
    )
    store_case(
        "tensor_im2col_reduce_4d",
        Im2col("uint32", [8, 5, 4, 2], 8, 17, [0, 0], [-1, 0]),
        [0, 2, 1, 0],
        "add",
        suffix=".im2col_no_offs",
    )
    wide("tensor_im2col_w_3d", Wide("float16", [64, 9, 4], 32, 20, -1, 0, "64B"), [0, -1, 1], 0)
    wide("tensor_im2col_w_4d", Wide("float16", [64, 7, 3, 5], 64, 24, -1, -1, "128B"), [0, 2, 1, 1],
         2)
    wide("tensor_im2col_w_5d", Wide("float32", [16, 5, 2, 3, 4], 8, 12, 0, 0, "32B", fill="nan"),
         [8, 3, 1, 2, 1], 1)
    strided = Wide("float16", [16, 9, 3, 6], 16, 24, -1, 0, "32B", halo=1,
                   element_strides=[1, 2, 1, 1])
    wide("tensor_im2col_w_halo_strided", strided, [0, -1, 2, 0], 0)
    wide("tensor_im2col_w_halo", Wide("bfloat16", [32, 6, 2, 5], 32, 17, 0, 0, "64B", halo=2),
         [0, 3, 1, 1], 0)
    wide("tensor_im2col_w128_3d", Wide("float16", [16, 50, 4], 16, 9, -1, 1, "32B", mode=2),
         [0, 30, 0], 1)
    wide("tensor_im2col_w128_halo",
         Wide("float16", [16, 50, 2, 4], 16, 9, -1, 0, "32B", halo=2, mode=2), [0, 4, 1, 0], 0)
    other = Wide("float16", [16, 50, 2, 4], 16, 128, -1, 0, "32B")
    text = "the tensor map was encoded for im2col::w, the instruction is im2col::w::128"
    wide("tensor_im2col_w_other_mode", other, [0, 4, 1, 0], 0, mode=2, fails=text)
