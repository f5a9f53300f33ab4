/* Matrix descriptors: operands written into shared memory as TMA boxes or as 8 x 16-byte core
 * matrices, by rules stated here, come back element by element and as a whole. */
#include "test.h"

#include "emulator/matrix/matrix_descriptor.h"

enum { SHARED_BYTES = 1 << 18, MAX_ELEMENTS = 256 * 32 };

static uint8_t shared[SHARED_BYTES];
static uint32_t gathered[MAX_ELEMENTS];

static uint64_t random_state = 0x9e3779b97f4a7c15u;

static uint32_t below(uint32_t n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)(random_state >> 33) % n;
}

/* Where TMA puts byte `x` of line `y` of a box that is `span` bytes wide: chunk index XOR line
 * index. */
static uint32_t boxed(uint32_t base, uint32_t span, uint32_t x, uint32_t y)
{
    const uint32_t linear = y * span + x;
    const uint32_t line = linear / 128, chunks = span / 16;
    return base + linear / span * span + ((x / 16) ^ (line % chunks)) * 16 + x % 16;
}

/* The same with 128-byte lines and atoms of 32 bytes. */
static uint32_t boxed_in_wide_atoms(uint32_t base, uint32_t x, uint32_t y)
{
    return base + y * 128 + ((x / 32) ^ (y % 4)) * 32 + x % 32;
}

static const pg_swizzle swizzles[] = {PG_SWIZZLE_NONE, PG_SWIZZLE_32B, PG_SWIZZLE_64B,
                                      PG_SWIZZLE_128B, PG_SWIZZLE_128B_ATOM_32B};
enum { SM90_SWIZZLES = 4, SM100_SWIZZLES = 5 };

typedef struct scene {
    pg_matrix_shape shape;
    pg_matrix_descriptor d;
    uint32_t base, k_offset; /* bytes of K before the instruction's first element */
} scene;

/* The address rule of each canonical layout. */
static uint32_t expected_address(const scene *s, uint32_t row, uint32_t k)
{
    const uint32_t span = pg_swizzles[s->d.swizzle].span, elem = s->shape.elem_bits / 8;
    const bool wide = s->d.swizzle == PG_SWIZZLE_128B_ATOM_32B;
    if (wide && !s->shape.mn_major)
        return boxed_in_wide_atoms(s->base + row / 8 * s->d.stride, s->k_offset + k * elem,
                                   row % 8);
    if (wide)
        return boxed_in_wide_atoms(s->base + row * elem / 128 * s->d.leading + k / 4 * s->d.stride,
                                   row * elem % 128, k % 4);
    if (!s->shape.mn_major) {
        const uint32_t x = s->k_offset + k * elem;
        if (!span) /* core matrices of 8 rows x 16 bytes */
            return s->base + x / 16 * s->d.leading + row / 8 * s->d.stride + row % 8 * 16 + x % 16;
        return boxed(s->base + row / 8 * s->d.stride, span, x, row % 8);
    }
    const uint32_t x = row * elem;
    if (!span)
        return s->base + x / 16 * s->d.stride + k / 8 * s->d.leading + k % 8 * 16 + x % 16;
    return boxed(s->base + x / span * s->d.leading + k / 8 * s->d.stride, span, x % span, k % 8);
}

/* Transposed elements: their sizes differ by architecture and swizzle. */
static uint32_t transposed_bits(const scene *s)
{
    if (s->d.swizzle == PG_SWIZZLE_128B_ATOM_32B)
        return 32;
    return s->d.arch == PG_DESCRIPTOR_SM100 && below(2) ? 8 : 16;
}

static scene random_scene(pg_descriptor_arch arch)
{
    scene s = {.shape = {.rows = 64 * (1 + below(4)), .mn_major = below(2)}};
    static const uint32_t widths[] = {8, 16, 32};
    s.d.arch = arch;
    s.d.swizzle = swizzles[below(arch == PG_DESCRIPTOR_SM100 ? SM100_SWIZZLES : SM90_SWIZZLES)];
    s.shape.elem_bits = s.shape.mn_major ? transposed_bits(&s) : widths[below(3)];
    s.shape.depth = 256 / s.shape.elem_bits;
    const uint32_t span = pg_swizzles[s.d.swizzle].span;
    s.base = 1024 * (1 + below(4));
    const uint32_t group = span ? 8 * span : 128; /* 8 lines, or one core matrix */
    /* Dense or with gaps that keep the pattern aligned. */
    s.d.stride = group * (1 + below(3));
    s.d.leading = group * (4 + below(8));
    if (!s.shape.mn_major && span)
        s.k_offset = 32 * below(span / 32);
    s.d.start = s.base + s.k_offset;
    return s;
}

static void operands_come_back(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < SHARED_BYTES; i++)
        shared[i] = (uint8_t)(i * 167 + i / 256 * 13 + i / 4096);
    for (int round = 0; round < 1000; round++) {
        const scene s = random_scene(round % 2 ? PG_DESCRIPTOR_SM100 : PG_DESCRIPTOR_SM90);
        const uint32_t elem = s.shape.elem_bits / 8;
        pg_matrix_layout layout;
        assert_int_equal(pg_matrix_layout_make(&s.d, &s.shape, &layout, NULL), PTXGEN_OK);
        const pg_matrix_extent extent = pg_matrix_layout_extent(&layout, &s.shape);
        if (extent.end > SHARED_BYTES)
            continue;
        pg_matrix_gather(&layout, &s.shape, shared, gathered);
        for (uint32_t row = 0; row < s.shape.rows; row++)
            for (uint32_t k = 0; k < s.shape.depth; k++) {
                const uint32_t address = expected_address(&s, row, k);
                assert_int_equal(pg_matrix_element_address(&layout, row, k), address);
                assert_true(address >= extent.first && address + elem <= extent.end);
                assert_memory_equal((uint8_t *)gathered + (row * s.shape.depth + k) * elem,
                                    shared + address, elem);
            }
    }
}

/* The words that compilers emit, seen in compiled kernels. */
static void known_descriptors_decode(void **state)
{
    (void)state;
    pg_matrix_descriptor d;
    assert_int_equal(
        pg_matrix_descriptor_decode(0x4000404000010000u | 0x1234, PG_DESCRIPTOR_SM100, &d, NULL),
        PTXGEN_OK);
    assert_int_equal(d.start, 0x12340);
    assert_int_equal(d.leading, 16);
    assert_int_equal(d.stride, 1024);
    assert_int_equal(d.swizzle, PG_SWIZZLE_128B);
    assert_int_equal(pg_matrix_descriptor_decode(0x4000004000010000u, PG_DESCRIPTOR_SM90, &d, NULL),
                     PTXGEN_OK);
    assert_int_equal(d.swizzle, PG_SWIZZLE_128B);
    assert_int_equal(pg_matrix_descriptor_decode(0xc000004000010000u, PG_DESCRIPTOR_SM90, &d, NULL),
                     PTXGEN_OK);
    assert_int_equal(d.swizzle, PG_SWIZZLE_32B);
}

static void bad_descriptors_are_refused(void **state)
{
    (void)state;
    pg_matrix_descriptor d;
    pg_matrix_layout layout;
    ptxgen_error err = {0};
    assert_int_equal(pg_matrix_descriptor_decode(0x4000404000010000u, PG_DESCRIPTOR_SM90, &d, &err),
                     PTXGEN_EINVAL);
    assert_int_equal(
        pg_matrix_descriptor_decode(0x4000004000010000u, PG_DESCRIPTOR_SM100, &d, &err),
        PTXGEN_EINVAL);
    assert_int_equal(
        pg_matrix_descriptor_decode(0x6000404000010000u, PG_DESCRIPTOR_SM100, &d, &err),
        PTXGEN_EINVAL);
    const pg_matrix_descriptor swizzled = {
        .start = 1024 + 112, .stride = 1024, .swizzle = PG_SWIZZLE_128B};
    const pg_matrix_shape f16 = {.rows = 64, .depth = 16, .elem_bits = 16};
    const pg_matrix_shape bytes = {.rows = 64, .depth = 32, .elem_bits = 8, .mn_major = true};
    assert_int_equal(pg_matrix_layout_make(&swizzled, &f16, &layout, &err), PTXGEN_EUNSUPPORTED);
    assert_int_equal(pg_matrix_layout_make(&swizzled, &bytes, &layout, &err), PTXGEN_EUNSUPPORTED);
    assert_true(strlen(err.message) > 20);
}

/* PTX ISA 9.0, section 9.7.16.10.3. */
static void transposed_elements_have_their_swizzles(void **state)
{
    (void)state;
    pg_matrix_layout layout;
    for (int i = 0; i < SM100_SWIZZLES; i++)
        for (uint32_t bits = 8; bits <= 32; bits *= 2) {
            const pg_matrix_descriptor d = {.arch = PG_DESCRIPTOR_SM100,
                                            .start = 1024,
                                            .leading = 8192,
                                            .stride = 1024,
                                            .swizzle = swizzles[i]};
            const pg_matrix_shape shape = {
                .rows = 64, .depth = 256 / bits, .elem_bits = bits, .mn_major = true};
            const bool exists = (bits == 32) == (swizzles[i] == PG_SWIZZLE_128B_ATOM_32B);
            assert_int_equal(pg_matrix_layout_make(&d, &shape, &layout, NULL),
                             exists ? PTXGEN_OK : PTXGEN_EUNSUPPORTED);
        }
}

static void fixed_bits_are_looked_at(void **state)
{
    (void)state;
    pg_matrix_descriptor d;
    const uint64_t good = 0x4000404000010000u;
    for (int bit = 46; bit <= 60; bit++) {
        const bool is_base_offset = bit >= 49 && bit <= 51;
        assert_int_equal(
            pg_matrix_descriptor_decode(good ^ (uint64_t)1 << bit, PG_DESCRIPTOR_SM100, &d, NULL),
            is_base_offset ? PTXGEN_OK : PTXGEN_EINVAL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operands_come_back),
        cmocka_unit_test(known_descriptors_decode),
        cmocka_unit_test(bad_descriptors_are_refused),
        cmocka_unit_test(transposed_elements_have_their_swizzles),
        cmocka_unit_test(fixed_bits_are_looked_at),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
