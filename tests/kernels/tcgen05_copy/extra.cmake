set_kind(kernels/tcgen05_copy/test_emulator_tcgen05_copy differential 300)
# 50 seeds of order=isa in checking mode.
add_run(kernels/tcgen05_copy/test_emulator_tcgen05_copy_seeds slow 1500 test_emulator_tcgen05_copy 50)
