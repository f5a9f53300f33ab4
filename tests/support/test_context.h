/* One context for the tests of a program: no cache on disk. open_context and close_context are a
 * cmocka group's set-up and tear-down, no device asked for. */
#ifndef TEST_CONTEXT_H
#define TEST_CONTEXT_H

#include "ptxgen/ptxgen.h"

extern ptxgen *context;

int open_context(void **state);
int close_context(void **state);

/* The same on a real GPU, for main before its tests. false: there is none, which it says; main then
 * returns TEST_SKIPPED. */
bool open_gpu(ptxgen_device_info *info);

#endif
