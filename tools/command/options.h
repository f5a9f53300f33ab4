/* The options of the command: one table for all subcommands, a parser, and the help made of the
 * table. */
#ifndef PTXGEN_OPTIONS_H
#define PTXGEN_OPTIONS_H

#include "command/command.h"

/* Sorts argv[0..argc) (what follows the subcommand) into settings and words. Options may stand
 * anywhere; "--" ends them. Only options that `command` names are accepted; an unknown one is
 * EINVAL with the nearest. `words` has room for argc pointers. */
ptxgen_status cli_parse(const cli_command *command, int argc, char **argv, cli_args *out,
                        ptxgen_error *err);
/* The first option that was given and is not in `list` (names separated by spaces); NULL if
 * none. */
const char *cli_option_outside(const cli_args *args, const char *list);
bool cli_option_given(const cli_args *args, const char *name);
/* Is the option one of the list? */
bool cli_option_in(const char *name, const char *list);
/* Option i of those that a subcommand takes, for documents; false past the last. */
typedef struct cli_option_info {
    const char *name, *value, *doc; /* value: what help calls it; NULL: a flag, or one of `words` */
    char letter;                    /* 0: none */
    const char *const *words;       /* NULL-terminated; NULL: any value */
} cli_option_info;
bool cli_option_at(const cli_command *command, size_t i, cli_option_info *out);
/* The one-screen help of a subcommand on standard output. */
void cli_help(const cli_command *command, const cli_args *args);
/* Does the library have the family? If not, cli_unknown_family reports it, with the nearest
 * name. */
bool cli_is_family(const char *name);
int cli_unknown_family(const cli_settings *, const char *name);
/* One paragraph per parameter of family i: values, meaning, default. */
void cli_print_params(size_t family);

#endif
