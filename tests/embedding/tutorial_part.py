"""The checks of Triton's tutorials 09 and 10, of the file that the argument names, on small
problems: their main programs multiply matrices of 8192 x 8192 and measure. What they compare with
is left out where it is code of a GPU (cuBLAS)."""

import importlib.util
import sys

import torch

spec = importlib.util.spec_from_file_location("tutorial", sys.argv[1])
tutorial = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tutorial)
# cuBLAS cannot be torn down without a GPU
kept = [getattr(tutorial, name, None) for name in ("cublas", "device_blas")]
tutorial.cublas = tutorial.device_blas = None
torch.manual_seed(0)
if hasattr(tutorial, "validate_block_scaled"):
    if tutorial.supports_block_scaling():
        for form in ("mxfp4", "nvfp4", "mxfp8", "mixed"):
            tutorial.validate_block_scaled(512, 512, 512, block_scale_type=form)
else:
    for dtype in (torch.float16, torch.float8_e4m3fn):
        tutorial.validate(32, 32, 32, dtype)
        tutorial.validate(512, 640, 256, dtype)
