/* ptxgen: GPU kernels specialized for one problem. This header is where the manual of the
 * library begins.
 *
 *     ptxgen/status.h    statuses and errors
 *     ptxgen/types.h     element types, architectures, devices by name
 *     ptxgen/context.h   configuration, a context's cache, settings, parts found
 *     ptxgen/kernel.h    families and parameters; emit, compile, get, prefetch; manifests
 *     ptxgen/device.h    the device: facts, memory, waiting
 *     ptxgen/call.h      calling any family on tensors; plain C answers, verdicts, launch records
 *     ptxgen/scatter_add.h, ptxgen/matmul.h   typed calls of single families
 *     ptxgen/dlpack.h    the same calls on DLPack's tensors (PyTorch, JAX, CuPy, NumPy, TVM)
 *     ptxgen/function.h, ptxgen/inline.h          the caller's own code inside of kernels
 *     ptxgen/cache.h, ptxgen/inspect.h, ptxgen/emulator.h   for tools: cache folders, cubins, the
 *                                                           emulator
 *
 * All but matmul.h, dlpack.h and the last two lines come with this header.
 *
 * From a problem (a dtype, a row length, tile sizes) ptxgen writes PTX for exactly that problem,
 * assembles it to a cubin, keeps the cubin in memory and on disk by key, loads it and launches
 * it.
 *
 *     ptxgen *ctx;
 *     ptxgen_error err;
 *     if (ptxgen_create(NULL, &ctx, &err) != PTXGEN_OK) { puts(err.message); return 1; }
 *     ptxgen_scatter_add_args a = {.size = sizeof a, .dtype = PTXGEN_BF16, .rows = m,
 *                                  .out_rows = k, .n = 512, .out = d_out, .src = d_src,
 *                                  .index = d_index};
 *     if (ptxgen_scatter_add(ctx, &a, stream, &err) != PTXGEN_OK) puts(err.message);
 *     ptxgen_destroy(ctx);
 *
 * Conventions that hold for every call:
 * - Structs begin with `size` (set it to sizeof) and zero means default, so an initialiser names
 *   only what differs and a newer library accepts an older program's struct. Passing NULL takes
 *   all defaults.
 * - A call that can fail returns a ptxgen_status and fills the caller's ptxgen_error (may be
 *   NULL).
 * - Contexts, kernels and places for results (out) must not be NULL, unless a call says
 *   otherwise; the pointers inside argument structs are checked.
 * - Any function may be called from any thread; a ptxgen may be shared; requests for the same
 *   kernel compile once. Only ptxgen_destroy must be alone. Kernels are immutable and
 *   reference-counted.
 * - A process may fork() at any time. The child can go on with its parent's ptxgen: get,
 *   compile, prefetch, destroy; what the parent was compiling is not continued there. CUDA
 *   itself does not survive a fork.
 * - The library never prints, exits, aborts or changes the current CUDA context, and reads the
 *   environment only inside ptxgen_create.
 * - Strings and bytes returned by a getter are borrowed: valid while the object they came from
 *   is.
 *
 * What a config leaves zero, ptxgen_create takes from the environment, else from the user's
 * configuration file ($XDG_CONFIG_HOME or ~/.config, ptxgen/config.json), else from
 * /etc/ptxgen/config.json; PTXGEN_CONFIG names another file to take the place of both, "" none.
 * A file is a JSON object; it belongs to this user or root and nobody else may write to it.
 * ptxgen_setting_at lists the names, and says where each value came from. XDG_CACHE_HOME,
 * XDG_DATA_HOME, HOME, CUDA_HOME and PATH are read to find the cache folder and the toolkit.
 */
#ifndef PTXGEN_PTXGEN_H
#define PTXGEN_PTXGEN_H

#include "ptxgen/call.h"
#include "ptxgen/context.h"
#include "ptxgen/device.h"
#include "ptxgen/kernel.h"
#include "ptxgen/scatter_add.h"
#include "ptxgen/types.h"

#define PTXGEN_VERSION_MAJOR 0
#define PTXGEN_VERSION_MINOR 1
#define PTXGEN_VERSION_PATCH 0

#endif
