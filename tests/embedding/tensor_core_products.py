"""A pytest plugin: products of 16-bit matrices are those of ptxgen's kernel for sm_100a on the
emulator, so that a tutorial compares two sums of the same unit, as it does on a GPU. A sum of the
CPU is more exact than the tensor core's, by more than two of the tutorials allow."""

import ptxgen
import torch


def product(a, b):
    return ptxgen.matmul(a, b, params="arch=sm_100a").to(a.dtype)


torch.mm = torch.Tensor.__matmul__ = product
