/* Every instruction spelling of the CUDA toolkit's cuda::ptx headers parses. The headers are
 * read where the toolkit is installed; nothing of them is kept here. */
#include "test.h"

#include "asm_statements.h"
#include "ptx/ptx.h"

#include <dirent.h>

static const char *const targets[] = {"sm_100a", "sm_90a", "sm_103a", "sm_110a", "sm_120a"};

/* Parses, verifies, prints and parses again; NULL or what went wrong. */
static const char *try_target(const char *body, const char *target, pg_buf *message)
{
    pg_arena arena;
    pg_buf text, printed;
    pg_ptx_module *module, *again;
    ptxgen_error err = {0};
    bool ok = false;
    pg_arena_init(&arena, &pg_alloc_libc);
    pg_buf_init(&text, &pg_alloc_libc);
    pg_buf_init(&printed, &pg_alloc_libc);
    pg_buf_printf(&text, ".version 9.0\n.target %s\n.address_size 64\n.entry k()\n{\n%sret;\n}\n",
                  target, body);
    if (pg_ptx_load(&arena, text.data, text.len, NULL, &module, &err) == PTXGEN_OK) {
        pg_ptx_print(module, &printed);
        ok = pg_ptx_load(&arena, printed.data, printed.len, NULL, &again, &err) == PTXGEN_OK &&
             pg_ptx_equal(module, again, message);
    }
    if (!ok && !message->len)
        pg_buf_puts(message, err.message);
    pg_buf_fini(&text);
    pg_buf_fini(&printed);
    pg_arena_fini(&arena);
    return ok ? NULL : pg_buf_text(message);
}

/* Whether the statement at *rest parses for one of the targets with one of the constants; moves
 * behind it. False in *found when there is none left. */
static bool parses(const char **rest, bool *found)
{
    static const char *const constants[] = {"8", "128", "0"};
    const char *start = *rest, *why = "";
    pg_buf body, message;
    pg_buf_init(&body, &pg_alloc_libc);
    pg_buf_init(&message, &pg_alloc_libc);
    for (size_t c = 0; why && c < sizeof constants / sizeof *constants; c++) {
        *rest = start;
        *found = asm_statement_next(rest, constants[c], &body);
        for (size_t i = 0; *found && why && i < sizeof targets / sizeof *targets; i++) {
            pg_buf_truncate(&message, 0);
            why = try_target(pg_buf_text(&body), targets[i], &message);
        }
    }
    if (*found && why)
        print_message("%s\n%s\n", why, pg_buf_text(&body));
    pg_buf_fini(&body);
    pg_buf_fini(&message);
    return !why;
}

static char *read_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    size_t cap = 4 << 20;
    char *text = malloc(cap);
    text[fread(text, 1, cap - 1, f)] = 0;
    fclose(f);
    return text;
}

static void check_file(const char *path, unsigned *statements, unsigned *failed)
{
    char *text = read_file(path);
    const char *rest = text;
    bool found;
    assert_non_null(text);
    for (;;) {
        bool ok = parses(&rest, &found);
        if (!found)
            break;
        ++*statements;
        *failed += !ok;
    }
    free(text);
}

static const char *header_folder(void)
{
    static char path[4096];
    const char *home = getenv("CUDA_HOME");
    snprintf(path, sizeof path, "%s/include/cccl/cuda/__ptx/instructions/generated",
             home ? home : "/usr/local/cuda");
    return path;
}

static void test_all_spellings_of_the_toolkit_parse(void **state)
{
    (void)state;
    char path[8192];
    unsigned statements = 0, failed = 0;
    DIR *dir = opendir(header_folder());
    assert_non_null(dir);
    for (struct dirent *e; (e = readdir(dir));) {
        size_t n = strlen(e->d_name);
        if (n < 3 || strcmp(e->d_name + n - 2, ".h"))
            continue;
        snprintf(path, sizeof path, "%s/%s", header_folder(), e->d_name);
        check_file(path, &statements, &failed);
    }
    closedir(dir);
    print_message("%u asm statements of the toolkit, %u do not parse\n", statements, failed);
    assert_true(statements > 500);
    assert_int_equal(failed, 0);
}

int main(void)
{
    DIR *dir = opendir(header_folder());
    if (!dir) {
        puts("no CUDA toolkit with cuda::ptx headers here: skipped");
        return TEST_SKIPPED;
    }
    closedir(dir);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_spellings_of_the_toolkit_parse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
