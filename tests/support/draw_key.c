#include "draw_key.h"

#include "draw.h"

/* A word for any parameter, also those that follow from operands. */
static void draw_word(const pg_param *p, uint64_t *state, char *out, size_t size)
{
    const uint64_t r = draw_random(state);
    size_t n = 0;
    if (p->kind == PG_PARAM_CHOICE) {
        while (p->choices[n])
            n++;
        snprintf(out, size, " %s=%s", p->name, p->choices[r % n]);
        return;
    }
    int64_t v = INT64_C(1) << r % 12;
    v = v < p->min ? p->min : v > p->max ? p->max : v;
    snprintf(out, size, " %s=%lld", p->name, (long long)v);
}

/* In some keys each choice is drawn, in others most parameters keep their defaults: families with
 * many parameters have few kernels that differ in all of them. */
void draw_key(const pg_family *f, uint64_t seed, char *params, size_t size)
{
    enum { RARE = 4 };
    uint64_t state = seed;
    size_t i = 0;
    while (pg_arch_at(i))
        i++;
    snprintf(params, size, "arch=%s",
             seed % 2 ? ptxgen_arch_name(f->default_arch)
                      : pg_arch_at(draw_random(&state) % i)->name);
    for (i = 1; i < f->params.count; i++) {
        const size_t used = strlen(params);
        if (f->params.rows[i].kind == PG_PARAM_FUNCTION)
            continue;
        const bool often = f->params.rows[i].kind == PG_PARAM_CHOICE && seed % RARE == 0;
        if (often || draw_random(&state) % RARE == 0)
            draw_word(&f->params.rows[i], &state, params + used, size - used);
    }
}
