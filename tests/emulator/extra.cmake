# 100 seeds of order=isa for every scatter_add kernel.
add_test(NAME emulator/test_emulator_scatter_seeds COMMAND test_emulator_scatter 100
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
set_tests_properties(emulator/test_emulator_scatter_seeds PROPERTIES LABELS "emulator;slow" TIMEOUT 1500)
# The Blackwell matmul on every odd shape and on the problems of its reference test: some minutes.
add_test(NAME emulator/test_emulated_matmul_large COMMAND test_emulated_matmul_accumulate large
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
set_tests_properties(emulator/test_emulated_matmul_large PROPERTIES LABELS "emulator;slow" TIMEOUT 3000)

# 50 seeds of order=isa in checking mode for every Blackwell family: about a minute.
add_test(NAME emulator/test_emulator_tcgen05_all_seeds COMMAND test_emulator_tcgen05_seeds 50
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
set_tests_properties(emulator/test_emulator_tcgen05_all_seeds PROPERTIES LABELS "emulator;slow" TIMEOUT 1500)
