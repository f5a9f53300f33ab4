/* The reference schedule's host helpers, against values worked out by hand from its text, and
 * properties of the tile shapes. */
#include "test.h"

#include "ptxgen/ptxgen.h"
#include "scatter_add/scatter_add.h"

static void chunk_is_the_row_or_512_bytes(void **state)
{
    (void)state;
    assert_int_equal(ptxgen_chunk_elems_for(PTXGEN_F32, 4), 4);
    assert_int_equal(ptxgen_chunk_elems_for(PTXGEN_F32, 36), 36);
    assert_int_equal(ptxgen_chunk_elems_for(PTXGEN_F32, 128), 128);
    assert_int_equal(ptxgen_chunk_elems_for(PTXGEN_F32, 132), 128);
    assert_int_equal(ptxgen_chunk_elems_for(PTXGEN_F32, 640000), 128);
    assert_int_equal(ptxgen_chunk_elems_for(PTXGEN_BF16, 8), 8);
    assert_int_equal(ptxgen_chunk_elems_for(PTXGEN_BF16, 248), 248);
    assert_int_equal(ptxgen_chunk_elems_for(PTXGEN_F16, 256), 256);
    assert_int_equal(ptxgen_chunk_elems_for(PTXGEN_F16, 4096), 256);
    assert_int_equal(ptxgen_chunk_elems_for(PTXGEN_F32, 0), 0);
}

static void rows_are_multiples_of_16_bytes(void **state)
{
    (void)state;
    assert_int_equal(ptxgen_min_d_divisor_for(PTXGEN_F32), 4);
    assert_int_equal(ptxgen_min_d_divisor_for(PTXGEN_F16), 8);
    assert_int_equal(ptxgen_min_d_divisor_for(PTXGEN_BF16), 8);
    assert_true(ptxgen_row_shape_supported(PTXGEN_F32, 36));
    assert_false(ptxgen_row_shape_supported(PTXGEN_F32, 3));
    assert_false(ptxgen_row_shape_supported(PTXGEN_BF16, 12));
    assert_true(ptxgen_row_shape_supported(PTXGEN_BF16, 24));
    assert_true(ptxgen_row_shape_supported(PTXGEN_F32, 0));
    assert_false(ptxgen_row_shape_supported(PTXGEN_DTYPE_NONE, 16));
}

static void grid_fills_the_machine(void **state)
{
    (void)state;
    const struct {
        int64_t m, d, chunk, sm, x, y, per_cta;
    } cases[] = {
        {1048576, 128, 128, 132, 8448, 1, 1},  /* many rows: clamp at 64 per SM */
        {5000, 512, 128, 132, 5000, 1, 4},     /* between 32 and 64 per SM: a CTA per row */
        {4224, 512, 128, 132, 4224, 1, 4},     /* exactly 32 per SM */
        {4223, 512, 128, 132, 4223, 1, 4},     /* below, but one slice is wanted */
        {100, 640000, 128, 132, 100, 42, 120}, /* 5000 chunks, 42 wanted: 120 per CTA */
        {100, 640000, 128, 148, 100, 47, 107}, /* 4736 / 100 = 47 wanted: ceil(5000 / 47) = 107 */
        {1, 100, 128, 132, 1, 1, 1},           /* one chunk cannot be split */
        {1, 1280, 128, 132, 1, 10, 1},         /* more slices wanted than chunks */
        {3000, 1280, 128, 132, 3000, 1, 10},
        {1500, 384, 128, 132, 1500, 2, 2}, /* 3 chunks in 2 slices */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const ptxgen_grid g = ptxgen_plan_grid(cases[i].m, cases[i].d, cases[i].chunk, cases[i].sm);
        assert_int_equal(g.grid_x, cases[i].x);
        assert_int_equal(g.grid_y, cases[i].y);
        assert_int_equal(g.chunks_per_cta, cases[i].per_cta);
    }
    assert_int_equal(ptxgen_plan_grid(0, 128, 128, 132).grid_x, 0);
}

static void slices_cover_every_chunk_once(void **state)
{
    (void)state;
    for (int64_t m = 1; m < 6000; m = m * 3 + 1) {
        for (int64_t d = 4; d < 100000; d = d * 2 + 4) {
            const ptxgen_grid g = ptxgen_plan_grid(m, d, 128, 132);
            const int64_t chunks = (d + 127) / 128;
            assert_true(g.grid_y * g.chunks_per_cta >= chunks);
            assert_true((g.grid_y - 1) * g.chunks_per_cta < chunks); /* no empty slice */
        }
    }
}

static void tiles_cover_every_byte_once(void **state)
{
    (void)state;
    for (int64_t tile = 256; tile <= 16384; tile *= 2) {
        for (int64_t row = 16; row < 100000; row += row < 1024 ? 16 : 4112) {
            const pg_tile_shape s = pg_scatter_add_tile_shape(row, tile);
            assert_true(s.rows >= 1 && s.rows <= 128 && s.chunks >= 1);
            assert_true(s.rows * s.chunk_bytes <= tile);
            assert_true(s.rows == 1 || s.chunks == 1);
            assert_true(s.chunks * s.chunk_bytes >= row && (s.chunks - 1) * s.chunk_bytes < row);
            assert_int_equal(s.chunk_bytes % 16, 0);
        }
    }
}

static void stages_start_at_multiples_of_128_bytes(void **state)
{
    (void)state;
    for (int64_t n = 4; n <= 512; n += 4) {
        char text[64];
        pg_scatter_add_key key;
        pg_scatter_add_plan plan;
        const pg_param_table *t = &pg_family_scatter_add.params;
        snprintf(text, sizeof text, "schedule=seed n=%lld", (long long)n);
        pg_params_default(t, &key, 900);
        assert_int_equal(pg_params_parse(t, text, &key, NULL), PTXGEN_OK);
        assert_int_equal(pg_scatter_add_resolve(&key, pg_arch_find(900), NULL), PTXGEN_OK);
        pg_scatter_add_plan_from(&key, pg_arch_find(900), &plan);
        assert_int_equal(plan.stage_stride % 128, 0);
        assert_true(plan.stage_stride >= plan.chunk_bytes && plan.chunk_bytes <= 512);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunk_is_the_row_or_512_bytes),
        cmocka_unit_test(rows_are_multiples_of_16_bytes),
        cmocka_unit_test(grid_fills_the_machine),
        cmocka_unit_test(slices_cover_every_chunk_once),
        cmocka_unit_test(tiles_cover_every_byte_once),
        cmocka_unit_test(stages_start_at_multiples_of_128_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
