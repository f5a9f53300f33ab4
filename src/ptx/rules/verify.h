/* The verifier's parts. They report through the parser that made the module. */
#ifndef PG_PTX_VERIFY_H
#define PG_PTX_VERIFY_H

#include "ptx/text/parser.h"

typedef struct pg_verifier {
    pg_parser *p;
    const pg_ptx_module *m;
    const pg_ptx_function *f;
    const pg_ptx_insn *insn;
    const pg_form *form; /* of insn->opcode */
    char name[96];       /* see pg_verify_name */
} pg_verifier;

/* Reports an error at operand `o` of the current instruction, or at the instruction; returns
 * false. */
bool pg_verify_fail(pg_verifier *v, const pg_ptx_operand *o, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The spelling of the current instruction's opcode, for messages; good until the next call. */
const char *pg_verify_name(pg_verifier *v);

/* verify_types.c: operand `o` in its slot: type and size of registers, literals, lengths of
 * vectors. */
bool pg_verify_operand(pg_verifier *v, const pg_slot *slot, const pg_ptx_operand *o);

/* verify_memory.c: spaces and widths of addresses, vector widths of loads and stores. */
bool pg_verify_memory(pg_verifier *v);

/* verify_video.c: parts of registers. */
bool pg_verify_is_video(const pg_verifier *v);
bool pg_verify_video(pg_verifier *v);

/* verify_suffixes.c: suffixes that do not go together. */
bool pg_verify_suffixes(pg_verifier *v);

/* verify_odd.c: warns of what ptxas refuses and the parser does not. */
void pg_verify_odd(pg_verifier *v);

/* verify_call.c: arguments against the callee's parameters. */
bool pg_verify_call(pg_verifier *v);

#endif
