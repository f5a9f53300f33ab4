/* ptxgen_function_map: a user function over a matrix, on the emulator. The kernel is a few lines
 * of PTX of its own, so a check against it does not repeat what a family's kernel does. */
#include "api/context.h"

#include "base/error.h"
#include "base/half.h"
#include "base/sized.h"
#include "engine/functions.h"
#include "ptx/inline/inline.h"
#include "ptxgen/emulator.h"

#include <stdio.h>
#include <string.h>

enum { THREADS = 256, BLOCKS = 64, DEFAULT_ARCH = 900 };

/* Element i of [rows, n] for i = thread, thread + THREADS * BLOCKS, ... */
static const char kernel[] =
    ".version 8.0\n.target %s\n.address_size 64\n"
    ".extern .func (.param .f32 result) " PG_FUNCTION_SYMBOL
    "(.param .f32 value, .param .%s row, .param .s32 column);\n"
    ".visible .entry map(.param .u64 data_, .param .u64 count_, .param .u64 n_)\n"
    "{\n"
    "    .reg .b64 %%i, %%data, %%count, %%n, %%row, %%rest, %%address;\n"
    "    .reg .b32 %%thread, %%block, %%column, %%row32;\n"
    "    .reg .f32 %%value;\n"
    "    .reg .pred %%done;\n"
    "    ld.param.u64 %%data, [data_];\n"
    "    ld.param.u64 %%count, [count_];\n"
    "    ld.param.u64 %%n, [n_];\n"
    "    mov.u32 %%thread, %%tid.x;\n"
    "    mov.u32 %%block, %%ctaid.x;\n"
    "    mad.lo.u32 %%thread, %%block, %d, %%thread;\n"
    "    cvt.u64.u32 %%i, %%thread;\n"
    "NEXT:\n"
    "    setp.ge.u64 %%done, %%i, %%count;\n"
    "    @%%done ret;\n"
    "    div.u64 %%row, %%i, %%n;\n"
    "    mul.lo.u64 %%rest, %%row, %%n;\n"
    "    sub.u64 %%rest, %%i, %%rest;\n"
    "    cvt.u32.u64 %%column, %%rest;\n"
    "    cvt.u32.u64 %%row32, %%row;\n"
    "    mad.lo.u64 %%address, %%i, 4, %%data;\n"
    "    ld.global.f32 %%value, [%%address];\n"
    "    call (%%value), " PG_FUNCTION_SYMBOL ", (%%value, %s, %%column);\n"
    "    st.global.f32 [%%address], %%value;\n"
    "    add.u64 %%i, %%i, %d;\n"
    "    bra NEXT;\n"
    "}\n";

static float load(ptxgen_dtype dtype, const void *base, int64_t i)
{
    if (dtype == PTXGEN_F32)
        return ((const float *)base)[i];
    const uint16_t bits = ((const uint16_t *)base)[i];
    return (float)(dtype == PTXGEN_F16 ? pg_f16_to_double(bits) : pg_bf16_to_double(bits));
}

static void store(ptxgen_dtype dtype, void *base, int64_t i, float v)
{
    if (dtype == PTXGEN_F32)
        ((float *)base)[i] = v;
    else
        ((uint16_t *)base)[i] =
            dtype == PTXGEN_F16 ? pg_f16_from_double((double)v) : pg_bf16_from_double((double)v);
}

/* ---- the emulator ---- */

static ptxgen_status launch(ptxgen_emulator *emu, const ptxgen_inlined *merged, float *data,
                            const ptxgen_function_map_args *a, ptxgen_error *err)
{
    size_t length;
    const char *text = ptxgen_inlined_text(merged, &length);
    ptxgen_emulator_module *module;
    ptxgen_emulator_entry *entry;
    uint64_t count = (uint64_t)(a->rows * a->n), n = (uint64_t)a->n;
    const ptxgen_emulator_launch l = {.size = sizeof l,
                                      .grid = {BLOCKS, 1, 1},
                                      .block = {THREADS, 1, 1},
                                      .args = (void *[]){&data, &count, &n},
                                      .arg_count = 3};
    PG_TRY(ptxgen_emulator_load(emu, text, length, "function", &module, err));
    ptxgen_status status = ptxgen_emulator_find(module, "map", &entry, err);
    if (status == PTXGEN_OK)
        status = ptxgen_emulator_add_buffer(emu, "data", data, count * sizeof *data,
                                            PTXGEN_EMULATOR_WRITABLE, err);
    if (status == PTXGEN_OK)
        status = ptxgen_emulator_run(entry, &l, err);
    ptxgen_emulator_unload(module);
    return status;
}

static ptxgen_status run(const ptxgen_inlined *merged, float *data,
                         const ptxgen_function_map_args *a, ptxgen_error *err)
{
    ptxgen_emulator *emu;
    const ptxgen_emulator_config config = {.size = sizeof config,
                                           .instruction_budget = UINT64_C(100000000000)};
    PG_TRY(ptxgen_emulator_create(&config, &emu, err));
    const ptxgen_status status = launch(emu, merged, data, a, err);
    ptxgen_emulator_destroy(emu);
    return status;
}

static ptxgen_status find_seam(const char *name, const pg_function_seam **out, ptxgen_error *err)
{
    const pg_family *family;
    PG_TRY(pg_family_find(name ? name : "scatter_add", &family, err));
    *out = family->function;
    return *out ? PTXGEN_OK
                : pg_fail(err, PTXGEN_EUNSUPPORTED, "%s takes no user function", family->name);
}

static ptxgen_status merge(pg_engine *e, const ptxgen_function_map_args *a, ptxgen_inlined **merged,
                           ptxgen_error *err)
{
    const pg_function_seam *seam;
    const pg_function_text *f;
    char text[sizeof kernel + 96];
    PG_TRY(find_seam(a->family, &seam, err));
    const bool wide = strstr(seam->types, "long long") != NULL; /* of the row */
    const pg_function_use use = {a->arch, a->dtype == PTXGEN_F32, seam->types, seam->signature};
    PG_TRY(pg_functions_text(e, a->function, &use, &f, err));
    snprintf(text, sizeof text, kernel, ptxgen_arch_name(a->arch), wide ? "s64" : "s32", THREADS,
             wide ? "%row" : "%row32", THREADS * BLOCKS);
    const ptxgen_inline_args args = {.size = sizeof args,
                                     .kernel = text,
                                     .function = pg_buf_text(&f->ptx),
                                     .function_length = f->ptx.len,
                                     .function_file =
                                         pg_functions_find(e, a->function)->source.file};
    const pg_inline_seam place = {PG_FUNCTION_SYMBOL, f->name, seam->signature};
    return pg_inline(&e->alloc, &args, &place, merged, err);
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
    ptxgen_inlined *merged;
    if (!ctx)
        return pg_fail(err, PTXGEN_EINVAL, "ctx is NULL");
    PG_TRY(check(given, &a, err));
    const int64_t count = a.rows * a.n;
    PG_TRY(merge(ctx->engine, &a, &merged, err));
    float *data = pg_alloc_zero(&ctx->engine->alloc, (size_t)(count + 1) * sizeof *data);
    ptxgen_status status = data ? PTXGEN_OK : pg_fail_memory(err, (size_t)count * sizeof *data);
    for (int64_t i = 0; data && i < count; i++)
        data[i] = load(a.dtype, a.in, i);
    if (status == PTXGEN_OK && count)
        status = run(merged, data, &a, err);
    for (int64_t i = 0; status == PTXGEN_OK && i < count; i++)
        store(a.dtype, a.out, i, data[i]);
    pg_free(&ctx->engine->alloc, data, (size_t)(count + 1) * sizeof *data);
    ptxgen_inlined_free(merged);
    return status;
}
