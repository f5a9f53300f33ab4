/* See operations.h. */
#include "emulator/clock/operations.h"

#include "emulator/matrix/mma_op.h"
#include "emulator/matrix/wmma.h"
#include "ptx/table/form.h"

#include <string.h>

enum { LONG_TYPE_BITS = 64, ROUTINE_ISSUES = 20, MOST_TRACKED = 24 };

static const struct {
    const char *word;
    uint8_t class;
} classes[] = {
#define PG_CLOCK_OP(word, class) {#word, CLASS_##class},
#include "emulator/clock/operations.def"
#undef PG_CLOCK_OP
};

static const char *const words[] = {
#define PG_PTX_OP(name, mnemonic, modifiers, operands, isa, target, semantics) #semantics,
#include "ptx/table/opcodes.def"
#undef PG_PTX_OP
};

static uint8_t class_of(pg_ptx_op op)
{
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (strcmp(words[op], classes[i].word) == 0)
            return classes[i].class;
    return CLASS_INT;
}

/* ---- registers ---- */

typedef struct collector {
    pg_clock_operations *all;
    const pg_alloc *alloc;
    uint32_t base; /* number of the function's first register */
    bool failed;
} collector;

static void add_use(collector *c, uint32_t reg)
{
    pg_clock_operations *all = c->all;
    if (all->use_count == all->use_room) {
        const uint32_t room = all->use_room ? 2 * all->use_room : 256;
        uint32_t *more = c->alloc->realloc(c->alloc->user, all->uses, all->use_room * sizeof *more,
                                           room * sizeof *more);
        c->failed |= !more;
        if (!more)
            return;
        all->uses = more;
        all->use_room = room;
    }
    all->uses[all->use_count++] = c->base + reg;
}

/* The registers of an operand that are read (or written). */
static void add_operand(collector *c, const pg_ptx_operand *o, bool is_result, bool written)
{
    const bool address = o->kind == PG_OPERAND_ADDRESS;
    if (o->kind == PG_OPERAND_REG && is_result == written)
        add_use(c, o->index);
    if (address && o->base == PG_OPERAND_REG && !written)
        add_use(c, o->index);
    for (uint32_t i = 0; i < o->n_elems; i++)
        add_operand(c, &o->elems[i], is_result && !address, written);
}

static void add_operands(collector *c, const pg_ptx_insn *insn, bool written)
{
    pg_form form;
    pg_form_of(insn->opcode, &form);
    for (uint32_t k = 0; k < insn->n_operands; k++) {
        const char letter = k < form.n_slots && form.slots[k].n_alternatives
                                ? form.slots[k].alternatives[0].letter
                                : 's';
        add_operand(c, &insn->operands[k], letter && strchr("dDoecqV", letter) != NULL, written);
    }
}

/* ---- one instruction ---- */

static uint32_t macs_of(const pg_op *op, const char *word)
{
    if (strcmp(word, "mma_small") == 0)
        return 16 * 8 * 16; /* 32 bytes of K, whatever the elements */
    if (strcmp(word, "mma") != 0)
        return 16 * 16 * 16;
    const pg_mma_plan *p = op->extra;
    const uint32_t bits = p->shape->f64 ? 64 * 4 : p->shape->elem_bits;
    return (uint32_t)((uint64_t)p->shape->m * p->shape->n * p->shape->k * bits / 16);
}

static void describe(collector *c, const pg_ptx_insn *insn, const pg_op *op, pg_clock_op *out)
{
    const pg_ptx_op row = insn->opcode->op;
    const unsigned bits = pg_ptx_type_bits(insn->opcode->types[0]);
    out->class = class_of(row);
    out->issues = 1;
    if (out->class == CLASS_FLOAT && bits == LONG_TYPE_BITS && !strstr(words[row], "x2"))
        out->class = CLASS_WIDE;
    if (out->class == CLASS_INT && bits == LONG_TYPE_BITS)
        out->issues =
            strncmp(words[row], "mul", 3) == 0 || strncmp(words[row], "mad", 3) == 0 ? 4 : 2;
    if (out->class == CLASS_ROUTINE)
        out->issues = ROUTINE_ISSUES;
    if (out->class == CLASS_MEMORY && (op->space == PG_MEM_PARAM || op->space == PG_MEM_CONST))
        out->class = CLASS_MOVE;
    if (out->class == CLASS_FREE)
        out->issues = 0;
    out->gpu_scope = out->class == CLASS_FENCE && op->scope >= PG_SCOPE_CLUSTER;
    out->writes_memory = strcmp(words[row], "tcgen05_st") == 0;
    out->macs = out->class == CLASS_MATRIX ? macs_of(op, words[row]) : 0;
    out->first = c->all->use_count;
    /* What asynchronous units read and write is not followed: programs wait for them. */
    const bool tracked = out->class != CLASS_ASYNC && out->class != CLASS_TENSOR_MOVE;
    if (tracked)
        add_operands(c, insn, false);
    if (insn->guard != PG_PTX_NO_REG)
        add_use(c, (uint32_t)insn->guard);
    out->reads = (uint16_t)(c->all->use_count - out->first);
    if (tracked)
        add_operands(c, insn, true);
    out->writes = (uint16_t)(c->all->use_count - out->first - out->reads);
}

bool pg_clock_operations_make(pg_clock_operations *all, const pg_alloc *alloc,
                              const pg_program *program, const pg_ptx_module *module)
{
    collector c = {all, alloc, 0, false};
    all->op_count = program->op_count;
    all->ops = pg_alloc_zero(alloc, (program->op_count + 1) * sizeof *all->ops);
    if (!all->ops)
        return false;
    for (uint32_t i = 0; i < program->function_count; i++) {
        const pg_ptx_function *f = &module->functions[i];
        const pg_function_layout *y = &program->functions[i];
        if (!y->name)
            continue;
        for (uint32_t k = 0; k < f->n_code; k++)
            describe(&c, &f->code[k], &program->ops[y->first_op + k], &all->ops[y->first_op + k]);
        all->ops[y->first_op + f->n_code] = (pg_clock_op){.class = CLASS_BRANCH, .issues = 1};
        c.base += f->n_regs;
    }
    all->registers = c.base;
    return !c.failed;
}

void pg_clock_operations_free(pg_clock_operations *all, const pg_alloc *alloc)
{
    pg_free(alloc, all->ops, (all->op_count + 1) * sizeof *all->ops);
    pg_free(alloc, all->uses, all->use_room * sizeof *all->uses);
}
