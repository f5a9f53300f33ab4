# All combinations: about a minute of one core.
add_test(NAME differential/test_emulator_scatter_add_all COMMAND test_emulator_scatter_add 1
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
set_tests_properties(differential/test_emulator_scatter_add_all PROPERTIES LABELS "differential;slow"
    TIMEOUT 1500)
