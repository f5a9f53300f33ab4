# Fuzz targets: one fuzz_<name>.c with LLVMFuzzerTestOneInput each, inputs in corpus/<name>/ and in the folders of
# tests that hold such files already. Preset fuzz lets libFuzzer drive them; every other build replays the
# inputs as a test, label "fuzz".
set(also_ptx_parse tests/ptx/good tests/ptx/bad tests/emulator/cases)
set(also_emulator tests/emulator/cases tests/emulator/races)
file(GLOB fuzz_sources CONFIGURE_DEPENDS fuzz/fuzz_*.c)
foreach(source ${fuzz_sources})
    get_filename_component(name ${source} NAME_WE)
    string(REPLACE fuzz_ "" format ${name})
    add_test_program(${source})
    if(PTXGEN_FUZZ)
        target_link_options(${name} PRIVATE -fsanitize=fuzzer)
        set(replay_options -runs=0)
    else()
        target_sources(${name} PRIVATE fuzz/replay.c)
        set(replay_options "")
    endif()
    add_run(fuzz/${name} fuzz 300 ${name} ${replay_options} tests/fuzz/corpus/${format}
        ${also_${format}})
endforeach()
# The .npy reader belongs to the command, not to the library.
target_sources(fuzz_npy PRIVATE ${PROJECT_SOURCE_DIR}/tools/npy/header.c ${PROJECT_SOURCE_DIR}/tools/command/fail.c)
target_include_directories(fuzz_npy PRIVATE ${PROJECT_SOURCE_DIR}/tools)
