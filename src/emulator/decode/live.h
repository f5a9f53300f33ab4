/* Live registers: how many a thread needs at an instruction. */
#ifndef PG_EMULATOR_LIVE_H
#define PG_EMULATOR_LIVE_H

#include "base/arena.h"
#include "ptx/ptx.h"

/* By instruction of a function with code: registers that hold a value which it or a later one
 * reads, and those that it writes, in registers of 32 bits; predicates and the carry flag are none.
 * What a function called meanwhile needs is not counted. NULL: out of memory, as the arena says. */
const uint32_t *pg_live_registers(pg_arena *arena, const pg_ptx_function *f);

#endif
