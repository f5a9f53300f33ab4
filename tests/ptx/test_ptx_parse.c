/* The parser: what it makes of declarations, scopes, operands and faults. */
#include "test.h"

#include "ptx/table/form.h"
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

static const pg_ptx_insn *insn(const parsed *r, uint32_t i)
{
    const pg_ptx_function *f = &r->module->functions[0];
    assert_true(i < f->n_code);
    return &f->code[i];
}

static void test_suffixes_become_fields(void **state)
{
    (void)state;
    parsed r = parse_ok(".entry k() { .reg .b32 r<9>; .reg .b64 d<9>; .reg .f32 f<4>;\n"
                        "fma.rz.ftz.sat.f32 f1, f1, f2, f3;\n"
                        "ld.relaxed.gpu.global.v2.u32 {r1, r2}, [d1+-8];\n"
                        "cp.async.bulk.global.shared::cta.bulk_group [d1], [r1], 16;\n"
                        "wgmma.fence.sync.aligned;\n"
                        "mul.hi.s32 r1, r2, r3;\n"
                        "setp.hi.u32 _, r2, r3;\n"
                        "ret; }\n");
    const pg_ptx_opcode *o = insn(&r, 0)->opcode;
    assert_int_equal(o->op, PG_OP_FMA_F32);
    assert_int_equal(o->mod[PG_F_ROUND], PG_M_ROUND_RZ);
    assert_int_equal(o->mod[PG_F_FTZ], PG_M_FTZ_FTZ);
    assert_int_equal(o->mod[PG_F_SAT], PG_M_SAT_SAT);
    assert_int_equal(o->n_types, 1);
    assert_int_equal(o->types[0], PG_T_F32);
    o = insn(&r, 1)->opcode;
    assert_int_equal(o->mod[PG_F_SEM], PG_M_SEM_RELAXED);
    assert_int_equal(o->mod[PG_F_SCOPE], PG_M_SCOPE_GPU);
    assert_int_equal(o->mod[PG_F_SPACE], PG_M_SPACE_GLOBAL);
    assert_int_equal(o->mod[PG_F_VEC], PG_M_VEC_V2);
    o = insn(&r, 2)->opcode;
    assert_int_equal(o->mod[PG_F_SPACE], PG_M_SPACE_GLOBAL);
    assert_int_equal(o->mod[PG_F_SOURCE], PG_M_SOURCE_SHARED_CTA);
    /* ".hi" is a half of a product in one row and a comparison in another. */
    assert_int_equal(insn(&r, 4)->opcode->mod[PG_F_HALF], PG_M_HALF_HI);
    assert_int_equal(insn(&r, 4)->opcode->mod[PG_F_CMP], PG_M_NONE);
    assert_int_equal(insn(&r, 5)->opcode->mod[PG_F_CMP], PG_M_CMP_HI);
    release(&r);
}

static void test_optional_operands_keep_their_slots(void **state)
{
    (void)state;
    parsed r = parse_ok(".entry k() { .reg .pred p; .reg .b32 r<9>; .reg .b64 d<9>;\n"
                        "bar.red.popc.u32 r1, 1, p;\n"
                        "bar.red.popc.u32 r1, 1, 64, !p;\n"
                        "cp.async.ca.shared.global [r1], [d1], 16;\n"
                        "cp.async.ca.shared.global.L2::cache_hint [r1], [d1], 16, d2;\n"
                        "cp.async.ca.shared.global.L2::cache_hint [r1], [d1], 16, 4, d2;\n"
                        "cp.async.ca.shared.global [r1], [d1], 16, p;\n"
                        "ret; }\n");
    assert_int_equal(insn(&r, 0)->operands[2].kind, PG_OPERAND_NONE);
    assert_int_equal(insn(&r, 0)->operands[3].kind, PG_OPERAND_REG);
    assert_int_equal(insn(&r, 1)->operands[2].value, 64);
    assert_true(insn(&r, 1)->operands[3].negated);
    assert_int_equal(insn(&r, 2)->n_operands, 5);
    assert_int_equal(insn(&r, 2)->operands[4].kind, PG_OPERAND_NONE);
    assert_int_equal(insn(&r, 3)->operands[3].kind, PG_OPERAND_NONE);
    assert_int_equal(insn(&r, 3)->operands[4].kind, PG_OPERAND_REG);
    assert_int_equal(insn(&r, 4)->operands[3].value, 4);
    assert_int_equal(insn(&r, 5)->opcode->op, PG_OP_CP_ASYNC_IGNORE);
    release(&r);
}

static void test_call_has_four_slots(void **state)
{
    (void)state;
    parsed r = parse_ok(".func (.param .b32 r) f(.param .b64 a) {\n"
                        ".param .b32 x; .param .b64 y; .reg .b64 d;\n"
                        "call.uni (x), f, (y);\n"
                        "proto: .callprototype (.param .b32 _) _ (.param .align 8 .b8 _[8]);\n"
                        "mov.u64 d, f;\n"
                        "call (x), d, (y), proto;\n"
                        "ret; }\n.func nothing() { call nothing; ret; }\n");
    const pg_ptx_operand *o = insn(&r, 0)->operands;
    assert_int_equal(o[0].kind, PG_OPERAND_LIST);
    assert_int_equal(o[0].n_elems, 1);
    assert_int_equal(o[1].kind, PG_OPERAND_FUNC);
    assert_int_equal(o[2].elems[0].kind, PG_OPERAND_VAR);
    assert_int_equal(o[3].kind, PG_OPERAND_NONE);
    assert_int_equal(insn(&r, 2)->operands[3].kind, PG_OPERAND_PROTO);
    assert_int_equal(r.module->functions[0].protos[0].params[0].size, 8);
    o = r.module->functions[1].code[0].operands;
    assert_int_equal(o[0].kind, PG_OPERAND_NONE);
    assert_int_equal(o[1].index, 1);
    release(&r);
}

static uint64_t bits_of(const char *literal, const char *type, pg_ptx_type as)
{
    char body[256];
    snprintf(body, sizeof body, ".entry k() { .reg .%s x;\nmov.%s x, %s;\nret; }\n", type, type,
             literal);
    parsed r = parse_ok(body);
    uint64_t bits = pg_ptx_imm_bits(&insn(&r, 0)->operands[1], as);
    release(&r);
    return bits;
}

static void test_constants(void **state)
{
    (void)state;
    assert_int_equal(bits_of("-1", "b32", PG_T_B32), 0xFFFFFFFF);
    assert_int_equal(bits_of("0xFFFFFFFFFFFFFFFF", "b64", PG_T_B64), UINT64_MAX);
    assert_int_equal(bits_of("-9223372036854775808", "b64", PG_T_S64), 1ull << 63);
    assert_int_equal(bits_of("0b101", "b32", PG_T_U32), 5);
    assert_int_equal(bits_of("017U", "b32", PG_T_U32), 15);
    assert_int_equal(bits_of("1 + 2 * 3 << 1", "b32", PG_T_U32), 14);
    assert_int_equal(bits_of("(1 + 2) * 3 == 9 ? -7 / 2 : 0", "b32", PG_T_S32), 0xFFFFFFFD);
    assert_int_equal(bits_of("-7 % 4", "b32", PG_T_S32), 0xFFFFFFFD);
    assert_int_equal(bits_of("-8 >> 1", "b32", PG_T_S32), 0xFFFFFFFC);
    assert_int_equal(bits_of("!0 | ~0xF & 0x1F", "b32", PG_T_S32), 0x11);
    assert_int_equal(bits_of("(.u64)-1 > 1", "b32", PG_T_S32), 1);
    assert_int_equal(bits_of("-1 < 1", "b32", PG_T_S32), 1);
    assert_int_equal(bits_of("1 << 64", "b64", PG_T_S64), 0);
    assert_int_equal(bits_of("(-9223372036854775807 - 1) / -1", "b64", PG_T_S64), 1ull << 63);
    assert_int_equal(bits_of("0f3F800000", "f32", PG_T_F32), 0x3F800000);
    assert_int_equal(bits_of("1.0", "f32", PG_T_F32), 0x3F800000);
    assert_int_equal(bits_of("-1.5e0", "f32", PG_T_F32), 0xBFC00000);
    assert_int_equal(bits_of(".5", "f32", PG_T_F32), 0x3F000000);
    assert_int_equal(bits_of("5.", "f64", PG_T_F64), 0x4014000000000000);
    assert_int_equal(bits_of("1e400", "f64", PG_T_F64), 0x7FF0000000000000);
    assert_int_equal(bits_of("16777217.0", "f32", PG_T_F32), 0x4B800000); /* to even */
    assert_int_equal(bits_of("0d3FF0000000000000", "f32", PG_T_F32), 0x3F800000);
    assert_int_equal(bits_of("0f3F800000", "f64", PG_T_F64), 0x3FF0000000000000);
    assert_int_equal(bits_of("7", "pred", PG_T_PRED), 1);
}

static void test_variables(void **state)
{
    (void)state;
    parsed r = parse_ok(
        ".global .align 8 .b8 x[3] = {1, 2};\n"
        ".global .u64 to[2] = {x, generic(x)+4};\n"
        ".global .u8 part[2] = {0xFF(x), 0xFF00(x)};\n"
        ".global .b32 grid[2][3] = {{1, 2, 3}, {4}};\n"
        ".global .f32 f[] = {1.5, -0.5, 2.0};\n"
        ".global .v2 .b32 pairs[2] = {{1, 2}, {3, 4}};\n"
        ".extern .shared .align 16 .b8 dynamic[];\n"
        ".entry k(.param .u64 .ptr .global .align 32 p, .param .align 64 .b8 map[128]) { ret; }\n");
    const pg_ptx_var *v = r.module->vars;
    assert_int_equal(v[0].size, 3);
    assert_int_equal(v[0].n_init, 2);
    assert_int_equal(v[0].align, 8);
    assert_int_equal(v[1].n_relocs, 2);
    assert_int_equal(v[1].relocs[1].offset, 8);
    assert_int_equal(v[1].relocs[1].addend, 4);
    assert_true(v[1].relocs[1].generic && !v[1].relocs[0].generic);
    assert_int_equal(v[2].relocs[1].shift, 8);
    assert_int_equal(v[2].relocs[1].bytes, 1);
    assert_int_equal(v[3].size, 24);
    assert_int_equal(v[3].n_init, 16);
    assert_int_equal(v[3].init[12], 4);
    assert_int_equal(v[4].size, 12);
    assert_int_equal(v[4].dims[0], 3);
    assert_int_equal(v[4].init[7], 0xBF);
    assert_int_equal(v[5].init[8], 3);
    assert_int_equal(v[5].align, 8);
    assert_int_equal(v[6].size, 0);
    assert_int_equal(v[6].linkage, PG_LINKAGE_EXTERN);
    const pg_ptx_function *f = &r.module->functions[0];
    assert_int_equal(f->n_params, 2);
    assert_true(v[f->params[0]].is_pointer);
    assert_int_equal(v[f->params[0]].pointer_space, PG_SPACE_GLOBAL);
    assert_int_equal(v[f->params[0]].pointer_align, 32);
    assert_int_equal(v[f->params[1]].size, 128);
    assert_int_equal(pg_ptx_find_var(r.module, "grid"), 3);
    assert_int_equal(pg_ptx_find_var(r.module, "p"), UINT32_MAX);
    assert_int_equal(pg_ptx_find_function(r.module, "k"), 0);
    release(&r);
}

static void test_source_positions(void **state)
{
    (void)state;
    parsed r = parse_ok(
        ".file 1 \"a.cu\"\n.entry k() {\nbar.sync 0;\n.loc 1 10 2\nbar.sync 1;\nbar.sync 2;\n"
        ".loc 1 11 4\n\n  ret;\n}\n");
    const pg_ptx_loc *l = r.module->locs;
    assert_int_equal(insn(&r, 0)->loc, 0);
    assert_int_equal(l[insn(&r, 1)->loc].line, 10);
    assert_int_equal(insn(&r, 2)->loc, insn(&r, 1)->loc);
    assert_int_equal(l[insn(&r, 3)->loc].column, 4);
    assert_int_equal(insn(&r, 3)->line, 12);
    assert_int_equal(insn(&r, 3)->column, 3);
    assert_string_equal(r.module->files[0].name, "a.cu");
    release(&r);
}

/* What nested scopes hide must not come out when the printer flattens them. */
static void test_flat_names_do_not_capture(void **state)
{
    (void)state;
    parsed r =
        parse_ok(".global .b32 x;\n.global .b32 y1;\n"
                 ".entry k(.param .b32 a) { .reg .b64 d; .reg .b32 r;\n"
                 "{ .reg .b32 x, a, y<3>; mov.u32 x, 1; mov.u32 y1, 2; mov.u32 a, 3; }\n"
                 "{ .reg .b32 y<2>, y$1, x$1; mov.u32 y1, 2; mov.u32 y$1, 2; mov.u32 x$1, 3; }\n"
                 "mov.u64 d, x; mov.u64 d, y1; ld.param.b32 r, [a]; ret; }\n");
    pg_buf printed, why;
    pg_ptx_module *again;
    ptxgen_error err;
    pg_buf_init(&printed, &pg_alloc_libc);
    pg_buf_init(&why, &pg_alloc_libc);
    pg_ptx_print(r.module, &printed);
    if (pg_ptx_load(&r.arena, printed.data, printed.len, NULL, &again, &err) != PTXGEN_OK)
        fail_msg("%s\n%s", err.message, printed.data);
    if (!pg_ptx_equal(r.module, again, &why))
        fail_msg("%s\n%s", pg_buf_text(&why), printed.data);
    const pg_ptx_function *f = &again->functions[0];
    assert_int_equal(f->code[6].operands[1].kind, PG_OPERAND_VAR);
    assert_int_equal(f->code[6].operands[1].index, 0);
    assert_int_equal(f->code[7].operands[1].index, 1);
    assert_int_equal(f->code[8].operands[1].base, PG_OPERAND_VAR);
    pg_buf_fini(&printed);
    pg_buf_fini(&why);
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

static void test_an_error_does_not_hide_the_next(void **state)
{
    (void)state;
    parsed r =
        parse(".entry k() {\n.reg .b32 r<4>;\nadd.u32 r1, {r2, r3}, r9;\nadd.u32 r1, r2, nobody;\n"
              "mov.u32 r1, r2;\nfrob r1;\n}\n.global .b32 x = {1};\n.global .b32 y = nothing;\n");
    static const unsigned lines[] = {6, 7, 9, 11, 12};
    assert_int_equal(r.diagnostics.count, 5);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(r.diagnostics.items[i].line, lines[i]);
    release(&r);
}

static void test_limits(void **state)
{
    (void)state;
    char nested[2048] = ".entry k() {\n";
    for (int i = 0; i < 300; i++)
        strcat(nested, "{\n");
    parsed r = parse(nested);
    assert_int_equal(r.status, PTXGEN_EBUDGET);
    release(&r);
    r = parse(".entry k() { .reg .b32 r<2000000>; ret; }\n");
    assert_int_equal(r.status, PTXGEN_EBUDGET);
    release(&r);
    const pg_ptx_options few = {.max_registers = 8, .max_diagnostics = 2};
    r = parse_with(".entry k() { .reg .b64 r<9>; ret; }\n", &few);
    assert_int_equal(r.status, PTXGEN_EBUDGET);
    release(&r);
    r = parse_with(".entry k() { a; b; c; d; }\n", &few);
    assert_int_equal(r.status, PTXGEN_EPARSE);
    assert_int_equal(r.diagnostics.count, 2);
    release(&r);
    const pg_ptx_options small = {.max_bytes = 10};
    r = parse_with("", &small);
    assert_int_equal(r.status, PTXGEN_EBUDGET);
    assert_int_equal(r.diagnostics.count, 1);
    release(&r);
    char deep[4096] = ".global .b32 x = ";
    for (int i = 0; i < 1000; i++)
        strcat(deep, "-(");
    r = parse(deep);
    assert_int_equal(r.status, PTXGEN_EPARSE);
    release(&r);
}

/* Every allocation of a parse with all its features fails once: a clean ENOMEM, and no leak. */
static void test_out_of_memory(void **state)
{
    (void)state;
    static const char text[] =
        ".version 8.8\n.target sm_90a\n.address_size 64\n.file 1 \"a\"\n.pragma \"x\";\n"
        ".global .b64 v[3] = {1, v, 3};\n.func (.param .b32 r) f(.param .b32 a) { ret; }\n"
        ".entry k(.param .u64 p) {\n.reg .b32 r<40>; .reg .pred q; .shared .b8 s[8];\n.param .b32 "
        "x;\n"
        "t: .branchtargets L;\n.loc 1 1 1\n{ .reg .b32 r<3>; L: mov.b32 r1, s; }\n"
        "L: @q bra L; brx.idx r1, t;\ncall (x), f, (x);\nmov.b64 {r1, r2}, 5;\nret; }\n";
    size_t n = 1;
    for (;; n++) {
        failing_alloc failing = {.fail_at = n};
        const pg_alloc alloc = failing_alloc_hook(&failing);
        pg_arena arena;
        pg_ptx_module *module;
        pg_ptx_diagnostics d;
        pg_arena_init(&arena, &alloc);
        ptxgen_status status = pg_ptx_parse(&arena, text, sizeof text - 1, NULL, &module, &d);
        pg_arena_fini(&arena);
        assert_int_equal(failing.live, 0);
        if (status == PTXGEN_OK)
            break;
        assert_int_equal(status, PTXGEN_ENOMEM);
    }
    assert_true(n > 5);
}

/* Text that ends anywhere, and text with any one byte replaced: nothing but a status. */
static void test_damaged_text(void **state)
{
    (void)state;
    static const char text[] =
        ".version 8.8\n.target sm_90a\n.address_size 64\n"
        ".global .b32 x[2] = {1, -2.5};\n.entry k(.param .u64 p) {\n"
        ".reg .b32 r<4>; .reg .pred q;\n{ L: @!q bra L; }\n"
        "ld.global.v2.b32 {r1, _}, [x+4];\nsetp.eq.u32 q|_, r1, (1+2);\nret;\n}\n";
    static const char replacements[] = "\0\n{}[](),;:.%_x0+-\"/*@!<>|";
    size_t len = sizeof text - 1;
    for (size_t i = 0; i < len; i++) {
        for (size_t j = 0; j <= sizeof replacements; j++) {
            pg_arena arena;
            pg_ptx_module *module;
            pg_ptx_diagnostics d;
            size_t n = j == sizeof replacements ? i : len;
            char *copy = malloc(n ? n : 1);
            memcpy(copy, text, n);
            if (n == len)
                copy[i] = replacements[j];
            pg_arena_init(&arena, &pg_alloc_libc);
            pg_ptx_parse(&arena, copy, n, NULL, &module, &d);
            pg_arena_fini(&arena);
            free(copy);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_opcode_table_is_sound),
        cmocka_unit_test(test_scopes_are_flattened),
        cmocka_unit_test(test_suffixes_become_fields),
        cmocka_unit_test(test_optional_operands_keep_their_slots),
        cmocka_unit_test(test_call_has_four_slots),
        cmocka_unit_test(test_constants),
        cmocka_unit_test(test_variables),
        cmocka_unit_test(test_source_positions),
        cmocka_unit_test(test_flat_names_do_not_capture),
        cmocka_unit_test(test_faults_have_positions),
        cmocka_unit_test(test_an_error_does_not_hide_the_next),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_damaged_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
