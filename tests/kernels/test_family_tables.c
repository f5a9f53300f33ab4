/* What every family's tables must say, and whether it is true. A family needs no line here. */
#include "test.h"

#include "families.h"

static void nothing_is_missing(void **state)
{
    (void)state;
    for (size_t i = 0; family_at(i); i++) {
        const pg_family *f = family_at(i);
        if (!f->summary || !f->params.count || !f->params.key_size || !f->plan_size ||
            !pg_arch_find(f->default_arch))
            fail_msg("%s: summary, params, plan_size or default_arch is missing", f->name);
        if (f->params.rows[0].kind != PG_PARAM_ARCH || f->params.rows[0].offset != 0)
            fail_msg("%s: the first parameter must be arch", f->name);
        assert_true(f->params.key_size <= PG_KEY_MAX_BYTES && f->plan_size <= PG_PLAN_MAX_BYTES);
        for (size_t k = 0; k < f->params.count; k++)
            if (!f->params.rows[k].doc)
                fail_msg("%s: parameter %s has no doc", f->name, f->params.rows[k].name);
        for (size_t k = 0; k < f->operands.count; k++) {
            const pg_operand *o = &f->operands.rows[k];
            if (!o->doc || !o->dtypes)
                fail_msg("%s: operand %s has no doc or no dtypes", f->name, o->name);
            if (o->same_dtype_as > k)
                fail_msg("%s: same_dtype_as of operand %s names no earlier one", f->name, o->name);
        }
    }
}

/* "sm_90 and up" of the parameter arch is what `resolve` does. */
static void the_architectures_are_those_that_the_table_says(void **state)
{
    (void)state;
    for (size_t i = 0; family_at(i); i++) {
        const pg_family *f = family_at(i);
        const char *said = strstr(f->params.rows[0].doc, "sm_");
        int oldest;
        if (!strstr(f->params.rows[0].doc, " and up") || !said ||
            sscanf(said, "sm_%d and up", &oldest) != 1)
            continue;
        for (size_t a = 0; pg_arch_at(a); a++) {
            const pg_arch *arch = pg_arch_at(a);
            int64_t key[PG_KEY_MAX_BYTES / sizeof(int64_t)];
            ptxgen_error err = {0};
            pg_params_default(&f->params, key, arch->id);
            const ptxgen_status status = f->resolve(key, arch, &err);
            if (status != (arch->sm < oldest ? PTXGEN_EUNSUPPORTED : PTXGEN_OK))
                fail_msg("%s: its table says \"%s\", and on %s it gives %s %s", f->name,
                         f->params.rows[0].doc, arch->name, ptxgen_status_name(status),
                         err.message);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_missing),
        cmocka_unit_test(the_architectures_are_those_that_the_table_says)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
