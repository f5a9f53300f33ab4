#include "command/progress.h"

#include <stdio.h>
#include <unistd.h>

enum { BAR_WIDTH = 24 };

static void draw(const cli_progress *p, const char *what)
{
    char bar[BAR_WIDTH + 1];
    size_t full = p->total ? p->done * BAR_WIDTH / p->total : BAR_WIDTH;
    for (size_t i = 0; i < BAR_WIDTH; i++)
        bar[i] = i < full ? '#' : '.';
    bar[BAR_WIDTH] = '\0';
    fprintf(stderr, "\r\033[K%s [%s] %zu/%zu %.40s", p->label, bar, p->done, p->total,
            what ? what : "");
}

cli_progress cli_progress_begin(const char *label, size_t total)
{
    cli_progress p = {label, total, 0, isatty(STDERR_FILENO) != 0};
    if (p.shown)
        draw(&p, NULL);
    return p;
}

void cli_progress_step(cli_progress *p, const char *what)
{
    p->done++;
    if (p->shown)
        draw(p, what);
}

void cli_progress_clear(const cli_progress *p)
{
    if (p->shown)
        fputs("\r\033[K", stderr);
}

void cli_progress_end(cli_progress *p)
{
    cli_progress_clear(p);
    p->shown = false;
}
