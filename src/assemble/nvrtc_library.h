/* NVRTC's library itself: opened by path, one compilation. Used in this process (nvrtc.c) and by
 * the program that compiles in a process of its own (tools/nvrtc/). */
#ifndef PG_NVRTC_LIBRARY_H
#define PG_NVRTC_LIBRARY_H

#include "base/buf.h"
#include "ptxgen/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct pg_nvrtc pg_nvrtc;

/* Stays loaded. EMISSING with the reason. */
ptxgen_status pg_nvrtc_open(const char *path, const pg_alloc *alloc, pg_nvrtc **out,
                            ptxgen_error *err);
/* Frees what was allocated; the library stays. */
void pg_nvrtc_close(pg_nvrtc *, const pg_alloc *alloc);

enum { PG_NVRTC_MAX_OPTIONS = 64, PG_NVRTC_MAX_HEADERS = 256 };
/* nvrtcResult, of those that are told apart. */
enum { PG_NVRTC_SUCCESS = 0, PG_NVRTC_COMPILATION = 6 };

/* What a compilation takes: all of it decides the PTX. */
typedef struct pg_nvrtc_job {
    const char *text, *file;
    int header_count, option_count;
    const char *header_names[PG_NVRTC_MAX_HEADERS], *header_texts[PG_NVRTC_MAX_HEADERS];
    const char *options[PG_NVRTC_MAX_OPTIONS];
    double deadline_us; /* on pg_clock_us; 0: none */
} pg_nvrtc_job;

typedef struct pg_nvrtc_result {
    int code;  /* nvrtcResult; of what it gave no program for too */
    bool late; /* stopped at the deadline, which NVRTC 12.8 and newer ask for between two steps */
    bool no_program, no_ptx;
} pg_nvrtc_result;

/* `ptx` and `log` are appended to. */
void pg_nvrtc_compile(const pg_nvrtc *, const pg_nvrtc_job *, pg_nvrtc_result *out, pg_buf *ptx,
                      pg_buf *log);

#endif
