/* name=@FILE in the words of a command: a user function from a file. */
#ifndef PTXGEN_COMMAND_FUNCTION_H
#define PTXGEN_COMMAND_FUNCTION_H

#include "command/command.h"

/* Replaces each "name=@FILE" of *params (owned, replaced) by "name=NUMBER" of a function that is
 * added to ctx: CUDA C++, or PTX when the file's name ends in .ptx. "@FILE:NAME" takes the
 * function NAME of it. EIO, EINVAL, EMISSING. */
ptxgen_status cli_functions(ptxgen *ctx, char **params, ptxgen_error *err);

#endif
