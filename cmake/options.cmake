# Compiler options of our own sources, in one place. PTXGEN_SANITIZE takes what -fsanitize= takes.
option(PTXGEN_WERROR "Warnings are errors" OFF)
set(PTXGEN_SANITIZE "" CACHE STRING "Sanitizers, as for -fsanitize= (address,undefined or thread)")
option(PTXGEN_FUZZ "Build the libFuzzer targets (needs clang)" OFF)
option(PTXGEN_TOOLS "Build the command; OFF: the library only, which needs xxHash and jsmn alone" ON)
option(PTXGEN_STAND_IN "Build what `ptxgen emulate` preloads (needs LZ4 and Zstandard)" ON)
option(PTXGEN_PYTHON "Build the Python package where Python's headers are installed" ON)
option(PTXGEN_NVPTXCOMPILER "Link NVIDIA's static PTX compiler where it is found" ON)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_C_FLAGS_RELEASE "-O2 -g1 -DNDEBUG")

include(CheckSymbolExists)
include(CheckLinkerFlag)
check_linker_flag(C -Wl,--exclude-libs,ALL PTXGEN_HAVE_EXCLUDE_LIBS)
set(CMAKE_REQUIRED_DEFINITIONS -D_GNU_SOURCE)
check_symbol_exists(strerrordesc_np string.h PTXGEN_HAVE_STRERRORDESC) # glibc 2.32
unset(CMAKE_REQUIRED_DEFINITIONS)

# The toolkit's libnvptxcompiler_static.a, or the one of NVIDIA's wheel.
set(PTXGEN_NVPTXCOMPILER_LIBRARY "")
# A toolkit may have libraries for several kinds of hosts; lib64 is a link to one of them.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
    set(PTXGEN_CUDA_TARGETS targets/sbsa-linux/lib targets/aarch64-linux/lib)
else()
    set(PTXGEN_CUDA_TARGETS targets/x86_64-linux/lib)
endif()
if(PTXGEN_NVPTXCOMPILER)
    find_library(NVPTXCOMPILER_STATIC nvptxcompiler_static
        HINTS $ENV{CUDA_HOME} /usr/local/cuda PATH_SUFFIXES ${PTXGEN_CUDA_TARGETS} lib64 lib)
    # Newer releases (13.5) are partly C++: they take what they need of its runtime library, where that is installed.
    set(PTXGEN_NVPTXCOMPILER_NEEDS "")
    execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=libstdc++.so
        OUTPUT_VARIABLE cxx_runtime OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(IS_ABSOLUTE "${cxx_runtime}")
        set(PTXGEN_NVPTXCOMPILER_NEEDS "-Wl,--push-state,--as-needed,-lstdc++,--pop-state")
    endif()
    if(NVPTXCOMPILER_STATIC)
        include(CheckCSourceCompiles)
        set(CMAKE_REQUIRED_LIBRARIES ${NVPTXCOMPILER_STATIC} ${PTXGEN_NVPTXCOMPILER_NEEDS} dl pthread m)
        check_c_source_compiles("
            #include <stddef.h>
            int nvPTXCompilerCreate(void **, size_t, const char *);
            int nvPTXCompilerCompile(void *, int, const char *const *);
            int main(void) { void *c; return nvPTXCompilerCreate(&c, 0, \"\") + nvPTXCompilerCompile(c, 0, NULL); }"
            PTXGEN_NVPTXCOMPILER_LINKS)
        unset(CMAKE_REQUIRED_LIBRARIES)
    endif()
    if(NVPTXCOMPILER_STATIC AND PTXGEN_NVPTXCOMPILER_LINKS)
        set(PTXGEN_NVPTXCOMPILER_LIBRARY ${NVPTXCOMPILER_STATIC})
        file(SHA256 ${NVPTXCOMPILER_STATIC} nvptxcompiler_hash) # the build-id of a static library
        string(SUBSTRING ${nvptxcompiler_hash} 0 32 PTXGEN_NVPTXCOMPILER_BUILD)
    endif()
endif()

function(ptxgen_compile_options target)
    target_compile_definitions(${target} PRIVATE _GNU_SOURCE
        $<$<BOOL:${PTXGEN_HAVE_STRERRORDESC}>:PG_HAVE_STRERRORDESC>)
    if(PTXGEN_NVPTXCOMPILER_LIBRARY)
        target_compile_definitions(${target} PRIVATE PG_HAVE_NVPTXCOMPILER
            PG_NVPTXCOMPILER_BUILD="${PTXGEN_NVPTXCOMPILER_BUILD}")
    endif()
    target_compile_options(${target} PRIVATE
        -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes
        -Wno-sign-conversion -fno-strict-aliasing
        $<$<BOOL:${PTXGEN_WERROR}>:-Werror>)
    if(NOT CMAKE_C_COMPILER_LAUNCHER) # a compiler cache makes paths relative itself, and shares less with this
        target_compile_options(${target} PRIVATE -ffile-prefix-map=${PROJECT_SOURCE_DIR}/=)
    endif()
    if(PTXGEN_SANITIZE)
        target_compile_options(${target} PRIVATE
            -fsanitize=${PTXGEN_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
    endif()
    if(PTXGEN_FUZZ)
        target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
    endif()
endfunction()

function(ptxgen_link_options target)
    if(PTXGEN_SANITIZE)
        target_link_options(${target} PUBLIC -fsanitize=${PTXGEN_SANITIZE})
    endif()
endfunction()
