
# Every 13th combination, and all of them: about a minute of one core.
set_kind(kernels/scatter_add/test_emulator_scatter_add differential 300)
add_run(kernels/scatter_add/test_emulator_scatter_add_all slow 1500 test_emulator_scatter_add 1)
# 100 seeds of order=isa for every kernel.
add_run(kernels/scatter_add/test_emulator_scatter_seeds slow 1500 test_emulator_scatter 100)
# Thousands of kernels through an assembler: minutes, so apart from the quick tests.
set_kind(kernels/scatter_add/test_assemble_scatter_add assemble 1500)
