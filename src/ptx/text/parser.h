/* State that the files of the parser share: parse.c (module scope, functions),
 * parse_declaration.c (variables, registers, parameters), parse_initializer.c, parse_constant.c,
 * parse_statement.c (bodies), parse_operand.c, parser.c (what all of them use). Not for use
 * outside of src/ptx. */
#ifndef PG_PTX_PARSER_H
#define PG_PTX_PARSER_H

#include "ptx/table/form.h"
#include "ptx/text/lex.h"
#include "ptx/text/names.h"
#include "ptx/ptx.h"

enum {
    PG_MODULE_SCOPE = 0xFFFFFFFFu, /* as a function's number */
    PG_MAX_OPERANDS = 16,          /* written in one instruction */
    PG_MAX_DIMS = 8
};

/* A growing array in the parser's scratch memory. */
typedef struct pg_list {
    void *items;
    uint32_t count, cap, size; /* size: bytes of an element */
} pg_list;

/* A matched spelling: the rows it fits, in table order. Operands decide between them. */
typedef struct pg_candidate {
    pg_ptx_opcode *opcode; /* in the module's arena; shared by the instructions that use it */
    pg_form form;
    bool used; /* has an id */
    struct pg_candidate *next;
} pg_candidate;

typedef struct pg_spelling_entry {
    pg_str text;
    uint32_t hash;
    bool is_call, takes_label;
    bool is_parts;            /* SIMD video, whose sources are registers as they are */
    pg_candidate *candidates; /* NULL: no row fits; reported at each use */
} pg_spelling_entry;

/* A use of a label, patched when the scope that declares it closes. */
typedef struct pg_label_use {
    uint32_t *where;
    pg_str name;
    uint32_t key;
    uint32_t next; /* earlier use of the same name that still waits; PG_NAME_NONE */
    bool done;
    uint32_t line, column;
} pg_label_use;

/* The function whose body is being parsed. */
typedef struct pg_function_state {
    uint32_t index;
    pg_list code, labels, tables, protos, reg_decls, reg_types, locals, label_uses;
    pg_list waiting; /* uint32_t by name key: newest waiting label use + 1 */
    uint32_t loc;    /* of the last instruction */
    pg_ptx_loc pending_loc;
    bool has_pending_loc;
} pg_function_state;

typedef struct pg_parser {
    pg_lexer lexer;
    pg_token token; /* the current one */
    const char *text;
    uint32_t end;   /* offset behind the last token that was taken */
    uint32_t begin; /* offset of the statement, or of the item of the module, under parse */
    pg_arena *arena;
    pg_arena scratch;
    pg_ptx_options options; /* defaults filled in */
    pg_names names;
    pg_list vars, functions, items, aliases, files, locs, pragmas, opcodes, diagnostics;
    pg_list spellings; /* open-addressed hash table of pg_spelling_entry */
    uint32_t n_spellings;
    pg_list elems; /* operands of the vectors under parse, as a stack */
    pg_function_state fn;
    pg_ptx_module *module;
    uint32_t n_errors, n_registers;
    uint64_t init_bytes;          /* of all initialisers so far */
    ptxgen_status fatal;          /* set: the text has ended for the parser */
    _Alignas(16) char dummy[256]; /* what pg_list_add returns when out of memory */
} pg_parser;

/* ---- parser.c ---- */
void pg_parser_advance(pg_parser *p);
/* Offset of the current token in the text. */
uint32_t pg_parser_offset(const pg_parser *p);
/* From p->begin to behind the current token, which is one character. */
pg_ptx_span pg_parser_span(const pg_parser *p);
/* Ends the parse with a status that is not EPARSE. */
void pg_parser_stop(pg_parser *p, ptxgen_status status);
/* Reports an error at a position; always returns false. */
bool pg_parser_error_at(pg_parser *p, uint32_t line, uint32_t column, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* At the current token. */
bool pg_parser_error(pg_parser *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
void pg_parser_warn(pg_parser *p, uint32_t line, uint32_t column, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* "expected <what>, found <the current token>"; returns false. */
bool pg_parser_unexpected(pg_parser *p, const char *what);

bool pg_parser_at(const pg_parser *p, char punctuation);
bool pg_parser_at_suffix(const pg_parser *p, const char *word);
/* Takes the token if it is this. */
bool pg_parser_accept(pg_parser *p, char punctuation);
bool pg_parser_accept_suffix(pg_parser *p, const char *word);
/* Takes it or reports. */
bool pg_parser_expect(pg_parser *p, char punctuation);
/* A name; reports if the token is none. */
bool pg_parser_name(pg_parser *p, pg_str *name);
/* An unsigned integer constant expression of at most `limit`. */
bool pg_parser_uint(pg_parser *p, uint64_t limit, uint64_t *value);

/* Memory of the module; on failure stops the parse and returns NULL. */
void *pg_parser_alloc(pg_parser *p, size_t count, size_t size);
const char *pg_parser_copy(pg_parser *p, pg_str text);
/* A new zeroed element. Never NULL: out of memory it is a dummy, and the parse has stopped. */
void *pg_list_add(pg_parser *p, pg_list *list);
/* A copy of elements first .. count-1 in the module's arena; NULL when there are none. */
void *pg_list_freeze(pg_parser *p, const pg_list *list, uint32_t first);
#define PG_LIST_AT(list, type, i) ((type *)(list)->items + (i))

/* Adds an item of the module and returns its number. */
uint32_t pg_add_item(pg_parser *p, pg_ptx_item_kind kind, uint32_t index);

/* Declares a name in the innermost scope; reports a second declaration. */
bool pg_parser_declare(pg_parser *p, pg_str name, const pg_token *where, pg_binding binding);

/* ---- parse_constant.c ---- */
typedef struct pg_constant {
    pg_ptx_literal literal;
    uint64_t value;
} pg_constant;
bool pg_parse_constant(pg_parser *p, pg_constant *out);
/* The same, an integer. */
bool pg_parse_integer(pg_parser *p, int64_t *out);
/* Whether the current token can begin a constant. */
bool pg_parser_at_constant(const pg_parser *p);

/* ---- parse_declaration.c ---- */
/* What stands before the names of a variable declaration. */
typedef struct pg_var_head {
    pg_ptx_space space;
    pg_ptx_linkage linkage;
    pg_ptx_role role;
    pg_ptx_type type;
    uint32_t vector, align, pointer_align;
    bool align_declared, is_pointer, managed;
    pg_ptx_space pointer_space;
} pg_var_head;

/* Space named by a directive, or PG_SPACE_NONE. */
pg_ptx_space pg_space_of(pg_str word);
/* From the token after the space: ".align 4 .b8 a[4] = {..}, b;". */
bool pg_parse_variables(pg_parser *p, pg_ptx_space space, pg_ptx_linkage linkage);
/* ".attribute(...)" from behind the word; *managed is set if .managed is among them. */
bool pg_parse_attribute(pg_parser *p, bool *managed);
/* From the token after ".reg". */
bool pg_parse_registers(pg_parser *p);
/* "(.param .b32 a, ...)": indices of the new variables in the module's arena. */
bool pg_parse_parameters(pg_parser *p, pg_ptx_role role, uint32_t function, const uint32_t **vars,
                         uint32_t *n_vars);
/* The rest of "name: .callprototype ...". */
bool pg_parse_prototype(pg_parser *p, pg_ptx_proto *proto);
/* Adds a register range or a plain register; returns its first number. */
uint32_t pg_add_registers(pg_parser *p, const pg_ptx_reg_decl *decl);

/* ---- parse_initializer.c ---- */
/* From the token after '='. May set the size of an unsized variable. */
bool pg_parse_initializer(pg_parser *p, pg_ptx_var *var);

/* ---- parse_operand.c ---- */
bool pg_parse_operand(pg_parser *p, const pg_spelling_entry *spelling, pg_ptx_operand *out);
/* A register of type pred, for guards. */
bool pg_parse_guard(pg_parser *p, int32_t *reg, bool *negated);
/* Records that *where is the number of the label `name`, known later. */
void pg_use_label(pg_parser *p, pg_str name, const pg_token *at, uint32_t *where);

/* ---- parse_statement.c ---- */
/* From behind the '{' to the '}' of a function's body; the scope is open. */
void pg_parse_body(pg_parser *p);
/* `.loc` and `.pragma`, from behind the word. */
bool pg_parse_loc(pg_parser *p);
bool pg_parse_pragma(pg_parser *p, uint32_t function, uint32_t insn);

/* ---- verify.c ---- */
/* Checks the finished module: types, spaces, vector lengths, .version and .target; reports
 * through the parser. */
void pg_verify(pg_parser *p);

/* ---- match.c: operands against rows ---- */
/* The entry of a spelling (no blanks in it), made at its first use. NULL when out of memory. */
const pg_spelling_entry *pg_find_spelling(pg_parser *p, pg_str text);
/* Chooses the row that the operands fit and fills insn->opcode and operands; reports why if
 * there is none. */
bool pg_match_operands(pg_parser *p, const pg_spelling_entry *spelling,
                       const pg_ptx_operand *operands, uint32_t n, pg_ptx_insn *insn);

#endif
