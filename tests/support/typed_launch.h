/* The launch record of a typed call's struct: what its kernel would be launched with, without
 * running it. */
#ifndef TYPED_LAUNCH_H
#define TYPED_LAUNCH_H

#include "test.h"

#include "api/typed.h"

/* `args` is the public struct of `family`. Pointers are not looked at; a wrong shape fails the
 * test. */
void typed_problem(const char *family, const void *args, const void *plan,
                   const ptxgen_device_info *device, pg_problem *out);
/* The first launch of its call. */
void typed_launch(const char *family, const void *args, const void *plan,
                  const ptxgen_device_info *device, pg_launch *out);

#endif
