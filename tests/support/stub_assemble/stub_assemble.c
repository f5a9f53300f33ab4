/* A stand-in for an assembler: PTX on standard input, on standard output a cubin without code that
 * has the text's target and the names of its entries, which is all that ptxgen compares. The
 * scripts of fake_toolkit_make run it. */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES_MAX = 8, NAME_MAX_BYTES = 128, ENTRY = 0x10, TABLE_AT = 64 };

typedef struct module {
    int sm;
    char names[NAMES_MAX][NAME_MAX_BYTES];
    int count;
} module;

static void read_line(module *m, const char *line)
{
    const char *at;
    if (sscanf(line, ".target sm_%d", &m->sm) == 1)
        return;
    if ((at = strstr(line, ".entry ")) && m->count < NAMES_MAX &&
        sscanf(at + 7, "%127[A-Za-z0-9_$]", m->names[m->count]) == 1)
        m->count++;
}

static void put(const void *bytes, size_t n)
{
    if (fwrite(bytes, 1, n, stdout) != n)
        exit(1);
}

/* Header, symbols, texts, sections. */
static void write_cubin(const module *m)
{
    char texts[1024] = "\0.symtab";
    size_t used = sizeof "\0.symtab";
    Elf64_Sym symbols[NAMES_MAX + 1] = {{0}};
    for (int i = 0; i < m->count; i++) {
        symbols[i + 1] = (Elf64_Sym){.st_name = (Elf64_Word)used,
                                     .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                                     .st_other = ENTRY};
        used += (size_t)snprintf(texts + used, sizeof texts - used, "%s", m->names[i]) + 1;
    }
    const size_t table = (size_t)(m->count + 1) * sizeof *symbols, texts_at = TABLE_AT + table;
    const size_t sections_at = (texts_at + used + 15) / 16 * 16;
    const Elf64_Ehdr head = {
        .e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT, 0x41, 8},
        .e_machine = EM_CUDA,
        .e_flags = (unsigned)m->sm << 8,
        .e_shoff = sections_at,
        .e_shentsize = sizeof(Elf64_Shdr),
        .e_shnum = 3,
        .e_shstrndx = 2};
    const Elf64_Shdr sections[3] = {
        {0},
        {.sh_name = 1,
         .sh_type = SHT_SYMTAB,
         .sh_offset = TABLE_AT,
         .sh_size = table,
         .sh_link = 2},
        {.sh_type = SHT_STRTAB, .sh_offset = texts_at, .sh_size = used}};
    put(&head, sizeof head);
    put(symbols, table);
    put(texts, used);
    put("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", sections_at - texts_at - used);
    put(sections, sizeof sections);
}

int main(void)
{
    module m = {0};
    char line[4096];
    while (fgets(line, sizeof line, stdin))
        read_line(&m, line);
    write_cubin(&m);
    return fflush(stdout) == 0 ? 0 : 1;
}
