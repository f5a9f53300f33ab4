/* The text under which a kernel is kept on disk: everything that decides the cubin, a line
 * "name=value" each. */
#ifndef PG_CACHE_KEY_H
#define PG_CACHE_KEY_H

#include "assemble/assembler.h"
#include "base/buf.h"
#include "engine/kernel_id.h"

/* The lines of the caller's own texts, `extra` of pg_write_key. EINVAL when one is NULL. */
ptxgen_status pg_write_extra_key(const char *const *texts, size_t count, pg_buf *out,
                                 ptxgen_error *err);
/* `assembler` is the identity of the one that makes the cubin. */
ptxgen_status pg_write_key(const pg_kernel_id *id, const char *assembler, const pg_buf *extra,
                           pg_buf *out, ptxgen_error *err);

/* What the kernel asks of its assembler, by its family and architecture. */
pg_assembly_need pg_kernel_need(const pg_kernel_id *id);

#endif
