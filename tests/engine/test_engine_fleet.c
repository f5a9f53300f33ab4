/* Machines (folders) that share a real Redis: one cold key is compiled once, whatever becomes of
 * the server no call waits for it, and nothing wrong that lies there is ever a kernel. The script
 * in the assembler's place counts its runs over all processes. */
#include "cache_helpers.h"
#include "engine_helpers.h"
#include "redis_server.h"

#include "base/clock.h"
#include "cache/entry.h"
#include "cache/signature.h"
#include "remote/transport.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MACHINES = 8, PROCESSES = 64 };

static const char problem[] = "n=96 dtype=f16 schedule=bulk arch=sm_90";
static const char other_problem[] = "n=128 dtype=f16 schedule=bulk arch=sm_90";
static const char other_arch[] = "n=96 dtype=f16 schedule=bulk arch=sm_100";

static void nap(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
}

/* One machine: a context with a folder of its own. */
typedef struct machine {
    test_folder folder;
    ptxgen *ctx;
} machine;

static machine machine_make(const fake_toolkit *t, const ptxgen_config *config)
{
    machine m;
    test_folder_make(&m.folder);
    m.ctx = engine_create(t, m.folder.path, config);
    return m;
}

static machine machine_at(const fake_toolkit *t, const char *place)
{
    const ptxgen_config config = {.cache_remote = place};
    return machine_make(t, &config);
}

static void machine_remove(machine *m)
{
    ptxgen_destroy(m->ctx);
    test_folder_remove(&m->folder);
}

static uint64_t counted(const machine *m, const char *name)
{
    return test_counter(m->ctx->engine->cache, name);
}

/* Behind the calls, and waits until it is there. */
static void prefetch(ptxgen *ctx, const char *params)
{
    ptxgen_error err = {0};
    ptxgen_status status = ptxgen_prefetch(ctx, "scatter_add", params, &err);
    while (status == PTXGEN_OK &&
           (status = ptxgen_poll(ctx, "scatter_add", params, &err)) == PTXGEN_EPENDING) {
        status = PTXGEN_OK;
        nap();
        if (engine_info(ctx).pending == 0)
            break;
    }
    if (status != PTXGEN_OK)
        fail_msg("%s: %s", params, err.message);
}

static uint64_t hash_of(ptxgen *ctx, const char *params)
{
    ptxgen_kernel *k = NULL;
    ptxgen_kernel_info info = {.size = sizeof info};
    ptxgen_error err = {0};
    if (ptxgen_compile(ctx, "scatter_add", params, &k, &err) != PTXGEN_OK)
        fail_msg("%s: %s", params, err.message);
    ptxgen_kernel_describe(k, &info);
    const uint64_t hash =
        pg_hash64(info.cubin, info.cubin_size) ^ pg_hash64(info.ptx, info.ptx_size);
    ptxgen_kernel_unref(k);
    return hash;
}

/* Until the entries of the machine have arrived. */
static void await_stores(const machine *m, uint64_t count)
{
    for (int i = 0; i < 2000 && counted(m, "remote_stores") < count; i++)
        nap();
    assert_int_equal(counted(m, "remote_stores"), count);
}

/* ---- one compile ---- */

typedef struct outcome {
    uint64_t misses, hash, hits;
} outcome;

static void be_a_process(const fake_toolkit *t, const char *dir, const char *place, int out)
{
    const ptxgen_config config = {.cache_remote = place};
    ptxgen *ctx = engine_create(t, dir, &config);
    prefetch(ctx, problem);
    const outcome o = {.hash = hash_of(ctx, problem),
                       .misses = engine_info(ctx).misses,
                       .hits = engine_info(ctx).remote_hits};
    ptxgen_destroy(ctx);
    _exit(write(out, &o, sizeof o) != sizeof o);
}

static void check_one_compile(const redis_server *s, long stagger_us)
{
    int ends[2];
    fake_toolkit toolkit;
    test_folder folders[MACHINES];
    outcome sum = {0};
    fake_toolkit_make(&toolkit);
    fake_toolkit_does(&toolkit, "sleep 0.2; " FAKE_ASSEMBLES);
    for (int i = 0; i < MACHINES; i++)
        test_folder_make(&folders[i]);
    assert_int_equal(pipe(ends), 0);
    for (int i = 0; i < PROCESSES; i++) {
        const pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0)
            be_a_process(&toolkit, folders[i % MACHINES].path, s->place, ends[1]);
        nanosleep(&(struct timespec){.tv_nsec = stagger_us * 1000}, NULL);
    }
    for (int i = 0; i < PROCESSES; i++) {
        outcome o;
        int status;
        assert_int_equal(read(ends[0], &o, sizeof o), sizeof o);
        sum.hash = sum.hash ? sum.hash : o.hash;
        assert_true(o.hash == sum.hash);
        sum.misses += o.misses;
        sum.hits += o.hits;
        assert_true(wait(&status) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    print_message("%d processes on %d machines, %ld us apart: %d compile, %d entries came\n",
                  PROCESSES, MACHINES, stagger_us, (int)sum.misses, (int)sum.hits);
    assert_int_equal(sum.misses, 1);
    assert_int_equal(fake_toolkit_runs(&toolkit), 1);
    assert_true(sum.hits >= MACHINES - 1);
    close(ends[0]);
    close(ends[1]);
    for (int i = 0; i < MACHINES; i++)
        test_folder_remove(&folders[i]);
    fake_toolkit_remove(&toolkit);
}

static void a_fleet_compiles_once(void **state)
{
    (void)state;
    static const long staggers_us[] = {0, 3000};
    for (int i = 0; i < 2; i++) {
        redis_server s;
        redis_server_make(&s, NULL, NULL);
        check_one_compile(&s, staggers_us[i]);
        redis_server_remove(&s);
    }
}

/* Two machines with one list: each takes what the other has not begun. */
static void machines_share_a_list(void **state)
{
    (void)state;
    enum { KERNELS = 24 };
    redis_server s;
    fake_toolkit toolkit;
    machine m[2];
    redis_server_make(&s, NULL, NULL);
    fake_toolkit_make(&toolkit);
    fake_toolkit_does(&toolkit, "sleep 0.02; " FAKE_ASSEMBLES);
    const ptxgen_config config = {.cache_remote = s.place, .prefetch_threads = 1};
    for (int i = 0; i < 2; i++)
        m[i] = machine_make(&toolkit, &config);
    for (int n = 1; n <= KERNELS; n++) {
        char params[64];
        snprintf(params, sizeof params, "n=%d dtype=f16 schedule=bulk arch=sm_90", 32 * n);
        for (int i = 0; i < 2; i++)
            assert_int_equal(ptxgen_prefetch(m[i].ctx, "scatter_add", params, NULL), PTXGEN_OK);
    }
    while (engine_info(m[0].ctx).pending || engine_info(m[1].ctx).pending)
        nap();
    const int a = (int)engine_info(m[0].ctx).misses, b = (int)engine_info(m[1].ctx).misses;
    print_message("%d kernels: one machine compiled %d, the other %d\n", KERNELS, a, b);
    assert_int_equal(fake_toolkit_runs(&toolkit), KERNELS);
    assert_int_equal(a + b, KERNELS);
    assert_true(a > 0 && b > 0);
    for (int i = 0; i < 2; i++)
        machine_remove(&m[i]);
    fake_toolkit_remove(&toolkit);
    redis_server_remove(&s);
}

/* ---- the state that the tests below share: a server with one entry of each of two kernels ---- */

typedef struct fleet {
    redis_server server;
    fake_toolkit toolkit;
    char name[128], other_name[128]; /* of the entries in Redis */
    char *entry, *other, *foreign;   /* the second's; one for another architecture */
    size_t size, other_size, foreign_size;
    uint64_t hash;
} fleet;

static void only_key(const redis_server *s, char name[128])
{
    char names[4][128];
    assert_int_equal(redis_keys(s, "ptxgen:1:*", names, 4), 1);
    memcpy(name, names[0], 128);
}

/* What a machine sends when it compiles the kernel; the server is empty before and after. */
static char *entry_of(fleet *f, const ptxgen_config *config, const char *params, char name[128],
                      size_t *size)
{
    machine m = machine_make(&f->toolkit, config);
    engine_compile(m.ctx, params);
    await_stores(&m, 1);
    f->hash = params == problem ? hash_of(m.ctx, params) : f->hash;
    machine_remove(&m);
    only_key(&f->server, name);
    char *bytes = redis_get(&f->server, name, size);
    assert_non_null(bytes);
    assert_int_equal(redis_count(&f->server, "FLUSHALL", NULL), 0);
    return bytes;
}

static void fleet_make(fleet *f)
{
    char name[128];
    memset(f, 0, sizeof *f);
    redis_server_make(&f->server, NULL, NULL);
    fake_toolkit_make(&f->toolkit);
    const ptxgen_config config = {.cache_remote = f->server.place};
    f->entry = entry_of(f, &config, problem, f->name, &f->size);
    f->other = entry_of(f, &config, other_problem, f->other_name, &f->other_size);
    f->foreign = entry_of(f, &config, other_arch, name, &f->foreign_size);
}

static void fleet_remove(fleet *f)
{
    free(f->entry);
    free(f->other);
    free(f->foreign);
    fake_toolkit_remove(&f->toolkit);
    redis_server_remove(&f->server);
}

static void a_dead_owners_claim_ends(void **state)
{
    (void)state;
    fleet f;
    char claim[160];
    size_t n;
    fleet_make(&f);
    snprintf(claim, sizeof claim, "%s:claim", f.name);
    const redis_word words[] = {{"SET", 0}, {claim, 0}, {"dead", 0}, {"PX", 0}, {"600", 0}};
    const int runs = fake_toolkit_runs(&f.toolkit);
    machine m = machine_at(&f.toolkit, f.server.place);
    free(redis_say(&f.server, words, 5, &n));
    const double start = pg_clock_us();
    prefetch(m.ctx, problem);
    print_message("a claim of 600 ms, its owner dead: %.0f ms\n", (pg_clock_us() - start) / 1000);
    assert_true(pg_clock_us() - start > 400000);
    assert_int_equal(fake_toolkit_runs(&f.toolkit), runs + 1);
    assert_true(counted(&m, "remote_waits") > 0);
    /* Ours is given back, behind the entry. */
    await_stores(&m, 1);
    for (int i = 0; i < 2000 && redis_count(&f.server, "EXISTS", claim); i++)
        nap();
    assert_int_equal(redis_count(&f.server, "EXISTS", claim), 0);
    machine_remove(&m);
    fleet_remove(&f);
}

static void what_one_machine_made_another_takes(void **state)
{
    (void)state;
    fleet f;
    fleet_make(&f);
    redis_set(&f.server, f.name, f.entry, f.size);
    const int runs = fake_toolkit_runs(&f.toolkit);
    /* Behind the calls; and the folder has it from then on. */
    machine m = machine_at(&f.toolkit, f.server.place);
    prefetch(m.ctx, problem);
    assert_true(hash_of(m.ctx, problem) == f.hash);
    assert_int_equal(counted(&m, "remote_hits"), 1);
    assert_int_equal(counted(&m, "hits"), 1);
    assert_int_equal(counted(&m, "remote_stores"), 0);
    machine_remove(&m);
    /* By who waits for a compile: within its half millisecond, or it compiles. */
    int taken = 0;
    for (int i = 0; i < 20; i++) {
        m = machine_at(&f.toolkit, f.server.place);
        assert_true(hash_of(m.ctx, problem) == f.hash);
        taken += engine_info(m.ctx).misses == 0;
        machine_remove(&m);
    }
    print_message("a caller with a connection to be made: %d of 20 had the entry in time\n", taken);
    /* One that is sent nothing sends nothing. */
    char place[96];
    snprintf(place, sizeof place, "%s read-only", f.server.place);
    assert_int_equal(redis_count(&f.server, "FLUSHALL", NULL), 0);
    m = machine_at(&f.toolkit, place);
    prefetch(m.ctx, problem);
    machine_remove(&m);
    char names[1][128];
    assert_int_equal(redis_keys(&f.server, "*", names, 1), 0);
    assert_true(fake_toolkit_runs(&f.toolkit) > runs);
    fleet_remove(&f);
}

/* ---- nothing wrong is a kernel ---- */

/* Puts bytes under the key; a machine that asks refuses and counts them, compiles, and mends. */
static void check_poison(fleet *f, const ptxgen_config *config, const void *bytes, size_t n,
                         const char *counter)
{
    redis_set(&f->server, f->name, bytes, n);
    machine m = machine_make(&f->toolkit, config);
    prefetch(m.ctx, problem);
    assert_true(hash_of(m.ctx, problem) == f->hash);
    const bool sends = config->cache_trust != PTXGEN_CACHE_TRUST_SIGNED;
    const uint64_t looks = sends ? 2 : 1; /* once more with the claim */
    if (counted(&m, counter) != looks)
        fail_msg("%s is %d", counter, (int)counted(&m, counter));
    assert_int_equal(engine_info(m.ctx).remote_refused, looks);
    assert_int_equal(engine_info(m.ctx).misses, 1);
    if (sends)
        await_stores(&m, 1);
    machine_remove(&m);
}

/* The first kernel's key and texts around the second's cubin, or another signature's. */
static void encode_mixed(const fleet *f, const char *with, size_t with_size, bool cubin_only,
                         pg_buf *out)
{
    pg_cache_entry mine, theirs, mixed;
    pg_str key, their_key;
    assert_int_equal(pg_entry_decode(f->entry, f->size, &mine, &key), PG_ENTRY_OK);
    assert_int_equal(pg_entry_decode(with, with_size, &theirs, &their_key), PG_ENTRY_OK);
    mixed = cubin_only ? mine : theirs;
    mixed.cubin = theirs.cubin;
    mixed.cubin_size = theirs.cubin_size;
    pg_buf_init(out, &pg_alloc_libc);
    assert_true(pg_entry_encode(out, key, &mixed));
}

static void poison_is_refused_and_mended(void **state)
{
    (void)state;
    fleet f;
    unsigned char noise[4096];
    uint64_t x = 1;
    fleet_make(&f);
    const ptxgen_config config = {.cache_remote = f.server.place};
    for (size_t i = 0; i < sizeof noise; i++)
        noise[i] = (unsigned char)((x = x * 6364136223846793005u + 1442695040888963407u) >> 56);
    check_poison(&f, &config, noise, sizeof noise, "remote_damaged");
    check_poison(&f, &config, "x", 1, "remote_damaged");
    check_poison(&f, &config, f.entry, f.size - 1, "remote_damaged");
    check_poison(&f, &config, f.entry, f.size / 2, "remote_damaged");
    f.entry[f.size / 2] ^= 1;
    check_poison(&f, &config, f.entry, f.size, "remote_damaged");
    f.entry[f.size / 2] ^= 1;
    check_poison(&f, &config, f.other, f.other_size, "remote_swapped");
    check_poison(&f, &config, f.foreign, f.foreign_size, "remote_swapped");
    pg_buf bytes;
    encode_mixed(&f, f.foreign, f.foreign_size, true, &bytes);
    check_poison(&f, &config, bytes.data, bytes.len, "remote_mismatched");
    pg_buf_fini(&bytes);
    encode_mixed(&f, f.other, f.other_size, true, &bytes);
    check_poison(&f, &config, bytes.data, bytes.len, "remote_mismatched");
    pg_buf_fini(&bytes);
    /* The last machine has mended it. */
    machine m = machine_at(&f.toolkit, f.server.place);
    prefetch(m.ctx, problem);
    assert_true(hash_of(m.ctx, problem) == f.hash);
    assert_int_equal(engine_info(m.ctx).misses, 0);
    machine_remove(&m);
    fleet_remove(&f);
}

static void sign(const char *secret_path, const char *entry, size_t n, int64_t expires, pg_buf *out)
{
    pg_secret_key secret;
    pg_cache_entry e;
    pg_str key;
    assert_int_equal(pg_secret_key_read(secret_path, &secret, NULL), PTXGEN_OK);
    assert_int_equal(pg_entry_decode(entry, n, &e, &key), PG_ENTRY_OK);
    pg_buf_init(out, &pg_alloc_libc);
    assert_true(pg_signature_encode(&secret, key, &e, expires, out));
}

typedef struct keys {
    test_folder folder;
    char secret[600], trusted[600], stranger[600];
} keys;

static void keys_make(keys *k)
{
    test_folder_make(&k->folder);
    snprintf(k->secret, sizeof k->secret, "%s/key", k->folder.path);
    snprintf(k->trusted, sizeof k->trusted, "%s/key.pub", k->folder.path);
    snprintf(k->stranger, sizeof k->stranger, "%s/stranger", k->folder.path);
    assert_int_equal(pg_key_pair_write(k->secret, "fleet-1", NULL), PTXGEN_OK);
    assert_int_equal(pg_key_pair_write(k->stranger, "stranger-1", NULL), PTXGEN_OK);
}

static void what_is_signed_is_taken(fleet *f, const keys *k)
{
    const ptxgen_config writes = {.cache_remote = f->server.place,
                                  .cache_trust = PTXGEN_CACHE_TRUST_SIGNED,
                                  .cache_keys = k->trusted,
                                  .cache_sign_key = k->secret};
    ptxgen_config reads = writes;
    reads.cache_sign_key = NULL;
    size_t n;
    char name[128], *entry = entry_of(f, &writes, problem, name, &n);
    redis_set(&f->server, name, entry, n);
    machine m = machine_make(&f->toolkit, &reads);
    prefetch(m.ctx, problem);
    assert_true(hash_of(m.ctx, problem) == f->hash);
    assert_int_equal(engine_info(m.ctx).misses, 0);
    engine_compile(m.ctx, other_problem); /* and nothing is sent that nobody would take */
    machine_remove(&m);
    only_key(&f->server, name);
    free(entry);
}

static void what_is_not_signed_is_refused(void **state)
{
    (void)state;
    fleet f;
    keys k;
    pg_buf bytes, mixed;
    const pg_sodium *sodium;
    if (pg_sodium_get(&sodium, NULL) != PTXGEN_OK)
        skip();
    fleet_make(&f);
    keys_make(&k);
    what_is_signed_is_taken(&f, &k);
    const ptxgen_config config = {.cache_remote = f.server.place,
                                  .cache_trust = PTXGEN_CACHE_TRUST_SIGNED,
                                  .cache_keys = k.trusted};
    check_poison(&f, &config, f.entry, f.size, "remote_unsigned");
    sign(k.stranger, f.entry, f.size, 0, &bytes);
    check_poison(&f, &config, bytes.data, bytes.len, "remote_unsigned");
    pg_buf_fini(&bytes);
    sign(k.secret, f.other, f.other_size, 0, &bytes);
    check_poison(&f, &config, bytes.data, bytes.len, "remote_swapped");
    encode_mixed(&f, bytes.data, bytes.len, false, &mixed); /* its signature under our key */
    check_poison(&f, &config, mixed.data, mixed.len, "remote_rekeyed");
    pg_buf_fini(&mixed);
    pg_buf_fini(&bytes);
    sign(k.secret, f.entry, f.size, 1, &bytes);
    check_poison(&f, &config, bytes.data, bytes.len, "remote_expired");
    pg_buf_fini(&bytes);
    test_folder_remove(&k.folder);
    fleet_remove(&f);
}

/* ---- no call waits for the server ---- */

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

enum { CALLS = 15 };

/* The median time of requests that each compile a kernel, in microseconds. */
static double time_of_calls(const fake_toolkit *t, const char *place, uint64_t *refused)
{
    double us[CALLS];
    machine m = machine_at(t, place);
    for (int i = 0; i < CALLS; i++) {
        char params[64];
        snprintf(params, sizeof params, "n=%d dtype=f16 schedule=bulk arch=sm_90", 32 * (i + 1));
        const double start = pg_clock_us();
        engine_compile(m.ctx, params);
        us[i] = pg_clock_us() - start;
    }
    assert_int_equal(engine_info(m.ctx).misses, CALLS);
    *refused = engine_info(m.ctx).remote_errors;
    machine_remove(&m);
    qsort(us, CALLS, sizeof *us, compare);
    return us[CALLS / 2];
}

static void no_call_waits_for_the_server(void **state)
{
    (void)state;
    enum { NONE, KILLED, STOPPED, FULL, RESTARTED, STATES };
    static const char *const names[STATES] = {"no store", "killed", "stopped", "full", "restarted"};
    fake_toolkit toolkit;
    double us[STATES];
    uint64_t errors[STATES];
    fake_toolkit_make(&toolkit);
    us[NONE] = time_of_calls(&toolkit, NULL, &errors[NONE]);
    for (int i = KILLED; i < STATES; i++) {
        redis_server s;
        redis_server_make(&s, i == FULL ? "maxmemory" : NULL, "1");
        if (i == KILLED || i == RESTARTED)
            redis_server_kill(&s);
        if (i == RESTARTED)
            redis_server_start(&s, NULL, NULL);
        if (i == STOPPED)
            redis_server_stall(&s);
        us[i] = time_of_calls(&toolkit, s.place, &errors[i]);
        redis_server_remove(&s);
    }
    for (int i = 0; i < STATES; i++)
        print_message("a request that compiles, server %s: %.2f ms (%+.2f), %d errors\n", names[i],
                      us[i] / 1000, (us[i] - us[NONE]) / 1000, (int)errors[i]);
    /* This machine may be busy: what must not be there is the timeout of half a second. */
    for (int i = KILLED; i < STATES; i++)
        assert_true(us[i] - us[NONE] < 250000);
    assert_int_equal(errors[RESTARTED], 0);
    assert_true(errors[KILLED] > 0 && errors[FULL] > 0);
    fake_toolkit_remove(&toolkit);
}

/* A worker asks a store that says nothing, for four seconds; who calls meanwhile has its kernel. */
static void a_call_does_not_wait_for_a_worker_that_asks(void **state)
{
    (void)state;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof at;
    char place[64];
    fake_toolkit toolkit;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof at) == 0 &&
                listen(fd, 64) == 0 && getsockname(fd, (struct sockaddr *)&at, &n) == 0);
    snprintf(place, sizeof place, "redis://127.0.0.1:%d", ntohs(at.sin_port));
    fake_toolkit_make(&toolkit);
    const ptxgen_config config = {.cache_remote = place, .cache_remote_timeout_ms = 4000};
    machine m = machine_make(&toolkit, &config);
    const double start = pg_clock_us();
    assert_int_equal(ptxgen_prefetch(m.ctx, "scatter_add", problem, NULL), PTXGEN_OK);
    const int client = accept(fd, NULL, NULL); /* the worker asks now */
    assert_true(client >= 0);
    engine_compile(m.ctx, problem);
    const double us = pg_clock_us() - start;
    print_message("a call while a worker asks a black hole: %.1f ms\n", us / 1000);
    assert_true(us < 3000000);
    assert_int_equal(engine_info(m.ctx).pending, 1); /* it still does */
    machine_remove(&m);
    close(client);
    close(fd);
    fake_toolkit_remove(&toolkit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fleet_compiles_once),
        cmocka_unit_test(machines_share_a_list),
        cmocka_unit_test(a_dead_owners_claim_ends),
        cmocka_unit_test(what_one_machine_made_another_takes),
        cmocka_unit_test(poison_is_refused_and_mended),
        cmocka_unit_test(what_is_not_signed_is_refused),
        cmocka_unit_test(no_call_waits_for_the_server),
        cmocka_unit_test(a_call_does_not_wait_for_a_worker_that_asks),
    };
    const pg_transport *redis;
    if (!redis_server_is_here() || pg_transport_redis(&redis, NULL) != PTXGEN_OK)
        return TEST_SKIPPED;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
