/* The index_sort family: parameters and contract. */
#include "common/index_sort.h"

#include "base/error.h"

#include <stdio.h>
#include <string.h>

static const char *const index_words[] = {"i64", "i32", NULL};
static const char *const oob_words[] = {"record", "trap", "unchecked", NULL};
static const char *const parts[] = {"count_index",   "place_index",   "scan",
                                    "count_entries", "place_entries", "group",
                                    "clear_rows",    "count_rows",    NULL};

#define FIELD(name) offsetof(pg_index_sort_key, name)

static const pg_param params[] = {
    {"arch", PG_PARAM_ARCH, FIELD(arch), .doc = "target architecture, sm_80 and up"},
    {"index", PG_PARAM_CHOICE, FIELD(index), index_words, .doc = "type of index"},
    {"oob", PG_PARAM_CHOICE, FIELD(oob), oob_words,
     .doc = "a bad index is left out, and: record (report it), trap (lose the context), unchecked"},
};

static ptxgen_status pg_index_sort_resolve(void *key, const pg_arch *arch, ptxgen_error *err)
{
    (void)key;
    if (arch->sm < 80)
        return pg_fail(err, PTXGEN_EUNSUPPORTED, "index_sort needs sm_80 or later, not %s",
                       arch->name);
    return PTXGEN_OK;
}

static void pg_index_sort_plan_from(const void *key, const pg_arch *arch, void *plan)
{
    const pg_index_sort_key *k = key;
    pg_index_sort_plan *p = plan;
    memset(p, 0, sizeof *p);
    p->arch = arch;
    p->oob = (ptxgen_oob)k->oob;
    p->index_type = k->index == PTXGEN_INDEX_I32 ? "s32" : "s64";
    p->index_bytes = k->index == PTXGEN_INDEX_I32 ? 4 : 8;
    snprintf(p->head.entry, sizeof p->head.entry, "index_sort");
    p->head.parts = parts;
    const bool room =
        pg_index_sort_shared_bytes(PG_SORT_MAX_DIGIT) <= (uint32_t)arch->max_shared_bytes;
    p->max_digit = room ? PG_SORT_MAX_DIGIT : PG_SORT_SMALL_DIGIT;
    p->head.shared_bytes = pg_index_sort_shared_bytes(p->max_digit);
}

/* It has no operands of its own: it is a helper (generate/family.h). */
static ptxgen_status refuse_call(pg_problem *p, ptxgen_error *err)
{
    (void)p;
    return pg_fail(err, PTXGEN_EUNSUPPORTED,
                   "index_sort runs as a part of scatter_add: call that, or "
                   "ptxgen_scatter_plan_create");
}

PG_DEFINE_HELPER(index_sort, .summary = "(row, position) of an index in the order of rows",
                 .params = {params, sizeof params / sizeof *params, sizeof(pg_index_sort_key)},
                 .plan_size = sizeof(pg_index_sort_plan), .default_arch = 900,
                 .empty = refuse_call);
