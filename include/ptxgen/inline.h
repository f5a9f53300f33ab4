/* Inlining of PTX: a function's text becomes part of the kernel that calls it. No assembler does
 * this: ptxas keeps every call of a .func a call (and whatever a call costs), at any
 * optimisation level.
 *
 *     ptxgen_inline_args args = {.size = sizeof args, .kernel = kernel, .function = function};
 *     ptxgen_inlined *merged;
 *     if (ptxgen_inline(&args, &merged, &err) != PTXGEN_OK) { puts(err.message); return 1; }
 *     puts(ptxgen_inlined_text(merged, NULL));
 *     ptxgen_inlined_free(merged);
 *
 * The kernel declares the function (".extern .func (.param .b32 r) f (.param .b32 x);") and
 * calls it, as nvcc -rdc=true and NVRTC with -rdc write it; the function's text is a module of
 * its own that defines it, helpers and tables included. The kernel's text stays as it is, byte
 * for byte, but for the calls and what belongs to them.
 *
 * A function is refused, with the line of its text, if it holds what only a whole block can do
 * or what a caller does not expect: barriers, instructions of a whole warp (shfl, vote, mma,
 * ...), asynchronous copies, shared memory, exit, trap, calls through pointers or of functions
 * that the text does not define (printf), recursion, code for an architecture that the kernel's
 * is not at least. */
#ifndef PTXGEN_INLINE_H
#define PTXGEN_INLINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ptxgen/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { PTXGEN_INLINE_BUDGET = 25600 }; /* 128 copies of 200 instructions */

typedef struct ptxgen_inline_args {
    size_t size; /* set by the caller */
    /* PTX modules; a length of 0: up to the NUL. The file names are for messages; NULL:
     * "kernel.ptx" and "function.ptx". */
    const char *kernel;
    size_t kernel_length;
    const char *kernel_file;
    const char *function;
    size_t function_length;
    const char *function_file;
    /* Most instructions that all copies of one function may have together: assembling takes time
     * in proportion. A function over it stays a .func that is called; ptxgen_inlined_call says
     * so. 0: PTXGEN_INLINE_BUDGET; negative: inline nothing, only put the texts together. */
    int64_t budget;
} ptxgen_inline_args;

typedef struct ptxgen_inlined ptxgen_inlined;

/* EINVAL: the kernel calls no function that the other text defines, or declares it otherwise.
 * EPARSE: one of the texts is no PTX, or holds what cannot be inlined; err has file and line.
 * ENOMEM. Any thread. */
PTXGEN_API ptxgen_status ptxgen_inline(const ptxgen_inline_args *args, ptxgen_inlined **out,
                                       ptxgen_error *err);
/* NULL is allowed. */
PTXGEN_API void ptxgen_inlined_free(ptxgen_inlined *inlined);
/* The merged module; *length (may be NULL) without the NUL. Lives as long as `inlined`, as all
 * that follows. */
PTXGEN_API const char *ptxgen_inlined_text(const ptxgen_inlined *inlined, size_t *length);

/* Where a line of the merged text comes from. */
typedef enum ptxgen_inlined_source {
    PTXGEN_INLINED_GENERATED, /* written by the inliner */
    PTXGEN_INLINED_KERNEL,
    PTXGEN_INLINED_FUNCTION
} ptxgen_inlined_source;

typedef struct ptxgen_inlined_line {
    ptxgen_inlined_source source;
    unsigned line; /* of the source's PTX, from 1; 0: generated */
    /* Of the language that the function was compiled from (.loc); "" when not known. */
    const char *file;
    unsigned file_line;
} ptxgen_inlined_line;
/* Line i (from 0) of the merged text; false past the last. */
PTXGEN_API bool ptxgen_inlined_line_at(const ptxgen_inlined *inlined, size_t i,
                                       ptxgen_inlined_line *out);

typedef struct ptxgen_inlined_call {
    const char *caller, *callee;
    unsigned line;       /* of the kernel's text */
    bool inlined;        /* false: it is still a call; `reason` says why */
    size_t instructions; /* of the callee with all that it calls */
    const char *reason;
} ptxgen_inlined_call;
/* Call i of the kernel's calls of the function's text, in text order; false past the last. */
PTXGEN_API bool ptxgen_inlined_call_at(const ptxgen_inlined *inlined, size_t i,
                                       ptxgen_inlined_call *out);
/* Bytes of local memory that inlined functions brought along, per thread (arrays that are
 * indexed at run time). */
PTXGEN_API size_t ptxgen_inlined_local_bytes(const ptxgen_inlined *inlined);

#ifdef __cplusplus
}
#endif

#endif
