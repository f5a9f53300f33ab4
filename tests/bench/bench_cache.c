/* What the disk cache costs: hit, miss, store, lock, at 100 and at many entries, beside the bare
 * system calls that a hit cannot do without (open, fstat, pread, close of the same file by its
 * full path).
 *
 *     bench_cache [entries (100000)] [file.csv] */
#include "cache_helpers.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 20000, CUBIN_BYTES = 12000, PTX_BYTES = 8000 };

typedef struct sample {
    double median, p99; /* us */
} sample;

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static sample summarize(double *us, size_t n)
{
    qsort(us, n, sizeof *us, by_value);
    return (sample){us[n / 2], us[n * 99 / 100]};
}

static size_t key_of(uint64_t i, char key[512])
{
    return (size_t)snprintf(
        key, 512,
        "schema=1\nfamily=scatter_add\nparams=dtype=bf16 n=%llu contig=1 index=i64 schedule=bulk "
        "oob=record\narch=sm_90a\nassembler=ptxas 13.0.88 157d67e6\ngenerator=0123456789abcdef\n",
        (unsigned long long)i);
}

typedef struct job {
    pg_cache *cache;
    const char *dir;
    uint64_t entries;
    pg_cache_entry entry;
} job;

static uint64_t pick(const job *j, size_t round)
{
    return (uint64_t)(round * 2654435761u) % j->entries;
}

static void do_store(const job *j, size_t round)
{
    char key[512];
    pg_cache_store(j->cache, key, key_of(round, key), &j->entry);
}

static void do_hit(const job *j, size_t round)
{
    char key[512];
    pg_cache_entry e;
    if (pg_cache_lookup(j->cache, key, key_of(pick(j, round), key), &e) != PG_CACHE_HIT)
        abort();
    pg_cache_entry_release(j->cache, &e);
}

static void do_miss(const job *j, size_t round)
{
    char key[512];
    pg_cache_entry e;
    if (pg_cache_lookup(j->cache, key, key_of(1000000000 + round, key), &e) != PG_CACHE_MISS)
        abort();
}

static void do_lock(const job *j, size_t round)
{
    char key[512];
    uint64_t token;
    pg_cache_acquire(j->cache, key, key_of(round, key), &token);
    pg_cache_take_slot(j->cache, token);
    pg_cache_release(j->cache, token);
}

static void do_bare(const job *j, size_t round)
{
    static char bytes[65536];
    char key[512], path[1024];
    key_of(pick(j, round), key);
    test_entry_path(j->dir, key, path);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0 || pread(fd, bytes, sizeof bytes, 0) != st.st_size)
        abort();
    close(fd);
}

static void measure(const char *name, const job *j, void (*step)(const job *, size_t),
                    size_t rounds, FILE *csv)
{
    double *us = malloc(rounds * sizeof *us);
    for (size_t i = 0; i < rounds; i++) {
        double t = now_us();
        step(j, i);
        us[i] = now_us() - t;
    }
    sample s = summarize(us, rounds);
    printf("  %-34s %9.2f %9.2f\n", name, s.median, s.p99);
    if (csv)
        fprintf(csv, "%s,%llu,%.3f,%.3f\n", name, (unsigned long long)j->entries, s.median, s.p99);
    free(us);
}

static void measure_all(job *j, FILE *csv)
{
    printf("%llu entries of %d bytes cubin and %d bytes PTX: us, median and 99th percentile\n",
           (unsigned long long)j->entries, CUBIN_BYTES, PTX_BYTES);
    measure("bare open+fstat+pread+close", j, do_bare, ROUNDS, csv);
    measure("hit", j, do_hit, ROUNDS, csv);
    measure("miss", j, do_miss, ROUNDS, csv);
    measure("acquire+slot+release", j, do_lock, ROUNDS, csv);
}

int main(int argc, char **argv)
{
    uint64_t most = argc > 1 ? strtoull(argv[1], NULL, 10) : 100000;
    FILE *csv = argc > 2 ? fopen(argv[2], "w") : NULL;
    static unsigned char cubin[CUBIN_BYTES];
    static char ptx[PTX_BYTES];
    for (size_t i = 0; i < sizeof cubin; i++)
        cubin[i] = (unsigned char)(i * i >> 3);
    memset(ptx, 'x', sizeof ptx);
    test_folder folder;
    test_folder_make_in(&folder, "/tmp"); /* a disk, where there is one */
    job j = {.dir = folder.path,
             .entries = 100,
             .entry = {.family = "scatter_add",
                       .params = "n=1",
                       .entry_name = "k",
                       .cubin = cubin,
                       .cubin_size = sizeof cubin,
                       .ptx = ptx,
                       .ptx_size = sizeof ptx}};
    if (csv)
        fprintf(csv, "what,entries,median_us,p99_us\n");
    j.cache = test_cache_open(&(pg_cache_config){.dir = folder.path}, NULL);
    measure("store, synced", &j, do_store, 100, csv);
    pg_cache_destroy(j.cache);
    j.cache = test_cache_open(&(pg_cache_config){.dir = folder.path, .no_sync = true}, NULL);
    measure_all(&j, csv);
    j.entries = most;
    measure("store, not synced", &j, do_store, most, csv);
    measure_all(&j, csv);
    pg_cache_destroy(j.cache);
    test_folder_remove(&folder);
    if (csv)
        fclose(csv);
    return 0;
}
