# A stand-in for the CUDA driver, found by the tests at a path of their own.
add_library(stub_libcuda MODULE ${PROJECT_SOURCE_DIR}/tests/support/stub_libcuda/stub_libcuda.c)
set_target_properties(stub_libcuda PROPERTIES PREFIX "" OUTPUT_NAME stub_libcuda SUFFIX .so
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
target_include_directories(stub_libcuda PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
ptxgen_compile_options(stub_libcuda)
ptxgen_link_options(stub_libcuda)
target_compile_options(stub_libcuda PRIVATE -Wno-cast-function-type)

# 300 forks of a process with a 99 MB library: half a minute.
set_tests_properties(unit/test_assembler_concurrency PROPERTIES LABELS "unit;slow")

# Some hundred kernels through ptxas: minutes.
set_tests_properties(unit/test_tcgen05_assemble_all PROPERTIES LABELS "unit;slow" TIMEOUT 3000)

# Stand-ins for libnvJitLink as different releases export it, and broken ones.
function(add_stub_nvjitlink name)
    add_library(stub_nvjitlink_${name} MODULE ${PROJECT_SOURCE_DIR}/tests/support/stub_nvjitlink/stub_nvjitlink.c)
    set_target_properties(stub_nvjitlink_${name} PROPERTIES PREFIX "" SUFFIX .so
        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
    target_compile_definitions(stub_nvjitlink_${name} PRIVATE ${ARGN})
    ptxgen_compile_options(stub_nvjitlink_${name})
    ptxgen_link_options(stub_nvjitlink_${name})
endfunction()
add_stub_nvjitlink(plain)
add_stub_nvjitlink(versioned STUB_VERSIONED)
add_stub_nvjitlink(deaf STUB_FAILS_TO_ADD)
add_stub_nvjitlink(partial STUB_LACKS_COMPLETE)
