/* templates/families.def as a table. */
#include "generate/family.h"

#include "base/str.h"

#define PG_FAMILY(folder)                                                                          \
    extern const pg_family pg_family_##folder;                                                     \
    extern const pg_family *const pg_defined_##folder;
#define PG_HELPER(folder) extern const pg_family pg_family_##folder;
#include "families.def"
#undef PG_FAMILY
#undef PG_HELPER

/* What PG_DEFINE_FAMILY writes is named here, so that a family that is defined without it, and may
 * lack a hook, does not link. */
static const struct {
    const pg_family *family;
    const pg_family *const *defined;
} families[] = {
#define PG_FAMILY(folder) {&pg_family_##folder, &pg_defined_##folder},
#define PG_HELPER(folder) {&pg_family_##folder, NULL},
#include "families.def"
#undef PG_FAMILY
#undef PG_HELPER
    {NULL, NULL},
};

const pg_family *pg_family_at(size_t i)
{
    return i < sizeof families / sizeof *families ? families[i].family : NULL;
}

static const char *family_name(const void *unused, size_t i)
{
    (void)unused;
    return pg_family_at(i) ? families[i].family->name : NULL;
}

ptxgen_status pg_family_find(const char *name, const pg_family **out, ptxgen_error *err)
{
    const char *nearest;
    char end[240];
    const size_t i = pg_str_find(pg_str_of(name ? name : ""), family_name, NULL, &nearest);
    if (i == SIZE_MAX)
        return pg_fail(err, PTXGEN_EINVAL, "there is no kernel family \"%.60s\"; %s",
                       name ? name : "",
                       pg_str_suggest(nearest, family_name, NULL, end, sizeof end));
    *out = families[i].family;
    return PTXGEN_OK;
}

ptxgen_arch pg_family_arch_on(const pg_family *f, ptxgen_arch device_arch)
{
    enum { SUFFIX_A = 1 };
    if (!f->arch_specific)
        return device_arch / 10 * 10;
    /* Before sm_90 there are no such targets. */
    return pg_arch_find(device_arch + SUFFIX_A) && device_arch % 10 == 0 ? device_arch + SUFFIX_A
                                                                         : device_arch;
}
