/* Kernels without a toolkit: what one machine assembled serves another that has a driver alone.
 * Which entries are taken is the policy's business, and why one is not is told. */
#include "cache_helpers.h"
#include "engine_helpers.h"
#include "ptxgen/cache.h"

#include "cubin/cubin_match.h"

#include <sys/stat.h>

static const char *const families[] = {"scatter_add", "gather_rows", "matmul_accumulate",
                                       "tcgen05_copy", "matmul_scaled"};
enum { FAMILIES = sizeof families / sizeof *families };

static fake_toolkit toolkit, none;
static test_folder folder, own;

/* A folder in the place of a toolkit, without anything. */
static void empty_toolkit(fake_toolkit *t)
{
    snprintf(t->dir, sizeof t->dir, "/tmp/ptxgen-engine-XXXXXX");
    assert_non_null(mkdtemp(t->dir));
}

static int set_up(void **state)
{
    (void)state;
    fake_toolkit_make(&toolkit);
    empty_toolkit(&none);
    test_folder_make(&folder);
    test_folder_make(&own);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    fake_toolkit_remove(&toolkit);
    fake_toolkit_remove(&none);
    test_folder_remove(&folder);
    test_folder_remove(&own);
    return 0;
}

/* Every family's default kernel in `folder`. */
static void fill_folder(void)
{
    ptxgen *ctx = engine_create(&toolkit, folder.path, NULL);
    for (int i = 0; i < FAMILIES; i++) {
        ptxgen_kernel *k;
        ptxgen_error err;
        if (ptxgen_compile(ctx, families[i], "", &k, &err) != PTXGEN_OK)
            fail_msg("%s: %s", families[i], err.message);
        ptxgen_kernel_unref(k);
    }
    ptxgen_destroy(ctx);
}

static void make_pack(const char *path)
{
    ptxgen_cache *cache;
    ptxgen_cache_transfer done = {.size = sizeof done};
    assert_int_equal(ptxgen_cache_open(folder.path, NULL, &cache, NULL), PTXGEN_OK);
    assert_int_equal(ptxgen_cache_export(cache, path, NULL, NULL, &done, NULL), PTXGEN_OK);
    assert_int_equal(done.copied, FAMILIES);
    ptxgen_cache_close(cache);
}

/* Compiles every family's default without an assembler. */
static void serve_all(const char *dir, const ptxgen_config *config)
{
    ptxgen *ctx = engine_create(&none, dir, config);
    for (int i = 0; i < FAMILIES; i++) {
        ptxgen_kernel *k;
        ptxgen_error err;
        ptxgen_kernel_info info = {.size = sizeof info};
        if (ptxgen_compile(ctx, families[i], "", &k, &err) != PTXGEN_OK)
            fail_msg("%s: %s", families[i], err.message);
        ptxgen_kernel_describe(k, &info);
        assert_int_equal(info.origin, PTXGEN_ORIGIN_DISK);
        assert_true(info.cubin_size > 0);
        assert_non_null(strstr(info.assembler, "ptxas"));
        ptxgen_kernel_unref(k);
    }
    assert_int_equal(engine_info(ctx).misses, 0);
    ptxgen_destroy(ctx);
}

static void a_pack_or_a_folder_serves_without_an_assembler(void **state)
{
    (void)state;
    char pack[600];
    const char *layer = pack;
    fill_folder();
    snprintf(pack, sizeof pack, "%s/pack", own.path);
    make_pack(pack);
    const ptxgen_config with_pack = {.cache_layers = &layer, .cache_layer_count = 1};
    serve_all("", &with_pack);
    serve_all(folder.path, NULL);
    assert_int_equal(fake_toolkit_runs(&toolkit), FAMILIES);
}

static void what_is_not_there_says_that_the_cache_was_asked(void **state)
{
    (void)state;
    ptxgen_kernel *k;
    ptxgen_error err;
    ptxgen *ctx = engine_create(&none, folder.path, NULL);
    assert_int_equal(ptxgen_compile(ctx, "scatter_add", "n=64", &k, &err), PTXGEN_EMISSING);
    assert_non_null(strstr(err.message, "no entry has its key"));
    ptxgen_destroy(ctx);
}

/* ---- policies ---- */

/* Another assembler: the same that does the same, with other bytes. */
static void patch(const fake_toolkit *t)
{
    char path[128];
    snprintf(path, sizeof path, "%s/ptxas", t->dir);
    FILE *f = fopen(path, "a");
    assert_non_null(f);
    fputs("# patched\n", f);
    fclose(f);
}

static void why(const char *dir, const ptxgen_config *config, ptxgen_cache_why_result *r)
{
    ptxgen *ctx = engine_create(&toolkit, dir, config);
    *r = (ptxgen_cache_why_result){.size = sizeof *r};
    assert_int_equal(ptxgen_cache_why(ctx, "matmul_accumulate", "", r, NULL), PTXGEN_OK);
    ptxgen_destroy(ctx);
}

static void another_assemblers_entry_is_taken_by_policy(void **state)
{
    (void)state;
    const char *layer = folder.path;
    ptxgen_cache_why_result r;
    fill_folder();
    why(folder.path, NULL, &r);
    assert_true(r.found);
    assert_string_equal(r.place, folder.path);
    patch(&toolkit);
    static const struct {
        ptxgen_cache_assembler policy;
        bool as_layer, taken;
    } cases[] = {
        {PTXGEN_CACHE_ASSEMBLER_AUTO, false, false},  {PTXGEN_CACHE_ASSEMBLER_AUTO, true, true},
        {PTXGEN_CACHE_ASSEMBLER_ANY, false, true},    {PTXGEN_CACHE_ASSEMBLER_ANY, true, true},
        {PTXGEN_CACHE_ASSEMBLER_EXACT, false, false}, {PTXGEN_CACHE_ASSEMBLER_EXACT, true, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const ptxgen_config config = {.cache_assembler = cases[i].policy,
                                      .cache_layers = &layer,
                                      .cache_layer_count = cases[i].as_layer};
        why(cases[i].as_layer ? own.path : folder.path, &config, &r);
        if (r.found != cases[i].taken)
            fail_msg("policy %zu: %s", i, r.reason);
        assert_true(r.found == (strstr(r.reason, "its entry was made by ptxas") == NULL));
    }
    /* It stays, until a compile takes its place. */
    ptxgen *ctx = engine_create(&toolkit, folder.path, NULL);
    ptxgen_kernel *k;
    assert_int_equal(ptxgen_compile(ctx, "matmul_accumulate", "", &k, NULL), PTXGEN_OK);
    ptxgen_kernel_unref(k);
    assert_int_equal(engine_info(ctx).quarantined, 0);
    assert_int_equal(engine_info(ctx).misses, 1);
    ptxgen_destroy(ctx);
    why(folder.path, NULL, &r);
    assert_true(r.found);
}

/* ---- what a cubin says of itself ---- */

/* The entry of `params`, with another cubin or another assembler, under its own key. */
static void store_under(const char *family, const char *params, pg_cache_entry *entry)
{
    char key[4096];
    const pg_cache_config config = {.dir = folder.path};
    ptxgen *ctx = engine_create(&toolkit, "", NULL);
    assert_int_equal(ptxgen_key(ctx, family, params, key, sizeof key, NULL), PTXGEN_OK);
    ptxgen_destroy(ctx);
    pg_cache *cache = test_cache_open(&config, NULL);
    pg_cache_store(cache, key, strlen(key), entry);
    pg_cache_destroy(cache);
}

static ptxgen_kernel *compiled(const char *family, const char *params)
{
    ptxgen_kernel *k;
    ptxgen *ctx = engine_create(&toolkit, "", NULL);
    assert_int_equal(ptxgen_compile(ctx, family, params, &k, NULL), PTXGEN_OK);
    ptxgen_destroy(ctx);
    return k;
}

/* The cubin of `other` under the key of `params`, as from `assembler`; what a lookup says of it. */
static void swapped(const char *family, const char *params, const char *other,
                    const char *assembler, const char *reason, bool wrong)
{
    ptxgen_kernel *k = compiled(family, other);
    ptxgen_kernel_info info = {.size = sizeof info};
    ptxgen_kernel_describe(k, &info);
    pg_cache_entry entry = {.family = family,
                            .params = info.params,
                            .entry_name = info.entry,
                            .assembler = assembler ? assembler : info.assembler,
                            .cubin = info.cubin,
                            .cubin_size = info.cubin_size};
    store_under(family, params, &entry);
    ptxgen_kernel_unref(k);
    ptxgen_kernel *got;
    ptxgen_error err;
    ptxgen *ctx = engine_create(&none, folder.path, NULL);
    assert_int_equal(ptxgen_compile(ctx, family, params, &got, &err), PTXGEN_EMISSING);
    if (!strstr(err.message, reason))
        fail_msg("expected \"%s\": %s", reason, err.message);
    assert_int_equal(engine_info(ctx).mismatched, wrong);
    assert_int_equal(engine_info(ctx).quarantined, wrong);
    ptxgen_destroy(ctx);
}

static void a_cubin_under_another_key_is_not_served(void **state)
{
    (void)state;
    swapped("scatter_add", "n=64 arch=sm_90", "n=64 arch=sm_100", NULL, "its cubin is for sm_100",
            true);
    swapped("scatter_add", "n=64 arch=sm_90", "n=64 arch=sm_90 schedule=seed", NULL,
            "its cubin has no kernel", true);
    swapped("matmul_accumulate", "", "", "nvjitlink 13.0 abc", "nvjitlink 13.0 abc, which is not",
            false);
    swapped("scatter_add", "n=64", "n=64", "mystery 1.0", "made by mystery 1.0", false);
}

static void an_assembler_that_writes_another_kernel_is_not_believed(void **state)
{
    (void)state;
    ptxgen_kernel *k;
    ptxgen_error err;
    fake_toolkit_does(&toolkit, "sed 's/sm_90/sm_100/' </proc/self/fd/3 | \"$d/assemble\" "
                                ">/proc/self/fd/4");
    ptxgen *ctx = engine_create(&toolkit, folder.path, NULL);
    assert_int_equal(ptxgen_compile(ctx, "scatter_add", "n=64 arch=sm_90", &k, &err),
                     PTXGEN_EASSEMBLE);
    assert_non_null(strstr(err.message, "is for sm_100"));
    assert_int_equal(engine_info(ctx).stores, 0);
    ptxgen_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_pack_or_a_folder_serves_without_an_assembler, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_is_not_there_says_that_the_cache_was_asked, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(another_assemblers_entry_is_taken_by_policy, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_cubin_under_another_key_is_not_served, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_assembler_that_writes_another_kernel_is_not_believed,
                                        set_up, tear_down),
    };
    return cmocka_run_group_tests_name("engine_ship", tests, NULL, NULL);
}
