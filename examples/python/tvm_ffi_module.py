"""ptxgen's operations through TVM's FFI, on tensors of PyTorch."""
# Needs: torch, tvm_ffi
import torch

import ptxgen.tvm_ffi

module = ptxgen.tvm_ffi.load()
out = torch.zeros(2, 4)
module.scatter_add(out, torch.tensor([1, 0, 1]), torch.ones(3, 4))
print(out[:, 0].tolist())  # [1.0, 2.0]
