/* ptxgen/inspect.h over the walker in cubin_elf.h. The meaning of NVIDIA's section attributes
 * was read off cubins of ptxas 13.0 against its own -v log. */
#include "ptxgen/inspect.h"

#include "base/error.h"
#include "base/sized.h"
#include "cubin/cubin_elf.h"

#include <elf.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

enum {
    NOTE_TOOL = 2000,
    COMPAT_ACCELERATED = 0x09, /* in .nv.compat: value 1 in cubins for an 'a' architecture */
    RESERVED_SHARED = 1024,    /* counted into .nv.shared.<kernel> from sm_90 on */

    /* The low 12 bits of an instruction of 16 bytes, sm_70 to sm_120 (read off cubins with known
     * numbers of calls). */
    INSTRUCTION_BYTES = 16,
    CALL_ABSOLUTE = 0x943,
    CALL_RELATIVE = 0x944,
    RETURN = 0x950,

    ATTRIBUTE_MAX_THREADS = 0x05,
    ATTRIBUTE_REQUIRED_THREADS = 0x10,
    ATTRIBUTE_FRAME_BYTES = 0x11,
    ATTRIBUTE_PARAM = 0x17,
    ATTRIBUTE_REGISTERS = 0x2f,
    ATTRIBUTE_BARRIERS = 0x4c
};

static int sm_of(const pg_cubin_elf *e)
{
    return (int)(e->abi_version >= 8 ? e->flags >> 8 & 0xff : e->flags & 0xff);
}

/* A tool note: version, then offsets of object name, tool, tool version, build and options in
 * the texts that follow. "" when the text does not end inside the note. */
static const char *note_text(const pg_cubin_note *n, int field)
{
    enum { FIELDS = 24 };
    if (n->size < FIELDS)
        return "";
    const uint8_t *texts = n->data + FIELDS;
    uint64_t offset = pg_cubin_u32(n->data + 4 * field), size = n->size - FIELDS;
    if (offset >= size || !memchr(texts + offset, 0, size - offset))
        return "";
    return (const char *)texts + offset;
}

/* Only printable characters: the text goes to terminals and JSON. */
static void copy_printable(char *to, size_t size, const char *from)
{
    size_t n = 0;
    for (; from[n] && n + 1 < size; n++)
        to[n] = from[n] >= ' ' && from[n] <= '~' ? from[n] : '?';
    while (n && to[n - 1] == ' ')
        n--;
    to[n] = 0;
}

static void take_version(ptxgen_cubin_info *info, const char *text)
{
    const char *v = strstr(text, ", V");
    if (v)
        copy_printable(info->version, sizeof info->version, v + 3);
}

/* nvJitLink writes two notes, its own and the assembler's inside it: the first names the tool,
 * the one with -arch has the options. */
static void read_notes(const pg_cubin_elf *e, ptxgen_cubin_info *info)
{
    enum { TOOL = 2, VERSION = 3, OPTIONS = 5 };
    pg_cubin_section s;
    pg_cubin_note n;
    if (!pg_cubin_find_section(e, ".note.nv.tkinfo", &s))
        return;
    for (uint64_t at = 0; pg_cubin_next_note(&s, &at, &n);) {
        if (n.type != NOTE_TOOL)
            continue;
        if (!info->tool[0]) {
            copy_printable(info->tool, sizeof info->tool, note_text(&n, TOOL));
            take_version(info, note_text(&n, VERSION));
        }
        if (!info->options[0] || strstr(note_text(&n, OPTIONS), "-arch"))
            copy_printable(info->options, sizeof info->options, note_text(&n, OPTIONS));
    }
}

static bool is_accelerated(const pg_cubin_elf *e)
{
    pg_cubin_section s;
    pg_cubin_attribute a;
    bool found = false;
    if (!pg_cubin_find_section(e, ".nv.compat", &s))
        return false;
    for (uint64_t at = 0; !found && pg_cubin_next_attribute(&s, &at, &a);)
        found = a.code == COMPAT_ACCELERATED && !a.data && a.value == 1;
    return found;
}

/* The 'f' suffix is told by the options only. */
static bool is_family(const ptxgen_cubin_info *info, int sm)
{
    char wanted[32];
    snprintf(wanted, sizeof wanted, "sm_%df", sm);
    return strstr(info->options, wanted) != NULL;
}

ptxgen_status ptxgen_cubin_inspect(const void *bytes, size_t size, ptxgen_cubin_info *out,
                                   ptxgen_error *err)
{
    pg_cubin_elf e;
    pg_cubin_section symbols;
    pg_cubin_symbol symbol;
    ptxgen_cubin_info info = {.size = sizeof info};
    const char *wrong = pg_cubin_open(bytes, size, &e);
    if (!wrong && !pg_cubin_find_section(&e, ".symtab", &symbols))
        wrong = "it has no symbol table";
    if (wrong)
        return pg_fail(err, PTXGEN_EPARSE, "not a cubin: %s", wrong);
    for (uint32_t i = 0; pg_cubin_next_kernel(&e, &symbols, &i, &symbol);)
        info.kernel_count++;
    read_notes(&e, &info);
    int sm = sm_of(&e);
    info.arch = sm * 10 + (is_accelerated(&e) ? 1 : is_family(&info, sm) ? 2 : 0);
    pg_sized_give(out, &info, sizeof info);
    return PTXGEN_OK;
}

static void take_threads(const pg_cubin_attribute *a, int out[3])
{
    for (int i = 0; i < 3 && a->data && a->value >= 12; i++)
        out[i] = (int)pg_cubin_u32(a->data + 4 * i);
}

/* .nv.info: facts as (symbol, value), of all functions. */
static void read_common(const pg_cubin_elf *e, uint32_t symbol, ptxgen_cubin_kernel *k)
{
    pg_cubin_section s;
    pg_cubin_attribute a;
    if (!pg_cubin_find_section(e, ".nv.info", &s))
        return;
    for (uint64_t at = 0; pg_cubin_next_attribute(&s, &at, &a);) {
        if (!a.data || a.value < 8 || pg_cubin_u32(a.data) != symbol)
            continue;
        if (a.code == ATTRIBUTE_REGISTERS)
            k->registers = (int)pg_cubin_u32(a.data + 4);
        else if (a.code == ATTRIBUTE_FRAME_BYTES)
            k->local_bytes = (int)pg_cubin_u32(a.data + 4);
    }
}

/* A parameter: index (32 bits), ordinal and offset (16 each), then 14 bits of size at bit 18.
 * The first may lie at an offset, which aligns it in the constant bank and is none of its bytes. */
static void take_param(const pg_cubin_attribute *a, int *first, int *end)
{
    if (!a->data || a->value < 12)
        return;
    int offset = (int)(pg_cubin_u32(a->data + 4) >> 16),
        size = (int)(pg_cubin_u32(a->data + 8) >> 18);
    if (offset < *first)
        *first = offset;
    if (offset + size > *end)
        *end = offset + size;
}

static void read_own(const pg_cubin_section *s, ptxgen_cubin_kernel *k)
{
    pg_cubin_attribute a;
    int first = INT_MAX, end = 0;
    k->barriers = 0; /* the attribute is left out when there are none */
    for (uint64_t at = 0; pg_cubin_next_attribute(s, &at, &a);) {
        if (a.code == ATTRIBUTE_MAX_THREADS)
            take_threads(&a, k->max_threads);
        else if (a.code == ATTRIBUTE_REQUIRED_THREADS)
            take_threads(&a, k->required_threads);
        else if (a.code == ATTRIBUTE_PARAM)
            take_param(&a, &first, &end);
        else if (a.code == ATTRIBUTE_BARRIERS && !a.data)
            k->barriers = a.value & 0xff;
    }
    k->param_bytes = end ? end - first : 0;
}

static bool is_section_of(const pg_cubin_section *s, const char *prefix, const char *kernel)
{
    size_t n = strlen(prefix);
    return strncmp(s->name, prefix, n) == 0 && strcmp(s->name + n, kernel) == 0;
}

/* Where a relative call goes, from the section's first byte: bits 32 to 81 say how far behind the
 * next instruction. */
static int64_t target_of(const uint8_t *instruction, uint64_t at)
{
    const uint64_t low = pg_cubin_u32(instruction + 4), high = pg_cubin_u32(instruction + 8);
    const int64_t far = (int64_t)((high << 32 | low) << 14) >> 14; /* 50 bits, signed */
    return (int64_t)at + INSTRUCTION_BYTES + far;
}

/* Code that never returns calls nothing of its own: ptxas also leaves a loop by a relative call
 * that nothing comes back from (mma.sync's main loop, on sm_80). */
static int count_calls(const pg_cubin_section *text)
{
    int calls = 0, inner = 0, returns = 0;
    for (uint64_t at = 0; text->data && at + INSTRUCTION_BYTES <= text->size;
         at += INSTRUCTION_BYTES) {
        const uint8_t *instruction = text->data + at;
        const uint32_t opcode = pg_cubin_u32(instruction) & 0xfff;
        returns += opcode == RETURN;
        if (opcode != CALL_ABSOLUTE && opcode != CALL_RELATIVE)
            continue;
        const int64_t target = opcode == CALL_RELATIVE ? target_of(instruction, at) : -1;
        calls++;
        inner += target >= 0 && target < (int64_t)text->size;
    }
    return returns ? calls : calls - inner;
}

static void read_sections(const pg_cubin_elf *e, ptxgen_cubin_kernel *k)
{
    pg_cubin_section s;
    uint64_t reserved = sm_of(e) >= 90 ? RESERVED_SHARED : 0;
    for (uint32_t i = 0; pg_cubin_section_at(e, i, &s); i++) {
        if (is_section_of(&s, ".nv.info.", k->name))
            read_own(&s, k);
        else if (is_section_of(&s, ".text.", k->name) && sm_of(e) >= 70)
            k->calls = count_calls(&s);
        else if (is_section_of(&s, ".nv.shared.", k->name) && s.size >= reserved &&
                 s.size < 1 << 30)
            k->shared_bytes = (int)(s.size - reserved);
    }
}

bool ptxgen_cubin_kernel_at(const void *bytes, size_t size, size_t i, ptxgen_cubin_kernel *out)
{
    pg_cubin_elf e;
    pg_cubin_section symbols;
    pg_cubin_symbol symbol;
    uint32_t at = 0;
    if (pg_cubin_open(bytes, size, &e) || !pg_cubin_find_section(&e, ".symtab", &symbols))
        return false;
    do
        if (!pg_cubin_next_kernel(&e, &symbols, &at, &symbol))
            return false;
    while (i--);
    ptxgen_cubin_kernel k = {.name = symbol.name,
                             .code_bytes = symbol.size,
                             .registers = -1,
                             .barriers = -1,
                             .local_bytes = -1,
                             .param_bytes = -1,
                             .calls = -1,
                             .max_threads = {-1, -1, -1},
                             .required_threads = {-1, -1, -1}};
    read_common(&e, at - 1, &k);
    read_sections(&e, &k);
    pg_sized_give(out, &k, sizeof k);
    return true;
}
