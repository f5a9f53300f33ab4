/* Helpers for tests that look at emitted PTX: emit a kernel by its parameter text, count
 * instructions, and assemble it the way a user's library would. */
#ifndef PTX_TEXT_H
#define PTX_TEXT_H

#include "test.h"

#include "ptxgen/ptxgen.h"

/* Emits; fails the test with the library's message. The caller unrefs. */
ptxgen_kernel *emit_kernel(ptxgen *ctx, const char *family, const char *params);
/* The library must refuse `params` with EUNSUPPORTED or EINVAL and a message that holds
 * `reason`. */
void expect_refusal(ptxgen *ctx, const char *family, const char *params, const char *reason);
/* How often `text` occurs in the kernel's PTX. */
int count_in_ptx(const ptxgen_kernel *kernel, const char *text);

/* A context without a disk cache that assembles with ptxas; NULL (and a message) where there is
 * none. */
ptxgen *assembling_context(void);
/* Assembles and checks what no kernel may have: a message of the C75xx class (the assembler
 * refuses the kernel then), spills, local memory, setmaxnreg without effect. */
void expect_assembles(ptxgen *ctx, const char *family, const char *params);

#endif
