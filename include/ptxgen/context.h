/* The context: how it is configured, what it found, and its kernels in memory and on disk. (What
 * is in a cache folder, without a context, is ptxgen/cache.h.) The conventions of ptxgen.h hold. */
#ifndef PTXGEN_CONTEXT_H
#define PTXGEN_CONTEXT_H

#include "ptxgen/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- context --------------------------------------------------------------------------------- */

typedef enum ptxgen_cache_use {
    PTXGEN_CACHE_AUTO, /* on, unless PTXGEN_CACHE=off is in the environment */
    PTXGEN_CACHE_ON,
    PTXGEN_CACHE_OFF /* memory only: neither the folder nor the layers are looked at */
} ptxgen_cache_use;

/* Whose files in the cache are believed. */
typedef enum ptxgen_cache_trust {
    PTXGEN_CACHE_TRUST_OWNER, /* this user's or root's, where nobody else may write */
    /* of whoever can write to the folder: they can run code on the GPU as this process */
    PTXGEN_CACHE_TRUST_ANY,
    /* The folder's as OWNER; of layers and packs, whoever owns them, only entries that are signed
     * by a key of cache_keys (`ptxgen cache sign`). The shipped pack as well. */
    PTXGEN_CACHE_TRUST_SIGNED
} ptxgen_cache_trust;

/* Whose cubins in the cache are taken. Any: of every assembler that ptxgen knows and that does
 * not change the kernel (those with setmaxnreg: ptxas and nvptxcompiler). None has to be
 * installed for that. */
typedef enum ptxgen_cache_assembler {
    /* in cache_dir of the one that is installed, if one is; in layers and packs any */
    PTXGEN_CACHE_ASSEMBLER_AUTO,
    PTXGEN_CACHE_ASSEMBLER_EXACT, /* only of the one that is installed */
    PTXGEN_CACHE_ASSEMBLER_ANY
} ptxgen_cache_assembler;

typedef struct ptxgen_config {
    size_t size;
    /* One allocator hook: realloc(user, NULL, 0, n) allocates, realloc(user, p, n, 0) frees and
     * returns NULL. NULL: libc. Called from any thread. */
    void *(*realloc)(void *user, void *p, size_t old_size, size_t new_size);
    /* Log lines without a newline. NULL: silent. Called from any thread. */
    void (*log)(void *user, ptxgen_log_level level, const char *line);
    void *user;
    ptxgen_log_level log_level; /* lines above it are not made; 0: errors only */
    /* NULL: by rule (PTXGEN_CACHE_DIR, XDG, ~/.cache/ptxgen); "": memory only */
    const char *cache_dir;
    ptxgen_device_kind device;
    ptxgen_assembler assembler;
    const char *toolkit_dir; /* a CUDA toolkit (bin/ptxas, lib64/libnvJitLink.so); NULL: search */

    ptxgen_cache_use cache;
    /* Texts that enter every key, in this order: versions or content hashes of whatever else
     * decides the kernels (a downstream project's own sources). Another text, count or order is
     * another key. */
    const char *const *extra_key;
    size_t extra_key_count;
    /* Absolute paths of cache folders and packs (ptxgen_cache_export) to look in after
     * cache_dir; never written to. One that is missing or not to be trusted is logged and left
     * out. */
    const char *const *cache_layers;
    size_t cache_layer_count;
    uint64_t cache_max_bytes;   /* of the folder's entries, the longest unused go; 0: 2 GiB */
    uint64_t cache_max_entries; /* 0: 100000 */
    uint32_t cache_wait_ms;     /* longest wait for another process's compile; 0: 30000 */
    /* For so many seconds a refused kernel is not assembled again; 0: 600. */
    uint32_t cache_failure_s;
    ptxgen_cache_trust cache_trust;
    /* For ptxgen_prefetch; 0: the number of CPUs, at most 4; at most 64. */
    uint32_t prefetch_threads;
    uint32_t prefetch_queue; /* kernels that may wait for them; 0: 1024 */
    /* ptxgen_destroy writes here what ptxgen_manifest_write does (a failure is a log line);
     * NULL: nothing. */
    const char *record_manifest;

    /* Absolute; the PTX, log and cubin of every assembly are left here. NULL: nowhere. */
    const char *dump_dir;
    uint32_t assembler_timeout_ms; /* longest run of an assembler's process; 0: 300000 */
    bool cache_look_only; /* for tools: the folder is neither made nor changed by this context */
    /* What is made in cache_dir can be read by every user: folders 0755, files 0644. */
    bool cache_readable;
    ptxgen_cache_assembler cache_assembler;
    const char *cache_keys; /* absolute; the file of trusted keys, for PTXGEN_CACHE_TRUST_SIGNED */
    /* The pack of generic kernels that is installed beside the library (`--target pack`) is a
     * layer, behind all others; OFF: it is not. */
    ptxgen_cache_use shipped_pack;
    ptxgen_stall stall; /* of calls that do not say it; AUTO: wait */
    /* Absolute; which kernels were measured to be the fastest (ptxgen/tuning.h). NULL: "tuning"
     * in cache_dir; "": none. */
    const char *tuning_file;
    /* A store behind cache_dir that machines share: redis://[[USER]:PASSWORD@]HOST[:PORT][/DB],
     * redis+unix:///SOCKET, crsh:/SOCKET, or SCHEME://... for ccache's storage helper
     * ccache-storage-SCHEME on PATH; behind it "read-only" and, for a helper, "@NAME=VALUE". It is
     * asked by the threads of ptxgen_prefetch and stall=never, and by who waits for a compile for
     * at most a millisecond; its entries are checked as those of layers are. Needs cache_dir.
     * NULL or "": none. */
    const char *cache_remote;
    uint32_t cache_remote_timeout_ms; /* for connecting and an answer, together; 0: 500 */
    /* Absolute; the secret key (`ptxgen cache keygen`) that signs what is sent to cache_remote.
     * With PTXGEN_CACHE_TRUST_SIGNED and without it, nothing is sent. */
    const char *cache_sign_key;
    /* Absolute; a key (`ptxgen cache keygen FILE NAME mac`) that only its owner may read: entries
     * of cache_dir get a keyed code, and those without it are not taken. NULL or "": none. */
    const char *cache_mac_key;
    /* Multiprocessors that the emulator as a device says it has: grids and automatic parameters
     * follow from them; 0: 8, which the CPU can run. */
    uint32_t emulated_sms;
} ptxgen_config;

/* Needs neither a driver nor a toolkit: what is missing is said by the call that needs it. */
PTXGEN_API ptxgen_status ptxgen_create(const ptxgen_config *config, ptxgen **out,
                                       ptxgen_error *err);
/* Gives up the caller's context. Kernels that are still referenced keep working, and keep what
 * they need of it alive; the rest is unloaded and freed now. NULL is allowed. */
PTXGEN_API void ptxgen_destroy(ptxgen *ctx);
/* "0.1.0" */
PTXGEN_API const char *ptxgen_version(void);

/* ---- its cache ------------------------------------------------------------------------------- */

/* Whether the remote store is asked at the moment. */
typedef enum ptxgen_breaker {
    PTXGEN_BREAKER_NONE, /* there is no remote store */
    PTXGEN_BREAKER_CLOSED,
    PTXGEN_BREAKER_OPEN,   /* it did not answer: not asked for a second, doubled up to 30 */
    PTXGEN_BREAKER_PROBING /* the next request tries it */
} ptxgen_breaker;

typedef struct ptxgen_cache_info {
    size_t size;                             /* set by the caller */
    uint64_t memory_hits, disk_hits, misses; /* a miss is an assembly */
    uint64_t entries;                        /* kernels held in memory */
    uint64_t disk_errors, corrupt_entries, waits, wait_timeouts;
    const char *dir;       /* the folder; "" when none is wanted */
    bool on_disk;          /* false: there is no folder, or it cannot be used (owner, mode, ...) */
    uint64_t layer_hits;   /* of disk_hits: from a read-only layer */
    uint64_t failure_hits; /* refused kernels that were not assembled again */
    uint64_t rejected;     /* kernels from the disk that the driver refused: compiled again */
    uint64_t stores, stores_skipped, evicted, quarantined;
    uint64_t pending;          /* kernels that wait or are being compiled in the background */
    uint64_t compiles_in_call; /* assemblies that a call waited for */
    /* Of calls with stall=never: those that a generic kernel served, and of these those whose own
     * kernel may give other bits; own kernels that became ready behind calls, and the microseconds
     * from the call until then (mean, longest). */
    uint64_t generic_calls, other_bits_calls;
    uint64_t special_made, special_us, special_slowest_us;
    /* entries without a signature by a trusted key, or whose signature has expired */
    uint64_t signatures_refused;
    /* entries whose cubin was not what their key says: another target or kernel */
    uint64_t mismatched;
    uint64_t macs_refused; /* entries of the folder without the code of cache_mac_key */
    /* Of the remote store: its answers, requests that failed, entries sent and not sent, and
     * entries of it that were not taken (`ptxgen cache stats` counts them by reason). */
    uint64_t remote_hits, remote_misses, remote_errors, remote_stores, remote_dropped;
    uint64_t remote_refused;
    ptxgen_breaker remote_breaker;
    /* Why the folder that was asked for is not used, a clause; "" when it is, or none is wanted.
     * Borrowed from ctx. */
    const char *why_off;
} ptxgen_cache_info;
PTXGEN_API void ptxgen_cache_get_info(ptxgen *ctx, ptxgen_cache_info *info);
/* Forgets every kernel and every refusal in memory and, if `disk`, removes the entries of the
 * cache folder. Kernels that are still referenced stay valid. */
PTXGEN_API ptxgen_status ptxgen_cache_clear(ptxgen *ctx, bool disk, ptxgen_error *err);

/* What a request for a kernel would find on disk, now: nothing is compiled, loaded or counted as
 * a hit in memory. */
typedef struct ptxgen_cache_why_result {
    size_t size; /* set by the caller */
    bool found;  /* a request takes it, and needs no assembler */
    /* The folder, layer or remote store that it is in; "" when not found. */
    char place[1024];
    char assembler[96]; /* that made it; "" when not found */
    char reason[400];   /* of not being found, as a clause: "no entry has its key" */
} ptxgen_cache_why_result;
PTXGEN_API ptxgen_status ptxgen_cache_why(ptxgen *ctx, const char *family, const char *params,
                                          ptxgen_cache_why_result *out, ptxgen_error *err);

/* Asks the remote store whether it is there, whatever its breaker says: the round trip in
 * microseconds. EMISSING: none is configured; EIO says why it does not answer. */
PTXGEN_API ptxgen_status ptxgen_cache_remote_ping(ptxgen *ctx, double *us, ptxgen_error *err);

/* ---- settings -------------------------------------------------------------------------------- */

typedef struct ptxgen_setting {
    const char *name;     /* in a configuration file: "cache_max_bytes" */
    const char *variable; /* in the environment: "PTXGEN_CACHE_MAX_BYTES" */
    const char *value;    /* as text; "" when nothing is set and the library decides */
    const char *origin;   /* "default", "program", "environment", or the path of a file */
} ptxgen_setting;
/* Setting i of this context, false past the last. Borrowed from ctx. */
PTXGEN_API bool ptxgen_setting_at(const ptxgen *ctx, size_t i, ptxgen_setting *out);

/* ---- parts found ----------------------------------------------------------------------------- */

typedef struct ptxgen_part {
    const char *name; /* "ptxas", "nvptxcompiler", "nvjitlink", "driver", "nvrtc", "disassembler" */
    bool found;
    const char *path;    /* where, "" if not found */
    const char *version; /* "13.0.88", "" if unknown */
    const char *note; /* what it can and cannot do here, or why it was not found and the remedy */
} ptxgen_part;
/* Part i of what this context can use, false past the last. Borrowed from ctx. */
PTXGEN_API bool ptxgen_part_at(ptxgen *ctx, size_t i, ptxgen_part *out);

#ifdef __cplusplus
}
#endif

#endif
