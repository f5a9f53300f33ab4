set_kind(kernels/test_golden_ptx golden 300)
set_kind(kernels/test_golden_hashes golden 300)
# 50 seeds of order=isa in checking mode for every Blackwell family: about a minute.
add_run(kernels/test_emulator_tcgen05_all_seeds slow 1500 test_emulator_tcgen05_seeds 50)
# Some hundred kernels through ptxas: minutes.
set_kind(kernels/test_tcgen05_assemble_all slow 3000)
# How the command runs a call on an emulator of its own is how these tests do.
target_sources(test_families PRIVATE ${PROJECT_SOURCE_DIR}/tools/command/run/emulate.c
    ${PROJECT_SOURCE_DIR}/tools/command/fail.c)
target_include_directories(test_families PRIVATE ${PROJECT_SOURCE_DIR}/tools)
set_kind(kernels/test_family_assembly assemble 1500)
