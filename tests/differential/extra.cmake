# All combinations: about a minute of one core.
add_test(NAME differential/test_emulator_scatter_add_all COMMAND test_emulator_scatter_add 1
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
set_tests_properties(differential/test_emulator_scatter_add_all PROPERTIES LABELS "differential;slow"
    TIMEOUT 1500)
# 50 seeds of order=isa in checking mode for kernels of tcgen05_copy.
add_test(NAME differential/test_emulator_tcgen05_copy_seeds COMMAND test_emulator_tcgen05_copy 50
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
set_tests_properties(differential/test_emulator_tcgen05_copy_seeds PROPERTIES LABELS "differential;slow"
    TIMEOUT 1500)
# The grids of matmul_scaled's reference test: several minutes.
add_test(NAME differential/test_emulator_matmul_scaled_grid COMMAND test_emulator_matmul_scaled grid
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
set_tests_properties(differential/test_emulator_matmul_scaled_grid PROPERTIES LABELS "differential;slow"
    TIMEOUT 6000)
