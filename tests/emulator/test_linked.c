/* Programs of several texts: what their files share is one thing, what a file keeps for itself is
 * its own, and what does not go together is named. */
#include "test.h"

#include "ptxgen/emulator.h"

#define HEAD(version, target) ".version " version "\n.target " target "\n.address_size 64\n"

typedef struct program {
    ptxgen_emulator *emu;
    ptxgen_emulator_module *module;
    ptxgen_error err;
    uint32_t out[32];
} program;

static ptxgen_status link_texts(program *p, const char *const *texts, size_t count)
{
    static const char *const names[] = {"a.ptx", "b.ptx", "c.ptx"};
    ptxgen_emulator_text list[3];
    memset(p, 0, sizeof *p);
    for (size_t i = 0; i < count; i++) /* the NUL may be counted */
        list[i] = (ptxgen_emulator_text){texts[i], strlen(texts[i]) + i % 2, names[i]};
    assert_int_equal(ptxgen_emulator_create(NULL, &p->emu, &p->err), PTXGEN_OK);
    return ptxgen_emulator_load_linked(p->emu, list, count, "whole", &p->module, &p->err);
}

static ptxgen_status run(program *p, const char *entry)
{
    ptxgen_emulator_entry *e;
    uint32_t *out = p->out;
    void *args[] = {&out};
    const ptxgen_emulator_launch launch = {
        .size = sizeof launch, .grid = {1, 1, 1}, .block = {1, 1, 1}, .args = args, .arg_count = 1};
    const ptxgen_status status = ptxgen_emulator_find(p->module, entry, &e, &p->err);
    if (status != PTXGEN_OK)
        return status;
    ptxgen_emulator_add_buffer(p->emu, "out", out, sizeof p->out, PTXGEN_EMULATOR_WRITABLE,
                               &p->err);
    return ptxgen_emulator_run(e, &launch, &p->err);
}

static void close_program(program *p)
{
    ptxgen_emulator_unload(p->module);
    ptxgen_emulator_destroy(p->emu);
}

#define ENTRY(name, body)                                                                          \
    ".visible .entry " name "(.param .u64 p) {\n.reg .b32 %r<9>; .reg .b64 %rd<9>;\n"              \
    "ld.param.u64 %rd1, [p];\n" body "ret;\n}\n"
#define FUNCTION(linkage, name, body)                                                              \
    linkage ".func (.param .b32 back) " name "(.param .b32 given)\n{\n.reg .b32 %r<9>;\n"          \
            "ld.param.u32 %r1, [given];\n" body "st.param.b32 [back], %r2;\nret;\n}\n"
#define DECLARE(name) ".extern .func (.param .b32 back) " name "(.param .b32 given);\n"
#define CALL(name, argument, place)                                                                \
    "{ .param .b32 x; .param .b32 y; mov.u32 %r3, " argument "; st.param.b32 [x], %r3;\n"          \
    "call (y), " name ", (x); ld.param.b32 %r4, [y]; st.global.u32 [%rd1+" place "], %r4; }\n"

/* Both ways across, a variable of another file, private names that are alike, weak ones twice. */
static void test_files_share_what_is_visible(void **state)
{
    static const char *const texts[] = {
        HEAD("8.0", "sm_80")
            DECLARE("twice") ".extern .global .u32 base;\n"
                             ".global .u32 mine = 100;\n" FUNCTION(".weak ", "once",
                                                                   "add.u32 %r2, %r1, 1000;\n")
                                 FUNCTION(".visible ", "plus_mine",
                                          "ld.global.u32 %r2, [mine]; add.u32 %r2, %r2, %r1;\n")
                                     ENTRY("first",
                                           CALL("twice", "21", "0") CALL(
                                               "once", "5", "4") "ld.global.u32 %r5, [base]; "
                                                                 "st.global.u32 [%rd1+8], %r5;\n"
                                                                 "ld.global.u32 %r5, [mine]; "
                                                                 "st.global.u32 [%rd1+12], %r5;\n"),
        "// a comment before the header\n" HEAD(
            "8.4",
            "sm_90a") ".visible .global .u32 base = 77;\n.global .u32 mine = 200;\n" DECLARE("plus_"
                                                                                             "mine")
            FUNCTION(".weak ", "once", "add.u32 %r2, %r1, 2000;\n")
                FUNCTION(".visible ", "twice", "add.u32 %r2, %r1, %r1;\n")
                    ENTRY("second",
                          CALL("plus_mine", "1", "16") CALL(
                              "once", "6",
                              "20") "ld.global.u32 %r5, [mine]; st.global.u32 [%rd1+24], %r5;\n")};
    static const uint32_t want[] = {42, 1005, 77, 100, 101, 1006, 200};
    program p;
    (void)state;
    assert_int_equal(link_texts(&p, texts, 2), PTXGEN_OK);
    assert_int_equal(run(&p, "first"), PTXGEN_OK);
    assert_int_equal(run(&p, "second"), PTXGEN_OK);
    assert_memory_equal(p.out, want, sizeof want);
    close_program(&p);
}

static void test_strong_definition_replaces_weak(void **state)
{
    static const char *const texts[] = {
        HEAD("8.0", "sm_90") FUNCTION(".weak ", "pick", "mov.u32 %r2, 1;\n")
            ENTRY("go", CALL("pick", "0", "0")),
        HEAD("8.0", "sm_90") FUNCTION(".visible ", "pick", "mov.u32 %r2, 2;\n"),
        HEAD("8.0", "sm_90") FUNCTION(".weak ", "pick", "mov.u32 %r2, 3;\n")};
    program p;
    (void)state;
    assert_int_equal(link_texts(&p, texts, 3), PTXGEN_OK);
    assert_int_equal(run(&p, "go"), PTXGEN_OK);
    assert_int_equal(p.out[0], 2);
    close_program(&p);
}

/* A line of the joined text is a line of the texts, one behind the other; source files stay
 * apart. */
static void test_lines_stay(void **state)
{
    static const char *const texts[] = {
        HEAD("8.0", "sm_90") ".file 1 \"one.cu\"\n" ENTRY("one", ".loc 1 7 1\n"),
        HEAD("8.0", "sm_90") ".file 1 \"two.cu\"\n" ENTRY("two",
                                                          ".loc 1 9 1\n"
                                                          "st.global.u32 [%rd1+4096], 1;\n")};
    program p;
    (void)state;
    assert_int_equal(link_texts(&p, texts, 2), PTXGEN_OK);
    const char *joined = ptxgen_emulator_linked_text(p.module, NULL);
    assert_non_null(strstr(joined, ".file 2 \"two.cu\""));
    assert_non_null(strstr(joined, ".loc 2 9"));
    assert_int_not_equal(run(&p, "two"), PTXGEN_OK);
    assert_non_null(strstr(p.err.message, "line 19 (st)"));
    close_program(&p);
}

static void test_what_does_not_go_together_is_named(void **state)
{
    static const char *const twice[] = {
        HEAD("8.0", "sm_90") ".visible .global .u32 x;\n",
        HEAD("8.0", "sm_90") ".visible .global .u32 y;\n.visible .global .u32 x;\n"};
    static const char *const broken[] = {HEAD("8.0", "sm_90"), HEAD("8.0", "sm_90") ".nonsense;\n"};
    static const char *const missing[] = {
        HEAD("8.0", "sm_90")
            DECLARE("gone") ".extern .global .u32 lost;\n" ENTRY("calls", CALL("gone", "1", "0"))
                ENTRY("reads", "ld.global.u32 %r1, [lost]; st.global.u32 [%rd1], %r1;\n"),
        HEAD("8.0", "sm_90")};
    program p;
    (void)state;
    assert_int_equal(link_texts(&p, twice, 2), PTXGEN_EPARSE);
    assert_string_equal(p.err.message,
                        "b.ptx:5: 'x' is defined in a.ptx:4 too: one of them can be .extern");
    close_program(&p);
    assert_int_equal(link_texts(&p, broken, 2), PTXGEN_EPARSE);
    assert_non_null(strstr(p.err.message, "b.ptx:4"));
    close_program(&p);
    assert_int_equal(link_texts(&p, missing, 2), PTXGEN_OK);
    assert_int_equal(run(&p, "calls"), PTXGEN_EUNSUPPORTED);
    assert_non_null(strstr(p.err.message, "function gone has no body"));
    assert_int_equal(run(&p, "reads"), PTXGEN_EUNSUPPORTED);
    assert_non_null(strstr(p.err.message, "variable lost is declared but not defined"));
    close_program(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files_share_what_is_visible),
        cmocka_unit_test(test_strong_definition_replaces_weak),
        cmocka_unit_test(test_lines_stay),
        cmocka_unit_test(test_what_does_not_go_together_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
