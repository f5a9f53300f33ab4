/* The disk cache: key text -> entry. It can make things faster, never wrong, and never fails a
 * call: any doubt about an entry is a miss, any I/O error a counter.
 *
 * One file per entry, v1/<2 hex>/<30 hex>, immutable once renamed into place; format in
 * docs/cache.md. Cross-process single flight by locks that the kernel releases when the holder
 * dies. Any thread.
 *
 * The engine's side of a miss, in order:
 *     pg_cache_acquire      waits while another process works on this key
 *     pg_cache_lookup       again: that process may have published it
 *     pg_cache_take_slot    waits while the machine is busy with other compiles
 *     ... assemble ...
 *     pg_cache_store        the kernel, or the failure with its log
 *     pg_cache_release */
#ifndef PG_CACHE_H
#define PG_CACHE_H

#include "base/alloc.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/str.h"
#include "ptxgen/ptxgen.h"

typedef struct pg_cache pg_cache;

/* Who may own the files that are believed. */
typedef enum pg_cache_trust {
    PG_CACHE_TRUST_OWNER, /* this user or root, and nobody else may write to them */
    PG_CACHE_TRUST_ANY,   /* whoever can write to the folder is trusted */
    /* the folder as OWNER; of layers only entries signed by a key of trusted_keys */
    PG_CACHE_TRUST_SIGNED
} pg_cache_trust;

/* Zero means default in every field. */
typedef struct pg_cache_config {
    const char *dir;  /* absolute; NULL or "": no disk, every lookup misses */
    uint32_t wait_ms; /* longest wait for another process's compile; 0: 30000 */
    uint32_t slots;   /* compiles at a time on this machine (per folder); 0: the number of CPUs */
    bool no_sync;     /* do not wait for the disk before an entry becomes visible */
    pg_cache_trust trust;
    const char *trusted_keys; /* of TRUST_SIGNED: the path of a file (signature.h) */
    const char *mac_key;      /* the path of a file (mac.h); NULL or "": entries have no code */
    const char *remote;       /* a store behind the folder (remote/address.h); NULL or "": none */
    uint32_t remote_timeout_ms;
    const char *remote_run_dir; /* of a storage helper's socket; NULL or "": `dir` */
    const char *remote_path;    /* where helpers are looked for, as PATH */
    const char *sign_key;       /* entries are sent signed by this key (signature.h) */
    uint32_t failure_ttl;       /* seconds for which a stored failure is believed; 0: 600 */
    uint64_t max_bytes;         /* of all entries; 0: 2 GiB */
    uint64_t max_entries;       /* 0: 100000 */
    int64_t min_age_s; /* entries used so recently are not evicted; 0: 3600, negative: no limit */
    const char *const *layers; /* folders and packs to look in after `dir`; read only */
    size_t layer_count;
    bool readable;         /* by every user: folders 0755, files 0644, whatever the umask */
    bool must_exist;       /* do not make the folder */
    bool observer;         /* for tools: looking dates, moves and counts nothing */
    const pg_files *files; /* NULL: the real ones */
} pg_cache_config;

/* What an entry holds besides its key. Texts are NUL-terminated, never NULL on a lookup (NULL is
 * "" to store). A failed compile is an entry too: its message and log, no cubin. */
typedef struct pg_cache_entry {
    ptxgen_status status;             /* PTXGEN_OK: a kernel; else what the compile failed with */
    const char *message, *error_file; /* of the failure, as in ptxgen_error */
    int32_t error_line;
    const char *family, *params, *entry_name, *assembler, *log;
    const char *signature; /* signature.h; "": none */
    const char *mac;       /* mac.h; "": none */
    ptxgen_arch arch;
    int32_t registers, shared_bytes, local_bytes, spill_bytes;
    double emit_us, assemble_us;
    int64_t created;   /* seconds since 1970; store: 0 means now */
    const void *cubin; /* aligned to 64 bytes on a lookup */
    size_t cubin_size;
    const char *ptx;
    size_t ptx_size;
    const char *miss;  /* after a lookup that missed: why (static, or the judge's) */
    const char *layer; /* after a hit: the path of the layer it came from; NULL: the folder */
    void *storage;     /* owns all of the above on a lookup; ignored by store */
    size_t storage_size;
} pg_cache_entry;

typedef enum pg_cache_found {
    PG_CACHE_MISS = 0,
    PG_CACHE_HIT,   /* *out is a kernel */
    PG_CACHE_FAILED /* *out is a failure not older than failure_ttl */
} pg_cache_found;

/* What the one who asks says of an entry that is sound and has the key. */
typedef enum pg_cache_verdict {
    PG_CACHE_SERVES,
    PG_CACHE_PASSES, /* nothing is wrong with it, but it is no answer here */
    PG_CACHE_WRONG   /* it can never be the answer to its key: counted, moved out of the way */
} pg_cache_verdict;
typedef struct pg_cache_judge {
    /* *why is set unless it serves: a clause that stays readable as long as the judge. */
    pg_cache_verdict (*say)(void *user, const pg_cache_entry *, bool own, const char **why);
    void *user;
} pg_cache_judge;

/* Never fails but for memory and for keys that cannot be read: a folder that cannot be used is
 * logged once and means "no disk". */
ptxgen_status pg_cache_create(const pg_alloc *, const pg_log *, const pg_cache_config *,
                              pg_cache **out, ptxgen_error *);
/* NULL is allowed. */
void pg_cache_destroy(pg_cache *);

/* Fills *out (release with pg_cache_entry_release) unless it is a miss. */
pg_cache_found pg_cache_lookup(pg_cache *, const char *key, size_t key_size, pg_cache_entry *out);
/* The same, of entries that `judge` takes. NULL: of any. */
pg_cache_found pg_cache_lookup_judged(pg_cache *, pg_str key, const pg_cache_judge *judge,
                                      pg_cache_entry *out);
void pg_cache_entry_release(pg_cache *, pg_cache_entry *);
/* Publishes; trouble is counted, not returned. Store only failures that the key decides (the
 * assembler refused the PTX), never those of the machine (no memory, no disk, a killed child). */
void pg_cache_store(pg_cache *, const char *key, size_t key_size, const pg_cache_entry *);
/* The driver refused an entry that pg_cache_lookup had returned (errors 200, 209, 218): takes it
 * out of the folder, so that the next lookup misses. */
void pg_cache_reject(pg_cache *, const char *key, size_t key_size);

/* ---- the remote store behind the folder (remote_layer.h) ---- */

enum { PG_CACHE_CALLER_WAITS_US = 500 }; /* for the store, by who waits for a compile anyhow */

typedef enum pg_fetched {
    PG_FETCHED_NOTHING, /* compile; claim->held: for all machines, until pg_cache_unclaim */
    PG_FETCHED_ENTRY,   /* it is in the folder now */
    PG_FETCHED_LATER    /* another machine compiles it: ask again, in some milliseconds */
} pg_fetched;

typedef struct pg_claim {
    bool held;
    pg_hash128 id;
} pg_claim;

/* For threads behind the calls, before they build: asks for at most the timeout. A pg_cache_store
 * of the key sends the entry, behind the caller; pg_cache_unclaim follows it. */
pg_fetched pg_cache_fetch(pg_cache *, pg_str key, const pg_cache_judge *judge, pg_claim *claim);
void pg_cache_unclaim(pg_cache *, pg_claim *claim);
/* For who waits for a compile: true when it is in the folder now, within
 * PG_CACHE_CALLER_WAITS_US. */
bool pg_cache_fetch_quickly(pg_cache *, pg_str key, const pg_cache_judge *judge);
bool pg_cache_has_remote(const pg_cache *);
/* How long another's compile is waited for. */
uint32_t pg_cache_longest_wait_ms(const pg_cache *);

enum { PG_CACHE_MADE_BY = 96 };
typedef struct pg_remote_look {
    char made_by[PG_CACHE_MADE_BY]; /* the assembler of the entry */
    const char *why;                /* of there being none, or none that is taken */
} pg_remote_look;

/* For who looks: the place ("": there is no store), whether it answers, whether it has a good
 * entry. Nothing is kept. */
const char *pg_cache_remote_place(const pg_cache *);
ptxgen_status pg_cache_remote_ping(pg_cache *, double *us, ptxgen_error *err);
bool pg_cache_remote_has(pg_cache *, pg_str key, const pg_cache_judge *judge, pg_remote_look *);

/* Cross-process single flight. Returns at once with *token = 0 when there is no disk. When another
 * process holds the key, waits for it up to wait_ms (then *token = 0: compile for yourself). The
 * caller looks up again after acquiring. Different keys never wait for each other. */
void pg_cache_acquire(pg_cache *, const char *key, size_t key_size, uint64_t *token);
/* Waits at most wait_ms / 2 for one of the machine's compile slots; the token gives it back. */
void pg_cache_take_slot(pg_cache *, uint64_t token);
void pg_cache_release(pg_cache *, uint64_t token);

/* Keeps the PTX of a kernel that could not be assembled as failed/NAME, the last 16 of them, for
 * who looks for the reason; its path goes into path[size]. false: there is no folder, or it was
 * not possible. */
bool pg_cache_keep_refused(pg_cache *, const char *name, pg_str ptx, char *path, size_t size);

/* Fills the disk fields. */
void pg_cache_fill_info(pg_cache *, ptxgen_cache_info *);
/* Removes every entry; EIO names the first that could not be removed. */
ptxgen_status pg_cache_clear(pg_cache *, ptxgen_error *);

#endif
