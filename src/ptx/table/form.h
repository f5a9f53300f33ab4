/* The opcode table in the shape in which the parser and the verifier use it: opcodes.def read
 * once per process. A spelling such as "add.rn.f32" is matched against the rows of its mnemonic;
 * an opcode's operand list becomes slots with kinds, types and vector lengths resolved for its
 * suffixes. */
#ifndef PG_PTX_FORM_H
#define PG_PTX_FORM_H

#include "ptx/ptx.h"

enum { PG_MAX_SLOTS = 10, PG_MAX_ALTERNATIVES = 3, PG_COUNT_ANY = 0 };

typedef enum pg_slot_need { PG_SLOT_REQUIRED, PG_SLOT_OPTIONAL, PG_SLOT_ABSENT } pg_slot_need;

/* One way to fill a slot. `letter` is a kind of operand as described at the head of opcodes.def. */
typedef struct pg_slot_alternative {
    char letter;
    bool wider;       /* a register may be wider than the type */
    bool predicate;   /* a register must be a predicate; without this and with a type it must not */
    uint16_t kinds;   /* PG_KIND_BITs of the operands that fit */
    pg_ptx_type type; /* PG_T_NONE: any */
    uint16_t count;   /* elements of a vector; PG_COUNT_ANY: any number */
} pg_slot_alternative;

typedef struct pg_slot {
    pg_slot_need need;
    uint8_t n_alternatives;
    pg_slot_alternative alternatives[PG_MAX_ALTERNATIVES];
} pg_slot;

typedef struct pg_form {
    uint8_t n_slots;
    pg_slot slots[PG_MAX_SLOTS];
} pg_form;

/* The operand list of an opcode. */
void pg_form_of(const pg_ptx_opcode *opcode, pg_form *form);

/* The first row at or after *row (a pg_ptx_op; start with 0) whose mnemonic and suffixes are
 * those of `spelling` ("add.rn.f32", no blanks). Fills all of *opcode but its id, sets *row to
 * the row behind, and returns true; false when there is none. */
bool pg_form_match(pg_str spelling, unsigned *row, pg_ptx_opcode *opcode);

/* Why no row matches: one sentence into buf. */
void pg_form_explain(pg_str spelling, char *buf, size_t size);

/* Appends the spelling of an opcode, suffixes in the order of its row: "add.rn.ftz.f32". */
void pg_form_print(const pg_ptx_opcode *opcode, pg_buf *out);

#define PG_KIND_BIT(kind) (1u << (kind)) /* of a pg_ptx_operand_kind */

/* NULL, or the first thing in opcodes.def that does not follow its own grammar (for a test). */
const char *pg_form_table_fault(void);

/* Type by spelling ("u32"); PG_T_NONE if there is none. */
pg_ptx_type pg_form_find_type(pg_str spelling);

#endif
