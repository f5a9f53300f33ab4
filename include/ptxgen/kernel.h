/* Kernels: families and their parameters, from a text of parameters to PTX and cubin, now or in
 * the background, and lists of kernels (manifests). How a kernel is called is ptxgen/call.h. The
 * conventions of ptxgen.h hold. */
#ifndef PTXGEN_KERNEL_H
#define PTXGEN_KERNEL_H

#include "ptxgen/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- families and kernels -------------------------------------------------------------------- */

/* A kernel is named by its family and parameters, as text: "dtype=bf16 n=512 arch=sm_90".
 * Parameters not named take their defaults; `ptxgen list -v` and ptxgen_family_param describe
 * them. The canonical text, with every parameter in table order, is the kernel's identity. */

typedef enum ptxgen_param_kind {
    PTXGEN_PARAM_CHOICE,
    PTXGEN_PARAM_INTEGER,
    PTXGEN_PARAM_FUNCTION /* the number of a user function (ptxgen/function.h), or a word */
} ptxgen_param_kind;

typedef struct ptxgen_param_info {
    const char *name, *doc;
    ptxgen_param_kind kind;
    /* NULL-terminated words; for an integer: words it also accepts, or NULL. */
    const char *const *choices;
    int64_t min, max; /* PTXGEN_PARAM_INTEGER */
    const char *default_text;
} ptxgen_param_info;

PTXGEN_API size_t ptxgen_family_count(void);
/* NULL when i is out of range. */
PTXGEN_API const char *ptxgen_family_name(size_t i);
PTXGEN_API const char *ptxgen_family_summary(size_t i);
PTXGEN_API size_t ptxgen_family_param_count(size_t i);
/* false when i or param is out of range. */
PTXGEN_API bool ptxgen_family_param(size_t i, size_t param, ptxgen_param_info *out);

/* Canonical text of `params` into out (NUL-terminated, cut to size). EINVAL names an unknown
 * parameter or word and the nearest known one; EUNSUPPORTED says why no kernel exists for the
 * combination. */
PTXGEN_API ptxgen_status ptxgen_canonical(const char *family, const char *params, char *out,
                                          size_t size, ptxgen_error *err);

/* The oldest CUDA toolkit whose assembler takes the kernel, "12.3", into out as above. */
PTXGEN_API ptxgen_status ptxgen_toolkit_needed(ptxgen *ctx, const char *family, const char *params,
                                               char *out, size_t size, ptxgen_error *err);
/* The key under which ptxgen_compile would look for the kernel: lines "name=value", with the
 * assembler that would be used. Into out as above; for ptxgen_cache_nearest. EMISSING when there
 * is no assembler. */
PTXGEN_API ptxgen_status ptxgen_key(ptxgen *ctx, const char *family, const char *params, char *out,
                                    size_t size, ptxgen_error *err);

/* The kernel's PTX only: no toolkit, no driver, no cache. */
PTXGEN_API ptxgen_status ptxgen_emit(ptxgen *ctx, const char *family, const char *params,
                                     ptxgen_kernel **out, ptxgen_error *err);
/* The template file and line that wrote line `ptx_line` (from 1) of the kernel's PTX; false when
 * there is none or the PTX came from the disk. */
PTXGEN_API bool ptxgen_kernel_line_origin(const ptxgen_kernel *kernel, int ptx_line,
                                          const char **file, int *line);
/* PTX and cubin, from memory, disk or an assembler. No driver needed unless the assembler is the
 * driver. */
PTXGEN_API ptxgen_status ptxgen_compile(ptxgen *ctx, const char *family, const char *params,
                                        ptxgen_kernel **out, ptxgen_error *err);
/* The same, and loaded on the device of the current context (the primary context of device 0
 * when none is current), so that nothing is left to do at the first launch. `arch` defaults to
 * that device's. ECAPTURE when `stream` is being captured and the kernel is not ready; the
 * capture stays intact. */
PTXGEN_API ptxgen_status ptxgen_get(ptxgen *ctx, const char *family, const char *params,
                                    ptxgen_stream stream, ptxgen_kernel **out, ptxgen_error *err);

PTXGEN_API ptxgen_kernel *ptxgen_kernel_ref(ptxgen_kernel *kernel);
PTXGEN_API void ptxgen_kernel_unref(ptxgen_kernel *kernel); /* NULL is allowed */

/* How this process came by a kernel. */
typedef enum ptxgen_origin {
    PTXGEN_ORIGIN_EMITTED, /* PTX only, no cubin: ptxgen_emit, or ptxgen_get for the emulator */
    PTXGEN_ORIGIN_ASSEMBLED,
    PTXGEN_ORIGIN_DISK
} ptxgen_origin;

typedef struct ptxgen_kernel_info {
    size_t size;                 /* set by the caller */
    const char *family, *params; /* canonical text */
    const char *entry;           /* the .entry name in the PTX */
    const char *key;             /* full cache key text; "" when only emitted */
    ptxgen_arch arch;
    ptxgen_origin origin;
    const char *assembler; /* "ptxas 13.0.88 (build-id)"; "" when only emitted */
    const char *log;       /* the assembler's, "" if it said nothing */
    int registers, shared_bytes, local_bytes, spill_bytes; /* -1: unknown */
    const char *ptx;
    size_t ptx_size;
    const void *cubin;
    size_t cubin_size; /* 0 when only emitted */
    double emit_us, assemble_us;
    /* that a launch must ask for; shared_bytes is what the kernel declares */
    int dynamic_shared_bytes;
} ptxgen_kernel_info;
PTXGEN_API void ptxgen_kernel_describe(const ptxgen_kernel *kernel, ptxgen_kernel_info *info);

/* ---- in the background ----------------------------------------------------------------------- */

/* Hands the kernel to a thread of the context and returns at once; OK also when it is there,
 * waits or is being compiled already. `params` mean what they mean to ptxgen_compile: name the
 * arch when ptxgen_get will ask for it on a device whose arch is not the family's default. Until
 * it is ready, ptxgen_compile and ptxgen_get of the same kernel wait for the thread that
 * compiles it, or compile it themselves when none has begun. EBUDGET: prefetch_queue kernels
 * wait already. Errors of the compile itself: see ptxgen_poll. */
PTXGEN_API ptxgen_status ptxgen_prefetch(ptxgen *ctx, const char *family, const char *params,
                                         ptxgen_error *err);
/* Never waits. OK: the kernel is in memory. EPENDING: it waits or is being compiled. Else the
 * error of the last attempt in the background; it is only told, never believed: ptxgen_compile
 * tries again and shows its own. EINVAL: nobody asked for it, or it was forgotten since
 * (ptxgen_cache_clear; of failures the last 64 stay). */
PTXGEN_API ptxgen_status ptxgen_poll(ptxgen *ctx, const char *family, const char *params,
                                     ptxgen_error *err);

/* ---- manifests ------------------------------------------------------------------------------- */

/* A manifest is text: "FAMILY name=value ..." a line, # begins a comment. A line is a kernel
 * (its parameters), or a problem (extents of the family's operands, and parameters); a value may
 * be a list, "dtype=f16,bf16", which stands for a line for each. `ptxgen prewarm` compiles what
 * its lines ask for into the cache. */

/* The kernel of a line, as canonical parameters for ptxgen_get, into out (NUL-terminated, cut to
 * size). With extents ("m=4096 n=14336 k=4096 dtype=bf16") it is the one that a call of dense,
 * aligned operands of those extents takes on this context's device, or, where `arch` names
 * another, on one of its size. OPERAND=TYPE says an element type that no parameter does
 * ("a=e2m1"), and that an operand is there which may be left out ("c=f32"). */
PTXGEN_API ptxgen_status ptxgen_problem_params(ptxgen *ctx, const char *family, const char *text,
                                               char *out, size_t size, ptxgen_error *err);

/* Writes the canonical line of every kernel this context had from ptxgen_compile, ptxgen_get,
 * ptxgen_prefetch or an operation, also if it was forgotten since; sorted, each once, at most
 * 65536 (then ENOMEM, with those written). The file is replaced in one step, mode 0600. EIO when
 * that is not possible. */
PTXGEN_API ptxgen_status ptxgen_manifest_write(ptxgen *ctx, const char *path, ptxgen_error *err);

typedef struct ptxgen_manifest_line {
    int number;                  /* from 1 */
    const char *family, *params; /* as written, with single spaces; borrowed during the visit */
} ptxgen_manifest_line;
/* Return false to stop. */
typedef bool (*ptxgen_manifest_visit)(void *user, const ptxgen_manifest_line *line);
/* Calls visit for each line of text[size], for each choice from its lists. EPARSE with the line:
 * a byte that is no plain text, over 1024 bytes in a line, over 16 MiB in all, over 4096 choices
 * in a line. Families and parameters are not checked. */
PTXGEN_API ptxgen_status ptxgen_manifest_parse(const char *text, size_t size,
                                               ptxgen_manifest_visit visit, void *user,
                                               ptxgen_error *err);

#ifdef __cplusplus
}
#endif

#endif
