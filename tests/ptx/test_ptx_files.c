/* The PTX files of tests/ptx: those in good/ parse, print and parse again to the same module;
 * those in bad/ are refused with the message that their first line quotes. Where ptxas is
 * installed, it agrees on every file that does not say "not for ptxas". */
#include "test.h"

#include "ptx/ptx.h"

#include <glob.h>
#include <sys/wait.h>

static char *read_file(const char *path, size_t *len)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    char *text = malloc(1 << 20);
    *len = fread(text, 1, (1 << 20) - 1, f);
    text[*len] = 0;
    fclose(f);
    return text;
}

/* 1: ptxas takes the file, 0: refuses it, -1: there is no ptxas, or the file is not for it. */
static int ask_ptxas(const char *path, const char *text)
{
    char command[4096], target[16] = "";
    const char *p = strstr(text, "\n.target ");
    if (strstr(text, "not for ptxas") || system("ptxas --version > /dev/null 2>&1") != 0)
        return -1;
    if (!p || sscanf(p, " .target %15[a-z0-9_]", target) != 1 || !strcmp(target, "sm_x"))
        return -1;
    snprintf(command, sizeof command, "ptxas -c -arch=%s -o /dev/null %s > /dev/null 2>&1", target,
             path);
    int status = system(command);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void check_good(const char *path)
{
    size_t len;
    char *text = read_file(path, &len);
    pg_arena arena;
    pg_ptx_module *module, *again;
    ptxgen_error err = {0};
    pg_buf printed, reprinted, why;
    pg_arena_init(&arena, &pg_alloc_libc);
    pg_buf_init(&printed, &pg_alloc_libc);
    pg_buf_init(&reprinted, &pg_alloc_libc);
    pg_buf_init(&why, &pg_alloc_libc);
    const pg_ptx_options options = {.file_name = path};
    if (pg_ptx_load(&arena, text, len, &options, &module, &err) != PTXGEN_OK)
        fail_msg("%s", err.message);
    pg_ptx_print(module, &printed);
    if (pg_ptx_load(&arena, printed.data, printed.len, NULL, &again, &err) != PTXGEN_OK)
        fail_msg("%s printed: %s", path, err.message);
    if (!pg_ptx_equal(module, again, &why))
        fail_msg("%s printed: %s", path, pg_buf_text(&why));
    pg_ptx_print(again, &reprinted);
    assert_string_equal(printed.data, reprinted.data);
    if (ask_ptxas(path, text) == 0)
        fail_msg("%s: ptxas refuses it", path);
    pg_buf_fini(&printed);
    pg_buf_fini(&reprinted);
    pg_buf_fini(&why);
    pg_arena_fini(&arena);
    free(text);
}

/* The first line is "// refused: TEXT". */
static void check_bad(const char *path)
{
    size_t len;
    char *text = read_file(path, &len), wanted[200];
    pg_arena arena;
    pg_ptx_module *module = NULL;
    pg_ptx_diagnostics d;
    assert_int_equal(sscanf(text, "// refused: %199[^\n]", wanted), 1);
    pg_arena_init(&arena, &pg_alloc_libc);
    assert_int_equal(pg_ptx_parse(&arena, text, len, NULL, &module, &d), PTXGEN_EPARSE);
    assert_null(module);
    bool found = false;
    for (uint32_t i = 0; i < d.count; i++)
        found |= strstr(d.items[i].message, wanted) != NULL;
    if (!found)
        fail_msg("%s:%u: %s", path, d.items[0].line, d.items[0].message);
    if (ask_ptxas(path, text) == 1)
        fail_msg("%s: ptxas takes it", path);
    pg_arena_fini(&arena);
    free(text);
}

static void check_all(const char *pattern, void (*check)(const char *), size_t least)
{
    glob_t files;
    assert_int_equal(glob(pattern, 0, NULL, &files), 0);
    assert_true(files.gl_pathc >= least);
    for (size_t i = 0; i < files.gl_pathc; i++)
        check(files.gl_pathv[i]);
    globfree(&files);
}

static void good_files_come_back_from_the_printer(void **state)
{
    (void)state;
    check_all(PTXGEN_SOURCE_DIR "/tests/ptx/good/*.ptx", check_good, 5);
}

static void bad_files_are_refused(void **state)
{
    (void)state;
    check_all(PTXGEN_SOURCE_DIR "/tests/ptx/bad/*.ptx", check_bad, 80);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_files_come_back_from_the_printer),
        cmocka_unit_test(bad_files_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
