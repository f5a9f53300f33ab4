/* A host that has DLPack tensors: any operation on them by one call, with the name of the
 * argument in every refusal.
 *
 *     cc -std=c11 dlpack.c $(pkg-config --cflags --libs ptxgen) && ./a.out
 *
 * Here the tensors lie in host memory, so the context is on the emulator. */
#include <ptxgen/dlpack.h>

#include <stdio.h>

int main(void)
{
    float table[4][8], rows[3][8] = {{0}};
    int64_t wanted[3] = {2, 0, 2}, table_shape[2] = {4, 8}, rows_shape[2] = {3, 8},
            wanted_shape[1] = {3};
    const ptxgen_dl_device cpu = {.device_type = 1};
    ptxgen_dl_tensor t[] = {
        {rows, cpu, 2, {2, 32, 1}, rows_shape, NULL, 0}, /* float, 32 bits */
        {table, cpu, 2, {2, 32, 1}, table_shape, NULL, 0},
        {wanted, cpu, 1, {0, 64, 1}, wanted_shape, NULL, 0}, /* int, 64 bits */
    };
    ptxgen_dlpack operands[] = {{&t[0], 0}, {&t[1], 0}, {&t[2], 0}};
    const ptxgen_config config = {.size = sizeof config, .device = PTXGEN_DEVICE_EMULATOR};
    ptxgen_error err;
    ptxgen *ctx;
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 8; j++)
            table[i][j] = (float)i;
    if (ptxgen_create(&config, &ctx, &err) ||
        ptxgen_dlpack_call(ctx, "gather_rows", operands, 3, NULL, &err))
        return fprintf(stderr, "%s\n", err.message), 1;
    printf("%g %g %g\n", rows[0][0], rows[1][0], rows[2][7]); /* 2 0 2 */
    operands[0].flags = PTXGEN_DLPACK_READ_ONLY;
    if (ptxgen_dlpack_call(ctx, "gather_rows", operands, 3, NULL, &err))
        printf("%s: %s\n", ptxgen_status_name(err.status), err.message);
    ptxgen_destroy(ctx);
    return 0;
}
