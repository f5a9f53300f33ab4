set_kind(kernels/matmul_scaled/test_emulator_matmul_scaled differential 300)
# The grids of the reference test: several minutes.
add_run(kernels/matmul_scaled/test_emulator_matmul_scaled_grid slow 6000 test_emulator_matmul_scaled grid)
