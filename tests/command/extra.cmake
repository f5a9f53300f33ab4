# Parts of the command, tested on their own.
target_sources(test_npy PRIVATE ${PROJECT_SOURCE_DIR}/tools/npy/header.c
    ${PROJECT_SOURCE_DIR}/tools/npy/file.c ${PROJECT_SOURCE_DIR}/tools/command/fail.c)
target_sources(test_run_check PRIVATE ${PROJECT_SOURCE_DIR}/tools/command/run/check.c
    ${PROJECT_SOURCE_DIR}/tools/command/value.c)
foreach(test test_npy test_run_check)
    target_include_directories(${test} PRIVATE ${PROJECT_SOURCE_DIR}/tools)
endforeach()
set_kind(command/attack_lines "script;slow" 3600)
