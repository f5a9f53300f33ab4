/* Many processes, one cold key: the assembler runs once, and all have the same bytes. Locales:
 * the same PTX and the same cubin in each. The scripts in the assembler's place count their runs
 * over all processes; where a real assembler is there, it is used as well. */
#include "cache_helpers.h"
#include "engine_helpers.h"
#include "runtime_kernels.h"

#include <locale.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PROCESSES = 64 };

static const char problem[] = "n=96 dtype=f16 schedule=bulk";

/* What a child found: written to the pipe as one struct. */
typedef struct outcome {
    uint64_t misses, hash;
    int status;
} outcome;

static outcome compile_once(ptxgen *ctx)
{
    ptxgen_kernel *k = NULL;
    ptxgen_kernel_info info = {.size = sizeof info};
    outcome o = {.status = ptxgen_compile(ctx, "scatter_add", problem, &k, NULL)};
    if (k) {
        ptxgen_kernel_describe(k, &info);
        o.hash = pg_hash64(info.cubin, info.cubin_size) ^ pg_hash64(info.ptx, info.ptx_size);
        ptxgen_kernel_unref(k);
    }
    o.misses = engine_info(ctx).misses;
    return o;
}

static ptxgen *create_real(const char *cache_dir, ptxgen_assembler assembler)
{
    const ptxgen_config config = {
        .size = sizeof config, .cache_dir = cache_dir, .assembler = assembler};
    ptxgen *ctx;
    assert_int_equal(ptxgen_create(&config, &ctx, NULL), PTXGEN_OK);
    return ctx;
}

/* `toolkit` NULL: the real one. `stagger_us`: how much later each next process begins. */
static void check_one_compile(const fake_toolkit *toolkit, long stagger_us)
{
    int ends[2];
    test_folder folder;
    uint64_t misses = 0, hash = 0;
    test_folder_make(&folder);
    assert_int_equal(pipe(ends), 0);
    for (int i = 0; i < PROCESSES; i++) {
        const pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            ptxgen *ctx = toolkit ? engine_create(toolkit, folder.path, NULL)
                                  : create_real(folder.path, PTXGEN_ASSEMBLER_AUTO);
            const outcome o = compile_once(ctx);
            ptxgen_destroy(ctx);
            _exit(write(ends[1], &o, sizeof o) != sizeof o);
        }
        nanosleep(&(struct timespec){.tv_nsec = stagger_us * 1000}, NULL);
    }
    for (int i = 0; i < PROCESSES; i++) {
        outcome o;
        int status;
        assert_int_equal(read(ends[0], &o, sizeof o), sizeof o);
        assert_int_equal(o.status, PTXGEN_OK);
        hash = hash ? hash : o.hash;
        assert_true(o.hash == hash);
        misses += o.misses;
        assert_true(wait(&status) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    assert_int_equal(misses, 1);
    close(ends[0]);
    close(ends[1]);
    test_folder_remove(&folder);
}

static void processes_run_the_assembler_once(void **state)
{
    (void)state;
    static const long staggers_us[] = {0, 5000};
    for (int i = 0; i < 2; i++) {
        fake_toolkit toolkit;
        fake_toolkit_make(&toolkit);
        fake_toolkit_does(&toolkit, "sleep 0.2; " FAKE_ASSEMBLES);
        check_one_compile(&toolkit, staggers_us[i]);
        assert_int_equal(fake_toolkit_runs(&toolkit), 1);
        fake_toolkit_remove(&toolkit);
    }
}

static bool have_assembler(ptxgen_assembler kind)
{
    pg_toolkit *t = open_toolkit(kind);
    pg_toolkit_destroy(t);
    return t != NULL;
}

static void processes_run_a_real_assembler_once(void **state)
{
    (void)state;
    if (!have_assembler(PTXGEN_ASSEMBLER_AUTO))
        skip();
    check_one_compile(NULL, 0);
}

static void processes_share_a_refusal(void **state)
{
    (void)state;
    fake_toolkit toolkit;
    test_folder folder;
    test_folder_make(&folder);
    fake_toolkit_make(&toolkit);
    fake_toolkit_does(&toolkit, "sleep 0.2; " FAKE_REFUSES);
    for (int i = 0; i < 16; i++) {
        const pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            ptxgen *ctx = engine_create(&toolkit, folder.path, NULL);
            const outcome o = compile_once(ctx);
            ptxgen_destroy(ctx);
            _exit(o.status != PTXGEN_EASSEMBLE);
        }
    }
    for (int i = 0; i < 16; i++) {
        int status;
        assert_true(wait(&status) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    assert_int_equal(fake_toolkit_runs(&toolkit), 1);
    fake_toolkit_remove(&toolkit);
    test_folder_remove(&folder);
}

/* ---- locales ---- */

#define LOCALES PTXGEN_BINARY_DIR "/tests/locales"

static const char *const locales[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "ar_EG.UTF-8"};

static const struct {
    const char *family, *params;
    bool whole_program;
} kernels[] = {
    {"scatter_add", "schedule=bulk n=512 dtype=bf16", false},
    {"scatter_add", "schedule=seed n=1000 dtype=f32", false},
    {"scatter_add", "schedule=vector n=dynamic dtype=f16", false},
    {"tcgen05_copy", "", false},
    {"matmul_accumulate", "", true},
    {"matmul_scaled", "", true},
};
enum { KERNELS = sizeof kernels / sizeof kernels[0] };

static void make_locale(const char *name)
{
    char command[1024];
    snprintf(command, sizeof command,
             "mkdir -p %s; test -d %s/%s || localedef --no-archive -c -i %.5s -f UTF-8 %s/%s "
             ">/dev/null 2>&1",
             LOCALES, LOCALES, name, name, LOCALES, name);
    if (system(command) != 0)
        print_message("%s could not be made\n", name);
}

/* Hashes of PTX and cubin of each kernel that the assembler can do; 0 where it cannot. */
static void compile_all(ptxgen_assembler assembler, uint64_t hashes[KERNELS])
{
    ptxgen *ctx = create_real("", assembler);
    for (size_t i = 0; i < KERNELS; i++) {
        ptxgen_kernel *k;
        ptxgen_error err;
        ptxgen_kernel_info info = {.size = sizeof info};
        hashes[i] = 0;
        if (assembler == PTXGEN_ASSEMBLER_NVJITLINK && kernels[i].whole_program)
            continue;
        if (ptxgen_compile(ctx, kernels[i].family, kernels[i].params, &k, &err) != PTXGEN_OK)
            fail_msg("%s %s: %s", kernels[i].family, kernels[i].params, err.message);
        ptxgen_kernel_describe(k, &info);
        hashes[i] =
            pg_hash64(info.ptx, info.ptx_size) + 31 * pg_hash64(info.cubin, info.cubin_size);
        ptxgen_kernel_unref(k);
    }
    ptxgen_destroy(ctx);
}

static int check_locale(ptxgen_assembler assembler, const char *name,
                        const uint64_t expected[KERNELS])
{
    uint64_t hashes[KERNELS];
    if (!setlocale(LC_ALL, name))
        return 0;
    compile_all(assembler, hashes);
    setlocale(LC_ALL, "C");
    assert_memory_equal(hashes, expected, sizeof hashes);

    const locale_t own = newlocale(LC_ALL_MASK, name, (locale_t)0);
    assert_true(own != (locale_t)0);
    const locale_t before = uselocale(own);
    compile_all(assembler, hashes);
    uselocale(before);
    freelocale(own);
    assert_memory_equal(hashes, expected, sizeof hashes);
    return 1;
}

static void check_locales(ptxgen_assembler assembler)
{
    uint64_t expected[KERNELS];
    int checked = 0;
    if (!have_assembler(assembler))
        skip();
    compile_all(assembler, expected);
    for (size_t i = 0; i < sizeof locales / sizeof locales[0]; i++)
        checked += check_locale(assembler, locales[i], expected);
    if (!checked) {
        print_message("skipped: none of the locales is there; install the package locales\n");
        skip();
    }
}

static void locales_do_not_matter_to_a_process(void **state)
{
    (void)state;
    check_locales(PTXGEN_ASSEMBLER_PTXAS);
}

static void locales_do_not_matter_to_a_library(void **state)
{
    (void)state;
    check_locales(PTXGEN_ASSEMBLER_NVJITLINK);
}

int main(void)
{
    for (size_t i = 0; i < sizeof locales / sizeof locales[0]; i++)
        make_locale(locales[i]);
    setenv("LOCPATH", LOCALES, 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processes_run_the_assembler_once),
        cmocka_unit_test(processes_run_a_real_assembler_once),
        cmocka_unit_test(processes_share_a_refusal),
        cmocka_unit_test(locales_do_not_matter_to_a_process),
        cmocka_unit_test(locales_do_not_matter_to_a_library),
    };
    return cmocka_run_group_tests_name("engine_processes", tests, NULL, NULL);
}
