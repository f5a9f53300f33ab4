/* How fast PTX text is read: lexed alone (the baseline), loaded (lexed, parsed, verified),
 * printed. Each kind of text in two sizes, the second eight times the first: a rate that falls
 * with the size shows work that is not linear. bench_ptx [CSV] */
#include "base/arena.h"
#include "base/buf.h"
#include "ptx/text/lex.h"
#include "ptx/ptx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char head[] = ".version 8.4\n.target sm_90a\n.address_size 64\n";

/* Straight code over a few hundred registers, with a label and a branch now and then. */
static void plain_code(pg_buf *b, unsigned lines)
{
    pg_buf_puts(b, ".visible .entry kernel(.param .u64 p)\n{\n    .reg .b32 %r<400>;\n    .reg "
                   ".b64 %rd<400>;\n"
                   "    .reg .f32 %f<400>;\n    .reg .pred %p<40>;\n    ld.param.u64 %rd0, [p];\n");
    for (unsigned i = 0; i < lines / 5; i++) {
        const unsigned a = i % 398, c = i * 7 % 398;
        pg_buf_printf(b,
                      "    mad.lo.s32 %%r%u, %%r%u, %u, %%r%u;\n    fma.rn.f32 %%f%u, %%f%u, "
                      "0f3F800000, %%f%u;\n"
                      "    ld.global.v2.f32 {%%f%u, %%f%u}, [%%rd%u+%u];\n    setp.lt.s32 %%p%u, "
                      "%%r%u, %u;\n",
                      a, c, i, a, a, c, a, a, a + 1, c, i * 8 % 4096, i % 40, a, i);
        if (i % 8)
            pg_buf_printf(b, "    @%%p%u add.s64 %%rd%u, %%rd%u, %u;\n", i % 40, a, c, i);
        else
            pg_buf_printf(b, "$L__BB0_%u:\n    @%%p%u bra $L__BB0_%u;\n", i, i % 40, i);
    }
    pg_buf_puts(b, "    ret;\n}\n");
}

/* Variables with initialisers, and functions that declare parameters and registers of their own. */
static void declarations(pg_buf *b, unsigned lines)
{
    for (unsigned i = 0; i < lines / 4; i++)
        pg_buf_printf(b,
                      ".global .align 4 .u32 table_%u[4] = {%u, 0x%x, 3, 4};\n"
                      ".func (.param .b32 result_%u) function_%u(.param .b32 x_%u)\n{ .reg .b32 "
                      "%%a, %%b, %%c<%u>;\n"
                      "  ld.param.b32 %%a, [x_%u]; st.param.b32 [result_%u], %%a; ret; }\n",
                      i, i, i, i, i, i, 4 + i % 16, i, i);
}

/* Blocks in blocks with registers of the same names, as inline assembly makes them. */
static void scopes(pg_buf *b, unsigned lines)
{
    pg_buf_puts(b, ".visible .entry kernel()\n{\n    .reg .b32 %r<8>;\n");
    for (unsigned i = 0; i < lines / 4; i++)
        pg_buf_printf(
            b,
            "    {\n    .reg .pred p, q;\n    setp.eq.u32 p, %%r%u, %u;\n"
            "again: @p bra done;\n    bra again;\ndone: add.u32 %%r%u, %%r%u, 1;\n    }\n",
            i % 8, i, i % 8, i % 8);
    pg_buf_puts(b, "    ret;\n}\n");
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct rates {
    double bytes, tokens, lex, load, print; /* the last three: seconds */
} rates;

static bool measure(const pg_buf *text, rates *r)
{
    pg_lexer lexer;
    pg_token token;
    double start = seconds();
    pg_lexer_init(&lexer, text->data, text->len);
    for (r->tokens = 0; pg_lexer_next(&lexer, &token), token.kind != PG_TOKEN_END; r->tokens++)
        ;
    r->lex = seconds() - start;
    r->bytes = (double)text->len;
    pg_arena arena;
    pg_arena_init(&arena, &pg_alloc_libc);
    pg_ptx_module *module = NULL;
    ptxgen_error err = {0};
    start = seconds();
    const bool ok = pg_ptx_load(&arena, text->data, text->len, NULL, &module, &err) == PTXGEN_OK;
    r->load = seconds() - start;
    pg_buf out;
    pg_buf_init(&out, &pg_alloc_libc);
    start = seconds();
    if (ok)
        pg_ptx_print(module, &out);
    else
        printf("%s\n", err.message);
    r->print = seconds() - start;
    pg_buf_fini(&out);
    pg_arena_fini(&arena);
    return ok;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*write)(pg_buf *, unsigned);
    } texts[] = {
        {"plain code", plain_code}, {"declarations", declarations}, {"nested scopes", scopes}};
    FILE *csv = argc > 1 ? fopen(argv[1], "w") : NULL;
    printf("%-16s %8s %14s %14s %14s %14s\n", "", "MB", "lex MB/s", "load MB/s", "load Mtoken/s",
           "print MB/s");
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (unsigned lines = 20000; lines <= 160000; lines *= 8) {
            pg_buf text;
            rates r;
            pg_buf_init(&text, &pg_alloc_libc);
            pg_buf_puts(&text, head);
            texts[i].write(&text, lines);
            if (measure(&text, &r)) {
                printf("%-16s %8.2f %14.1f %14.1f %14.2f %14.1f\n", texts[i].name, r.bytes / 1e6,
                       r.bytes / r.lex / 1e6, r.bytes / r.load / 1e6, r.tokens / r.load / 1e6,
                       r.bytes / r.print / 1e6);
                if (csv)
                    fprintf(csv, "%s,%g,%g,%g,%g,%g\n", texts[i].name, r.bytes, r.bytes / r.lex,
                            r.bytes / r.load, r.tokens / r.load, r.bytes / r.print);
            }
            pg_buf_fini(&text);
        }
    if (csv)
        fclose(csv);
    return 0;
}
