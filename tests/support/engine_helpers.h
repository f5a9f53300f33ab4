/* Helpers of the engine's tests: a toolkit whose ptxas is a shell script that counts its runs
 * and does what the test says, and contexts that use it. No real assembler is needed. */
#ifndef ENGINE_HELPERS_H
#define ENGINE_HELPERS_H

#include "test.h"

#include "api/context.h"

typedef struct fake_toolkit {
    char dir[64];
} fake_toolkit;

/* What the script may do; $d is the toolkit's folder, the PTX is descriptor 3, the cubin 4. */
#define FAKE_ASSEMBLES "\"$d/assemble\" </proc/self/fd/3 >/proc/self/fd/4"
#define FAKE_REFUSES                                                                               \
    "echo 'ptxas /proc/self/fd/3, line 12; error   : Arguments mismatch for instruction mov'; "    \
    "exit 255"
/* Waits for fake_toolkit_go. */
#define FAKE_WAITS "while [ ! -e \"$d/go\" ]; do sleep 0.01; done; " FAKE_ASSEMBLES

/* A folder with ptxas, which writes cubins without code (stub_assemble/), and a cubin for sm_90
 * without kernels. */
void fake_toolkit_make(fake_toolkit *t);
void fake_toolkit_remove(const fake_toolkit *t);
/* From now on the script does this; its identity stays the same. */
void fake_toolkit_does(const fake_toolkit *t, const char *script);
void fake_toolkit_go(const fake_toolkit *t);
/* How often it was run. */
int fake_toolkit_runs(const fake_toolkit *t);
/* Waits until it was run `runs` times. */
void fake_toolkit_await(const fake_toolkit *t, int runs);

/* A context with this toolkit and cache folder ("" for none), the rest from `config` (NULL:
 * defaults). */
ptxgen *engine_create(const fake_toolkit *t, const char *cache_dir, const ptxgen_config *config);
ptxgen_cache_info engine_info(ptxgen *ctx);
/* Compiles, checks that it succeeds and gives the kernel up again. */
void engine_compile(ptxgen *ctx, const char *params);

#endif
