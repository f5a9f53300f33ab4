"""Cases of what Blackwell adds to copies: four listed rows, barriers in the peer CTA, masked bulk
stores, padded sub-byte elements, and clusterlaunchcontrol. No such GPU was at hand: the expected
data follow the text of PTX ISA 9.0."""

import random

import bulk
import memory
from bulk import BARRIER, CLUSTER, WAIT, Tensor, as_words, shared
from case import Case

TARGET, VERSION = "sm_100a", "8.8"


def blackwell(name, title, **launch):
    case = Case(name, title, **launch)
    case.target, case.version = TARGET, VERSION
    return case


def map_address():
    return ["    mov.b64 %p, map;", "    cvta.param.u64 %p, %p;"]


def coordinates(values):
    return bulk.coordinate_registers(values)


# ---- tile::gather4 and tile::scatter4
# ---------------------------------------------------------------------


def four_rows(tensor, column, rows):
    """(offset in the box, offset in the tensor or None) of every element of four rows, one after
    the other."""
    for i, row in enumerate(rows):
        for k in range(tensor.box[0]):
            inside = 0 <= row < tensor.dims[1] and 0 <= column + k < tensor.dims[0]
            offset = (column + k) * tensor.size + row * tensor.strides[0]
            yield (i * tensor.box[0] + k) * tensor.size, offset if inside else None


def gathered(tensor, column, rows):
    size = 4 * tensor.box[0] * tensor.size
    out = bytearray(b"\xee" * bulk.round_up(size, 128))
    fill = (b"\xf7\x7f" * (tensor.size // 2)) if tensor.fill == "nan" else bytes(tensor.size)
    for at, offset in four_rows(tensor, column, rows):
        value = fill if offset is None else tensor.data[offset : offset + tensor.size]
        for k, byte in enumerate(value):
            out[bulk.chunk_swizzle(at + k, tensor.swizzle)] = byte
    return size, as_words(bytes(out))


def gather_case(name, tensor, column, rows, space="shared::cluster", suffix="", fails=None):
    size, expected = gathered(tensor, column, rows)
    case = blackwell(
        name,
        f"tile::gather4: {tensor.type} {tensor.dims}, {tensor.box[0]} columns at {column}, rows {rows}",
        block=32,
    )
    if fails:
        case.lines.append("//: fails " + fails)
    case.buffer("in", "tensor", 4, as_words(bytes(tensor.data)))
    tensor.declare(case, "tensor")
    case.buffer("out", "out0", 4, expected)
    registers, vector = coordinates([column] + rows)
    box = 4 * len(expected)
    body = shared(box, 1024) + ["    mad.lo.u32 %a, %t, 4, %s;"]
    body += [f"    st.shared.b32 [%a + {at}], 0xeeeeeeee;" for at in range(0, box, 128)]
    body += BARRIER + registers + map_address()
    body += [
        "    @!%q bra issued;",
        f"    mbarrier.arrive.expect_tx.shared::cta.b64 _, [%m], {size};",
        f"    cp.async.bulk.prefetch.tensor.2d.L2.global.tile::gather4 [%p, {vector}];",
        f"    cp.async.bulk.tensor.2d.{space}.global.tile::gather4.mbarrier::complete_tx::bytes{suffix}"
        f" [%s], [%p, {vector}], [%m];",
        "issued:",
    ]
    memory.finish(case, body + WAIT + bulk.copy_out(box))


def scatter_case(name, tensor, column, rows, fails=None):
    size = 4 * tensor.box[0] * tensor.size
    case = blackwell(
        name,
        f"tile::scatter4: {tensor.type} {tensor.dims}, {tensor.box[0]} columns at {column}, rows {rows}",
        block=32,
    )
    if fails:
        case.lines.append("//: fails " + fails)
    rng = random.Random(name)
    box, after = bytearray(size), bytearray(tensor.data)
    for at, offset in four_rows(tensor, column, rows):
        value = rng.randrange(1 << 8 * tensor.size).to_bytes(tensor.size, "little")
        for k, byte in enumerate(value):
            box[bulk.chunk_swizzle(at + k, tensor.swizzle)] = byte
        if offset is not None:
            after[offset : offset + tensor.size] = value
    case.buffer("in", "in0", 4, as_words(bytes(box)))
    case.buffer("inout", "tensor", 4, as_words(bytes(tensor.data)), as_words(bytes(after)))
    tensor.declare(case, "tensor")
    registers, vector = coordinates([column] + rows)
    body = shared(size, 1024) + ["    setp.eq.u32 %q, %t, 0;"] + bulk.copy_in(size) + registers
    body += map_address() + [
        "    @!%q bra done;",
        f"    cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group [%p, {vector}], [%s];",
        "    cp.async.bulk.commit_group;",
        "    cp.async.bulk.wait_group 0;",
        "done:",
    ]
    memory.finish(case, body)


def listed_row_cases():
    gather_case("tensor_gather4", Tensor("float16", [72, 9], [64, 1], "128B"), 8, [5, 0, 8, 5])
    gather_case(
        "tensor_gather4_outside", Tensor("int32", [20, 6], [16, 1], "64B"), 12,
        [-1, 5, 6, 2147483647]
    )
    gather_case("tensor_gather4_nan", Tensor("float32", [12, 5], [16, 1], fill="nan"), -4,
                [4, -3, 9, 0])
    gather_case(
        "tensor_gather4_shared_cta",
        Tensor("uint8", [48, 6], [32, 1], "32B"),
        16,
        [3, 2, 1, 0],
        "shared::cta",
        ".cta_group::1",
    )
    gather_case(
        "tensor_gather4_tall_box",
        Tensor("float16", [64, 8], [64, 2]),
        0,
        [0, 1, 2, 3],
        fails="need a box of 1 row",
    )
    gather_case(
        "tensor_load_odd_coordinate",
        Tensor("float16", [64, 8], [32, 1]),
        4,
        [0, 1, 2, 3],
        fails="tensor coordinate 0 is 4",
    )
    scatter_case("tensor_scatter4", Tensor("float16", [72, 9], [64, 1], "128B"), 0, [7, 0, 3, 8])
    scatter_case("tensor_scatter4_clipped", Tensor("int32", [20, 6], [16, 1], "64B"), 8,
                 [9, 5, 6, 1])
    scatter_case(
        "tensor_scatter4_negative",
        Tensor("int32", [20, 6], [16, 1]),
        8,
        [0, 1, -1, 2],
        fails="tensor coordinate 3 is -1",
    )


# ---- .cta_group
# -------------------------------------------------------------------------------------------

RANK = [
    "    .reg .b32 %rank;",
    "    .reg .b16 %mask;",
    "    .reg .pred %even, %send;",
    "    mov.u32 %rank, %cluster_ctarank;",
    "    and.b32 %c, %rank, 1;",
    "    setp.eq.u32 %even, %c, 0;",
]


def out_by_rank(bytes_):
    body = [
        "    ld.param.u64 %g, [out0];",
        f"    mad.wide.u32 %g, %rank, {bytes_}, %g;",
        "    mad.wide.u32 %g, %t, 4, %g;",
        "    mad.lo.u32 %a, %t, 4, %s;",
    ]
    for at in range(0, bytes_, 128):
        body += [f"    ld.shared.b32 %b, [%a + {at}];", f"    st.global.b32 [%g + {at}], %b;"]
    return body


def pair_case():
    """Each CTA of a pair loads its own rows; both loads complete on the barrier of the even CTA."""
    tensor = Tensor("float32", [32, 16], [32, 4])
    case = blackwell(
        "tensor_load_pair", "cta_group::2: two loads, one barrier", block=32, grid=2, cluster=2
    )
    case.buffer("in", "tensor", 4, as_words(bytes(tensor.data)))
    tensor.declare(case, "tensor")
    case.buffer("out", "out0", 4, as_words(bytes(tensor.data[:1024])))
    body = shared(512) + BARRIER + RANK + map_address()
    body += [
        "    and.pred %send, %q, %even;",
        "    @%send mbarrier.arrive.expect_tx.shared::cta.b64 _, [%m], 1024;",
        *CLUSTER,
        "    mapa.shared::cluster.u32 %e, %m, 0;",
        "    .reg .b32 %row;",
        "    shl.b32 %row, %rank, 2;",
        "    @!%q bra issued;",
        "    cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.cta_group::2"
        " [%s], [%p, {0, %row}], [%e];",
        "issued:",
        "    @!%even bra loaded;",
        *WAIT,
        "loaded:",
        *CLUSTER,
    ]
    memory.finish(case, body + out_by_rank(512))


def pair_multicast_case():
    """Four CTAs receive the rows; the barriers of the odd ones hear of their own copy and of their
    peer's."""
    tensor = Tensor("uint16", [64, 8], [64, 2], "128B")
    case = blackwell(
        "tensor_multicast_pair",
        "cta_group::2 multicast: the odd CTAs are signalled",
        block=32,
        grid=4,
        cluster=4,
    )
    box = bytearray(256)
    for at, offset in tensor.elements([0, 3]):
        for k in range(2):
            box[bulk.chunk_swizzle(at + k, "128B")] = tensor.data[offset + k]
    case.buffer("in", "tensor", 4, as_words(bytes(tensor.data)))
    tensor.declare(case, "tensor")
    case.buffer("out", "out0", 4, as_words(bytes(box)) * 4)
    body = shared(256, 1024) + BARRIER + RANK + map_address()
    body += [
        "    and.pred %send, %q, !%even;",
        "    @%send mbarrier.arrive.expect_tx.shared::cta.b64 _, [%m], 512;",
        *CLUSTER,
        "    mapa.shared::cluster.u32 %e, %m, 1;",
        "    mov.u16 %mask, 15;",
        "    setp.eq.and.u32 %send, %rank, 2, %q;",
        "    @!%send bra issued;",
        "    cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
        ".multicast::cluster.cta_group::2 [%s], [%p, {0, 3}], [%e], %mask;",
        "issued:",
        "    @%even bra loaded;",
        *WAIT,
        "loaded:",
        *CLUSTER,
    ]
    memory.finish(case, body + out_by_rank(256))


def foreign_barrier_case(name, group, grid, fails):
    tensor = Tensor("float32", [32, 16], [32, 4])
    case = blackwell(name, f"a load that may not complete in another CTA: {group}", block=32,
                     grid=grid, cluster=grid)
    case.lines.append("//: fails " + fails)
    case.buffer("in", "tensor", 4, as_words(bytes(tensor.data)))
    tensor.declare(case, "tensor")
    body = shared(512) + BARRIER + RANK + map_address() + CLUSTER
    body += [
        f"    mapa.shared::cluster.u32 %e, %m, {grid - 1};",
        "    setp.eq.and.u32 %send, %rank, 0, %q;",
        "    @%send cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
        f"{group} [%s], [%p, {{0, 0}}], [%e];",
        *CLUSTER,
    ]
    memory.finish(case, body)


def cta_group_cases():
    pair_case()
    pair_multicast_case()
    foreign_barrier_case("tensor_load_foreign_barrier", ".cta_group::1", 2,
                         "it must be in the same CTA")
    foreign_barrier_case("tensor_load_other_pair", ".cta_group::2", 4, "the same pair of CTAs")
    foreign_barrier_case("tensor_load_no_pair", ".cta_group::2", 3, "needs pairs of CTAs")


# ---- .cp_mask
# ---------------------------------------------------------------------------------------------


def mask_case():
    data = bulk.words(128, "mask")
    masks = [0x0001, 0x8000, 0xF0F3, 0x0000, 0xFFFF]
    case = blackwell("bulk_store_mask", "cp.async.bulk with .cp_mask: bytes of each 16", block=32)
    case.buffer("in", "in0", 4, data)
    source = b"".join(w.to_bytes(4, "little") for w in data)
    before = b"".join(w.to_bytes(4, "little") for w in bulk.words(64 * len(masks), "before"))
    after = bytearray(before)
    for n, mask in enumerate(masks):
        for i in range(256):
            if mask >> i % 16 & 1:
                after[256 * n + i] = source[16 * n + i]
    case.buffer("inout", "out0", 4, as_words(before), as_words(bytes(after)))
    body = shared(512) + ["    setp.eq.u32 %q, %t, 0;"] + bulk.copy_in(512)
    body += ["    .reg .b16 %mask;", "    ld.param.u64 %p, [out0];", "    @!%q bra done;"]
    for n, mask in enumerate(masks):
        policy = n % 2
        body += [f"    mov.b16 %mask, {mask};"]
        body += ["    createpolicy.fractional.L2::evict_first.b64 %x, 1.0;"] * policy
        body += [
            f"    cp.async.bulk.global.shared::cta.bulk_group{'.L2::cache_hint' * policy}.cp_mask"
            f" [%p + {256 * n}], [%s + {16 * n}], 256{', %x' * policy}, %mask;"
        ]
    body += ["    cp.async.bulk.commit_group;", "    cp.async.bulk.wait_group 0;", "done:"]
    memory.finish(case, body)


# ---- sub-byte elements
# ------------------------------------------------------------------------------------

PACKED = {"16u4_align8b": (8, 8), "16u4_align16b": (8, 16), "16u6_align16b": (12, 16)}


def sub_byte_map(case, type_, rows, swizzle):
    """256 elements a row, boxes of 128 x 2; bytes of a row."""
    row = 16 * PACKED[type_][0]
    case.tensor_map(
        "map",
        over="tensor",
        type=type_,
        dims=f"256,{rows}",
        box="128,2",
        element_strides="1,1",
        swizzle=swizzle,
        fill="zero",
        strides=row,
    )
    return row


def sub_byte_load_case(type_, swizzle, coords):
    """Units of 16 elements arrive at 8 or 16 bytes' distance; what lies in their padding is
    undefined, so only the bytes of elements are looked at. The barrier counts those, and so a wrong
    count never completes."""
    packed, unit = PACKED[type_]
    rows = 5
    rng = random.Random(type_)
    data = bytes(rng.randrange(256) for _ in range(16 * packed * rows))
    case = blackwell(f"tensor_load_{type_}", f"{type_}, box at {coords}, swizzle {swizzle}",
                     block=32)
    case.buffer("in", "tensor", 4, as_words(data))
    row = sub_byte_map(case, type_, rows, swizzle)
    expected = bytearray()
    for y in range(coords[1], coords[1] + 2):
        start = y * row + coords[0] // 16 * packed
        for u in range(8):
            expected += (
                data[start + u * packed : start + (u + 1) * packed] if y < rows else bytes(packed)
            )
    case.buffer("out", "out0", 4, as_words(bytes(expected)))
    registers, vector = coordinates(coords)
    body = shared(2 * 8 * unit, 1024) + BARRIER + registers + map_address()
    body += [
        "    @!%q bra issued;",
        f"    mbarrier.arrive.expect_tx.shared::cta.b64 _, [%m], {2 * 8 * packed};",
        "    cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
        f" [%s], [%p, {vector}], [%m];",
        "issued:",
        *WAIT,
    ]
    words = 2 * 8 * packed // 4
    for first in range(0, words, 32):
        if words - first < 32:
            body += [f"    setp.ge.u32 %q, %t, {words - first};", "    @%q bra end;"]
        body += [
            f"    add.u32 %a, %t, {first};",  # word of the packed data
            f"    div.u32 %b, %a, {packed // 4};",  # its unit
            f"    rem.u32 %c, %a, {packed // 4};",
            f"    mul.lo.u32 %b, %b, {unit};",
            "    mad.lo.u32 %b, %c, 4, %b;",
        ]
        if swizzle == "128B":
            body += ["    shr.u32 %c, %b, 3;", "    and.b32 %c, %c, 112;",
                     "    xor.b32 %b, %b, %c;"]
        body += [
            "    add.u32 %b, %b, %s;",
            "    ld.shared.b32 %c, [%b];",
            "    ld.param.u64 %g, [out0];",
            "    mad.wide.u32 %g, %a, 4, %g;",
            "    st.global.b32 [%g], %c;",
        ]
    memory.finish(case, body + ["end:"])


def six_bit_store_case():
    """.b6p2x16: the upper two bits of each byte are discarded, sixteen elements become 12 bytes."""
    case = blackwell("tensor_store_16u6_align16b", "6-bit elements from bytes", block=32)
    rng = random.Random("b6p2x16")
    before = bytes(rng.randrange(256) for _ in range(192 * 3))
    box = bytes(rng.randrange(256) for _ in range(256))
    after = bytearray(before)
    for y in range(2):
        for u in range(8):
            unit = box[128 * y + 16 * u : 128 * y + 16 * u + 16]
            bits = sum((b & 63) << 6 * i for i, b in enumerate(unit))
            at = 192 * (1 + y) + 96 + 12 * u
            after[at : at + 12] = bits.to_bytes(12, "little")
    case.buffer("in", "in0", 4, as_words(box))
    case.buffer("inout", "tensor", 4, as_words(before), as_words(bytes(after)))
    sub_byte_map(case, "16u6_align16b", 3, "none")
    memory.finish(case, store_body(256, [128, 1]))


def store_body(size, coords):
    registers, vector = coordinates(coords)
    body = shared(size, 1024) + ["    setp.eq.u32 %q, %t, 0;"] + bulk.copy_in(size) + registers
    return (
        body
        + map_address()
        + [
            "    @!%q bra done;",
            f"    cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%p, {vector}], [%s];",
            "    cp.async.bulk.commit_group;",
            "    cp.async.bulk.wait_group 0;",
            "done:",
        ]
    )


def padded_store_case():
    case = blackwell("tensor_store_16u4_align16b", "padded 4-bit elements cannot be stored",
                     block=32)
    case.lines.append("//: fails is for loads only")
    case.buffer("in", "in0", 4, bulk.words(64, "padded"))
    case.buffer("inout", "tensor", 4, bulk.words(96, "u4"), bulk.words(96, "u4"))
    sub_byte_map(case, "16u4_align16b", 3, "none")
    memory.finish(case, store_body(256, [0, 0]))


def sub_byte_cases():
    sub_byte_load_case("16u4_align8b", "none", [64, 1])
    sub_byte_load_case("16u4_align16b", "128B", [128, 3])
    sub_byte_load_case("16u6_align16b", "none", [128, 4])
    six_bit_store_case()
    padded_store_case()


# ---- clusterlaunchcontrol
# ---------------------------------------------------------------------------------


def steal_body(query, after, multicast="", space=".shared::cta"):
    """Does the item of the own CTA, then those of the clusters whose place it could take."""
    return [
        "    .shared .align 16 .b8 response[16];",
        "    .reg .b128 %response;",
        "    .reg .b32 %id0, %id1, %id2, %parity, %rank, %r;",
        "    .reg .pred %ok, %ask;",
        "    mov.u32 %r, response;",
        "    mov.u32 %rank, %cluster_ctarank;",
        *BARRIER,
        *CLUSTER,
        "    mov.u32 %id0, %ctaid.x;",
        "    mov.u32 %id1, %ctaid.y;",
        "    mov.u32 %id2, %ctaid.z;",
        "    mov.u32 %parity, 0;",
        "    mov.pred %ask, %q;" if not multicast else "    setp.eq.and.u32 %ask, %rank, 0, %q;",
        "    cvt.u64.u32 %x, %r;",
        "    cvta.shared.u64 %x, %x;",
        "    cvt.u64.u32 %y, %m;",
        "    cvta.shared.u64 %y, %y;",
        "item:",
        "    @%q mbarrier.arrive.expect_tx.relaxed.cluster.shared::cta.b64 _, [%m], 16;",
        f"    @%ask clusterlaunchcontrol.try_cancel.async{space}.mbarrier::complete_tx::bytes{multicast}.b128"
        + (" [%r], [%m];" if space else " [%x], [%y];"),
        *after,
        "wait:",
        "    mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %ok, [%m], %parity;",
        "    @!%ok bra wait;",
        "    xor.b32 %parity, %parity, 1;",
        "    ld.shared.b128 %response, [%r];",
        "    clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %ok, %response;",
        "    @!%ok bra finished;",
        *query,
        "    fence.proxy.async.shared::cta;",
        *CLUSTER,
        "    bra item;",
        "finished:",
        *CLUSTER,
    ]


def count_item(grid):
    """Adds 1 to the word of this CTA and thread."""
    return [
        f"    mad.lo.u32 %a, %id2, {grid[1]}, %id1;",
        f"    mad.lo.u32 %a, %a, {grid[0]}, %id0;",
        "    mad.lo.u32 %a, %a, 32, %t;",
        "    ld.param.u64 %g, [counts];",
        "    mad.wide.u32 %g, %a, 4, %g;",
        "    red.global.add.u32 [%g], 1;",
    ]


def steal_case(name, grid, query, cluster=1, **kinds):
    case = blackwell(name, "clusterlaunchcontrol: every CTA's item is done once, by whoever",
                     block=32, cluster=cluster)
    case.grid = ",".join(map(str, grid))
    total = grid[0] * grid[1] * grid[2] * 32
    case.buffer("inout", "counts", 4, [0] * total, [1] * total)
    memory.finish(case, steal_body(query, count_item(grid), **kinds))


def get(field):
    return f"    clusterlaunchcontrol.query_cancel.get_first_ctaid::{'xyz'[field]}.b32.b128 %id{field}, %response;"


def misuse_case(name, fails, lines):
    case = blackwell(name, f"clusterlaunchcontrol: {fails}", block=32)
    case.lines.append("//: fails " + fails)
    case.buffer("out", "out0", 4, [0xCDCDCDCD])
    body = ["    .shared .align 16 .b8 response[16];", "    .reg .b128 %response;",
            "    .reg .b32 %r;"]
    body += ["    .reg .pred %ok;", "    mov.u32 %r, response;"] + BARRIER
    memory.finish(case, body + lines)


REQUEST = [
    "    @%q mbarrier.arrive.expect_tx.relaxed.cta.shared::cta.b64 _, [%m], 16;",
    "    @%q clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%r], [%m];",
]


def cancel_cases():
    steal_case("cluster_cancel", (3, 2, 4), [get(0), get(1), get(2)])
    steal_case(
        "cluster_cancel_generic",
        (7, 1, 2),
        ["    clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%id0, %id1, %id2, _}, %response;"],
        space="",
    )
    steal_case(
        "cluster_cancel_multicast",
        (10, 3, 1),
        [
            "    clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%id0, %id1, _, _}, %response;",
            "    add.u32 %id0, %id0, %rank;",
        ],
        cluster=2,
        multicast=".multicast::cluster::all",
    )
    misuse_case(
        "cluster_cancel_after_failure",
        "has seen a request fail",
        REQUEST
        + [
            *WAIT,
            "    ld.shared.b128 %response, [%r];",
            "    clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %ok, %response;",
            "    setp.eq.u32 %q, %t, 0;",
            "    fence.proxy.async.shared::cta;",
            "    bar.sync 0;",
        ]
        + REQUEST,
    )
    misuse_case(
        "cluster_cancel_no_response",
        "are not a response of try_cancel",
        [
            "    mov.b64 %x, 7;",
            "    mov.b128 %response, {%x, %x};",
            "    clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %ok, %response;",
        ],
    )
    misuse_case(
        "cluster_cancel_misaligned",
        "is not a multiple of 16",
        ["    add.u32 %r, %r, 8;"] + REQUEST,
    )


def generate():
    listed_row_cases()
    cta_group_cases()
    mask_case()
    sub_byte_cases()
    cancel_cases()
