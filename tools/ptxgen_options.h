/* The options of the command: one table for all subcommands, a parser, and the help made of the table. */
#ifndef PTXGEN_OPTIONS_H
#define PTXGEN_OPTIONS_H

#include "ptxgen_command.h"

/* Sorts argv[0..argc) (what follows the subcommand) into settings and words. Options may stand anywhere;
 * "--" ends them. Only options that `command` names are accepted; an unknown one is EINVAL with the nearest.
 * `words` has room for argc pointers. */
ptxgen_status cli_parse(const cli_command *command, int argc, char **argv, cli_args *out,
                        ptxgen_error *err);
/* The one-screen help of a subcommand on standard output. */
void cli_help(const cli_command *command, const cli_args *args);
/* One paragraph per parameter of family i: values, meaning, default. */
void cli_print_params(size_t family);

#endif
