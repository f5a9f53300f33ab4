/* Administration of a kernel cache folder: look inside, check, prune, pack, explain a miss.
 *
 * For tools and operators (the command `ptxgen cache` is built on it); a program that only wants
 * kernels needs none of this. Works on a folder that other processes are using, and read-only on a
 * pack (a file made by ptxgen_cache_export). Looking never changes anything: no entry is dated,
 * moved or counted by it.
 *
 *     ptxgen_cache *cache;
 *     if (ptxgen_cache_open("/home/u/.cache/ptxgen", NULL, &cache, &err) != PTXGEN_OK) ...
 *     ptxgen_cache_each(cache, print_record, NULL, &err);
 *     ptxgen_cache_close(cache);
 *
 * The conventions of ptxgen.h hold. A ptxgen_cache may be used by any number of threads at once.
 * The format of folder, entries and packs is described in docs/cache.md. */
#ifndef PTXGEN_CACHE_H
#define PTXGEN_CACHE_H

#include "ptxgen/ptxgen.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ptxgen_cache ptxgen_cache;

typedef struct ptxgen_cache_options {
    size_t size;
    void *(*realloc)(void *user, void *p, size_t old_size,
                     size_t new_size); /* as in ptxgen_config */
    void (*log)(void *user, ptxgen_log_level level, const char *line);
    void *user;
    ptxgen_log_level log_level;
    bool create;    /* make the folder if it does not exist; without, one with no entries yet is
                     * empty and stays as it is */
    bool trust_any; /* also a folder that other users own or may write to */
    bool readable;  /* what is made (folder, imported entries, packs) can be read by every user */
} ptxgen_cache_options;

/* `path`: an absolute path of a cache folder, or any path of a pack. EMISSING when it does not
 * exist, EIO when it cannot be used (the message says why: owner, mode, link, I/O), EPARSE when it
 * is a file but no pack. */
PTXGEN_API ptxgen_status ptxgen_cache_open(const char *path, const ptxgen_cache_options *options,
                                           ptxgen_cache **out, ptxgen_error *err);
PTXGEN_API void ptxgen_cache_close(ptxgen_cache *cache); /* NULL is allowed */
PTXGEN_API const char *ptxgen_cache_path(const ptxgen_cache *cache);
PTXGEN_API bool ptxgen_cache_is_pack(const ptxgen_cache *cache);
/* What is wrong with a pack as a whole, "is cut short ..." or "has a damaged index" (its entries
 * were then found one after the other, as far as they are sound); "" when nothing is. Static
 * storage. */
PTXGEN_API const char *ptxgen_cache_pack_fault(const ptxgen_cache *cache);

/* ---- entries --------------------------------------------------------------------------------- */

/* One entry. Borrowed during the callback that receives it. Texts are never NULL. */
typedef struct ptxgen_cache_record {
    size_t size;      /* set by the library */
    char hash[33];    /* of the key; the entry's name */
    const char *path; /* the entry's file; of a pack: the pack's */
    /* "" when sound; else why it is not, and all below but used and file_bytes is empty. */
    const char *fault;
    const char *key; /* lines "name=value\n" */
    /* PTXGEN_OK: a kernel. Else a failed compile, with its log and what was in its ptxgen_error. */
    ptxgen_status status;
    const char *message, *error_file;
    int error_line;
    const char *family, *params, *entry, *assembler, *log;
    ptxgen_arch arch;
    int registers, shared_bytes, local_bytes, spill_bytes; /* -1: unknown */
    double emit_us, assemble_us;
    int64_t created; /* seconds since 1970 */
    int64_t used;    /* last use, to the hour; of a pack: when the pack was made */
    uint64_t file_bytes;
    const char *ptx;
    size_t ptx_size;
    const void *cubin;
    size_t cubin_size;
} ptxgen_cache_record;

/* Return false to stop. */
typedef bool (*ptxgen_cache_visit)(void *user, const ptxgen_cache_record *record);

/* Every entry, in no order, damaged ones too. */
PTXGEN_API ptxgen_status ptxgen_cache_each(ptxgen_cache *cache, ptxgen_cache_visit visit,
                                           void *user, ptxgen_error *err);
/* The entry that `text` names: the first hex digits of its hash (at least 4), or its whole key.
 * EINVAL when none or several match. */
PTXGEN_API ptxgen_status ptxgen_cache_find(ptxgen_cache *cache, const char *text,
                                           ptxgen_cache_visit visit, void *user, ptxgen_error *err);

/* ---- checking -------------------------------------------------------------------------------- */

/* Compares an entry with a fresh build of its own (of a failed compile: with another attempt): true
 * when they are equal, else a sentence into why. */
typedef bool (*ptxgen_cache_compare)(void *user, const ptxgen_cache_record *record, char *why,
                                     size_t why_size);

typedef struct ptxgen_cache_check {
    size_t size;
    ptxgen_cache_compare compare; /* NULL: checksums, keys, owners and modes only */
    /* Called for each entry that is not in order, with why in record->fault. NULL: only counted. */
    ptxgen_cache_visit report;
    void *user;
    bool quarantine; /* move the damaged ones aside, so that they are compiled again */
} ptxgen_cache_check;

typedef struct ptxgen_cache_check_result {
    size_t size; /* set by the caller, as in every result below */
    uint64_t checked, damaged, different, bytes;
    uint64_t unreadable; /* no memory, no descriptors, a failing disk: not known what they are */
} ptxgen_cache_check_result;

/* `text` as in ptxgen_cache_find, or NULL for all. OK also when something was found: see the
 * result. */
PTXGEN_API ptxgen_status ptxgen_cache_verify(ptxgen_cache *cache, const char *text,
                                             const ptxgen_cache_check *check,
                                             ptxgen_cache_check_result *result, ptxgen_error *err);

/* Really stores, locks and reads back an entry, in a folder of its own inside the cache's, which
 * is removed again. EIO says what does not work. *locks (may be NULL): whether processes keep
 * each other from compiling the same kernel. */
PTXGEN_API ptxgen_status ptxgen_cache_try(ptxgen_cache *cache, bool *locks, ptxgen_error *err);

/* ---- size ------------------------------------------------------------------------------------ */

typedef struct ptxgen_cache_usage {
    size_t size;
    uint64_t entries, bytes; /* files of entries and their sizes, failed compiles included */
    uint64_t failures;       /* of these: failed compiles */
    uint64_t quarantined, quarantined_bytes;
    uint64_t temporary, temporary_bytes; /* stores under way, or leftovers of killed processes */
} ptxgen_cache_usage;
PTXGEN_API ptxgen_status ptxgen_cache_measure(ptxgen_cache *cache, ptxgen_cache_usage *usage,
                                              ptxgen_error *err);

typedef struct ptxgen_cache_prune_rule {
    size_t size;
    bool everything;      /* empty the folder */
    int64_t unused_for_s; /* remove what was not used for so many seconds; 0: no such limit */
    uint64_t max_bytes;   /* then the longest unused until at most this stays; 0: no limit */
    uint64_t max_entries; /* likewise; of equal dates (exact to the hour) by the entries' names */
    bool dry_run;         /* remove nothing: the result says what would be removed */
} ptxgen_cache_prune_rule;

typedef struct ptxgen_cache_prune_result {
    size_t size;
    uint64_t removed, removed_bytes, entries, bytes; /* the latter two: what stays */
    uint64_t leftovers; /* temporary files of killed processes, removed as well */
} ptxgen_cache_prune_result;
PTXGEN_API ptxgen_status ptxgen_cache_prune(ptxgen_cache *cache,
                                            const ptxgen_cache_prune_rule *rule,
                                            ptxgen_cache_prune_result *result, ptxgen_error *err);

/* ---- statistics ------------------------------------------------------------------------------ */

typedef struct ptxgen_cache_counter {
    const char *name, *text; /* static storage */
    uint64_t value; /* of all processes that have closed this cache; at most a minute behind */
} ptxgen_cache_counter;
/* Sets every counter of the folder to zero. Processes that use it add what they count from now
 * on, and what they have not written yet. */
PTXGEN_API ptxgen_status ptxgen_cache_zero_counters(ptxgen_cache *cache, ptxgen_error *err);
/* Counter i of the folder, false past the last. */
PTXGEN_API bool ptxgen_cache_counter_at(ptxgen_cache *cache, size_t i, ptxgen_cache_counter *out);

/* ---- packs ----------------------------------------------------------------------------------- */

typedef struct ptxgen_cache_transfer {
    size_t size;
    uint64_t copied, bytes;
    uint64_t present;       /* import: was there already, not replaced */
    uint64_t damaged;       /* left out; of a pack without index those that were met */
    uint64_t refused;       /* export: by the filter; import: no room */
    const char *pack_fault; /* import: as ptxgen_cache_pack_fault */
} ptxgen_cache_transfer;
/* Writes the sound kernels for which `filter` returns true (NULL: all) to a pack; failed
 * compiles stay out. An entry that cannot be read is EIO (ENOMEM without memory), and a pack
 * that is there already stays. */
PTXGEN_API ptxgen_status ptxgen_cache_export(ptxgen_cache *cache, const char *pack,
                                             ptxgen_cache_visit filter, void *user,
                                             ptxgen_cache_transfer *result, ptxgen_error *err);
/* Copies a pack's sound entries into the folder. */
PTXGEN_API ptxgen_status ptxgen_cache_import(ptxgen_cache *cache, const char *pack,
                                             ptxgen_cache_transfer *result, ptxgen_error *err);

/* ---- signatures: who made an entry (PTXGEN_CACHE_TRUST_SIGNED) ------------------------------- */

/* A new pair of keys: the secret one to `path`, readable by its owner only, the public one to
 * path.pub. Neither is replaced (EINVAL). `name`: up to 31 bytes without blanks, one that no
 * other key has. EMISSING: no libsodium. */
PTXGEN_API ptxgen_status ptxgen_cache_keygen(const char *path, const char *name, ptxgen_error *err);

/* A key for cache_mac_key, readable by its owner only; otherwise as above. */
PTXGEN_API ptxgen_status ptxgen_cache_keygen_mac(const char *path, const char *name,
                                                 ptxgen_error *err);

typedef struct ptxgen_cache_signing {
    size_t size;
    const char *secret_key; /* path */
    int64_t expires;        /* seconds since 1970; 0: never */
} ptxgen_cache_signing;
/* As ptxgen_cache_export, each entry signed: ed25519 over its key, its content, the key's name
 * and the date. What was signed before is signed anew. */
PTXGEN_API ptxgen_status ptxgen_cache_sign(ptxgen_cache *cache, const char *pack,
                                           const ptxgen_cache_signing *signing,
                                           ptxgen_cache_transfer *result, ptxgen_error *err);

typedef struct ptxgen_cache_signatures {
    size_t size;
    uint64_t checked, refused;
} ptxgen_cache_signatures;
/* Checks every entry against a file of trusted keys; `report` (may be NULL) sees those that a
 * context would refuse, with the reason as their fault. */
PTXGEN_API ptxgen_status ptxgen_cache_check_signatures(ptxgen_cache *cache,
                                                       const char *trusted_keys,
                                                       ptxgen_cache_visit report, void *user,
                                                       ptxgen_cache_signatures *result,
                                                       ptxgen_error *err);

/* ---- why a lookup misses --------------------------------------------------------------------- */

typedef struct ptxgen_cache_difference {
    char name[64];
    char wanted[160]; /* "" when the wanted key has no such line */
    char found[160];
} ptxgen_cache_difference;

enum { PTXGEN_CACHE_DIFFERENCES_MAX = 32 };

typedef struct ptxgen_cache_nearest_result {
    size_t size;
    char hash[33];    /* of the nearest entry */
    size_t different; /* lines that differ; 0: the entry is there */
    size_t listed;    /* of these, in `difference` */
    ptxgen_cache_difference difference[PTXGEN_CACHE_DIFFERENCES_MAX];
} ptxgen_cache_nearest_result;
/* The kernel whose key differs in the fewest lines from `key`, the most recently used of several.
 * EMISSING when the cache has none. */
PTXGEN_API ptxgen_status ptxgen_cache_nearest(ptxgen_cache *cache, const char *key,
                                              ptxgen_cache_nearest_result *result,
                                              ptxgen_error *err);

#ifdef __cplusplus
}
#endif

#endif
