# A stand-in for the CUDA driver, found by the tests at a path of their own.
add_library(stub_libcuda MODULE ${PROJECT_SOURCE_DIR}/tests/support/stub_libcuda/stub_libcuda.c)
set_target_properties(stub_libcuda PROPERTIES PREFIX "" OUTPUT_NAME stub_libcuda SUFFIX .so
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
target_include_directories(stub_libcuda PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
ptxgen_compile_options(stub_libcuda)
ptxgen_link_options(stub_libcuda)
target_compile_options(stub_libcuda PRIVATE -Wno-cast-function-type)
