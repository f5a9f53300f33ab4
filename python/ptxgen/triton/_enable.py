"""Puts the emulator in the place of Triton's NVIDIA backend."""

import re

import triton
from triton.backends import Backend, backends
from triton.backends.nvidia.compiler import CUDABackend
from triton.runtime.autotuner import Autotuner

from . import _driver


class Compiler(CUDABackend):
    """Triton's own, which stops at PTX."""

    def make_cubin(self, src, metadata, opt, capability):
        return src.encode()

    def hash(self):
        # the cache must not mix our texts with cubins; the assembler's version is of no account
        return f"ptxgen-emulator-{triton.__version__}-{self.target.arch}"


def _capability(arch):
    found = re.fullmatch(r"sm_(\d+)[af]?", arch)
    if not found or int(found.group(1)) not in (80, 86, 89, 90, 100):
        raise ValueError(f"arch={arch!r}: sm_80, sm_86, sm_89, sm_90 and sm_100 are emulated")
    return int(found.group(1))


def _tune_once():
    """Autotuning measures; here the first configuration that fits is as good as any, and others
    need not compile."""
    if hasattr(Autotuner, "_ptxgen"):
        return
    prune, bench = Autotuner.prune_configs, Autotuner._bench

    def prune_configs(self, *args, **kwargs):
        self._ptxgen_found = False
        return prune(self, *args, **kwargs)

    def _bench(self, *args, **kwargs):
        if self._ptxgen_found:
            return [float("inf")] * 3
        times = bench(self, *args, **kwargs)
        self._ptxgen_found = times[0] != float("inf")
        return times

    Autotuner.prune_configs, Autotuner._bench, Autotuner._ptxgen = prune_configs, _bench, True


def enable(arch="sm_90", *, sms=132, check=False, order="hw", seed=0, threads=0,
           trust_pointers=False):
    """From now on Triton's kernels run on the emulator, on tensors of the CPU.

    arch: what is compiled for. sms: how many multiprocessors programs are told. check: find races
    and misuse, as reports() tells. order="isa": what the ISA does not order is drawn from seed.
    threads: of the host, 0 for one a processor (checking and order="isa" use one). trust_pointers:
    kernels may use any address of the process."""
    if order not in ("hw", "isa"):
        raise ValueError(f"order={order!r}: it is 'hw' or 'isa'")
    _driver.choose(
        _driver.Settings(_capability(arch), sms, check, order, seed, threads, trust_pointers)
    )
    backends["nvidia"] = Backend(compiler=Compiler, driver=_driver.Driver)
    for name in [n for n in backends if n != "nvidia"]:
        del backends[name]
    triton.runtime.driver.set_active(_driver.Driver())
    _tune_once()
