/* By default what lies in the own folder is compared with the assembler that is there, so that a
 * new one is put to use; what others shipped is taken from any, and everything is when none is
 * there. */
#include "engine/entry_judge.h"

#include "cubin/cubin_match.h"
#include "engine/cache_key.h"

#include <stdio.h>
#include <string.h>

/* The assembler whose entries alone are taken; NULL: any. */
static const char *only_assembler(const ptxgen_kernel *k, bool own)
{
    ptxgen_assembler kind;
    const char *identity;
    const ptxgen_cache_assembler policy = k->engine->accept;
    if (policy == PTXGEN_CACHE_ASSEMBLER_ANY || (policy == PTXGEN_CACHE_ASSEMBLER_AUTO && !own))
        return NULL;
    if (pg_toolkit_choose(k->engine->toolkit, pg_kernel_need(&k->id), &kind, &identity, NULL) ==
        PTXGEN_OK)
        return identity;
    return policy == PTXGEN_CACHE_ASSEMBLER_EXACT ? "none" : NULL;
}

static pg_cache_verdict judge_assembler(pg_entry_judge *j, const pg_cache_entry *entry, bool own)
{
    const ptxgen_kernel *k = j->kernel;
    const char *const by = entry->assembler, *only = only_assembler(k, own);
    if (only && strcmp(only, by) != 0) {
        snprintf(j->why, sizeof j->why,
                 "its entry was made by %s, not by %s (cache_assembler=any would take it)", by,
                 only);
        return PG_CACHE_PASSES;
    }
    if (pg_assembler_is_accepted(by, pg_kernel_need(&k->id)))
        return PG_CACHE_SERVES;
    snprintf(j->why, sizeof j->why, "its entry was made by %s, which is not taken for a kernel %s",
             by, k->id.family->whole_program ? "with setmaxnreg" : "of ours");
    return PG_CACHE_PASSES;
}

/* Another assembler may take what one has refused. */
static pg_cache_verdict judge_failure(pg_entry_judge *j, const pg_cache_entry *entry)
{
    ptxgen_assembler kind;
    const char *identity;
    const ptxgen_kernel *k = j->kernel;
    if (pg_toolkit_choose(k->engine->toolkit, pg_kernel_need(&k->id), &kind, &identity, NULL) ==
            PTXGEN_OK &&
        strcmp(identity, entry->assembler) == 0)
        return PG_CACHE_SERVES;
    snprintf(j->why, sizeof j->why, "it was refused by %s, which is not the assembler here",
             entry->assembler);
    return PG_CACHE_PASSES;
}

static pg_cache_verdict say(void *user, const pg_cache_entry *entry, bool own, const char **why)
{
    pg_entry_judge *j = user;
    char fault[96];
    *why = j->why;
    if (entry->status != PTXGEN_OK)
        return judge_failure(j, entry);
    const pg_plan_head *head = (const pg_plan_head *)j->kernel->plan;
    const pg_cubin_wanted wanted = {j->kernel->id.key[0], head->entry, head->parts};
    if (!pg_cubin_match(entry->cubin, entry->cubin_size, &wanted, fault, sizeof fault)) {
        snprintf(j->why, sizeof j->why, "its cubin %s", fault);
        return PG_CACHE_WRONG;
    }
    return judge_assembler(j, entry, own);
}

pg_cache_judge pg_entry_judge_of(pg_entry_judge *judge)
{
    return (pg_cache_judge){say, judge};
}
