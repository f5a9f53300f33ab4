# All generators of the cases: minutes of Python.
add_run(emulator/generated_all slow 3000 ${BASH} ${CMAKE_CURRENT_SOURCE_DIR}/emulator/generated.sh)
set_tests_properties(emulator/generated_all PROPERTIES
    ENVIRONMENT "PTXGEN_SOURCE=${PROJECT_SOURCE_DIR};GENERATORS=all")
