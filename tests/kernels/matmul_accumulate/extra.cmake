set_kind(kernels/matmul_accumulate/test_emulator_matmul_accumulate differential 300)
# The Blackwell kernels on every odd shape and on the problems of the reference test: some minutes.
add_run(kernels/matmul_accumulate/test_emulated_matmul_large slow 3000 test_emulated_matmul_accumulate large)
set_kind(kernels/matmul_accumulate/test_hopper_assembly assemble 600)
