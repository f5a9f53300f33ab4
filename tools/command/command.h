/* What the subcommands of `ptxgen` share: exit codes, the settings that options fill, the table
 * row of a subcommand, and how it reports. A subcommand is one file with one cli_command; main.c
 * lists them. Product goes to standard output (or -o FILE), talk to standard error. Only public
 * headers of the library are used here. */
#ifndef PTXGEN_COMMAND_H
#define PTXGEN_COMMAND_H

#include "ptxgen/ptxgen.h"
#include "command/fail.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Documented in `ptxgen --help` and README.md; they never change their meaning. */
enum cli_exit {
    CLI_OK = 0,
    CLI_NO = 1,    /* the answer is no: a check failed, a bad index, a wrong emulated program */
    CLI_USAGE = 2, /* the command line or an input file is wrong */
    CLI_UNSUPPORTED = 3, /* no kernel exists for this problem */
    CLI_REJECTED = 4,    /* the PTX was refused: by the assembler or by our parser */
    CLI_SYSTEM = 5,      /* a file, memory, the driver, a missing part */
    CLI_RELIES = 6 /* checking mode: nothing undefined, but it relies on ptxas or the hardware */
};

enum { CLI_MAX_ARGS = 64 };

/* Every option means the same in every subcommand, so one struct holds them all. */
typedef struct cli_settings {
    bool help, json, dry_run, verbose;
    const char *output;              /* -o: NULL is standard output */
    const char *cache_dir, *toolkit; /* NULL: the library's rule */
    int64_t assembler, device,
        log_level; /* ptxgen_assembler, ptxgen_device_kind, ptxgen_log_level */
    bool line_map, ptx, cubin, sass, recompile;
    bool prometheus, zero, readable, force;
    const char *arch, *require, *expect;
    int64_t jobs;
    bool check;
    int64_t repeat;
    int64_t limit; /* of inline: instructions; 0: inline nothing; -1: not given */
    int64_t seed;
    int64_t candidates; /* of tune; 0: not given */
    /* run FILE.ptx */
    const char *entry, *grid, *block, *cluster, *seeds; /* NULL: not given */
    const char *arg[CLI_MAX_ARGS];
    size_t arg_count;
    int64_t shared, order, budget,
        result; /* order: ptxgen_emulator_order; result: from 1, 0 if not given */
    bool check_races, stats, cooperative, print_launch;
    const char *ignore[CLI_MAX_ARGS]; /* kinds of reports */
    size_t ignore_count;
    const char *suppress, *sarif, *report, *trace; /* files; NULL: not given */
    const char *time;                              /* an architecture */
    /* emulate */
    int64_t threads, sms, memory; /* 0: not given */
    bool fast;
} cli_settings;

/* A parsed command line: the words that are no options, in order. */
typedef struct cli_args {
    cli_settings set;
    uint64_t given; /* bit i: row i of the table of options */
    char **words;   /* borrowed from argv */
    size_t count;
} cli_args;

/* One of the things that a command does, with options of its own. */
typedef struct cli_way {
    const char *name;    /* "options of NAME" */
    const char *ask;     /* the command line whose help explains them */
    const char *options; /* names, separated by spaces */
} cli_way;

typedef struct cli_command {
    const char *name;
    const char *usage;    /* after "ptxgen NAME " */
    const char *summary;  /* one line */
    const char *text;     /* the body of --help: what it does */
    const char *examples; /* lines, each begins with two spaces */
    const char *options;  /* names of the options that it takes, separated by spaces */
    bool takes_family;    /* --help shows families and parameters */
    bool arch_is_word;    /* --arch X is the same as the word arch=X */
    /* Where help of all options would pass a screen: it names those of each way, and explains
     * those of the way that the words tell (below way_count). */
    const cli_way *ways;
    size_t way_count;
    size_t (*way_of)(const cli_args *);
    /* Of `options` those that a run with these arguments reads: any other that is given is
     * refused. NULL: all. */
    const char *(*reads)(const cli_args *);
    int (*run)(const cli_args *); /* returns a cli_exit */
} cli_command;

/* Subcommand i, in the order of help; NULL past the last. */
const cli_command *cli_command_at(size_t i);
/* What exit code i means, and what else `ptxgen --help` says at its end; NULL past the last. */
const char *cli_exit_text(size_t i);
extern const char cli_purpose[], cli_environment[];

extern const cli_command cli_array, cli_bench, cli_cache, cli_compile, cli_diff, cli_doctor,
    cli_draw, cli_emit, cli_emulate, cli_inline, cli_inspect, cli_list, cli_prewarm, cli_run,
    cli_tune;

/* ---- reports --------------------------------------------------------------------------------- */

/* One line on standard error, with "ptxgen: " before it. */
void cli_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Says the error on standard error (and, under --json, as an object on standard output) and
 * returns the exit code that its status maps to. */
int cli_report(const cli_settings *, const ptxgen_error *);
/* The two halves of cli_report: the line on standard error, and the object. */
void cli_say_error(const ptxgen_error *);
struct cJSON *cli_error_json(const ptxgen_error *);
/* cli_report of a CLI_USAGE error in the words given. */
int cli_usage_error(const cli_settings *, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
int cli_exit_for(ptxgen_status);

/* A relative path means here what it means to a shell; the library takes absolute ones only. ""
 * stays. */
ptxgen_status cli_absolute_path(const char *path, char *out, size_t size, ptxgen_error *err);
/* A context with the settings' cache folder, toolkit, assembler, device and log level; log lines
 * go to standard error. A cache folder that cannot be used is said in a line; the command goes on
 * without it. */
ptxgen_status cli_context(const cli_settings *, ptxgen **out, ptxgen_error *err);
/* The same for a command that fails without the folder, and says so itself. */
ptxgen_status cli_context_for_folder(const cli_settings *, ptxgen **out, ptxgen_error *err);
/* "cache_off" in a report, with the reason, when the folder cannot be used. */
void cli_json_cache(struct cJSON *root, ptxgen *ctx);
/* A log hook that says for whom the library waits. */
void cli_log_waits(void *user, ptxgen_log_level level, const char *line);
/* cli_context, but the cache folder is neither made nor changed. */
ptxgen_status cli_looking_context(const cli_settings *, ptxgen **out, ptxgen_error *err);
/* The remote store behind the context's cache folder, without its password; borrowed. NULL:
 * none. */
const char *cli_remote_place(ptxgen *ctx);

/* Joins words[from..] with spaces into a new string ("name=value ..."). EINVAL when a word has
 * no '='. */
ptxgen_status cli_params(const cli_args *, size_t from, char **out, ptxgen_error *err);
/* The known word nearest to `word`, or NULL if none is near. */
const char *cli_nearest(const char *word, const char *const *known, size_t count);

/* "1 entry", "3 entries". Of the last few calls, for use in one statement. */
const char *cli_count(uint64_t n, const char *one, const char *many);
void *cli_calloc(size_t count,
                 size_t size); /* exits with CLI_SYSTEM and a message when out of memory */
char *cli_format(const char *format, ...)
    __attribute__((format(printf, 1, 2))); /* owned by the caller */

#endif
