/* What decode.c and operands.c share while a program is built. */
#ifndef PG_EMULATOR_DECODE_LAYOUT_H
#define PG_EMULATOR_DECODE_LAYOUT_H

#include "base/buf.h"
#include "emulator/decode/decode.h"

enum { PG_MAX_SPECIAL_ROWS = 2 * PG_PTX_SPECIAL_COUNT }; /* some are read in two widths */

/* A function that the entry can reach. */
typedef struct pg_function_info {
    bool reachable;
    pg_row *reg_rows; /* by register number: row, or predicate index + 1 */
    pg_function_layout *layout;
} pg_function_info;

typedef struct pg_layout {
    const pg_module_memory *memory;
    uint32_t entry;
    pg_function_info *functions; /* by function index */
    uint32_t *frame_offset;      /* by variable: offset in its function's frame */
    uint32_t *shared_offset;     /* by variable; 0: unused */
    uint32_t *param_offset;      /* by variable: kernel parameters */
    uint32_t shared_end, dynamic_align;
    pg_buf consts;
    uint32_t *const_table; /* open addressing: offset + 1 into consts */
    uint32_t const_slots, const_count;
    uint32_t regs_bytes;
    uint32_t pred_count;
    pg_special_row specials[PG_MAX_SPECIAL_ROWS];
    uint32_t special_count;
    bool uses_heap;
} pg_layout;

enum {
    PG_SINK_ROW_BYTES = 512, /* row 0: written by sinks */
    PG_TRUE_PRED = 1         /* predicate operand that always holds */
};

/* names.c: program->shared_names and ->sources. Out of memory: the arena says so. */
void pg_program_names(pg_decoder *d, uint32_t op_count, pg_program *program);

#endif
