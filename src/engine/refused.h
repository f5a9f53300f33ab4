/* What is said and kept about a kernel that could not be assembled. */
#ifndef PG_REFUSED_H
#define PG_REFUSED_H

#include "engine/kernel.h"

/* A name for the kernel's files: its family and the hash of its key, into out[96]. */
void pg_kernel_file_name(const ptxgen_kernel *k, const char *suffix, char out[96]);
/* Adds to the EASSEMBLE in *err what our own verifier thinks of the text, where the text is
 * kept, and the command that assembles it again. */
void pg_explain_refusal(ptxgen_kernel *k, ptxgen_assembler kind, ptxgen_error *err);

#endif
