/* Kernels drawn from every family's parameter table, assembled by ptxas: no spills, no local
 * memory, no C75xx line, and the parameters that the launch fills are those of the cubin. A
 * family needs no line here. Skipped without ptxas. PTXGEN_DRAWS=N draws N kernels of each
 * family. */
#include "test.h"

#include "draw_key.h"
#include "engine/kernel.h"
#include "ptx_text.h"
#include "ptxgen/emulator.h"
#include "ptxgen/inspect.h"

static ptxgen *ctx;

static uint32_t bytes_of(const pg_kernel_param *p)
{
    return p->kind == PG_ARG_TENSOR ? 128 : p->kind == PG_ARG_U32 ? 4 : 8;
}

/* The table's names and sizes are those of the PTX's entry, and all of them together the
 * cubin's. */
static void compare_parameters(const pg_family *f, const ptxgen_kernel *k,
                               const ptxgen_kernel_info *info)
{
    const ptxgen_emulator_config config = {.size = sizeof config};
    const pg_kernel_param *table = f->parameters(k->plan);
    ptxgen_emulator *emu;
    ptxgen_emulator_module *module;
    ptxgen_emulator_entry *entry;
    ptxgen_emulator_param param;
    ptxgen_cubin_kernel cubin = {.size = sizeof cubin};
    ptxgen_error err;
    uint32_t end = 0;
    size_t i = 0;
    assert_int_equal(ptxgen_emulator_create(&config, &emu, &err), PTXGEN_OK);
    assert_int_equal(ptxgen_emulator_load(emu, info->ptx, info->ptx_size, "", &module, &err),
                     PTXGEN_OK);
    if (ptxgen_emulator_find(module, info->entry, &entry, &err) != PTXGEN_OK)
        fail_msg("%s: %s", info->params, err.message);
    for (; table[i].name; i++) {
        assert_true(ptxgen_emulator_entry_param(entry, i, &param));
        assert_string_equal(param.name, table[i].name);
        assert_int_equal(param.bytes, bytes_of(&table[i]));
        const uint32_t alignment = param.bytes == 128 ? 64 : (uint32_t)param.bytes;
        end = (end + alignment - 1) / alignment * alignment + (uint32_t)param.bytes;
    }
    assert_false(ptxgen_emulator_entry_param(entry, i, &param));
    assert_true(ptxgen_cubin_kernel_at(info->cubin, info->cubin_size, 0, &cubin));
    assert_int_equal(cubin.param_bytes, end);
    ptxgen_emulator_unload(module);
    ptxgen_emulator_destroy(emu);
}

static void assemble(const pg_family *f, const char *params)
{
    ptxgen_kernel *k;
    ptxgen_kernel_info info = {.size = sizeof info};
    ptxgen_error err;
    if (ptxgen_compile(ctx, f->name, params, &k, &err) != PTXGEN_OK)
        fail_msg("%s %s: %s", f->name, params, err.message);
    ptxgen_kernel_describe(k, &info);
    if (info.spill_bytes || info.local_bytes || strstr(info.log, "C75"))
        fail_msg("%s %s: %d bytes spilled, %d local, log %s", f->name, params, info.spill_bytes,
                 info.local_bytes, info.log);
    if (f->parameters)
        compare_parameters(f, k, &info);
    ptxgen_kernel_unref(k);
}

static void drawn_kernels_assemble(void **state)
{
    (void)state;
    const char *text = getenv("PTXGEN_DRAWS");
    const int wanted = text ? atoi(text) : 10;
    for (size_t i = 0; pg_family_at(i); i++) {
        const pg_family *f = pg_family_at(i);
        int made = 0;
        for (uint64_t seed = 1; made < wanted && seed < 20000; seed++) {
            char params[1024], canonical[1024];
            draw_key(f, seed, params, sizeof params);
            if (ptxgen_canonical(f->name, params, canonical, sizeof canonical, NULL) != PTXGEN_OK)
                continue;
            assemble(f, params);
            made++;
        }
        if (made < wanted)
            fail_msg("%s: only %d of the drawn parameters have a kernel", f->name, made);
    }
}

int main(void)
{
    ctx = assembling_context();
    if (!ctx)
        return TEST_SKIPPED;
    const struct CMUnitTest tests[] = {cmocka_unit_test(drawn_kernels_assemble)};
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ptxgen_destroy(ctx);
    return failed;
}
