/* How the verifier's parts report. */
#include "ptx/rules/verify.h"

#include <stdarg.h>
#include <stdio.h>

bool pg_verify_fail(pg_verifier *v, const pg_ptx_operand *o, const char *format, ...)
{
    char text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return pg_parser_error_at(v->p, v->insn->line, o ? o->column : v->insn->column, "%s", text);
}

const char *pg_verify_name(pg_verifier *v)
{
    pg_buf b;
    pg_buf_init(&b, v->p->arena->alloc);
    pg_form_print(v->insn->opcode, &b);
    snprintf(v->name, sizeof v->name, "%s", pg_buf_text(&b));
    if (b.failed)
        pg_parser_stop(v->p, PTXGEN_ENOMEM);
    pg_buf_fini(&b);
    return v->name;
}
