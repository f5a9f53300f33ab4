/* PTX ISA 9.0, release notes (targets by version); CUDA programming guide, compute capabilities
 * (shared memory per block). */
#include "base/arch.h"

#include "base/str.h"

#include <stdio.h>

enum { KIB = 1024 };

/* X(id, name, sm, suffix, first PTX version, KiB of shared memory per block) */
#define ARCHES(X)                                                                                  \
    X(800, "sm_80", 80, 0, "7.0", 163)                                                             \
    X(860, "sm_86", 86, 0, "7.1", 99)                                                              \
    X(870, "sm_87", 87, 0, "7.4", 163)                                                             \
    X(890, "sm_89", 89, 0, "7.8", 99)                                                              \
    X(900, "sm_90", 90, 0, "8.0", 227)                                                             \
    X(901, "sm_90a", 90, 'a', "8.0", 227)                                                          \
    X(1000, "sm_100", 100, 0, "8.6", 227)                                                          \
    X(1001, "sm_100a", 100, 'a', "8.6", 227)                                                       \
    X(1002, "sm_100f", 100, 'f', "8.8", 227)                                                       \
    X(1030, "sm_103", 103, 0, "8.8", 227)                                                          \
    X(1031, "sm_103a", 103, 'a', "8.8", 227)                                                       \
    X(1032, "sm_103f", 103, 'f', "8.8", 227)                                                       \
    X(1100, "sm_110", 110, 0, "9.0", 227)                                                          \
    X(1101, "sm_110a", 110, 'a', "9.0", 227)                                                       \
    X(1102, "sm_110f", 110, 'f', "9.0", 227)                                                       \
    X(1200, "sm_120", 120, 0, "8.7", 99)                                                           \
    X(1201, "sm_120a", 120, 'a', "8.7", 99)                                                        \
    X(1202, "sm_120f", 120, 'f', "8.8", 99)                                                        \
    X(1210, "sm_121", 121, 0, "8.8", 99)                                                           \
    X(1211, "sm_121a", 121, 'a', "8.8", 99)                                                        \
    X(1212, "sm_121f", 121, 'f', "8.8", 99)

static const pg_arch arches[] = {
#define ROW(id, name, sm, suffix, ptx, kib) {id, name, sm, suffix, ptx, (kib)*KIB},
    ARCHES(ROW)
#undef ROW
};

static const char *const names[] = {
#define NAME(id, name, sm, suffix, ptx, kib) name,
    ARCHES(NAME)
#undef NAME
        NULL,
};

const char *const *pg_arch_names(void)
{
    return names;
}

const pg_arch *pg_arch_at(size_t i)
{
    return i < sizeof arches / sizeof *arches ? &arches[i] : NULL;
}

const pg_arch *pg_arch_find(ptxgen_arch id)
{
    for (size_t i = 0; pg_arch_at(i); i++)
        if (arches[i].id == id)
            return &arches[i];
    return NULL;
}

static const char *arch_name(const void *unused, size_t i)
{
    (void)unused;
    return names[i];
}

ptxgen_status ptxgen_arch_parse(const char *text, ptxgen_arch *out, ptxgen_error *err)
{
    const char *nearest;
    const size_t i = pg_str_find(pg_str_of(text ? text : ""), arch_name, NULL, &nearest);
    if (i == SIZE_MAX)
        return pg_fail(err, PTXGEN_EINVAL,
                       "arch \"%.40s\" is not known: use sm_80, sm_86, sm_89, sm_90, sm_90a, "
                       "sm_100, sm_100a, sm_100f, sm_103a or"
                       " later%s%s%s",
                       text ? text : "", nearest[0] ? "; did you mean " : "", nearest,
                       nearest[0] ? "?" : "");
    *out = arches[i].id;
    return PTXGEN_OK;
}

const char *ptxgen_arch_name(ptxgen_arch arch)
{
    const pg_arch *a = pg_arch_find(arch);
    return a ? a->name : "sm_?";
}

/* ---- numbers, also those without a row ---- */

enum { SUFFIX_A = 1, SUFFIX_F = 2 };

pg_arch_text pg_arch_to_text(ptxgen_arch arch)
{
    static const char *const suffixes[] = {"", "a", "f"};
    pg_arch_text t;
    int suffix = (int)(arch % 10);
    if (arch <= 0 || arch > 99999 || suffix > SUFFIX_F)
        snprintf(t.text, sizeof t.text, "sm_?");
    else
        snprintf(t.text, sizeof t.text, "sm_%d%s", (int)(arch / 10), suffixes[suffix]);
    return t;
}

ptxgen_arch pg_arch_of_device(int major, int minor)
{
    return (major * 10 + minor) * 10 + (major >= 9 ? SUFFIX_A : 0);
}

ptxgen_status pg_arch_check(ptxgen_arch image, ptxgen_arch device, ptxgen_error *err)
{
    ptxgen_arch image_sm = image / 10, device_sm = device / 10;
    const char *rule;
    if (image % 10 == SUFFIX_A) {
        if (image_sm == device_sm)
            return PTXGEN_OK;
        rule = "runs only on that architecture";
    } else {
        if (image_sm / 10 == device_sm / 10 && image_sm <= device_sm)
            return PTXGEN_OK;
        rule = "runs only on devices of the same major version and at least that minor version";
    }
    return pg_fail(
        err, PTXGEN_EUNSUPPORTED,
        "the kernel was built for %s, which %s; this device is %s: request the kernel with "
        "arch=%s, or without arch to take the device's",
        pg_arch_to_text(image).text, rule, pg_arch_to_text(device).text,
        pg_arch_to_text(device).text);
}

int pg_clusters_at_once(int size, int sm_count)
{
    const int whole = sm_count / size > 1 ? sm_count / size : 1;
    return size > 2 && whole > 4 ? (whole + 1) * 10 / 11 : whole;
}
