/* What the clock knows of each instruction of a program before it runs: its class, and the
 * registers that it reads and writes. Worked out once a launch, from the parse. */
#ifndef PG_CLOCK_OPERATIONS_H
#define PG_CLOCK_OPERATIONS_H

#include "emulator/machine/program.h"
#include "ptx/ptx.h"

typedef enum pg_clock_class {
    CLASS_INT,
    CLASS_FREE, /* ptxas makes nothing of it */
    CLASS_MOVE,
    CLASS_FLOAT,
    CLASS_WIDE, /* f64 */
    CLASS_SPECIAL,
    CLASS_CONVERT,
    CLASS_ROUTINE, /* some twenty instructions */
    CLASS_SHUFFLE,
    CLASS_BRANCH,
    CLASS_MEMORY,
    CLASS_MATRIX, /* mma.sync and wmma */
    CLASS_FENCE,
    CLASS_TENSOR_MOVE,
    CLASS_TENSOR_WAIT,
    CLASS_ASYNC
} pg_clock_class;

typedef struct pg_clock_op {
    uint8_t class;
    uint8_t issues;         /* instructions of the hardware, about */
    bool gpu_scope;         /* of a fence */
    bool writes_memory;     /* tcgen05.st: to tensor memory */
    uint16_t reads, writes; /* registers: reads, then writes, at `first` of `uses` */
    uint32_t first;
    uint32_t macs; /* CLASS_MATRIX: multiply-adds, counted in f16 */
} pg_clock_op;

typedef struct pg_clock_operations {
    pg_clock_op *ops;
    uint32_t *uses;
    uint32_t op_count, use_count, use_room;
    uint32_t registers; /* of all functions together */
} pg_clock_operations;

/* False: out of memory. */
bool pg_clock_operations_make(pg_clock_operations *, const pg_alloc *, const pg_program *,
                              const pg_ptx_module *);
void pg_clock_operations_free(pg_clock_operations *, const pg_alloc *);

#endif
