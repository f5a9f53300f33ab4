/* What a cubin is for the machine: its SASS, by nvdisasm or cuobjdump, which are parts of the
 * CUDA toolkit. */
#ifndef PTXGEN_SASS_H
#define PTXGEN_SASS_H

#include "command/command.h"

/* Where a part of the toolkit is (ptxgen_part's names), until ctx goes. EMISSING with what to
 * install. */
ptxgen_status cli_find_part(ptxgen *ctx, const char *name, const char **path, ptxgen_error *err);
/* Runs the disassembler on cubin[n], with its output at a descriptor. EIO. */
ptxgen_status cli_disassemble(const char *program, const void *cubin, size_t n, int to,
                              ptxgen_error *err);
/* Writes the SASS of cubin[n] to set->output. EMISSING with what to install when there is no
 * disassembler; EIO when it fails (it says why on standard error). */
ptxgen_status cli_output_sass(const cli_settings *set, const void *cubin, size_t n,
                              ptxgen_error *err);

#endif
