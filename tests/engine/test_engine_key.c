/* What the key depends on, and what it must not depend on; and what the configuration does to
 * the cache. */
#include "cache_helpers.h"
#include "engine_helpers.h"

#include <sys/stat.h>

enum { KEY_SIZE = 4096 };

static fake_toolkit toolkit;
static test_folder folder;

static int set_up(void **state)
{
    (void)state;
    fake_toolkit_make(&toolkit);
    test_folder_make(&folder);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    unsetenv("PTXGEN_CACHE");
    fake_toolkit_remove(&toolkit);
    test_folder_remove(&folder);
    return 0;
}

static void key_of(const fake_toolkit *t, const ptxgen_config *config, const char *params,
                   char key[KEY_SIZE])
{
    ptxgen_error err;
    ptxgen *ctx = engine_create(t, "", config);
    if (ptxgen_key(ctx, "scatter_add", params, key, KEY_SIZE, &err) != PTXGEN_OK)
        fail_msg("%s", err.message);
    ptxgen_destroy(ctx);
}

/* ---- every parameter ---- */

/* Another value of parameter `p`, the attempt-th, as text; false when there is none left. */
static bool other_value(const ptxgen_param_info *p, int attempt, char out[64])
{
    if (p->kind == PTXGEN_PARAM_CHOICE) {
        if (!p->choices[attempt])
            return false;
        snprintf(out, 64, "%s", p->choices[attempt]);
        return true;
    }
    const int64_t step = attempt / 2 * 16, value = attempt % 2 ? p->max - step : p->min + step;
    snprintf(out, 64, "%lld", (long long)value);
    return attempt < 200 && value >= p->min && value <= p->max;
}

/* Changes one parameter in all ways that are accepted: another canonical text is another key,
 * the same text is the same key. How many were others. */
static int perturb(ptxgen *ctx, size_t family, size_t param, const char *base, const char *base_key)
{
    const char *name = ptxgen_family_name(family);
    ptxgen_param_info p;
    char value[64], params[128], canonical[1024], key[KEY_SIZE];
    int others = 0;
    assert_true(ptxgen_family_param(family, param, &p));
    for (int attempt = 0; other_value(&p, attempt, value); attempt++) {
        snprintf(params, sizeof params, "%s=%s", p.name, value);
        if (ptxgen_canonical(name, params, canonical, sizeof canonical, NULL) != PTXGEN_OK)
            continue;
        assert_int_equal(ptxgen_key(ctx, name, params, key, sizeof key, NULL), PTXGEN_OK);
        const bool same = strcmp(canonical, base) == 0;
        if ((strcmp(key, base_key) == 0) != same)
            fail_msg("%s %s: \"%s\" and \"%s\" do not have the keys that they should", name, params,
                     canonical, base);
        others += !same;
    }
    return others;
}

static void every_parameter_is_in_the_key(void **state)
{
    (void)state;
    ptxgen *ctx = engine_create(&toolkit, "", NULL);
    for (size_t f = 0; f < ptxgen_family_count(); f++) {
        char base[1024], base_key[KEY_SIZE];
        const char *name = ptxgen_family_name(f);
        size_t perturbed = 0;
        assert_int_equal(ptxgen_canonical(name, "", base, sizeof base, NULL), PTXGEN_OK);
        assert_int_equal(ptxgen_key(ctx, name, "", base_key, sizeof base_key, NULL), PTXGEN_OK);
        for (size_t p = 0; p < ptxgen_family_param_count(f); p++) {
            const int others = perturb(ctx, f, p, base, base_key);
            ptxgen_param_info info;
            ptxgen_family_param(f, p, &info);
            if (!others)
                print_message("%s: %s has only one value beside the other defaults\n", name,
                              info.name);
            perturbed += others > 0;
        }
        assert_true(perturbed * 2 > ptxgen_family_param_count(f));
        assert_non_null(strstr(base_key, "\ngenerator="));
    }
    ptxgen_destroy(ctx);
}

static void the_order_of_parameters_is_not(void **state)
{
    (void)state;
    char a[KEY_SIZE], b[KEY_SIZE];
    key_of(&toolkit, NULL, "n=512 dtype=bf16 arch=sm_90", a);
    key_of(&toolkit, NULL, "arch=sm_90   dtype=bf16 n=512", b);
    assert_string_equal(a, b);
}

/* ---- the assembler and the caller's texts ---- */

static void the_assembler_is_not(void **state)
{
    (void)state;
    fake_toolkit elsewhere;
    char here[KEY_SIZE], there[KEY_SIZE], path[128];
    fake_toolkit_make(&elsewhere);
    snprintf(path, sizeof path, "%s/ptxas", elsewhere.dir);
    FILE *f = fopen(path, "a");
    assert_non_null(f);
    fputs("# patched\n", f);
    fclose(f);
    key_of(&toolkit, NULL, "n=64", here);
    key_of(&elsewhere, NULL, "n=64", there);
    assert_string_equal(here, there);
    assert_null(strstr(here, "ptxas"));
    assert_null(strstr(here, toolkit.dir));
    fake_toolkit_remove(&elsewhere);
}

/* A key has one spelling of its architecture, whoever writes it. */
static void the_architecture_has_one_spelling(void **state)
{
    (void)state;
    char a[KEY_SIZE], b[KEY_SIZE];
    ptxgen *ctx = engine_create(&toolkit, "", NULL);
    for (size_t f = 0; f < ptxgen_family_count(); f++) {
        const char *name = ptxgen_family_name(f);
        const int sm = strncmp(name, "matmul_accumulate", 17) == 0 ? 90 : 100;
        char plain[32], suffixed[32];
        snprintf(plain, sizeof plain, "arch=sm_%d", sm);
        snprintf(suffixed, sizeof suffixed, "arch=sm_%da", sm);
        assert_int_equal(ptxgen_key(ctx, name, plain, a, sizeof a, NULL), PTXGEN_OK);
        assert_int_equal(ptxgen_key(ctx, name, suffixed, b, sizeof b, NULL), PTXGEN_OK);
        assert_string_equal(a, b);
    }
    ptxgen_destroy(ctx);
}

static void extra_texts_are(void **state)
{
    (void)state;
    static const char long_text[] =
        "0123456789012345678901234567890123456789012345678901234567890123456789"
        "0123456789012345678901234567890123456789";
    static const struct {
        const char *texts[2];
        size_t count;
    } cases[] = {
        {{NULL}, 0},           {{"a"}, 1},           {{"b"}, 1}, {{"a", "b"}, 2}, {{"b", "a"}, 2},
        {{"a\nextra.1=b"}, 1}, {{"ab"}, 1},          {{""}, 1},  {{"", ""}, 2},   {{"\xc3\xa9"}, 1},
        {{long_text}, 1},      {{long_text + 1}, 1},
    };
    enum { COUNT = sizeof cases / sizeof cases[0] };
    static char keys[COUNT][KEY_SIZE];
    for (size_t i = 0; i < COUNT; i++) {
        const ptxgen_config config = {.extra_key = cases[i].texts,
                                      .extra_key_count = cases[i].count};
        key_of(&toolkit, &config, "n=64", keys[i]);
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(keys[i], keys[j]);
    }
    assert_non_null(strstr(keys[1], "\nextra.0=a\n"));
    assert_null(strstr(keys[5], "\nextra.1="));
    assert_null(strstr(keys[10], long_text));

    const char *const missing[] = {"a", NULL};
    const ptxgen_config bad = {.size = sizeof bad, .extra_key = missing, .extra_key_count = 2};
    ptxgen *ctx;
    ptxgen_error err;
    assert_int_equal(ptxgen_create(&bad, &ctx, &err), PTXGEN_EINVAL);
    assert_non_null(strstr(err.message, "extra_key[1]"));
}

static void how_the_cache_is_run_is_not(void **state)
{
    (void)state;
    char plain[KEY_SIZE], other[KEY_SIZE];
    const char *const layer = folder.path;
    const ptxgen_config config = {.log_level = PTXGEN_LOG_DEBUG,
                                  .device = PTXGEN_DEVICE_EMULATOR,
                                  .cache = PTXGEN_CACHE_ON,
                                  .cache_layers = &layer,
                                  .cache_layer_count = 1,
                                  .cache_max_bytes = 12345678,
                                  .cache_max_entries = 77,
                                  .cache_wait_ms = 1,
                                  .cache_failure_s = 5,
                                  .cache_trust = PTXGEN_CACHE_TRUST_ANY,
                                  .prefetch_threads = 3,
                                  .prefetch_queue = 9,
                                  .record_manifest = "/dev/null/never"};
    key_of(&toolkit, NULL, "n=64", plain);
    key_of(&toolkit, &config, "n=64", other);
    assert_string_equal(plain, other);
}

/* ---- switches ---- */

static bool is_on_disk(const ptxgen_config *config)
{
    ptxgen *ctx = engine_create(&toolkit, folder.path, config);
    const bool on = engine_info(ctx).on_disk;
    ptxgen_destroy(ctx);
    return on;
}

static void a_folder_that_is_not_used_says_why(void **state)
{
    (void)state;
    char file[PG_PATH_MAX + 8];
    snprintf(file, sizeof file, "%s/taken", folder.path);
    fclose(fopen(file, "w"));
    const ptxgen_config off = {.cache = PTXGEN_CACHE_OFF};
    const struct {
        const char *dir;
        const ptxgen_config *config;
        const char *why;
    } rows[] = {{file, NULL, file}, {folder.path, NULL, ""}, {folder.path, &off, ""}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ptxgen *ctx = engine_create(&toolkit, rows[i].dir, rows[i].config);
        const ptxgen_cache_info info = engine_info(ctx);
        assert_int_equal(info.on_disk, rows[i].dir != file && rows[i].config != &off);
        assert_non_null(strstr(info.why_off, rows[i].why));
        assert_int_equal(info.why_off[0] != '\0', rows[i].dir == file);
        ptxgen_destroy(ctx);
    }
}

static void the_cache_has_a_switch(void **state)
{
    (void)state;
    const ptxgen_config on = {.cache = PTXGEN_CACHE_ON}, off = {.cache = PTXGEN_CACHE_OFF};
    assert_true(is_on_disk(NULL));
    assert_false(is_on_disk(&off));
    setenv("PTXGEN_CACHE", "off", 1);
    assert_false(is_on_disk(NULL));
    assert_true(is_on_disk(&on));
    setenv("PTXGEN_CACHE", "on", 1);
    assert_true(is_on_disk(NULL));
    assert_false(is_on_disk(&off));

    ptxgen *ctx;
    ptxgen_error err;
    setenv("PTXGEN_CACHE", "of", 1);
    assert_int_equal(ptxgen_create(NULL, &ctx, &err), PTXGEN_EINVAL);
    assert_non_null(strstr(err.message, "PTXGEN_CACHE=of is not one of: on, off"));
}

static void off_reads_and_writes_nothing(void **state)
{
    (void)state;
    const char *const layer = folder.path;
    const ptxgen_config off = {
        .cache = PTXGEN_CACHE_OFF, .cache_layers = &layer, .cache_layer_count = 1};
    ptxgen *ctx = engine_create(&toolkit, folder.path, NULL);
    engine_compile(ctx, "n=64");
    ptxgen_destroy(ctx);
    ctx = engine_create(&toolkit, folder.path, &off);
    engine_compile(ctx, "n=64");
    engine_compile(ctx, "n=128");
    assert_int_equal(engine_info(ctx).misses, 2);
    assert_int_equal(engine_info(ctx).stores, 0);
    ptxgen_destroy(ctx);
    ctx = engine_create(&toolkit, folder.path, NULL);
    engine_compile(ctx, "n=128");
    assert_int_equal(engine_info(ctx).misses, 1);
    ptxgen_destroy(ctx);
}

static void layers_are_read_and_never_written(void **state)
{
    (void)state;
    test_folder own;
    const char *const layer = folder.path;
    const ptxgen_config config = {.cache_layers = &layer, .cache_layer_count = 1};
    test_folder_make(&own);
    ptxgen *ctx = engine_create(&toolkit, folder.path, NULL);
    engine_compile(ctx, "n=64");
    ptxgen_destroy(ctx);
    ctx = engine_create(&toolkit, own.path, &config);
    engine_compile(ctx, "n=64");
    engine_compile(ctx, "n=128");
    assert_int_equal(engine_info(ctx).layer_hits, 1);
    assert_int_equal(engine_info(ctx).disk_hits, 1);
    assert_int_equal(engine_info(ctx).misses, 1);
    ptxgen_destroy(ctx);
    ctx = engine_create(&toolkit, folder.path, NULL);
    engine_compile(ctx, "n=128");
    assert_int_equal(engine_info(ctx).misses, 1);
    ptxgen_destroy(ctx);
    test_folder_remove(&own);
}

static void trust_is_the_owners_by_default(void **state)
{
    (void)state;
    const ptxgen_config any = {.cache_trust = PTXGEN_CACHE_TRUST_ANY};
    assert_true(is_on_disk(NULL));
    assert_int_equal(chmod(folder.path, 0777), 0);
    assert_false(is_on_disk(NULL));
    assert_true(is_on_disk(&any));
}

static void a_cap_is_kept(void **state)
{
    (void)state;
    const ptxgen_config small = {.cache_max_entries = 3};
    ptxgen *ctx = engine_create(&toolkit, folder.path, &small);
    for (int n = 1; n <= 8; n++) {
        char params[32];
        snprintf(params, sizeof params, "n=%d", 64 * n);
        engine_compile(ctx, params);
    }
    const ptxgen_cache_info info = engine_info(ctx);
    assert_true(info.stores >= 3 && info.stores - info.evicted <= 3);
    assert_int_equal(info.stores + info.stores_skipped, 8);
    ptxgen_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_parameter_is_in_the_key, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_order_of_parameters_is_not, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_assembler_is_not, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_architecture_has_one_spelling, set_up, tear_down),
        cmocka_unit_test_setup_teardown(extra_texts_are, set_up, tear_down),
        cmocka_unit_test_setup_teardown(how_the_cache_is_run_is_not, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_folder_that_is_not_used_says_why, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_cache_has_a_switch, set_up, tear_down),
        cmocka_unit_test_setup_teardown(off_reads_and_writes_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(layers_are_read_and_never_written, set_up, tear_down),
        cmocka_unit_test_setup_teardown(trust_is_the_owners_by_default, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_cap_is_kept, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("engine_key", tests, NULL, NULL);
}
