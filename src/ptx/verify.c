/* Checks of a finished module that parsing does not make. */
#include "ptx/parser.h"

void pg_verify(pg_parser *p)
{
    if (p->module->address_size != 64)
        pg_parser_error_at(p, 1, 1, "only .address_size 64 is supported, not %u",
                           p->module->address_size);
}
