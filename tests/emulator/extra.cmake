# 100 seeds of order=isa for every scatter_add kernel.
add_test(NAME emulator/test_emulator_scatter_seeds COMMAND test_emulator_scatter 100
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
set_tests_properties(emulator/test_emulator_scatter_seeds PROPERTIES LABELS "emulator;slow" TIMEOUT 1500)
