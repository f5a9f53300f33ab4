/* Where the product of a command goes: standard output, or a file that appears whole or not at
 * all. A file is written beside its place under a temporary name, synced and renamed; a failure,
 * SIGINT or SIGTERM removes the temporary. A device or pipe is written directly. */
#ifndef PTXGEN_OUTPUT_H
#define PTXGEN_OUTPUT_H

#include "command/command.h"

#include <stdio.h>

typedef struct cli_output {
    FILE *file;       /* write here */
    const char *path; /* as given; NULL: standard output */
    char *final;      /* path with links followed, owned */
    char *temporary;  /* owned; NULL when written directly */
    bool discarded;
} cli_output;

/* path NULL or "-": standard output. `binary` products are refused on a terminal. One file at a
 * time. */
ptxgen_status cli_output_open(cli_output *, const char *path, bool binary, ptxgen_error *err);
/* Makes the file appear; EIO (and nothing appears) when a write failed. */
ptxgen_status cli_output_commit(cli_output *, ptxgen_error *err);
void cli_output_discard(cli_output *);
/* Open, write all of it, commit. */
ptxgen_status cli_output_bytes(const char *path, bool binary, const void *bytes, size_t n,
                               ptxgen_error *err);

/* Where a report goes: standard output, or standard error when -o - gives that to the product. */
FILE *cli_report_file(const cli_settings *);

/* Removes a folder that the command made for itself, and what is in it. */
void cli_remove_folder(const char *path);

/* Flushes standard output at the end; CLI_SYSTEM with a message when something printed was lost. */
int cli_finish_stdout(int code);

#endif
