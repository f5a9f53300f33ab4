/* The registers that the instructions of a function read and write, and its basic blocks: what
 * analyses of registers begin with. The carry flag is a register too, the last. */
#ifndef PG_EMULATOR_REGISTERS_H
#define PG_EMULATOR_REGISTERS_H

#include "base/arena.h"
#include "ptx/ptx.h"

typedef struct pg_register_flow {
    const pg_ptx_function *f;
    uint32_t regs;      /* with the carry flag */
    uint32_t words;     /* of a bit set of registers, 64 in each */
    uint32_t *block_of; /* by instruction: its block; and n_code */
    uint32_t *first;    /* instruction, by block */
    uint32_t blocks;
    /* Of the instruction last asked for: registers that it reads; those that have an effect then
     * (addresses, branches, stores to global memory); those that it writes. */
    uint32_t *read, *effect, *written;
    uint32_t reads, effects, writes;
} pg_register_flow;

/* For a function with code; false: out of memory, as the arena says. */
bool pg_register_flow_make(pg_arena *arena, const pg_ptx_function *f, pg_register_flow *out);
void pg_register_flow_ask(pg_register_flow *x, const pg_ptx_insn *insn);

bool pg_insn_is_named(const pg_ptx_insn *insn, const char *mnemonic);
/* A branch, or the end of the thread or function. */
bool pg_insn_ends_block(const pg_ptx_insn *insn);
/* The last instruction of a block; NULL: it has none. */
const pg_ptx_insn *pg_register_flow_last(const pg_register_flow *x, uint32_t block);
/* Block that may follow `block`, i = 0, 1, ...; false past the last. */
bool pg_register_flow_next(const pg_register_flow *x, uint32_t block, uint32_t i, uint32_t *next);

static inline void pg_bit_set(uint64_t *set, uint32_t i)
{
    set[i / 64] |= UINT64_C(1) << i % 64;
}
static inline void pg_bit_clear(uint64_t *set, uint32_t i)
{
    set[i / 64] &= ~(UINT64_C(1) << i % 64);
}
static inline bool pg_bit_is(const uint64_t *set, uint32_t i)
{
    return set[i / 64] >> i % 64 & 1;
}

#endif
