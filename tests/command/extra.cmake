# Parts of the command, tested on their own.
target_sources(test_npy PRIVATE ${PROJECT_SOURCE_DIR}/tools/npy/header.c
    ${PROJECT_SOURCE_DIR}/tools/npy/file.c ${PROJECT_SOURCE_DIR}/tools/command/fail.c)
target_include_directories(test_npy PRIVATE ${PROJECT_SOURCE_DIR}/tools)
target_link_libraries(test_attack_inputs PRIVATE ${CJSON_LIBRARY})
target_include_directories(test_attack_inputs SYSTEM PRIVATE ${CJSON_INCLUDE_DIR})
# The attacks in full; their quick variants run with the others.
function(attack_in_full name seconds setting command)
    add_run(${name}_in_full slow ${seconds} ${command} ${ARGN})
    set_tests_properties(${name}_in_full PROPERTIES ENVIRONMENT "${environment};${setting}")
endfunction()
attack_in_full(command/attack_lines 3600 PTXGEN_LINES=4000 ${BASH} tests/command/attack_lines.sh)
attack_in_full(command/attack_calls 3600 PTXGEN_FAULTS=800 ${BASH} tests/command/attack_calls.sh)
attack_in_full(command/attack_inputs 3600 PTXGEN_HOSTILE=550 test_attack_inputs)
attack_in_full(cache/attack_kill 3600 PTXGEN_KILLS=1000 ${BASH} tests/cache/attack_kill.sh)
attack_in_full(cache/attack_files 3600 PTXGEN_HOSTILE=5000 test_attack_files)
