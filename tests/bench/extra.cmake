# Benchmarks: each prints a table with its baseline in the same run and takes an optional path for a CSV.
file(GLOB bench_sources CONFIGURE_DEPENDS bench/bench_*.c)
foreach(source ${bench_sources})
    get_filename_component(name ${source} NAME_WE)
    add_test_program(${source})
    add_run(bench/${name} bench 600 ${name})
endforeach()

add_test_program(bench/cublaslt/bench_matmul_facts.c)

# Against cuBLASLt, where a CUDA toolkit with it is installed.
find_path(CUBLASLT_INCLUDE_DIR cublasLt.h HINTS $ENV{CUDA_HOME} /usr/local/cuda PATH_SUFFIXES include)
foreach(library cublasLt cublas cudart)
    find_library(${library}_LIBRARY ${library} HINTS $ENV{CUDA_HOME} /usr/local/cuda PATH_SUFFIXES lib64 lib)
endforeach()
if(CUBLASLT_INCLUDE_DIR AND cublasLt_LIBRARY AND cublas_LIBRARY AND cudart_LIBRARY)
    add_executable(bench_matmul_cublaslt bench/cublaslt/bench_matmul_cublaslt.c bench/cublaslt/bench_matmul.c)
    target_include_directories(bench_matmul_cublaslt SYSTEM PRIVATE ${CUBLASLT_INCLUDE_DIR})
    target_link_libraries(bench_matmul_cublaslt PRIVATE ptxgen_test_support ${cublasLt_LIBRARY} ${cublas_LIBRARY}
        ${cudart_LIBRARY})
    ptxgen_compile_options(bench_matmul_cublaslt)
endif()
