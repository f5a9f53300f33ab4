// A tensor map made by the driver's function, which the runtime finds, and copies by it: 2-D tiles in, turned around, out.
#include <cstdint>
#include <cstdio>
#include <cuda.h>
#include <cuda_runtime.h>

enum { ROWS = 60, COLUMNS = 48, BOX = 16 };

__device__ uint32_t shared_address(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }

__global__ void turn(const __grid_constant__ CUtensorMap from, const __grid_constant__ CUtensorMap to)
{
    __shared__ alignas(128) float tile[BOX][BOX], turned[BOX][BOX];
    __shared__ alignas(8) uint64_t barrier;
    const int x = blockIdx.x * BOX, y = blockIdx.y * BOX, t = threadIdx.x;
    if (t == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(shared_address(&barrier)));
        asm volatile("fence.mbarrier_init.release.cluster;");
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(shared_address(&barrier)),
                     "r"((int)sizeof tile));
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], "
                     "[%4];" ::"r"(shared_address(tile)),
                     "l"(&from), "r"(x), "r"(y), "r"(shared_address(&barrier))
                     : "memory");
    }
    __syncthreads();
    asm volatile("{\n.reg .pred p;\nWAIT:\nmbarrier.try_wait.parity.shared.b64 p, [%0], 0;\n@!p bra WAIT;\n}" ::"r"(
                     shared_address(&barrier))
                 : "memory");
    turned[t % BOX][t / BOX] = tile[t / BOX][t % BOX];
    asm volatile("fence.proxy.async.shared::cta;");
    __syncthreads();
    if (t == 0) {
        asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&to), "r"(y),
                     "r"(x), "r"(shared_address(turned))
                     : "memory");
        asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;");
    }
}

typedef CUresult (*encode_function)(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, const cuuint64_t *, const cuuint64_t *,
                                    const cuuint32_t *, const cuuint32_t *, CUtensorMapInterleave, CUtensorMapSwizzle,
                                    CUtensorMapL2promotion, CUtensorMapFloatOOBfill);

static CUtensorMap map_of(encode_function encode, float *x, cuuint64_t columns, cuuint64_t rows, cuuint32_t box)
{
    CUtensorMap map;
    const cuuint64_t dims[2] = {columns, rows}, strides[1] = {columns * sizeof(float)};
    const cuuint32_t boxes[2] = {box, box}, steps[2] = {1, 1};
    const CUresult e = encode(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, x, dims, strides, boxes, steps,
                              CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                              CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    printf("encode %d\n", (int)e);
    return map;
}

int main()
{
    void *found = nullptr;
    cudaDriverEntryPointQueryResult how;
    float *x, *y;
    cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &how);
    const encode_function encode = (encode_function)found;
    cudaMallocManaged(&x, ROWS * COLUMNS * sizeof *x);
    cudaMallocManaged(&y, ROWS * COLUMNS * sizeof *y);
    for (int i = 0; i < ROWS * COLUMNS; i++)
        x[i] = i;
    const CUtensorMap from = map_of(encode, x, COLUMNS, ROWS, BOX), to = map_of(encode, y, ROWS, COLUMNS, BOX);
    map_of(encode, x, COLUMNS, ROWS, 257); // a box too large
    turn<<<dim3(COLUMNS / BOX, (ROWS + BOX - 1) / BOX), BOX * BOX>>>(from, to);
    printf("%d ", (int)cudaDeviceSynchronize());
    int wrong = 0;
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < COLUMNS; c++)
            wrong += y[c * ROWS + r] != x[r * COLUMNS + c];
    printf("%d\n", wrong);
    return 0;
}
