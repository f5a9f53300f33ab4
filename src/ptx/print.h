/* Parts of a module as canonical text, for who writes a module of parts of others
 * (src/ptx/inline). */
#ifndef PG_PTX_PRINT_H
#define PG_PTX_PRINT_H

#include "ptx/ptx.h"

/* Without a line break. */
void pg_ptx_print_operand(const pg_ptx_module *module, const pg_ptx_function *function,
                          const pg_ptx_operand *operand, pg_buf *out);
/* "LINKAGE .space TYPE name[n] = {...};" and a line break. */
void pg_ptx_print_var(const pg_ptx_module *module, const pg_ptx_var *var, bool is_declaration,
                      pg_buf *out);
/* The declarations of a function's registers; a line each. `parameters`: those of .reg
 * parameters too. */
void pg_ptx_print_registers(const pg_ptx_module *module, const pg_ptx_function *function,
                            bool parameters, pg_buf *out);
/* .branchtargets, .calltargets and .callprototype; a line each. */
void pg_ptx_print_tables(const pg_ptx_module *module, const pg_ptx_function *function, pg_buf *out);
/* With its body, or only declared. */
void pg_ptx_print_function(const pg_ptx_module *module, const pg_ptx_function *function,
                           bool is_declaration, pg_buf *out);

#endif
