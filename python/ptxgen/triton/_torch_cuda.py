"""PyTorch for programs that were written for a GPU: device="cuda" is the CPU, torch.cuda answers
for the emulator."""

import contextlib
import time
import types

import torch
from torch.overrides import TorchFunctionMode

from . import _driver
from ._arguments import Memory


def _is_cuda(device):
    if isinstance(device, torch.device):
        return device.type == "cuda"
    return isinstance(device, int) and not isinstance(device, bool) or isinstance(device,
        str) and device.startswith("cuda")


def _layer_norm(x, shape, weight=None, bias=None, eps=1e-5):
    """A GPU sums halves in float32, the CPU's layer_norm in halves: its gradients are too coarse to
    compare with."""
    wide = [None if t is None else t.float() for t in (weight, bias)]
    return torch.nn.functional.layer_norm(x.float(), shape, *wide, eps).to(x.dtype)


class CudaIsCpu(TorchFunctionMode):
    """Functions that are told a device "cuda" work on the CPU."""

    def __torch_function__(self, func, kinds, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        name = getattr(func, "__name__", "")
        if func is torch.Tensor.data_ptr:
            Memory.take(args[0])
        elif name == "cuda" and args and isinstance(args[0], torch.Tensor):
            return args[0]
        elif func == torch.Tensor.is_cuda.__get__:
            return True
        if "device" in kwargs and _is_cuda(kwargs["device"]):
            kwargs["device"] = "cpu"
        elif name == "to" and len(args) > 1 and not isinstance(args[1], int) and _is_cuda(args[1]):
            args = (args[0], "cpu", *args[2:])
        kwargs.pop("pin_memory", None)
        if func is torch.nn.functional.layer_norm and args[0].dtype == torch.float16:
            return _layer_norm(*args, **kwargs)
        return func(*args, **kwargs)


class Event:
    """Work is done when it is submitted: an event is the time at which it was recorded."""

    def __init__(self, **_):
        self._when = 0.0

    def record(self, stream=None):
        self._when = time.perf_counter()

    def synchronize(self):
        pass

    wait = synchronize

    def query(self):
        return True

    def elapsed_time(self, end):
        return (end._when - self._when) * 1e3


class Stream:
    cuda_stream = 0

    def __init__(self, *_, **__):
        pass

    def synchronize(self):
        pass

    def wait_stream(self, other):
        pass

    def wait_event(self, event):
        pass

    def record_event(self, event=None):
        event = event or Event()
        event.record()
        return event


def _properties(device=None):
    s = _driver.settings()
    major, minor = divmod(s.capability, 10)
    return types.SimpleNamespace(
        name=f"ptxgen emulator sm_{s.capability}", major=major, minor=minor,
        multi_processor_count=s.sms, warp_size=32,
        total_memory=16 << 30, L2_cache_size=50 << 20,
        shared_memory_per_block_optin=_driver._MAX_SHARED,
        shared_memory_per_multiprocessor=_driver._MAX_SHARED + 1024,
        max_threads_per_multi_processor=2048,
        regs_per_multiprocessor=65536)


def install():
    """For the rest of the process."""
    cuda = torch.cuda
    stream = Stream()
    cuda.is_available = lambda: True
    cuda.device_count = lambda: 1
    cuda.current_device = lambda: 0
    cuda.set_device = cuda.synchronize = cuda.empty_cache = cuda.init = lambda *_, **__: None
    cuda.get_device_capability = lambda device=None: divmod(_driver.settings().capability, 10)
    cuda.get_device_properties = _properties
    cuda.get_device_name = lambda device=None: _properties().name
    cuda.current_stream = cuda.default_stream = lambda device=None: stream
    cuda.stream = cuda.device = lambda *_: contextlib.nullcontext()
    cuda.Stream, cuda.Event = Stream, Event
    cuda.max_memory_allocated = cuda.memory_allocated = lambda device=None: 0
    cuda.reset_peak_memory_stats = lambda device=None: None
    mode = CudaIsCpu()
    mode.__enter__()
    return mode
