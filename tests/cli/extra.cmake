# The command's .npy reader, tested on its own.
target_sources(test_npy PRIVATE ${PROJECT_SOURCE_DIR}/tools/npy_header.c
    ${PROJECT_SOURCE_DIR}/tools/npy_file.c ${PROJECT_SOURCE_DIR}/tools/ptxgen_fail.c)
target_include_directories(test_npy PRIVATE ${PROJECT_SOURCE_DIR}/tools)
