"""Cases of tensor copies in im2col mode: a box is channels of pixels, which follow each other along W, H, D within a
pixel box that may reach over the tensor's edges, and then along N. Loads add offsets to each pixel's place."""

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
        Im2col("float16", [64, 9, 7, 2], 64, 13, [-1, 0], [-2, -3], "128B", element_strides=[1, 2, 3, 1]),
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
