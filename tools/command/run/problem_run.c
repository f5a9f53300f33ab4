#include "command/run/problem_run.h"

#include "command/function.h"
#include "command/run/emulate.h"

#include <stdlib.h>

enum { ALIGNMENT = 1024 };
static const size_t most_bytes = (size_t)1 << 30;                /* of all operands */
static const uint64_t most_instructions = UINT64_C(10000000000); /* a minute or more */

static ptxgen_status fill_memory(run_problem *r, ptxgen_error *err)
{
    cli_problem *p = &r->problem;
    size_t sum = 0;
    for (size_t i = 0; i < p->count; i++)
        sum += cli_problem_bytes(p, i);
    if (sum > most_bytes)
        return cli_fail(err, PTXGEN_EINVAL,
                        "operands of %zu bytes: an emulated problem takes at most %zu; a smaller "
                        "one shows the same",
                        sum, most_bytes);
    for (size_t i = 0; i < p->count; i++) {
        const size_t bytes = cli_problem_bytes(p, i);
        if (!p->tensors[i].rank)
            continue;
        if (posix_memalign(&r->memory[i], ALIGNMENT, bytes ? bytes : 1) != 0) {
            r->memory[i] = NULL;
            return cli_fail(err, PTXGEN_ENOMEM, "no memory for an operand of %zu bytes", bytes);
        }
        cli_problem_values(p, i, r->memory[i]);
        p->tensors[i].data = r->memory[i];
    }
    return PTXGEN_OK;
}

ptxgen_status run_problem_open(run_problem *r, ptxgen *ctx, size_t family, cli_args words,
                               ptxgen_error *err)
{
    cli_problem *p = &r->problem;
    *r = (run_problem){.ctx = ctx};
    ptxgen_status status = cli_problem_read(p, family, words.words, words.count, err);
    if (status == PTXGEN_OK)
        status = cli_functions(ctx, &p->words, err);
    if (status == PTXGEN_OK)
        status = fill_memory(r, err);
    if (status == PTXGEN_OK)
        status = ptxgen_call_params(ctx, p->family, p->words, p->tensors, p->count, r->params,
                                    sizeof r->params, err);
    if (status == PTXGEN_OK)
        status = ptxgen_emit(ctx, p->family, r->params, &r->kernel, err);
    return status;
}

void run_problem_close(run_problem *r)
{
    ptxgen_kernel_unref(r->kernel);
    for (size_t i = 0; i < PROBLEM_MAX_OPERANDS; i++)
        free(r->memory[i]);
    cli_problem_free(&r->problem);
}

typedef struct counted {
    const ptxgen_emulator *emu;
    const run_problem_seen *seen;
} counted;

static ptxgen_status tell_counts(void *user, const ptxgen_emulator_module *module,
                                 ptxgen_error *err)
{
    const counted *c = user;
    (void)err;
    c->seen->counts(c->seen->user, c->emu, module);
    return PTXGEN_OK;
}

ptxgen_status run_problem_emulate(run_problem *r, const run_listener *listener,
                                  const run_problem_seen *seen, ptxgen_error *err)
{
    const ptxgen_emulator_config config = {.size = sizeof config,
                                           .profile = true,
                                           .trace = listener ? listener->event : NULL,
                                           .user = listener ? listener->user : NULL,
                                           .instruction_budget = most_instructions,
                                           .arithmetic = PTXGEN_EMULATOR_FAST};
    ptxgen_emulator *emu;
    run_bad_index bad;
    const cli_problem *p = &r->problem;
    ptxgen_status status = ptxgen_emulator_create(&config, &emu, err);
    if (status != PTXGEN_OK)
        return status;
    counted c = {emu, seen};
    const run_emulation e = {
        r->ctx, p->place, r->kernel, p->tensors, p->count, &bad, seen ? tell_counts : NULL, &c};
    status = run_emulate(emu, &e, err);
    ptxgen_emulator_destroy(emu);
    return status;
}
