/* The PTX parser and verifier on any text: no crash, bounded memory, and what they accept comes
 * back from the printer the same, twice. */
#include "ptx/ptx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { MOST_REGISTERS = 1 << 12, MOST_MEMORY = 256 << 20 };

static ptxgen_status parse(pg_arena *arena, const char *text, size_t len, bool verify,
                           pg_ptx_module **module)
{
    const pg_ptx_options options = {.max_registers = MOST_REGISTERS, .no_verify = !verify};
    pg_ptx_diagnostics d;
    ptxgen_status status = pg_ptx_parse(arena, text, len, &options, module, &d);
    if ((status == PTXGEN_OK) != (*module != NULL) || (status == PTXGEN_OK && d.n_errors) ||
        (status == PTXGEN_EPARSE && !d.n_errors))
        abort();
    for (uint32_t i = 0; i < d.count; i++)
        if (!d.items[i].message || !d.items[i].line)
            abort();
    return status;
}

static void check(const char *text, size_t len, bool verify)
{
    pg_arena arena;
    pg_ptx_module *module, *again;
    pg_buf printed, reprinted, why;
    pg_arena_init(&arena, &pg_alloc_libc);
    arena.budget = MOST_MEMORY;
    pg_buf_init(&printed, &pg_alloc_libc);
    pg_buf_init(&reprinted, &pg_alloc_libc);
    pg_buf_init(&why, &pg_alloc_libc);
    if (parse(&arena, text, len, verify, &module) == PTXGEN_OK) {
        pg_ptx_print(module, &printed);
        ptxgen_status status = parse(&arena, pg_buf_text(&printed), printed.len, verify, &again);
        if (status == PTXGEN_OK) {
            pg_ptx_print(again, &reprinted);
            if (!pg_ptx_equal(module, again, &why) ||
                strcmp(pg_buf_text(&printed), pg_buf_text(&reprinted)) != 0) {
                fprintf(stderr, "%s\n%s\n", pg_buf_text(&why), pg_buf_text(&printed));
                abort();
            }
        } else if (status == PTXGEN_EPARSE) {
            fprintf(stderr, "%s\n", pg_buf_text(&printed));
            abort();
        }
    }
    pg_buf_fini(&printed);
    pg_buf_fini(&reprinted);
    pg_buf_fini(&why);
    pg_arena_fini(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    /* A copy of exact size: a read past the end is seen. */
    char *text = malloc(size ? size : 1);
    if (!text)
        return 0;
    memcpy(text, bytes, size);
    check(text, size, true);
    check(text, size, false);
    free(text);
    return 0;
}
