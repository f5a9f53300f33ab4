/* See matrix_use.h. */
#include "emulator/decode/matrix_use.h"

#include "emulator/tensor/tcgen05.h"
#include "emulator/matrix/wgmma_op.h"
#include "emulator/machine/observer.h"

enum { ROW_UNIT = 64 }; /* bytes; the smallest row */

typedef struct finder {
    pg_decoder *d;
    const pg_row *reg_rows; /* of the function at hand */
    uint32_t *number;       /* + 1, by row offset / ROW_UNIT */
    uint32_t count;         /* numbers given */
    uint32_t *out;          /* NULL: only count */
    uint32_t found;
} finder;

/* The instructions whose registers are numbered. */
static bool owns_registers(const pg_op *op)
{
    return op->run == pg_op_wgmma || op->run == pg_op_tcgen05_ld;
}

/* Sinks and constants are nobody's registers. */
static bool is_register(pg_row row)
{
    return row >= PG_SINK_ROW_BYTES;
}

static void number_rows(finder *f, const pg_op *op)
{
    for (uint32_t i = 0; i < op->row_count; i++) {
        uint32_t *n = is_register(op->rows[i]) ? &f->number[op->rows[i] / ROW_UNIT] : NULL;
        if (n && !*n)
            *n = ++f->count;
    }
}

static void find_in_operand(finder *f, const pg_ptx_operand *o)
{
    const bool is_reg =
        o->kind == PG_OPERAND_REG || (o->kind == PG_OPERAND_ADDRESS && o->base == PG_OPERAND_REG);
    if (is_reg && f->d->function->reg_types[o->index] != PG_T_PRED) {
        const uint32_t n = f->number[f->reg_rows[o->index] / ROW_UNIT];
        if (n && f->out)
            f->out[f->found] = n - 1;
        f->found += n != 0;
    }
    for (uint32_t i = 0; i < o->n_elems; i++)
        find_in_operand(f, &o->elems[i]);
}

static uint32_t find_in_insn(finder *f, const pg_ptx_insn *insn, uint32_t *out)
{
    f->out = out;
    f->found = 0;
    for (uint32_t k = 0; k < insn->n_operands; k++)
        find_in_operand(f, &insn->operands[k]);
    return f->found;
}

/* How many registers a tcgen05.ld writes; find_in_insn finds them first. */
static uint32_t find_loaded(finder *f, const pg_ptx_insn *insn)
{
    f->out = NULL;
    f->found = 0;
    find_in_operand(f, &insn->operands[0]);
    const pg_ptx_op op = insn->opcode->op;
    if (op >= PG_OP_TCGEN05_LD_RED && op <= PG_OP_TCGEN05_LD_RED_SPLIT_INT)
        find_in_operand(f, &insn->operands[1]);
    return f->found;
}

static void fill_wgmma(finder *f, const pg_op *op, pg_matrix_use *use)
{
    uint32_t *registers = PG_NEW_ARRAY(f->d->arena, uint32_t, op->row_count);
    if (!registers)
        return;
    for (uint32_t i = 0; i < op->row_count; i++)
        registers[i] = is_register(op->rows[i]) ? f->number[op->rows[i] / ROW_UNIT] - 1
                                                : PG_NOT_A_MATRIX_REGISTER;
    *use = (pg_matrix_use){.run = op->run, .registers = registers, .count = op->row_count};
}

static void fill_other(finder *f, const pg_ptx_insn *insn, pg_op *op, pg_matrix_use *use)
{
    const uint32_t count = find_in_insn(f, insn, NULL);
    uint32_t *registers = count ? PG_NEW_ARRAY(f->d->arena, uint32_t, count) : NULL;
    if (!registers)
        return;
    find_in_insn(f, insn, registers);
    *use = (pg_matrix_use){.run = op->run, .registers = registers, .count = count};
    if (op->run == pg_op_tcgen05_ld)
        use->loaded = find_loaded(f, insn);
    op->run = pg_op_matrix_use;
}

static void fill_function(finder *f, uint32_t function, pg_op *ops, pg_matrix_use *uses)
{
    const pg_function_info *info = &f->d->layout->functions[function];
    f->d->function = &f->d->module->functions[function];
    f->reg_rows = info->reg_rows;
    for (uint32_t i = 0; i < f->d->function->n_code; i++) {
        const uint32_t at = info->layout->first_op + i;
        if (ops[at].run == pg_op_wgmma)
            fill_wgmma(f, &ops[at], &uses[at]);
        else
            fill_other(f, &f->d->function->code[i], &ops[at], &uses[at]);
    }
}

void pg_matrix_uses_find(pg_decoder *d, pg_op *ops, uint32_t op_count, pg_program *program)
{
    uint32_t first = 0;
    while (first < op_count && !owns_registers(&ops[first]))
        first++;
    if (first == op_count)
        return;
    finder f = {.d = d,
                .number = PG_NEW_ARRAY(d->arena, uint32_t, d->layout->regs_bytes / ROW_UNIT + 1)};
    pg_matrix_use *uses = PG_NEW_ARRAY(d->arena, pg_matrix_use, op_count);
    if (!f.number || !uses)
        return;
    for (uint32_t i = first; i < op_count; i++)
        if (owns_registers(&ops[i]))
            number_rows(&f, &ops[i]);
    for (uint32_t i = 0; i < d->module->n_functions; i++)
        if (d->layout->functions[i].reachable)
            fill_function(&f, i, ops, uses);
    program->matrix_uses = uses;
    program->matrix_registers = f.count;
}

pg_step pg_op_matrix_use(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    PG_OBSERVE(w->launch, matrix_use, w, op, lanes);
    return w->launch->program->matrix_uses[pg_pc_of(w, op)].run(w, op, lanes);
}
