/* Ten thousand kernels in memory: every one is found again, and forgetting them gives all memory
 * back. */
#include "engine_helpers.h"

#include <malloc.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SANITIZED = 1 }; /* they keep freed memory, so that the resident size says nothing */
#else
enum { SANITIZED = 0 };
#endif

enum { KERNELS = 10000, ROUNDS = 4 };

static size_t resident_bytes(void)
{
    long pages = 0, all = 0;
    malloc_trim(0);
    FILE *f = fopen("/proc/self/statm", "r");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%ld %ld", &all, &pages), 2);
    fclose(f);
    return (size_t)pages * (size_t)sysconf(_SC_PAGESIZE);
}

static pg_kernel_id id_of(int i)
{
    char params[64];
    pg_kernel_id id;
    ptxgen_error err;
    snprintf(params, sizeof params, "dtype=f32 n=%d schedule=vector", 4 * (i + 1));
    if (pg_kernel_id_parse("scatter_add", params, 0, &id, &err) != PTXGEN_OK)
        fail_msg("%s: %s", params, err.message);
    return id; /* PTX only, as for the emulator */
}

/* All kernels are built, and then found. */
static void build_and_find(ptxgen *ctx)
{
    static ptxgen_kernel *built[KERNELS];
    for (int i = 0; i < KERNELS; i++) {
        const pg_kernel_id id = id_of(i);
        assert_int_equal(
            pg_kernel_store_get(&ctx->kernels, &id, PG_BUILD_ON_DEMAND, &built[i], NULL),
            PTXGEN_OK);
    }
    assert_int_equal(engine_info(ctx).entries, KERNELS);
    for (int i = 0; i < KERNELS; i++) {
        ptxgen_kernel *found;
        const pg_kernel_id id = id_of(i);
        assert_int_equal(pg_kernel_store_get(&ctx->kernels, &id, PG_BUILD_ON_DEMAND, &found, NULL),
                         PTXGEN_OK);
        assert_ptr_equal(found, built[i]);
        ptxgen_kernel_unref(found);
        ptxgen_kernel_unref(built[i]);
    }
}

static void ten_thousand_kernels_leave_nothing_behind(void **state)
{
    (void)state;
    failing_alloc memory = {0};
    const pg_alloc hook = failing_alloc_hook(&memory);
    const ptxgen_config config = {
        .size = sizeof config, .realloc = hook.realloc, .user = hook.user, .cache_dir = ""};
    ptxgen *ctx;
    size_t live = 0, resident = 0;
    assert_int_equal(ptxgen_create(&config, &ctx, NULL), PTXGEN_OK);
    for (int round = 0; round < ROUNDS; round++) {
        const uint64_t hits = engine_info(ctx).memory_hits;
        build_and_find(ctx);
        assert_int_equal(engine_info(ctx).memory_hits - hits, KERNELS);
        assert_int_equal(ptxgen_cache_clear(ctx, false, NULL), PTXGEN_OK);
        if (round == 0) {
            live = memory.live;
            resident = resident_bytes();
        }
        assert_int_equal(memory.live, live);
        if (!SANITIZED && resident_bytes() > resident + (4 << 20))
            fail_msg("%zu bytes are resident after round %d, %zu after the first", resident_bytes(),
                     round + 1, resident);
    }
    ptxgen_destroy(ctx);
    assert_int_equal(memory.live, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(ten_thousand_kernels_leave_nothing_behind)};
    return cmocka_run_group_tests_name("engine_memory", tests, NULL, NULL);
}
