# A thousand forks of a process that compiles; each child compiles two kernels itself.
add_run(engine/forks_by_the_thousand slow 7200 test_engine_fork)
set_tests_properties(engine/forks_by_the_thousand PROPERTIES ENVIRONMENT "PTXGEN_FORKS=1000")

# What the script in the place of ptxas runs.
add_executable(stub_assemble ${PROJECT_SOURCE_DIR}/tests/support/stub_assemble/stub_assemble.c)
ptxgen_compile_options(stub_assemble)
target_compile_options(stub_assemble PRIVATE -fno-sanitize=all) # it stands alone, as ptxas does

# Two releases of a stand-in for libnvrtc; each lies in a toolkit's folder of its own.
foreach(version 1 2)
    add_library(stub_nvrtc_${version} MODULE ${PROJECT_SOURCE_DIR}/tests/support/stub_nvrtc/stub_nvrtc.c)
    set_target_properties(stub_nvrtc_${version} PROPERTIES PREFIX "" OUTPUT_NAME libnvrtc.so SUFFIX .13
        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/stub_nvrtc_${version}/lib64)
    target_compile_definitions(stub_nvrtc_${version} PRIVATE STUB_VERSION="${version}")
    ptxgen_compile_options(stub_nvrtc_${version})
    ptxgen_link_options(stub_nvrtc_${version})
endforeach()
