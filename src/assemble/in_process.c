/* The guards around a compiler that runs in this process. */
#include "assemble/in_process.h"

#include "base/fork_guard.h"

#include <locale.h>

ptxgen_status pg_run_in_process(ptxgen_status (*job)(void *user, ptxgen_error *), void *user,
                                ptxgen_error *err)
{
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0), before = (locale_t)0;
    if (!c)
        return pg_fail_memory(err, 0);
    pg_compile_begin();
    before = uselocale(c);
    const ptxgen_status status = job(user, err);
    uselocale(before);
    pg_compile_end();
    freelocale(c);
    return status;
}
