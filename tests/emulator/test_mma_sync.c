/* Fragments of mma.sync: every element of A, B and C has exactly one place, and the places are
 * those of the ISA's figures for the common shapes. */
#include "test.h"

#include "emulator/matrix/mma_sync.h"

typedef struct shape_name {
    uint32_t m, n, k, bits;
} shape_name;

static const shape_name names[] = {
    {16, 8, 8, 16}, {16, 8, 16, 16}, {16, 8, 4, 32},  {16, 8, 8, 32},  {16, 8, 16, 8},
    {16, 8, 32, 8}, {8, 8, 16, 8},   {16, 8, 256, 1}, {8, 8, 4, 64},   {16, 8, 8, 64},
    {16, 8, 4, 64}, {16, 8, 16, 64}, {8, 8, 128, 1},  {16, 8, 128, 1},
};

static uint8_t seen[16 * 256];

static void count(uint32_t index)
{
    assert_true(index < sizeof seen);
    seen[index]++;
}

static void all_seen(uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(seen[i], 1);
    memset(seen, 0, sizeof seen);
}

static void fragments_tile_the_matrices(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const pg_mma_sync_shape *s =
            pg_mma_sync_find(names[i].m, names[i].n, names[i].k, names[i].bits);
        assert_non_null(s);
        const uint32_t elements = s->f64 ? 1 : 32 / s->elem_bits;
        for (uint32_t lane = 0; lane < 32; lane++)
            for (uint32_t r = 0; r < s->a_regs; r++)
                for (uint32_t e = 0; e < elements; e++) {
                    const pg_mma_place at = pg_mma_sync_place_a(s, lane, r);
                    count(at.row * s->k + at.col + e);
                }
        all_seen(s->m * s->k);
        for (uint32_t lane = 0; lane < 32; lane++)
            for (uint32_t r = 0; r < s->b_regs; r++)
                for (uint32_t e = 0; e < elements; e++) {
                    const pg_mma_place at = pg_mma_sync_place_b(s, lane, r);
                    count(at.col * s->k + at.row + e);
                }
        all_seen(s->n * s->k);
        for (uint32_t lane = 0; lane < 32; lane++)
            for (uint32_t r = 0; r < s->m / 4; r++) {
                const pg_mma_place at = pg_mma_sync_place_c(s, lane, r);
                count(at.row * s->n + at.col);
            }
        all_seen(s->m * s->n);
    }
    assert_null(pg_mma_sync_find(16, 16, 16, 16));
}

static void check_place(pg_mma_place at, uint32_t row, uint32_t col)
{
    assert_int_equal(at.row, row);
    assert_int_equal(at.col, col);
}

static void known_places(void **state)
{
    (void)state;
    const pg_mma_sync_shape *f16 = pg_mma_sync_find(16, 8, 16, 16),
                            *tf32 = pg_mma_sync_find(16, 8, 8, 32),
                            *s8 = pg_mma_sync_find(16, 8, 32, 8);
    check_place(pg_mma_sync_place_a(f16, 5, 1), 9, 2);  /* a2: groupID + 8 */
    check_place(pg_mma_sync_place_a(f16, 5, 2), 1, 10); /* a4: column + 8 */
    check_place(pg_mma_sync_place_b(f16, 6, 1), 12, 1); /* b2 */
    check_place(pg_mma_sync_place_c(f16, 7, 3), 9, 7);  /* c3 */
    check_place(pg_mma_sync_place_a(tf32, 31, 3), 15, 7);
    check_place(pg_mma_sync_place_a(s8, 1, 2), 0, 20);
    check_place(pg_mma_sync_place_b(s8, 2, 1), 24, 0);
}

static void doubles_chain_in_k(void **state)
{
    (void)state;
    const pg_mma_sync_shape *s = pg_mma_sync_find(8, 8, 4, 64);
    double a[32], b[32], c[64], d[64];
    for (int i = 0; i < 32; i++) {
        a[i] = i % 4 == 0 ? 0x1p53 : 1;
        b[i] = i / 8 == 0 ? 1 : 0.5;
    }
    for (int i = 0; i < 64; i++)
        c[i] = i;
    pg_mma_sync_f64(s, a, b, c, d);
    for (int i = 0; i < 64; i++) {
        double sum = (double)i + 0x1p53;
        sum += 0.5, sum += 0.5, sum += 0.5;
        assert_true(d[i] == sum);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fragments_tile_the_matrices),
        cmocka_unit_test(known_places),
        cmocka_unit_test(doubles_chain_in_k),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
