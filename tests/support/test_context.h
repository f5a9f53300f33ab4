/* One context for the tests of a program: no cache on disk, no device asked for. open_context and
 * close_context are a cmocka group's set-up and tear-down. */
#ifndef TEST_CONTEXT_H
#define TEST_CONTEXT_H

#include "ptxgen/ptxgen.h"

extern ptxgen *context;

int open_context(void **state);
int close_context(void **state);

#endif
