/* Running a compiler of NVIDIA's in this process: under a C locale (nvJitLink reads decimal
 * floats with the process's locale: 1234.5678 becomes 1234 in de_DE), and held off from fork(),
 * which would leave its locks held in the child. */
#ifndef PG_IN_PROCESS_H
#define PG_IN_PROCESS_H

#include "base/error.h"

ptxgen_status pg_run_in_process(ptxgen_status (*job)(void *user, ptxgen_error *), void *user,
                                ptxgen_error *);

#endif
