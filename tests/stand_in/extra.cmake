# A sanitizer's runtime has to be the first library of a process, and the programs here are not sanitized.
if(PTXGEN_SANITIZE)
    set_tests_properties(stand_in/emulate PROPERTIES DISABLED TRUE)
endif()
set_kind(stand_in/emulate script 900)
set_kind(stand_in/samples "script;slow" 7200)
set_kind(stand_in/cub "script;slow" 7200)
set_kind(stand_in/cutlass "script;slow" 14400)
set_kind(stand_in/deep_gemm "script;slow" 7200)
