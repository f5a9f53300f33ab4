/* What no kernel of a family does, its plain C answer refuses as well, with the same status: types
 * of operands that do not go together, parameters that contradict each other. Problems are drawn
 * from the tables; a family needs no line here. (Of memory the two differ on purpose: plain C
 * reads rows of any alignment.) */
#include "test.h"

#include "draw.h"
#include "families.h"

static ptxgen *ctx;

static struct {
    int served, refused;
} seen;

/* Parameters and an architecture to ask for. */
static const char *with_arch(const drawn *d, const pg_arch *arch)
{
    static char text[1024];
    snprintf(text, sizeof text, "arch=%s%s", arch->name, d->params);
    return text;
}

typedef ptxgen_status (*attempt)(const drawn *d, const char *params, ptxgen_error *err);

/* Whether there is a kernel of the parameters, with these operands or with others: nothing of
 * memory is judged, nor what follows from its layout. */
static ptxgen_status ask(const drawn *d, const char *params, ptxgen_error *err)
{
    char out[1024];
    const ptxgen_status status = ptxgen_canonical(d->family->name, params, out, sizeof out, err);
    return status == PTXGEN_OK ? status
                               : ptxgen_call_params(ctx, d->family->name, params, d->tensors,
                                                    d->count, out, sizeof out, err);
}

static ptxgen_status call(const drawn *d, const char *params, ptxgen_error *err)
{
    drawn copy;
    draw_copy(&copy, d);
    const ptxgen_status status =
        ptxgen_call(ctx, d->family->name, params, copy.tensors, copy.count, NULL, err);
    draw_free(&copy);
    return status;
}

/* The status on the family's own architecture, when no other one serves it either. */
static ptxgen_status on_any_arch(const drawn *d, attempt try, ptxgen_error *err)
{
    const ptxgen_status own = try(d, with_arch(d, pg_arch_find(d->family->default_arch)), err);
    if (own == PTXGEN_OK)
        return own;
    for (size_t i = 0; pg_arch_at(i); i++)
        if (try(d, with_arch(d, pg_arch_at(i)), NULL) == PTXGEN_OK)
            return PTXGEN_OK;
    return own;
}

static bool is_about_alignment(const ptxgen_error *err)
{
    return strstr(err->message, "(pad the rows)") ||
           strstr(err->message, "(copy to an aligned buffer)");
}

static void compare(const drawn *d, attempt try)
{
    ptxgen_error by_call = {0}, by_oracle = {0};
    drawn copy;
    const ptxgen_status status = on_any_arch(d, try, &by_call);
    draw_copy(&copy, d);
    const ptxgen_status plain =
        ptxgen_call_oracle(d->family->name, d->params, copy.tensors, copy.count, &by_oracle);
    draw_free(&copy);
    seen.served += status == PTXGEN_OK;
    seen.refused += status != PTXGEN_OK;
    if (status == PTXGEN_OK && try == ask) /* operands may still not go with them */
        return;
    if (is_about_alignment(&by_call)) /* the plain answer reads memory of any */
        return;
    if (plain != status)
        fail_msg("%s: the call gives %s \"%s\", and the plain C answer %s \"%s\": what no kernel "
                 "does, refuse in `resolve`, or in `limits` for hosts too",
                 draw_text(d), ptxgen_status_name(status), by_call.message,
                 ptxgen_status_name(plain), by_oracle.message);
}

static void each_family(size_t draws, bool plain, attempt try)
{
    for (size_t i = 0; family_at(i); i++) {
        const pg_family *f = family_at(i);
        seen.served = seen.refused = 0;
        for (size_t n = 0; n < draws && !family_is_helper(f); n++) {
            drawn d;
            draw_problem(
                &d, f,
                &(draw_options){.seed = 40000 + n, .plain = plain, .most = 20, .no_zeros = true});
            if (!strstr(d.params, "arch="))
                compare(&d, try);
            draw_free(&d);
        }
        print_message("%s: %d served, %d refused\n", f->name, seen.served, seen.refused);
    }
}

static void types_are_refused_alike(void **state)
{
    (void)state;
    each_family(draws_wanted(20), true, call);
}

static void parameters_are_refused_alike(void **state)
{
    (void)state;
    each_family(draws_wanted(200), false, ask);
}

int main(void)
{
    const ptxgen_config config = {
        .size = sizeof config, .device = PTXGEN_DEVICE_EMULATOR, .cache_dir = ""};
    if (ptxgen_create(&config, &ctx, NULL) != PTXGEN_OK)
        return 1;
    const struct CMUnitTest tests[] = {cmocka_unit_test(types_are_refused_alike),
                                       cmocka_unit_test(parameters_are_refused_alike)};
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ptxgen_destroy(ctx);
    return failed;
}
