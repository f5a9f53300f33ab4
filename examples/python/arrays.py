"""Operations on the arrays of NumPy; those of PyTorch, CuPy and JAX go the same way. Without a GPU:
the emulator."""
# Needs: numpy
import numpy as np

import ptxgen

out = np.zeros((2, 4), np.float32)
ptxgen.scatter_add_(out, np.array([1, 0, 1]), np.array([[1] * 4, [2] * 4, [4] * 4], np.float32))
print(out[:, 0])  # [2. 5.]
try:
    ptxgen.scatter_add_(out, np.array([0, 5]), np.ones((2, 4), np.float32))
except IndexError as error:
    print(str(error).partition(":")[0])  # index[1] = 5 is out of range
