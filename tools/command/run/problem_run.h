/* A problem that words name (command/problem.h) on an emulator of its own. */
#ifndef PTXGEN_RUN_PROBLEM_RUN_H
#define PTXGEN_RUN_PROBLEM_RUN_H

#include "command/problem.h"
#include "command/run/run.h"

enum { RUN_PROBLEM_PARAMS = 2048 };

typedef struct run_problem {
    ptxgen *ctx; /* the caller's */
    cli_problem problem;
    void *memory[PROBLEM_MAX_OPERANDS]; /* owned, random values */
    ptxgen_kernel *kernel;              /* emitted, not assembled */
    char params[RUN_PROBLEM_PARAMS];    /* the kernel's */
} run_problem;

/* Words after the family's name. EINVAL, EUNSUPPORTED: there is no such kernel. Close it
 * in any case. */
ptxgen_status run_problem_open(run_problem *r, ptxgen *ctx, size_t family, cli_args words,
                               ptxgen_error *err);
void run_problem_close(run_problem *r);
/* Runs it once, with a profile; `listener` may be NULL. `seen` is called at the end with what has
 * been counted; NULL: nobody wants to know. */
typedef struct run_problem_seen {
    void (*counts)(void *user, const ptxgen_emulator *emu, const ptxgen_emulator_module *module);
    void *user;
} run_problem_seen;
ptxgen_status run_problem_emulate(run_problem *r, const run_listener *listener,
                                  const run_problem_seen *seen, ptxgen_error *err);

#endif
