/* Golden PTX: a few kernels of every family, byte for byte, so that a change of the emitted text
 * shows up in review. tests/kernels/FAMILY/golden/kernels.txt lists them, "NAME: PARAMETERS" a
 * line; NAME.ptx beside it is the text. PTXGEN_UPDATE_GOLDEN=1 rewrites the files. */
#include "test.h"

#include "base/arena.h"
#include "families.h"
#include "ptx/ptx.h"
#include "ptxgen/ptxgen.h"

enum { MAX_TEXT = 1 << 20 };

typedef struct golden {
    const char *family, *params;
    char path[1024]; /* of the .ptx */
} golden;

static char *read_file(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        fail_msg("%s is missing: run with PTXGEN_UPDATE_GOLDEN=1 to make it", path);
    char *text = malloc(MAX_TEXT);
    assert_non_null(text);
    *size = fread(text, 1, MAX_TEXT - 1, f);
    text[*size] = 0;
    fclose(f);
    return text;
}

/* Calls `check` for every kernel that the families' lists name; each family has at least one. */
static void each_golden(void (*check)(ptxgen *, const golden *), ptxgen *context)
{
    for (size_t i = 0; family_at(i); i++) {
        golden g = {.family = family_at(i)->name};
        char list[512], line[256];
        int count = 0;
        snprintf(list, sizeof list, PTXGEN_SOURCE_DIR "/tests/kernels/%s/golden/kernels.txt",
                 g.family);
        FILE *f = fopen(list, "r");
        if (!f)
            fail_msg("%s is missing: it names the kernels whose text is kept", list);
        while (fgets(line, sizeof line, f)) {
            line[strcspn(line, "\n")] = 0;
            char *colon = strstr(line, ": ");
            if (!colon)
                fail_msg("%s: '%s' is not 'NAME: PARAMETERS'", list, line);
            *colon = 0;
            g.params = colon + 2;
            snprintf(g.path, sizeof g.path, PTXGEN_SOURCE_DIR "/tests/kernels/%s/golden/%s.ptx",
                     g.family, line);
            check(context, &g);
            count++;
        }
        fclose(f);
        if (!count)
            fail_msg("%s names no kernel", list);
    }
}

/* The line of `text` that holds byte `at`. */
static void line_at(const char *text, size_t size, size_t at, char *line, size_t room)
{
    size_t begin = at < size ? at : size, end = begin;
    while (begin > 0 && text[begin - 1] != '\n')
        begin--;
    while (end < size && text[end] != '\n')
        end++;
    snprintf(line, room, "%.*s", (int)(end - begin), text + begin);
}

static void compare(const char *path, const char *got, size_t got_size)
{
    char want_line[200], got_line[200];
    size_t size, at = 0;
    char *want = read_file(path, &size);
    int line = 1;
    for (; at < size && at < got_size && want[at] == got[at]; at++)
        line += want[at] == '\n';
    if (at == size && at == got_size) {
        free(want);
        return;
    }
    line_at(want, size, at, want_line, sizeof want_line);
    line_at(got, got_size, at, got_line, sizeof got_line);
    free(want);
    fail_msg("%s:%d: the emitted text differs\n  kept:    %s\n  emitted: %s\n"
             "If that is meant, PTXGEN_UPDATE_GOLDEN=1 keeps the new text.",
             path, line, want_line, got_line);
}

static void check_text(ptxgen *context, const golden *g)
{
    ptxgen_kernel *k;
    ptxgen_kernel_info info = {.size = sizeof info};
    ptxgen_error err;
    if (ptxgen_emit(context, g->family, g->params, &k, &err) != PTXGEN_OK)
        fail_msg("%s", err.message);
    ptxgen_kernel_describe(k, &info);
    if (getenv("PTXGEN_UPDATE_GOLDEN")) {
        FILE *f = fopen(g->path, "wb");
        assert_non_null(f);
        assert_int_equal(fwrite(info.ptx, 1, info.ptx_size, f), info.ptx_size);
        fclose(f);
    }
    compare(g->path, info.ptx, info.ptx_size);
    ptxgen_kernel_unref(k);
}

static void emitted_text_is_the_golden_one(void **state)
{
    each_golden(check_text, *state);
}

static void check_valid(ptxgen *context, const golden *g)
{
    (void)context;
    size_t size;
    pg_arena arena;
    pg_ptx_module *module;
    pg_ptx_diagnostics found;
    char *text = read_file(g->path, &size);
    pg_arena_init(&arena, &pg_alloc_libc);
    if (pg_ptx_parse(&arena, text, size, NULL, &module, &found) != PTXGEN_OK || found.count)
        fail_msg("%s:%u: %s", g->path, found.count ? found.items[0].line : 0,
                 found.count ? found.items[0].message : "not parsed");
    pg_arena_fini(&arena);
    free(text);
}

/* Our own parser and verifier take every golden kernel without a word. */
static void golden_text_is_valid(void **state)
{
    each_golden(check_valid, *state);
}

static void every_ptx_line_knows_its_template_line(void **state)
{
    ptxgen_kernel *k;
    ptxgen_kernel_info info = {.size = sizeof info};
    ptxgen_error err;
    assert_int_equal(ptxgen_emit(*state, "scatter_add", "n=64", &k, &err), PTXGEN_OK);
    ptxgen_kernel_describe(k, &info);
    int lines = 0;
    for (size_t i = 0; i < info.ptx_size; i++) {
        if (info.ptx[i] == '\n') {
            const char *file;
            int line;
            assert_true(ptxgen_kernel_line_origin(k, ++lines, &file, &line));
            assert_non_null(strstr(file, ".ptxc"));
            assert_true(line > 0);
        }
    }
    const char *file;
    int line;
    assert_true(lines > 50);
    assert_false(ptxgen_kernel_line_origin(k, lines + 1, &file, &line));
    assert_false(ptxgen_kernel_line_origin(k, 0, &file, &line));
    ptxgen_kernel_unref(k);
}

static int create(void **state)
{
    const ptxgen_config config = {.size = sizeof config, .cache_dir = ""};
    return ptxgen_create(&config, (ptxgen **)state, NULL);
}

static int destroy(void **state)
{
    ptxgen_destroy(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(emitted_text_is_the_golden_one),
        cmocka_unit_test(golden_text_is_valid),
        cmocka_unit_test(every_ptx_line_knows_its_template_line),
    };
    return cmocka_run_group_tests(tests, create, destroy);
}
