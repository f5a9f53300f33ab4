/* Suffixes that ptxas refuses together, though each has its place in the row of the opcode table.
 * Looked at once an opcode. */
#include "ptx/rules/verify.h"

#include "ptx/table/vocabulary.h"

/* A field's values from `low` to `high`; both 0: any that is not empty; NOTHING: it is empty. */
enum { NOTHING = 0xFFFF };
typedef struct choice {
    pg_ptx_field field;
    uint16_t low, high;
} choice;

/* In the rows `first` to `last`, not both. */
typedef struct conflict {
    pg_ptx_op first, last;
    choice a, b;
} conflict;

#define ONE(field, value)                                                                          \
    {                                                                                              \
        PG_F_##field, PG_M_##field##_##value, PG_M_##field##_##value                               \
    }
#define ANY(field)                                                                                 \
    {                                                                                              \
        PG_F_##field, 0, 0                                                                         \
    }
#define NONE(field)                                                                                \
    {                                                                                              \
        PG_F_##field, NOTHING, NOTHING                                                             \
    }
#define MULTIMEM PG_OP_MULTIMEM_LD_REDUCE_ADD, PG_OP_MULTIMEM_RED_FLOAT
static const conflict conflicts[] = {
    /* an order has a scope and a scope an order */
    {MULTIMEM, {PG_F_SEM, PG_M_SEM_RELAXED, PG_M_SEM_ACQ_REL}, NONE(SCOPE)},
    {MULTIMEM, ANY(SCOPE), NONE(SEM)},
    {MULTIMEM, ANY(SCOPE), ONE(SEM, WEAK)},
    {PG_OP_MBARRIER_ARRIVE, PG_OP_MBARRIER_ARRIVE_DROP_NO_COMPLETE, ANY(NO_COMPLETE),
     ONE(SEM, RELAXED)},
    {PG_OP_TCGEN05_MMA, PG_OP_TCGEN05_MMA_SP_MXF4NVF4, ANY(ASHIFT), ONE(COLLECTOR_A, USE)},
    {PG_OP_TCGEN05_MMA, PG_OP_TCGEN05_MMA_SP_MXF4NVF4, ANY(ASHIFT), ONE(COLLECTOR_A, FILL)},
    /* L1 is not between a CTA and its own memory, and is told one thing only */
    {PG_OP_LD, PG_OP_ST_ORDERED, ANY(EVICT_L1), ONE(SPACE, LOCAL)},
    {PG_OP_LD,
     PG_OP_ST_ORDERED,
     ANY(EVICT_L1),
     {PG_F_SPACE, PG_M_SPACE_SHARED, PG_M_SPACE_SHARED_CLUSTER}},
    {PG_OP_LD, PG_OP_ST_ORDERED, ANY(EVICT_L1), ANY(CACHE)},
    {PG_OP_ATOM_CAS, PG_OP_ATOM_CAS_B16, ANY(HINT), {PG_F_OP, PG_M_OP_CAS, PG_M_OP_CAS}},
};
#undef ONE
#undef ANY
#undef NONE
#undef MULTIMEM

static bool has(const pg_ptx_opcode *o, choice c)
{
    const unsigned value = o->mod[c.field];
    return c.low == NOTHING ? !value : c.low ? value >= c.low && value <= c.high : value != 0;
}

static const char *spelling(const pg_ptx_opcode *o, choice c)
{
    return o->mod[c.field] ? pg_modifier_table[o->mod[c.field]].spelling : "";
}

bool pg_verify_suffixes(pg_verifier *v)
{
    const pg_ptx_opcode *o = v->insn->opcode;
    for (size_t i = 0; i < sizeof conflicts / sizeof *conflicts; i++) {
        const conflict *c = &conflicts[i];
        if (o->op < c->first || o->op > c->last || !has(o, c->a) || !has(o, c->b))
            continue;
        if (c->b.low == NOTHING)
            return pg_verify_fail(v, NULL, "'%s': .%s needs %s beside it", pg_verify_name(v),
                                  spelling(o, c->a),
                                  c->b.field == PG_F_SCOPE ? "a scope" : "an order");
        return pg_verify_fail(v, NULL, "'%s': .%s does not go with .%s", pg_verify_name(v),
                              spelling(o, c->a), spelling(o, c->b));
    }
    return true;
}
