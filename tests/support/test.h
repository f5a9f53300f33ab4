/* What every cmocka test includes: cmocka with the headers that it needs first. */
#ifndef PG_TEST_H
#define PG_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/alloc.h"

/* Fails the n-th allocation and, when `forever`, all after it. Counts live bytes: a leak is not
 * zero. */
typedef struct failing_alloc {
    size_t calls, fail_at; /* fail_at 0: never */
    bool forever;
    size_t live;
} failing_alloc;

pg_alloc failing_alloc_hook(failing_alloc *f);

/* Exit code that ctest reports as "skipped". */
enum { TEST_SKIPPED = 77 };

#endif
