# Benchmarks: each prints a table with its baseline in the same run and takes an optional path for a CSV.
file(GLOB bench_sources CONFIGURE_DEPENDS bench/bench_*.c)
foreach(source ${bench_sources})
    get_filename_component(name ${source} NAME_WE)
    add_test_program(${source})
    add_run(bench/${name} bench 600 ${name})
endforeach()
