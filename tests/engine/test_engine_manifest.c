/* Manifests: what a context was asked for, written, read again and replayed; and what the reader
 * refuses. */
#include "cache_helpers.h"
#include "engine_helpers.h"

#include <sys/stat.h>
#include <unistd.h>

static fake_toolkit toolkit;
static test_folder folder;
static char path[600];

static int set_up(void **state)
{
    (void)state;
    fake_toolkit_make(&toolkit);
    test_folder_make(&folder);
    snprintf(path, sizeof path, "%s/manifest.txt", folder.path);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    fake_toolkit_remove(&toolkit);
    test_folder_remove(&folder);
    return 0;
}

/* Lines of the file, without comments, into one text that the caller frees. */
static char *lines_of_file(void)
{
    size_t n;
    char *text = (char *)test_read_file(path, &n);
    assert_non_null(text);
    char *lines = calloc(n + 1, 1), *at = lines;
    for (char *p = text, *end = text + n; p < end;) {
        char *newline = memchr(p, '\n', (size_t)(end - p));
        assert_non_null(newline); /* the last line has one too */
        if (*p != '#') {
            memcpy(at, p, (size_t)(newline + 1 - p));
            at += newline + 1 - p;
        }
        p = newline + 1;
    }
    free(text);
    return lines;
}

static void what_was_asked_for_is_written_once_and_sorted(void **state)
{
    (void)state;
    char expected[2048], canonical[3][512];
    ptxgen *ctx = engine_create(&toolkit, "", NULL);
    engine_compile(ctx, "n=512 dtype=f32");
    engine_compile(ctx, "dtype=bf16 n=64");
    engine_compile(ctx, "n=64   dtype=bf16");
    assert_int_equal(ptxgen_cache_clear(ctx, false, NULL), PTXGEN_OK);
    engine_compile(ctx, "n=64 dtype=bf16");
    engine_compile(ctx, "n=128 dtype=f16");
    assert_int_equal(ptxgen_manifest_write(ctx, path, NULL), PTXGEN_OK);
    ptxgen_destroy(ctx);
    ptxgen_canonical("scatter_add", "n=64 dtype=bf16", canonical[0], sizeof canonical[0], NULL);
    ptxgen_canonical("scatter_add", "n=128 dtype=f16", canonical[1], sizeof canonical[1], NULL);
    ptxgen_canonical("scatter_add", "n=512 dtype=f32", canonical[2], sizeof canonical[2], NULL);
    snprintf(expected, sizeof expected, "scatter_add %s\nscatter_add %s\nscatter_add %s\n",
             canonical[0], canonical[1], canonical[2]); /* bf16 < f16 < f32 */
    char *lines = lines_of_file();
    assert_string_equal(lines, expected);
    free(lines);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
}

static bool replay(void *user, const ptxgen_manifest_line *line)
{
    ptxgen_error err;
    ptxgen_kernel *k;
    if (ptxgen_compile(user, line->family, line->params, &k, &err) != PTXGEN_OK)
        fail_msg("%s", err.message);
    ptxgen_kernel_unref(k);
    return true;
}

static void a_replay_makes_everything_warm(void **state)
{
    (void)state;
    const ptxgen_config config = {.record_manifest = path};
    ptxgen *ctx = engine_create(&toolkit, "", &config);
    engine_compile(ctx, "n=512 dtype=f32");
    engine_compile(ctx, "n=64 schedule=seed");
    ptxgen_destroy(ctx); /* writes */
    size_t n;
    char *text = (char *)test_read_file(path, &n);
    ctx = engine_create(&toolkit, folder.path, NULL);
    assert_int_equal(ptxgen_manifest_parse(text, n, replay, ctx, NULL), PTXGEN_OK);
    assert_int_equal(engine_info(ctx).misses, 2);
    ptxgen_destroy(ctx);
    free(text);
    ctx = engine_create(&toolkit, folder.path, NULL);
    engine_compile(ctx, "n=512 dtype=f32");
    engine_compile(ctx, "n=64 schedule=seed");
    assert_int_equal(engine_info(ctx).misses, 0);
    ptxgen_destroy(ctx);
}

static void the_emulator_and_failures_are_recorded_rightly(void **state)
{
    (void)state;
    ptxgen_kernel *k;
    const ptxgen_config config = {.device = PTXGEN_DEVICE_EMULATOR};
    ptxgen *ctx = engine_create(&toolkit, "", &config);
    assert_int_equal(ptxgen_get(ctx, "scatter_add", "n=64", NULL, &k, NULL), PTXGEN_OK);
    ptxgen_kernel_unref(k);
    assert_int_equal(ptxgen_emit(ctx, "scatter_add", "n=128", &k, NULL),
                     PTXGEN_OK); /* only looked at */
    ptxgen_kernel_unref(k);
    fake_toolkit_does(&toolkit, FAKE_REFUSES);
    assert_int_equal(ptxgen_compile(ctx, "scatter_add", "n=192", &k, NULL), PTXGEN_EASSEMBLE);
    assert_int_equal(ptxgen_manifest_write(ctx, path, NULL), PTXGEN_OK);
    ptxgen_destroy(ctx);
    char *lines = lines_of_file();
    assert_non_null(strstr(lines, " n=64 "));
    assert_null(strstr(lines, " n=128 "));
    assert_null(strstr(lines, " n=192 "));
    free(lines);
}

static size_t warnings;

static void count_warnings(void *user, ptxgen_log_level level, const char *line)
{
    (void)user;
    (void)level;
    warnings += strstr(line, "manifest") != NULL;
}

static void what_cannot_be_written_is_said(void **state)
{
    (void)state;
    ptxgen_error err = {0};
    const ptxgen_config config = {.log = count_warnings,
                                  .log_level = PTXGEN_LOG_WARNING,
                                  .record_manifest = "/nonexistent/folder/m"};
    ptxgen *ctx = engine_create(&toolkit, "", &config);
    assert_int_equal(ptxgen_manifest_write(ctx, "/nonexistent/folder/m", &err), PTXGEN_EIO);
    assert_non_null(strstr(err.message, "/nonexistent/folder/m: No such file"));
    assert_int_equal(ptxgen_manifest_write(ctx, folder.path, &err),
                     PTXGEN_EIO); /* a folder is not replaced */
    assert_int_equal(ptxgen_manifest_write(ctx, "", &err), PTXGEN_EINVAL);
    assert_int_equal(ptxgen_manifest_write(ctx, NULL, &err), PTXGEN_EINVAL);
    assert_int_equal(ptxgen_manifest_write(ctx, "/tmp/", &err), PTXGEN_EIO);
    warnings = 0;
    ptxgen_destroy(ctx);
    assert_int_equal(warnings, 1);
    assert_int_equal(access(path, F_OK), -1);
}

/* ---- reading ---- */

typedef struct read_lines {
    char text[512]; /* "number:family:params;" each */
    size_t stop_after, count;
} read_lines;

static bool collect(void *user, const ptxgen_manifest_line *line)
{
    read_lines *r = user;
    const size_t used = strlen(r->text);
    snprintf(r->text + used, sizeof r->text - used, "%d:%s:%s;", line->number, line->family,
             line->params);
    return ++r->count != r->stop_after;
}

static void lines_are_read_as_written(void **state)
{
    (void)state;
    static const struct {
        const char *text, *lines;
    } cases[] = {
        {"", ""},
        {"\n\n# only a comment\n  \t \n", ""},
        {"f", "1:f:;"},
        {"f a=1", "1:f:a=1;"},
        {"\n f \t a=1   b=2 \r\n#x\ng#c=3\n", "2:f:a=1 b=2;4:g:;"},
        {"f a=1 # n=2\nf a=2", "1:f:a=1;2:f:a=2;"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        read_lines r = {.text = ""};
        /* A copy of just these bytes: reading past the end is seen by ASan. */
        const size_t n = strlen(cases[i].text);
        char *text = malloc(n ? n : 1);
        memcpy(text, cases[i].text, n);
        assert_int_equal(ptxgen_manifest_parse(text, n, collect, &r, NULL), PTXGEN_OK);
        assert_string_equal(r.text, cases[i].lines);
        free(text);
    }
    read_lines r = {.stop_after = 1};
    assert_int_equal(ptxgen_manifest_parse("a\nb\n", 4, collect, &r, NULL), PTXGEN_OK);
    assert_string_equal(r.text, "1:a:;");
}

static void what_is_no_manifest_is_refused_with_its_line(void **state)
{
    (void)state;
    char big[3000];
    ptxgen_error err;
    read_lines r = {.text = ""};
    memset(big, 'a', sizeof big);
    memcpy(big, "f\n\n", 3);
    assert_int_equal(ptxgen_manifest_parse(big, sizeof big, collect, &r, &err), PTXGEN_EPARSE);
    assert_int_equal(err.line, 3);
    assert_non_null(strstr(err.message, "line 3 has 2997 bytes; at most 1024"));
    assert_int_equal(ptxgen_manifest_parse("f\nf a=\0", 7, collect, &r, &err), PTXGEN_EPARSE);
    assert_int_equal(err.line, 2);
    assert_non_null(strstr(err.message, "0x00 at column 5"));
    assert_int_equal(ptxgen_manifest_parse("f\xc3\xa9", 3, collect, &r, &err), PTXGEN_EPARSE);
    assert_int_equal(ptxgen_manifest_parse("# \xc3\xa9\nf", 6, collect, &r, &err), PTXGEN_OK);
    assert_int_equal(ptxgen_manifest_parse(big, (size_t)17 << 20, collect, &r, &err),
                     PTXGEN_EPARSE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_was_asked_for_is_written_once_and_sorted, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_replay_makes_everything_warm, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_emulator_and_failures_are_recorded_rightly, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_cannot_be_written_is_said, set_up, tear_down),
        cmocka_unit_test(lines_are_read_as_written),
        cmocka_unit_test(what_is_no_manifest_is_refused_with_its_line),
    };
    return cmocka_run_group_tests_name("engine_manifest", tests, NULL, NULL);
}
