/* Parsed PTX: what the emulator runs and the printer prints.
 *
 * pg_ptx_parse turns text into a pg_ptx_module in the caller's arena. Scopes are resolved: in a
 * function every register, variable and label has one number and one unique name (a name that a
 * nested scope reuses gets a "$n" suffix), and the body is one flat array of instructions. Each
 * instruction points to a pg_ptx_opcode: the row of opcodes.def it matched, with all suffixes as
 * numbers. All instructions with the same spelling share one, so a decoder can work per opcode.
 * Operands stand in the order of the row's operand list, one slot for each item of that list; an
 * optional operand that is absent has kind PG_OPERAND_NONE.
 *
 * The text is untrusted: faults become diagnostics, and time and memory are linear in the text's
 * length and bounded by pg_ptx_options. Nothing here keeps a pointer into the text; spans are
 * numbers. A module is immutable once parsed, so any number of threads may read it. Language:
 * PTX ISA 9.0. */
#ifndef PG_PTX_H
#define PG_PTX_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "ptxgen/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- vocabulary, from the .def tables ---- */

typedef enum pg_ptx_type {
#define PG_PTX_TYPE(name, spelling, bits, class) PG_T_##name,
#include "ptx/table/types.def"
#undef PG_PTX_TYPE
    PG_PTX_TYPE_COUNT
} pg_ptx_type;

typedef enum pg_ptx_type_class {
    PG_CLASS_NONE,
    PG_CLASS_BITS,
    PG_CLASS_UNSIGNED,
    PG_CLASS_SIGNED,
    PG_CLASS_FLOAT,
    PG_CLASS_PRED,
    PG_CLASS_PACKED
} pg_ptx_type_class;

/* Index into pg_ptx_opcode.mod: PG_F_ROUND, PG_F_FTZ, PG_F_SPACE, ... */
typedef enum pg_ptx_field {
#define PG_PTX_FIELD(field) PG_F_##field,
#include "ptx/table/modifiers.def"
    PG_PTX_FIELD_COUNT
} pg_ptx_field;

/* Value of a field: PG_M_ROUND_RN, PG_M_FTZ_FTZ, ...; PG_M_NONE: the suffix is absent. */
typedef enum pg_ptx_modifier {
    PG_M_NONE,
#define PG_PTX_MOD(field, name, spelling) PG_M_##field##_##name,
#include "ptx/table/modifiers.def"
    PG_PTX_MODIFIER_COUNT
} pg_ptx_modifier;

typedef enum pg_ptx_special {
#define PG_PTX_SPECIAL(name, spelling, type) PG_SPECIAL_##name,
#include "ptx/table/special_registers.def"
#undef PG_PTX_SPECIAL
    PG_PTX_SPECIAL_COUNT
} pg_ptx_special;

/* One per row of opcodes.def. */
typedef enum pg_ptx_op {
#define PG_PTX_OP(name, mnemonic, modifiers, operands, isa, target, semantics) PG_OP_##name,
#include "ptx/table/opcodes.def"
#undef PG_PTX_OP
    PG_PTX_OP_COUNT
} pg_ptx_op;

unsigned pg_ptx_type_bits(pg_ptx_type type);
pg_ptx_type_class pg_ptx_type_class_of(pg_ptx_type type);
const char *pg_ptx_type_name(pg_ptx_type type); /* "f32" */
const char *
pg_ptx_modifier_name(unsigned modifier); /* "evict_last" style spelling without the dot */
const char *pg_ptx_special_name(pg_ptx_special special); /* "%tid.x" */
pg_ptx_type pg_ptx_special_type(pg_ptx_special special);

/* The row of an op as text, as written in opcodes.def. */
typedef struct pg_ptx_op_info {
    const char *name;      /* "ADD_INT" */
    const char *mnemonic;  /* "add", "cp.async.bulk.tensor" */
    const char *modifiers; /* syntax: head of opcodes.def */
    const char *operands;
    unsigned isa;          /* smallest .version, 10 * major + minor */
    const char *target;    /* smallest .target: "70", "90a", "100f", "100a|103a" */
    const char *semantics; /* name of the function that the emulator maps it to */
} pg_ptx_op_info;
const pg_ptx_op_info *pg_ptx_op_describe(pg_ptx_op op);

/* Bytes [begin, end) of the text that was parsed. */
typedef struct pg_ptx_span {
    uint32_t begin, end;
} pg_ptx_span;

/* ---- instructions ---- */

typedef enum pg_ptx_space {
    PG_SPACE_NONE, /* generic */
    PG_SPACE_REG,  /* register parameters of a .func */
    PG_SPACE_CONST,
    PG_SPACE_GLOBAL,
    PG_SPACE_LOCAL,
    PG_SPACE_PARAM,
    PG_SPACE_SHARED
} pg_ptx_space;

enum { PG_PTX_MAX_TYPES = 5, PG_PTX_NO_REG = -1 };

/* A spelling such as "add.rn.ftz.f32", matched to its row. Shared by all instructions that are
 * written so. */
typedef struct pg_ptx_opcode {
    pg_ptx_op op;
    uint32_t id; /* 0 .. module->n_opcodes - 1 */
    uint8_t n_types;
    uint8_t types[PG_PTX_MAX_TYPES]; /* pg_ptx_type, in written order: cvt.f32.f16 has F32, F16 */
    uint16_t shape_m, shape_n, shape_k; /* .m64n256k16, .m8n8: 64 256 16, 8 8 0; else 0 */
    uint16_t mod[PG_PTX_FIELD_COUNT];   /* pg_ptx_modifier by pg_ptx_field */
} pg_ptx_opcode;

typedef enum pg_ptx_operand_kind {
    PG_OPERAND_NONE,    /* an optional operand that is not there */
    PG_OPERAND_REG,     /* index: register; negated for a predicate written !p */
    PG_OPERAND_IMM,     /* value + literal */
    PG_OPERAND_SPECIAL, /* index: pg_ptx_special */
    PG_OPERAND_SINK,    /* _ */
    PG_OPERAND_VECTOR,  /* {a, b}: elems of kind REG, IMM, SPECIAL, SINK */
    PG_OPERAND_PAIR,    /* p|q: two elems of kind REG or SINK */
    PG_OPERAND_ADDRESS, /* [base + offset] or [base + offset, elems...]; see `base` */
    PG_OPERAND_VAR,     /* address of a variable + offset; index: module->vars */
    PG_OPERAND_FUNC,    /* address or name of a function; index: module->functions */
    PG_OPERAND_LABEL,   /* index: function->labels */
    PG_OPERAND_TABLE,   /* .branchtargets, .calltargets; index: function->tables */
    PG_OPERAND_PROTO,   /* .callprototype; index: function->protos */
    PG_OPERAND_LIST     /* (a, b): arguments of a call; elems of kind REG, IMM, VAR */
} pg_ptx_operand_kind;

typedef enum pg_ptx_literal {
    PG_LITERAL_INT, /* value: the two's complement 64 bits */
    PG_LITERAL_F32, /* 0fXXXXXXXX: value holds the 32 bits */
    PG_LITERAL_F64  /* 0dXXXXXXXXXXXXXXXX or decimal: value holds the bits of the double */
} pg_ptx_literal;

/* The value of a REG of a video instruction: "r.b1", "r.h32", "-r". Digits are 4 bits each, the
 * last one lowest. */
enum {
    PG_SELECT_DIGITS = 0xffff,
    PG_SELECT_COUNT_SHIFT = 16, /* digits, 1 to 4; 0: the whole register */
    PG_SELECT_HALVES = 1 << 20, /* .h, else .b */
    PG_SELECT_NEGATED = 1 << 21
};

typedef struct pg_ptx_operand pg_ptx_operand;
struct pg_ptx_operand {
    uint8_t kind;    /* pg_ptx_operand_kind */
    uint8_t base;    /* ADDRESS: PG_OPERAND_REG, _VAR, or _IMM (absolute address, in value alone) */
    uint8_t literal; /* IMM: pg_ptx_literal */
    bool negated;    /* REG: !p */
    uint32_t index;  /* by kind and base */
    /* IMM: bits. ADDRESS, VAR: offset in bytes, two's complement. REG: PG_SELECT_... */
    uint64_t value;
    /* VECTOR, PAIR, LIST; ADDRESS: what follows the base inside the brackets, one vector of tensor
     * coordinates and perhaps one of im2col offsets */
    const pg_ptx_operand *elems;
    uint32_t n_elems;
    uint32_t column;
};

typedef struct pg_ptx_insn {
    const pg_ptx_opcode *opcode;
    const pg_ptx_operand *operands; /* n_operands slots, one per item of the row's operand list */
    uint32_t n_operands;
    int32_t guard;         /* predicate register of @p, or PG_PTX_NO_REG */
    bool guard_negated;    /* @!p */
    uint32_t line, column; /* in the PTX text, from 1 */
    pg_ptx_span span;      /* from its guard to behind its ';' */
    uint32_t loc;          /* index into module->locs of the .loc in force; 0: none */
} pg_ptx_insn;

/* Bits of an immediate operand as `type` wants them: integers truncated, floats converted (round
 * to nearest even). */
uint64_t pg_ptx_imm_bits(const pg_ptx_operand *imm, pg_ptx_type type);

/* ---- declarations ---- */

/* An address inside an initialiser: `bytes` bytes at `offset` are the address of the symbol +
 * addend. */
typedef struct pg_ptx_reloc {
    uint64_t offset;
    uint32_t index; /* module->vars, or module->functions */
    bool is_function;
    bool generic;  /* generic(sym): the generic address, else the address within its state space */
    uint8_t bytes; /* 1 (with mask), 4 or 8 */
    /* the byte of the address that 0xFF00(sym) selects, in bits; 0 unless bytes is 1 */
    uint8_t shift;
    int64_t addend;
} pg_ptx_reloc;

typedef enum pg_ptx_linkage {
    PG_LINKAGE_NONE,
    PG_LINKAGE_EXTERN,
    PG_LINKAGE_VISIBLE,
    PG_LINKAGE_WEAK,
    PG_LINKAGE_COMMON
} pg_ptx_linkage;

typedef enum pg_ptx_role {
    PG_ROLE_MODULE, /* module scope */
    /* declared in a function's body: .local, .shared, .global, .param of a call sequence */
    PG_ROLE_LOCAL,
    PG_ROLE_PARAM, /* parameter of a function or entry */
    PG_ROLE_RETURN /* return parameter of a function */
} pg_ptx_role;

/* A variable of any space and role. */
typedef struct pg_ptx_var {
    const char *name;       /* unique among the names its function can see */
    uint8_t space;          /* pg_ptx_space */
    uint8_t role;           /* pg_ptx_role */
    uint8_t linkage;        /* pg_ptx_linkage */
    uint8_t type;           /* pg_ptx_type of an element */
    uint8_t vector;         /* 1, 2, 4 */
    bool is_array;          /* dims given; with size 0: unsized (.extern .shared x[]) */
    bool is_pointer;        /* parameter with .ptr */
    uint8_t pointer_space;  /* space of .ptr; PG_SPACE_NONE: generic */
    bool managed;           /* .attribute(.managed) */
    uint32_t pointer_align; /* of .ptr .align; 0: not given */
    uint32_t align;         /* bytes, always set: the declared or the natural alignment */
    bool align_declared;
    uint64_t size;        /* bytes of the whole variable; 0: unsized */
    const uint64_t *dims; /* n_dims; a first dimension of 0 is written [] */
    uint32_t n_dims;
    uint32_t function;   /* index of the function it belongs to; UINT32_MAX at module scope */
    uint32_t item;       /* at module scope: its last entry in module->items */
    int32_t reg;         /* PG_SPACE_REG: register of the function; else PG_PTX_NO_REG */
    const uint8_t *init; /* n_init bytes (<= size; the rest is zero); NULL: not initialised */
    uint64_t n_init;
    const pg_ptx_reloc *relocs;
    uint32_t n_relocs;
    uint32_t line, column;
    pg_ptx_span span; /* of the whole statement, not of a parameter: variables of one share it */
} pg_ptx_var;

/* A register declaration. `name<count>` declares name0 .. name(count-1); a plain name has
 * is_range false. */
typedef struct pg_ptx_reg_decl {
    const char *name;
    uint8_t type;   /* pg_ptx_type */
    uint8_t vector; /* 1; .v2 and .v4 registers take that many numbers each */
    bool is_range;
    bool is_parameter; /* declared by a .reg parameter of the function */
    uint32_t count;    /* 1 unless is_range */
    uint32_t first;    /* number of its first register */
} pg_ptx_reg_decl;

typedef struct pg_ptx_label {
    const char *name;
    uint32_t target; /* index into code; n_code at the end of the body */
    uint32_t line, column;
} pg_ptx_label;

/* .branchtargets (labels) or .calltargets (functions) of brx.idx and indirect calls. */
typedef struct pg_ptx_table {
    const char *name;
    bool is_calls;
    const uint32_t *targets; /* indices of labels or functions */
    uint32_t n_targets;
} pg_ptx_table;

/* A parameter of a .callprototype: layout only. */
typedef struct pg_ptx_proto_param {
    uint8_t space, type, vector;
    bool is_array;
    uint32_t align;
    uint64_t size;
} pg_ptx_proto_param;

typedef struct pg_ptx_proto {
    const char *name;
    const pg_ptx_proto_param *returns, *params;
    uint32_t n_returns, n_params;
    bool noreturn;
} pg_ptx_proto;

/* Performance directives; 0: not given. */
typedef struct pg_ptx_directives {
    uint32_t reqntid[3], maxntid[3], reqnctapercluster[3];
    uint32_t minnctapersm, maxnctapersm, maxnreg, maxclusterrank;
    bool explicitcluster, blocksareclusters, noreturn;
} pg_ptx_directives;

/* In text order. */
typedef struct pg_ptx_pragma {
    const char *text;
    uint32_t function; /* UINT32_MAX: module scope */
    uint32_t insn;     /* stands before this instruction of the function */
} pg_ptx_pragma;

typedef struct pg_ptx_function {
    const char *name;
    bool is_entry;
    bool has_body; /* false: a declaration (vprintf, __assertfail) */
    uint8_t linkage;
    pg_ptx_directives directives;
    const uint32_t *returns, *params; /* indices into module->vars, in order */
    uint32_t n_returns, n_params;
    const uint32_t *locals; /* indices into module->vars */
    uint32_t n_locals;
    const pg_ptx_reg_decl *reg_decls; /* ascending `first` */
    uint32_t n_reg_decls;
    const uint8_t *reg_types; /* pg_ptx_type by register number */
    uint32_t n_regs;
    uint32_t item; /* its last entry in module->items */
    const pg_ptx_insn *code;
    uint32_t n_code;
    const pg_ptx_label *labels;
    uint32_t n_labels;
    const pg_ptx_table *tables;
    uint32_t n_tables;
    const pg_ptx_proto *protos;
    uint32_t n_protos;
    uint32_t line, column;
    uint32_t end_line; /* of the closing brace */
    pg_ptx_span span;  /* from its linkage to behind its '}', or its ';' */
    uint32_t body;     /* offset behind its '{' */
} pg_ptx_function;

typedef struct pg_ptx_file {
    uint32_t number;
    const char *name;
} pg_ptx_file;

typedef struct pg_ptx_loc {
    uint32_t file, line, column; /* file: the number in its .file directive */
} pg_ptx_loc;

typedef struct pg_ptx_alias {
    uint32_t alias, target; /* functions */
} pg_ptx_alias;

/* What stands at module scope, in text order: the printer writes it in this order, so everything
 * is declared before it is used. A declaration that its definition follows later has an item for
 * each. */
typedef enum pg_ptx_item_kind {
    PG_ITEM_VAR,      /* index: vars */
    PG_ITEM_FUNCTION, /* index: functions */
    PG_ITEM_ALIAS     /* index: aliases */
} pg_ptx_item_kind;

typedef struct pg_ptx_item {
    pg_ptx_item_kind kind;
    uint32_t index;
    bool is_declaration; /* the definition follows as a later item */
} pg_ptx_item;

typedef struct pg_ptx_module {
    uint32_t version;         /* 10 * major + minor: 88 */
    pg_ptx_span version_span; /* of the number */
    uint32_t header_end;      /* offset behind the last of .version, .target, .address_size */
    const char *target;       /* "sm_90a" */
    /* what follows it, comma-separated: "texmode_independent, debug"; "" if nothing */
    const char *target_options;
    uint32_t arch;         /* 90 */
    char arch_suffix;      /* 'a', 'f' or 0 */
    uint32_t address_size; /* 64 (32 is refused by the verifier) */
    const pg_ptx_item *items;
    uint32_t n_items;
    const pg_ptx_var *vars;
    uint32_t n_vars;
    const pg_ptx_function *functions; /* a declaration and its definition are one */
    uint32_t n_functions;
    const pg_ptx_alias *aliases;
    uint32_t n_aliases;
    const pg_ptx_file *files;
    uint32_t n_files;
    const pg_ptx_loc *locs; /* locs[0] is {0, 0, 0} */
    uint32_t n_locs;
    const pg_ptx_pragma *pragmas;
    uint32_t n_pragmas;
    const pg_ptx_opcode *const *opcodes; /* every opcode that the module uses, by id */
    uint32_t n_opcodes;
} pg_ptx_module;

/* Index of the function or entry of this name, or UINT32_MAX. */
uint32_t pg_ptx_find_function(const pg_ptx_module *module, const char *name);
/* Index of the module-scope variable of this name, or UINT32_MAX. */
uint32_t pg_ptx_find_var(const pg_ptx_module *module, const char *name);
/* The declaration that a register comes from, by binary search; NULL if there is no such
 * register. */
const pg_ptx_reg_decl *pg_ptx_find_reg_decl(const pg_ptx_function *function, uint32_t reg);
/* Name of a register ("%r12") into buf, always terminated; returns buf. */
const char *pg_ptx_reg_name(const pg_ptx_function *function, uint32_t reg, char *buf, size_t size);

/* ---- parsing ---- */

typedef enum pg_ptx_severity { PG_PTX_WARNING, PG_PTX_ERROR } pg_ptx_severity;

typedef struct pg_ptx_diagnostic {
    pg_ptx_severity severity;
    uint32_t line, column; /* from 1 */
    const char *message;   /* in the arena */
} pg_ptx_diagnostic;

/* In text order within one pass; lives in the arena of the parse. */
typedef struct pg_ptx_diagnostics {
    const pg_ptx_diagnostic *items;
    uint32_t count;    /* items kept: at most options.max_diagnostics */
    uint32_t n_errors; /* errors found, kept or not */
} pg_ptx_diagnostics;

/* Zero in a field: the default in brackets. Passing a limit is PTXGEN_EBUDGET with a diagnostic. */
typedef struct pg_ptx_options {
    const char *file_name;    /* for messages ["<ptx>"] */
    size_t max_bytes;         /* of text [64 MiB] */
    uint32_t max_registers;   /* per function [1 Mi]; per module 16 times that */
    uint32_t max_nesting;     /* scopes [256] */
    uint32_t max_diagnostics; /* [64] */
    bool no_verify;           /* skip pg_ptx_verify */
} pg_ptx_options;

/* Parses and, unless options say otherwise, verifies `len` bytes of text. Memory is at most a
 * few hundred times `len`; a budget on the arena bounds it further. PTXGEN_OK: *out is a module
 * without errors (there may be warnings). PTXGEN_EPARSE: errors in *diagnostics, *out is NULL.
 * PTXGEN_ENOMEM, PTXGEN_EBUDGET likewise. `options` may be NULL, `diagnostics` may not.
 * Everything lives in `arena`. Thread-safe for different arenas. */
ptxgen_status pg_ptx_parse(pg_arena *arena, const char *text, size_t len,
                           const pg_ptx_options *options, pg_ptx_module **out,
                           pg_ptx_diagnostics *diagnostics);

/* The same with the first error as a message "FILE:LINE:COLUMN: ..." in *err, for callers that
 * show only one. */
ptxgen_status pg_ptx_load(pg_arena *arena, const char *text, size_t len,
                          const pg_ptx_options *options, pg_ptx_module **out, ptxgen_error *err);
/* The same, and the warnings of a module that has no error. */
ptxgen_status pg_ptx_load_warned(pg_arena *arena, const char *text, size_t len,
                                 const pg_ptx_options *options, pg_ptx_module **out,
                                 pg_ptx_diagnostics *warnings, ptxgen_error *err);

/* Appends the module as canonical PTX text: one instruction a line, flat scopes, suffixes in the
 * order of the ISA. Parsing it again gives an equal module (pg_ptx_equal). */
void pg_ptx_print(const pg_ptx_module *module, pg_buf *out);
/* One instruction, without a line break: for reports. */
void pg_ptx_print_insn(const pg_ptx_module *module, const pg_ptx_function *function,
                       const pg_ptx_insn *insn, pg_buf *out);

/* Structural equality: everything but source positions (line, column). When different and `why`
 * is not NULL, it receives what differs. */
bool pg_ptx_equal(const pg_ptx_module *a, const pg_ptx_module *b, pg_buf *why);

#endif
