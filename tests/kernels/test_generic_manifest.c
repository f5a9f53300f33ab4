/* templates/FAMILY/generic.manifest lists the kernels that the shipped pack has. Every kernel
 * that a call with stall=never may want first must be in it: of problems drawn from the tables,
 * with default parameters, without operands that may be left out, results of a matrix product in
 * f32. And every line is a kernel. */
#include "test.h"

#include "draw.h"
#include "families.h"
#include "ptxgen/call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KERNELS_MAX = 4096, DRAWS = 25 };

static ptxgen *ctx;
static char *kernels[KERNELS_MAX]; /* "FAMILY PARAMS" of the manifests */
static size_t count;

static bool take(void *user, const ptxgen_manifest_line *line)
{
    char params[1024], *text;
    ptxgen_error err;
    if (ptxgen_canonical(line->family, line->params, params, sizeof params, &err) != PTXGEN_OK)
        fail_msg("%s:%d: %s: %s", (const char *)user, line->number, line->params, err.message);
    assert_true(count < KERNELS_MAX);
    text = malloc(strlen(line->family) + strlen(params) + 2);
    assert_non_null(text);
    sprintf(text, "%s %s", line->family, params);
    kernels[count++] = text;
    return true;
}

static bool read_manifest(const char *family)
{
    char path[512];
    size_t n;
    snprintf(path, sizeof path, PTXGEN_SOURCE_DIR "/templates/%s/generic.manifest", family);
    FILE *f = fopen(path, "rb");
    if (!f)
        return false;
    static char text[1 << 16];
    n = fread(text, 1, sizeof text, f);
    fclose(f);
    assert_true(n > 0 && n < sizeof text);
    assert_int_equal(ptxgen_manifest_parse(text, n, take, path, NULL), PTXGEN_OK);
    return true;
}

static bool is_listed(const char *family, const char *params)
{
    const size_t n = strlen(family);
    for (size_t i = 0; i < count; i++)
        if (strncmp(kernels[i], family, n) == 0 && kernels[i][n] == ' ' &&
            strcmp(kernels[i] + n + 1, params) == 0)
            return true;
    return false;
}

static void every_family_with_a_generic_kernel_lists_it(void **state)
{
    (void)state;
    for (size_t i = 0; family_at(i); i++) {
        const pg_family *f = family_at(i);
        const size_t before = count;
        const bool listed = read_manifest(f->name);
        if (!listed && !f->no_generic)
            fail_msg("templates/%s/generic.manifest is missing: it lists the kernels that the "
                     "shipped pack has (CONTRIBUTING.md, \"A new kernel family\")",
                     f->name);
        assert_true(!listed || count > before);
    }
    print_message("%zu lines, some for the same kernel\n", count);
}

static bool is_plain(const drawn *d)
{
    for (size_t i = 0; i < d->count; i++) {
        const pg_operand *o = &d->family->operands.rows[i];
        if (o->optional && !o->zero_if_absent && d->tensors[i].data)
            return false;
    }
    return d->params[0] == 0;
}

static void check_draws(const pg_family *f, const char *arch)
{
    size_t checked = 0;
    for (uint64_t seed = 1; seed < 300 && checked < DRAWS; seed++) {
        drawn d;
        ptxgen_error err = {0};
        ptxgen_generic_info info = {.size = sizeof info};
        draw_problem(&d, f, &(draw_options){.seed = 90000 + seed, .most = 60, .no_zeros = true});
        if (is_plain(&d) &&
            ptxgen_call_generic(ctx, f->name, arch, d.tensors, d.count, &info, &err) == PTXGEN_OK) {
            const bool counts = info.exists && !strstr(info.params, "d_dtype=f16") &&
                                !strstr(info.params, "d_dtype=bf16");
            checked += counts;
            if (counts && !is_listed(f->name, info.params))
                fail_msg("%s: the generic kernel is not listed: %s %s", draw_text(&d), f->name,
                         info.params);
        }
        draw_free(&d);
    }
    if (!checked)
        print_message("%s has no kernel for %s\n", f->name, arch);
}

static void what_calls_take_first_is_listed(void **state)
{
    (void)state;
    static const char *const archs[] = {"arch=sm_90", "arch=sm_100", "arch=sm_103"};
    for (size_t i = 0; family_at(i); i++)
        for (size_t a = 0; family_at(i)->generic && a < 3; a++)
            check_draws(family_at(i), archs[a]);
    for (size_t i = 0; i < count; i++)
        free(kernels[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_family_with_a_generic_kernel_lists_it),
        cmocka_unit_test(what_calls_take_first_is_listed),
    };
    const ptxgen_config config = {
        .size = sizeof config, .cache_dir = "", .device = PTXGEN_DEVICE_EMULATOR};
    if (ptxgen_create(&config, &ctx, NULL) != PTXGEN_OK)
        return 1;
    const int failed = cmocka_run_group_tests_name("generic_manifest", tests, NULL, NULL);
    ptxgen_destroy(ctx);
    return failed;
}
