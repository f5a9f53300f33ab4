/* Kernels drawn from every family's parameter table, assembled by ptxas: no spills, no local
 * memory, no C75xx line, and the parameters that the launch fills are those of the cubin. A
 * family needs no line here. Skipped without ptxas. PTXGEN_DRAWS=N draws N kernels of each
 * family, PTXGEN_FAMILY=NAME of one. */
#include "test.h"

#include "draw_key.h"
#include "families.h"
#include "ptx_text.h"
#include "ptxgen/call.h"
#include "ptxgen/emulator.h"
#include "ptxgen/inspect.h"

static ptxgen *ctx;

static int cubin_param_bytes(const ptxgen_kernel_info *info, const char *entry)
{
    ptxgen_cubin_kernel k = {.size = sizeof k};
    for (size_t i = 0; ptxgen_cubin_kernel_at(info->cubin, info->cubin_size, i, &k); i++)
        if (strcmp(k.name, entry) == 0)
            return k.param_bytes;
    fail_msg("the cubin has no entry %s", entry);
    return 0;
}

/* Names and sizes of the list are those of the PTX's entry, and all of them together the
 * cubin's. */
static void compare_entry(const ptxgen_kernel *k, const ptxgen_kernel_info *info, size_t n,
                          const char *name, ptxgen_emulator_module *module)
{
    ptxgen_emulator_entry *entry;
    ptxgen_emulator_param param;
    ptxgen_launch_arg a;
    ptxgen_error err;
    uint32_t end = 0;
    size_t i = 0;
    if (ptxgen_emulator_find(module, name, &entry, &err) != PTXGEN_OK)
        fail_msg("%s: %s", info->params, err.message);
    for (; ptxgen_kernel_entry_param(k, n, i, &a); i++) {
        assert_true(ptxgen_emulator_entry_param(entry, i, &param));
        assert_string_equal(param.name, a.name);
        assert_int_equal(param.bytes, a.bytes);
        end = a.offset + a.bytes;
    }
    assert_true(i > 0);
    assert_false(ptxgen_emulator_entry_param(entry, i, &param));
    assert_int_equal(cubin_param_bytes(info, name), end);
}

static void compare_parameters(const ptxgen_kernel *k, const ptxgen_kernel_info *info)
{
    const ptxgen_emulator_config config = {.size = sizeof config};
    ptxgen_emulator *emu;
    ptxgen_emulator_module *module;
    ptxgen_cubin_kernel cubin = {.size = sizeof cubin};
    ptxgen_error err;
    char name[128];
    size_t n = 0;
    assert_int_equal(ptxgen_emulator_create(&config, &emu, &err), PTXGEN_OK);
    assert_int_equal(ptxgen_emulator_load(emu, info->ptx, info->ptx_size, "", &module, &err),
                     PTXGEN_OK);
    for (; ptxgen_kernel_entry(k, n, name, sizeof name); n++)
        compare_entry(k, info, n, name, module);
    assert_true(ptxgen_cubin_kernel_at(info->cubin, info->cubin_size, n - 1, &cubin));
    assert_false(ptxgen_cubin_kernel_at(info->cubin, info->cubin_size, n, &cubin));
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
    if (info.spill_bytes > 0 || info.local_bytes > 0 || strstr(info.log, "C75"))
        fail_msg("%s %s: %d bytes spilled, %d local, log %s", f->name, params, info.spill_bytes,
                 info.local_bytes, info.log);
    compare_parameters(k, &info);
    ptxgen_kernel_unref(k);
}

static void drawn_kernels_assemble(void **state)
{
    (void)state;
    const size_t wanted = draws_wanted(10);
    for (size_t i = 0; family_at(i); i++) {
        const pg_family *f = family_at(i);
        size_t made = 0;
        for (uint64_t seed = 1; made < wanted && seed < 100000; seed++) {
            char params[1024], canonical[1024];
            draw_key(f, seed, params, sizeof params);
            if (ptxgen_canonical(f->name, params, canonical, sizeof canonical, NULL) != PTXGEN_OK)
                continue;
            assemble(f, params);
            made++;
        }
        if (made < wanted)
            fail_msg("%s: only %zu of the drawn parameters have a kernel", f->name, made);
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
