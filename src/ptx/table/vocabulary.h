/* The .def tables as arrays, for the files of src/ptx. */
#ifndef PG_PTX_VOCABULARY_H
#define PG_PTX_VOCABULARY_H

#include "ptx/ptx.h"

typedef struct pg_type_info {
    const char *spelling;
    uint16_t bits;
    pg_ptx_type_class class;
} pg_type_info;

typedef struct pg_modifier_info {
    const char *spelling;
    pg_ptx_field field;
} pg_modifier_info;

extern const pg_type_info pg_type_table[PG_PTX_TYPE_COUNT];
extern const pg_modifier_info pg_modifier_table[PG_PTX_MODIFIER_COUNT];
extern const char *const pg_field_table[PG_PTX_FIELD_COUNT];

#endif
