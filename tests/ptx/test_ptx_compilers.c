/* PTX that nvcc writes for our CUDA sources in tests/ptx/sources: parses, and comes back from
 * the printer the same. Skipped where nvcc is not installed. */
#include "test.h"

#include "ptx/ptx.h"

static const char *const options[] = {
    "-arch=sm_90a",
    "-arch=sm_90a -lineinfo",
    "-arch=sm_90a -G",
    "-arch=sm_100a -rdc=true",
};

static char *compile(const char *source, const char *option, size_t *len)
{
    char command[4096];
    snprintf(command, sizeof command,
             "nvcc -std=c++17 %s -ptx -o - " PTXGEN_SOURCE_DIR "/tests/ptx/sources/%s 2>/dev/null",
             option, source);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    size_t cap = 8 << 20;
    char *text = malloc(cap);
    *len = fread(text, 1, cap, pipe);
    assert_int_equal(pclose(pipe), 0);
    assert_true(*len > 1000 && *len < cap);
    return text;
}

static void check(const char *source, const char *option)
{
    size_t len;
    char *text = compile(source, option, &len);
    pg_arena arena;
    pg_ptx_module *module, *again;
    ptxgen_error err = {0};
    pg_buf printed, why;
    pg_arena_init(&arena, &pg_alloc_libc);
    pg_buf_init(&printed, &pg_alloc_libc);
    pg_buf_init(&why, &pg_alloc_libc);
    const pg_ptx_options named = {.file_name = source};
    if (pg_ptx_load(&arena, text, len, &named, &module, &err) != PTXGEN_OK)
        fail_msg("nvcc %s: %s", option, err.message);
    pg_ptx_print(module, &printed);
    if (pg_ptx_load(&arena, printed.data, printed.len, NULL, &again, &err) != PTXGEN_OK)
        fail_msg("nvcc %s, %s printed: %s", option, source, err.message);
    if (!pg_ptx_equal(module, again, &why))
        fail_msg("nvcc %s, %s printed: %s", option, source, pg_buf_text(&why));
    pg_buf_fini(&printed);
    pg_buf_fini(&why);
    pg_arena_fini(&arena);
    free(text);
}

static void ordinary_cuda(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        check("plain.cu", options[i]);
}

static void cooperative_cuda(void **state)
{
    (void)state;
    check("cooperative.cu", options[0]);
    check("cooperative.cu", options[1]);
}

static void hopper_cuda(void **state)
{
    (void)state;
    check("hopper.cu", options[0]);
}

int main(void)
{
    if (system("nvcc --version > /dev/null 2>&1") != 0) {
        puts("no nvcc here: skipped");
        return TEST_SKIPPED;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ordinary_cuda),
        cmocka_unit_test(cooperative_cuda),
        cmocka_unit_test(hopper_cuda),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
