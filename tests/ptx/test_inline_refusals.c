/* What ptxgen_inline refuses, with the line of the user's text; what it keeps as a call;
 * arguments; memory. */
#include "test.h"

#include "ptx/inline/inline.h"
#include "ptxgen/inline.h"

static const char kernel[] = ".version 8.3\n.target sm_90a\n.address_size 64\n"
                             ".extern .func (.param .b32 r) f(.param .b32 x);\n"
                             ".visible .entry k(.param .u64 out)\n{\n"
                             "    .reg .b32 %a<4>;\n"
                             "    .reg .b64 %p;\n"
                             "    mov.u32 %a1, %tid.x;\n"
                             "    call (%a2), f, (%a1);\n"
                             "    call (%a3), f, (%a2);\n"
                             "    ld.param.u64 %p, [out];\n"
                             "    st.global.b32 [%p], %a3;\n"
                             "    ret;\n}\n";

#define HEADER ".version 8.6\n.target sm_90a\n.address_size 64\n"
#define OPEN   ".func (.param .b32 r) f(.param .b32 x)\n{\n" /* the body begins at line 6 */
#define USE                                                                                        \
    "    .reg .b32 %r<9>; .reg .b64 %l<9>; .reg .pred %p<4>; .reg .f32 %f<9>;\n" /* line 6 */
#define CLOSE   "    st.param.b32 [r], %r1;\n    ret;\n}\n"
#define BODY(s) HEADER OPEN USE s CLOSE /* `s` begins at line 7 */

static ptxgen_status try(const char *function, ptxgen_inlined **out, ptxgen_error *err)
{
    const ptxgen_inline_args args = {
        .size = sizeof args, .kernel = kernel, .function = function, .function_file = "my.ptx"};
    return ptxgen_inline(&args, out, err);
}

/* Message begins with "my.ptx:LINE" and holds `says`. */
static void refused(const char *function, int line, const char *says)
{
    ptxgen_error err = {0};
    ptxgen_inlined *out = (ptxgen_inlined *)1;
    char where[40];
    snprintf(where, sizeof where, "my.ptx:%d:", line);
    const ptxgen_status status = try(function, &out, &err);
    if (status == PTXGEN_OK || out || !strstr(err.message, says) ||
        strncmp(err.message, where, strlen(where)) != 0 || err.line != line)
        fail_msg("line %d, '%s': status %d, line %d, %s\n%s", line, says, status, err.line,
                 err.message, function);
}

static void test_instructions(void **state)
{
    static const struct {
        const char *code, *says;
    } cases[] = {
        {"bar.sync 0;\n", "'bar.sync' cannot stand in a function that is inlined: it is a barrier"},
        {"barrier.cluster.arrive;\n", "is a barrier, but only some threads"},
        {"bar.warp.sync -1;\n", "is a barrier"},
        {"mbarrier.arrive.shared.b64 _, [%r1];\n", "is a barrier"},
        {"shfl.sync.bfly.b32 %r1, %r2, 1, 31, -1;\n",
         "'shfl' cannot stand in a function that is inlined: it works "
         "on a whole warp"},
        {"vote.sync.ballot.b32 %r1, %p1, -1;\n", "whole warp"},
        {"redux.sync.add.s32 %r1, %r2, -1;\n", "whole warp"},
        {"match.any.sync.b32 %r1, %r2, -1;\n", "whole warp"},
        {"elect.sync _|%p1, -1;\n", "whole warp"},
        {"activemask.b32 %r1;\n", "whole warp"},
        {"wgmma.fence.sync.aligned;\n", "whole warp"},
        {"mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%l1, %l2}, {%l3}, {%l4}, {%l5, %l6};\n",
         "whole warp"},
        {"cp.async.commit_group;\n", "asynchronously"},
        {"cp.async.bulk.commit_group;\n", "asynchronously"},
        {"setmaxnreg.dec.sync.aligned.u32 40;\n", "directs the whole block"},
        {"griddepcontrol.wait;\n", "directs the whole block"},
        {"exit;\n", "'exit' cannot stand in a function that is inlined: it ends the thread"},
        {"@%p1 trap;\n", "ends the thread"},
        {"ld.shared.b32 %r1, [%r2];\n", "shared memory, which is the kernel's"},
        {"st.shared::cluster.b32 [%r1], %r2;\n", "shared memory, which is the kernel's"},
        {"atom.shared.add.u32 %r1, [%r2], 1;\n", "shared memory, which is the kernel's"},
        {"cvta.shared.u64 %l1, %l2;\n", "shared memory, which is the kernel's"},
        {"mapa.u64 %l1, %l2, 1;\n", "shared memory, which is the kernel's"},
        {"mov.u32 %r1, %dynamic_smem_size;\n", "shared memory, which is the kernel's"},
        {".shared .align 4 .b8 mine[16]; mov.u64 %l1, mine;\n",
         "shared memory, which is the kernel's"},
        {".global .align 4 .u32 mine; ld.global.u32 %r1, [mine];\n",
         "declare it outside of the function"},
        {"alloca.u64 %l1, %l2;\n", "not known before it runs"},
        {"mov.u64 %l1, x;\n", "address of a parameter"},
        {"ld.param.b32 %r1, [%l1];\n", "reaches a parameter through its address"},
        {"ld.param.b32 %r1, [x+4];\n", "reaches beyond a parameter"},
        {"ld.param.b16 %r1, [x+1];\n", "no multiple of its size"},
        {"proto: .callprototype (.param .b32 _) _ (.param .b32 _);\n call (%r1), %l1, (%r2), "
         "proto;\n",
         "through a pointer"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[2000];
        const int line = strstr(cases[i].code, "\n call") ? 8 : 7;
        snprintf(text, sizeof text, "%s%s%s", HEADER OPEN USE, cases[i].code, CLOSE);
        refused(text, line, cases[i].says);
    }
}

static void test_calls(void **state)
{
    (void)state;
    refused(
        HEADER
        ".extern .func g();\n.func (.param .b32 r) f(.param .b32 x)\n{\n    call g;\n    ret;\n}\n",
        7, "'g' is called but defined nowhere in this text: put its definition there");
    refused(HEADER ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n"
                   ".func (.param .b32 r) f(.param .b32 x)\n{\n    .reg .b32 %r1; .reg .b64 %l1;\n"
                   "    call (%r1), vprintf, (%l1, %l1);\n    ret;\n}\n",
            8, "printf cannot stand in a function that is inlined");
    refused(HEADER ".func (.param .b32 r) f(.param .b32 x)\n{\n    .reg .b32 %r<3>;\n    call "
                   "(%r1), f, (%r1);\n"
                   "    ret;\n}\n",
            7, "'f' calls itself");
    refused(HEADER
            ".func g();\n.func (.param .b32 r) f(.param .b32 x)\n{\n    call g;\n    ret;\n}\n"
            ".func g()\n{\n    .reg .b32 %r1;\n    call (%r1), f, (1);\n    ret;\n}\n",
            13, "'f' calls itself, at once or through others");
    refused(HEADER ".func g()\n{\n    bar.sync 0;\n    ret;\n}\n"
                   ".func (.param .b32 r) f(.param .b32 x)\n{\n    call g;\n    ret;\n}\n",
            6, "is a barrier"); /* in a helper as well */
    refused(HEADER
            ".func g() { ret; }\n.global .u64 p = g;\n.func (.param .b32 r) f(.param .b32 x)\n{\n"
            "    .reg .b64 %l1;\n    ld.global.u64 %l1, [p];\n    ret;\n}\n",
            5, "holds the address of a function");
    refused(HEADER ".func g() { ret; }\n.func (.param .b32 r) f(.param .b32 x)\n{\n"
                   "    .reg .b64 %l1;\n    mov.u64 %l1, g;\n    ret;\n}\n",
            8, "takes the address of a function");
    refused(HEADER ".extern .global .u32 there;\n.func (.param .b32 r) f(.param .b32 x)\n{\n"
                   "    .reg .b32 %r1;\n    ld.global.u32 %r1, [there];\n    ret;\n}\n",
            4, "variable 'there' is declared here but defined nowhere");
}

static void test_whole_texts(void **state)
{
    ptxgen_error err = {0};
    ptxgen_inlined *out;
    (void)state;
    refused(HEADER ".func (.param .b64 r) f(.param .b32 x)\n{\n    ret;\n}\n", 4,
            "'f' takes or returns something else than kernel.ptx:4 declares");
    refused(HEADER ".func (.param .b32 r) f(.param .b32 x, .param .b32 y)\n{\n    ret;\n}\n", 4,
            "something else");
    refused(HEADER OPEN "    nonsense;\n" CLOSE, 6, "nonsense");
    assert_int_equal(try(HEADER ".func g()\n{\n    ret;\n}\n", &out, &err), PTXGEN_EINVAL);
    assert_non_null(
        strstr(err.message, "kernel.ptx calls no function that my.ptx defines (it defines 'g')"));
    static const char *const others[] = {"sm_100a", "sm_100", "sm_90a, debug", "sm_120f"};
    for (size_t i = 0; i < 4; i++) {
        char text[400];
        snprintf(text, sizeof text, ".version 8.8\n.target %s\n.address_size 64\n%s    ret;\n}\n",
                 others[i], OPEN);
        const ptxgen_status status = try(text, &out, &err);
        assert_int_equal(status, i == 2 ? PTXGEN_OK : PTXGEN_EPARSE);
        if (status == PTXGEN_OK)
            ptxgen_inlined_free(out);
        else
            assert_non_null(strstr(err.message, "compile the function for sm_90a"));
    }
}

/* The merged module has the higher .version; an older architecture's function runs in a newer
 * kernel. */
static void test_version(void **state)
{
    ptxgen_error err = {0};
    ptxgen_inlined *out;
    size_t length;
    (void)state;
    assert_int_equal(
        try(".version 9.0\n.target sm_75\n.address_size 64\n" OPEN USE CLOSE, &out, &err),
        PTXGEN_OK);
    const char *text = ptxgen_inlined_text(out, &length);
    assert_int_equal(strncmp(text, ".version 9.0\n.target sm_90a\n", 28), 0);
    assert_int_equal(strlen(text), length);
    assert_null(strstr(text, "\n    call"));
    assert_null(strstr(text, ".extern"));
    ptxgen_inlined_free(out);
}

static void test_budget(void **state)
{
    ptxgen_error err = {0};
    ptxgen_inlined *out;
    ptxgen_inlined_call call;
    ptxgen_inline_args args = {
        .size = sizeof args, .kernel = kernel, .function = BODY("mov.b32 %r1, 1;\n")};
    (void)state;
    for (args.budget = 5; args.budget <= 6; args.budget++) { /* 3 instructions, 2 calls */
        assert_int_equal(ptxgen_inline(&args, &out, &err), PTXGEN_OK);
        assert_true(ptxgen_inlined_call_at(out, 1, &call));
        assert_false(ptxgen_inlined_call_at(out, 2, &(ptxgen_inlined_call){0}));
        assert_int_equal(call.inlined, args.budget == 6);
        assert_int_equal(call.instructions, 3);
        assert_int_equal(call.line, 11);
        assert_string_equal(call.caller, "k");
        assert_string_equal(call.callee, "f");
        assert_string_equal(call.reason,
                            args.budget == 6 ? "" : "its copies would pass the budget");
        assert_int_equal(strstr(ptxgen_inlined_text(out, NULL), ".func (.param .b32 f$r) f(") !=
                             NULL,
                         args.budget == 5);
        ptxgen_inlined_free(out);
    }
}

/* A parameter that is passed on as it is stays memory: that call cannot be inlined, nor what it
 * stands in. */
static void test_passed_on(void **state)
{
    (void)state;
    refused(HEADER ".func (.param .b32 r) g(.param .b32 x)\n{\n    ret;\n}\n"
                   ".func (.param .b32 r) f(.param .b32 x)\n{\n    .reg .b32 %r1;\n"
                   "    call (%r1), g, (x);\n    ret;\n}\n",
            11,
            "the call of 'g' cannot be inlined: one of its .param variables is used for something "
            "else too");
}

/* Refusals name the line of the language that the function was compiled from. */
static void test_source_line(void **state)
{
    (void)state;
    refused(HEADER OPEN USE "    .loc 1 12 3\n    bar.sync 0;\n" CLOSE "    .file 1 \"my.cu\"\n", 8,
            "(my.cu:12)");
}

static void test_arguments(void **state)
{
    ptxgen_error err = {0};
    ptxgen_inlined *out;
    ptxgen_inline_args args = {.kernel = kernel, .function = kernel};
    (void)state;
    assert_int_equal(ptxgen_inline(NULL, &out, &err), PTXGEN_EINVAL);
    assert_int_equal(ptxgen_inline(&args, &out, &err), PTXGEN_EINVAL);
    args.size = sizeof args;
    assert_int_equal(ptxgen_inline(&args, NULL, &err), PTXGEN_EINVAL);
    args.function = NULL;
    assert_int_equal(ptxgen_inline(&args, &out, &err), PTXGEN_EINVAL);
    assert_non_null(strstr(err.message, "args->function is NULL"));
    ptxgen_inlined_free(NULL);
    assert_false(ptxgen_inlined_line_at(NULL, 0, NULL));
    assert_false(ptxgen_inlined_call_at(NULL, 0, NULL));
    assert_string_equal(ptxgen_inlined_text(NULL, NULL), "");
}

static void test_memory(void **state)
{
    static const char function[] =
        BODY("ld.param.b32 %r1, [x]; .local .b32 a[4]; mov.u64 %l1, a;\n");
    const ptxgen_inline_args args = {.size = sizeof args, .kernel = kernel, .function = function};
    (void)state;
    for (size_t at = 1;; at++) {
        failing_alloc f = {.fail_at = at, .forever = at % 2};
        const pg_alloc alloc = failing_alloc_hook(&f);
        ptxgen_error err = {0};
        ptxgen_inlined *out;
        const ptxgen_status status = pg_inline(&alloc, &args, NULL, &out, &err);
        if (status == PTXGEN_OK)
            ptxgen_inlined_free(out);
        else
            assert_int_equal(status, PTXGEN_ENOMEM);
        assert_int_equal(f.live, 0);
        if (f.calls < at)
            break;
        assert_true(at < 10000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_instructions), cmocka_unit_test(test_calls),
        cmocka_unit_test(test_whole_texts),  cmocka_unit_test(test_version),
        cmocka_unit_test(test_budget),       cmocka_unit_test(test_source_line),
        cmocka_unit_test(test_passed_on),    cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
