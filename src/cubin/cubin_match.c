/* An older assembler does not write the suffix of the architecture; the SM is always there. */
#include "cubin/cubin_match.h"

#include "base/arch.h"
#include "cubin/cubin_elf.h"
#include "ptxgen/inspect.h"

#include <stdio.h>
#include <string.h>

static bool has_kernel(const pg_cubin_elf *e, const pg_cubin_section *symbols, const char *name)
{
    pg_cubin_symbol symbol;
    for (uint32_t i = 0; pg_cubin_next_kernel(e, symbols, &i, &symbol);)
        if (strcmp(symbol.name, name) == 0)
            return true;
    return false;
}

static bool has_kernels(const void *cubin, size_t n, const pg_cubin_wanted *w, char *why,
                        size_t size)
{
    char name[128];
    pg_cubin_elf e;
    pg_cubin_section symbols;
    if (pg_cubin_open(cubin, n, &e) || !pg_cubin_find_section(&e, ".symtab", &symbols))
        return false;
    for (size_t i = 0; i == 0 || (w->parts && w->parts[i]); i++) {
        snprintf(name, sizeof name, "%s%s%s", w->entry, w->parts ? "_" : "",
                 w->parts ? w->parts[i] : "");
        if (!has_kernel(&e, &symbols, name)) {
            snprintf(why, size, "has no kernel %.64s", name);
            return false;
        }
    }
    return true;
}

bool pg_cubin_match(const void *cubin, size_t n, const pg_cubin_wanted *w, char *why, size_t size)
{
    ptxgen_cubin_info info = {.size = sizeof info};
    snprintf(why, size, "is no cubin");
    if (ptxgen_cubin_inspect(cubin, n, &info, NULL) != PTXGEN_OK)
        return false;
    const bool suffix_known = info.arch % 10 != 0;
    if (info.arch / 10 != w->arch / 10 || (suffix_known && info.arch != w->arch)) {
        snprintf(why, size, "is for %s", pg_arch_to_text(info.arch).text);
        return false;
    }
    return has_kernels(cubin, n, w, why, size);
}
