/* How a kernel is shown, as text and as JSON. */
#ifndef PTXGEN_REPORT_H
#define PTXGEN_REPORT_H

#include "command/command.h"
#include "command/json.h"

#include <stdio.h>

/* "pointer", "tensor map", ... */
const char *cli_arg_kind(ptxgen_arg_kind);
/* "emitted", "assembled", "disk" */
const char *cli_origin_name(ptxgen_origin);
/* `log`: with the assembler's log. */
void cli_kernel_text(const ptxgen_kernel_info *, bool log, FILE *to);
/* A new object without the PTX and the cubin themselves. */
cJSON *cli_kernel_json(const ptxgen_kernel_info *);

#endif
