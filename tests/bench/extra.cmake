# Benchmarks: one executable per bench_*.c, label "bench". Each prints a table with its baseline in the same
# run and takes an optional path for a CSV.
file(GLOB bench_sources CONFIGURE_DEPENDS bench/bench_*.c)
foreach(source ${bench_sources})
    get_filename_component(name ${source} NAME_WE)
    add_executable(${name} ${source})
    target_link_libraries(${name} PRIVATE ptxgen_test_support)
    ptxgen_compile_options(${name})
    add_test(NAME bench/${name} COMMAND ${name} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set_tests_properties(bench/${name} PROPERTIES LABELS bench TIMEOUT 600)
endforeach()
