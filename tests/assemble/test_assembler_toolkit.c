/* Where assemblers are found, which one is chosen, and what tells one build from another. */
#include "runtime_kernels.h"

#include "assemble/assembly_log.h"
#include "assemble/tool_identity.h"
#include "assemble/toolkit.h"

#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

static const pg_log silent;
static char folder[64];

static int shell(const char *format, ...) __attribute__((format(printf, 1, 2)));
static int shell(const char *format, ...)
{
    char command[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(command, sizeof command, format, args);
    va_end(args);
    return system(command);
}

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/ptxgen-test-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    return shell("rm -rf %s", folder);
}

/* The path of a real part, "" (and a message) when it is not installed. */
static void real_path(ptxgen_assembler kind, char out[PATH_MAX])
{
    ptxgen_part part;
    pg_toolkit *t = open_toolkit(kind);
    out[0] = 0;
    if (!t)
        return;
    assert_true(pg_toolkit_part(t, (size_t)kind - 1, &part));
    assert_true(part.found);
    assert_non_null(realpath(part.path, out));
    pg_toolkit_destroy(t);
}

static pg_toolkit *toolkit_at(const pg_toolkit_config *config)
{
    pg_toolkit *t;
    assert_int_equal(pg_toolkit_create(&pg_alloc_libc, &silent, config, &t, NULL), PTXGEN_OK);
    return t;
}

static void assert_found_at(const pg_toolkit_config *config, size_t part_index, const char *suffix)
{
    ptxgen_part part;
    pg_toolkit *t = toolkit_at(config);
    assert_true(pg_toolkit_part(t, part_index, &part));
    if (!part.found || !strstr(part.path, suffix))
        fail_msg("%s: wanted %s, found %s (%s)", part.name, suffix, part.path, part.note);
    pg_toolkit_destroy(t);
}

static void toolkits_and_wheels_are_found(void **state)
{
    static const char *const programs[] = {"bin", "nvidia/cu13/bin", "cu13/bin",
                                           "nvidia/cuda_nvcc/bin"};
    static const char *const libraries[] = {
        "lib64/libnvJitLink.so.13", "nvidia/cu13/lib/libnvJitLink.so.13",
        "nvidia/nvjitlink/lib/libnvJitLink.so.12", "targets/x86_64-linux/lib/libnvJitLink.so.13"};
    char ptxas[PATH_MAX], library[PATH_MAX];
    (void)state;
    real_path(PTXGEN_ASSEMBLER_PTXAS, ptxas);
    real_path(PTXGEN_ASSEMBLER_NVJITLINK, library);
    if (!ptxas[0] || !library[0])
        skip();
    for (size_t i = 0; i < 4; i++) {
        char root[96];
        snprintf(root, sizeof root, "%s/%zu", folder, i);
        shell("mkdir -p %s/%s && ln -s %s %s/%s/ptxas", root, programs[i], ptxas, root,
              programs[i]);
        shell("mkdir -p $(dirname %s/%s) && ln -s %s %s/%s", root, libraries[i], library, root,
              libraries[i]);
        const pg_toolkit_config given = {.toolkit_dir = root}, home = {.cuda_home = root};
        assert_found_at(&given, 0, programs[i]);
        assert_found_at(&given, 2, libraries[i]);
        assert_found_at(&home, 0, root);
        assert_found_at(&home, 2, root);
    }
}

static void given_folder_is_the_only_place(void **state)
{
    (void)state;
    const pg_toolkit_config config = {
        .toolkit_dir = folder, .cuda_home = "/usr/local/cuda", .path = "/usr/local/cuda/bin"};
    pg_toolkit *t = toolkit_at(&config);
    ptxgen_part part;
    ptxgen_error err = {0};
    ptxgen_assembler kind;
    const char *identity;
    for (size_t i = 0; i < 3; i += 2) {
        assert_true(pg_toolkit_part(t, i, &part));
        assert_false(part.found);
        assert_string_equal(part.path, "");
        assert_non_null(strstr(part.note, folder));
        assert_non_null(strstr(part.note, "pip package nvidia-"));
    }
    assert_true(pg_toolkit_part(t, PG_TOOL_DISASSEMBLER - 1, &part));
    assert_false(part.found);
    assert_non_null(strstr(part.note, folder));
    assert_false(pg_toolkit_part(t, PG_TOOL_END - 1, &part));
    if (pg_toolkit_choose(t, (pg_assembly_need){0}, &kind, &identity, &err) != PTXGEN_OK) {
        assert_non_null(strstr(err.message, folder));
        assert_non_null(strstr(err.message, "install"));
    } else {
        assert_true(kind == PTXGEN_ASSEMBLER_DRIVER || kind == PTXGEN_ASSEMBLER_NVPTXCOMPILER);
    }
    pg_toolkit_destroy(t);
}

static void relative_entries_of_path_are_ignored(void **state)
{
    (void)state;
    char path[256], cwd[PATH_MAX];
    pg_tool tool = {0}, none = {0};
    shell("mkdir -p %s/here/bin %s/there; for f in here here/bin there; do cp /bin/true "
          "%s/$f/ptxgen-test-tool; done",
          folder, folder, folder);
    snprintf(path, sizeof path, ".:bin::%s/there:%s", folder, folder);
    pg_toolkit *t = toolkit_at(&(pg_toolkit_config){.path = path});
    assert_non_null(getcwd(cwd, sizeof cwd));
    snprintf(path, sizeof path, "%s/here", folder);
    assert_int_equal(chdir(path), 0);
    pg_search_program(t, &tool, "ptxgen-test-tool");
    pg_search_program(t, &none, "ptxgen-test-absent");
    assert_int_equal(chdir(cwd), 0);
    assert_true(tool.found);
    assert_non_null(strstr(tool.path, "/there/ptxgen-test-tool"));
    assert_false(none.found);
    pg_toolkit_destroy(t);
}

static void automatic_choice_follows_the_order_and_the_need(void **state)
{
    char ptxas[PATH_MAX], library[PATH_MAX], root[96];
    ptxgen_assembler kind;
    const char *identity;
    (void)state;
    real_path(PTXGEN_ASSEMBLER_PTXAS, ptxas);
    real_path(PTXGEN_ASSEMBLER_NVJITLINK, library);
    if (!ptxas[0] || !library[0])
        skip();
    snprintf(root, sizeof root, "%s/auto", folder);
    shell("mkdir -p %s/lib64 && ln -s %s %s/lib64/libnvJitLink.so.13", root, library, root);
    const pg_toolkit_config config = {.toolkit_dir = root,
                                      .driver_library = "/nowhere/libcuda.so.1"};
    pg_toolkit *t = toolkit_at(&config);
    assert_int_equal(pg_toolkit_choose(t, (pg_assembly_need){0}, &kind, &identity, NULL),
                     PTXGEN_OK);
    assert_true(kind == PTXGEN_ASSEMBLER_NVJITLINK || kind == PTXGEN_ASSEMBLER_NVPTXCOMPILER);
    if (kind == PTXGEN_ASSEMBLER_NVJITLINK) {
        ptxgen_error err = {0};
        assert_memory_equal(identity, "nvjitlink 1", 11);
        assert_int_equal(
            pg_toolkit_choose(t, (pg_assembly_need){.whole_program = true}, &kind, &identity, &err),
            PTXGEN_EMISSING);
        assert_non_null(strstr(err.message, "setmaxnreg"));
        assert_non_null(strstr(err.message, "nvidia-cuda-nvcc"));
    }
    pg_toolkit_destroy(t);
    shell("mkdir -p %s/bin && ln -s %s %s/bin/ptxas", root, ptxas, root);
    t = toolkit_at(&config);
    assert_int_equal(pg_toolkit_choose(t, (pg_assembly_need){0}, &kind, &identity, NULL),
                     PTXGEN_OK);
    assert_int_equal(kind, PTXGEN_ASSEMBLER_PTXAS);
    assert_memory_equal(identity, "ptxas 1", 7);
    pg_toolkit_destroy(t);
}

static void identify(const char *path, pg_tool_identity *out)
{
    ptxgen_error err = {0};
    if (pg_identify_file(path, out, &err) != PTXGEN_OK)
        fail_msg("%s", err.message);
}

/* The same bytes elsewhere and later are the same tool; other bytes are another. */
static void check_identity(const char *path)
{
    char copy[96];
    pg_tool_identity original, moved, changed;
    snprintf(copy, sizeof copy, "%s/copy", folder);
    identify(path, &original);
    assert_true(original.is_elf);
    assert_in_range(atoi(original.version), 12, 99);
    assert_true(strlen(original.build) >= 32);
    assert_int_equal(shell("cp %s %s && touch -d 2001-01-01 %s", path, copy, copy), 0);
    identify(copy, &moved);
    assert_memory_equal(&moved, &original, sizeof moved);
    /* A build-id names a build that nobody has edited; without one, the content counts. */
    if (strlen(original.build) == 32) {
        assert_int_equal(shell("printf x >> %s", copy), 0);
        identify(copy, &changed);
        assert_string_not_equal(changed.build, original.build);
    }
    unlink(copy);
}

static void identity_is_content_not_place_or_time(void **state)
{
    char path[PATH_MAX];
    (void)state;
    real_path(PTXGEN_ASSEMBLER_PTXAS, path);
    if (path[0])
        check_identity(path);
    real_path(PTXGEN_ASSEMBLER_NVJITLINK, path);
    if (path[0])
        check_identity(path);
}

/* A script in front of the real program: what it runs counts, too. */
static void wrapper_scripts_are_told_apart_by_their_answer(void **state)
{
    static const char *const versions[] = {"V12.9.86", "V13.0.88"};
    char identities[2][160], other[96];
    (void)state;
    shell("mkdir -p %s/wrapped/bin", folder);
    shell("printf '#!/bin/sh\\ncat %s/answer\\n' > %s/wrapped/bin/ptxas; chmod +x "
          "%s/wrapped/bin/ptxas",
          folder, folder, folder);
    snprintf(other, sizeof other, "%s/wrapped", folder);
    for (int i = 0; i < 2; i++) {
        ptxgen_assembler kind;
        const char *identity;
        shell("echo 'Cuda compilation tools, release 1, %s' > %s/answer", versions[i], folder);
        const pg_toolkit_config config = {.toolkit_dir = other, .wanted = PTXGEN_ASSEMBLER_PTXAS};
        pg_toolkit *t = toolkit_at(&config);
        assert_int_equal(pg_toolkit_choose(t, (pg_assembly_need){0}, &kind, &identity, NULL),
                         PTXGEN_OK);
        snprintf(identities[i], sizeof identities[i], "%s", identity);
        assert_non_null(strstr(identity, versions[i] + 1));
        pg_toolkit_destroy(t);
    }
    assert_string_not_equal(identities[0], identities[1]);
}

static void crashing_text_is_found_outside_comments_only(void **state)
{
    static const struct {
        const char *text;
        int line; /* 0: fine */
    } cases[] = {
        {"tcgen05.cp.cta_group::1.128x256b [%r1], %rd1;", 0},
        {"tcgen05.cp.cta_group::1.128x256b [taddr+4], %rd1;", 0},
        {"\n\ntcgen05.cp.cta_group::1.128x256b [0], %rd1;", 3},
        {"tcgen05.shift.cta_group::1.down\n[ 0x20 ];", 1},
        {"tcgen05.shift.cta_group::1.down [/* where */ 32];", 1},
        {"tcgen05.shift.cta_group::1.down [/* 32 */ %r1];", 0},
        {"// tcgen05.cp.x [0], %rd1;\n/* tcgen05.cp.x [0]; */ ret;", 0},
        {"/* \n\n */ tcgen05.cp.x [-1], %rd1;", 3},
        {"tcgen05.commit.x [%r1]; tcgen05.cp", 0},
        {"tcgen05.cp.x [", 0},
        {"tcgen05. /*", 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ptxgen_error err = {0};
        size_t n = strlen(cases[i].text);
        char *exact = malloc(n);
        memcpy(exact, cases[i].text, n);
        ptxgen_status status = pg_refuse_crashing_text(exact, n, &err);
        free(exact);
        assert_int_equal(status, cases[i].line ? PTXGEN_EASSEMBLE : PTXGEN_OK);
        assert_int_equal(err.line, cases[i].line);
    }
}

static void allocation_failures_are_reported(void **state)
{
    (void)state;
    pg_toolkit *found = open_toolkit(PTXGEN_ASSEMBLER_NVJITLINK);
    if (!found)
        skip();
    pg_toolkit_destroy(found);
    for (size_t n = 1; n < 40; n++) {
        failing_alloc counter = {.fail_at = n};
        const pg_alloc alloc = failing_alloc_hook(&counter);
        const pg_toolkit_config config = {.path = "/usr/bin",
                                          .cuda_home = getenv("CUDA_HOME"),
                                          .toolkit_dir = getenv("PTXGEN_TOOLKIT"),
                                          .wanted = PTXGEN_ASSEMBLER_NVJITLINK};
        const pg_assembly_request r = request_for(KERNEL_STORE, 900);
        pg_toolkit *t;
        ptxgen_error err = {0};
        pg_assembly a = {0};
        pg_buf_init(&a.cubin, &alloc);
        pg_buf_init(&a.log, &alloc);
        ptxgen_status status = pg_toolkit_create(&alloc, &silent, &config, &t, &err);
        if (status == PTXGEN_OK) {
            status = pg_toolkit_assemble(t, PTXGEN_ASSEMBLER_NVJITLINK, &r, &a, &err);
            /* Memory that is missing during the search reads as "not found", with that reason. */
            if (status == PTXGEN_EMISSING && strstr(err.message, "memory"))
                status = PTXGEN_ENOMEM;
            pg_toolkit_destroy(t);
        }
        pg_buf_fini(&a.cubin);
        pg_buf_fini(&a.log);
        assert_int_equal(status, counter.calls < n ? PTXGEN_OK : PTXGEN_ENOMEM);
        assert_int_equal(counter.live, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(toolkits_and_wheels_are_found),
        cmocka_unit_test(given_folder_is_the_only_place),
        cmocka_unit_test(relative_entries_of_path_are_ignored),
        cmocka_unit_test(automatic_choice_follows_the_order_and_the_need),
        cmocka_unit_test(identity_is_content_not_place_or_time),
        cmocka_unit_test(wrapper_scripts_are_told_apart_by_their_answer),
        cmocka_unit_test(crashing_text_is_found_outside_comments_only),
        cmocka_unit_test(allocation_failures_are_reported),
    };
    return cmocka_run_group_tests_name("assembler_toolkit", tests, make_folder, remove_folder);
}
