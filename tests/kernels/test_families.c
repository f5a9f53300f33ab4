/* Every family of templates/families.def, from its tables alone: problems drawn from the operand
 * table run on the emulator and are compared with the plain C answer, plain and in checking mode
 * over seeds. A family needs no line here. PTXGEN_FAMILY=NAME runs one of them, PTXGEN_DRAWS=N
 * draws N problems. */
#include "test.h"

#include "command/run/emulate.h"
#include "draw.h"
#include "families.h"
#include "generate/dtype.h"
#include "ptxgen/ptxgen.h"

static ptxgen *ctx;

static void each_family(void (*test)(size_t place, const pg_family *f))
{
    for (size_t i = 0; family_at(i); i++)
        if (!family_is_helper(family_at(i)))
            test(family_place(family_at(i)), family_at(i));
}

static ptxgen_call_verdict judge(const drawn *before, const drawn *after)
{
    ptxgen_call_verdict v = {.size = sizeof v};
    ptxgen_error err = {0};
    if (ptxgen_call_check(before->family->name, before->params, before->tensors, after->tensors,
                          before->count, &v, &err) != PTXGEN_OK)
        fail_msg("%s: %s", draw_text(before), err.message);
    return v;
}

static void expect_right(const drawn *before, const drawn *after)
{
    const char *operand;
    const ptxgen_call_verdict v = judge(before, after);
    if (v.wrong)
        fail_msg(
            "%s: %lld of %lld elements are wrong; row %lld, column %lld is %.17g (%a), not %.17g "
            "(%a): off by %g, allowed %g",
            draw_text(before), (long long)v.wrong, (long long)v.elements, (long long)v.worst_row,
            (long long)v.worst_column, v.worst_got, v.worst_got, v.worst_want, v.worst_want,
            v.worst_error, v.worst_bound);
    if (!draw_untouched(before, after, &operand))
        fail_msg("%s: %s was written where it has no element", draw_text(before), operand);
}

/* What the table allows may still have no kernel (a schedule's limits, shared memory): never
 * EINVAL. */
static bool is_served(const drawn *d, ptxgen_status status, const ptxgen_error *err)
{
    if (status != PTXGEN_OK && status != PTXGEN_EUNSUPPORTED && status != PTXGEN_EINDEX)
        fail_msg("%s: %s %s", draw_text(d), ptxgen_status_name(status), err->message);
    return status == PTXGEN_OK;
}

static void run_drawn(size_t place, const pg_family *f)
{
    (void)place;
    size_t served = 0, tries = 0;
    const size_t wanted = draws_wanted(30);
    for (; served < wanted && tries < 400 * wanted; tries++) {
        drawn before, after;
        ptxgen_error err = {0};
        draw_problem(&before, f, &(draw_options){.seed = tries + 1});
        if (tries % 2)
            draw_workspace(ctx, &before);
        draw_copy(&after, &before);
        const ptxgen_status status =
            ptxgen_call(ctx, f->name, after.params, after.tensors, after.count, NULL, &err);
        if (is_served(&before, status, &err)) {
            served++;
            if (ptxgen_check_indices(ctx, NULL, &err) != PTXGEN_OK)
                fail_msg("%s: %s", draw_text(&before), err.message);
            expect_right(&before, &after);
        }
        draw_free(&before);
        draw_free(&after);
    }
    printf("%s: %zu of %zu drawn problems were served, all right\n", f->name, served, tries);
    if (served < wanted)
        fail_msg("%s: only %zu of %zu drawn problems have a kernel; the last one: %s", f->name,
                 served, tries, "see the table's symbols");
}

static void drawn_problems_are_answered(void **state)
{
    (void)state;
    each_family(run_drawn);
}

/* ---- checking mode --------------------------------------------------------------------------- */

static void expect_no_report(const ptxgen_emulator *emu, const drawn *d, uint64_t seed)
{
    ptxgen_emulator_report r;
    for (size_t i = 0; ptxgen_emulator_get_report(emu, i, &r); i++)
        if (ptxgen_emulator_report_class_of(r.kind) == PTXGEN_EMULATOR_UNDEFINED)
            fail_msg("%s, seed %llu: %s: lines %d and %d: %s %s", draw_text(d),
                     (unsigned long long)seed, ptxgen_emulator_report_name(r.kind), r.line,
                     r.other_line, r.text, r.where);
}

static void check_with_seed(const drawn *before, size_t place, ptxgen_kernel *kernel, uint64_t seed)
{
    const ptxgen_emulator_config config = {.size = sizeof config,
                                           .threads = 1,
                                           .seed = seed,
                                           .check = true,
                                           .order = PTXGEN_EMULATOR_ORDER_ISA};
    ptxgen_emulator *emu;
    ptxgen_error err = {0};
    run_bad_index bad;
    drawn after;
    draw_copy(&after, before);
    assert_int_equal(ptxgen_emulator_create(&config, &emu, &err), PTXGEN_OK);
    const run_emulation e = {.ctx = ctx,
                             .family = place,
                             .kernel = kernel,
                             .tensors = after.tensors,
                             .count = after.count,
                             .bad = &bad};
    if (run_emulate(emu, &e, &err) != PTXGEN_OK)
        fail_msg("%s, seed %llu: %s", draw_text(before), (unsigned long long)seed, err.message);
    assert_int_equal(bad.position, -1);
    expect_no_report(emu, before, seed);
    expect_right(before, &after);
    ptxgen_emulator_destroy(emu);
    draw_free(&after);
}

static bool check_seeds(const drawn *d, size_t place)
{
    char params[1024];
    ptxgen_kernel *kernel;
    ptxgen_error err = {0};
    if (!is_served(d,
                   ptxgen_call_params(ctx, d->family->name, d->params, d->tensors, d->count, params,
                                      sizeof params, &err),
                   &err))
        return false;
    assert_int_equal(ptxgen_emit(ctx, d->family->name, params, &kernel, &err), PTXGEN_OK);
    drawn probe; /* limits of this kernel are only known to the call */
    draw_copy(&probe, d);
    const bool served = is_served(
        d, ptxgen_call(ctx, d->family->name, d->params, probe.tensors, d->count, NULL, &err), &err);
    for (uint64_t seed = 1; served && seed <= 3; seed++)
        check_with_seed(d, place, kernel, seed);
    draw_free(&probe);
    ptxgen_kernel_unref(kernel);
    return served;
}

static void check_drawn(size_t place, const pg_family *f)
{
    size_t served = 0;
    const size_t wanted = draws_wanted(4);
    for (size_t tries = 0; served < wanted && tries < 500 * wanted; tries++) {
        drawn d;
        draw_problem(&d, f, &(draw_options){.seed = 1000 + tries, .most = 130, .no_zeros = true});
        draw_workspace(ctx, &d);
        served += check_seeds(&d, place);
        draw_free(&d);
    }
    assert_true(served > 0);
}

static void drawn_problems_have_no_race(void **state)
{
    (void)state;
    each_family(check_drawn);
}

/* ---- a wrong result is seen ------------------------------------------------------------------ */

static void spoil(const drawn *d)
{
    for (size_t i = 0; i < d->count; i++) {
        const pg_role role = d->family->operands.rows[i].role;
        char *at = d->tensors[i].data;
        if (role != PG_OUT && role != PG_INOUT)
            continue;
        const size_t bytes = (size_t)pg_dtype_bits(d->tensors[i].dtype) / 8;
        at[bytes - 1] = (char)(at[bytes - 1] ^ 0x55); /* sign and exponent */
        return;
    }
}

static void judge_spoilt(size_t place, const pg_family *f)
{
    (void)place;
    bool seen = false;
    for (uint64_t seed = 1; !seen && seed < 2000; seed++) {
        drawn before, after;
        ptxgen_error err = {0};
        draw_problem(&before, f, &(draw_options){.seed = seed, .plain = true, .no_zeros = true});
        draw_copy(&after, &before);
        seen = ptxgen_call(ctx, f->name, "", after.tensors, after.count, NULL, &err) == PTXGEN_OK;
        if (seen) {
            expect_right(&before, &after);
            spoil(&after);
            assert_int_equal(judge(&before, &after).wrong, 1);
        }
        draw_free(&before);
        draw_free(&after);
    }
    if (!seen)
        fail_msg("%s: no plain problem is served, so that no result could be spoilt", f->name);
}

static void a_wrong_element_is_seen(void **state)
{
    (void)state;
    each_family(judge_spoilt);
}

/* ---- a bad index ----------------------------------------------------------------------------- */

static size_t index_operand(const pg_family *f)
{
    size_t i = 0;
    while (i < f->operands.count && !f->operands.rows[i].indexes)
        i++;
    return i;
}

/* Row `at` of the index becomes `value`. */
static void set_index(const drawn *d, size_t i, int64_t at, int64_t value)
{
    if (d->tensors[i].dtype == PTXGEN_S64)
        ((int64_t *)d->tensors[i].data)[at] = value;
    else
        ((int32_t *)d->tensors[i].data)[at] = (int32_t)value;
}

static void expect_record(const drawn *d, int64_t position, int64_t value)
{
    char words[64];
    ptxgen_error err = {0};
    snprintf(words, sizeof words, "index[%lld] = %lld", (long long)position, (long long)value);
    if (ptxgen_check_indices(ctx, NULL, &err) != PTXGEN_EINDEX || !strstr(err.message, words))
        fail_msg("%s: \"%s\", wanted %s", draw_text(d), err.message, words);
    assert_int_equal(ptxgen_check_indices(ctx, NULL, &err), PTXGEN_OK);
}

/* No record of the caller's, and nothing that says which values of the index count. */
static void leave_index_alone(drawn *d)
{
    for (size_t i = 0; i < d->count; i++) {
        const pg_operand *row = &d->family->operands.rows[i];
        const bool whole = row->dtypes[0] == PTXGEN_S64 || row->dtypes[0] == PTXGEN_S32;
        if (row->optional && whole && row->role != PG_INDEX && row->role != PG_OUT)
            d->tensors[i] = (ptxgen_tensor){0};
    }
}

/* The first bad position is reported once, whatever is bad after it; the plain C answer refuses. */
static void record_bad(size_t place, const pg_family *f)
{
    (void)place;
    const size_t i = index_operand(f);
    static const int64_t values[] = {-1, INT32_MIN, INT32_MAX, 100000};
    size_t served = 0;
    for (uint64_t seed = 1; i < f->operands.count && served < 12 && seed < 4000; seed++) {
        drawn d;
        ptxgen_error err = {0};
        draw_problem(&d, f, &(draw_options){.seed = seed, .plain = seed % 2, .no_zeros = true});
        leave_index_alone(&d);
        const int64_t n = d.tensors[i].data ? d.tensors[i].shape[0] : 0;
        const int64_t first = n ? (int64_t)(seed * 7) % n : 0;
        if (n && !strstr(d.params, "oob=")) {
            set_index(&d, i, n - 1, 100000);
            set_index(&d, i, first, values[seed % 4]);
            if (ptxgen_call(ctx, f->name, d.params, d.tensors, d.count, NULL, &err) == PTXGEN_OK) {
                expect_record(&d, first, values[seed % 4]);
                assert_int_equal(ptxgen_call_oracle(f->name, d.params, d.tensors, d.count, &err),
                                 PTXGEN_EINDEX);
                served++;
            }
        }
        draw_free(&d);
    }
    assert_true(served > 0 || i == f->operands.count);
}

static void a_bad_index_is_recorded(void **state)
{
    (void)state;
    each_family(record_bad);
}

/* ---- the launch ------------------------------------------------------------------------------ */

static bool look_at(void *user, const ptxgen_launch *l)
{
    (void)l;
    ++*(size_t *)user;
    return true;
}

/* Every parameter of the kernel's list is set by the launch, as what the list says: asked before
 * anything runs. */
static void describe_launches(size_t place, const pg_family *f)
{
    (void)place;
    size_t launches = 0;
    for (uint64_t seed = 1; seed < 40; seed++) {
        drawn d;
        char params[1024];
        ptxgen_kernel *k;
        ptxgen_error err = {0};
        draw_problem(&d, f, &(draw_options){.seed = seed, .most = 130, .no_zeros = true});
        if (ptxgen_call_params(ctx, f->name, d.params, d.tensors, d.count, params, sizeof params,
                               NULL) == PTXGEN_OK) {
            assert_int_equal(ptxgen_emit(ctx, f->name, params, &k, &err), PTXGEN_OK);
            if (ptxgen_call_describe(k, d.tensors, d.count, look_at, &launches, &err) !=
                    PTXGEN_OK &&
                strstr(err.message, "launch sets"))
                fail_msg("%s: %s", draw_text(&d), err.message);
            ptxgen_kernel_unref(k);
        }
        draw_free(&d);
    }
    if (!launches)
        print_message("%s: no drawn problem has launches to look at\n", f->name);
}

static void every_parameter_is_set(void **state)
{
    (void)state;
    each_family(describe_launches);
}

/* ---- tables ---------------------------------------------------------------------------------- */

static void check_dtype_words(size_t place, const pg_family *f)
{
    (void)place;
    for (size_t i = 0; i < f->params.count; i++) {
        const pg_param *p = &f->params.rows[i];
        if (p->from != PG_FROM_DTYPE)
            continue;
        const ptxgen_dtype *list = f->operands.rows[p->source].dtypes;
        size_t n = 0;
        while (list[n] && p->choices[n] && /* an index says i64 where its type is called s64 */
               strcmp(p->choices[n] + 1, pg_dtype_word(list[n]) + 1) == 0)
            n++;
        if (list[n] || p->choices[n])
            fail_msg("%s: word %zu of parameter %s is %s, and type %zu of operand %s is %s: the "
                     "words must be the types, in the same order",
                     f->name, n, p->name, p->choices[n] ? p->choices[n] : "none", n,
                     f->operands.rows[p->source].name, list[n] ? pg_dtype_word(list[n]) : "none");
    }
}

static void words_of_parameters_are_those_of_operands(void **state)
{
    (void)state;
    each_family(check_dtype_words);
}

static void emit_twice(size_t place, const pg_family *f)
{
    (void)place;
    for (uint64_t seed = 1; seed < 40; seed++) {
        drawn d;
        char text[2][1024];
        ptxgen_kernel *k[2];
        ptxgen_kernel_info info[2] = {{.size = sizeof info[0]}, {.size = sizeof info[1]}};
        ptxgen_error err;
        draw_problem(&d, f, &(draw_options){.seed = seed, .most = 16});
        const bool exists =
            ptxgen_canonical(f->name, d.params, text[0], sizeof text[0], &err) == PTXGEN_OK;
        draw_free(&d);
        if (!exists)
            continue;
        /* The canonical text names the kernel it was made of. */
        assert_int_equal(ptxgen_canonical(f->name, text[0], text[1], sizeof text[1], &err),
                         PTXGEN_OK);
        assert_string_equal(text[0], text[1]);
        for (int i = 0; i < 2; i++) {
            ptxgen *other;
            const ptxgen_config config = {.size = sizeof config, .cache_dir = ""};
            assert_int_equal(ptxgen_create(&config, &other, &err), PTXGEN_OK);
            assert_int_equal(ptxgen_emit(other, f->name, text[0], &k[i], &err), PTXGEN_OK);
            ptxgen_kernel_describe(k[i], &info[i]);
            ptxgen_destroy(other);
        }
        assert_string_equal(info[0].ptx, info[1].ptx);
        ptxgen_kernel_unref(k[0]);
        ptxgen_kernel_unref(k[1]);
    }
}

static void the_same_parameters_give_the_same_text(void **state)
{
    (void)state;
    each_family(emit_twice);
}

int main(void)
{
    const ptxgen_config config = {
        .size = sizeof config, .device = PTXGEN_DEVICE_EMULATOR, .cache_dir = ""};
    if (ptxgen_create(&config, &ctx, NULL) != PTXGEN_OK)
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_parameter_is_set),
        cmocka_unit_test(drawn_problems_are_answered),
        cmocka_unit_test(drawn_problems_have_no_race),
        cmocka_unit_test(a_wrong_element_is_seen),
        cmocka_unit_test(a_bad_index_is_recorded),
        cmocka_unit_test(words_of_parameters_are_those_of_operands),
        cmocka_unit_test(the_same_parameters_give_the_same_text),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ptxgen_destroy(ctx);
    return failed;
}
