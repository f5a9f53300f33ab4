/* An entry whose checksum is right and whose cubin is not what the entry says: the cubin's own
 * note tells, also when only the suffix of the architecture differs. `inspect` says so and ends
 * with exit code 1. */
#include "cache_helpers.h"
#include "engine_helpers.h"
#include "runtime_kernels.h"
#include "stub_libcuda.h"

#include <sys/wait.h>

static const char key[] = "family=scatter_add\n";

/* Stores it as the only entry of a folder and asks the command; its exit code, and what it
 * prints in `out`. */
static int inspect(const pg_cache_entry *entry, char *out, size_t size)
{
    test_folder folder;
    char path[1024], command[2048];
    test_folder_make(&folder);
    pg_cache *cache = test_cache_open(&(pg_cache_config){.dir = folder.path}, NULL);
    pg_cache_store(cache, key, sizeof key - 1, entry);
    pg_cache_destroy(cache);
    test_entry_path(folder.path, key, path);
    snprintf(command, sizeof command, "%s/tools/ptxgen inspect %s", PTXGEN_BINARY_DIR, path);
    FILE *f = popen(command, "r");
    assert_non_null(f);
    out[fread(out, 1, size - 1, f)] = 0;
    const int status = pclose(f);
    test_folder_remove(&folder);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void expect_doubt(const pg_cache_entry *entry, const char *doubt)
{
    char out[8192];
    const int code = inspect(entry, out, sizeof out);
    if (code != 1 || !strstr(out, doubt))
        fail_msg("exit code %d, expected 1 and \"%s\": %s", code, doubt, out);
}

static void another_architecture_and_a_missing_kernel_are_seen(void **state)
{
    (void)state;
    const stub_cubin cubin = stub_make_cubin(90); /* it has no kernel */
    pg_cache_entry entry = {.family = "scatter_add",
                            .params = "n=4",
                            .entry_name = "kernel",
                            .assembler = "stub",
                            .arch = 1000,
                            .cubin = cubin.bytes,
                            .cubin_size = sizeof cubin.bytes};
    expect_doubt(&entry, "DOUBT      the entry says sm_100, its cubin sm_90");
    entry.arch = 900;
    expect_doubt(&entry, "DOUBT      the cubin has no kernel kernel");
    entry.cubin_size = 100;
    expect_doubt(&entry, "DOUBT      the cubin cannot be read");
}

static void a_suffix_is_seen(void **state)
{
    (void)state;
    pg_toolkit *t = open_toolkit(PTXGEN_ASSEMBLER_AUTO);
    if (!t)
        skip();
    pg_toolkit_destroy(t);
    static const struct {
        const char *family, *params;
        ptxgen_arch arch, said;
        const char *doubt;
    } cases[] = {
        {"matmul_accumulate", "arch=sm_90a", 901, 900, "the entry says sm_90, its cubin sm_90a"},
        {"scatter_add", "n=64 arch=sm_90", 900, 901, "the entry says sm_90a, its cubin sm_90"},
        {"tcgen05_copy", "arch=sm_100a", 1001, 1000, "the entry says sm_100, its cubin sm_100a"},
    };
    ptxgen *ctx;
    const ptxgen_config config = {.size = sizeof config, .cache_dir = ""};
    assert_int_equal(ptxgen_create(&config, &ctx, NULL), PTXGEN_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ptxgen_kernel *k;
        ptxgen_kernel_info info = {.size = sizeof info};
        char out[8192];
        assert_int_equal(ptxgen_compile(ctx, cases[i].family, cases[i].params, &k, NULL),
                         PTXGEN_OK);
        ptxgen_kernel_describe(k, &info);
        pg_cache_entry entry = {.family = info.family,
                                .params = info.params,
                                .entry_name = info.entry,
                                .assembler = info.assembler,
                                .arch = cases[i].arch,
                                .cubin = info.cubin,
                                .cubin_size = info.cubin_size};
        assert_int_equal(inspect(&entry, out, sizeof out), 0);
        entry.arch = cases[i].said;
        expect_doubt(&entry, cases[i].doubt);
        ptxgen_kernel_unref(k);
    }
    ptxgen_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_architecture_and_a_missing_kernel_are_seen),
        cmocka_unit_test(a_suffix_is_seen),
    };
    return cmocka_run_group_tests_name("entry_doubt", tests, NULL, NULL);
}
