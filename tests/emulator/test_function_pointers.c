/* Functions that are called through addresses which lie in memory: put there by an earlier launch
 * of another kernel, by another file, by a variable's initial value; and what is no such
 * address. */
#include "test.h"

#include "ptxgen/emulator.h"

#define HEAD                   ".version 8.0\n.target sm_80\n.address_size 64\n"
#define DECLARE(linkage, name) linkage ".func (.param .b32 back) " name "(.param .b32 given)"
#define FUNCTION(linkage, name, body)                                                              \
    DECLARE(linkage, name)                                                                         \
    "{\n.reg .b32 %r<3>;\nld.param.u32 %r1, [given];\n" body "st.param.b32 [back], "               \
    "%r2;\nret;\n}\n"
#define ENTRY(name, body)                                                                          \
    ".visible .entry " name "(.param .u64 p)\n{\n.reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n"            \
    "ld.param.u64 %rd1, [p];\n" body "ret;\n}\n"
/* The address in %rd2, with 21. */
#define CALL_RD2                                                                                   \
    "{ .param .b32 x;\n.param .b32 y;\nst.param.b32 [x], 21;\n"                                    \
    "proto: .callprototype (.param .b32 _) _ (.param .b32 _);\n"                                   \
    "call (y), %rd2, (x), proto;\nld.param.b32 %r4, [y];\n}\nst.global.u32 [%rd1+8], %r4;\n"
#define TWICE(linkage) FUNCTION(linkage, "twice", "add.u32 %r2, %r1, %r1;\n")
#define KEEP           ENTRY("keep", "mov.u64 %rd2, twice;\nst.global.u64 [%rd1], %rd2;\n")
#define USE            ENTRY("use", "ld.global.u64 %rd2, [%rd1];\n" CALL_RD2)

typedef struct program {
    ptxgen_emulator *emu;
    ptxgen_emulator_module *module;
    ptxgen_error err;
    uint64_t memory[2]; /* the address, what the call gave */
} program;

static void open_program(program *p, const char *first, const char *second, bool check)
{
    const ptxgen_emulator_config config = {.size = sizeof config, .check = check};
    const ptxgen_emulator_text texts[] = {{first, strlen(first), "a.ptx"},
                                          {second, second ? strlen(second) : 0, "b.ptx"}};
    memset(p, 0, sizeof *p);
    assert_int_equal(ptxgen_emulator_create(&config, &p->emu, &p->err), PTXGEN_OK);
    const ptxgen_status status =
        second ? ptxgen_emulator_load_linked(p->emu, texts, 2, "whole", &p->module, &p->err)
               : ptxgen_emulator_load(p->emu, first, strlen(first), "a.ptx", &p->module, &p->err);
    if (status != PTXGEN_OK)
        fail_msg("%s", p->err.message);
    assert_int_equal(ptxgen_emulator_add_buffer(p->emu, "memory", p->memory, sizeof p->memory,
                                                PTXGEN_EMULATOR_WRITABLE, &p->err),
                     PTXGEN_OK);
}

static ptxgen_status run(program *p, const char *name)
{
    ptxgen_emulator_entry *entry;
    uint64_t *memory = p->memory;
    void *args[] = {&memory};
    const ptxgen_emulator_launch launch = {
        .size = sizeof launch, .grid = {1, 1, 1}, .block = {1, 1, 1}, .args = args, .arg_count = 1};
    const ptxgen_status status = ptxgen_emulator_find(p->module, name, &entry, &p->err);
    return status == PTXGEN_OK ? ptxgen_emulator_run(entry, &launch, &p->err) : status;
}

static void close_program(program *p)
{
    ptxgen_emulator_unload(p->module);
    ptxgen_emulator_destroy(p->emu);
}

/* Kernels run in the order given, each its own launch; the last one calls. */
static void gives_42(const char *first, const char *second, const char *const *kernels)
{
    for (int check = 0; check < 2; check++) {
        program p;
        open_program(&p, first, second, check);
        for (size_t i = 0; kernels[i]; i++)
            if (run(&p, kernels[i]) != PTXGEN_OK)
                fail_msg("%s: %s", kernels[i], p.err.message);
        assert_int_equal((uint32_t)p.memory[1], 42);
        close_program(&p);
    }
}

static void test_a_later_launch_calls_it(void **state)
{
    static const char *const kernels[] = {"keep", "use", NULL};
    (void)state;
    gives_42(HEAD TWICE("") KEEP USE, NULL, kernels);
    gives_42(HEAD TWICE("") USE KEEP, NULL, kernels);
}

static void test_a_kernel_of_another_file_calls_it(void **state)
{
    static const char *const kernels[] = {"keep", "use", NULL};
    (void)state;
    gives_42(HEAD USE, HEAD TWICE("") KEEP, kernels);
    gives_42(HEAD TWICE(".visible ") USE, HEAD DECLARE(".extern ", "twice") ";\n" KEEP, kernels);
}

/* An alias has the address of its function, in code and in variables. */
static void test_an_alias_is_its_function(void **state)
{
    static const char *const both[] = {"keep", "use", NULL}, *const one[] = {"table", NULL};
    (void)state;
    gives_42(HEAD FUNCTION("", "worker", "add.u32 %r2, %r1, %r1;\n")
                 DECLARE("", "twice") ";\n"
                                      ".alias twice, worker;\n" KEEP USE,
             NULL, both);
    gives_42(HEAD FUNCTION("", "worker", "add.u32 %r2, %r1, %r1;\n") DECLARE(
                 "", "twice") ";\n"
                              ".alias twice, worker;\n.global .u64 known[1] = {twice};\n" ENTRY(
                                  "table", "ld.global.u64 %rd2, [known];\n" CALL_RD2),
             NULL, one);
}

/* A function whose address nobody takes, one of another signature, and no function at all. */
static void test_other_addresses_are_refused(void **state)
{
    static const char *const texts[] = {
        HEAD TWICE("") ENTRY("keep", "mov.u64 %rd2, 64;\nst.global.u64 [%rd1], %rd2;\n") USE,
        HEAD TWICE("") ENTRY("keep", "mov.u64 %rd2, keep;\nst.global.u64 [%rd1], %rd2;\n") USE,
        HEAD ".func twice(.param .b64 given)\n{\nret;\n}\n" KEEP USE};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        program p;
        open_program(&p, texts[i], NULL, false);
        assert_int_equal(run(&p, "keep"), PTXGEN_OK);
        assert_int_equal(run(&p, "use"), PTXGEN_EEMULATOR);
        assert_non_null(strstr(p.err.message, "where no function is that fits this call"));
        close_program(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_later_launch_calls_it),
        cmocka_unit_test(test_a_kernel_of_another_file_calls_it),
        cmocka_unit_test(test_an_alias_is_its_function),
        cmocka_unit_test(test_other_addresses_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
