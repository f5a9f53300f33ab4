/* The element types of the tile engines, and the panels. */
#include "emulator/matrix/mma_model.h"

/* name, bits, K of wgmma */
const pg_mma_type_info pg_mma_types[PG_MMA_TYPE_COUNT] = {
    [PG_MMA_F16] = {"f16", 16, 16},  [PG_MMA_BF16] = {"bf16", 16, 16},
    [PG_MMA_TF32] = {"tf32", 32, 8}, [PG_MMA_E4M3] = {"e4m3", 8, 32},
    [PG_MMA_E5M2] = {"e5m2", 8, 32}, [PG_MMA_S8] = {"s8", 8, 32},
    [PG_MMA_U8] = {"u8", 8, 32},     [PG_MMA_B1] = {"b1", 1, 256},
};

void pg_mma_panel_a(const uint32_t *plain, uint32_t m, uint32_t k, uint32_t *panel)
{
    for (uint32_t g = 0; g < m / 8; g++, plain += 8 * k)
        for (uint32_t i = 0; i < k; i++, panel += 32)
            for (uint32_t row = 0; row < 8; row++) {
                const uint32_t word = plain[row * k + i];
                for (uint32_t t = 0; t < 4; t++)
                    panel[4 * row + t] = word;
            }
}

void pg_mma_panel_b(const uint32_t *plain, uint32_t n, uint32_t k, uint32_t *panel)
{
    for (uint32_t j = 0; j < n / 8; j++, plain += 8 * k)
        for (uint32_t i = 0; i < k; i++, panel += 16) {
            const uint32_t *const c = plain + i;
            const uint32_t even[4] = {c[0], c[2 * k], c[4 * k], c[6 * k]};
            const uint32_t odd[4] = {c[k], c[3 * k], c[5 * k], c[7 * k]};
            memcpy(panel, even, sizeof even);
            memcpy(panel + 4, even, sizeof even);
            memcpy(panel + 8, odd, sizeof odd);
            memcpy(panel + 12, odd, sizeof odd);
        }
}
