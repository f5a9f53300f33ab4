/* inspect.h on cubins that are assembled here for every kind of architecture, and on damaged
 * ones. The numbers are compared with what the assembler itself logs. */
#include "runtime_kernels.h"

#include "ptxgen/inspect.h"

/* Two kernels: alpha with shared and local memory, barriers and bounds; beta with a 128-byte
 * parameter. */
static const char kernels[] =
    ".visible .entry alpha(.param .u64 a, .param .u32 b) .maxntid 256, 2, 1 .minnctapersm 2\n{\n"
    "    .reg .b32 %r<9>; .reg .b64 %rd<3>;\n"
    "    .shared .align 16 .b8 sm[4096];\n"
    "    .local .align 16 .b8 lo[512];\n"
    "    ld.param.u64 %rd1, [a];\n"
    "    ld.param.u32 %r3, [b];\n"
    "    mov.u32 %r1, %tid.x;\n"
    "    shl.b32 %r1, %r1, 2;\n"
    "    mov.u32 %r2, sm;\n"
    "    add.u32 %r2, %r2, %r1;\n"
    "    st.shared.u32 [%r2], %r3;\n"
    "    bar.sync 0;\n"
    "    bar.sync 3;\n"
    "    ld.shared.u32 %r4, [%r2+64];\n"
    "    mov.u32 %r5, lo;\n"
    "    add.u32 %r5, %r5, %r1;\n"
    "    st.local.u32 [%r5], %r4;\n"
    "    ld.local.u32 %r6, [%r5+4];\n"
    "    st.global.u32 [%rd1], %r6;\n"
    "    ret;\n}\n"
    ".visible .entry beta(.param .align 64 .b8 m[128], .param .u64 q) .reqntid 128, 1, 1\n{\n"
    "    .reg .b32 %r<2>; .reg .b64 %rd<2>;\n"
    "    ld.param.u64 %rd1, [q];\n"
    "    mov.u32 %r1, 7;\n"
    "    st.global.u32 [%rd1], %r1;\n"
    "    ret;\n}\n";

static const struct {
    ptxgen_arch arch;
    const char *name;
} archs[] = {{800, "sm_80"},    {900, "sm_90"},    {901, "sm_90a"},   {1000, "sm_100"},
             {1001, "sm_100a"}, {1002, "sm_100f"}, {1031, "sm_103a"}, {1032, "sm_103f"},
             {1200, "sm_120"},  {1201, "sm_120a"}};

static void assemble_kernels(pg_toolkit *t, ptxgen_assembler kind, size_t arch, pg_assembly *out)
{
    char text[4096];
    ptxgen_error err = {0};
    snprintf(text, sizeof text, ".version 8.8\n.target %s\n.address_size 64\n%s", archs[arch].name,
             kernels);
    const pg_assembly_request r = request_for(text, archs[arch].arch);
    assembly_init(out);
    if (pg_toolkit_assemble(t, kind, &r, out, &err) != PTXGEN_OK)
        fail_msg("%s: %s", archs[arch].name, err.message);
}

static void check_alpha(const pg_assembly *a, const ptxgen_cubin_kernel *k, ptxgen_assembler kind)
{
    if (kind == PTXGEN_ASSEMBLER_PTXAS) /* the log's maximum is alpha's */
        assert_int_equal(k->registers, a->registers);
    assert_in_range(k->registers, 6, 64);
    assert_int_equal(k->barriers, 4);
    assert_int_equal(k->shared_bytes, 4096);
    assert_int_equal(k->local_bytes, 512);
    assert_int_equal(k->param_bytes, 12);
    assert_in_range(k->code_bytes, 64, 4096);
    assert_int_equal(k->max_threads[0], 256);
    assert_int_equal(k->max_threads[1], 2);
    assert_int_equal(k->required_threads[0], -1);
}

static void check_beta(const ptxgen_cubin_kernel *k)
{
    assert_int_equal(k->barriers, 0);
    assert_int_equal(k->shared_bytes, 0);
    assert_int_equal(k->local_bytes, 0);
    assert_int_equal(k->param_bytes, 136);
    assert_int_equal(k->required_threads[0], 128);
    assert_int_equal(k->max_threads[0], -1);
}

static void check_cubin(const pg_assembly *a, size_t arch, ptxgen_assembler kind)
{
    ptxgen_error err = {0};
    ptxgen_cubin_info info = {.size = sizeof info};
    ptxgen_cubin_kernel k = {.size = sizeof k};
    int alphas = 0, betas = 0;
    assert_int_equal(ptxgen_cubin_inspect(a->cubin.data, a->cubin.len, &info, &err), PTXGEN_OK);
    assert_int_equal(info.arch, archs[arch].arch);
    assert_int_equal(info.kernel_count, 2);
    assert_string_equal(info.tool, kind == PTXGEN_ASSEMBLER_PTXAS ? "ptxas" : "nvJIT API");
    assert_int_equal(info.version[2], '.');
    assert_non_null(strstr(info.options, archs[arch].name));
    for (size_t i = 0; ptxgen_cubin_kernel_at(a->cubin.data, a->cubin.len, i, &k); i++) {
        if (strcmp(k.name, "alpha") == 0) {
            check_alpha(a, &k, kind);
            alphas++;
        } else {
            assert_string_equal(k.name, "beta");
            check_beta(&k);
            betas++;
        }
    }
    assert_int_equal(alphas, 1);
    assert_int_equal(betas, 1);
}

static void check_all(ptxgen_assembler kind)
{
    pg_toolkit *t = open_toolkit(kind);
    if (!t)
        skip();
    for (size_t i = 0; i < sizeof archs / sizeof archs[0]; i++) {
        pg_assembly a;
        assemble_kernels(t, kind, i, &a);
        check_cubin(&a, i, kind);
        assembly_fini(&a);
    }
    pg_toolkit_destroy(t);
}

static void cubins_of_ptxas_are_described(void **state)
{
    (void)state;
    check_all(PTXGEN_ASSEMBLER_PTXAS);
}

static void cubins_of_nvjitlink_are_described(void **state)
{
    (void)state;
    check_all(PTXGEN_ASSEMBLER_NVJITLINK);
}

/* Looks at everything; the bytes are in a block of exactly that size, so that a sanitizer sees
 * any read past the end. */
static ptxgen_status look_at(const void *bytes, size_t size)
{
    void *exact = malloc(size ? size : 1);
    ptxgen_cubin_info info = {.size = sizeof info};
    ptxgen_cubin_kernel k = {.size = sizeof k};
    ptxgen_error err = {0};
    memcpy(exact, bytes, size);
    ptxgen_status status = ptxgen_cubin_inspect(exact, size, &info, &err);
    if (status != PTXGEN_OK)
        assert_true(strncmp(err.message, "not a cubin: ", 13) == 0);
    for (size_t i = 0; i < 16 && ptxgen_cubin_kernel_at(exact, size, i, &k); i++)
        assert_true(strlen(k.name) < size);
    free(exact);
    return status;
}

static void check_damage(pg_toolkit *t, ptxgen_assembler kind)
{
    for (size_t arch = 2; arch < sizeof archs / sizeof archs[0]; arch += 6) { /* sm_90a, sm_120 */
        pg_assembly a;
        assemble_kernels(t, kind, arch, &a);
        for (size_t n = 0; n < a.cubin.len; n++)
            assert_int_equal(look_at(a.cubin.data, n), PTXGEN_EPARSE);
        for (size_t i = 0; i < a.cubin.len; i++) {
            static const char values[] = {0, (char)0xff};
            char before = a.cubin.data[i];
            for (size_t v = 0; v < sizeof values; v++) {
                a.cubin.data[i] = values[v];
                look_at(a.cubin.data, a.cubin.len);
            }
            a.cubin.data[i] = before;
        }
        assembly_fini(&a);
    }
}

static void damaged_cubins_are_refused_or_read_within_bounds(void **state)
{
    (void)state;
    static const ptxgen_assembler kinds[] = {PTXGEN_ASSEMBLER_PTXAS, PTXGEN_ASSEMBLER_NVJITLINK};
    int ran = 0;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        pg_toolkit *t = open_toolkit(kinds[i]);
        if (!t)
            continue;
        check_damage(t, kinds[i]);
        pg_toolkit_destroy(t);
        ran++;
    }
    if (!ran)
        skip();
}

static void other_files_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
        const char *says;
    } cases[] = {{"", 0, "empty"},
                 {"\x50\xed\x55\xba....", 8, "fat binary"},
                 {"//\n.version 8.0\n", 16, "PTX"},
                 {"hello", 5, "not an ELF"},
                 {"\177ELF\2\1\1", 7, "cut off"}};
    ptxgen_cubin_info info = {.size = sizeof info};
    ptxgen_error err;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(ptxgen_cubin_inspect(cases[i].bytes, cases[i].size, &info, &err),
                         PTXGEN_EPARSE);
        assert_non_null(strstr(err.message, cases[i].says));
    }
    FILE *self = fopen("/proc/self/exe", "rb");
    char head[4096];
    size_t n = fread(head, 1, sizeof head, self);
    fclose(self);
    assert_int_equal(ptxgen_cubin_inspect(head, n, &info, &err), PTXGEN_EPARSE);
    assert_non_null(strstr(err.message, "another machine"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cubins_of_ptxas_are_described),
        cmocka_unit_test(cubins_of_nvjitlink_are_described),
        cmocka_unit_test(damaged_cubins_are_refused_or_read_within_bounds),
        cmocka_unit_test(other_files_are_named),
    };
    return cmocka_run_group_tests_name("cubin_inspect", tests, NULL, NULL);
}
