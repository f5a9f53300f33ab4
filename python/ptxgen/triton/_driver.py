"""A Triton driver whose device is the emulator."""

import sys
from typing import NamedTuple

from triton.backends.compiler import GPUTarget
from triton.backends.driver import DriverBase
from triton.runtime import _allocation

from .. import emulator
from ._arguments import Memory, flatten, pack

_MAX_SHARED = 232448  # bytes of a CTA, of sm_90 and sm_100


class Settings(NamedTuple):
    """What enable() chose."""

    capability: int = 90
    sms: int = 132
    check: bool = False
    order: str = "hw"
    seed: int = 0
    threads: int = 0
    trust_pointers: bool = False


_settings = Settings()
_reports = []
_measuring = False  # inside of a benchmark: kernels are loaded, not run


def settings():
    return _settings


def choose(new):
    global _settings
    _settings = new


def reports():
    """What checking found since enable(check=True): (kernel's name, ptxgen.emulator.Report)."""
    return list(_reports)


class Function:
    """A compiled kernel, which is its PTX; loaded when it is first launched."""

    def __init__(self, name, ptx):
        self.name, self._ptx = name, ptx.decode() if isinstance(ptx, bytes) else ptx
        self._loaded = {}
        self._reported = 0

    def kernel(self, trust_pointers=False):
        key = (trust_pointers, _settings)
        if key not in self._loaded:
            self._loaded[key] = emulator.Kernel(
                self._ptx, self.name, check=_settings.check, order=_settings.order,
                seed=_settings.seed,
                threads=_settings.threads, trust_pointers=trust_pointers)
        return self._loaded[key]

    def tell(self, kernel):
        """Keeps what checking has found anew, and says it."""
        found = kernel.result.reports
        for report in found[self._reported:]:
            _reports.append((self.name, report))
            print(f"ptxgen: {self.name}: PTX {report}", file=sys.stderr)
        self._reported = len(found)


class Utils:
    """What Triton asks of a driver's library."""

    @staticmethod
    def load_binary(name, ptx, shared, device):
        function = Function(name, ptx)
        # module, function, registers (ptxas chooses them; these fit any block), spills, threads
        return function, function, 64, 0, 1024

    @staticmethod
    def unload_module(module):
        pass

    @staticmethod
    def get_device_properties(device):
        return {"max_shared_mem": _MAX_SHARED, "max_num_regs": 65536,
                "multiprocessor_count": _settings.sms,
                "warpSize": 32, "sm_clock_rate": 1, "mem_clock_rate": 1, "mem_bus_width": 1}

    @staticmethod
    def cuOccupancyMaxActiveClusters(function, shared, *cluster):
        size = 1
        for n in cluster:
            size *= n
        return _settings.sms // size

    @staticmethod
    def set_printf_fifo_size(size):
        pass

    @staticmethod
    def is_stream_capturing(stream):
        return False


class Launcher:
    """Runs a kernel: made by Triton for each compiled one."""

    def __init__(self, src, metadata):
        self._signature = list(src.signature.values())
        self._metadata = metadata
        self._descriptors = getattr(metadata, "tensordesc_meta", None) or None

    def __call__(self, grid_x, grid_y, grid_z, stream, function, packed, launch_metadata,
                 enter_hook, exit_hook, *args):
        m = self._metadata
        grid = (grid_x, grid_y, grid_z)
        if _measuring or 0 in grid:
            return
        memory = Memory()
        flat = flatten(self._signature, args,
                       iter(self._descriptors) if self._descriptors else None, memory)
        scratch = self._scratch(grid, stream)  # held until the kernel has ended
        flat += [("*", memory.add(s)) for s in scratch]
        kernel = function.kernel(memory.unknown or _settings.trust_pointers)
        params = [pack(kind, value, size) for (kind, value), (_, size) in zip(flat, kernel.params)]
        ctas = getattr(m, "num_ctas", 1)
        block = kernel.block if kernel.block[0] else (32 * m.num_warps, 1, 1)
        if enter_hook is not None:
            enter_hook(launch_metadata)
        kernel.launch(params, (grid_x * ctas, grid_y, grid_z), block,
                      cluster=(ctas, 1, 1) if ctas > 1 else 0,
                      dynamic_shared=m.shared,
                      cooperative=bool(getattr(m, "launch_cooperative_grid", False)),
                      buffers=memory.buffers())
        if _settings.check:
            function.tell(kernel)
        if exit_hook is not None:
            exit_hook(launch_metadata)

    def _scratch(self, grid, stream):
        m = self._metadata
        count = grid[0] * grid[1] * grid[2] * getattr(m, "num_ctas", 1)
        size, profile = getattr(m, "global_scratch_size", 0), getattr(m, "profile_scratch_size", 0)
        made = _allocation._allocator.get()(count * size, m.global_scratch_align,
                                            stream) if size else None
        return [made, _zeros(count * profile) if profile else None]


def _zeros(size):
    import torch

    return torch.zeros(size, dtype=torch.int8)


def once(call, quantiles=None, **_):
    """A benchmark of a kernel: whether it fits is all that is found; no time means anything."""
    global _measuring
    _measuring = True
    try:
        call()
    finally:
        _measuring = False
    return [1.0] * len(quantiles) if quantiles else 1.0


class Driver(DriverBase):
    def __init__(self):
        self.utils = Utils()
        self.launcher_cls = Launcher

    def get_current_device(self):
        return 0

    def set_current_device(self, device):
        pass

    def get_current_stream(self, device=0):
        return 0

    def get_device_capability(self, device=0):
        return divmod(_settings.capability, 10)

    def get_current_target(self):
        return GPUTarget("cuda", _settings.capability, 32)

    def get_active_torch_device(self):
        import torch

        return torch.device("cpu")

    def get_device_interface(self):
        import torch

        return torch.cuda

    @staticmethod
    def is_active():
        return True

    def map_python_to_cpp_type(self, ty):
        from triton.backends.nvidia.driver import ty_to_cpp

        return ty_to_cpp(ty)

    def allocate_default_profile_scratch(self, size, alignment, stream):
        return _zeros(size)

    def assemble_tensormap_to_arg(self, tensormaps_info, args):
        return args

    def get_benchmarker(self):
        return once

    def get_empty_cache_for_benchmark(self):
        return _zeros(1)

    def clear_cache(self, cache):
        cache.zero_()
