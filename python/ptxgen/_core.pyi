# What the C module offers; ptxgen exports it. Arrays are anything with __dlpack__ or the C exchange API.
from typing import Any, Literal, TypeVar

_Array = TypeVar("_Array")
_Stream = Any
_Epilogue = Literal["none", "relu", "squared_relu", "gelu_tanh", "gelu_erf", "silu", "sigmoid", "tanh"]
_Format = Literal["mxfp8", "mxfp4", "nvfp4"]
_Oob = Literal["record", "trap", "unchecked"]
__version__: str

class Error(Exception):
    status: str
    driver_error: int
    file: str
    line: int

class InvalidArgument(Error, ValueError): ...
class Unsupported(Error, NotImplementedError): ...
class OutOfMemory(Error, MemoryError): ...
class AssembleError(Error, RuntimeError): ...
class DriverError(Error, RuntimeError): ...
class FileError(Error, OSError): ...
class Missing(Error, RuntimeError): ...
class CaptureError(Error, RuntimeError): ...
class IndexOutOfRange(Error, IndexError): ...
class ParseError(Error, ValueError): ...
class EmulatorError(Error, RuntimeError): ...
class BudgetError(Error, RuntimeError): ...
class Pending(Error, RuntimeError): ...

class Plan:
    @property
    def rows(self) -> int: ...
    @property
    def out_rows(self) -> int: ...

class IndexWatch:
    def start(self, stream: _Stream = None) -> None: ...
    def poll(self) -> bool: ...

def scatter_add_(
    out: _Array,
    index: Any = None,
    src: Any = None,
    *,
    weight: Any = None,
    src_index: Any = None,
    alpha: float = 1,
    plan: Plan | None = None,
    deterministic: bool = False,
    accumulate_f32: bool = False,
    reduce: Literal["add", "min", "max", "mean", "mul"] = "add",
    padding_index: int | None = None,
    schedule: Literal["auto", "seed", "bulk", "vector", "owner", "private"] = "auto",
    oob: _Oob = "record",
    dynamic_n: bool = False,
    watch: IndexWatch | None = None,
    stream: _Stream = None,
) -> _Array: ...
def gather_rows(src: _Array, index: Any, out: _Array | None = None, *, oob: _Oob = "record", stream: _Stream = None) -> _Array: ...
def matmul(
    a: _Array,
    b: _Array,
    c: _Array | None = None,
    *,
    out: _Array | None = None,
    alpha: float = 1,
    beta: float = 1,
    epilogue: _Epilogue = "none",
    params: str | None = None,
    stream: _Stream = None,
) -> _Array: ...
def matmul_scaled(
    a: _Array,
    b: _Array,
    a_scales: _Array,
    b_scales: _Array,
    out: _Array | None = None,
    *,
    row_scale: _Array | None = None,
    col_scale: _Array | None = None,
    bias: _Array | None = None,
    a_format: _Format = "mxfp8",
    b_format: _Format = "mxfp8",
    out_dtype: Literal["float32", "float16", "bfloat16"] = "float32",
    epilogue: _Epilogue = "none",
    stream: _Stream = None,
) -> _Array: ...
def call(family: str, *operands: Any, params: str | None = None, stream: _Stream = None) -> None: ...
def plan(index: Any, out_rows: int, *, padding_index: int | None = None, stream: _Stream = None) -> Plan: ...
def index_watch(cuda: bool = True) -> IndexWatch: ...
def prefetch(family: str, *operands: Any, params: str | None = None) -> str: ...
def ready(family: str, *operands: Any, params: str | None = None) -> bool: ...
def check_indices(stream: _Stream = None) -> None: ...
def emit(family: str, params: str = "") -> dict[str, Any]: ...
def compile(family: str, params: str = "") -> dict[str, Any]: ...
def families() -> dict[str, str]: ...
def cache_info(cuda: bool = True) -> dict[str, Any]: ...
def cache_clear(cuda: bool = True, disk: bool = False) -> None: ...
def manifest_write(path: str, cuda: bool = True) -> None: ...
def pack_scales(scales: bytes, rows: int, groups: int) -> bytes: ...
def emulate_run(
    ptx: str,
    entry: str | None,
    args: list[Any],
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    cluster: tuple[int, int, int],
    dynamic_shared: int,
    check: bool,
    isa_order: bool,
    seed: int,
    threads: int,
    instruction_budget: int,
) -> dict[str, Any]: ...
def emulate_check(ptx: str) -> dict[str, list[tuple[str, int]]]: ...
def kernel_load(
    ptx: str,
    entry: str | None,
    check: bool,
    isa_order: bool,
    seed: int,
    threads: int,
    instruction_budget: int,
    trust_pointers: bool,
) -> Any: ...
def kernel_info(
    kernel: Any,
) -> tuple[str, list[tuple[str, int]], int, int, tuple[int, int, int], tuple[int, int, int]]: ...
def kernel_launch(
    kernel: Any,
    params: list[bytes],
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    cluster: tuple[int, int, int],
    dynamic_shared: int,
    cooperative: bool,
    buffers: list[tuple[int, int]],
) -> None: ...
def kernel_result(kernel: Any) -> dict[str, Any]: ...
def tensor_map(
    data_type: int,
    address: int,
    dims: list[int],
    strides: list[int],
    box: list[int],
    element_strides: list[int],
    swizzle: int,
    oob_fill: int,
    im2col_pixels: int,
    lower: list[int],
    upper: list[int],
) -> bytes: ...
def xla_handler(name: str, cuda: bool) -> Any: ...
