"""The cache of this process's contexts: one for arrays on CUDA, one for the emulator. Where kernels
lie on disk, and what is in the folder, is shown and changed by the command `ptxgen cache`."""

from . import _core


def info(cuda=True):
    """Counters as a dict: memory_hits, disk_hits, misses (assemblies), entries, stores, evicted,
    pending; dir and on_disk say where kernels are kept, why_off why the folder that was asked for
    is not used."""
    return _core.cache_info(cuda)


def clear(cuda=True, disk=False):
    """Forgets the kernels in memory, with `disk` also those in the folder."""
    _core.cache_clear(cuda, disk)


def write_manifest(path, cuda=True):
    """Writes the kernels that this process has asked for, a line each, for `ptxgen prewarm`."""
    import os

    _core.manifest_write(os.fspath(path), cuda)
