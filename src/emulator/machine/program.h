/* A decoded program: what a module becomes before it runs. Every instruction is one pg_op with a
 * handler chosen for its opcode, types and modifiers, and operands resolved to row offsets;
 * decoded once, shared by all launches and threads, never written afterwards. decode.c builds
 * it. */
#ifndef PG_EMULATOR_PROGRAM_H
#define PG_EMULATOR_PROGRAM_H

#include "emulator/machine/machine.h"

#include <string.h>

/* A row of 32 lanes: offset into pg_warp.regs when >= 0, else ~offset into the program's
 * constants. */
typedef int32_t pg_row;

/* Runs one instruction for the given lanes (never 0). */
typedef pg_step (*pg_handler)(pg_warp *w, const pg_op *op, uint32_t lanes);

/* A predicate operand: 0 none, else index + 1 into pg_warp.preds. */
typedef uint16_t pg_pred;

enum { PG_MAX_OPERAND_ROWS = 136 }; /* wgmma m64n256: 128 of D and 4 of A */

/* Scopes of the memory model: each includes the ones before; .sys counts as .gpu. */
typedef enum pg_scope { PG_SCOPE_NONE, PG_SCOPE_CTA, PG_SCOPE_CLUSTER, PG_SCOPE_GPU } pg_scope;

struct pg_op {
    pg_handler run;
    pg_row d, a, b, c;  /* destination and sources; 0 and unused where an instruction has fewer */
    uint64_t imm;       /* address offset, table index, flags: see the handler */
    const pg_row *rows; /* vectors and longer lists */
    const void *extra;  /* what else the handler needs, owned by the program */
    uint32_t target;    /* branch, call */
    uint32_t line;      /* of the PTX text */
    uint16_t opcode;    /* pg_ptx_op, for statistics and reports */
    uint16_t row_count;
    pg_pred guard; /* lanes whose predicate is false (true with guard_not) skip the instruction */
    pg_pred p, q;  /* predicate operands */
    bool guard_not, p_not, q_not;
    uint8_t space;      /* pg_space of an address operand */
    uint8_t size;       /* bytes of one memory element */
    uint8_t count;      /* elements of a vector access */
    uint8_t lane_bytes; /* width of the register rows of a memory access */
    uint8_t mode;       /* rounding and the like: see the handler */
    uint8_t flags;      /* PG_ACCESS_... */
    uint8_t scope;      /* pg_scope, as written; PG_SCOPE_NONE: the instruction's default */
};

enum {
    PG_ACCESS_SIGNED = 1,    /* a load extends the sign */
    PG_ACCESS_ADDRESS32 = 2, /* the address row has 32-bit lanes */
    PG_ACCESS_STRONG =
        4, /* relaxed, acquire, release, volatile: other host threads may race by design */
    PG_ACCESS_ACQUIRE = 8,
    PG_ACCESS_RELEASE = 16,
    PG_ACCESS_NO_BASE = 32,   /* the address is op->imm alone */
    PG_ACCESS_FRAME = 64,     /* a .local or .param variable: add the frame of the lane */
    PG_ACCESS_READ_ONLY = 128 /* .nc: of data that the kernel never writes */
};

/* A special register that is a row, filled when a warp starts. */
typedef struct pg_special_row {
    uint16_t special; /* pg_ptx_special */
    uint8_t bytes;    /* of a lane */
    pg_row row;
} pg_special_row;

/* Where a function's registers and memory lie. */
typedef struct pg_function_layout {
    const char *name;
    uint32_t first_op;
    const pg_row *rows;       /* its registers, for recursion, which must save them */
    const uint8_t *row_bytes; /* per lane */
    uint32_t row_count;
    uint32_t preds_begin, preds_end;
    uint32_t saved_bytes; /* of one lane's registers and predicates */
    uint32_t frame_bytes; /* local and parameter variables; a multiple of 16 */
    bool recursive;       /* can be entered again before it returns */
} pg_function_layout;

typedef struct pg_parameter {
    const char *name;
    uint32_t offset, bytes, align;
    bool is_array; /* byte arrays: a tensor map when 128 bytes */
    bool is_float; /* declared .f32 or .f64 */
} pg_parameter;

/* An entry: what a launch names. */
typedef struct pg_entry {
    const char *name;
    uint32_t first_op;
    const pg_parameter *params;
    uint32_t param_count, param_bytes;
    uint32_t static_shared; /* end offset of static shared variables, from PG_SHARED_BASE */
    uint32_t dynamic_align;
    uint32_t reqntid[3], maxntid, reqcluster[3];
    uint32_t min_ctas; /* .minnctapersm; 0: not given */
    uint32_t frame_bytes;
} pg_entry;

/* A shared variable of an entry; bytes 0: dynamic, to the end. */
typedef struct pg_shared_name {
    const char *name;
    uint32_t offset;
    uint64_t bytes;
} pg_shared_name;

/* Where an op comes from (.loc); file NULL: nothing says so. */
typedef struct pg_source_place {
    const char *file;
    uint32_t line;
} pg_source_place;

struct pg_program {
    const char *file; /* name of the PTX text, for messages */
    const pg_op *ops;
    uint32_t op_count;
    const char *consts;
    uint32_t consts_bytes;
    uint32_t regs_bytes;
    uint32_t pred_count;
    const pg_special_row *specials;
    uint32_t special_count;
    const pg_entry *entries;
    uint32_t entry_count;
    const pg_function_layout *functions;
    uint32_t function_count;
    bool uses_heap; /* calls malloc or free */
    /* by op; NULL: no checking mode, or no wgmma and no tcgen05.ld */
    const struct pg_matrix_use *matrix_uses;
    uint32_t matrix_registers;
    const struct pg_watch *watches; /* by op; NULL: no checking mode */
    const char *const *watched_names;
    uint32_t watched_registers;
    const pg_shared_name *shared_names;
    uint32_t shared_name_count;
    const pg_source_place *sources; /* by op; NULL: none */
};

/* Rows. */
static inline void *pg_row_at(const pg_warp *w, pg_row row)
{
    return row >= 0 ? w->regs + row : (char *)w->consts + ~row;
}

/* Lanes of `lanes` whose predicate operand holds. */
static inline uint32_t pg_pred_lanes(const pg_warp *w, pg_pred pred, bool negated)
{
    const uint32_t value = w->preds[pred - 1];
    return negated ? ~value : value;
}

static inline void pg_pred_write(pg_warp *w, pg_pred pred, uint32_t lanes, uint32_t value)
{
    if (pred)
        w->preds[pred - 1] = (w->preds[pred - 1] & ~lanes) | (value & lanes);
}

#endif
