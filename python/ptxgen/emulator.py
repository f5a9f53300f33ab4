"""Runs and checks PTX for NVIDIA GPUs on the CPU.

    ptx = open("scale.ptx").read()
    print(ptxgen.emulator.entries(ptx))
    result = ptxgen.emulator.run(ptx, [x, n, 2.0], grid=8, block=128, check=True)
    for report in result.reports: print(report)
"""

from typing import NamedTuple

from . import _core


class Report(NamedTuple):
    """One defect that checking found: kind ("RACE_SHARED"), severity ("undefined", "reliance",
    "advice"), PTX lines, the first place and threads, and how often it was met. docs/checking.md
    explains the kinds."""

    kind: str
    name: str
    severity: str
    line: int
    other_line: int
    where: str
    text: str
    count: int
    cta: tuple
    warp: int
    lane: int

    def __str__(self):
        return f"line {self.line}: {self.name} ({self.where}): {self.text}"


class Result(NamedTuple):
    """What a run says beside the memory that it wrote."""

    reports: tuple
    warp_instructions: int
    global_read: int
    global_written: int
    left_out: int  # times that reports were met which are not kept: 2,000 of a kind are

    @property
    def defects(self):
        """Reports that are no mere advice."""
        return [r for r in self.reports if r.severity != "advice"]


def _three(value, rest):
    sizes = (value,) if isinstance(value, int) else tuple(value)
    if not 1 <= len(sizes) <= 3:
        raise ValueError(f"{value!r}: give one to three numbers")
    return sizes + (rest,) * (3 - len(sizes))


def entries(ptx):
    """The entries of a text and their parameters, {name: [(parameter, bytes), ...]}. ParseError
    where the text is no PTX, Unsupported where an entry reaches an instruction that the emulator
    does not execute, with the line."""
    return _core.emulate_check(ptx)


def run(ptx, args, grid=1, block=1, *, entry=None, cluster=0, dynamic_shared=0, check=False,
        order="hw", seed=0,
        threads=0, instruction_budget=0):
    """Runs an entry (the only one by default) on arrays of the CPU and numbers; arrays are changed
    in place.

    args: arrays (their address is the argument, and what the kernel may touch), ints, floats, bytes
    (a struct by value). check: watches the kernel for races, missing fences and misuse; see
    Result.reports. order="isa": whatever the ISA does not order is drawn from seed. EmulatorError:
    the kernel did something undefined, with its line."""
    if order not in ("hw", "isa"):
        raise ValueError(f"order={order!r}: it is 'hw' or 'isa'")
    found = _core.emulate_run(ptx, entry, list(args), _three(grid, 1), _three(block, 1),
                              _three(cluster, 0 if cluster == 0 else 1),
                              dynamic_shared, check, order == "isa", seed, threads,
                              instruction_budget)
    return Result(tuple(Report(**r) for r in found["reports"]), found["warp_instructions"],
                  found["global_read"],
                  found["global_written"], found["left_out"])


class Kernel:
    """An entry that stays loaded, for many launches with parameters as bytes, as a driver has them.

        kernel = ptxgen.emulator.Kernel(ptx)
        kernel.launch([struct.pack("Q", x.ctypes.data), struct.pack("I", n)], grid=8, block=128,
                      buffers=[(x.ctypes.data, x.nbytes)])

    check, order, seed, threads, instruction_budget: as run has them. trust_pointers: the kernel may
    use any address of this process; else what `buffers` of a launch name. Attributes: name, params
    [(name, bytes)], static_shared and local (bytes), block and cluster (0: any)."""

    def __init__(self, ptx, entry=None, *, check=False, order="hw", seed=0, threads=0,
                 instruction_budget=0,
                 trust_pointers=False):
        if order not in ("hw", "isa"):
            raise ValueError(f"order={order!r}: it is 'hw' or 'isa'")
        self._kernel = _core.kernel_load(ptx, entry, check, order == "isa", seed, threads,
                                         instruction_budget,
                                         trust_pointers)
        self.name, self.params, self.static_shared, self.local, self.block, self.cluster = (
            _core.kernel_info(self._kernel)
        )

    def launch(self, params, grid=1, block=1, *, cluster=0, dynamic_shared=0, cooperative=False,
               buffers=()):
        """Runs the grid. params: bytes, one value a parameter. buffers: (address, bytes), not
        overlapping, alive until it returns. EmulatorError: the kernel did something undefined, with
        its line."""
        _core.kernel_launch(self._kernel, list(params), _three(grid, 1), _three(block, 1),
                            _three(cluster, 0 if cluster == 0 else 1), dynamic_shared, cooperative,
                            list(buffers))

    @property
    def result(self):
        """Of all launches so far."""
        found = _core.kernel_result(self._kernel)
        return Result(tuple(Report(**r) for r in found["reports"]), found["warp_instructions"],
                      found["global_read"],
                      found["global_written"], found["left_out"])


def tensor_map(data_type, address, dims, strides, box, *, element_strides=None, swizzle=0,
               oob_fill=0, im2col_pixels=0,
               lower=(), upper=()):
    """128 bytes that a kernel takes for a tensor map: cuTensorMapEncodeTiled's values and numbers,
    innermost dimension first, strides in bytes. With im2col_pixels cuTensorMapEncodeIm2col's:
    box[0] is then the channels of a pixel."""
    steps = [1] * len(dims) if element_strides is None else list(element_strides)
    return _core.tensor_map(data_type, address, list(dims), list(strides), list(box), steps,
                            swizzle, oob_fill,
                            im2col_pixels, list(lower), list(upper))
