/* What a cubin says about itself: architecture with its suffix, kernels and what they use, the tool
 * that wrote it. Any cubin, not only ours; no driver, no toolkit.
 *
 *     ptxgen_cubin_info info = {.size = sizeof info};
 *     if (ptxgen_cubin_inspect(bytes, size, &info, &err) != PTXGEN_OK)
 *         return puts(err.message), 1;
 *     ptxgen_cubin_kernel k = {.size = sizeof k};
 *     for (size_t i = 0; ptxgen_cubin_kernel_at(bytes, size, i, &k); i++)
 *         printf("%s: %d registers\n", k.name, k.registers);
 *
 * The bytes are not trusted: no value in them makes a call read outside [bytes, bytes + size).
 * Nothing is allocated; any thread. NVIDIA documents the format in part only; fields that a
 * cubin does not have are -1 or "". */
#ifndef PTXGEN_INSPECT_H
#define PTXGEN_INSPECT_H

#include <stdbool.h>
#include <stddef.h>

#include "ptxgen/ptxgen.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ptxgen_cubin_info {
    size_t size;      /* set by the caller */
    ptxgen_arch arch; /* 901 is sm_90a */
    size_t kernel_count;
    char tool[32];     /* "ptxas", "nvJIT API" */
    char version[24];  /* of the tool: "13.0.88" */
    char options[256]; /* the assembler's command line: "-v  -arch sm_90a" */
} ptxgen_cubin_info;

typedef struct ptxgen_cubin_kernel {
    size_t size;      /* set by the caller */
    const char *name; /* borrowed from the cubin's bytes */
    size_t code_bytes;
    int registers;    /* per thread, at launch */
    int barriers;     /* named barriers, 0 to 16 */
    int shared_bytes; /* static, without what the system reserves */
    int local_bytes;  /* stack frame per thread; spills live in it */
    int param_bytes;
    int max_threads[3];      /* .maxntid, -1: not given */
    int required_threads[3]; /* .reqntid, -1: not given */
    /* Places in the code that call a subroutine: .func functions, and IEEE division and square
     * root, of which each place calls its slow path. From sm_70 on, else -1. */
    int calls;
} ptxgen_cubin_kernel;

/* EPARSE says what the bytes are instead, or where the cubin is damaged. */
PTXGEN_API ptxgen_status ptxgen_cubin_inspect(const void *bytes, size_t size,
                                              ptxgen_cubin_info *info, ptxgen_error *err);
/* Kernel i in the order of the symbol table; false past the last, or when the bytes are no
 * cubin. */
PTXGEN_API bool ptxgen_cubin_kernel_at(const void *bytes, size_t size, size_t i,
                                       ptxgen_cubin_kernel *out);

#ifdef __cplusplus
}
#endif

#endif
