/* What a cubin is for the machine: its SASS, by nvdisasm or cuobjdump, which are parts of the
 * CUDA toolkit. */
#ifndef PTXGEN_SASS_H
#define PTXGEN_SASS_H

#include "command/command.h"

/* Writes the SASS of cubin[n] to set->output. EMISSING with what to install when there is no
 * disassembler; EIO when it fails (it says why on standard error). */
ptxgen_status cli_output_sass(const cli_settings *set, const void *cubin, size_t n,
                              ptxgen_error *err);

#endif
