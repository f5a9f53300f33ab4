/* The parser: what it makes of declarations, scopes, operands and faults. */
#include "test.h"

#include "ptx/form.h"
#include "ptx/ptx.h"

static const char header[] = ".version 8.8\n.target sm_90a\n.address_size 64\n";

typedef struct parsed {
    pg_arena arena;
    pg_ptx_module *module;
    pg_ptx_diagnostics diagnostics;
    ptxgen_status status;
} parsed;

static parsed parse_with(const char *body, const pg_ptx_options *options)
{
    parsed r;
    char text[8192];
    snprintf(text, sizeof text, "%s%s", header, body);
    pg_arena_init(&r.arena, &pg_alloc_libc);
    r.status = pg_ptx_parse(&r.arena, text, strlen(text), options, &r.module, &r.diagnostics);
    return r;
}

static parsed parse(const char *body)
{
    return parse_with(body, NULL);
}

static parsed parse_ok(const char *body)
{
    parsed r = parse(body);
    if (r.status != PTXGEN_OK)
        fail_msg("%u:%u: %s", r.diagnostics.items[0].line, r.diagnostics.items[0].column,
                 r.diagnostics.items[0].message);
    return r;
}

static void release(parsed *r)
{
    pg_arena_fini(&r->arena);
}

/* The body is refused, at this line of it, with a message that has this text. */
static void refuses(const char *body, unsigned line, const char *message)
{
    parsed r = parse(body);
    assert_int_equal(r.status, PTXGEN_EPARSE);
    assert_null(r.module);
    assert_true(r.diagnostics.count > 0);
    assert_int_equal(r.diagnostics.items[0].line, line + 3);
    if (!strstr(r.diagnostics.items[0].message, message))
        fail_msg("\"%s\" does not say \"%s\"", r.diagnostics.items[0].message, message);
    release(&r);
}

static void test_opcode_table_is_sound(void **state)
{
    (void)state;
    const char *fault = pg_form_table_fault();
    if (fault)
        fail_msg("%s", fault);
}

static void test_scopes_are_flattened(void **state)
{
    (void)state;
    parsed r = parse_ok(".entry k() {\n"
                        "  .reg .pred p; .reg .b32 r<3>;\n"
                        "  { .reg .pred p; L: setp.eq.u32 p, r1, 0; @p bra L; }\n"
                        "  { .reg .pred p; L: setp.eq.u32 p, r2, 0; @!p bra L; bra M; }\n"
                        "  M: @p exit; ret; }\n");
    const pg_ptx_function *f = &r.module->functions[0];
    assert_int_equal(f->n_regs, 6);
    assert_int_equal(f->n_labels, 3);
    assert_string_equal(f->labels[0].name, "L");
    assert_string_equal(f->labels[1].name, "L$1");
    assert_int_equal(f->labels[f->code[1].operands[0].index].target, 0);
    assert_int_equal(f->labels[f->code[3].operands[0].index].target, 2);
    assert_int_equal(f->labels[f->code[4].operands[0].index].target, 5);
    assert_int_equal(f->code[1].guard, 4);
    assert_int_equal(f->code[3].guard, 5);
    assert_true(f->code[3].guard_negated);
    assert_int_equal(f->code[5].guard, 0);
    char name[16];
    assert_string_equal(pg_ptx_reg_name(f, 2, name, sizeof name), "r1");
    assert_string_equal(pg_ptx_reg_name(f, 5, name, sizeof name), "p$2");
    release(&r);
}

static void test_faults_have_positions(void **state)
{
    (void)state;
    refuses(".entry k() {\n  add.u32 a, b, c;\n}\n", 2, "'a' is not declared here");
    refuses(".entry k() {\n  .reg .u32 r;\n  add.foo.u32 r, r, r;\n}\n", 3, ".foo");
    refuses(".entry k() {\n  bra L;\n}\n", 2, "label 'L'");
    refuses(".entry k() {\n  { L: ret; }\n  bra L;\n}\n", 3, "label 'L'");
    refuses(".entry k() {\n  .reg .u32 %tid;\n}\n", 2, "special register");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_opcode_table_is_sound),
        cmocka_unit_test(test_scopes_are_flattened),
        cmocka_unit_test(test_faults_have_positions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
