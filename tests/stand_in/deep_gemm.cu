// DeepGEMM's fp8 kernels against the host: as its just-in-time compiler builds one for a problem, for Hopper (a scale per row and
// 128 columns of A, per 128 x 128 of B) or, with BLACKWELL, for Blackwell (powers of two, four packed in a word). CTAS: those of a
// cluster, which share B's tiles.
#ifdef BLACKWELL
#include <deep_gemm/impls/sm100_fp8_fp4_gemm_1d1d.cuh>
#else
#include <deep_gemm/impls/sm90_fp8_gemm_1d2d.cuh>
#endif

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cuda.h>
#include <random>
#include <vector>

#ifndef CTAS
#define CTAS 1
#endif

enum { BLOCK = 128, STAGES = 4, SMS = 4 };

#define TRY(call)                                                                                  \
    do {                                                                                           \
        const int e = (int)(call);                                                                 \
        if (e != 0)                                                                                \
            printf("%s: error %d\n", #call, e), exit(3);                                           \
    } while (0)

template <typename T> struct array {
    T *data;
    explicit array(const std::vector<T> &v)
    {
        TRY(cudaMallocManaged(&data, v.size() * sizeof(T)));
        std::copy(v.begin(), v.end(), data);
    }
    ~array() { cudaFree(data); }
};

// Of a matrix in rows: a box of `columns` x `rows` elements, 128 bytes swizzled where the box is as wide.
static CUtensorMap map_of(void *data, CUtensorMapDataType type, uint64_t bytes, uint64_t width, uint64_t height, uint32_t columns,
                          uint32_t rows)
{
    CUtensorMap map;
    const cuuint64_t extents[] = {width, height}, strides[] = {width * bytes};
    const cuuint32_t box[] = {columns, rows}, steps[] = {1, 1};
    const bool swizzled = rows > 1;
    TRY(cuTensorMapEncodeTiled(&map, type, 2, data, extents, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                               swizzled ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_NONE,
                               CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
    return map;
}

static std::mt19937 random_bits(11);

static std::vector<__nv_fp8_e4m3> draw(size_t n)
{
    std::vector<__nv_fp8_e4m3> v(n);
    for (auto &x : v)
        x = __nv_fp8_e4m3(((int)(random_bits() % 33) - 16) / 8.0f);
    return v;
}

// A power of two, as both kernels take it.
static float draw_scale() { return ldexpf(1.0f, (int)(random_bits() % 7) - 3); }

using namespace deep_gemm;

int main(int argc, char **argv)
{
    const uint32_t m = argc > 3 ? atoi(argv[1]) : 256, n = argc > 3 ? atoi(argv[2]) : 256, k = argc > 3 ? atoi(argv[3]) : 512;
    const uint32_t steps = (k + BLOCK - 1) / BLOCK, columns = (n + BLOCK - 1) / BLOCK, pitch = (m + 3) / 4 * 4;
    const auto host_a = draw((size_t)m * k), host_b = draw((size_t)n * k);
    std::vector<float> scale_a((size_t)steps * pitch, 1.0f), scale_b((size_t)columns * steps);
    for (auto &x : scale_a)
        x = draw_scale();
    for (auto &x : scale_b)
        x = draw_scale();
    array<__nv_fp8_e4m3> a(host_a), b(host_b);
    array<__nv_bfloat16> d(std::vector<__nv_bfloat16>((size_t)m * n));
    const auto bytes = CU_TENSOR_MAP_DATA_TYPE_UINT8, halves = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    const CUtensorMap map_a = map_of(a.data, bytes, 1, k, m, BLOCK, BLOCK);
    cudaLaunchConfig_t launch = {};
    cudaLaunchAttribute cluster = {};
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim = {CTAS, 1, 1};
    launch.gridDim = SMS;
    launch.attrs = &cluster;
    launch.numAttrs = 1;
    launch.dynamicSmemBytes = 215 * 1024;
#ifdef BLACKWELL
    // 127 is an exponent of zero; a word has those of four steps, of one row.
    const uint32_t words = (steps + 3) / 4, pitch_b = (n + 3) / 4 * 4;
    std::vector<int> packed_a((size_t)words * pitch), packed_b((size_t)words * pitch_b);
    for (uint32_t s = 0; s < steps; s++) {
        for (uint32_t i = 0; i < pitch; i++)
            packed_a[s / 4 * pitch + i] |= (127 + ilogbf(scale_a[s * pitch + i])) << 8 * (s % 4);
        for (uint32_t j = 0; j < n; j++)
            packed_b[s / 4 * pitch_b + j] |= (127 + ilogbf(scale_b[j / BLOCK * steps + s])) << 8 * (s % 4);
    }
    array<int> sfa(packed_a), sfb(packed_b);
    const auto whole = CU_TENSOR_MAP_DATA_TYPE_INT32;
    const CUtensorMap map_b = map_of(b.data, bytes, 1, k, n, BLOCK, BLOCK / CTAS),
                      map_d = map_of(d.data, halves, 2, n, m, 64, BLOCK),
                      map_sfa = map_of(sfa.data, whole, 4, pitch, words, BLOCK, 1),
                      map_sfb = map_of(sfb.data, whole, 4, pitch_b, words, BLOCK, 1);
    const auto kernel =
        sm100_fp8_fp4_gemm_1d1d_impl<cute::UMMA::Major::K, cute::UMMA::Major::K, 128, 128, 128, 0, 0, 0, BLOCK, BLOCK, BLOCK, 1, 128,
                                     128, 128, STAGES, 128, 128, CTAS, false, SMS, false, false, GemmType::Normal, false,
                                     cutlass::float_e4m3_t, cutlass::float_e4m3_t, cutlass::bfloat16_t,
                                     epilogue::transform::EpilogueIdentity>;
    launch.blockDim = 256;
    TRY(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)launch.dynamicSmemBytes));
    TRY(cudaLaunchKernelEx(&launch, kernel, (int *)nullptr, m, n, k, map_a, map_b, map_sfa, map_sfb, map_d));
#else
    array<float> sfa(scale_a), sfb(scale_b);
    const CUtensorMap map_b = map_of(b.data, bytes, 1, k, n, BLOCK, BLOCK), map_d = map_of(d.data, halves, 2, n, m, 64, BLOCK),
                      map_sfa = map_of(sfa.data, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, pitch, steps, BLOCK, 1);
    const auto kernel =
        sm90_fp8_gemm_1d2d_impl<cute::UMMA::Major::K, 0, 0, 0, 1, BLOCK, BLOCK, BLOCK, 128, 128, 128, STAGES, 128, 256, CTAS, false,
                                SMS, GemmType::Normal, cutlass::bfloat16_t, epilogue::transform::EpilogueIdentity>;
    launch.blockDim = 384;
    TRY(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)launch.dynamicSmemBytes));
    TRY(cudaLaunchKernelEx(&launch, kernel, sfb.data, (int *)nullptr, m, n, k, map_a, map_b, map_d, map_sfa));
#endif
    TRY(cudaDeviceSynchronize());
    size_t wrong = 0;
    for (uint32_t i = 0; i < m; i++)
        for (uint32_t j = 0; j < n; j++) {
            double want = 0, size = 0;
            for (uint32_t l = 0; l < k; l++) {
                const double x = (double)(float)host_a[(size_t)i * k + l] * (float)host_b[(size_t)j * k + l] *
                                 scale_a[l / BLOCK * pitch + i] * scale_b[j / BLOCK * steps + l / BLOCK];
                want += x;
                size += fabs(x);
            }
            // the tensor core's sums and the rounding to bfloat16
            const double got = __bfloat162float(d.data[(size_t)i * n + j]);
            if (!(fabs(got - want) <= size * 1e-3 + fabs(want) / 256) && wrong++ < 4)
                printf("WRONG: %u,%u: %g, expected %g\n", i, j, got, want);
        }
    printf(wrong ? "%zu wrong\n" : "all right\n", wrong);
    return wrong != 0;
}
