/* Text of architectures and the rule of which device runs which cubin; see arch_match.h. */
#include "base/arch_match.h"

#include "base/error.h"

#include <stdio.h>

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
