/* Helpers of the cache's tests: a fresh folder, made-up kernels whose bytes follow from their
 * number, a log that is kept. */
#ifndef CACHE_HELPERS_H
#define CACHE_HELPERS_H

#include "test.h"

#include "base/buf.h"
#include "cache/cache.h"
#include "cache/space.h"

typedef struct test_log {
    pg_log log;
    size_t lines, warnings;
    char last[1024];
} test_log;
void test_log_init(test_log *t);

/* A new empty folder below `parent`; NULL: TMPDIR, a roomy /dev/shm or /tmp. Removed with all it
 * holds by test_folder_remove. */
typedef struct test_folder {
    char path[512];
} test_folder;
void test_folder_make_in(test_folder *folder, const char *parent);
void test_folder_make(test_folder *folder);
void test_folder_remove(test_folder *folder);

/* "dir/v1/ab/cdef..." of a key. */
void test_entry_path(const char *dir, const char *key, char out[1024]);
/* Reads a whole file; the caller frees it. NULL if it cannot. */
unsigned char *test_read_file(const char *path, size_t *n);
void test_write_file(const char *path, const void *bytes, size_t n);

/* Kernel number i: key "kernel=<i>\n...", a cubin and PTX whose every byte depends on i. */
typedef struct test_kernel {
    char key[256];
    size_t key_size;
    pg_cache_entry entry;
    unsigned char cubin[9000];
    char ptx[3000], params[64];
} test_kernel;
void test_kernel_make(test_kernel *k, uint64_t i);
/* Whether a looked-up entry is kernel i in every field and byte. */
bool test_kernel_equal(const test_kernel *k, const pg_cache_entry *e);

/* Creates with defaults on libc memory; asserts success. */
pg_cache *test_cache_open(const pg_cache_config *config, const pg_log *log);
/* Looks up kernel i: the result, after checking that a hit is exactly kernel i. */
pg_cache_found test_lookup(pg_cache *cache, uint64_t i);
void test_store(pg_cache *cache, uint64_t i);
uint64_t test_counter(pg_cache *cache, const char *name);

/* The folder's sums, after checking that what is booked is what counting finds. */
pg_usage test_exact_usage(const char *dir);

/* The real files, with faults. All fields may be changed between calls; zero: no fault. */
typedef struct faulty_files {
    pg_files files;         /* pass this */
    _Atomic uint64_t calls; /* made so far */
    uint64_t fail_from,
        fail_count; /* the calls number fail_from .. + fail_count - 1 (from 1) fail ... */
    int error;      /* ... with this errno */
    /* only calls of this name count and fail; NULL: all. "create": an open to write */
    const char *only;
    bool kill;           /* instead of failing, the process dies of SIGKILL in that call */
    uint32_t owner;      /* files and folders look like this user's, when not 0 */
    uint64_t filesystem; /* statfs magic, when not 0 */
    uint64_t free_bytes, free_files; /* when not 0 */
    int64_t clock_offset;            /* added to now */
} faulty_files;
void faulty_files_init(faulty_files *f);
/* From now on the calls number `from` to from + count - 1 fail; `only` as above. */
void faulty_files_set(faulty_files *f, const char *only, int error, uint64_t from, uint64_t count);

#endif
