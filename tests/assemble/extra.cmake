# 300 forks of a process with a 99 MB library: half a minute.
set_kind(assemble/test_assembler_concurrency slow 300)

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

# Fetches wheels.
set_kind(assemble/old_toolkits "script;slow" 600)
