/* User functions: arithmetic of the caller's inside of our kernels, as CUDA C++ (compiled by
 * NVRTC, if it is installed) or as PTX. A function is added to a context once and then named, by
 * its number, where a kernel takes one:
 *
 *     ptxgen_function f = {.size = sizeof f, .language = PTXGEN_FUNCTION_CUDA,
 *                          .text = "extern \"C\" __device__ float f(float x) {"
 *                                  "    return x / (1 + expf(-x)); }"};
 *     int64_t silu;
 *     ptxgen_function_add(ctx, &f, &silu, &err);
 *     ptxgen_scatter_add_args args = {..., .function = silu};
 *
 * or in a text of parameters: "function=<number>"; the command takes function=@FILE.cu and
 * function=@FILE.ptx.
 *
 * The function's code becomes part of the kernel (ptxgen/inline.h, which also says what it may
 * not contain). Loads and stores of the kernel's data are ours; the function gets values and
 * returns one. Addresses that it makes itself, of a table by an index or of a number, are its
 * own: nothing checks them on a GPU. The emulated device stops a kernel that leaves the kernel's
 * variables and the memory of ptxgen_device_alloc (EEMULATOR, with the line), if all operands lie
 * in such memory; of other memory it does not know the size, and a wild address is then one of
 * this process. Trailing parameters that it does not want may be left out. In checks (ptxgen run
 * --check) it runs on the emulator.
 *
 *     scatter_add   float f(float value, long long row, int column)
 *                   of an element of src before it is added; computed in float, rounded to the
 *                   element type
 *     matmul_accumulate, matmul_scaled (tcgen05)   float f(float value, int row, int column)
 *                   of an element of the sum, behind the epilogue, before it is rounded and stored
 *
 * A kernel's key holds a hash of the source, its headers, options and name, and of the NVRTC
 * that compiles it: a changed byte of any of them is another kernel, an unchanged one compiles
 * nothing. The function's PTX is an entry of the cache of its own, so another kernel with the
 * same function does not compile it again. NVRTC may read no file: see `headers`. */
#ifndef PTXGEN_FUNCTION_H
#define PTXGEN_FUNCTION_H

#include "ptxgen/ptxgen.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum ptxgen_function_language {
    PTXGEN_FUNCTION_CUDA = 1, /* an extern "C" function; __device__ may be left out */
    PTXGEN_FUNCTION_PTX       /* a whole module (.version, .target, ...) with a .func */
} ptxgen_function_language;

/* Division and square root. IEEE division is a call of a subroutine at every place (and three
 * times the code); approximate ones are off by 2 units in the last place at most (CUDA C++
 * Programming Guide, -prec-div, -prec-sqrt). */
typedef enum ptxgen_function_division {
    PTXGEN_DIVISION_AUTO, /* exact where results are f32, fast where they have 16 bits or fewer */
    PTXGEN_DIVISION_EXACT,
    PTXGEN_DIVISION_FAST
} ptxgen_function_division;

typedef struct ptxgen_header {
    const char *name, *text; /* what #include "name" or <name> gets */
} ptxgen_header;

/* Copied by ptxgen_function_add. */
typedef struct ptxgen_function {
    size_t size; /* set by the caller */
    ptxgen_function_language language;
    const char *text; /* NUL-terminated */
    const char *file; /* for messages and the line map; NULL: "function.cu" or "function.ptx" */
    /* Of the function; NULL: the only one that the text defines and does not hide. */
    const char *name;
    /* CUDA only: */
    const ptxgen_header *headers;
    size_t header_count;
    /* NVRTC options: -DNAME=VALUE, -UNAME, -std=c++17, -use_fast_math, -ftz=, -prec-div=,
     * -prec-sqrt=, -fmad=, -w. */
    const char *const *options;
    size_t option_count;
    ptxgen_function_division division;
    uint32_t timeout_ms; /* for NVRTC, which is stopped then (12.8 and newer); 0: 60000 */
} ptxgen_function;

/* *id: never 0; the same function has the same number in every process with the same NVRTC.
 * Nothing is compiled yet: faults of the text are reported by the call that builds the first
 * kernel, or by ptxgen_function_ptx. EINVAL: a field, an option, or a directive that would read
 * a file, with its line; EMISSING: CUDA and no NVRTC. Any thread. */
PTXGEN_API ptxgen_status ptxgen_function_add(ptxgen *ctx, const ptxgen_function *function,
                                             int64_t *id, ptxgen_error *err);

typedef struct ptxgen_function_info {
    size_t size;     /* set by the caller */
    const char *ptx; /* as all texts here: lives as long as the context */
    size_t ptx_size;
    const char *log;      /* NVRTC's, with its warnings */
    const char *name;     /* of the function */
    ptxgen_origin origin; /* EMITTED: given as PTX; ASSEMBLED: compiled by this context; DISK */
    double compile_us;
} ptxgen_function_info;

/* The function's PTX for an architecture. `exact`: what PTXGEN_DIVISION_AUTO means. EASSEMBLE:
 * NVRTC refuses it, with file, line and its log in the message; EBUDGET: it took too long. */
PTXGEN_API ptxgen_status ptxgen_function_ptx(ptxgen *ctx, int64_t id, ptxgen_arch arch, bool exact,
                                             ptxgen_function_info *out, ptxgen_error *err);

/* The plain answer of a function of elements, for tests: out[i, j] = f(in[i, j], i, j) of a
 * [rows, n] matrix in host memory, computed by the emulator and rounded to the element type.
 * `in` and `out` may be the same. `family` says which signature it has; NULL: scatter_add. */
typedef struct ptxgen_function_map_args {
    size_t size; /* set by the caller */
    int64_t function;
    const char *family;
    ptxgen_dtype dtype;
    ptxgen_arch arch; /* the function is compiled for it; 0: sm_90 */
    int64_t rows, n;
    const void *in;
    void *out;
} ptxgen_function_map_args;
PTXGEN_API ptxgen_status ptxgen_function_map(ptxgen *ctx, const ptxgen_function_map_args *args,
                                             ptxgen_error *err);

#ifdef __cplusplus
}
#endif

#endif
