/* Golden PTX: a few kernels of every family, byte for byte, so that a change of the emitted text shows up in
 * review. PTXGEN_UPDATE_GOLDEN=1 rewrites the files. */
#include "test.h"

#include "base/arena.h"
#include "ptx/ptx.h"
#include "ptxgen/ptxgen.h"

static const char *const cases[][3] = {
    {"scatter_add", "scatter_add_seed_f32_n500.ptx", "schedule=seed dtype=f32 n=500"},
    {"scatter_add", "scatter_add_seed_bf16_dynamic.ptx",
     "schedule=seed dtype=bf16 contig=no index=i32 oob=trap"},
    {"scatter_add", "scatter_add_bulk_f16_n24.ptx", "schedule=bulk dtype=f16 n=24 stages=2"},
    {"scatter_add", "scatter_add_bulk_f32_n1000.ptx",
     "schedule=bulk dtype=f32 n=1000 contig=no stages=2 oob=unchecked"},
    {"scatter_add", "scatter_add_bulk_bf16_dynamic.ptx",
     "schedule=bulk dtype=bf16 stages=2 arch=sm_100a"},
    {"scatter_add", "scatter_add_vector_f32_n128.ptx", "schedule=vector dtype=f32 n=128"},
    {"scatter_add", "scatter_add_vector_f16_dynamic.ptx",
     "schedule=vector dtype=f16 pieces=2 index=i32 contig=no"},
    {"tcgen05_copy", "tcgen05_copy_256x16.ptx", "m=256 n=16 block=8 swizzle=32"},
    {"tcgen05_copy", "tcgen05_copy_128x64_sm_100f.ptx", "m=128 n=64 arch=sm_100f"},
    {"matmul_accumulate", "matmul_accumulate_f16_64x64.ptx", "block_n=64 block_k=64 stages=3"},
    {"matmul_accumulate", "matmul_accumulate_bf16_pair.ptx",
     "dtype=bf16 b=transposed ctas=2 block_n=64 block_k=32 stages=2"},
    {"matmul_accumulate", "matmul_accumulate_f16_sm_90a.ptx",
     "arch=sm_90a ctas=2 block_n=64 stages=3"},
    {"matmul_scaled", "matmul_scaled_mxfp8_mxfp4_bf16.ptx",
     "b=mxfp4 out=bf16 block_n=128 block_k=128 stages=3"},
    {"matmul_scaled", "matmul_scaled_nvfp4_f32.ptx",
     "a=nvfp4 b=nvfp4 block_k=256 stages=3 arch=sm_103a"},
};

static char *read_file(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        fail_msg("%s is missing: run with PTXGEN_UPDATE_GOLDEN=1 to make it", path);
    char *text = malloc(1 << 20);
    *size = fread(text, 1, 1 << 20, f);
    fclose(f);
    return text;
}

static void compare(const char *path, const char *got, size_t got_size)
{
    size_t size;
    char *want = read_file(path, &size);
    int line = 1;
    for (size_t i = 0; i < size && i < got_size && want[i] == got[i]; i++)
        line += want[i] == '\n';
    if (size != got_size || memcmp(want, got, size) != 0)
        fail_msg("%s: the emitted text differs from line %d on", path, line);
    free(want);
}

static void emitted_text_is_the_golden_one(void **state)
{
    const bool update = getenv("PTXGEN_UPDATE_GOLDEN") != NULL;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ptxgen_kernel *k;
        ptxgen_kernel_info info = {.size = sizeof info};
        ptxgen_error err;
        char path[512];
        snprintf(path, sizeof path, PTXGEN_SOURCE_DIR "/tests/golden/%s", cases[i][1]);
        if (ptxgen_emit(*state, cases[i][0], cases[i][2], &k, &err) != PTXGEN_OK)
            fail_msg("%s", err.message);
        ptxgen_kernel_describe(k, &info);
        if (update) {
            FILE *f = fopen(path, "wb");
            assert_non_null(f);
            assert_int_equal(fwrite(info.ptx, 1, info.ptx_size, f), info.ptx_size);
            fclose(f);
        }
        compare(path, info.ptx, info.ptx_size);
        ptxgen_kernel_unref(k);
    }
}

/* Our own parser and verifier take every golden kernel without a word. */
static void golden_text_is_valid(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[512];
        size_t size;
        pg_arena arena;
        pg_ptx_module *module;
        pg_ptx_diagnostics found;
        snprintf(path, sizeof path, PTXGEN_SOURCE_DIR "/tests/golden/%s", cases[i][1]);
        char *text = read_file(path, &size);
        pg_arena_init(&arena, &pg_alloc_libc);
        if (pg_ptx_parse(&arena, text, size, NULL, &module, &found) != PTXGEN_OK || found.count)
            fail_msg("%s:%u: %s", path, found.count ? found.items[0].line : 0,
                     found.count ? found.items[0].message : "not parsed");
        pg_arena_fini(&arena);
        free(text);
    }
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
