/* Tensor maps: the driver's checks, and box copies against an element-by-element walk. */
#include "test.h"

#include "emulator/number/formats.h"
#include "emulator/copy/tensor_map.h"

static uint64_t random_state = 0xda3e39cb94b95bdbu;

static uint32_t below(uint32_t n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)(random_state >> 33) % n;
}

/* By chunk and line numbers, not by address bits. */
static uint32_t swizzled(uint32_t a, pg_swizzle s)
{
    static const struct {
        uint32_t chunk, span, lines;
    } table[PG_SWIZZLE_COUNT] = {{1, 1, 1},    {16, 32, 2},  {16, 64, 4}, {16, 128, 8},
                                 {32, 128, 4}, {32, 128, 4}, {64, 128, 2}};
    const uint32_t chunk = table[s].chunk, span = table[s].span;
    if (span == 1)
        return a;
    const uint32_t line = a / 128 % table[s].lines, index = a % span / chunk;
    uint32_t r = a / span * span + (index ^ line) * chunk + a % chunk;
    if (s == PG_SWIZZLE_128B_ATOM_32B_FLIP_8B && a / 128 % 2)
        r = r / 16 * 16 + (r + 8) % 16;
    return r;
}

static void swizzles_match_their_definition(void **state)
{
    (void)state;
    for (int s = 0; s < PG_SWIZZLE_COUNT; s++)
        for (uint32_t a = 0; a < 4096; a++) {
            assert_int_equal(pg_swizzle_address(a, (pg_swizzle)s), swizzled(a, (pg_swizzle)s));
            assert_int_equal(
                pg_swizzle_address(pg_swizzle_address(a, (pg_swizzle)s), (pg_swizzle)s), a);
        }
}

static pg_tensor_map plain_map(void)
{
    return (pg_tensor_map){.type = PG_TENSOR_F32,
                           .rank = 2,
                           .address = 0x10000,
                           .dims = {64, 32},
                           .strides = {256},
                           .box = {32, 8},
                           .element_strides = {1, 1},
                           .swizzle = PG_SWIZZLE_128B};
}

static ptxgen_status encode(const pg_tensor_map *m)
{
    uint8_t bytes[PG_TENSOR_MAP_BYTES];
    ptxgen_error err = {0};
    const ptxgen_status status = pg_tensor_map_encode(m, bytes, &err);
    if (status != PTXGEN_OK)
        assert_true(err.message[0]);
    return status;
}

#define REFUSED(change)                                                                            \
    do {                                                                                           \
        pg_tensor_map m = plain_map();                                                             \
        change;                                                                                    \
        assert_int_equal(encode(&m), PTXGEN_EINVAL);                                               \
    } while (0)

static void bad_parameters_are_refused(void **state)
{
    (void)state;
    pg_tensor_map good = plain_map();
    assert_int_equal(encode(&good), PTXGEN_OK);
    REFUSED(m.rank = 0);
    REFUSED(m.rank = 6);
    REFUSED(m.address += 8);
    REFUSED(m.dims[1] = 0);
    REFUSED(m.dims[0] = (UINT64_C(1) << 32) + 1);
    REFUSED(m.strides[0] = 264);
    REFUSED(m.strides[0] = UINT64_C(1) << 40);
    REFUSED(m.box[0] = 257);
    REFUSED(m.box[1] = 0);
    REFUSED(m.box[0] = 33);
    REFUSED(m.box[0] = 36);
    REFUSED(m.element_strides[1] = 9);
    REFUSED(m.element_strides[0] = 0);
    REFUSED((m.type = PG_TENSOR_S32, m.fill_nan = true));
    REFUSED(m.type = (pg_tensor_type)16);
    REFUSED(m.swizzle = (pg_swizzle)7);
    REFUSED(m.l2_promotion = 4);
    REFUSED((m.type = PG_TENSOR_16U4_ALIGN16B, m.dims[0] = 128, m.box[0] = 64));
    REFUSED((m.type = PG_TENSOR_16U4_ALIGN16B, m.dims[0] = 128, m.box[0] = 128,
             m.swizzle = PG_SWIZZLE_64B));
    REFUSED((m.type = PG_TENSOR_16U6_ALIGN16B, m.dims[0] = 100, m.box[0] = 128));
    REFUSED((m.type = PG_TENSOR_16U4_ALIGN16B, m.dims[0] = 128, m.box[0] = 128, m.address += 16));
    pg_tensor_map interleaved = plain_map();
    interleaved.interleave = PG_INTERLEAVE_16B;
    assert_int_equal(encode(&interleaved), PTXGEN_EUNSUPPORTED);
    pg_tensor_map largest = plain_map();
    largest.dims[1] = UINT64_C(1) << 32;
    assert_int_equal(encode(&largest), PTXGEN_OK);
}

static void maps_survive_encoding_and_damage_is_noticed(void **state)
{
    (void)state;
    pg_tensor_map m = plain_map(), back;
    m.dims[1] = UINT64_C(1) << 32;
    uint8_t bytes[PG_TENSOR_MAP_BYTES], foreign[PG_TENSOR_MAP_BYTES] = {0};
    assert_int_equal(pg_tensor_map_encode(&m, bytes, NULL), PTXGEN_OK);
    assert_int_equal(pg_tensor_map_decode(bytes, &back, NULL), PTXGEN_OK);
    assert_int_equal(back.address, m.address);
    assert_int_equal(back.dims[0], m.dims[0]);
    assert_int_equal(back.dims[1], m.dims[1]);
    assert_int_equal(back.strides[0], m.strides[0]);
    assert_int_equal(back.box[1], m.box[1]);
    assert_int_equal(back.swizzle, m.swizzle);
    assert_int_equal(pg_tensor_map_decode(foreign, &back, NULL), PTXGEN_EINVAL);
    for (int i = 0; i < PG_TENSOR_MAP_BYTES; i++) {
        bytes[i] ^= 0x10;
        assert_int_equal(pg_tensor_map_decode(bytes, &back, NULL), PTXGEN_EINVAL);
        bytes[i] ^= 0x10;
    }
}

/* ---- copies ---- */

enum { GLOBAL_BYTES = 1 << 18, SHARED_BYTES = 1 << 18, BOX_ADDRESS = 2048 };

typedef struct scene {
    uint8_t *global, *shared, *expected;
    pg_tensor_map map;
    int32_t coords[PG_TENSOR_MAX_RANK];
} scene;

static const pg_tensor_type element_types[] = {PG_TENSOR_U8,     PG_TENSOR_U16, PG_TENSOR_F32,
                                               PG_TENSOR_F64,    PG_TENSOR_F16, PG_TENSOR_S64,
                                               PG_TENSOR_F32_FTZ};

/* A random legal map over the global buffer, with a small box, and coordinates that may stick out
 * anywhere. */
static void random_scene(scene *s)
{
    pg_tensor_map *m = &s->map;
    do {
        *m = (pg_tensor_map){.type = element_types[below(7)], .rank = 1 + below(5)};
        const uint32_t elem = pg_tensor_types[m->type].bits / 8;
        m->swizzle = (pg_swizzle)below(PG_SWIZZLE_COUNT);
        const uint32_t span = pg_swizzles[m->swizzle].span ? pg_swizzles[m->swizzle].span : 256;
        m->box[0] = 16 * (1 + below(span / 16)) / elem;
        m->dims[0] = 1 + below(2 * m->box[0]);
        uint64_t bytes = (m->dims[0] * elem + 15) / 16 * 16;
        bytes += below(3) == 0 ? 0 : 16 * below(3);
        if (below(4) == 0)
            bytes = m->box[0] * elem, m->dims[0] = m->box[0]; /* rows follow each other */
        for (uint32_t i = 1; i < m->rank; i++) {
            m->strides[i - 1] = bytes;
            m->dims[i] = 1 + below(6);
            m->box[i] = 1 + below(5);
            m->element_strides[i] = below(3) ? 1 : 1 + below(4);
            bytes = (bytes * m->dims[i] + 15) / 16 * 16;
        }
        m->element_strides[0] = 1;
        m->fill_nan = pg_tensor_types[m->type].is_float && below(2);
        if (bytes > GLOBAL_BYTES)
            continue;
        m->address = (uint64_t)(uintptr_t)s->global;
    } while (!m->address || encode(m) != PTXGEN_OK || pg_tensor_box_bytes(m) > SHARED_BYTES - 8192);
    for (uint32_t i = 0; i < m->rank; i++)
        s->coords[i] = (int32_t)below((uint32_t)m->dims[i] + 4) - 3;
    if (below(3) == 0)
        s->coords[0] = 0;
}

/* A swizzled row takes the whole span, as on an H200. */
static uint32_t row_gap(const pg_tensor_map *m)
{
    static const uint32_t spans[PG_SWIZZLE_COUNT] = {0, 32, 64, 128, 128, 128, 128};
    const uint32_t inner = m->box[0] * pg_tensor_types[m->type].bits / 8;
    return spans[m->swizzle] > inner ? spans[m->swizzle] - inner : 0;
}

/* Calls `visit` for each element in shared-memory order; global is NULL out of bounds. */
static void each_element(const scene *s, void (*visit)(const scene *, uint32_t, uint8_t *))
{
    const pg_tensor_map *m = &s->map;
    const uint32_t elem = pg_tensor_types[m->type].bits / 8;
    uint32_t at[PG_TENSOR_MAX_RANK] = {0}, shared = 0;
    for (;;) {
        bool exists = true;
        uint8_t *global = s->global;
        for (uint32_t i = 0; i < m->rank; i++) {
            const int64_t c = s->coords[i] + (int64_t)at[i];
            exists = exists && c >= 0 && c < (int64_t)m->dims[i];
            if (exists)
                global += c * (int64_t)(i ? m->strides[i - 1] : elem);
        }
        visit(s, shared, exists ? global : NULL);
        shared += elem;
        uint32_t i = 0;
        for (; i < m->rank; i++) {
            at[i] += m->element_strides[i];
            if (at[i] < m->box[i])
                break;
            at[i] = 0;
            shared += i ? 0 : row_gap(m);
        }
        if (i == m->rank)
            return;
    }
}

static void expect_loaded(const scene *s, uint32_t linear, uint8_t *global)
{
    const uint32_t elem = pg_tensor_types[s->map.type].bits / 8;
    uint8_t value[8] = {0};
    if (global)
        memcpy(value, global, elem);
    else
        for (uint32_t i = 0; s->map.fill_nan && i < elem; i++)
            value[i] = i % 2 ? 0x7f : 0xf7;
    for (uint32_t i = 0; i < elem; i++)
        s->expected[swizzled(BOX_ADDRESS + linear + i, s->map.swizzle)] = value[i];
}

static void expect_stored(const scene *s, uint32_t linear, uint8_t *global)
{
    const uint32_t elem = pg_tensor_types[s->map.type].bits / 8;
    if (global)
        for (uint32_t i = 0; i < elem; i++)
            s->expected[global - s->global + i] =
                s->shared[swizzled(BOX_ADDRESS + linear + i, s->map.swizzle)];
}

static void scene_open(scene *s)
{
    s->global = aligned_alloc(64, GLOBAL_BYTES);
    s->shared = malloc(SHARED_BYTES);
    s->expected = malloc(SHARED_BYTES);
}

static void scene_close(scene *s)
{
    free(s->global);
    free(s->shared);
    free(s->expected);
}

static void scene_refill(scene *s)
{
    for (uint32_t i = 0; i < GLOBAL_BYTES; i++)
        s->global[i] = (uint8_t)(i * 131 + i / 251);
    for (uint32_t i = 0; i < SHARED_BYTES; i++)
        s->shared[i] = (uint8_t)(i * 37 + i / 509 + 1);
}

static void boxes_load_as_element_by_element(void **state)
{
    (void)state;
    scene s;
    scene_open(&s);
    for (int round = 0; round < 400; round++) {
        random_scene(&s);
        scene_refill(&s);
        memcpy(s.expected, s.shared, SHARED_BYTES);
        each_element(&s, expect_loaded);
        const pg_tensor_copy copy = {&s.map, s.shared, BOX_ADDRESS, false};
        pg_tensor_walk walk;
        pg_tensor_row row;
        uint32_t bytes = 0, at = 0;
        const uint32_t inner = s.map.box[0] * pg_tensor_types[s.map.type].bits / 8;
        pg_tensor_walk_start(&walk, &s.map, s.coords);
        while (pg_tensor_walk_next(&walk, &row)) {
            assert_int_equal(row.shared, at);
            at += row.bytes + row.bytes / inner * row_gap(&s.map);
            bytes += row.bytes;
            if (row.valid)
                assert_true(row.global >= s.map.address &&
                            row.global + row.valid <= s.map.address + GLOBAL_BYTES);
            pg_tensor_load_row(&copy, &row, (const uint8_t *)(uintptr_t)row.global);
        }
        assert_int_equal(at, pg_tensor_box_bytes(&s.map));
        assert_int_equal(bytes, pg_tensor_data_bytes(&s.map)); /* random_scene: no padded types */
        assert_memory_equal(s.shared, s.expected, SHARED_BYTES);
    }
    scene_close(&s);
}

static void boxes_store_as_element_by_element(void **state)
{
    (void)state;
    scene s;
    scene_open(&s);
    for (int round = 0; round < 400; round++) {
        random_scene(&s);
        scene_refill(&s);
        memcpy(s.expected, s.global, GLOBAL_BYTES);
        each_element(&s, expect_stored);
        const pg_tensor_copy copy = {&s.map, s.shared, BOX_ADDRESS, false};
        pg_tensor_walk walk;
        pg_tensor_row row;
        pg_tensor_walk_start(&walk, &s.map, s.coords);
        while (pg_tensor_walk_next(&walk, &row))
            if (row.valid)
                pg_tensor_store_row(&copy, &row, (uint8_t *)(uintptr_t)row.global);
        assert_memory_equal(s.global, s.expected, GLOBAL_BYTES);
    }
    scene_close(&s);
}

static void padded_types_unpack(void **state)
{
    (void)state;
    static uint8_t global[4096] __attribute__((aligned(64)));
    static uint8_t shared[4096];
    for (int i = 0; i < 4096; i++)
        global[i] = (uint8_t)(i * 7 + 1);
    for (int six = 0; six < 2; six++) {
        pg_tensor_map m = {.type = six ? PG_TENSOR_16U6_ALIGN16B : PG_TENSOR_16U4_ALIGN16B,
                           .rank = 2,
                           .address = (uint64_t)(uintptr_t)global,
                           .dims = {256, 4},
                           .strides = {six ? 192 : 128},
                           .box = {128, 2},
                           .element_strides = {1, 1},
                           .swizzle = PG_SWIZZLE_128B};
        assert_int_equal(encode(&m), PTXGEN_OK);
        assert_int_equal(pg_tensor_box_bytes(&m), 256);
        assert_int_equal(pg_tensor_data_bytes(&m), six ? 192 : 128);
        const int32_t coords[2] = {128, 3};
        const int32_t odd[2] = {64, 0};
        assert_int_equal(pg_tensor_check_coordinates(&m, coords, NULL), PTXGEN_OK);
        assert_int_equal(pg_tensor_check_coordinates(&m, odd, NULL), PTXGEN_EEMULATOR);
        memset(shared, 0xee, sizeof shared);
        const pg_tensor_copy copy = {&m, shared, 1024, false};
        pg_tensor_walk walk;
        pg_tensor_row row;
        pg_tensor_walk_start(&walk, &m, coords);
        while (pg_tensor_walk_next(&walk, &row))
            pg_tensor_load_row(&copy, &row, (const uint8_t *)(uintptr_t)row.global);
        const uint32_t packed = six ? 12 : 8;
        for (uint32_t unit = 0; unit < 8; unit++)
            for (uint32_t i = 0; i < 16; i++) {
                const uint8_t *from =
                    global + 3 * m.strides[0] + m.strides[0] / 2 + unit * packed + i;
                assert_int_equal(shared[swizzled(1024 + unit * 16 + i, m.swizzle)],
                                 i < packed ? *from : 0);
                assert_int_equal(shared[swizzled(1152 + unit * 16 + i, m.swizzle)],
                                 0); /* row 4: outside */
            }
    }
}

static void tf32_rounds_to_nearest(void **state)
{
    (void)state;
    static float global[16] __attribute__((aligned(64)));
    static uint32_t shared[1024];
    global[0] = 1 + 0x1p-11f;
    global[1] = 1 + 0x1p-11f + 0x1p-20f;
    global[2] = -3.5f;
    pg_tensor_map m = {.type = PG_TENSOR_TF32,
                       .rank = 1,
                       .address = (uint64_t)(uintptr_t)global,
                       .dims = {16},
                       .box = {16},
                       .element_strides = {1}};
    assert_int_equal(encode(&m), PTXGEN_OK);
    const pg_tensor_copy copy = {&m, (uint8_t *)shared, 0, false};
    const int32_t coords[1] = {0};
    pg_tensor_walk walk;
    pg_tensor_row row;
    pg_tensor_walk_start(&walk, &m, coords);
    assert_true(pg_tensor_walk_next(&walk, &row));
    pg_tensor_load_row(&copy, &row, (const uint8_t *)(uintptr_t)row.global);
    assert_false(pg_tensor_walk_next(&walk, &row));
    assert_int_equal(shared[0], 0x3f800000);
    assert_int_equal(shared[1], 0x3f802000);
    assert_int_equal(shared[2], 0xc0600000);
}

#define CHECK_REDUCE(op, type, ctype, x, y, want)                                                  \
    do {                                                                                           \
        ctype g[3] = {x, x, x}, l[3] = {y, y, y};                                                  \
        assert_true(                                                                               \
            pg_reduce_bytes(op, type, (uint8_t *)g, (const uint8_t *)l, 2 * sizeof(ctype)));       \
        assert_true(g[0] == (want) && g[1] == (want) && g[2] == (ctype)(x));                       \
    } while (0)

static void reductions_do_what_they_say(void **state)
{
    (void)state;
    CHECK_REDUCE(PG_REDUCE_ADD, PG_TENSOR_F32, float, 1.5f, 2.25f, 3.75f);
    CHECK_REDUCE(PG_REDUCE_ADD, PG_TENSOR_F32, float, 0x1p-128f, 0x1p-128f, 0x1p-127f);
    CHECK_REDUCE(PG_REDUCE_ADD, PG_TENSOR_F64, double, 0.1, 0.2, 0.1 + 0.2);
    CHECK_REDUCE(PG_REDUCE_ADD, PG_TENSOR_F16, uint16_t, 0x3c00, 0x0001, 0x3c00);
    CHECK_REDUCE(PG_REDUCE_ADD, PG_TENSOR_F16, uint16_t, 0x0001, 0x0001, 0x0002);
    CHECK_REDUCE(PG_REDUCE_ADD, PG_TENSOR_BF16, uint16_t, 0x3f80, 0x3f80, 0x4000);
    CHECK_REDUCE(PG_REDUCE_MIN, PG_TENSOR_F16, uint16_t, 0x8000, 0x0000, 0x8000);
    CHECK_REDUCE(PG_REDUCE_MAX, PG_TENSOR_BF16, uint16_t, 0x7fc1, 0xbf80, 0xbf80);
    CHECK_REDUCE(PG_REDUCE_ADD, PG_TENSOR_U32, uint32_t, 0xffffffffu, 2u, 1u);
    CHECK_REDUCE(PG_REDUCE_MIN, PG_TENSOR_S32, int32_t, -1, 5, -1);
    CHECK_REDUCE(PG_REDUCE_MIN, PG_TENSOR_U32, uint32_t, 0xffffffffu, 5u, 5u);
    CHECK_REDUCE(PG_REDUCE_MAX, PG_TENSOR_S64, int64_t, INT64_MIN, -7, -7);
    CHECK_REDUCE(PG_REDUCE_INC, PG_TENSOR_U32, uint32_t, 5u, 5u, 0u);
    CHECK_REDUCE(PG_REDUCE_INC, PG_TENSOR_U32, uint32_t, 4u, 5u, 5u);
    CHECK_REDUCE(PG_REDUCE_DEC, PG_TENSOR_U32, uint32_t, 0u, 5u, 5u);
    CHECK_REDUCE(PG_REDUCE_DEC, PG_TENSOR_U32, uint32_t, 9u, 5u, 5u);
    CHECK_REDUCE(PG_REDUCE_DEC, PG_TENSOR_U32, uint32_t, 3u, 5u, 2u);
    CHECK_REDUCE(PG_REDUCE_XOR, PG_TENSOR_U64, uint64_t, 0xf0f0u, 0xffffu, 0x0f0fu);
    uint8_t x[8] = {0};
    assert_false(pg_reduce_bytes(PG_REDUCE_ADD, PG_TENSOR_U8, x, x, 8));
    assert_false(pg_reduce_bytes(PG_REDUCE_XOR, PG_TENSOR_F32, x, x, 8));
    assert_false(pg_reduce_bytes(PG_REDUCE_INC, PG_TENSOR_S32, x, x, 8));
}

static void maps_for_im2col_have_rules(void **state)
{
    (void)state;
    const pg_tensor_map good = {.type = PG_TENSOR_F32,
                                .rank = 4,
                                .address = 0x10000,
                                .dims = {8, 5, 4, 2},
                                .strides = {32, 160, 640},
                                .box = {8, 1, 1, 1},
                                .element_strides = {1, 1, 1, 1},
                                .pixels = 16,
                                .lower = {-1, -1},
                                .upper = {-1, 1}};
    pg_tensor_map m = good, back;
    uint8_t bytes[PG_TENSOR_MAP_BYTES];
    assert_int_equal(pg_tensor_map_encode(&m, bytes, NULL), PTXGEN_OK);
    assert_int_equal(pg_tensor_map_decode(bytes, &back, NULL), PTXGEN_OK);
    assert_int_equal(back.pixels, 16);
    assert_int_equal(back.lower[1], -1);
    assert_int_equal(back.upper[1], 1);
    assert_int_equal(pg_tensor_box_bytes(&back), 16 * 32);
    m.rank = 2;
    assert_int_equal(encode(&m), PTXGEN_EINVAL);
    m = good;
    m.pixels = 1025;
    assert_int_equal(encode(&m), PTXGEN_EINVAL);
    m = good;
    m.lower[0] = -129; /* 8 bits with four dimensions */
    assert_int_equal(encode(&m), PTXGEN_EINVAL);
    m = good;
    m.upper[0] = -6; /* 5 columns from -1 on: nothing is left */
    assert_int_equal(encode(&m), PTXGEN_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(swizzles_match_their_definition),
        cmocka_unit_test(bad_parameters_are_refused),
        cmocka_unit_test(maps_survive_encoding_and_damage_is_noticed),
        cmocka_unit_test(boxes_load_as_element_by_element),
        cmocka_unit_test(boxes_store_as_element_by_element),
        cmocka_unit_test(maps_for_im2col_have_rules),
        cmocka_unit_test(padded_types_unpack),
        cmocka_unit_test(tf32_rounds_to_nearest),
        cmocka_unit_test(reductions_do_what_they_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
