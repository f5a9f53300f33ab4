/* From addresses to host memory. Every access of a program, also of asynchronous copies, comes
 * through here: this is where bounds and alignment are checked and where the checker listens. */
#ifndef PG_EMULATOR_MEMORY_H
#define PG_EMULATOR_MEMORY_H

#include "emulator/machine/launch.h"

typedef enum pg_access_kind {
    PG_ACCESS_READ = 1,
    PG_ACCESS_WRITE = 2,
    PG_ACCESS_ATOMIC = 3
} pg_access_kind;

/* Host pointers of op's address operand for every lane of `lanes`, `bytes` (a power of two)
 * each, which is the alignment as well. False: the launch has been stopped with a report. */
bool pg_resolve(pg_warp *w, const pg_op *op, uint32_t lanes, uint32_t bytes, pg_access_kind kind,
                uint8_t **at);

/* The same for addresses that the instruction has made of its operands. */
typedef struct pg_checked_access {
    uint32_t lanes;
    uint32_t bytes;
    pg_access_kind kind;
    const uint64_t *address; /* per lane, as the program wrote it, for op->space */
    const void *value; /* of a store, `bytes` per lane; NULL: op->rows hold it, or nobody knows */
} pg_checked_access;
bool pg_resolve_at(pg_warp *w, const pg_op *op, const pg_checked_access *access, uint8_t **at);

/* The common case of a whole warp at consecutive addresses of shared or global memory, in fast
 * mode: the host address of lane 0's element, or NULL (then pg_resolve decides). */
uint8_t *pg_resolve_row(pg_warp *w, const pg_op *op, uint32_t bytes, bool write);

/* The same for an operand of an asynchronous operation: the checker hears of it at issue, not
 * here. */
bool pg_resolve_async(pg_warp *w, const pg_op *op, uint32_t lanes, uint32_t bytes,
                      pg_access_kind kind, uint8_t **at);

/* The addresses themselves, as 64-bit values, unchecked. */
void pg_addresses(const pg_warp *w, const pg_op *op, uint32_t lanes, uint64_t *address);

/* Host address of `bytes` bytes of global memory, or NULL. */
uint8_t *pg_global_at(pg_worker *worker, uint64_t address, uint64_t bytes, bool write);
/* Host address of `bytes` bytes at a shared::cluster address, or NULL; *cta: whose memory it is. */
uint8_t *pg_cluster_at(pg_cta *own, uint32_t address, uint32_t bytes, pg_cta **cta);

/* What a generic address is: its space, and the address within it. */
static inline pg_space pg_generic_space(uint64_t address, uint64_t *within)
{
    const uint64_t window = address & PG_WINDOW_MASK;
    *within = address & ~PG_WINDOW_MASK;
    if (window == PG_WINDOW_SHARED)
        return PG_MEM_CLUSTER;
    if (window == PG_WINDOW_LOCAL)
        return PG_MEM_LOCAL;
    *within = address;
    return PG_MEM_GLOBAL;
}

#endif
