"""Cases of tensor memory: tcgen05.alloc, ld, st, cp, shift, commit. For the emulator only: sm_100a.

Where a thread's registers lie is written here as in CUTLASS's copy traits: strides, in bits, of the
digits of the thread number and of the bit within a thread's registers, in a matrix of `lanes`
rows."""

import random

from case import Case, new_label
from memory import pointer

M32 = 0xFFFFFFFF
HASH = 31
FACTOR = 2654435761
LANES, COLUMNS = 128, 512

# shape: (lanes, bits of a row per repetition, digits of the thread, digits of the register bit); a
# digit is (base, stride in bits), and a stride of ("row", n) is n rows.
SHAPES = {
    "32x32b": (32, 32, [(32, ("row", 1))], [(32, 1), (0, 32)]),
    "16x64b": (16, 64, [(2, ("row", 8)), (2, 32), (8, ("row", 1))], [(32, 1), (0, 64)]),
    "16x128b": (16, 128, [(4, 32), (8, ("row", 1))], [(32, 1), (2, ("row", 8)), (0, 128)]),
    "16x256b": (16, 256, [(4, 64), (8, ("row", 1))], [(64, 1), (2, ("row", 8)), (0, 256)]),
}
REGISTERS = {"32x32b": 1, "16x64b": 1, "16x128b": 2, "16x256b": 4, "16x32bx2": 1}


def digits(number, bases, row_bits):
    total = 0
    for base, stride in bases:
        digit = number % base if base else number
        number = number // base if base else 0
        total += digit * (stride[1] * row_bits if isinstance(stride, tuple) else stride)
    return total


def place(shape, count, thread, register, split=0):
    """(lane, column) of a register, both from the instruction's address on; columns of packed words
    when packed."""
    if shape == "16x32bx2":
        return thread % 16, register + (split if thread >= 16 else 0)
    _, bits, of_thread, of_register = SHAPES[shape]
    row_bits = bits * count
    bit = digits(thread, of_thread, row_bits) + digits(32 * register, of_register, row_bits)
    return bit // row_bits, bit % row_bits // 32


def columns_of(shape, count):
    return count if shape == "16x32bx2" else SHAPES[shape][1] * count // 32


def pattern(lane, column):
    return (lane * COLUMNS + column + 1) * FACTOR & M32


def hash_of(words):
    h = 0
    for word in words:
        h = (h * HASH + word) & M32
    return h


# ---- kernels
# ------------------------------------------------------------------------------------------

REGISTERS_OF_KERNEL = [
    "    .reg .b32 %t, %w, %lane, %slot, %tmem, %mine, %at, %col, %h, %x, %y, %m, %rank, %s;",
    "    .reg .b64 %p, %g, %desc;",
    "    .reg .b16 %mask;",
    "    .reg .pred %q, %first, %warp0, %lead;",
    "    .reg .b32 %r<128>;",
    "    mov.u32 %t, %tid.x;",
    "    shr.u32 %w, %t, 5;",
    "    and.b32 %lane, %t, 31;",
    "    setp.eq.u32 %warp0, %w, 0;",
    "    setp.eq.u32 %first, %t, 0;",
    "    .shared .align 8 .b8 barrier[8];",
    "    .shared .align 4 .b8 slot_[4];",
    "    mov.u32 %m, barrier;",
    "    mov.u32 %slot, slot_;",
]


def cluster_barrier():
    return ["    barrier.cluster.arrive.release.aligned;",
            "    barrier.cluster.wait.acquire.aligned;"]


def begin(columns=512, group=1, barriers=False):
    """Allocates; %tmem is the address, %mine with the lanes of this warp. Initialises the
    mbarrier."""
    skip = new_label()
    lines = list(REGISTERS_OF_KERNEL)
    if barriers:
        lines += [
            "    @%first mbarrier.init.shared::cta.b64 [%m], 1;",
            "    fence.mbarrier_init.release.cluster;",
        ]
    lines += [
        f"    @!%warp0 bra {skip};",
        f"    tcgen05.alloc.cta_group::{group}.sync.aligned.shared::cta.b32 [%slot], {columns};",
        f"{skip}:",
        "    tcgen05.fence::before_thread_sync;",
        "    bar.sync 0;",
    ]
    if group == 2:
        lines += cluster_barrier()
    return lines + [
        "    tcgen05.fence::after_thread_sync;",
        "    ld.shared.b32 %tmem, [%slot];",
        "    shl.b32 %mine, %w, 21;",
        "    add.u32 %mine, %mine, %tmem;",
    ]


def end(columns=512, group=1):
    skip = new_label()
    lines = ["    tcgen05.fence::before_thread_sync;", "    bar.sync 0;"]
    if group == 2:
        lines += cluster_barrier()
    return lines + [
        "    tcgen05.fence::after_thread_sync;",
        f"    @!%warp0 bra {skip};",
        f"    tcgen05.relinquish_alloc_permit.cta_group::{group}.sync.aligned;",
        f"    tcgen05.dealloc.cta_group::{group}.sync.aligned.b32 %tmem, {columns};",
        f"{skip}:",
    ]


def fill(columns=512):
    """The pattern in all columns of the warp's lanes."""
    loop = new_label()
    return [
        "    mov.u32 %col, 0;",
        f"{loop}:",
        f"    mad.lo.u32 %x, %t, {COLUMNS}, %col;",
        "    add.u32 %x, %x, 1;",
        f"    mul.lo.u32 %x, %x, {FACTOR - (1 << 32)};",
        "    add.u32 %at, %mine, %col;",
        "    tcgen05.st.sync.aligned.32x32b.x1.b32 [%at], {%x};",
        "    add.u32 %col, %col, 1;",
        f"    setp.lt.u32 %q, %col, {columns};",
        f"    @%q bra {loop};",
        "    tcgen05.wait::st.sync.aligned;",
    ]


def read_back(columns, out, index="%t"):
    """A hash of each lane's columns."""
    loop = new_label()
    return [
        "    mov.u32 %col, 0;",
        "    mov.u32 %h, 0;",
        f"{loop}:",
        "    add.u32 %at, %mine, %col;",
        "    tcgen05.ld.sync.aligned.32x32b.x1.b32 {%x}, [%at];",
        "    tcgen05.wait::ld.sync.aligned;",
        f"    mad.lo.u32 %h, %h, {HASH}, %x;",
        "    add.u32 %col, %col, 1;",
        f"    setp.lt.u32 %q, %col, {columns};",
        f"    @%q bra {loop};",
    ] + pointer(out, 4, index) + ["    st.global.b32 [%p], %h;"]


def vector(count):
    return "{" + ", ".join(f"%r{i}" for i in range(count)) + "}"


def new_case(name, title, block=128, **options):
    case = Case(name, title, block=block, **options)
    case.version, case.target = "8.6", "sm_100a"
    return case


def finish(case, body):
    case.body = "\n".join(body) + "\n    ret;\n"
    case.write()


# ---- ld and st
# ------------------------------------------------------------------------------------------

THREADS = 64  # warp 1 also reaches the upper half of its lanes


def counts(shape):
    return [n for n in (1, 2, 4, 8, 16, 32, 64, 128) if n * REGISTERS[shape] <= 128]


def addresses(shape, count, packed):
    """Column, offset of the second half, and the first lane of each warp."""
    width = columns_of(shape, count) * (2 if packed else 1)
    split = min(width + 3, COLUMNS - width) if shape == "16x32bx2" else 0
    column = 5 if width + split + 5 <= COLUMNS else 0
    upper = 16 if shape != "32x32b" else 0
    return column, split, [0, 32 + upper]


def words_of(shape, count, packed, thread, register):
    """Lane and columns (two when packed) of a register of a thread of the block."""
    column, split, lanes = addresses(shape, count, packed)
    lane, c = place(shape, count, thread % 32, register)
    c = c * (2 if packed else 1) + (split if shape == "16x32bx2" and thread % 32 >= 16 else 0)
    return lanes[thread // 32] + lane, [column + c + i for i in range(2 if packed else 1)]


def operand(shape, count, packed):
    column, split, lanes = addresses(shape, count, packed)
    lines = [
        f"    mad.lo.u32 %at, %w, {lanes[1] << 16}, %tmem;",
        f"    add.u32 %at, %at, {column};",
    ]
    return lines, (f", {split}" if shape == "16x32bx2" else "")


def ld_case(shape, packed):
    suffix = "_pack" if packed else ""
    case = new_case(f"tcgen05_ld_{shape}{suffix}", f"tcgen05.ld.{shape}, all counts", block=THREADS)
    body = begin() + fill()
    for count in counts(shape):
        registers = count * REGISTERS[shape]
        lines, tail = operand(shape, count, packed)
        pack = ".pack::16b" if packed else ""
        body += lines + [
            f"    tcgen05.ld.sync.aligned.{shape}.x{count}{pack}.b32 {vector(registers)}, [%at]{tail};",
            "    tcgen05.wait::ld.sync.aligned;",
            "    mov.u32 %h, 0;",
        ]
        body += [f"    mad.lo.u32 %h, %h, {HASH}, %r{i};" for i in range(registers)]
        body += pointer(f"out{count}", 4) + ["    st.global.b32 [%p], %h;"]
        expected = []
        for thread in range(THREADS):
            words = []
            for r in range(registers):
                lane, cs = words_of(shape, count, packed, thread, r)
                w = [pattern(lane, c) for c in cs]
                words.append(w[0] & 0xFFFF | (w[1] & 0xFFFF) << 16 if packed else w[0])
            expected.append(hash_of(words))
        case.buffer("out", f"out{count}", 4, expected)
    finish(case, body + end())


def value(thread, register):
    return (thread * 128 + register + 1) * 0x01000193 & M32


def st_case(shape, packed):
    suffix = "_unpack" if packed else ""
    case = new_case(f"tcgen05_st_{shape}{suffix}", f"tcgen05.st.{shape}, all counts", block=THREADS)
    body = begin()
    for count in counts(shape):
        registers = count * REGISTERS[shape]
        lines, tail = operand(shape, count, packed)
        pack = ".unpack::16b" if packed else ""
        body += fill() + lines
        for i in range(registers):
            body += [f"    mad.lo.u32 %r{i}, %t, 128, {i + 1};",
                     f"    mul.lo.u32 %r{i}, %r{i}, {0x01000193};"]
        body += [
            f"    tcgen05.st.sync.aligned.{shape}.x{count}{pack}.b32 [%at]{tail}, {vector(registers)};",
            "    tcgen05.wait::st.sync.aligned;",
        ]
        body += read_back(COLUMNS, f"out{count}")
        image = [[pattern(lane, c) for c in range(COLUMNS)] for lane in range(THREADS)]
        for thread in range(THREADS):
            for r in range(registers):
                lane, cs = words_of(shape, count, packed, thread, r)
                v = value(thread, r)
                if packed:
                    image[lane][cs[0]] = image[lane][cs[0]] & 0xFFFF0000 | v & 0xFFFF
                    image[lane][cs[1]] = image[lane][cs[1]] & 0xFFFF0000 | v >> 16
                else:
                    image[lane][cs[0]] = v
        case.buffer("out", f"out{count}", 4, [hash_of(row) for row in image])
    finish(case, body + end())


def extreme(kind, largest, magnitude, nan, words):
    """The smallest or largest of what a thread loads; -0 is less than +0."""
    if kind != "f32":
        key = (lambda x: x - (x >> 31 << 32)) if kind == "s32" else (lambda x: x)
        return (max if largest else min)(words, key=key)
    words = [w & 0x7FFFFFFF for w in words] if magnitude else words
    numbers = [w for w in words if w & 0x7FFFFFFF <= 0x7F800000]
    if not numbers or (nan and len(numbers) < len(words)):
        return 0x7FFFFFFF
    key = lambda w: -(w & 0x7FFFFFFF) - 1 if w >> 31 else w
    return (max if largest else min)(numbers, key=key)


def ld_red_case(shape, kind, operation, options=""):
    name = f"tcgen05_ld_red_{shape}_{operation}{options.replace('.', '_')}_{kind}".lower()
    case = new_case(name, f"tcgen05.ld.red.{shape}, counts from 2", block=THREADS)
    case.version, case.target = "8.8", "sm_103a"
    body = begin() + fill()
    for count in counts(shape)[1:]:
        lines, tail = operand(shape, count, False)
        body += lines + [
            f"    tcgen05.ld.red.sync.aligned.{shape}.x{count}.{operation}{options}.{kind} {vector(count)}, %x, [%at]{tail};",
            "    tcgen05.wait::ld.sync.aligned;",
            "    mov.u32 %h, %x;",
        ]
        body += [f"    mad.lo.u32 %h, %h, {HASH}, %r{i};" for i in range(count)]
        body += pointer(f"out{count}", 4) + ["    st.global.b32 [%p], %h;"]
        expected = []
        for thread in range(THREADS):
            places = [words_of(shape, count, False, thread, r) for r in range(count)]
            words = [pattern(lane, columns[0]) for lane, columns in places]
            h = extreme(kind, operation == "max", ".abs" in options, ".NaN" in options, words)
            for w in words:
                h = (h * HASH + w) & M32
            expected.append(h)
        case.buffer("out", f"out{count}", 4, expected)
    finish(case, body + end())


def ld_red_cases():
    for shape in ("32x32b", "16x32bx2"):
        for operation in ("min", "max"):
            for options in ("", ".abs", ".NaN", ".abs.NaN"):
                ld_red_case(shape, "f32", operation, options)
            for kind in ("u32", "s32"):
                ld_red_case(shape, kind, operation)


def ld_st_cases():
    ld_red_cases()
    for shape in REGISTERS:
        for packed in (False, True):
            ld_case(shape, packed)
            st_case(shape, packed)


# ---- cp
# ------------------------------------------------------------------------------------------

# bytes of shared memory, filled with a pattern; 1024-byte aligned, so swizzles count from its start
BUFFER = 40960
SWIZZLES = {"none": (0, 0), "32B": (32, 6), "64B": (64, 4), "128B": (128, 2), "128B_32B": (128, 1)}


def shared_word(offset):
    return (offset // 4 + 1) * FACTOR & M32


def swizzled(offset, mode):
    if mode == "32B":
        return offset ^ offset >> 3 & 0x10
    if mode == "64B":
        return offset ^ offset >> 3 & 0x30
    if mode == "128B":
        return offset ^ offset >> 3 & 0x70
    if mode == "128B_32B":
        return offset ^ offset >> 2 & 0x60
    return offset


class Source:
    """A K-major matrix of bytes in shared memory: start, leading and stride byte offsets,
    swizzle."""

    def __init__(self, mode, stride, start=0, leading=16, base=0):
        self.mode, self.stride, self.start, self.leading, self.base = (
            mode,
            stride,
            start,
            leading,
            base,
        )

    def offset(self, row, byte):
        span = SWIZZLES[self.mode][0]
        line = span if span else 16
        at = self.start + row % 8 * line + row // 8 * self.stride
        at += byte if span else byte % 16 + byte // 16 * self.leading
        return swizzled(at, self.mode)

    def unit(self, row, unit):
        """16 bytes."""
        data = b""
        for word in range(4):
            data += shared_word(self.offset(row, 16 * unit + 4 * word)).to_bytes(4, "little")
        return data

    def descriptor(self):
        high = self.stride >> 4 | 1 << 14 | self.base << 17 | SWIZZLES[self.mode][1] << 29
        return self.start >> 4 | self.leading >> 4 << 16, high


def elements(unit, fmt):
    """What becomes of 16 bytes of the source."""
    if not fmt:
        return unit
    bits = 4 if "b4" in fmt else 6
    packed = int.from_bytes(unit, "little")
    out = [packed >> bits * i & (1 << bits) - 1 for i in range(16)]
    return bytes(e << 2 if bits == 4 else e for e in out)


# name: rows, bytes of a row, lanes that a row goes to (from the lane of the address on)
COPIES = {
    "128x256b": (128, 32, lambda r: [r]),
    "128x128b": (128, 16, lambda r: [r]),
    "64x128b.warpx2::02_13": (64, 16, lambda r: [r, r + 64]),
    "64x128b.warpx2::01_23":
        (64, 16, lambda r: [r % 32 + 64 * (r // 32) + half for half in (0, 32)]),
    "32x128b.warpx4": (32, 16, lambda r: [r, r + 32, r + 64, r + 96]),
    "4x256b": (4, 32, lambda r: [32 * r]),
}


def copied(image, shape, source, column, fmt="", lane=0):
    rows, row_bytes, lanes = COPIES[shape]
    for row in range(rows):
        for unit in range(row_bytes // 16):
            data = elements(source.unit(row, unit), fmt)
            for to in lanes(row):
                for w in range(4):
                    image[lane + to][column + 4 * unit + w] = int.from_bytes(
                        data[4 * w : 4 * w + 4], "little"
                    )


def fill_shared(threads=128, add=0):
    """Each 4-byte word of the buffer holds its pattern, plus `add` (a register or number)."""
    loop = new_label()
    return [
        f"    .shared .align 1024 .b8 buffer[{BUFFER}];",
        "    mov.u32 %s, buffer;",
        "    mov.u32 %col, %t;",
        f"{loop}:",
        "    add.u32 %x, %col, 1;",
        f"    mul.lo.u32 %x, %x, {FACTOR - (1 << 32)};",
        f"    add.u32 %x, %x, {add};",
        "    mad.lo.u32 %at, %col, 4, %s;",
        "    st.shared.b32 [%at], %x;",
        f"    add.u32 %col, %col, {threads};",
        f"    setp.lt.u32 %q, %col, {BUFFER // 4};",
        f"    @%q bra {loop};",
        "    fence.proxy.async.shared::cta;",
    ]


def descriptor(source):
    low, high = source.descriptor()
    return [
        "    shr.u32 %x, %s, 4;",
        f"    add.u32 %x, %x, {low};",
        f"    mov.b32 %y, {high};",
        "    mov.b64 %desc, {%x, %y};",
    ]


def publish():
    """What threads wrote is there for the thread that issues."""
    return [
        "    tcgen05.fence::before_thread_sync;",
        "    bar.sync 0;",
        "    tcgen05.fence::after_thread_sync;",
    ]


def commit(group=1):
    return [
        f"    tcgen05.commit.cta_group::{group}.mbarrier::arrive::one.shared::cluster.b64 [%m];",
    ]


def wait(parity):
    loop = new_label()
    return [
        f"{loop}:",
        f"    mbarrier.try_wait.parity.shared::cta.b64 %q, [%m], {parity};",
        f"    @!%q bra {loop};",
        "    tcgen05.fence::after_thread_sync;",
    ]


def first_thread(lines):
    skip = new_label()
    return [f"    @!%first bra {skip};"] + lines + [f"{skip}:"]


WIDTH = 32  # columns of a cp case


def variants(row_bytes):
    """Sources worth a test: dense, with a gap between groups of rows, in the middle of a swizzle
    atom."""
    # a base offset says nothing without a swizzle
    found = [Source("none", 128 * row_bytes // 16, leading=128),
             Source("none", 256, leading=8192, base=4)]
    for mode in ("32B", "64B", "128B", "128B_32B"):
        span = SWIZZLES[mode][0]
        found.append(Source(mode, 8 * span))
        if span > row_bytes:
            found.append(Source(mode, 8 * span + 1024, start=4096 + (span - 32)))
    return found


def cp_case(shape, fmt="", sources=None):
    rows, row_bytes, _ = COPIES[shape]
    name = "tcgen05_cp_" + shape.replace(".warpx2::", "_").replace(".", "_")
    if fmt:
        name += "_" + fmt.split(".")[1]
    case = new_case(name, f"tcgen05.cp.{shape}{'.' + fmt if fmt else ''} from several layouts")
    body = begin(WIDTH, barriers=True) + fill_shared()
    for i, source in enumerate(sources or variants(row_bytes)):
        column, lane = 3 + i % 4, 5 * i % 32 if shape == "4x256b" else 0
        modifiers = f"{shape}.{fmt}" if fmt else shape
        body += fill(WIDTH) + publish()
        body += first_thread(
            descriptor(source)
            + [
                f"    add.u32 %at, %tmem, {column + (lane << 16)};",
                f"    tcgen05.cp.cta_group::1.{modifiers} [%at], %desc;",
            ]
            + commit()
        )
        body += wait(i % 2) + read_back(WIDTH, f"out{i}")
        image = [[pattern(l, c) for c in range(WIDTH)] for l in range(LANES)]
        copied(image, shape, source, column, fmt, lane)
        case.buffer("out", f"out{i}", 4, [hash_of(row) for row in image])
    finish(case, body + end(WIDTH))


def cp_cases():
    for shape in COPIES:
        cp_case(shape)
    some = [Source("none", 256, leading=8192), Source("128B", 1024)]
    for shape in ("128x256b", "32x128b.warpx4", "64x128b.warpx2::01_23"):
        cp_case(shape, "b8x16.b4x16_p64", some)
        cp_case(shape, "b8x16.b6x16_p32", some)


# ---- cta_group::2
# ------------------------------------------------------------------------------------------


def pair_case():
    """One thread of the pair copies in both CTAs, and tells both by a multicast commit."""
    shape, source, column = "128x256b", Source("128B", 1024), 7
    case = new_case(
        "tcgen05_pair", "cta_group::2: alloc, cp into both CTAs, multicast commit", grid=2,
        cluster=2
    )
    body = begin(WIDTH, 2, barriers=True) + ["    mov.u32 %rank, %cluster_ctarank;"]
    body += fill_shared(add="%rank") + fill(WIDTH) + publish() + cluster_barrier()
    body += ["    setp.eq.u32 %lead, %rank, 1;", "    and.pred %first, %first, %lead;"]
    body += first_thread(
        ["    tcgen05.fence::after_thread_sync;"]
        + descriptor(source)
        + [
            f"    add.u32 %at, %tmem, {column};",
            f"    tcgen05.cp.cta_group::2.{shape} [%at], %desc;",
            "    mov.u16 %mask, 3;",
            "    tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%m], %mask;",
        ]
    )
    body += wait(0) + ["    mad.lo.u32 %lane, %rank, 128, %t;"] + read_back(WIDTH, "out0", "%lane")
    expected = []
    for rank in (0, 1):
        image = [[pattern(l, c) for c in range(WIDTH)] for l in range(LANES)]
        copied(image, shape, source, column)
        for l in range(LANES):
            for c in range(8):
                image[l][column + c] = image[l][column + c] + rank & M32
            expected.append(hash_of(image[l]))
    case.buffer("out", "out0", 4, expected)
    finish(case, body + end(WIDTH, 2))


# ---- shift, commit
# ------------------------------------------------------------------------------------------


def shift_case():
    case = new_case("tcgen05_shift",
                    "tcgen05.shift of 32 lanes x 8 columns, and a row copied in behind it")
    lane, column, source = 64, 9, Source("none", 128, leading=128)
    body = begin(WIDTH, barriers=True) + fill_shared() + fill(WIDTH) + publish()
    body += first_thread(
        descriptor(source)
        + [
            f"    add.u32 %at, %tmem, {column + (lane << 16)};",
            "    tcgen05.shift.cta_group::1.down [%at];",
            f"    add.u32 %at, %tmem, {column + (31 << 16)};",
            "    tcgen05.cp.cta_group::1.4x256b [%at], %desc;",
            f"    add.u32 %at, %tmem, {column + 9 + (32 << 16)};",
            "    tcgen05.shift.cta_group::1.down [%at];",
        ]
        + commit()
    )
    body += wait(0) + read_back(WIDTH, "out0")
    image = [[pattern(l, c) for c in range(WIDTH)] for l in range(LANES)]
    for first, at in ((lane, column), (32, column + 9)):
        for row in range(first, first + 31):
            image[row][at : at + 8] = image[row + 1][at : at + 8]
    copied(image, "4x256b", source, column, lane=31)
    case.buffer("out", "out0", 4, [hash_of(row) for row in image])
    finish(case, body + end(WIDTH))


def commit_case():
    """Addresses in every form; the phase that each thread saw."""
    case = new_case("tcgen05_commit", "tcgen05.commit: 32-bit, 64-bit, generic, remote", grid=2,
                    cluster=2)
    body = begin(WIDTH, barriers=True) + ["    mov.u32 %rank, %cluster_ctarank;"]
    commit_ = "tcgen05.commit.cta_group::1.mbarrier::arrive::one"
    forms = [
        [f"    {commit_}.shared::cluster.b64 [%m];"],
        ["    cvt.u64.u32 %g, %m;", f"    {commit_}.shared::cluster.b64 [%g];"],
        ["    cvt.u64.u32 %g, %m;", "    cvta.shared.u64 %g, %g;", f"    {commit_}.b64 [%g];"],
        # no generic address: its low half is taken
        ["    cvt.u64.u32 %g, %m;", f"    {commit_}.b64 [%g];"],
        [
            "    xor.b32 %x, %rank, 1;",
            "    mapa.shared::cluster.u32 %y, %m, %x;",
            f"    {commit_}.shared::cluster.b64 [%y];",
        ],
    ]
    for phase, form in enumerate(forms):
        body += cluster_barrier()  # the other CTA has waited for the phase before
        body += first_thread(form) + wait(phase % 2)
    body += ["    mad.lo.u32 %lane, %rank, 128, %t;", "    add.u32 %h, %lane, 7;"]
    body += pointer("out0", 4, "%lane") + ["    st.global.b32 [%p], %h;"] + cluster_barrier()
    case.buffer("out", "out0", 4, [7 + i for i in range(256)])
    finish(case, body + end(WIDTH))


# ---- alloc
# ------------------------------------------------------------------------------------------


def alloc_case():
    """Allocations do not meet; one that finds no columns waits for a dealloc; freed columns are
    given out again."""
    case = new_case("tcgen05_alloc", "tcgen05.alloc: several, one that has to wait, all freed",
                    block=64)
    skip, other = new_label(), new_label()
    body = list(REGISTERS_OF_KERNEL)
    alloc = "tcgen05.alloc.cta_group::1.sync.aligned"
    dealloc = "tcgen05.dealloc.cta_group::1.sync.aligned.b32"
    body += [
        "    .shared .align 4 .b8 slots[16];",
        "    mov.u32 %s, slots;",
        "    cvt.u64.u32 %g, %s;",
        "    cvta.shared.u64 %g, %g;",
        f"    @!%warp0 bra {skip};",
        f"    {alloc}.shared::cta.b32 [%s], 256;",
        f"    {alloc}.shared::cta.b32 [%s + 4], 128;",
        "    mov.u32 %x, 128;",
        f"    {alloc}.b32 [%g + 8], %x;",
        f"{skip}:",
        "    bar.sync 0;",
    ]
    body += [f"    ld.shared.b32 %r{i}, [%s + {4 * i}];" for i in range(3)]
    body += [
        f"    @%warp0 bra {other};",
        f"    {alloc}.shared::cta.b32 [%s + 12], 64;",  # all 512 are taken: waits for warp 0
        "    bra joined;",
        f"{other}:",
        f"    {dealloc} %r1, 128;",
        "joined:",
        "    bar.sync 0;",
        "    ld.shared.b32 %r3, [%s + 12];",
    ]
    # Bits of 32-column units: the three first make 0xffff, the fourth lies in the second.
    for i, units in enumerate((8, 4, 4, 2)):
        body += [
            f"    shr.u32 %x, %r{i}, 5;",
            f"    shl.b32 %r{i + 4}, {(1 << units) - 1}, %x;",
        ]
    body += [
        "    or.b32 %h, %r4, %r5;",
        "    or.b32 %h, %h, %r6;",
        "    and.b32 %x, %r7, %r5;",
        "    sub.u32 %x, %x, %r7;",  # 0: inside
        "    shl.b32 %x, %x, 16;",
        "    or.b32 %h, %h, %x;",
    ]
    body += pointer("out0", 4) + ["    st.global.b32 [%p], %h;"]
    done = new_label()
    body += [
        "    bar.sync 0;",
        f"    @!%warp0 bra {done};",
        f"    {dealloc} %r0, 256;",
        f"    {dealloc} %r2, 128;",
        f"    {dealloc} %r3, 64;",
        "    tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;",
        f"{done}:",
    ]
    case.buffer("out", "out0", 4, [0xFFFF] * 64)
    finish(case, body)


def generate():
    ld_st_cases()
    cp_cases()
    pair_case()
    shift_case()
    commit_case()
    alloc_case()
