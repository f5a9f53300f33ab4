# Parts of the command, tested on their own.
target_sources(test_npy PRIVATE ${PROJECT_SOURCE_DIR}/tools/npy_header.c
    ${PROJECT_SOURCE_DIR}/tools/npy_file.c ${PROJECT_SOURCE_DIR}/tools/ptxgen_fail.c)
target_sources(test_scatter_check PRIVATE ${PROJECT_SOURCE_DIR}/tools/ptxgen_scatter_check.c
    ${PROJECT_SOURCE_DIR}/tools/ptxgen_value.c ${PROJECT_SOURCE_DIR}/tools/ptxgen_fail.c)
target_sources(test_run_check PRIVATE ${PROJECT_SOURCE_DIR}/tools/ptxgen_run_check.c
    ${PROJECT_SOURCE_DIR}/tools/ptxgen_value.c)
foreach(test test_npy test_run_check test_scatter_check)
    target_include_directories(${test} PRIVATE ${PROJECT_SOURCE_DIR}/tools)
endforeach()
