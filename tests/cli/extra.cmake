# Parts of the command, tested on their own.
target_sources(test_npy PRIVATE ${PROJECT_SOURCE_DIR}/tools/npy_header.c
    ${PROJECT_SOURCE_DIR}/tools/npy_file.c ${PROJECT_SOURCE_DIR}/tools/ptxgen_fail.c)
target_sources(test_scatter_check PRIVATE ${PROJECT_SOURCE_DIR}/tools/ptxgen_scatter_check.c
    ${PROJECT_SOURCE_DIR}/tools/ptxgen_fail.c)
foreach(test test_npy test_scatter_check)
    target_include_directories(${test} PRIVATE ${PROJECT_SOURCE_DIR}/tools)
endforeach()
