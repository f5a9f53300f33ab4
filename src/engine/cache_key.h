/* The text under which a kernel is kept on disk: everything that decides its PTX, a line
 * "name=value" each. Which assembler made the cubin is said by the entry (entry_judge.h). */
#ifndef PG_CACHE_KEY_H
#define PG_CACHE_KEY_H

#include "assemble/assembler.h"
#include "base/buf.h"
#include "engine/kernel_id.h"

/* The lines of the caller's own texts, `extra` of pg_write_key. EINVAL when one is NULL. */
ptxgen_status pg_write_extra_key(const char *const *texts, size_t count, pg_buf *out,
                                 ptxgen_error *err);
ptxgen_status pg_write_key(const pg_kernel_id *id, const pg_buf *extra, pg_buf *out,
                           ptxgen_error *err);
/* What stands for the sources that decide this family's PTX. */
const char *pg_generator_fingerprint(const char *family);

/* What the kernel asks of its assembler, by its family and architecture. */
pg_assembly_need pg_kernel_need(const pg_kernel_id *id);

#endif
