/* Speed of the emulator's engines on one core: wgmma m64n256k16 in both arithmetics, operand
 * gathers, and tensor boxes. Prints a table; asserts nothing. */
#include "test.h"

#include "emulator/matrix/matrix_descriptor.h"
#include "emulator/copy/tensor_map.h"
#include "emulator/matrix/wgmma.h"

#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static uint8_t a_bytes[64 * 32], b_bytes[256 * 32];
static uint32_t registers[64 * 256];
static uint32_t *d_rows[512];
static const uint32_t *c_rows[512];
static uint8_t scratch[PG_MMA_SCRATCH_BYTES] __attribute__((aligned(64)));

typedef void engine(const pg_mma_tile *, void *);

static void time_tiles(const char *name, engine *run, pg_mma_type type, uint32_t n)
{
    const pg_mma_tile t = {.a_type = type,
                           .b_type = type,
                           .result = type == PG_MMA_S8 ? PG_MMA_D_S32 : PG_MMA_D_F32,
                           .m = 64,
                           .n = n,
                           .k = pg_mma_types[type].wgmma_k,
                           .low_precision_fp8 = true,
                           .a = a_bytes,
                           .b = b_bytes,
                           .c = c_rows,
                           .d = d_rows};
    for (size_t i = 0; i < sizeof a_bytes; i++)
        a_bytes[i] = (uint8_t)(i % 2 ? 0x38 + i % 5 : i * 77);
    for (size_t i = 0; i < sizeof b_bytes; i++)
        b_bytes[i] = (uint8_t)(i % 2 ? 0x38 + i % 3 : i * 91);
    memset(registers, 0, sizeof registers);
    for (int i = 0; i < 512; i++)
        c_rows[i] = d_rows[i] = registers + 32 * i;
    const double flop = 2.0 * 64 * n * t.k, start = now();
    int runs = 0;
    while (now() - start < 0.5)
        for (int i = 0; i < 20; i++, runs++)
            run(&t, scratch);
    printf("%-6s m64n%uk%-3u %-5s %8.2f GFLOP/s\n", name, n, t.k, pg_mma_types[type].name,
           flop * runs / (now() - start) * 1e-9);
}

static void time_gather(bool mn_major)
{
    static uint8_t shared[1 << 17], out[256 * 32];
    const pg_matrix_descriptor d = {
        .start = 1024, .leading = 4096, .stride = 1024, .swizzle = PG_SWIZZLE_128B};
    const pg_matrix_shape shape = {.rows = 256, .depth = 16, .elem_bits = 16, .mn_major = mn_major};
    pg_matrix_layout layout;
    if (pg_matrix_layout_make(&d, &shape, &layout, NULL) != PTXGEN_OK)
        return;
    const double start = now();
    int runs = 0;
    while (now() - start < 0.3)
        for (int i = 0; i < 50; i++, runs++)
            pg_matrix_gather(&layout, &shape, shared, out);
    printf("gather 256 x 16 f16, %s-major %8.2f us\n", mn_major ? "MN" : "K",
           (now() - start) / runs * 1e6);
}

static void time_boxes(pg_swizzle swizzle)
{
    static uint8_t global[1 << 22] __attribute__((aligned(64))), shared[1 << 16];
    pg_tensor_map m = {.type = PG_TENSOR_F16,
                       .rank = 2,
                       .address = (uint64_t)(uintptr_t)global,
                       .dims = {1024, 2048},
                       .strides = {2048},
                       .box = {64, 64},
                       .element_strides = {1, 1},
                       .swizzle = swizzle};
    const pg_tensor_copy copy = {&m, shared, 1024, false};
    const double start = now();
    double bytes = 0;
    while (now() - start < 0.3)
        for (int32_t y = 0; y < 2048; y += 64) {
            const int32_t coords[2] = {y % 1024, y};
            pg_tensor_walk walk;
            pg_tensor_row row;
            pg_tensor_walk_start(&walk, &m, coords);
            while (pg_tensor_walk_next(&walk, &row))
                pg_tensor_load_row(&copy, &row, (const uint8_t *)(uintptr_t)row.global);
            bytes += 8192;
        }
    printf("load boxes 64 x 64 f16, swizzle %-4s %8.2f GB/s\n", pg_swizzles[swizzle].name,
           bytes / (now() - start) * 1e-9);
}

static void time_reduce(pg_tensor_type type)
{
    static uint8_t global[1 << 22], linear[512];
    const double start = now();
    double bytes = 0;
    while (now() - start < 0.3)
        for (uint32_t at = 0; at < sizeof global; at += 512, bytes += 512)
            pg_reduce_bytes(PG_REDUCE_ADD, type, global + at, linear, 512);
    printf("reduce add %-8s %8.2f GB/s\n", pg_tensor_types[type].name,
           bytes / (now() - start) * 1e-9);
}

int main(void)
{
    time_tiles("fast", pg_mma_fast, PG_MMA_F16, 256);
    time_tiles("fast", pg_mma_fast, PG_MMA_F16, 64);
    time_tiles("fast", pg_mma_fast, PG_MMA_TF32, 256);
    time_tiles("fast", pg_mma_fast, PG_MMA_E4M3, 256);
    time_tiles("fast", pg_mma_fast, PG_MMA_S8, 256);
    time_tiles("exact", pg_mma_exact, PG_MMA_F16, 256);
    time_tiles("exact", pg_mma_exact, PG_MMA_F16, 64);
    time_tiles("exact", pg_mma_exact, PG_MMA_TF32, 256);
    time_tiles("exact", pg_mma_exact, PG_MMA_E4M3, 256);
    time_gather(false);
    time_gather(true);
    time_boxes(PG_SWIZZLE_NONE);
    time_boxes(PG_SWIZZLE_128B);
    time_reduce(PG_TENSOR_F32);
    time_reduce(PG_TENSOR_BF16);
    return 0;
}
