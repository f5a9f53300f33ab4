/* CUDA C++ -> PTX by NVRTC, which is opened when it is first needed.
 *
 * Everything that decides the PTX is in the request, so a key made of it is complete: NVRTC may
 * open no file. Headers come with the request; no include path is given, the one that NVRTC has by
 * itself (the folder of the source) is switched off, and directives that name anything else than
 * one of these headers are refused before NVRTC sees the text: an absolute path would be opened.
 * Options are those that change the code, not the search.
 *
 * Runs in a process of its own (nvrtc_child.h), which is killed at the deadline. Where its program
 * is not installed, NVRTC runs in this process like the assemblers that do, under a C locale and
 * held off from fork(); then a compilation that takes longer is cancelled where NVRTC can be (12.8
 * and newer: nvrtcSetFlowCallback, which it calls between its steps), and waited for else. */
#ifndef PG_NVRTC_H
#define PG_NVRTC_H

#include "assemble/assembler.h"

typedef struct pg_cuda_header {
    const char *name, *text;
} pg_cuda_header;

typedef struct pg_cuda_request {
    const char *text, *file; /* file: for messages, __FILE__ and line information; no path */
    const pg_cuda_header *headers;
    size_t header_count;
    const char *const *options;
    size_t option_count;
    ptxgen_arch arch;
    uint32_t timeout_ms; /* 0: 60000 */
} pg_cuda_request;

/* Options that every compilation gets before the caller's; part of a key. */
extern const char pg_cuda_fixed_options[];

/* "nvrtc 13.0.88 5f3a..." (borrowed from the toolkit), for the key. EMISSING says what to
 * install. */
ptxgen_status pg_toolkit_nvrtc(pg_toolkit *, const char **identity, ptxgen_error *);
/* EINVAL, with file and line, for a directive or an option that would read a file. */
ptxgen_status pg_cuda_check(const pg_cuda_request *, ptxgen_error *);
/* `ptx` and `log` are initialised by the caller; the log is NVRTC's, also of a success.
 * EASSEMBLE: NVRTC refuses the text; the message begins with its first error, file and line are
 * that error's. EBUDGET: the deadline. */
ptxgen_status pg_toolkit_compile_cuda(pg_toolkit *, const pg_cuda_request *, pg_buf *ptx,
                                      pg_buf *log, ptxgen_error *);

#endif
