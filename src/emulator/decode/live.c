/* A backward analysis over basic blocks. A write under a guard keeps what was there before. */
#include "emulator/decode/live.h"

#include "emulator/decode/registers.h"

#include <string.h>

typedef struct liveness {
    pg_register_flow flow;
    uint64_t *at_begin; /* by block: live before its first instruction */
    uint64_t *now;
    uint32_t *live;
} liveness;

/* Registers of 32 bits. */
static uint32_t size_of(const pg_ptx_function *f, uint32_t reg)
{
    if (reg >= f->n_regs || f->reg_types[reg] == PG_T_PRED)
        return 0;
    const uint32_t bits = pg_ptx_type_bits((pg_ptx_type)f->reg_types[reg]);
    return bits <= 32 ? 1 : bits / 32;
}

static uint32_t weigh(const liveness *x)
{
    uint32_t sum = 0;
    for (uint32_t w = 0; w < x->flow.words; w++)
        for (uint64_t left = x->now[w]; left; left &= left - 1)
            sum += size_of(x->flow.f, 64 * w + (uint32_t)__builtin_ctzll(left));
    return sum;
}

/* x->now from behind the instruction to before it; in between everything that it touches. */
static void step_back(liveness *x, uint32_t i)
{
    pg_register_flow *flow = &x->flow;
    const pg_ptx_insn *insn = &flow->f->code[i];
    pg_register_flow_ask(flow, insn);
    for (uint32_t k = 0; k < flow->writes; k++)
        pg_bit_set(x->now, flow->written[k]);
    for (uint32_t k = 0; k < flow->reads; k++)
        pg_bit_set(x->now, flow->read[k]);
    for (uint32_t k = 0; k < flow->effects; k++)
        pg_bit_set(x->now, flow->effect[k]);
    x->live[i] = weigh(x);
    for (uint32_t k = 0; insn->guard == PG_PTX_NO_REG && k < flow->writes; k++)
        pg_bit_clear(x->now, flow->written[k]);
    for (uint32_t k = 0; k < flow->reads; k++)
        pg_bit_set(x->now, flow->read[k]);
    for (uint32_t k = 0; k < flow->effects; k++)
        pg_bit_set(x->now, flow->effect[k]);
}

static bool walk_block(liveness *x, uint32_t block)
{
    const pg_register_flow *flow = &x->flow;
    uint64_t *begin = x->at_begin + (size_t)block * flow->words;
    uint32_t next;
    memset(x->now, 0, flow->words * sizeof *x->now);
    for (uint32_t k = 0; pg_register_flow_next(flow, block, k, &next); k++)
        for (uint32_t w = 0; w < flow->words; w++)
            x->now[w] |= x->at_begin[(size_t)next * flow->words + w];
    uint32_t i =
        flow->first[block + 1] < flow->f->n_code ? flow->first[block + 1] : flow->f->n_code;
    while (i-- > flow->first[block])
        step_back(x, i);
    const bool changed = memcmp(begin, x->now, flow->words * sizeof *begin) != 0;
    memcpy(begin, x->now, flow->words * sizeof *begin);
    return changed;
}

const uint32_t *pg_live_registers(pg_arena *arena, const pg_ptx_function *f)
{
    liveness x = {.live = NULL};
    if (!pg_register_flow_make(arena, f, &x.flow))
        return NULL;
    x.at_begin = PG_NEW_ARRAY(arena, uint64_t, (size_t)x.flow.blocks * x.flow.words);
    x.now = PG_NEW_ARRAY(arena, uint64_t, x.flow.words);
    x.live = PG_NEW_ARRAY(arena, uint32_t, f->n_code);
    if (arena->failed)
        return NULL;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t block = x.flow.blocks; block-- > 0;)
            changed |= walk_block(&x, block);
    }
    return x.live;
}
