/* What the words of a command stand for: name=@FILE for a user function, a problem's extents for
 * the kernel that a call of it takes. */
#ifndef PTXGEN_COMMAND_FUNCTION_H
#define PTXGEN_COMMAND_FUNCTION_H

#include "command/command.h"

/* Replaces each "name=@FILE" of *params (owned, replaced) by "name=NUMBER" of a function that is
 * added to ctx: CUDA C++, or PTX when the file's name ends in .ptx. "@FILE:NAME" takes the
 * function NAME of it. EIO, EINVAL, EMISSING. */
ptxgen_status cli_functions(ptxgen *ctx, char **params, ptxgen_error *err);
/* The same; then *params are canonical parameters of a kernel, also where they named extents
 * (ptxgen_problem_params). */
ptxgen_status cli_kernel_params(ptxgen *ctx, const char *family, char **params, ptxgen_error *err);

#endif
