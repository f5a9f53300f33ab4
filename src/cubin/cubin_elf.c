/* Every access goes through range() or a check of the same kind, and every struct is copied out,
 * so neither offsets nor alignment of the bytes matter. */
#include "cubin/cubin_elf.h"

#include <elf.h>
#include <string.h>

enum { SYMBOL_IS_ENTRY = 0x10 }; /* in st_other */

uint32_t pg_cubin_u32(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static uint16_t u16(const uint8_t *p)
{
    uint16_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* `n` bytes at `at`, or NULL. */
static const uint8_t *range(const pg_cubin_elf *e, uint64_t at, uint64_t n)
{
    return at <= e->size && n <= e->size - at ? e->bytes + at : NULL;
}

static const char *what_else(const uint8_t *p, size_t size)
{
    static const uint8_t fatbin[] = {0x50, 0xed, 0x55, 0xba};
    if (size == 0)
        return "it is empty";
    if (size >= 4 && memcmp(p, fatbin, 4) == 0)
        return "it is a fat binary; extract the cubin first (cuobjdump -xelf all)";
    if (memmem(p, size < 4096 ? size : 4096, ".version", 8))
        return "it is PTX text";
    return "it is not an ELF file";
}

static bool header_at(const pg_cubin_elf *e, uint32_t i, Elf64_Shdr *out)
{
    if (i >= e->section_count)
        return false;
    memcpy(out, e->bytes + e->sections_at + (uint64_t)i * sizeof *out, sizeof *out);
    return true;
}

/* false when anything that the header or a section promises lies outside the bytes. NVIDIA's own
 * section types are left out: which of them take room in the file is not documented. */
static bool is_whole(const pg_cubin_elf *e, const Elf64_Ehdr *h)
{
    Elf64_Shdr s;
    if (h->e_shentsize != sizeof s || !range(e, h->e_shoff, (uint64_t)h->e_shnum * sizeof s) ||
        !range(e, h->e_phoff, (uint64_t)h->e_phnum * h->e_phentsize))
        return false;
    for (uint32_t i = 0; header_at(e, i, &s); i++)
        if (s.sh_type != SHT_NOBITS && s.sh_type < SHT_LOPROC && !range(e, s.sh_offset, s.sh_size))
            return false;
    return true;
}

const char *pg_cubin_open(const void *bytes, size_t size, pg_cubin_elf *out)
{
    Elf64_Ehdr h;
    const uint8_t *p = bytes;
    if (size < 4 || memcmp(p, ELFMAG, SELFMAG) != 0)
        return what_else(p, size);
    if (size < sizeof h)
        return "it is cut off within the header";
    memcpy(&h, p, sizeof h);
    if (h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_ident[EI_DATA] != ELFDATA2LSB ||
        h.e_machine != EM_CUDA)
        return "it is an ELF file for another machine than CUDA";
    *out = (pg_cubin_elf){.bytes = p,
                          .size = size,
                          .flags = h.e_flags,
                          .abi_version = h.e_ident[EI_ABIVERSION],
                          .sections_at = h.e_shoff,
                          .section_count = h.e_shnum,
                          .names_section = h.e_shstrndx};
    return is_whole(out, &h) ? NULL : "it is cut off, or its section table is damaged";
}

/* The text at `offset` of string table `section`; "" when it does not end inside it. */
static const char *text_at(const pg_cubin_elf *e, uint32_t section, uint64_t offset)
{
    Elf64_Shdr h;
    if (!header_at(e, section, &h) || h.sh_type == SHT_NOBITS || offset >= h.sh_size)
        return "";
    const uint8_t *table = range(e, h.sh_offset, h.sh_size);
    if (!table || !memchr(table + offset, 0, h.sh_size - offset))
        return "";
    return (const char *)table + offset;
}

bool pg_cubin_section_at(const pg_cubin_elf *e, uint32_t i, pg_cubin_section *out)
{
    Elf64_Shdr h;
    if (!header_at(e, i, &h))
        return false;
    *out = (pg_cubin_section){.name = text_at(e, e->names_section, h.sh_name),
                              .type = h.sh_type,
                              .link = h.sh_link,
                              .info = h.sh_info,
                              .size = h.sh_size};
    if (h.sh_type != SHT_NOBITS)
        out->data = range(e, h.sh_offset, h.sh_size);
    return true;
}

bool pg_cubin_find_section(const pg_cubin_elf *e, const char *name, pg_cubin_section *out)
{
    for (uint32_t i = 0; pg_cubin_section_at(e, i, out); i++)
        if (out->data && strcmp(out->name, name) == 0)
            return true;
    return false;
}

bool pg_cubin_symbol_at(const pg_cubin_elf *e, const pg_cubin_section *table, uint32_t i,
                        pg_cubin_symbol *out)
{
    Elf64_Sym s;
    if (!table->data || i >= table->size / sizeof s)
        return false;
    memcpy(&s, table->data + (uint64_t)i * sizeof s, sizeof s);
    *out = (pg_cubin_symbol){.name = text_at(e, table->link, s.st_name),
                             .info = s.st_info,
                             .other = s.st_other,
                             .section = s.st_shndx,
                             .size = s.st_size};
    return true;
}

/* Format byte, code byte, 16 bits: the value itself, or with format 4 the size of the data that
 * follow. */
bool pg_cubin_next_attribute(const pg_cubin_section *s, uint64_t *at, pg_cubin_attribute *out)
{
    enum { WITH_DATA = 4 };
    if (!s->data || s->size < 4 || *at > s->size - 4)
        return false;
    const uint8_t *p = s->data + *at;
    *out = (pg_cubin_attribute){.code = p[1], .value = u16(p + 2)};
    *at += 4;
    if (p[0] != WITH_DATA)
        return true;
    if (out->value > s->size - *at)
        return false;
    out->data = p + 4;
    *at += out->value;
    return true;
}

/* `v` rounded up to 4: notes are padded so. */
static uint64_t padded(uint64_t v)
{
    return (v + 3) & ~(uint64_t)3;
}

bool pg_cubin_next_note(const pg_cubin_section *s, uint64_t *at, pg_cubin_note *out)
{
    Elf64_Nhdr h;
    if (!s->data || *at > s->size || s->size - *at < sizeof h)
        return false;
    memcpy(&h, s->data + *at, sizeof h);
    uint64_t left = s->size - *at - sizeof h, name = padded(h.n_namesz);
    if (name > left || h.n_descsz > left - name)
        return false;
    *out = (pg_cubin_note){
        .type = h.n_type, .data = s->data + *at + sizeof h + name, .size = h.n_descsz};
    uint64_t next = *at + sizeof h + name + padded(h.n_descsz);
    *at = next < s->size ? next : s->size;
    return true;
}

bool pg_cubin_next_kernel(const pg_cubin_elf *e, const pg_cubin_section *symbols, uint32_t *i,
                          pg_cubin_symbol *out)
{
    while (pg_cubin_symbol_at(e, symbols, (*i)++, out))
        if (ELF64_ST_TYPE(out->info) == STT_FUNC && (out->other & SYMBOL_IS_ENTRY) && out->name[0])
            return true;
    return false;
}
