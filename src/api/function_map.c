/* ptxgen_function_map: a user function over a matrix, on the emulator. The kernel is a few lines
 * of PTX of its own, so a check against it does not repeat what a family's kernel does. */
#include "api/function_map.h"

#include "base/error.h"
#include "base/sized.h"
#include "common/elements.h"
#include "engine/functions.h"
#include "ptx/inline/inline.h"
#include "ptxgen/emulator.h"

#include <stdio.h>
#include <string.h>

enum { THREADS = 256, BLOCKS = 64, DEFAULT_ARCH = 900, LINE = 512 };

/* The kernel for a mapping: element i of [rows, n] for i = thread, thread + THREADS * BLOCKS,
 * ... */
static const char head[] = "    .reg .b64 %i, %count, %n, %first, %row, %rest, %bytes, %address;\n"
                           "    .reg .b32 %thread, %block, %column, %row32;\n"
                           "    .reg .f32 %value, %second, %in<4>;\n"
                           "    .reg .pred %done;\n"
                           "    ld.param.u64 %count, [count_];\n"
                           "    ld.param.u64 %n, [n_];\n"
                           "    ld.param.u64 %first, [first_];\n"
                           "    mov.u32 %thread, %tid.x;\n"
                           "    mov.u32 %block, %ctaid.x;\n"
                           "    mad.lo.u32 %thread, %block, 256, %thread;\n"
                           "    cvt.u64.u32 %i, %thread;\n"
                           "NEXT:\n"
                           "    setp.ge.u64 %done, %i, %count;\n"
                           "    @%done ret;\n"
                           "    div.u64 %row, %i, %n;\n"
                           "    mul.lo.u64 %rest, %row, %n;\n"
                           "    sub.u64 %rest, %i, %rest;\n"
                           "    cvt.u32.u64 %column, %rest;\n"
                           "    add.u64 %row, %row, %first;\n"
                           "    cvt.u32.u64 %row32, %row;\n"
                           "    mul.lo.u64 %bytes, %i, 4;\n";

/* What a function is called for. */
typedef struct use_of_map {
    pg_function_use use;
    int64_t function;
} use_of_map;

static void put_declaration(const pg_mapping *m, bool wide, ptxgen_arch arch, pg_buf *b)
{
    pg_buf_printf(b, ".version 8.0\n.target %s\n.address_size 64\n", ptxgen_arch_name(arch));
    pg_buf_printf(b, ".extern .func (%s) " PG_FUNCTION_SYMBOL "(.param .f32 value",
                  m->second ? ".param .align 8 .b8 result[8]" : ".param .f32 result");
    for (int k = 0; k < m->inputs; k++)
        pg_buf_printf(b, ", .param .f32 in%d", k);
    pg_buf_printf(b,
                  ", .param .%s row, .param .s32 column);\n"
                  ".visible .entry map(.param .u64 data_, .param .u64 second_, .param .u64 count_, "
                  ".param .u64 n_, .param .u64 first_",
                  wide ? "s64" : "s32");
    for (int k = 0; k < m->inputs; k++)
        pg_buf_printf(b, ", .param .u64 in%d_", k);
    pg_buf_puts(b, ")\n{\n");
}

static void put_access(pg_buf *b, const char *array, const char *line)
{
    pg_buf_printf(b,
                  "    ld.param.u64 %%address, [%s_];\n"
                  "    add.u64 %%address, %%address, %%bytes;\n    %s\n",
                  array, line);
}

static void put_kernel(const pg_mapping *m, bool wide, ptxgen_arch arch, pg_buf *b)
{
    char name[16], line[64], inputs[64] = "";
    put_declaration(m, wide, arch, b);
    pg_buf_puts(b, head);
    put_access(b, "data", "ld.global.f32 %value, [%address];");
    for (int k = 0; k < m->inputs; k++) {
        snprintf(name, sizeof name, "in%d", k);
        snprintf(line, sizeof line, "ld.global.f32 %%in%d, [%%address];", k);
        put_access(b, name, line);
        snprintf(inputs + strlen(inputs), sizeof inputs - strlen(inputs), ", %%in%d", k);
    }
    if (m->second)
        pg_buf_printf(b,
                      "    {\n    .param .align 8 .b8 pair[8];\n"
                      "    call (pair), " PG_FUNCTION_SYMBOL ", (%%value%s, %s, %%column);\n"
                      "    ld.param.f32 %%value, [pair];\n"
                      "    ld.param.f32 %%second, [pair+4];\n    }\n",
                      inputs, wide ? "%row" : "%row32");
    else
        pg_buf_printf(b, "    call (%%value), " PG_FUNCTION_SYMBOL ", (%%value%s, %s, %%column);\n",
                      inputs, wide ? "%row" : "%row32");
    put_access(b, "data", "st.global.f32 [%address], %value;");
    if (m->second)
        put_access(b, "second", "st.global.f32 [%address], %second;");
    pg_buf_printf(b, "    add.u64 %%i, %%i, %d;\n    bra NEXT;\n}\n", THREADS * BLOCKS);
}

/* ---- the emulator ---- */

static ptxgen_status add_buffers(ptxgen_emulator *emu, const pg_mapping *m, ptxgen_error *err)
{
    const size_t bytes = (size_t)(m->rows * m->n) * sizeof(float);
    PG_TRY(
        ptxgen_emulator_add_buffer(emu, "data", m->values, bytes, PTXGEN_EMULATOR_WRITABLE, err));
    if (m->second)
        PG_TRY(ptxgen_emulator_add_buffer(emu, "second", m->second, bytes, PTXGEN_EMULATOR_WRITABLE,
                                          err));
    for (int k = 0; k < m->inputs; k++)
        PG_TRY(
            ptxgen_emulator_add_buffer(emu, "input", (void *)(uintptr_t)m->in[k], bytes, 0, err));
    return PTXGEN_OK;
}

static ptxgen_status launch(ptxgen_emulator *emu, const ptxgen_inlined *merged, const pg_mapping *m,
                            ptxgen_error *err)
{
    size_t length;
    const char *text = ptxgen_inlined_text(merged, &length);
    ptxgen_emulator_module *module;
    ptxgen_emulator_entry *entry;
    uint64_t count = (uint64_t)(m->rows * m->n), n = (uint64_t)m->n;
    uint64_t first = (uint64_t)m->first_row;
    pg_mapping x = *m;
    void *args[5 + PG_MAPPING_INPUTS] = {&x.values, &x.second, &count, &n, &first};
    for (int k = 0; k < m->inputs; k++)
        args[5 + k] = (void *)&x.in[k];
    const ptxgen_emulator_launch l = {.size = sizeof l,
                                      .grid = {BLOCKS, 1, 1},
                                      .block = {THREADS, 1, 1},
                                      .args = args,
                                      .arg_count = 5 + (size_t)m->inputs};
    PG_TRY(ptxgen_emulator_load(emu, text, length, "function", &module, err));
    ptxgen_status status = ptxgen_emulator_find(module, "map", &entry, err);
    if (status == PTXGEN_OK)
        status = add_buffers(emu, m, err);
    if (status == PTXGEN_OK)
        status = ptxgen_emulator_run(entry, &l, err);
    ptxgen_emulator_unload(module);
    return status;
}

static ptxgen_status run(const ptxgen_inlined *merged, const pg_mapping *m, ptxgen_error *err)
{
    enum { START = 100000000, ELEMENT = 200000 }; /* a loop that does not end is stopped */
    ptxgen_emulator *emu;
    const uint64_t budget = START + ELEMENT * (uint64_t)(m->rows * m->n);
    const ptxgen_emulator_config config = {.size = sizeof config, .instruction_budget = budget};
    PG_TRY(ptxgen_emulator_create(&config, &emu, err));
    const ptxgen_status status = launch(emu, merged, m, err);
    ptxgen_emulator_destroy(emu);
    return status;
}

static ptxgen_status merge(pg_engine *e, const use_of_map *u, const pg_mapping *m,
                           ptxgen_inlined **merged, ptxgen_error *err)
{
    const pg_function_text *f;
    pg_buf text;
    const bool wide = strstr(u->use.types, "long long") != NULL; /* of the row */
    PG_TRY(pg_functions_text(e, u->function, &u->use, &f, err));
    pg_buf_init(&text, &e->alloc);
    put_kernel(m, wide, u->use.arch, &text);
    const ptxgen_inline_args args = {.size = sizeof args,
                                     .kernel = pg_buf_text(&text),
                                     .function = pg_buf_text(&f->ptx),
                                     .function_length = f->ptx.len,
                                     .function_file =
                                         pg_functions_find(e, u->function)->source.file};
    const pg_inline_seam place = {PG_FUNCTION_SYMBOL, f->name, u->use.signature, false};
    const ptxgen_status status =
        text.failed ? pg_fail_memory(err, LINE) : pg_inline(&e->alloc, &args, &place, merged, err);
    pg_buf_fini(&text);
    return status;
}

static ptxgen_status map_with(pg_engine *e, const use_of_map *u, const pg_mapping *m,
                              ptxgen_error *err)
{
    ptxgen_inlined *merged;
    PG_TRY(merge(e, u, m, &merged, err));
    const ptxgen_status status = m->rows && m->n ? run(merged, m, err) : PTXGEN_OK;
    ptxgen_inlined_free(merged);
    return status;
}

ptxgen_status pg_map_function(void *user, const pg_mapping *m, ptxgen_error *err)
{
    const pg_function_caller *c = user;
    const pg_function_seam *seam = c->family->function;
    use_of_map u = {{.arch = (ptxgen_arch)c->key[0], .exact = seam->exact(c->key)},
                    seam->number(c->key)};
    if (!u.use.arch)
        u.use.arch = DEFAULT_ARCH;
    pg_seam_signature(seam, c->key, &u.use.signature, &u.use.types);
    return map_with(c->ctx->engine, &u, m, err);
}

static ptxgen_status find_seam(const char *name, const pg_function_seam **out, ptxgen_error *err)
{
    const pg_family *family;
    PG_TRY(pg_family_find(name ? name : "scatter_add", &family, err));
    *out = family->function;
    return *out ? PTXGEN_OK
                : pg_fail(err, PTXGEN_EUNSUPPORTED, "%s takes no user function", family->name);
}

static ptxgen_status check(const ptxgen_function_map_args *given, ptxgen_function_map_args *a,
                           ptxgen_error *err)
{
    PG_TRY(pg_sized_take(a, sizeof *a, given, "args", "ptxgen_function_map_args", err));
    if (a->dtype < PTXGEN_F32 || a->dtype > PTXGEN_BF16)
        return pg_fail(err, PTXGEN_EINVAL, "dtype is %d: use PTXGEN_F32, PTXGEN_F16 or PTXGEN_BF16",
                       (int)a->dtype);
    if (a->rows < 0 || a->n < 0 || (a->n && a->rows > (INT64_C(1) << 40) / a->n))
        return pg_fail(err, PTXGEN_EINVAL,
                       "rows=%lld, n=%lld: neither may be negative, nor the matrix have more than "
                       "2^40 elements",
                       (long long)a->rows, (long long)a->n);
    if (a->rows && a->n && (!a->in || !a->out))
        return pg_fail(err, PTXGEN_EINVAL, "%s is NULL", a->in ? "out" : "in");
    if (!a->arch)
        a->arch = DEFAULT_ARCH;
    return PTXGEN_OK;
}

ptxgen_status ptxgen_function_map(ptxgen *ctx, const ptxgen_function_map_args *given,
                                  ptxgen_error *err)
{
    ptxgen_function_map_args a = {0};
    const pg_function_seam *seam;
    if (!ctx)
        return pg_fail(err, PTXGEN_EINVAL, "ctx is NULL");
    PG_TRY(check(given, &a, err));
    PG_TRY(find_seam(a.family, &seam, err));
    const int64_t count = a.rows * a.n;
    const size_t bytes = (size_t)(count + 1) * sizeof(float);
    float *data = pg_alloc_zero(&ctx->engine->alloc, bytes);
    if (!data)
        return pg_fail_memory(err, bytes);
    const pg_view in = {.data = (void *)(uintptr_t)a.in, .dtype = a.dtype},
                  out = {.data = a.out, .dtype = a.dtype};
    for (int64_t i = 0; i < count; i++)
        data[i] = (float)pg_element(&in, i);
    const pg_mapping m = {.rows = a.rows, .n = a.n, .values = data};
    const use_of_map u = {{a.arch, a.dtype == PTXGEN_F32, seam->types, seam->signature},
                          a.function};
    const ptxgen_status status = map_with(ctx->engine, &u, &m, err);
    for (int64_t i = 0; status == PTXGEN_OK && i < count; i++)
        pg_element_set(&out, i, (double)data[i]);
    pg_free(&ctx->engine->alloc, data, bytes);
    return status;
}
