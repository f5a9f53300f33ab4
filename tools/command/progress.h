/* A bar on standard error while something long runs; nothing when standard error is no terminal. */
#ifndef PTXGEN_PROGRESS_H
#define PTXGEN_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct cli_progress {
    const char *label; /* borrowed */
    size_t total, done;
    bool shown;
} cli_progress;

cli_progress cli_progress_begin(const char *label, size_t total);
/* One more of the total is done; `what` is the one that comes next, or NULL. */
void cli_progress_step(cli_progress *, const char *what);
/* Makes room for a message line; the next step draws the bar again. */
void cli_progress_clear(const cli_progress *);
/* Wipes the bar. */
void cli_progress_end(cli_progress *);

#endif
