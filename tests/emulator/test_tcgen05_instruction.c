/* Instruction descriptors of tcgen05.mma: words that compilers emit, every field on its own,
 * every shape of the ISA's table 39 and those beside it; and the zero-column masks of the ISA's
 * four examples. */
#include "test.h"

#include "emulator/tensor/tcgen05_descriptor.h"

static const pg_tcgen05_form f16 = {PG_KIND_F16, 1, false, false, 0},
                             f16_pair = {PG_KIND_F16, 2, false, false, 0},
                             f16_ws = {PG_KIND_F16, 1, true, false, 0},
                             tf32 = {PG_KIND_TF32, 1, false, false, 0},
                             f8 = {PG_KIND_F8F6F4, 1, false, false, 0},
                             i8 = {PG_KIND_I8, 1, false, false, 0},
                             i8_pair = {PG_KIND_I8, 2, false, false, 0},
                             mxf8 = {PG_KIND_MXF8F6F4, 1, false, false, 32},
                             mxf8_pair = {PG_KIND_MXF8F6F4, 2, false, false, 32},
                             mxf4 = {PG_KIND_MXF4, 1, false, false, 32},
                             nvf4 = {PG_KIND_MXF4NVF4, 1, false, false, 16},
                             nvf4_32 = {PG_KIND_MXF4NVF4, 1, false, false, 32};

static ptxgen_status decode(uint32_t bits, const pg_tcgen05_form *form)
{
    pg_tcgen05_instruction x;
    ptxgen_error err = {0};
    const ptxgen_status status = pg_tcgen05_instruction_decode(bits, form, &x, &err);
    assert_true(status == PTXGEN_OK || strlen(err.message) > 40);
    return status;
}

static pg_tcgen05_instruction decoded(uint32_t bits, const pg_tcgen05_form *form)
{
    pg_tcgen05_instruction x;
    ptxgen_error err = {0};
    if (pg_tcgen05_instruction_decode(bits, form, &x, &err) != PTXGEN_OK)
        fail_msg("%s", err.message);
    return x;
}

static uint32_t plain(uint32_t m, uint32_t n, uint32_t rest)
{
    return m / 16 << 24 | n / 8 << 17 | rest;
}

static uint32_t scaled(uint32_t m, uint32_t n, uint32_t rest)
{
    return m / 128 << 27 | n / 8 << 17 | rest;
}

static void words_of_compilers(void **state)
{
    (void)state;
    pg_tcgen05_instruction x = decoded(0x10200010, &f16_pair);
    assert_int_equal(x.m, 256);
    assert_int_equal(x.n, 128);
    assert_int_equal(x.k, 16);
    assert_int_equal(x.a.format, PG_FMT_F16);
    assert_int_equal(x.result, PG_MMA_D_F32);
    assert_false(x.a.mn_major || x.b.mn_major || x.a.negate || x.b.negate || x.integer);
    x = decoded(0x08210010, &f16);
    assert_true(x.b.mn_major && !x.a.mn_major);
    assert_int_equal(x.m, 128);
    x = decoded(0x08200490, &f16);
    assert_true(x.a.format == PG_FMT_BF16 && x.b.format == PG_FMT_BF16);
    x = decoded(0x48A004A0, &mxf4); /* second half of the scale words */
    assert_int_equal(x.sfa_id, 2);
    assert_int_equal(x.sfb_id, 2);
    assert_int_equal(x.n, 128);
    assert_true(x.a.packing == PG_PACKING_PACKED_4 && x.scale_type == PG_SCALE_UE8M0);
    x = decoded(0x08400480, &nvf4);
    assert_true(x.scale_type == PG_SCALE_UE4M3 && x.n == 256 && x.k == 64);
    x = decoded(0x68A00030, &mxf8);
    assert_true(x.sfa_id == 3 && x.sfb_id == 3 && x.a.format == PG_FMT_E4M3);
}

static void types_by_kind(void **state)
{
    (void)state;
    static const struct {
        const pg_tcgen05_form *form;
        uint32_t d, codes; /* a code of D that exists; bit for each code of A and B that exists */
    } kinds[] = {{&f16, 1, 0x03}, {&tf32, 1, 0x04}, {&f8, 1, 0x3b}, {&i8, 2, 0x03}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        for (uint32_t a = 0; a < 8; a++)
            for (uint32_t b = 0; b < 8; b++) {
                const bool exists = (kinds[i].codes >> a & 1) && (kinds[i].codes >> b & 1);
                assert_int_equal(
                    decode(plain(128, 64, kinds[i].d << 4 | a << 7 | b << 10), kinds[i].form),
                    exists ? PTXGEN_OK : PTXGEN_EINVAL);
            }
    const pg_tcgen05_instruction mixed = decoded(plain(128, 64, 1 << 4 | 3 << 7 | 5 << 10), &f8);
    assert_true(mixed.a.format == PG_FMT_E2M3 && mixed.a.packing == PG_PACKING_PADDED_6);
    assert_true(mixed.b.format == PG_FMT_E2M1 && mixed.b.packing == PG_PACKING_PADDED_4);
    const pg_tcgen05_instruction bytes = decoded(plain(128, 64, 2 << 4 | 1 << 7 | 1 << 3), &i8);
    assert_true(bytes.integer && bytes.saturate && bytes.a.is_signed && !bytes.b.is_signed);
    assert_int_equal(bytes.result, PG_MMA_D_S32);
}

static void types_of_d(void **state)
{
    (void)state;
    static const struct {
        const pg_tcgen05_form *form;
        uint32_t ab, codes;
    } kinds[] = {{&f16, 0, 0x3},
                 {&f16, 1 << 7, 0x2},
                 {&tf32, 2 << 7 | 2 << 10, 0x2},
                 {&f8, 0, 0x3},
                 {&i8, 0, 0x4}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        for (uint32_t d = 0; d < 4; d++)
            assert_int_equal(decode(plain(128, 64, d << 4 | kinds[i].ab), kinds[i].form),
                             kinds[i].codes >> d & 1 ? PTXGEN_OK : PTXGEN_EINVAL);
}

static void reserved_bits_must_be_zero(void **state)
{
    (void)state;
    static const struct {
        const pg_tcgen05_form *form;
        uint32_t word, reserved;
    } kinds[] = {{&f16, 0x08200010, 0x20800048},  {&tf32, 0x08200910, 0x20800048},
                 {&f8, 0x08200010, 0x20800048},   {&i8, 0x08200020, 0x20800040},
                 {&mxf8, 0x08A00000, 0x8700004b}, {&mxf4, 0x08A00480, 0x0700104b},
                 {&nvf4, 0x08A00480, 0x0700104b}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        assert_int_equal(decode(kinds[i].word, kinds[i].form), PTXGEN_OK);
        for (int bit = 0; bit < 32; bit++)
            if (kinds[i].reserved >> bit & 1)
                assert_int_equal(decode(kinds[i].word | 1u << bit, kinds[i].form), PTXGEN_EINVAL);
        assert_int_equal(decode(kinds[i].word | 4, kinds[i].form), PTXGEN_EINVAL); /* sparse */
    }
    assert_int_equal(decode(0x88A00480, &mxf4), PTXGEN_EUNSUPPORTED); /* K = 96 */
}

static void negation_and_transposition(void **state)
{
    (void)state;
    const uint32_t negate = 3 << 13, transpose = 3 << 15;
    assert_true(decoded(0x08200010 | negate, &f16).a.negate &&
                decoded(0x08200010 | 1 << 14, &f16).b.negate);
    assert_int_equal(decode(0x08200020 | 1 << 13, &i8), PTXGEN_EINVAL);
    assert_int_equal(decode(0x08200020 | transpose, &i8), PTXGEN_OK);
    assert_int_equal(decode(0x08A00000 | negate | transpose, &mxf8), PTXGEN_OK);
    assert_int_equal(decode(0x08A00480 | negate, &mxf4), PTXGEN_OK);
    assert_int_equal(decode(0x08A00480 | 1 << 15, &mxf4), PTXGEN_EINVAL);
    /* e4m3 against e2m1: only the bytes can be transposed */
    assert_int_equal(decode(plain(128, 64, 1 << 4 | 5 << 10 | 1 << 15), &f8), PTXGEN_OK);
    assert_int_equal(decode(plain(128, 64, 1 << 4 | 5 << 10 | 1 << 16), &f8), PTXGEN_EINVAL);
}

/* Table 39, as a list of the N of each form. */
static bool n_listed(const pg_tcgen05_form *form, uint32_t n, bool transposed_bytes)
{
    if (form->ws)
        return n == 64 || n == 128 || n == 256;
    if (form->kind == PG_KIND_I8)
        return form->cta_group == 2 ? n && n % 32 == 0
               : n == 8 || n == 24  ? !transposed_bytes
                                    : n && n % 16 == 0;
    const uint32_t step = (transposed_bytes ? 16 : 8) * form->cta_group;
    return n && n % step == 0;
}

static void check_shapes(const pg_tcgen05_form *form, uint32_t word, uint32_t ms)
{
    const bool is_scaled = form->scale_block != 0;
    const bool bytes = form->kind != PG_KIND_F16 && form->kind != PG_KIND_TF32;
    for (uint32_t m = 32; m <= 256; m *= 2)
        for (uint32_t n = 0; n <= 504; n += 8) {
            const bool m_fits = !is_scaled || m >= 128;
            const bool exists =
                (ms & m) && n <= 256 && n_listed(form, n, bytes && (word >> 16 & 1));
            const uint32_t bits = is_scaled ? scaled(m, n, word) : plain(m, n, word);
            if (m_fits && (decode(bits, form) == PTXGEN_OK) != exists)
                fail_msg("M %u, N %u, word %08x, cta_group %u", m, n, bits, form->cta_group);
        }
}

static void shapes_are_those_of_the_table(void **state)
{
    (void)state;
    check_shapes(&f16, 0x10, 64 | 128);
    check_shapes(&f16_pair, 0x10, 128 | 256);
    check_shapes(&f16_ws, 0x10, 32 | 64 | 128);
    check_shapes(&f16, 0x10 | 1 << 16, 64 | 128);
    check_shapes(&f8, 0x10, 64 | 128);
    check_shapes(&f8, 0x10 | 1 << 16, 64 | 128);
    check_shapes(&i8, 0x20, 64 | 128);
    check_shapes(&i8, 0x20 | 1 << 16, 64 | 128);
    check_shapes(&i8_pair, 0x20, 128 | 256);
    check_shapes(&mxf8, 1 << 23, 128);
    check_shapes(&mxf8_pair, 1 << 23, 128 | 256);
    check_shapes(&mxf4, 1 << 23 | 0x480, 128);
    check_shapes(&nvf4, 0x480, 128);
}

static void scale_ids_and_types(void **state)
{
    (void)state;
    for (uint32_t id = 0; id < 4; id++) {
        assert_int_equal(decode(0x08A00000 | id << 4 | id << 29, &mxf8), PTXGEN_OK);
        assert_int_equal(decode(0x08A00480 | id << 4, &mxf4), id % 2 ? PTXGEN_EINVAL : PTXGEN_OK);
        assert_int_equal(decode(0x08A00480 | id << 29, &nvf4), id ? PTXGEN_EINVAL : PTXGEN_OK);
    }
    assert_int_equal(decode(0x08200000, &mxf8), PTXGEN_EINVAL); /* ue4m3 */
    assert_int_equal(decode(0x08200480, &mxf4), PTXGEN_EINVAL);
    assert_int_equal(decode(0x08200480, &nvf4), PTXGEN_OK);
    assert_int_equal(decode(0x08A00480, &nvf4), PTXGEN_OK);
    assert_int_equal(decode(0x08A00480, &nvf4_32), PTXGEN_OK);
    assert_int_equal(decode(0x08200480, &nvf4_32), PTXGEN_EINVAL);
}

/* ---- zero-column masks ---- */

/* The ISA writes a mask with column 0 on the right. */
static void check_mask(uint64_t bits, uint32_t m, uint32_t n, const char *const *parts)
{
    const pg_tcgen05_instruction x = {.m = m, .n = n, .max_shift = 32};
    bool zero[256];
    assert_int_equal(pg_tcgen05_zero_columns(bits, &x, zero, NULL), PTXGEN_OK);
    for (uint32_t part = 0; part < 128 / m; part++) {
        const size_t length = strlen(parts[part]);
        for (size_t i = 0; i < length; i++)
            assert_int_equal(zero[part * (n * m / 128) + i], parts[part][length - 1 - i] == '1');
    }
}

static void masks_of_the_isa(void **state)
{
    (void)state;
    const uint64_t skip2 = (uint64_t)2 << 40, use3 = (uint64_t)3 << 48, on = (uint64_t)1 << 39;
    static const char *const none[] = {"00000000000000"}, *const second[] = {"11100001110000"};
    check_mask((uint64_t)4 << 40 | use3, 128, 64, none);
    check_mask(on | skip2 | use3, 128, 64, second);
    static const char *const third[] = {"11100001110000111", "00001110000111"
                                                             "0000"};
    check_mask(on | skip2 | use3 | (uint64_t)1 << 32, 64, 128, third);
    static const char *const fourth[] = {"00001110000111", "0000111000011", "111000011100",
                                         "1110000111000"};
    const uint64_t starts = 0x01020100, first_spans = (uint64_t)3 << 32;
    check_mask(on | skip2 | use3 | first_spans | starts | (uint64_t)2 << 56, 32, 128, fourth);
}

static void masks_that_mean_nothing(void **state)
{
    (void)state;
    bool zero[256];
    const pg_tcgen05_instruction x = {.m = 32, .n = 64, .max_shift = 32},
                                 still = {.m = 128, .n = 64};
    assert_int_equal(pg_tcgen05_zero_columns((uint64_t)16 << 56, &x, zero, NULL), PTXGEN_OK);
    assert_int_equal(pg_tcgen05_zero_columns((uint64_t)17 << 56, &x, zero, NULL), PTXGEN_EINVAL);
    assert_int_equal(pg_tcgen05_zero_columns((uint64_t)1 << 56, &still, zero, NULL), PTXGEN_EINVAL);
    assert_int_equal(pg_tcgen05_zero_columns((uint64_t)1 << 36, &x, zero, NULL), PTXGEN_EINVAL);
    assert_int_equal(decode(0x48200010, &f16), PTXGEN_EINVAL); /* a maximum shift without .ws */
    assert_int_equal(decoded(0x88200010, &f16_ws).max_shift, 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_of_compilers),
        cmocka_unit_test(types_by_kind),
        cmocka_unit_test(types_of_d),
        cmocka_unit_test(reserved_bits_must_be_zero),
        cmocka_unit_test(negation_and_transposition),
        cmocka_unit_test(shapes_are_those_of_the_table),
        cmocka_unit_test(scale_ids_and_types),
        cmocka_unit_test(masks_of_the_isa),
        cmocka_unit_test(masks_that_mean_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
