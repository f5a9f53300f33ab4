/* A bounded walk over a cubin as an ELF file (64-bit, little-endian): sections, symbols, notes,
 * attributes. Every read is checked against the bytes at hand; a thing that does not lie inside
 * them does not exist. */
#ifndef PG_CUBIN_ELF_H
#define PG_CUBIN_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct pg_cubin_elf {
    const uint8_t *bytes;
    size_t size;
    uint32_t flags;
    uint8_t abi_version;
    uint64_t sections_at;
    uint32_t section_count, names_section;
} pg_cubin_elf;

typedef struct pg_cubin_section {
    const char *name; /* NUL-terminated, inside the bytes; "" if it has none */
    uint32_t type, link, info;
    uint64_t size;       /* as declared */
    const uint8_t *data; /* size bytes; NULL when the section has none in the file */
} pg_cubin_section;

typedef struct pg_cubin_symbol {
    const char *name;
    uint8_t info, other;
    uint16_t section;
    uint64_t size;
} pg_cubin_symbol;

/* One attribute of a .nv.info or .nv.compat section. */
typedef struct pg_cubin_attribute {
    uint8_t code;
    uint16_t value;      /* of a short attribute; the size of data otherwise */
    const uint8_t *data; /* NULL for a short attribute */
} pg_cubin_attribute;

/* One note; data is the descriptor. */
typedef struct pg_cubin_note {
    uint32_t type;
    const uint8_t *data;
    size_t size;
} pg_cubin_note;

/* NULL, or what is wrong, as a clause: "it is cut off". */
const char *pg_cubin_open(const void *bytes, size_t size, pg_cubin_elf *out);
bool pg_cubin_section_at(const pg_cubin_elf *e, uint32_t i, pg_cubin_section *out);
/* The first section of that name with data. */
bool pg_cubin_find_section(const pg_cubin_elf *e, const char *name, pg_cubin_section *out);
/* Symbol i of a symbol table section. */
bool pg_cubin_symbol_at(const pg_cubin_elf *e, const pg_cubin_section *table, uint32_t i,
                        pg_cubin_symbol *out);
/* The next attribute or note at *at, which moves past it; false at the end or at a damaged one. */
bool pg_cubin_next_attribute(const pg_cubin_section *s, uint64_t *at, pg_cubin_attribute *out);
bool pg_cubin_next_note(const pg_cubin_section *s, uint64_t *at, pg_cubin_note *out);

/* The next symbol of a kernel at *i, which moves past it; false at the end. */
bool pg_cubin_next_kernel(const pg_cubin_elf *e, const pg_cubin_section *symbols, uint32_t *i,
                          pg_cubin_symbol *out);

uint32_t pg_cubin_u32(const uint8_t *p);

#endif
