"""From the arguments of a Triton launch to the bytes of a kernel's parameters, and the memory that
they name."""

import struct
import weakref

from .. import emulator

_FLOATS = {"fp16": "e", "fp32": "f", "f32": "f", "fp64": "d"}
# Triton's numbers of element types are the device's, which differ from the host's in three places.
_HOST_TYPE = {8: 10, 9: 8, 10: 9}
_TF32 = 11


class Memory:
    """What a launch may touch. `taken` outlives launches: storages whose address was handed out by
    data_ptr()."""

    taken = {}

    def __init__(self):
        self._ranges = []
        self.unknown = False  # an address whose extent nobody knows

    @classmethod
    def take(cls, tensor):
        """Remembers the storage of a tensor for as long as it lives."""
        storage = tensor.untyped_storage()
        if storage.device.type == "cpu" and storage.nbytes():
            cls.taken[storage.data_ptr()] = (storage.nbytes(), weakref.ref(tensor), _alive(storage))

    def add(self, value):
        """The address of a pointer argument."""
        if value is None:
            return 0
        if isinstance(value, int):
            self.unknown |= value != 0
            return value
        tensor = getattr(value, "base", None) if not hasattr(value, "untyped_storage") else value
        if tensor is None or not hasattr(tensor, "untyped_storage"):
            self.unknown = True
            return value.data_ptr()
        if tensor.device.type != "cpu":
            raise ValueError(f"a tensor on {tensor.device}: kernels run on the emulator here and need tensors on the CPU")
        storage = tensor.untyped_storage()
        if storage.nbytes():
            self._ranges.append((storage.data_ptr(), storage.nbytes()))
        return value.data_ptr()

    def buffers(self):
        """(address, bytes), sorted, joined where they overlap."""
        for address in [a for a, (_, _, alive) in self.taken.items() if not alive()]:
            del self.taken[address]
        ranges = sorted(self._ranges + [(a, n) for a, (n, _, _) in self.taken.items()])
        joined = []
        for address, size in ranges:
            if joined and address < joined[-1][0] + joined[-1][1]:
                last = joined[-1]
                joined[-1] = (last[0], max(last[1], address + size - last[0]))
            else:
                joined.append((address, size))
        return joined


def _alive(storage):
    from torch.multiprocessing.reductions import StorageWeakRef

    weak = StorageWeakRef(storage)
    return lambda: not weak.expired()


def flatten(signature, args, descriptors, memory):
    """[(type, value)] of what the kernel has as parameters: constants left out, tuples and
    descriptors taken apart.

    descriptors: an iterator over what the compiler says of each tensor descriptor; None: they are
    plain tensors."""
    flat = []
    for kind, value in zip(signature, args):
        if isinstance(kind, tuple):
            flat += flatten(kind, value, descriptors, memory)
        elif kind == "constexpr":
            continue
        elif kind.startswith("tensordesc"):
            flat += _descriptor(value, next(descriptors) if descriptors else None, memory)
        elif kind.startswith("*"):
            flat.append(("*", memory.add(value)))
        else:
            flat.append((kind, value))
    return flat


def _descriptor(d, meta, memory):
    shape, strides = list(d.shape), list(d.strides)
    extents = [("i32", n) for n in shape] + [("i64", n) for n in strides]
    address = memory.add(d.base)
    if meta is None:
        flags = [("i1", d.padding == "nan")]
        if hasattr(d, "round_f32_to_tf32"):
            flags.append(("i1", d.round_f32_to_tf32))
        return [("*", address)] + [("i64", n) for n in shape + strides] + flags + extents
    return [("map", _tensor_map(d, meta, address))] + extents


def _tensor_map(d, meta, address):
    kind, size = meta["elem_type"], meta["elem_size"]
    dims = list(d.shape)
    if meta["fp4_padded"]:
        dims[-1] *= 2
    options = {"swizzle": meta["swizzle"], "oob_fill": 1 if d.padding == "nan" else 0}
    box = list(meta["block_size"])
    if meta.get("is_im2col", False):
        steps = getattr(d, "element_strides", None) or [1] * len(dims)
        options.update(element_strides=steps[::-1], im2col_pixels=box[0],
                       lower=d.pixel_box_lower_corner[::-1],
                       upper=d.pixel_box_upper_corner[::-1])
        box = [box[1]] + [1] * (len(dims) - 1)
    else:
        box = box[::-1]
    kind = _TF32 if getattr(d, "round_f32_to_tf32", False) else _HOST_TYPE.get(kind, kind)
    strides = [n * size for n in d.strides[:-1]][::-1]
    return emulator.tensor_map(kind, address, dims[::-1], strides, box, **options)


def pack(kind, value, size):
    """The bytes of one parameter of `size` bytes."""
    if kind == "map":
        return value
    if kind in _FLOATS:
        return struct.pack(_FLOATS[kind], value)
    if kind == "bf16":
        return struct.pack("<f", value)[2:]
    return (int(value) & ((1 << 8 * size) - 1)).to_bytes(size, "little")
