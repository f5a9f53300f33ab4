/* Every scatter_add kernel is assembled by ptxas: no spills, no local memory, no C75xx line (the
 * assembler interface turns those into errors). Skipped without ptxas. Two threads; the longest
 * test of the suite. */
#include "test.h"

#include "ptxgen/ptxgen.h"

#include <pthread.h>
#include <stdatomic.h>

enum { THREADS = 2 };

static const char *const dtypes[] = {"f32", "f16", "bf16"};
static const ptxgen_dtype dtype_numbers[] = {PTXGEN_F32, PTXGEN_F16, PTXGEN_BF16};
static const int lengths[] = {4,   8,   12,   20,   36,   100,    128,
                              500, 512, 1000, 1024, 4096, 160000, 0 /* dynamic */};
static const char *const contigs[] = {"yes", "no"};
static const char *const indices[] = {"i64", "i32"};
static const char *const schedules[] = {"seed", "bulk", "vector"};
static const char *const oobs[] = {"record", "trap"};
static const char *const arches[] = {"sm_90", "sm_100a"};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* Takes i apart: returns a digit of it and leaves the rest. */
static size_t digit(size_t *i, size_t base)
{
    const size_t d = *i % base;
    *i /= base;
    return d;
}

/* false when the row length does not suit the dtype. */
static bool combination(size_t i, char *text, size_t size)
{
    const int n = lengths[digit(&i, COUNT(lengths))];
    const size_t dtype = digit(&i, COUNT(dtypes));
    char length[16] = "dynamic";
    if (n)
        snprintf(length, sizeof length, "%d", n);
    const char *contig = contigs[digit(&i, COUNT(contigs))],
               *index = indices[digit(&i, COUNT(indices))];
    const char *schedule = schedules[digit(&i, COUNT(schedules))],
               *oob = oobs[digit(&i, COUNT(oobs))];
    snprintf(text, size, "arch=%s dtype=%s n=%s contig=%s index=%s schedule=%s oob=%s",
             arches[digit(&i, COUNT(arches))], dtypes[dtype], length, contig, index, schedule, oob);
    return ptxgen_row_shape_supported(dtype_numbers[dtype], n);
}

static const size_t combinations = COUNT(lengths) * COUNT(dtypes) * COUNT(contigs) *
                                   COUNT(indices) * COUNT(schedules) * COUNT(oobs) * COUNT(arches);

static ptxgen *ctx;
static atomic_size_t next, assembled, faults;

static void *assemble_some(void *unused)
{
    (void)unused;
    for (size_t i; (i = atomic_fetch_add(&next, 1)) < combinations;) {
        char params[256];
        ptxgen_kernel *k;
        ptxgen_kernel_info info = {.size = sizeof info};
        ptxgen_error err;
        if (!combination(i, params, sizeof params))
            continue;
        if (ptxgen_compile(ctx, "scatter_add", params, &k, &err) != PTXGEN_OK) {
            printf("%s: %s\n", params, err.message);
            atomic_fetch_add(&faults, 1);
            continue;
        }
        ptxgen_kernel_describe(k, &info);
        if (info.spill_bytes != 0 || info.local_bytes != 0 || info.registers <= 0 ||
            strstr(info.log, "C75")) {
            printf("%s: %d registers, %d spilled, %d local, log %s\n", params, info.registers,
                   info.spill_bytes, info.local_bytes, info.log);
            atomic_fetch_add(&faults, 1);
        }
        atomic_fetch_add(&assembled, 1);
        ptxgen_kernel_unref(k);
    }
    return NULL;
}

static void every_kernel_assembles_without_spills(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, assemble_some, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("%zu kernels\n", (size_t)assembled);
    assert_int_equal(faults, 0);
    /* f32 takes all 14 lengths; f16 and bf16 all but 4, 12, 20, 36, 100 and 500. */
    assert_int_equal(assembled, (14 + 2 * 8) * COUNT(contigs) * COUNT(indices) * COUNT(schedules) *
                                    COUNT(oobs) * COUNT(arches));
}

int main(void)
{
    const ptxgen_config config = {
        .size = sizeof config, .cache_dir = "", .assembler = PTXGEN_ASSEMBLER_PTXAS};
    ptxgen_kernel *k;
    ptxgen_error err;
    if (ptxgen_create(&config, &ctx, &err) != PTXGEN_OK)
        return 1;
    const ptxgen_status status = ptxgen_compile(ctx, "scatter_add", "n=4", &k, &err);
    if (status == PTXGEN_EMISSING) {
        printf("skipped: %s\n", err.message);
        return TEST_SKIPPED;
    }
    if (status == PTXGEN_OK)
        ptxgen_kernel_unref(k);
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_kernel_assembles_without_spills)};
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ptxgen_destroy(ctx);
    return failed;
}
