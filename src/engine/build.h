/* From a kernel's identity to a kernel: emit, or disk, or assemble. */
#ifndef PG_BUILD_H
#define PG_BUILD_H

#include "engine/kernel.h"

typedef enum pg_build_mode {
    PG_BUILD_ON_DEMAND,
    PG_BUILD_FRESH, /* what the disk has is not good enough */
    PG_BUILD_AHEAD  /* in the background: a failure is told, and not kept */
} pg_build_mode;

/* How often the calling thread has run an assembler. */
uint64_t pg_build_assemblies_here(void);
/* A new kernel with its PTX only. */
ptxgen_status pg_build_text(pg_engine *, const pg_kernel_id *id, ptxgen_kernel **out,
                            ptxgen_error *err);
/* The first CUDA release whose assembler takes the kernel's text, 12.9 as 1209; 0: any. */
int pg_build_release(const ptxgen_kernel *);
/* A new kernel: with a cubin from the disk or an assembler if id->assembled, else its PTX. `err`
 * is not NULL: the kernel table keeps it for the threads that wait for the result. */
ptxgen_status pg_build(pg_engine *, const pg_kernel_id *id, pg_build_mode mode, ptxgen_kernel **out,
                       ptxgen_error *err);

/* What assembles or parses speaks of PTX lines; the reader wants the template's. */
void pg_locate_in_template(const ptxgen_kernel *k, ptxgen_error *err);

#endif
