/* Descriptor builders against constants worked out by hand from the ISA's tables, some of which
 * other compilers emit for the same shapes; and tensor-memory sizes. */
#include "test.h"

#include "base/arch.h"
#include "common/tcgen05.h"

static uint64_t matrix_bits(pg_smem_matrix m, uint32_t address)
{
    return (uint64_t)pg_smem_descriptor_high(m) << 32 | pg_smem_descriptor_low(m, address);
}

static void matrix_descriptors(void **state)
{
    (void)state;
    /* K-major, 128-byte swizzle, dense: 8 rows are 1024 bytes. */
    const pg_smem_matrix k128 = {16, 1024, PG_SWIZZLE_128B};
    assert_true(matrix_bits(k128, 0) == UINT64_C(0x4000404000010000));
    assert_true(matrix_bits(k128, 0x400) == UINT64_C(0x4000404000010040));
    /* 18 bits of address, in units of 16. */
    assert_true(matrix_bits(k128, 0x3FFF0) == UINT64_C(0x4000404000013FFF));
    const pg_smem_matrix k64 = {16, 512, PG_SWIZZLE_64B}, k32 = {16, 256, PG_SWIZZLE_32B};
    assert_true(matrix_bits(k64, 0) == UINT64_C(0x8000402000010000));
    assert_true(matrix_bits(k32, 0) == UINT64_C(0xC000401000010000));
    /* A scale chunk: no swizzle, 8 rows of 16 bytes. */
    const pg_smem_matrix scales = {16, 128, PG_SWIZZLE_NONE};
    assert_true(matrix_bits(scales, 0) == UINT64_C(0x0000400800010000));
    /* MN-major tile of 64 of K: blocks of 64 columns are 8 KB apart. */
    const pg_smem_matrix mn128 = {64 * 128, 1024, PG_SWIZZLE_128B};
    assert_true(matrix_bits(mn128, 0) == UINT64_C(0x4000404002000000));
}

static void instruction_descriptors_of_16_bit_types(void **state)
{
    (void)state;
    static const struct {
        pg_mma_shape shape;
        uint32_t bits;
    } cases[] = {
        {{.kind = PG_MMA_F16, .m = 128, .n = 128, .b_mn_major = true}, 0x08210010},
        {{.kind = PG_MMA_F16, .m = 128, .n = 64, .b_mn_major = true}, 0x08110010},
        {{.kind = PG_MMA_F16, .m = 256, .n = 128}, 0x10200010},
        {{.kind = PG_MMA_F16, .m = 128, .n = 256}, 0x08400010},
        {{.kind = PG_MMA_F16,
          .m = 128,
          .n = 128,
          .a_type = PG_MMA_TYPE_BF16,
          .b_type = PG_MMA_TYPE_BF16},
         0x08200490},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(pg_instruction_descriptor(&cases[i].shape), cases[i].bits);
}

static void instruction_descriptors_of_scaled_types(void **state)
{
    (void)state;
    static const struct {
        pg_mma_shape shape;
        uint32_t bits;
    } cases[] = {
        /* M >> 7 at 27, N >> 3 at 17, UE8M0 at 23 */
        {{.kind = PG_MMA_MXF8F6F4, .m = 128, .n = 256, .scale_type = PG_MMA_SCALE_UE8M0},
         0x08C00000},
        {{.kind = PG_MMA_MXF8F6F4,
          .m = 128,
          .n = 128,
          .scale_type = PG_MMA_SCALE_UE8M0,
          .sfa_id = 3,
          .sfb_id = 3},
         0x68A00030},
        {{.kind = PG_MMA_MXF8F6F4,
          .m = 128,
          .n = 128,
          .a_type = PG_MMA_TYPE_E2M1,
          .scale_type = PG_MMA_SCALE_UE8M0},
         0x08A00280},
        {{.kind = PG_MMA_MXF8F6F4,
          .m = 128,
          .n = 128,
          .b_type = PG_MMA_TYPE_E2M1,
          .scale_type = PG_MMA_SCALE_UE8M0},
         0x08A01400},
        {{.kind = PG_MMA_MXF4,
          .m = 128,
          .n = 128,
          .a_type = PG_MMA_TYPE_MXF4_E2M1,
          .b_type = PG_MMA_TYPE_MXF4_E2M1,
          .scale_type = PG_MMA_SCALE_UE8M0,
          .sfa_id = 2,
          .sfb_id = 2},
         0x48A004A0},
        {{.kind = PG_MMA_MXF4NVF4,
          .m = 128,
          .n = 256,
          .a_type = PG_MMA_TYPE_MXF4_E2M1,
          .b_type = PG_MMA_TYPE_MXF4_E2M1,
          .scale_type = PG_MMA_SCALE_UE4M3},
         0x08400480},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(pg_instruction_descriptor(&cases[i].shape), cases[i].bits);
}

static void tensor_memory_comes_in_powers_of_two(void **state)
{
    (void)state;
    assert_int_equal(pg_tmem_allocation(1), 32);
    assert_int_equal(pg_tmem_allocation(32), 32);
    assert_int_equal(pg_tmem_allocation(33), 64);
    assert_int_equal(pg_tmem_allocation(256), 256);
    assert_int_equal(pg_tmem_allocation(304), 512);
    assert_int_equal(pg_tmem_allocation(512), 512);
    assert_int_equal(pg_tmem_allocation(608), 0); /* not 1024: there is no more */
}

static void only_targets_with_tensor_memory(void **state)
{
    (void)state;
    static const ptxgen_arch with[] = {1001, 1002, 1031, 1032},
                             without[] = {900, 901, 1000, 1030, 1101, 1102, 1201};
    for (size_t i = 0; i < sizeof with / sizeof *with; i++)
        assert_int_equal(pg_require_tcgen05(pg_arch_find(with[i]), "x", "", NULL), PTXGEN_OK);
    for (size_t i = 0; i < sizeof without / sizeof *without; i++) {
        ptxgen_error err = {0};
        assert_int_equal(pg_require_tcgen05(pg_arch_find(without[i]), "x", ", or else", &err),
                         PTXGEN_EUNSUPPORTED);
        assert_non_null(strstr(err.message, "x is not built for sm_"));
        assert_non_null(strstr(err.message, "arch=sm_100a, sm_100f, sm_103a, sm_103f, or else"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matrix_descriptors),
        cmocka_unit_test(instruction_descriptors_of_16_bit_types),
        cmocka_unit_test(instruction_descriptors_of_scaled_types),
        cmocka_unit_test(tensor_memory_comes_in_powers_of_two),
        cmocka_unit_test(only_targets_with_tensor_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
