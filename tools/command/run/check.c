/* --check: the library's verdict, also of a kernel with a user function, which runs on the
 * emulator here and not in the kernel: over src before the plain C answer, or where that answer
 * has it (matrix multiplications). */
#include "command/run/family.h"
#include "ptxgen/function.h"

#include <stdlib.h>
#include <string.h>

/* A copy of a dense matrix of the host behind the function. */
static ptxgen_status map(const run_job *j, int64_t function, const ptxgen_tensor *t, void *out,
                         ptxgen_error *err)
{
    const ptxgen_function_map_args a = {.size = sizeof a,
                                        .function = function,
                                        .family = j->family,
                                        .dtype = t->dtype,
                                        .rows = t->shape[0],
                                        .n = t->shape[1],
                                        .in = t->data,
                                        .out = out};
    return ptxgen_function_map(j->ctx, &a, err);
}

static ptxgen_status judge(run_job *j, const char *words, const ptxgen_tensor *before,
                           ptxgen_error *err)
{
    ptxgen_tensor after[RUN_MAX_OPERANDS];
    run_host_tensors(j, true, after);
    j->verdict.size = sizeof j->verdict;
    j->verdict.functions = j->ctx;
    return ptxgen_call_check(j->family, words, before, after, j->count, &j->verdict, err);
}

/* Where the function is of what is read. */
static ptxgen_status judge_mapped(run_job *j, const char *words, int64_t function, size_t src,
                                  ptxgen_error *err)
{
    ptxgen_tensor before[RUN_MAX_OPERANDS];
    void *mapped = cli_calloc(1, j->operands[src].array.header.data_bytes + 1);
    run_host_tensors(j, false, before);
    ptxgen_status status = map(j, function, &before[src], mapped, err);
    before[src].data = mapped;
    if (status == PTXGEN_OK)
        status = judge(j, words, before, err);
    free(mapped);
    return status;
}

ptxgen_status run_check(run_job *j, ptxgen_error *err)
{
    ptxgen_tensor before[RUN_MAX_OPERANDS];
    const char *word = run_word(j, "function");
    const int64_t function = word ? strtoll(word, NULL, 10) : 0;
    const run_operand *src = run_operand_named(j, "src");
    if (!j->args->set.check)
        return PTXGEN_OK;
    run_host_tensors(j, false, before);
    if (!function || !src || j->operands[j->result].output.header.count == 0)
        return judge(j, j->words, before, err);
    char *all = cli_format("%s", j->words);
    run_drop_word(j, "function");
    char *words = j->words;
    j->words = all;
    const ptxgen_status status = judge_mapped(j, words, function, (size_t)(src - j->operands), err);
    free(words);
    return status;
}
