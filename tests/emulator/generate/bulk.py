"""Cases of bulk copies, bulk reductions and tensor copies."""

import random

import convert
import memory
import number as n
from case import Case

BARRIER = [
    "    .shared .align 8 .b8 barrier[8];",
    "    .reg .b32 %m;",
    "    mov.u32 %m, barrier;",
    "    setp.eq.u32 %q, %t, 0;",
    "    @%q mbarrier.init.shared::cta.b64 [%m], 1;",
    "    fence.mbarrier_init.release.cluster;",
    "    fence.proxy.async;",
    "    bar.sync 0;",
]
WAIT = ["wait:", "    mbarrier.try_wait.parity.shared::cta.b64 %q, [%m], 0;", "    @!%q bra wait;"]


def copy_out(bytes_, threads=32):
    """Shared buffer at %s to the output `out0`, 4 bytes a thread at a time."""
    body = memory.pointer("out0", 4, register="%g") + ["    mad.lo.u32 %a, %t, 4, %s;"]
    for at in range(0, bytes_, 4 * threads):
        body += [f"    ld.shared.b32 %b, [%a + {at}];", f"    st.global.b32 [%g + {at}], %b;"]
    return body


def copy_in(bytes_, threads=32, param="in0"):
    body = memory.pointer(param, 4, register="%g") + ["    mad.lo.u32 %a, %t, 4, %s;"]
    for at in range(0, bytes_, 4 * threads):
        body += [f"    ld.global.b32 %b, [%g + {at}];", f"    st.shared.b32 [%a + {at}], %b;"]
    return body + ["    fence.proxy.async.shared::cta;", "    bar.sync 0;"]


def words(count, seed):
    rng = random.Random(f"bulk {seed}")
    return [rng.randrange(1 << 32) for _ in range(count)]


def shared(bytes_, align=128):
    return [f"    .shared .align {align} .b8 buffer[{bytes_}];", "    mov.u32 %s, buffer;"]


def bulk_cases():
    data = words(256, 0)
    for space in ("shared::cluster", "shared::cta"):
        case = Case(
            f"bulk_load_{space.replace('::', '_')}", f"cp.async.bulk global to {space}", block=32
        )
        if space == "shared::cta":
            case.version = "8.6"
        case.buffer("in", "in0", 4, data)
        case.buffer("out", "out0", 4, data[:64] + data[128:192])
        body = (
            shared(512)
            + BARRIER
            + [
                "    ld.param.u64 %p, [in0];",
                "    @!%q bra issued;",
                "    mbarrier.arrive.expect_tx.shared::cta.b64 _, [%m], 512;",
                f"    cp.async.bulk.{space}.global.mbarrier::complete_tx::bytes [%s], [%p], 256, [%m];",
                "    mov.u32 %c, 256;",
                f"    cp.async.bulk.{space}.global.mbarrier::complete_tx::bytes [%s + 256], [%p + 512], %c, [%m];",
                "issued:",
            ]
        )
        memory.finish(case, body + WAIT + copy_out(512))
    case = Case("bulk_store", "cp.async.bulk shared to global, groups", block=32)
    case.buffer("in", "in0", 4, data[:128])
    case.buffer("out", "out0", 4, data[:128])
    body = (
        shared(512)
        + ["    setp.eq.u32 %q, %t, 0;"]
        + copy_in(512)
        + ["    ld.param.u64 %p, [out0];", "    @!%q bra done;"]
    )
    for i in range(4):
        body += [
            f"    cp.async.bulk.global.shared::cta.bulk_group [%p + {128 * i}], [%s + {128 * i}], 128;",
            "    cp.async.bulk.commit_group;",
        ]
    body += [
        "    cp.async.bulk.wait_group.read 2;",
        "    cp.async.bulk.wait_group 1;",
        "    cp.async.bulk.wait_group.read 0;",
        "    cp.async.bulk.wait_group 0;",
        "    cp.async.bulk.prefetch.L2.global [%p], 256;",
        "done:",
    ]
    memory.finish(case, body)


REDUCTIONS = [
    ("and", "b32"),
    ("or", "b32"),
    ("xor", "b32"),
    ("and", "b64"),
    ("or", "b64"),
    ("xor", "b64"),
    ("add", "u32"),
    ("add", "s32"),
    ("add", "u64"),
    ("add", "f32"),
    ("add", "f64"),
    ("add", "f16"),
    ("add", "bf16"),
    ("inc", "u32"),
    ("dec", "u32"),
    ("min", "u32"),
    ("max", "u32"),
    ("min", "s32"),
    ("max", "s32"),
    ("min", "u64"),
    ("max", "u64"),
    ("min", "s64"),
    ("max", "s64"),
    ("min", "f16"),
    ("max", "f16"),
    ("min", "bf16"),
    ("max", "bf16"),
]


def packed(values, size):
    """Values of `size` bytes as 4-byte words."""
    raw = b"".join(v.to_bytes(size, "little") for v in values)
    return [int.from_bytes(raw[i : i + 4], "little") for i in range(0, len(raw), 4)]


def reduction(op, t, old, x):
    """As an atomic, but f32 keeps subnormals: the ISA says they are flushed, the H200 does not."""
    return n.add(n.F32, old, x) if t == "f32" else memory.atomic(op, t, old, x)


def reduction_operands(op, t, count):
    old, x = memory.values(t, count, "bulk"), memory.values(t, count, "bulk x")
    return old, x, [reduction(op, t, a, b) for a, b in zip(old, x)]


def reduce_cases():
    for op, t in REDUCTIONS:
        size = memory.size_of(t)
        old, x, after = reduction_operands(op, t, 512 // size)
        case = Case(f"bulk_reduce_{op}_{t}", f"cp.reduce.async.bulk to global, {op}.{t}", block=32)
        case.buffer("in", "in0", 4, packed(x, size))
        case.buffer("inout", "memory", 4, packed(old, size), packed(after, size))
        noftz = ".noftz" if op == "add" and t in ("f16", "bf16") else ""
        body = (
            shared(512)
            + ["    setp.eq.u32 %q, %t, 0;"]
            + copy_in(512)
            + ["    ld.param.u64 %p, [memory];", "    @!%q bra done;"]
        )
        body += [
            f"    cp.reduce.async.bulk.global.shared::cta.bulk_group.{op}{noftz}.{t} [%p], [%s], 512;",
            "    cp.async.bulk.commit_group;",
            "    cp.async.bulk.wait_group 0;",
            "done:",
        ]
        memory.finish(case, body)


CLUSTER = [
    "    barrier.cluster.arrive.release.aligned;",
    "    barrier.cluster.wait.acquire.aligned;",
]


def cluster_cases():
    """CTA 0 sends its buffer to CTA 1 (and adds to it there)."""
    data = words(64, "cluster")
    case = Case(
        "bulk_cluster_copy",
        "cp.async.bulk from one CTA's shared memory to the other's",
        block=32,
        grid=2,
        cluster=2,
    )
    case.buffer("in", "in0", 4, data)
    case.buffer("out", "out0", 4, data)
    peer = ["    mapa.shared::cluster.u32 %c, %s, 1;", "    mapa.shared::cluster.u32 %e, %m, 1;"]
    rank = [
        "    .reg .b32 %rank;",
        "    .reg .pred %first, %send, %receive;",
        "    mov.u32 %rank, %cluster_ctarank;",
        "    setp.eq.u32 %first, %rank, 0;",
        "    setp.eq.and.u32 %receive, %t, 0, !%first;",
    ]
    body = shared(256) + BARRIER + rank + copy_in(256) + peer
    body += ["    @%receive mbarrier.arrive.expect_tx.shared::cta.b64 _, [%m], 256;"] + CLUSTER
    body += (
        [
            "    and.pred %send, %q, %first;",
            "    @!%send bra sent;",
            "    cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%c], [%s], 256, [%e];",
            "sent:",
            "    @%first bra end;",
        ]
        + WAIT
        + copy_out(256)
        + ["end:"]
        + CLUSTER
    )
    memory.finish(case, body)
    for op, t in [
        r
        for r in REDUCTIONS
        if r[1] in ("u32", "s32", "b32", "u64") and (r[1] != "u64" or r[0] == "add")
    ]:
        size = memory.size_of(t)
        old, x, after = reduction_operands(op, t, 256 // size)
        case = Case(
            f"bulk_reduce_cluster_{op}_{t}",
            f"cp.reduce.async.bulk to another CTA, {op}.{t}",
            block=32,
            grid=2,
            cluster=2,
        )
        case.buffer(
            "in", "in0", 4, packed(x, size) + packed(old, size)
        )  # CTA 0 sends x, CTA 1 holds old
        case.buffer("out", "out0", 4, packed(after, size))
        body = shared(256) + BARRIER + rank
        body += [
            "    ld.param.u64 %g, [in0];",
            "    mad.wide.u32 %g, %rank, 256, %g;",
            "    mad.wide.u32 %g, %t, 4, %g;",
            "    mad.lo.u32 %a, %t, 4, %s;",
        ]
        for at in (0, 128):
            body += [f"    ld.global.b32 %b, [%g + {at}];", f"    st.shared.b32 [%a + {at}], %b;"]
        body += ["    fence.proxy.async.shared::cta;", "    bar.sync 0;"] + peer
        body += ["    @%receive mbarrier.arrive.expect_tx.shared::cta.b64 _, [%m], 256;"] + CLUSTER
        body += (
            [
                "    and.pred %send, %q, %first;",
                "    @!%send bra sent;",
                f"    cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.{op}.{t} [%c], [%s], 256, [%e];",
                "sent:",
                "    @%first bra end;",
            ]
            + WAIT
            + copy_out(256)
            + ["end:"]
            + CLUSTER
        )
        memory.finish(case, body)
    multicast_case()


def multicast_case():
    data = words(64, "multicast")
    case = Case(
        "bulk_multicast",
        "cp.async.bulk with .multicast::cluster to both CTAs",
        block=32,
        grid=2,
        cluster=2,
    )
    case.buffer("in", "in0", 4, data)
    case.buffer("out", "out0", 4, data + data)
    body = shared(256) + BARRIER
    body += [
        "    .reg .b32 %rank;",
        "    .reg .b16 %mask;",
        "    .reg .pred %first, %send;",
        "    mov.u32 %rank, %cluster_ctarank;",
        "    setp.eq.u32 %first, %rank, 0;",
        "    mov.u16 %mask, 3;",
        "    @%q mbarrier.arrive.expect_tx.shared::cta.b64 _, [%m], 256;",
    ]
    body += (
        CLUSTER
        + [
            "    ld.param.u64 %p, [in0];",
            "    and.pred %send, %q, %first;",
            "    @!%send bra sent;",
            "    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%s], [%p], 256, [%m], %mask;",
            "sent:",
        ]
        + WAIT
    )
    body += [
        "    ld.param.u64 %g, [out0];",
        "    mad.wide.u32 %g, %rank, 256, %g;",
        "    mad.wide.u32 %g, %t, 4, %g;",
        "    mad.lo.u32 %a, %t, 4, %s;",
    ]
    for at in (0, 128):
        body += [f"    ld.shared.b32 %b, [%a + {at}];", f"    st.global.b32 [%g + {at}], %b;"]
    memory.finish(case, body + CLUSTER)


# ---- tensors
# ----------------------------------------------------------------------------------------------

SIZES = {
    "uint8": 1,
    "uint16": 2,
    "uint32": 4,
    "int32": 4,
    "uint64": 8,
    "int64": 8,
    "float16": 2,
    "float32": 4,
    "float32_ftz": 4,
    "tfloat32": 4,
    "tfloat32_ftz": 4,
    "float64": 8,
    "bfloat16": 2,
}


def chunk_swizzle(address, mode):
    if mode == "none":
        return address
    span = int(mode.removesuffix("B"))
    return address ^ address // 128 % (span // 16) * 16


class Tensor:
    def __init__(
        self, type_, dims, box, swizzle="none", fill="zero", element_strides=None, pad=0, seed=0
    ):
        self.type, self.dims, self.box, self.swizzle, self.fill = type_, dims, box, swizzle, fill
        self.element_strides = element_strides or [1] * len(dims)
        self.size = SIZES[type_]
        strides, row = [], (dims[0] * self.size + 15) // 16 * 16 + pad
        for d in dims[1:]:
            strides.append(row)
            row *= d
        self.strides, self.total = strides, (row + 127) // 128 * 128
        rng = random.Random(f"{type_} {dims} {box} {swizzle} {seed}")
        self.data = bytearray(rng.randrange(256) for _ in range(self.total))

    def counts(self):
        return [self.box[0]] + [
            (b + s - 1) // s for b, s in zip(self.box[1:], self.element_strides[1:])
        ]

    def box_bytes(self):
        r = self.size
        for c in self.counts():
            r *= c
        return r

    def pitch(self):
        """From row to row of the box: the whole span of the swizzle, however narrow the box."""
        span = 0 if self.swizzle == "none" else int(self.swizzle.removesuffix("B"))
        return max(self.box[0] * self.size, span)

    def in_box(self, at):
        """Where a byte of the box without gaps lies in shared memory."""
        row, x = divmod(at, self.box[0] * self.size)
        return chunk_swizzle(row * self.pitch() + x, self.swizzle)

    def shared_bytes(self):
        return self.box_bytes() // (self.box[0] * self.size) * self.pitch()

    def elements(self, coords):
        """(offset in the box, offset in the tensor or None), in order."""
        counts, at = self.counts(), [0] * len(self.dims)
        for i in range(self.box_bytes() // self.size):
            place = [
                c + a * (s if k else 1)
                for k, (c, a, s) in enumerate(zip(coords, at, self.element_strides))
            ]
            inside = all(0 <= p < d for p, d in zip(place, self.dims))
            offset = place[0] * self.size + sum(p * s for p, s in zip(place[1:], self.strides))
            yield i * self.size, offset if inside else None
            for k in range(len(at)):
                at[k] += 1
                if at[k] < counts[k]:
                    break
                at[k] = 0

    def declare(self, case, over):
        fields = {
            "over": over,
            "type": self.type,
            "dims": ",".join(map(str, self.dims)),
            "box": ",".join(map(str, self.box)),
            "element_strides": ",".join(map(str, self.element_strides)),
            "swizzle": self.swizzle,
            "fill": self.fill,
        }
        if self.strides:
            fields["strides"] = ",".join(map(str, self.strides))
        case.tensor_map("map", **fields)


def as_words(raw):
    return [int.from_bytes(raw[i : i + 4], "little") for i in range(0, len(raw), 4)]


def round_up(x, unit):
    return (x + unit - 1) // unit * unit


def coordinate_registers(coords):
    text = [f"    .reg .b32 %x<{len(coords)}>;"]
    text += [f"    mov.s32 %x{i}, {c};" for i, c in enumerate(coords)]
    return text, "{" + ", ".join(f"%x{i}" for i in range(len(coords))) + "}"


def delivered(tensor, offset):
    """An element as a load puts it into shared memory: tf32 is rounded, the H200 flushes none."""
    raw = tensor.data[offset : offset + tensor.size]
    word = int.from_bytes(raw, "little")
    if tensor.type.startswith("tfloat32"):
        word = convert.tf32(word, "rn")
    return word.to_bytes(tensor.size, "little")


def load_case(name, tensor, coords, suffix="", offsets=None, target="sm_90a", fails=None):
    size = round_up(tensor.shared_bytes(), 128)
    case = Case(
        name,
        f"cp.async.bulk.tensor load: {tensor.type} {tensor.dims}, box {tensor.box} at {coords}",
        block=32,
    )
    case.target, case.version = target, "8.4" if target == "sm_90a" else "8.6"
    case.buffer("in", "tensor", 4, as_words(bytes(tensor.data)))
    tensor.declare(case, "tensor")
    if fails:
        case.lines.append(f"//: fails {fails}")
    out = bytearray(b"\xee" * size)
    fill = (b"\xf7\x7f" * (tensor.size // 2)) if tensor.fill == "nan" else bytes(tensor.size)
    for at, offset in tensor.elements(coords):
        value = fill if offset is None else delivered(tensor, offset)
        for k, byte in enumerate(value):
            out[tensor.in_box(at + k)] = byte
    case.buffer("out", "out0", 4, as_words(bytes(out)))
    dims = len(coords)
    registers, vector = coordinate_registers(coords)
    more = ""
    if offsets is not None:  # of im2col
        more = ", {" + ", ".join(f"%o{i}" for i in range(len(offsets))) + "}"
        registers += [f"    .reg .b16 %o<{len(offsets)}>;"]
        registers += [f"    mov.b16 %o{i}, {o};" for i, o in enumerate(offsets)]
    body = (
        shared(size, 1024)
        + ["    mad.lo.u32 %a, %t, 4, %s;"]
        + [f"    st.shared.b32 [%a + {at}], 0xeeeeeeee;" for at in range(0, size, 128)]
    )
    body += (
        BARRIER
        + registers
        + [
            "    mov.b64 %p, map;",
            "    cvta.param.u64 %p, %p;",
            "    @!%q bra issued;",
            "    prefetch.tensormap [%p];",
            f"    mbarrier.arrive.expect_tx.shared::cta.b64 _, [%m], {tensor.box_bytes()};",
            f"    cp.async.bulk.prefetch.tensor.{dims}d.L2.global{suffix} [%p, {vector}]{more};",
            f"    cp.async.bulk.tensor.{dims}d.shared::cluster.global{suffix}.mbarrier::complete_tx::bytes [%s], [%p, {vector}], [%m]{more};",
            "issued:",
        ]
    )
    memory.finish(case, body + WAIT + copy_out(size))


def store_case(name, tensor, coords, op=None, suffix="", fails=None):
    size = round_up(tensor.shared_bytes(), 128)
    kind = "store" if op is None else "reduction, " + op
    case = Case(
        name,
        f"cp.async.bulk.tensor {kind}: {tensor.type} {tensor.dims}, box {tensor.box} at {coords}",
        block=32,
    )
    t = {
        "uint32": "u32",
        "int32": "s32",
        "uint64": "u64",
        "int64": "s64",
        "float16": "f16",
        "bfloat16": "bf16",
        "float32": "f32",
        "float64": "f64",
    }.get(tensor.type, "b8")
    box = bytearray(size)
    if op in ("and", "or", "xor"):
        t = "b" + t[1:]
    sources = memory.values(t, tensor.box_bytes() // tensor.size, name) if op else None
    if op:
        old = memory.values(t, tensor.total // tensor.size, name + "old")
        tensor.data = bytearray(b"".join(v.to_bytes(tensor.size, "little") for v in old))
    after = bytearray(tensor.data)
    rng = random.Random(name)
    for i, (at, offset) in enumerate(tensor.elements(coords)):
        value = sources[i] if op else rng.randrange(1 << 8 * tensor.size)
        for k, byte in enumerate(value.to_bytes(tensor.size, "little")):
            box[tensor.in_box(at + k)] = byte
        if offset is not None:
            before = int.from_bytes(tensor.data[offset : offset + tensor.size], "little")
            result = reduction(op, t, before, value) if op else value
            after[offset : offset + tensor.size] = result.to_bytes(tensor.size, "little")
    if fails:
        case.lines.append(f"//: fails {fails}")
    case.buffer("in", "in0", 4, as_words(bytes(box)))
    case.buffer("inout", "tensor", 4, as_words(bytes(tensor.data)), as_words(bytes(after)))
    tensor.declare(case, "tensor")
    registers, vector = coordinate_registers(coords)
    instruction = (
        f"cp.async.bulk.tensor.{len(coords)}d.global.shared::cta"
        if op is None
        else f"cp.reduce.async.bulk.tensor.{len(coords)}d.global.shared::cta.{op}"
    )
    body = shared(size, 1024) + ["    setp.eq.u32 %q, %t, 0;"] + copy_in(size) + registers
    body += [
        "    mov.b64 %p, map;",
        "    cvta.param.u64 %p, %p;",
        "    @!%q bra done;",
        f"    {instruction}{suffix}.bulk_group [%p, {vector}], [%s];",
        "    cp.async.bulk.commit_group;",
        "    cp.async.bulk.wait_group 0;",
        "done:",
    ]
    memory.finish(case, body)


def tensor_cases():
    load_case("tensor_load_1d", Tensor("float32", [40], [32]), [16])
    load_case("tensor_load_narrow", Tensor("float16", [72, 9], [16, 8], "64B"), [0, 1])
    load_case("tensor_load_narrow_128B", Tensor("float32", [72, 9], [4, 8], "128B"), [0, 1])
    store_case("tensor_store_narrow", Tensor("float32", [72, 9], [8, 8], "64B"), [4, 1])
    load_case("tensor_load_2d", Tensor("float16", [72, 9], [64, 8], "128B"), [0, 1])
    load_case("tensor_load_2d_clipped", Tensor("float16", [72, 9], [32, 8], "64B"), [48, -3])
    load_case("tensor_load_2d_negative", Tensor("uint8", [48, 6], [32, 4], "32B"), [-16, 3])
    load_case("tensor_load_2d_outside", Tensor("int32", [8, 8], [8, 4]), [8, 0])
    load_case("tensor_load_2d_far", Tensor("int32", [8, 8], [8, 4]), [-2147483648, 2147483647])
    load_case("tensor_load_2d_nan", Tensor("float32", [12, 5], [16, 4], fill="nan"), [4, 3])
    load_case("tensor_load_2d_nan_bf16", Tensor("bfloat16", [12, 5], [16, 4], fill="nan"), [8, 3])
    load_case("tensor_load_3d", Tensor("float32", [20, 5, 4], [16, 4, 2], "64B", pad=16), [8, 2, 1])
    load_case("tensor_load_4d", Tensor("uint16", [16, 3, 3, 3], [16, 2, 2, 2], "32B"), [0, 2, 1, 2])
    load_case(
        "tensor_load_5d",
        Tensor("float64", [4, 3, 2, 3, 2], [4, 2, 2, 2, 2], "32B"),
        [2, 1, 0, 2, 0],
    )
    for t in ("float32_ftz", "tfloat32", "tfloat32_ftz"):
        tensor = Tensor(t, [64, 2], [32, 2])
        special = [row[0] for row in n.float_inputs(n.F32, 1, 124, t)]
        tensor.data = bytearray(b"".join(w.to_bytes(4, "little") for w in special))
        load_case(f"tensor_load_{t}", tensor, [0, 0])
    load_case(
        "tensor_load_strided",
        Tensor("float32", [16, 12, 6], [16, 8, 4], "64B", element_strides=[1, 2, 3]),
        [0, 1, 2],
    )
    store_case("tensor_store_1d", Tensor("float32", [40], [32]), [16])
    store_case("tensor_store_2d", Tensor("float16", [72, 9], [64, 8], "128B"), [0, 1])
    store_case("tensor_store_2d_clipped", Tensor("float16", [72, 9], [32, 8], "64B"), [48, 5])
    store_case(
        "tensor_store_3d", Tensor("float32", [20, 5, 4], [16, 4, 2], "64B", pad=16), [8, 2, 3]
    )
    store_case(
        "tensor_store_4d", Tensor("uint16", [16, 3, 3, 3], [16, 2, 2, 2], "32B"), [0, 2, 1, 2]
    )
    store_case(
        "tensor_store_5d",
        Tensor("float64", [4, 3, 2, 3, 2], [4, 2, 2, 2, 2], "32B"),
        [2, 1, 0, 2, 0],
    )
    ops = [
        ("add", t)
        for t in ("uint32", "int32", "uint64", "float32", "float16", "bfloat16", "float64")
    ]
    ops += [
        (o, t)
        for o in ("min", "max")
        for t in ("uint32", "int32", "uint64", "int64", "float16", "bfloat16")
    ]
    ops += [(o, t) for o in ("and", "or", "xor") for t in ("uint32", "uint64")] + [
        ("inc", "uint32"),
        ("dec", "uint32"),
    ]
    for op, t in ops:
        size = SIZES[t]
        store_case(
            f"tensor_reduce_{op}_{t}",
            Tensor(t, [80 // size, 5], [64 // size, 4], "64B"),
            [32 // size, 2],
            op,
        )


def made_map_case():
    """A tensor map is changed in shared memory, field by field, published, and used."""
    rows, columns, box, at = 10, 12, (8, 4), (8, 8)
    words = [1000 * r + c for r in range(rows) for c in range(columns)]
    case = Case(
        "tensormap_replace", "tensormap.replace of every field, tensormap.cp_fenceproxy", block=32
    )
    case.version, case.preamble = "8.4", ".global .align 128 .b8 published[128];\n\n"
    case.buffer("in", "a", 4, list(range(256)))
    case.buffer("in", "b", 4, words)
    case.tensor_map(
        "m",
        over="a",
        type="float32",
        dims="16,16",
        strides="64",
        box="16,8",
        element_strides="1,1",
        swizzle="none",
        fill="zero",
    )
    expect = []
    for r in range(at[1], at[1] + box[1]):
        expect += [
            words[r * columns + c] if r < rows and c < columns else 0
            for c in range(at[0], at[0] + box[0])
        ]
    case.buffer("out", "d", 4, expect)
    body = [
        "    .shared .align 128 .b8 map[128];\n    .shared .align 128 .b8 tile[128];",
        "    .shared .align 8 .b8 bar[8];",
        "    .reg .b32 %t, %map, %tile, %bar, %v;\n    .reg .b64 %x, %p, %b, %global;\n    .reg .pred %first, %q;",
        "    mov.u32 %t, %tid.x;\n    mov.u32 %map, map;\n    mov.u32 %tile, tile;\n    mov.u32 %bar, bar;",
        "    setp.eq.u32 %first, %t, 0;\n    mov.u64 %global, published;\n    ld.param.u64 %b, [b];",
        "    @!%first bra changed;",
        "    mbarrier.init.shared::cta.b64 [%bar], 1;",
    ]
    for i in range(0, 128, 8):
        body.append(f"    ld.param.b64 %x, [m + {i}];\n    st.shared.b64 [%map + {i}], %x;")
    for field, operands in (
        ("global_address", "%b"),
        ("rank", "1"),
        ("box_dim", f"0, {box[0]}"),
        ("box_dim", f"1, {box[1]}"),
        ("global_dim", f"0, {columns}"),
        ("global_dim", f"1, {rows}"),
        ("global_stride", "0, %x"),
        ("element_stride", "0, 1"),
        ("element_stride", "1, 1"),
        ("elemtype", "2"),
        ("interleave_layout", "0"),
        ("swizzle_mode", "0"),
        ("fill_mode", "0"),
    ):
        if field == "global_stride":
            body.append(f"    mov.b64 %x, {4 * columns};")
        size = 64 if field in ("global_address", "global_stride") else 32
        if size == 32 and field not in (
            "elemtype",
            "interleave_layout",
            "swizzle_mode",
            "fill_mode",
        ):
            *index, value = operands.split(", ")
            body.append(f"    mov.b32 %v, {value};")
            operands = ", ".join([*index, "%v"])
        body.append(
            f"    tensormap.replace.tile.{field}.shared::cta.b1024.b{size} [%map], {operands};"
        )
    body += [
        "changed:\n    bar.warp.sync -1;",
        "    tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%global], [%map], 128;",
        "    fence.proxy.tensormap::generic.acquire.gpu [%global], 128;",
        "    @!%first bra issued;",
        "    mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], 128;",
        "    mov.b32 %v, 8;",
        "    cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
        "[%tile], [%global, {%v, %v}], [%bar];",
        "issued:\n    bar.warp.sync -1;",
        "wait:\n    mbarrier.try_wait.parity.shared::cta.b64 %q, [%bar], 0;\n    @!%q bra wait;",
        "    mad.lo.u32 %tile, %t, 4, %tile;\n    ld.shared.b32 %v, [%tile];",
        "    ld.param.u64 %p, [d];\n    mad.wide.u32 %p, %t, 4, %p;\n    st.global.b32 [%p], %v;",
    ]
    case.body = "\n".join(body) + "\n    ret;\n"
    case.write()


def patched_map_case():
    """A bit of a finished map is cleared in memory, as libraries do for maps that an old driver
    encoded."""
    case = Case("tensormap_patched", "a tensor map of which bit 21 of the second word was cleared",
                block=32)
    case.lines.append("//: emulator")
    case.preamble = ".global .align 128 .b8 patched[128];\n\n"
    case.buffer("in", "a", 4, [3 * i for i in range(64)])
    case.tensor_map(
        "m", over="a", type="uint32", dims="64", strides="", box="32", element_strides="1",
        swizzle="none", fill="zero"
    )
    case.buffer("out", "d", 4, [3 * i for i in range(8, 40)])
    body = [
        "    .shared .align 128 .b8 tile[128];\n    .shared .align 8 .b8 bar[8];",
        "    .reg .b32 %t, %tile, %bar, %v;\n    .reg .b64 %x, %p, %global;\n    .reg .pred %first, %q;",
        "    mov.u32 %t, %tid.x;\n    mov.u32 %tile, tile;\n    mov.u32 %bar, bar;",
        "    setp.eq.u32 %first, %t, 0;\n    mov.u64 %global, patched;",
        "    @!%first bra issued;\n    mbarrier.init.shared::cta.b64 [%bar], 1;",
    ]
    for i in range(0, 128, 8):
        body.append(f"    ld.param.b64 %x, [m + {i}];")
        if i == 8:
            body.append(f"    and.b64 %x, %x, {hex(~(1 << 21) & 2**64 - 1)};")
        body.append(f"    st.global.b64 [%global + {i}], %x;")
    body += [
        "    fence.proxy.tensormap::generic.release.gpu;",
        "    fence.proxy.tensormap::generic.acquire.gpu [%global], 128;",
        "    mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], 128;\n    mov.b32 %v, 8;",
        "    cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%tile], [%global, {%v}], [%bar];",
        "issued:\n    bar.warp.sync -1;",
        "wait:\n    mbarrier.try_wait.parity.shared::cta.b64 %q, [%bar], 0;\n    @!%q bra wait;",
        "    mad.lo.u32 %tile, %t, 4, %tile;\n    ld.shared.b32 %v, [%tile];",
        "    ld.param.u64 %p, [d];\n    mad.wide.u32 %p, %t, 4, %p;\n    st.global.b32 [%p], %v;",
    ]
    case.body = "\n".join(body) + "\n    ret;\n"
    case.write()


def zero_map_case():
    """A map made from nothing: 128 zero bytes are one of rank 1, of which every field can be
    set."""
    case = Case("tensormap_from_zero", "tensormap.replace on 128 zero bytes, a store", block=32)
    case.preamble = ".global .align 128 .b8 published[128];\n\n"
    case.buffer("inout", "d", 4, [7] * 40, [100 + i for i in range(24)] + [7] * 16)
    replace = "    tensormap.replace.tile.{}.shared::cta.b1024.b{} [%map], {};"
    body = [
        "    .shared .align 128 .b8 map[128];\n    .shared .align 128 .b8 tile[128];",
        "    .reg .b32 %t, %map, %tile, %v, %n;\n    .reg .b64 %p, %global;\n    .reg .pred %first;",
        "    mov.u32 %t, %tid.x;",
        "    mov.u32 %map, map;\n    mov.u32 %tile, tile;\n    setp.eq.u32 %first, %t, 0;",
        "    mad.lo.u32 %v, %t, 4, %map;\n    st.shared.b32 [%v], 0;",
        "    mad.lo.u32 %v, %t, 4, %tile;\n    add.u32 %n, %t, 100;\n    st.shared.b32 [%v], %n;",
        "    bar.warp.sync -1;\n    ld.param.u64 %p, [d];\n    mov.u64 %global, published;",
        "    @!%first bra changed;\n    mov.b32 %v, 24;\n    mov.b32 %n, 1;",
        replace.format("global_address", 64, "%p"),
        replace.format("box_dim", 32, "0, %v"),
        replace.format("global_dim", 32, "0, %v"),
        replace.format("element_stride", 32, "0, %n"),
        replace.format("elemtype", 32, "2"),
        "changed:\n    bar.warp.sync -1;",
        "    tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%global], [%map], 128;",
        "    fence.proxy.tensormap::generic.acquire.gpu [%global], 128;",
        "    fence.proxy.async.shared::cta;\n    bar.warp.sync -1;",
        "    @!%first bra done;\n    mov.b32 %v, 0;",
        "    cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [%global, {%v}], [%tile];",
        "    cp.async.bulk.commit_group;\n    cp.async.bulk.wait_group 0;\ndone:",
    ]
    case.body = "\n".join(body) + "\n    ret;\n"
    case.write()


def generate():
    bulk_cases()
    zero_map_case()
    patched_map_case()
    reduce_cases()
    cluster_cases()
    tensor_cases()
    made_map_case()
