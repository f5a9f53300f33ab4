/* One of the two kernels that `ptxgen diff` compares, and all that is known of it. What cannot be
 * had has the reason instead. */
#ifndef PTXGEN_DIFF_SIDE_H
#define PTXGEN_DIFF_SIDE_H

#include "command/command.h"

#include "ptxgen/inspect.h"

enum { DIFF_MOST_COUNTS = 64, DIFF_COUNT_NAME = 48 };

typedef struct diff_side {
    char *name;         /* what it is, in a line */
    char *ptx, *no_ptx; /* one of the two */
    void *cubin;        /* NULL: no_cubin */
    char *no_cubin;
    size_t cubin_size;
    ptxgen_cubin_info info;
    ptxgen_cubin_kernel kernel; /* the first; of several, sums and the largest */
    int spill_bytes;            /* -1: unknown */
    int dynamic_shared;         /* of a family's kernel; -1: unknown */
    char *sass, *no_sass;
    /* of a run on the emulator, by name */
    struct {
        char name[DIFF_COUNT_NAME];
        uint64_t value;
    } counts[DIFF_MOST_COUNTS];
    size_t count_count;
    char *no_counts; /* NULL: there are counts */
} diff_side;

/* `word`: a file (PTX or cubin, by content) or "FAMILY name=value ...". Free it in any case. */
ptxgen_status diff_side_open(diff_side *side, const cli_settings *set, const char *word,
                             ptxgen_error *err);
void diff_side_free(diff_side *side);

#endif
