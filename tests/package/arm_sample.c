/* Writes every family's default kernel and runs a scatter-add on the emulator; prints hashes.
 * Built for two kinds of hosts, it prints the same. */
#include <ptxgen/ptxgen.h>

#include <inttypes.h>
#include <stdio.h>

static uint64_t hash_of(const unsigned char *bytes, size_t n, uint64_t h)
{
    for (size_t i = 0; i < n; i++)
        h = (h ^ bytes[i]) * UINT64_C(0x100000001b3);
    return h;
}

int main(void)
{
    ptxgen *ctx;
    ptxgen_error err;
    const ptxgen_config config = {
        .size = sizeof config, .cache = PTXGEN_CACHE_OFF, .device = PTXGEN_DEVICE_EMULATOR};
    if (ptxgen_create(&config, &ctx, &err) != PTXGEN_OK) {
        printf("%s\n", err.message);
        return 1;
    }
    /* The text of each family's default kernel. */
    for (size_t f = 0; f < ptxgen_family_count(); f++) {
        ptxgen_kernel *k;
        if (ptxgen_emit(ctx, ptxgen_family_name(f), "", &k, &err) != PTXGEN_OK)
            continue;
        ptxgen_kernel_info info = {.size = sizeof info};
        ptxgen_kernel_describe(k, &info);
        printf("%s %016" PRIx64 "\n", info.entry,
               hash_of((const unsigned char *)info.ptx, info.ptx_size, 0));
        ptxgen_kernel_unref(k);
    }
    /* A scatter-add whose sums are exact, for host threads add in any order. */
    static float out[8][32], src[64][32];
    static int64_t index[64];
    for (int i = 0; i < 64; i++) {
        index[i] = (i * 5) % 8;
        for (int j = 0; j < 32; j++)
            src[i][j] = (float)(i * 37 - j * 11) * 0x1p-7f;
    }
    const ptxgen_scatter_add_args a = {.size = sizeof a,
                                       .dtype = PTXGEN_F32,
                                       .rows = 64,
                                       .out_rows = 8,
                                       .n = 32,
                                       .out = out,
                                       .src = src,
                                       .index = index};
    if (ptxgen_scatter_add(ctx, &a, NULL, &err) != PTXGEN_OK ||
        ptxgen_check_indices(ctx, NULL, &err) != PTXGEN_OK) {
        printf("%s\n", err.message);
        return 1;
    }
    printf("scatter_add %016" PRIx64 "\n", hash_of((const unsigned char *)out, sizeof out, 0));
    ptxgen_destroy(ctx);
    return 0;
}
