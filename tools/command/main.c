/* The command: finds the subcommand, parses its options and runs it. */
#include "command/options.h"
#include "command/output.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_COMMANDS = 32 };

static void print_help(FILE *to)
{
    fprintf(to,
            "usage: ptxgen SUBCOMMAND [FAMILY] [name=value ...] [options]\n\n%s\n\n"
            "subcommands (`ptxgen SUBCOMMAND --help` says more):\n",
            cli_purpose);
    for (size_t i = 0; cli_command_at(i); i++)
        fprintf(to, "  %-10s %s\n", cli_command_at(i)->name, cli_command_at(i)->summary);
    fputs("\noptions:\n"
          "  --version  print the version\n"
          "  -h, --help show this\n"
          "\nexit codes:\n",
          to);
    for (size_t i = 0; cli_exit_text(i); i++)
        fprintf(to, "  %zu  %s\n", i, cli_exit_text(i));
    fprintf(to, "\nenvironment: %s", cli_environment);
}

static const cli_command *find_command(const char *name)
{
    for (size_t i = 0; cli_command_at(i); i++)
        if (strcmp(cli_command_at(i)->name, name) == 0)
            return cli_command_at(i);
    return NULL;
}

static int unknown_command(const char *name)
{
    const char *known[MOST_COMMANDS];
    size_t count = 0;
    for (; count < MOST_COMMANDS && cli_command_at(count); count++)
        known[count] = cli_command_at(count)->name;
    const char *near = cli_nearest(name, known, count);
    if (near)
        cli_say("unknown subcommand '%s'; did you mean '%s'?", name, near);
    else
        cli_say("unknown subcommand '%s'; `ptxgen --help` lists them", name);
    return CLI_USAGE;
}

/* --arch X among the words, where it is a parameter like others. */
static ptxgen_status arch_to_words(cli_args *args, char **word, ptxgen_error *err)
{
    for (size_t i = 0; i < args->count; i++)
        if (strncmp(args->words[i], "arch=", 5) == 0)
            return cli_fail(err, PTXGEN_EINVAL, "--arch %s and %s: give the architecture once",
                            args->set.arch, args->words[i]);
    if (strchr(args->set.arch, ','))
        return cli_fail(err, PTXGEN_EINVAL,
                        "--arch is '%s'; one architecture is wanted here, like sm_100a",
                        args->set.arch);
    *word = cli_format("arch=%s", args->set.arch);
    args->words[args->count++] = *word;
    return PTXGEN_OK;
}

static int run_command(const cli_command *command, int argc, char **argv)
{
    ptxgen_error err = {0};
    cli_args args = {.words = cli_calloc((size_t)argc + 1, sizeof(char *))};
    char *arch = NULL;
    int code;
    ptxgen_status status = cli_parse(command, argc, argv, &args, &err);
    if (status == PTXGEN_OK && command->arch_is_word && args.set.arch && !args.set.help)
        status = arch_to_words(&args, &arch, &err);
    if (status != PTXGEN_OK) {
        code = cli_report(&args.set, &err);
    } else if (args.set.help) {
        cli_help(command, &args);
        code = CLI_OK;
    } else {
        const char *reads = command->reads ? command->reads(&args) : NULL;
        const char *unread = reads ? cli_option_outside(&args, reads) : NULL;
        code = unread
                   ? cli_usage_error(&args.set,
                                     "--%s would have no effect here; `ptxgen %s --help` says what "
                                     "is for what",
                                     unread, command->name)
                   : command->run(&args);
    }
    free(args.words);
    free(arch);
    return code;
}

static int run_main(int argc, char **argv)
{
    if (argc < 2) {
        print_help(stderr);
        return CLI_USAGE;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("ptxgen %s\n", ptxgen_version());
        return CLI_OK;
    }
    bool help = strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
                strcmp(argv[1], "help") == 0;
    if (help && argc == 2) {
        print_help(stdout);
        return CLI_OK;
    }
    if (!help && argv[1][0] == '-') {
        cli_say("the subcommand comes before its options; '%s' is none. `ptxgen --help` lists them",
                argv[1]);
        return CLI_USAGE;
    }
    const char *name = help ? argv[2] : argv[1];
    const cli_command *command = find_command(name);
    if (!command)
        return unknown_command(name);
    char *only_help[] = {(char *)"--help"};
    return help ? run_command(command, 1, only_help) : run_command(command, argc - 2, argv + 2);
}

int main(int argc, char **argv)
{
    signal(SIGXFSZ, SIG_IGN); /* a limit on file sizes is a failed write, said like others */
    int code = run_main(argc, argv);
    return cli_finish_stdout(code);
}
