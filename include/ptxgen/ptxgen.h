/* ptxgen: GPU kernels specialized for one problem. This header is the manual of the library.
 *
 * From a problem (a dtype, a row length, tile sizes) ptxgen writes PTX for exactly that problem,
 * assembles it to a cubin, keeps the cubin in memory and on disk by key, loads it and launches it.
 *
 *     ptxgen *ctx;
 *     ptxgen_error err;
 *     if (ptxgen_create(NULL, &ctx, &err) != PTXGEN_OK) { puts(err.message); return 1; }
 *     ptxgen_scatter_add_args a = {.size = sizeof a, .dtype = PTXGEN_BF16, .rows = m, .out_rows = k,
 *                                  .n = 512, .out = d_out, .src = d_src, .index = d_index};
 *     if (ptxgen_scatter_add(ctx, &a, stream, &err) != PTXGEN_OK) puts(err.message);
 *     ptxgen_destroy(ctx);
 *
 * Conventions that hold for every call:
 * - Structs begin with `size` (set it to sizeof) and zero means default, so an initialiser names only
 *   what differs and a newer library accepts an older program's struct. Passing NULL takes all defaults.
 * - A call that can fail returns a ptxgen_status and fills the caller's ptxgen_error (may be NULL).
 * - Contexts, kernels and places for results (out) must not be NULL, unless a call says otherwise; the pointers
 *   inside argument structs are checked.
 * - Any function may be called from any thread; a ptxgen may be shared; requests for the same kernel
 *   compile once. Only ptxgen_destroy must be alone. Kernels are immutable and reference-counted.
 * - A process may fork() at any time. The child can go on with its parent's ptxgen: get, compile, prefetch,
 *   destroy; what the parent was compiling is not continued there. CUDA itself does not survive a fork.
 * - The library never prints, exits, aborts or changes the current CUDA context, and reads the
 *   environment only inside ptxgen_create.
 * - Strings and bytes returned by a getter are borrowed: valid while the object they came from is.
 *
 * What a config leaves zero, ptxgen_create takes from the environment, else from the user's configuration file
 * ($XDG_CONFIG_HOME or ~/.config, ptxgen/config.json), else from /etc/ptxgen/config.json; PTXGEN_CONFIG names another
 * file to take the place of both, "" none. A file is a JSON object; it belongs to this user or root and nobody else may
 * write to it. ptxgen_setting_at lists the names, and says where each value came from. XDG_CACHE_HOME, XDG_DATA_HOME,
 * HOME, CUDA_HOME and PATH are read to find the cache folder and the toolkit.
 */
#ifndef PTXGEN_PTXGEN_H
#define PTXGEN_PTXGEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ptxgen/status.h"

#define PTXGEN_VERSION_MAJOR 0
#define PTXGEN_VERSION_MINOR 1
#define PTXGEN_VERSION_PATCH 0

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ptxgen ptxgen;               /* context: configuration, cache, devices */
typedef struct ptxgen_kernel ptxgen_kernel; /* one specialized kernel: PTX, cubin, loaded modules */

/* A CUDA stream (CUstream, cudaStream_t); NULL is the legacy default stream. */
typedef void *ptxgen_stream;

typedef enum ptxgen_device_kind {
    PTXGEN_DEVICE_AUTO, /* a GPU when the driver finds one, else the emulator */
    PTXGEN_DEVICE_CUDA,
    PTXGEN_DEVICE_EMULATOR /* host memory is device memory */
} ptxgen_device_kind;

typedef enum ptxgen_assembler {
    PTXGEN_ASSEMBLER_AUTO,  /* the first below that is there and keeps what the kernel needs */
    PTXGEN_ASSEMBLER_PTXAS, /* child process */
    PTXGEN_ASSEMBLER_NVPTXCOMPILER, /* in process, if the library was built with it */
    PTXGEN_ASSEMBLER_NVJITLINK,     /* in process, shared library; drops setmaxnreg */
    PTXGEN_ASSEMBLER_DRIVER         /* the CUDA driver's linker; drops setmaxnreg */
} ptxgen_assembler;

typedef enum ptxgen_dtype {
    PTXGEN_DTYPE_NONE,
    PTXGEN_F32,
    PTXGEN_F16,
    PTXGEN_BF16,
    PTXGEN_S32,
    PTXGEN_U32,
    PTXGEN_S64,
    PTXGEN_U64,
    PTXGEN_F64,
    PTXGEN_S16,
    PTXGEN_U16,
    PTXGEN_S8,
    PTXGEN_U8, /* also bool and bare bytes */
    PTXGEN_E4M3,
    PTXGEN_E5M2,
    PTXGEN_E2M1, /* 4 bits, two to a byte, the one with the even index in the low half */
    PTXGEN_UE8M0 /* a power of two: scales of groups */
} ptxgen_dtype;
/* "bf16"; "none" for a number that is no element type. Static storage. */
PTXGEN_API const char *ptxgen_dtype_name(ptxgen_dtype dtype);
/* Bits of an element; 0 for a number that is no element type. */
PTXGEN_API int ptxgen_dtype_bits(ptxgen_dtype dtype);
typedef enum ptxgen_index_type { PTXGEN_INDEX_I64, PTXGEN_INDEX_I32 } ptxgen_index_type;

/* An architecture as a number: SM version * 10 + suffix (0 none, 1 'a', 2 'f'): sm_90a is 901. */
typedef int64_t ptxgen_arch;
/* "sm_90a" -> 901. EINVAL with the list of known ones for any other text. */
PTXGEN_API ptxgen_status ptxgen_arch_parse(const char *text, ptxgen_arch *out, ptxgen_error *err);
/* 901 -> "sm_90a"; "sm_?" for an unknown number. Static storage. */
PTXGEN_API const char *ptxgen_arch_name(ptxgen_arch arch);

/* ---- context ---------------------------------------------------------------------------------- */

typedef enum ptxgen_cache_use {
    PTXGEN_CACHE_AUTO, /* on, unless PTXGEN_CACHE=off is in the environment */
    PTXGEN_CACHE_ON,
    PTXGEN_CACHE_OFF /* memory only: neither the folder nor the layers are looked at */
} ptxgen_cache_use;

/* Whose files in the cache are believed. */
typedef enum ptxgen_cache_trust {
    PTXGEN_CACHE_TRUST_OWNER, /* this user's or root's, where nobody else may write */
    PTXGEN_CACHE_TRUST_ANY /* of whoever can write to the folder: they can run code on the GPU as this process */
} ptxgen_cache_trust;

typedef struct ptxgen_config {
    size_t size;
    /* One allocator hook: realloc(user, NULL, 0, n) allocates, realloc(user, p, n, 0) frees and returns
     * NULL. NULL: libc. Called from any thread. */
    void *(*realloc)(void *user, void *p, size_t old_size, size_t new_size);
    /* Log lines without a newline. NULL: silent. Called from any thread. */
    void (*log)(void *user, ptxgen_log_level level, const char *line);
    void *user;
    ptxgen_log_level log_level; /* lines above it are not made; 0: errors only */
    const char
        *cache_dir; /* NULL: by rule (PTXGEN_CACHE_DIR, XDG, ~/.cache/ptxgen); "": memory only */
    ptxgen_device_kind device;
    ptxgen_assembler assembler;
    const char *toolkit_dir; /* a CUDA toolkit (bin/ptxas, lib64/libnvJitLink.so); NULL: search */

    ptxgen_cache_use cache;
    /* Texts that enter every key, in this order: versions or content hashes of whatever else decides the
     * kernels (a downstream project's own sources). Another text, count or order is another key. */
    const char *const *extra_key;
    size_t extra_key_count;
    /* Absolute paths of cache folders and packs (ptxgen_cache_export) to look in after cache_dir; never
     * written to. One that is missing or not to be trusted is logged and left out. */
    const char *const *cache_layers;
    size_t cache_layer_count;
    uint64_t cache_max_bytes;   /* of the folder's entries, the longest unused go; 0: 2 GiB */
    uint64_t cache_max_entries; /* 0: 100000 */
    uint32_t cache_wait_ms;     /* longest wait for another process's compile; 0: 30000 */
    uint32_t
        cache_failure_s; /* for so many seconds a refused kernel is not assembled again; 0: 600 */
    ptxgen_cache_trust cache_trust;
    uint32_t
        prefetch_threads;    /* for ptxgen_prefetch; 0: the number of CPUs, at most 4; at most 64 */
    uint32_t prefetch_queue; /* kernels that may wait for them; 0: 1024 */
    /* ptxgen_destroy writes here what ptxgen_manifest_write does (a failure is a log line); NULL: nothing. */
    const char *record_manifest;

    const char *dump_dir;          /* absolute; the PTX, log and cubin of every assembly are left here; NULL: nowhere */
    uint32_t assembler_timeout_ms; /* longest run of an assembler's process; 0: 300000 */
    bool cache_look_only; /* for tools: the folder is neither made nor changed by this context */
    bool cache_readable; /* what is made in cache_dir can be read by every user: folders 0755, files 0644 */
} ptxgen_config;

/* Needs neither a driver nor a toolkit: what is missing is said by the call that needs it. */
PTXGEN_API ptxgen_status ptxgen_create(const ptxgen_config *config, ptxgen **out,
                                       ptxgen_error *err);
/* Gives up the caller's context. Kernels that are still referenced keep working, and keep what they need of it
 * alive; the rest is unloaded and freed now. NULL is allowed. */
PTXGEN_API void ptxgen_destroy(ptxgen *ctx);
/* "0.1.0" */
PTXGEN_API const char *ptxgen_version(void);

/* ---- families and kernels --------------------------------------------------------------------- */

/* A kernel is named by its family and parameters, as text: "dtype=bf16 n=512 arch=sm_90". Parameters not
 * named take their defaults; `ptxgen list -v` and ptxgen_family_param describe them. The canonical text,
 * with every parameter in table order, is the kernel's identity. */

typedef enum ptxgen_param_kind {
    PTXGEN_PARAM_CHOICE,
    PTXGEN_PARAM_INTEGER,
    PTXGEN_PARAM_FUNCTION /* the number of a user function (ptxgen/function.h), or a word */
} ptxgen_param_kind;

typedef struct ptxgen_param_info {
    const char *name, *doc;
    ptxgen_param_kind kind;
    const char *const
        *choices;     /* NULL-terminated words; for an integer: words it also accepts, or NULL */
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

/* Canonical text of `params` into out (NUL-terminated, cut to size). EINVAL names an unknown parameter or
 * word and the nearest known one; EUNSUPPORTED says why no kernel exists for the combination. */
PTXGEN_API ptxgen_status ptxgen_canonical(const char *family, const char *params, char *out,
                                          size_t size, ptxgen_error *err);

/* The oldest CUDA toolkit whose assembler takes the kernel, "12.3", into out as above. */
PTXGEN_API ptxgen_status ptxgen_toolkit_needed(ptxgen *ctx, const char *family, const char *params,
                                               char *out, size_t size, ptxgen_error *err);
/* The key under which ptxgen_compile would look for the kernel: lines "name=value", with the assembler that
 * would be used. Into out as above; for ptxgen_cache_nearest. EMISSING when there is no assembler. */
PTXGEN_API ptxgen_status ptxgen_key(ptxgen *ctx, const char *family, const char *params, char *out,
                                    size_t size, ptxgen_error *err);

/* The kernel's PTX only: no toolkit, no driver, no cache. */
PTXGEN_API ptxgen_status ptxgen_emit(ptxgen *ctx, const char *family, const char *params,
                                     ptxgen_kernel **out, ptxgen_error *err);
/* The template file and line that wrote line `ptx_line` (from 1) of the kernel's PTX; false when there is
 * none or the PTX came from the disk. */
PTXGEN_API bool ptxgen_kernel_line_origin(const ptxgen_kernel *kernel, int ptx_line,
                                          const char **file, int *line);
/* PTX and cubin, from memory, disk or an assembler. No driver needed unless the assembler is the driver. */
PTXGEN_API ptxgen_status ptxgen_compile(ptxgen *ctx, const char *family, const char *params,
                                        ptxgen_kernel **out, ptxgen_error *err);
/* The same, and loaded on the device of the current context (the primary context of device 0 when none is
 * current), so that nothing is left to do at the first launch. `arch` defaults to that device's.
 * ECAPTURE when `stream` is being captured and the kernel is not ready; the capture stays intact. */
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
    int dynamic_shared_bytes; /* that a launch must ask for; shared_bytes is what the kernel declares */
} ptxgen_kernel_info;
PTXGEN_API void ptxgen_kernel_describe(const ptxgen_kernel *kernel, ptxgen_kernel_info *info);

/* ---- in the background ------------------------------------------------------------------------ */

/* Hands the kernel to a thread of the context and returns at once; OK also when it is there, waits or is being
 * compiled already. `params` mean what they mean to ptxgen_compile: name the arch when ptxgen_get will ask for
 * it on a device whose arch is not the family's default. Until it is ready, ptxgen_compile and ptxgen_get of
 * the same kernel wait for the thread that compiles it, or compile it themselves when none has begun.
 * EBUDGET: prefetch_queue kernels wait already. Errors of the compile itself: see ptxgen_poll. */
PTXGEN_API ptxgen_status ptxgen_prefetch(ptxgen *ctx, const char *family, const char *params,
                                         ptxgen_error *err);
/* Never waits. OK: the kernel is in memory. EPENDING: it waits or is being compiled. Else the error of the last
 * attempt in the background; it is only told, never believed: ptxgen_compile tries again and shows its own.
 * EINVAL: nobody asked for it, or it was forgotten since (ptxgen_cache_clear; of failures the last 64 stay). */
PTXGEN_API ptxgen_status ptxgen_poll(ptxgen *ctx, const char *family, const char *params,
                                     ptxgen_error *err);

/* ---- cache ------------------------------------------------------------------------------------ */

typedef struct ptxgen_cache_info {
    size_t size;                             /* set by the caller */
    uint64_t memory_hits, disk_hits, misses; /* a miss is an assembly */
    uint64_t entries;                        /* kernels held in memory */
    uint64_t disk_errors, corrupt_entries, waits, wait_timeouts;
    const char *dir;       /* the folder; "" when none is wanted */
    bool on_disk;          /* false: there is no folder, or it cannot be used (owner, mode, ...) */
    uint64_t layer_hits;   /* of disk_hits: from a read-only layer */
    uint64_t failure_hits; /* refused kernels that were not assembled again */
    uint64_t
        rejected; /* kernels from the disk that the driver refused: thrown out, compiled again */
    uint64_t stores, stores_skipped, evicted, quarantined;
    uint64_t pending; /* kernels that wait or are being compiled in the background */
} ptxgen_cache_info;
PTXGEN_API void ptxgen_cache_get_info(ptxgen *ctx, ptxgen_cache_info *info);
/* Forgets every kernel and every refusal in memory and, if `disk`, removes the entries of the cache folder. Kernels
 * that are still referenced stay valid. */
PTXGEN_API ptxgen_status ptxgen_cache_clear(ptxgen *ctx, bool disk, ptxgen_error *err);

/* ---- manifests -------------------------------------------------------------------------------- */

/* A manifest is text: one kernel a line, "FAMILY name=value ...", # begins a comment. `ptxgen prewarm` compiles
 * its kernels into the cache. */

/* Writes the canonical line of every kernel this context had from ptxgen_compile, ptxgen_get, ptxgen_prefetch or
 * an operation, also if it was forgotten since; sorted, each once, at most 65536 (then ENOMEM, with those
 * written). The file is replaced in one step, mode 0600. EIO when that is not possible. */
PTXGEN_API ptxgen_status ptxgen_manifest_write(ptxgen *ctx, const char *path, ptxgen_error *err);

typedef struct ptxgen_manifest_line {
    int number;                  /* from 1 */
    const char *family, *params; /* as written, with single spaces; borrowed during the visit */
} ptxgen_manifest_line;
/* Return false to stop. */
typedef bool (*ptxgen_manifest_visit)(void *user, const ptxgen_manifest_line *line);
/* Calls visit for each kernel of text[size]. EPARSE with the line: a byte that is no plain text, over 1024 bytes
 * in a line, over 16 MiB in all. Families and parameters are not checked. */
PTXGEN_API ptxgen_status ptxgen_manifest_parse(const char *text, size_t size,
                                               ptxgen_manifest_visit visit, void *user,
                                               ptxgen_error *err);

/* ---- device ----------------------------------------------------------------------------------- */

typedef struct ptxgen_device_info {
    size_t size; /* set by the caller */
    ptxgen_device_kind kind;
    char name[128];
    ptxgen_arch arch;                      /* the most specific one: sm_90a on a Hopper */
    int ordinal, sm_count, driver_version; /* driver_version as CUDA says it: 13000 */
    size_t shared_bytes_per_block, l2_bytes;
} ptxgen_device_info;
/* The device that a call from this thread would use now. EMISSING when there is none of the wanted kind. */
PTXGEN_API ptxgen_status ptxgen_device_get_info(ptxgen *ctx, ptxgen_device_info *info,
                                                ptxgen_error *err);

/* Device memory for tests, tools and first steps; a runtime passes its own pointers. Copies are
 * synchronous with respect to the host. */
PTXGEN_API ptxgen_status ptxgen_device_alloc(ptxgen *ctx, size_t bytes, void **out,
                                             ptxgen_error *err);
PTXGEN_API void ptxgen_device_free(ptxgen *ctx, void *p);
PTXGEN_API ptxgen_status ptxgen_device_upload(ptxgen *ctx, void *device, const void *host,
                                              size_t bytes, ptxgen_error *err);
PTXGEN_API ptxgen_status ptxgen_device_download(ptxgen *ctx, void *host, const void *device,
                                                size_t bytes, ptxgen_error *err);
/* Waits for all work of the stream. */
PTXGEN_API ptxgen_status ptxgen_synchronize(ptxgen *ctx, ptxgen_stream stream, ptxgen_error *err);

/* ---- settings --------------------------------------------------------------------------------- */

typedef struct ptxgen_setting {
    const char *name;     /* in a configuration file: "cache_max_bytes" */
    const char *variable; /* in the environment: "PTXGEN_CACHE_MAX_BYTES" */
    const char *value;    /* as text; "" when nothing is set and the library decides */
    const char *origin;   /* "default", "program", "environment", or the path of a file */
} ptxgen_setting;
/* Setting i of this context, false past the last. Borrowed from ctx. */
PTXGEN_API bool ptxgen_setting_at(const ptxgen *ctx, size_t i, ptxgen_setting *out);

/* ---- parts found ------------------------------------------------------------------------------ */

typedef struct ptxgen_part {
    const char *name; /* "ptxas", "nvptxcompiler", "nvjitlink", "driver", "nvrtc", "disassembler" */
    bool found;
    const char *path;    /* where, "" if not found */
    const char *version; /* "13.0.88", "" if unknown */
    const char *note; /* what it can and cannot do here, or why it was not found and the remedy */
} ptxgen_part;
/* Part i of what this context can use, false past the last. Borrowed from ctx. */
PTXGEN_API bool ptxgen_part_at(ptxgen *ctx, size_t i, ptxgen_part *out);

/* ---- out[index[i], :] += src[i, :] ------------------------------------------------------------- */

typedef enum ptxgen_schedule {
    PTXGEN_SCHEDULE_AUTO,  /* by measured rule */
    PTXGEN_SCHEDULE_SEED,  /* one warp per CTA, tensor-map loads, two stages */
    PTXGEN_SCHEDULE_BULK,  /* bulk loads of several rows, lanes reduce in parallel */
    PTXGEN_SCHEDULE_VECTOR, /* no staging: each thread adds 16 bytes with one reduction */
    PTXGEN_SCHEDULE_OWNER   /* sorts the index, then sums each row of out in registers */
} ptxgen_schedule;

typedef enum ptxgen_oob {
    PTXGEN_OOB_RECORD,   /* skip the row, remember the first bad (position, value) */
    PTXGEN_OOB_TRAP,     /* trap: the CUDA context is lost */
    PTXGEN_OOB_UNCHECKED /* the caller guarantees 0 <= index[i] < out_rows */
} ptxgen_oob;

/* What a row of out becomes of itself and its rows of src. A NaN stays one; of -0 and +0 min takes -0, max +0. */
typedef enum ptxgen_scatter_reduce {
    PTXGEN_SCATTER_ADD,
    PTXGEN_SCATTER_MIN,
    PTXGEN_SCATTER_MAX
} ptxgen_scatter_reduce;

/* The first bad index of one or several calls, in device memory. Empty: all bytes 0xff (a memset in the stream).
 * A kernel replaces it as a whole when it meets one at a smaller position. */
typedef struct ptxgen_bad_index {
    uint64_t position; /* in index; bit 62 set: in src_index */
    int64_t value;
} ptxgen_bad_index;

/* An index, sorted (see ptxgen_scatter_plan_create). */
typedef struct ptxgen_scatter_plan ptxgen_scatter_plan;

typedef struct ptxgen_scatter_add_args {
    size_t size;
    ptxgen_dtype dtype; /* of out and src: F32, F16, BF16, F64, S32, S64 */
    ptxgen_index_type index_type;
    int64_t rows;     /* rows of src, length of index; 0: success, nothing happens */
    int64_t out_rows; /* rows of out */
    int64_t n;         /* elements in a row; 0: nothing happens */
    void *out;         /* device, [out_rows, n]; rows that are aligned to 16 bytes are served faster */
    const void *src;   /* device, [rows, n], likewise, no overlap with out */
    const void *index; /* device, [rows], contiguous, aligned to its type */
    int64_t out_stride, src_stride; /* elements from row to row, 0: n */
    int64_t out_inner, src_inner, index_stride; /* elements; 0 and 1 are the only ones accepted */
    ptxgen_schedule schedule;
    ptxgen_oob oob;
    bool dynamic_n; /* one cubin per dtype serves every n */
    int64_t function; /* of each element before it is added (ptxgen/function.h); 0: none */

    /* What follows is zero or NULL where it is not wanted. */
    const ptxgen_scatter_plan *plan; /* the index, prepared; then index and index_type mean nothing */
    void *workspace;        /* device, 128-byte aligned, of ptxgen_scatter_add_workspace bytes; NULL: taken from
                               and given back to a pool in stream order */
    size_t workspace_bytes; /* of workspace */
    ptxgen_scatter_reduce reduce;
    bool deterministic;  /* the same bits in every run and on every GPU */
    bool accumulate_f32; /* f16, bf16: sums in f32, each row of out rounded once */
    double alpha;        /* factor of the sums; 0 stands for 1 */
    const void *weight;  /* device, [rows]: factor of each row of src, of the element type or f32 */
    ptxgen_dtype weight_dtype; /* PTXGEN_DTYPE_NONE: the element type */
    const void *src_index; /* device, [rows], of index_type: entry i takes row src_index[i] of src, not row i */
    int64_t src_rows;      /* rows of src when src_index is given */
    const int64_t *device_rows; /* device: only the first *device_rows (at most rows) entries count */
    bool has_padding_index;
    int64_t padding_index;    /* entries with this index are left out, and are not bad */
    ptxgen_bad_index *record; /* device, 16-byte aligned: bad indices of this call are told here (below) */
} ptxgen_scatter_add_args;

/* Adds in the element type or better, each add rounded to nearest even; the order among equal indices is not
 * specified, so results with repeated indices may differ from run to run, unless `deterministic`. f32 subnormals may
 * be flushed to zero (schedule=vector flushes them; the PTX ISA says so of bulk reductions too, an H200 keeps them),
 * f16 and bf16 ones are kept. Asynchronous in `stream`. Refusals (EINVAL, EUNSUPPORTED) leave out untouched.
 * schedule=auto is owner for large calls and for all that only it does: up to 2^31 - 1 values of index, 2^32 - 3 rows.
 * It takes 16 bytes of workspace a value and more with `deterministic`. */
PTXGEN_API ptxgen_status ptxgen_scatter_add(ptxgen *ctx, const ptxgen_scatter_add_args *args,
                                            ptxgen_stream stream, ptxgen_error *err);
/* The same with a kernel from ptxgen_get(ctx, "scatter_add", ...): EINVAL when the kernel's parameters do
 * not serve the arguments (schedule, oob and dynamic_n of args are ignored: the kernel decides). */
PTXGEN_API ptxgen_status ptxgen_scatter_add_launch(ptxgen_kernel *kernel,
                                                   const ptxgen_scatter_add_args *args,
                                                   ptxgen_stream stream, ptxgen_error *err);
/* How much device memory a call takes as its workspace, 0 for none. */
PTXGEN_API ptxgen_status ptxgen_scatter_add_workspace(ptxgen *ctx,
                                                      const ptxgen_scatter_add_args *args,
                                                      size_t *bytes, ptxgen_error *err);

/* Sorts an index once, for any number of calls with other data, other row lengths and types, in captured graphs
 * too. Of args it reads size, index, index_type, rows, out_rows, oob, device_rows, padding_index, record. The plan
 * owns 8 bytes of device memory a row. Asynchronous in `stream`: calls that use the plan come after it there. The
 * index may change afterwards, the plan does not. ECAPTURE while the stream is being captured. */
PTXGEN_API ptxgen_status ptxgen_scatter_plan_create(ptxgen *ctx, const ptxgen_scatter_add_args *args,
                                                    ptxgen_stream stream, ptxgen_scatter_plan **out,
                                                    ptxgen_error *err);
/* After the last call that uses it has run. NULL is allowed. */
PTXGEN_API void ptxgen_scatter_plan_destroy(ptxgen_scatter_plan *plan);

/* A copy of a call's own record in host memory as OK or EINDEX; waits for nothing. */
PTXGEN_API ptxgen_status ptxgen_bad_index_error(const ptxgen_bad_index *record, ptxgen_error *err);
/* Waits for the stream; EINDEX with position and value when a scatter_add in PTXGEN_OOB_RECORD mode of this
 * device met a bad index since the last check. The record is then empty again. */
PTXGEN_API ptxgen_status ptxgen_check_indices(ptxgen *ctx, ptxgen_stream stream, ptxgen_error *err);
/* The plain C answer on host memory: out and its sources summed in double, rounded once to the element type.
 * Ignores schedule; a bad index is EINDEX and nothing is written. Takes about 256 MiB of memory at most. */
PTXGEN_API ptxgen_status ptxgen_scatter_add_oracle(const ptxgen_scatter_add_args *args,
                                                   ptxgen_error *err);

/* Host helpers, the reference schedule's numbers. */
PTXGEN_API int64_t ptxgen_chunk_elems_for(ptxgen_dtype dtype,
                                          int64_t n);            /* elements per 512-byte chunk */
PTXGEN_API int64_t ptxgen_min_d_divisor_for(ptxgen_dtype dtype); /* n must be a multiple of this */
PTXGEN_API bool ptxgen_row_shape_supported(ptxgen_dtype dtype, int64_t n);
typedef struct ptxgen_grid {
    int64_t grid_x, grid_y, chunks_per_cta;
} ptxgen_grid;
PTXGEN_API ptxgen_grid ptxgen_plan_grid(int64_t m, int64_t d, int64_t chunk_elems,
                                        int64_t sm_count);

#ifdef __cplusplus
}
#endif

#endif
