# Parts of the command, tested on their own.
target_sources(test_npy PRIVATE ${PROJECT_SOURCE_DIR}/tools/npy/header.c
    ${PROJECT_SOURCE_DIR}/tools/npy/file.c ${PROJECT_SOURCE_DIR}/tools/command/fail.c)
target_include_directories(test_npy PRIVATE ${PROJECT_SOURCE_DIR}/tools)
set_kind(command/attack_lines "script;slow" 3600)
