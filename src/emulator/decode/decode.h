/* From parsed PTX to pg_op. decode.c lays out registers, variables and functions and walks the
 * code; the other files of decode/ hold one function per semantics column of opcodes.def, which
 * picks a handler and resolves operands with the calls below. A fault is sticky: the first one
 * is kept, later calls give harmless values. */
#ifndef PG_EMULATOR_DECODE_H
#define PG_EMULATOR_DECODE_H

#include "emulator/machine/program.h"
#include "ptx/ptx.h"

typedef struct pg_decoder pg_decoder;

/* Fills the op for d->insn; line, opcode and guard are set already. */
typedef void (*pg_decode_fn)(pg_decoder *d, pg_op *op);

/* NULL: the emulator does not execute this instruction. */
pg_decode_fn pg_decode_function(pg_ptx_op op);

struct pg_decoder {
    pg_arena *arena;
    const pg_ptx_module *module;
    const char *file;                /* name of its text */
    const pg_ptx_function *function; /* of the instruction being decoded */
    const pg_ptx_insn *insn;
    const pg_ptx_opcode *opcode; /* insn->opcode */
    struct pg_layout *layout;    /* private to decode.c */
    ptxgen_error *err;
    ptxgen_status status;
};

/* Records a failure at the instruction. */
void pg_decode_fail(pg_decoder *d, const char *format, ...) __attribute__((format(printf, 2, 3)));

static inline const pg_ptx_operand *pg_operand(const pg_decoder *d, uint32_t i)
{
    return &d->insn->operands[i];
}
static inline bool pg_operand_present(const pg_decoder *d, uint32_t i)
{
    return i < d->insn->n_operands && d->insn->operands[i].kind != PG_OPERAND_NONE;
}
static inline unsigned pg_mod(const pg_decoder *d, pg_ptx_field field)
{
    return d->opcode->mod[field];
}
static inline pg_ptx_type pg_type(const pg_decoder *d, unsigned i)
{
    return (pg_ptx_type)d->opcode->types[i];
}
/* Bytes of a register row's lane for a type: 2, 4, 8 or 16. */
unsigned pg_lane_bytes(pg_ptx_type type);
/* The same for what an operand is: its register's, or that of `type` for immediates. */
unsigned pg_operand_lane_bytes(const pg_decoder *d, const pg_ptx_operand *o, pg_ptx_type type);

/* A source as a row with lanes of `type`: register, immediate, special register. */
pg_row pg_source(pg_decoder *d, const pg_ptx_operand *o, pg_ptx_type type);
/* A destination register; sinks get a row that nobody reads. */
pg_row pg_dest(pg_decoder *d, const pg_ptx_operand *o);
/* A predicate operand; an immediate true or false is a constant one. */
pg_pred pg_source_pred(pg_decoder *d, const pg_ptx_operand *o, bool *negated);
/* A predicate destination; 0 for a sink. */
pg_pred pg_dest_pred(pg_decoder *d, const pg_ptx_operand *o);
/* A row of 32 equal values, `bytes` (2, 4, 8, 16) each. */
pg_row pg_const_row(pg_decoder *d, const void *value, unsigned bytes);
pg_row pg_const_u32(pg_decoder *d, uint32_t value);
pg_row pg_const_u64(pg_decoder *d, uint64_t value);
/* A fresh register row / predicate for an instruction's own use. */
pg_row pg_scratch_row(pg_decoder *d, unsigned bytes);

/* Sets the address fields of op (a, imm, flags, space) from an ADDRESS operand. The space is
 * that of a variable operand where the instruction is generic. */
void pg_address(pg_decoder *d, pg_op *op, const pg_ptx_operand *o, pg_space space);
/* The space that a SPACE or SOURCE modifier names; PG_MEM_GENERIC when absent. */
pg_space pg_space_of_modifier(unsigned modifier);
/* Room for op->rows; NULL when out of memory (sticky). */
pg_row *pg_new_rows(pg_decoder *d, uint32_t count);
/* Elements of a vector operand, or the operand itself. */
void pg_vector_sources(pg_decoder *d, const pg_ptx_operand *o, pg_ptx_type type, pg_row *rows);
uint32_t pg_vector_length(const pg_ptx_operand *o);
/* The variable's place: its address in its own space (shared offset, frame offset, parameter
 * offset, host address). */
typedef struct pg_place {
    pg_space space;
    uint64_t address;
    bool in_frame;
} pg_place;
pg_place pg_variable_place(pg_decoder *d, uint32_t var);
/* The integer of an immediate operand. */
uint64_t pg_immediate(pg_decoder *d, const pg_ptx_operand *o);
/* First op of a label of the function / of a function; final after layout. */
uint32_t pg_label_target(pg_decoder *d, uint32_t label);
const pg_function_layout *pg_function_of(pg_decoder *d, uint32_t function);

/* The function with the body: that of an .alias, or the function itself. */
uint32_t pg_function_behind(const pg_ptx_module *m, uint32_t function);

/* Operands of call. */
enum { PG_CALL_RETURNS, PG_CALL_CALLEE, PG_CALL_ARGUMENTS, PG_CALL_TARGETS };
static inline bool pg_is_indirect_call(const pg_ptx_insn *insn)
{
    return insn->opcode->op == PG_OP_CALL && insn->operands[PG_CALL_CALLEE].kind == PG_OPERAND_REG;
}
/* By function: whether the module takes its address, in code or in a variable. A kernel may keep it
 * in memory, where any kernel of the module finds it later. NULL: out of memory. taken.c */
const bool *pg_functions_taken(pg_arena *arena, const pg_ptx_module *m);
/* Whether an indirect call of `caller` may be one of the function, as its prototype or its list of
 * targets says. */
bool pg_call_may_be_of(const pg_ptx_module *m, const pg_ptx_function *caller,
                       const pg_ptx_insn *insn, uint32_t function);
/* The same of a function that the entry reaches. */
bool pg_call_may_reach(const pg_decoder *d, const pg_ptx_function *caller, const pg_ptx_insn *insn,
                       uint32_t function);

/* Module variables in host memory; loaded_module.c. */
typedef struct pg_module_memory {
    const uint64_t *address; /* by variable; 0: not a .global or .const variable */
    char *block;
    size_t block_bytes;
} pg_module_memory;

/* Decodes an entry and all functions it can reach. Everything lives in `arena`. */
typedef struct pg_decode_input {
    const pg_ptx_module *module;
    const pg_module_memory *memory;
    const bool *taken; /* pg_functions_taken */
    uint32_t entry;    /* function index */
    const char *file;  /* name of the text; lives as long as the program */
    bool check;        /* for checking mode: registers that are in flight are watched */
} pg_decode_input;
ptxgen_status pg_program_decode(pg_arena *arena, const pg_decode_input *input, pg_program **out,
                                ptxgen_error *err);

#endif
