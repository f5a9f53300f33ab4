/* Recently used parameter texts and their kernels, so that a request by text does not parse it
 * again. */
#ifndef PG_TEXT_MEMO_H
#define PG_TEXT_MEMO_H

#include "base/alloc.h"
#include "base/error.h"
#include "ptxgen/ptxgen.h"

typedef struct pg_text_memo pg_text_memo;

ptxgen_status pg_text_memo_create(const pg_alloc *, pg_text_memo **out, ptxgen_error *err);
void pg_text_memo_clear(pg_text_memo *);
void pg_text_memo_destroy(pg_text_memo *);
/* `scope` is what else decides the kernel besides the text: the default architecture, 0 for
 * none. The kernel with a reference, or NULL; NULL for one that the driver refused. */
ptxgen_kernel *pg_text_memo_recall(pg_text_memo *, int64_t scope, const char *family,
                                   const char *params);
void pg_text_memo_remember(pg_text_memo *, int64_t scope, const char *family, const char *params,
                           ptxgen_kernel *k);
uint64_t pg_text_memo_hits(pg_text_memo *);
/* Around fork(): takes every lock; gives them back. */
void pg_text_memo_before_fork(pg_text_memo *);
void pg_text_memo_after_fork(pg_text_memo *);

#endif
