/* What an assembler refuses is remembered, on disk and in the context, and not assembled again;
 * what fails for the machine's reasons is tried again every time. */
#include "cache_helpers.h"
#include "engine_helpers.h"

#include <time.h>

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
    fake_toolkit_remove(&toolkit);
    test_folder_remove(&folder);
    return 0;
}

/* One request of a new context, as a new process makes it. */
static ptxgen_status request(const ptxgen_config *config, uint64_t *failure_hits, ptxgen_error *err)
{
    ptxgen *ctx = engine_create(&toolkit, folder.path, config);
    ptxgen_kernel *k = NULL;
    memset(err, 0, sizeof *err);
    const ptxgen_status status = ptxgen_compile(ctx, "scatter_add", "n=64 schedule=bulk", &k, err);
    assert_true((status == PTXGEN_OK) == (k != NULL));
    ptxgen_kernel_unref(k);
    *failure_hits = engine_info(ctx).failure_hits;
    ptxgen_destroy(ctx);
    return status;
}

static void a_refusal_is_not_assembled_again(void **state)
{
    (void)state;
    ptxgen_error first, second;
    uint64_t hits;
    fake_toolkit_does(&toolkit, FAKE_REFUSES);
    assert_int_equal(request(NULL, &hits, &first), PTXGEN_EASSEMBLE);
    assert_int_equal(hits, 0);
    assert_int_equal(request(NULL, &hits, &second), PTXGEN_EASSEMBLE);
    assert_int_equal(hits, 1);
    assert_int_equal(fake_toolkit_runs(&toolkit), 1);
    assert_non_null(strstr(first.message, "Arguments mismatch"));
    assert_non_null(strstr(first.file, ".ptxc"));
    assert_true(first.line > 0);
    assert_string_equal(second.message, first.message);
    assert_string_equal(second.file, first.file);
    assert_int_equal(second.line, first.line);
}

static void a_refusal_belongs_to_its_key(void **state)
{
    (void)state;
    ptxgen_error err;
    uint64_t hits;
    const char *const text = "sources of tomorrow";
    const ptxgen_config other = {.extra_key = &text, .extra_key_count = 1};
    fake_toolkit_does(&toolkit, FAKE_REFUSES);
    assert_int_equal(request(NULL, &hits, &err), PTXGEN_EASSEMBLE);
    fake_toolkit_does(&toolkit, FAKE_ASSEMBLES);
    assert_int_equal(request(NULL, &hits, &err), PTXGEN_EASSEMBLE);
    assert_int_equal(request(&other, &hits, &err), PTXGEN_OK);
    assert_int_equal(fake_toolkit_runs(&toolkit), 2);
}

/* A kernel that the assembler accepts and changes is refused by us, for good too: the log names
 * no line. */
static void a_changed_kernel_is_not_assembled_again(void **state)
{
    (void)state;
    ptxgen_error first, second;
    uint64_t hits;
    fake_toolkit_does(&toolkit, "echo \"ptxas info    : (C7504) Potential Performance Loss: "
                                "'setmaxnreg' ignored\"; " FAKE_ASSEMBLES);
    assert_int_equal(request(NULL, &hits, &first), PTXGEN_EASSEMBLE);
    assert_int_equal(request(NULL, &hits, &second), PTXGEN_EASSEMBLE);
    assert_int_equal(hits, 1);
    assert_int_equal(fake_toolkit_runs(&toolkit), 1);
    assert_non_null(strstr(first.message, "C7504"));
    assert_string_equal(second.message, first.message);
    assert_int_equal(first.line, 0);
    assert_int_equal(second.line, 0);
}

/* With a cache folder, with none, and with one that nothing can be written to. */
static void a_context_remembers_by_itself(void **state)
{
    (void)state;
    const char *const folders[] = {folder.path, "", "/proc/ptxgen"};
    fake_toolkit_does(&toolkit, FAKE_REFUSES);
    for (int f = 0; f < 3; f++) {
        ptxgen *ctx = engine_create(&toolkit, folders[f], NULL);
        ptxgen_error err[4];
        ptxgen_kernel *k;
        for (int i = 0; i < 3; i++) {
            assert_int_equal(ptxgen_compile(ctx, "scatter_add", "n=64", &k, &err[i]),
                             PTXGEN_EASSEMBLE);
            assert_null(k);
            assert_string_equal(err[i].message, err[0].message);
            assert_string_equal(err[i].file, err[0].file);
            assert_int_equal(err[i].line, err[0].line);
        }
        assert_int_equal(fake_toolkit_runs(&toolkit), 2 * f + 1);
        assert_int_equal(engine_info(ctx).misses, 1);
        assert_int_equal(engine_info(ctx).failure_hits, 2);
        assert_int_equal(ptxgen_cache_clear(ctx, f == 0, NULL), PTXGEN_OK);
        ptxgen_compile(ctx, "scatter_add", "n=64", &k, &err[3]);
        assert_int_equal(fake_toolkit_runs(&toolkit), 2 * f + 2); /* clear forgets it */
        ptxgen_destroy(ctx);
    }
}

static void a_context_believes_itself_for_a_while(void **state)
{
    (void)state;
    const ptxgen_config config = {.cache_failure_s = 1};
    ptxgen_kernel *k;
    ptxgen *ctx = engine_create(&toolkit, "", &config);
    fake_toolkit_does(&toolkit, FAKE_REFUSES);
    assert_int_equal(ptxgen_compile(ctx, "scatter_add", "n=64", &k, NULL), PTXGEN_EASSEMBLE);
    fake_toolkit_does(&toolkit, FAKE_ASSEMBLES);
    nanosleep(&(struct timespec){.tv_sec = 2}, NULL);
    engine_compile(ctx, "n=64");
    ptxgen_destroy(ctx);
}

static void trouble_of_the_machine_is_tried_again(void **state)
{
    (void)state;
    static const struct {
        const char *script;
        ptxgen_status status;
    } cases[] = {
        {"kill -9 $$", PTXGEN_EASSEMBLE},
        {"echo 'ptxas fatal   : Memory allocation failure'; exit 255", PTXGEN_EASSEMBLE},
        {"head -c 100 \"$d/cubin\" >/proc/self/fd/4",
         PTXGEN_EASSEMBLE}, /* cut off by a full disk */
        {"exit 127", PTXGEN_EMISSING},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ptxgen_error err;
        uint64_t hits;
        const int before = fake_toolkit_runs(&toolkit);
        fake_toolkit_does(&toolkit, cases[i].script);
        for (int n = 1; n <= 2; n++) {
            assert_int_equal(request(NULL, &hits, &err), cases[i].status);
            assert_int_equal(fake_toolkit_runs(&toolkit), before + n);
        }
    }
    ptxgen_error err;
    uint64_t hits;
    fake_toolkit_does(&toolkit, FAKE_ASSEMBLES);
    assert_int_equal(request(NULL, &hits, &err), PTXGEN_OK);
    assert_int_equal(hits, 0);
}

/* The words end with what our own verifier thinks and with a command that works on a file that
 * is there. */
static void a_refused_text_is_kept(void **state)
{
    (void)state;
    ptxgen_error err;
    uint64_t hits;
    char path[600], line[256];
    fake_toolkit_does(&toolkit, "echo nothing that helps; exit 9");
    assert_int_equal(request(NULL, &hits, &err), PTXGEN_EASSEMBLE);
    assert_non_null(strstr(err.message, "its last words: nothing that helps"));
    assert_non_null(strstr(err.message, "ptxgen's own check finds no fault"));
    const char *again = strstr(err.message, "again: ");
    assert_non_null(again);
    assert_int_equal(sscanf(again, "again: %*s -arch %*s -v %599s -o /dev/null", path), 1);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    bool ptx = false;
    while (fgets(line, sizeof line, f))
        ptx |= strncmp(line, ".version", 8) == 0;
    fclose(f);
    assert_true(ptx);
    /* Few are kept, and clearing removes them. */
    for (int n = 8; n < 8 + 4 * 20; n += 4) {
        ptxgen *ctx = engine_create(&toolkit, folder.path, NULL);
        ptxgen_kernel *k;
        char params[64];
        snprintf(params, sizeof params, "n=%d", n);
        assert_int_equal(ptxgen_compile(ctx, "scatter_add", params, &k, &err), PTXGEN_EASSEMBLE);
        if (n > 80)
            assert_int_equal(ptxgen_cache_clear(ctx, true, &err), PTXGEN_OK);
        ptxgen_destroy(ctx);
    }
    snprintf(path, sizeof path, "ls %s/failed | wc -l | grep -qx 0", folder.path);
    assert_int_equal(system(path), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_refusal_is_not_assembled_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_refusal_belongs_to_its_key, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_changed_kernel_is_not_assembled_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_context_remembers_by_itself, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_context_believes_itself_for_a_while, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_refused_text_is_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(trouble_of_the_machine_is_tried_again, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("engine_failures", tests, NULL, NULL);
}
