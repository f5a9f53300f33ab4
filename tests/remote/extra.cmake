# What a test starts as `ccache-storage-test`.
add_executable(storage_helper ${PROJECT_SOURCE_DIR}/tests/support/storage_helper/storage_helper.c)
set_target_properties(storage_helper PROPERTIES OUTPUT_NAME ccache-storage-test
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/storage_helper)
ptxgen_compile_options(storage_helper)
target_compile_options(storage_helper PRIVATE -fno-sanitize=all) # it stands alone, as a helper does
