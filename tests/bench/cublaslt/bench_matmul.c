/* The GPU side of bench_matmul_cublaslt. */
#include "bench_matmul.h"

#include "base/half.h"
#include "common/small_floats.h"
#include "ptxgen/matmul.h"

#include <cublasLt.h>
#include <cuda.h>
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POOL = (1 << 24) - 3, WORKSPACE = 256 << 20, SAMPLES = 64, MAX_GRAPH = 100 };

#define CUDA(call) check_cuda(call, #call)
#define LT(call)   check_lt(call, #call)

static ptxgen *ctx;
static cublasLtHandle_t lt;
static cublasHandle_t blas;
static cudaStream_t stream;
static cudaEvent_t begin, end;
static void *workspace;
static float *host_pool;
static uint16_t *host_half[2]; /* f16, bf16 */
static uint8_t *host_small;    /* e4m3 */
static void *pool_f32, *pool_half[2], *pool_small;

static void check_cuda(cudaError_t e, const char *what)
{
    if (e == cudaSuccess)
        return;
    fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(e));
    exit(1);
}

static void check_lt(cublasStatus_t s, const char *what)
{
    if (s == CUBLAS_STATUS_SUCCESS)
        return;
    fprintf(stderr, "%s: status %d\n", what, (int)s);
    exit(1);
}

/* ---- random data: pools, which buffers repeat ---- */

static float normal(uint64_t *state)
{
    float sum = -6; /* twelve uniform values */
    for (int i = 0; i < 4; i++) {
        *state = *state * 6364136223846793005u + 1442695040888963407u;
        for (int j = 0; j < 3; j++)
            sum += (float)(*state >> (13 + 17 * j) & 0x1ffff) * 0x1p-17F;
    }
    return sum;
}

static void *uploaded(const void *host, size_t bytes)
{
    void *p;
    CUDA(cudaMalloc(&p, bytes));
    CUDA(cudaMemcpy(p, host, bytes, cudaMemcpyHostToDevice));
    return p;
}

static void make_pools(void)
{
    uint64_t state = 20261130;
    host_pool = malloc(POOL * sizeof(float));
    host_small = malloc(POOL);
    for (int h = 0; h < 2; h++)
        host_half[h] = malloc(POOL * 2);
    for (int i = 0; i < POOL; i++) {
        const float v = normal(&state);
        host_pool[i] = v;
        host_half[0][i] = pg_f16_from_double((double)v);
        host_half[1][i] = pg_bf16_from_double((double)v);
        host_small[i] = pg_e4m3_from_double((double)v);
    }
    pool_f32 = uploaded(host_pool, POOL * sizeof(float));
    pool_small = uploaded(host_small, POOL);
    for (int h = 0; h < 2; h++)
        pool_half[h] = uploaded(host_half[h], POOL * 2);
}

/* Element i of the buffer is element (i + first) % POOL of the pool. */
static void *filled(const void *pool, int64_t elements, size_t element, int64_t first)
{
    char *p;
    if (cudaMalloc((void **)&p, (size_t)elements * element) != cudaSuccess)
        return NULL;
    for (int64_t i = 0; i < elements;) {
        const int64_t from = (i + first) % POOL,
                      n = elements - i < POOL - from ? elements - i : POOL - from;
        CUDA(cudaMemcpyAsync(p + (size_t)i * element, (const char *)pool + (size_t)from * element,
                             (size_t)n * element, cudaMemcpyDeviceToDevice, stream));
        i += n;
    }
    return p;
}

enum { A_FIRST = 0, B_FIRST = 5000011, C_FIRST = 777777 };

static double value(const bench_problem *p, int64_t i, int64_t first)
{
    const int64_t at = (i + first) % POOL;
    switch (p->type) {
    case BENCH_F16:
        return pg_f16_to_double(host_half[0][at]);
    case BENCH_BF16:
        return pg_bf16_to_double(host_half[1][at]);
    case BENCH_E4M3:
        return pg_e4m3_to_double(host_small[at]);
    default:
        return (double)host_pool[at];
    }
}

static double wanted(const bench_problem *p, int64_t matrix, int64_t row, int64_t column)
{
    const int64_t a = matrix * p->m * p->k, b = matrix * p->k * p->n, c = matrix * p->m * p->n;
    double sum = p->no_c ? 0 : (double)host_pool[(c + row * p->n + column + C_FIRST) % POOL];
    for (int64_t k = 0; k < p->k; k++)
        sum += value(p, a + row * p->k + k, A_FIRST) *
               value(p, b + (p->transposed ? column * p->k + k : k * p->n + column), B_FIRST);
    return sum;
}

/* tf32: operands that are cut to 10 bits alone put the largest of a million sums 4.5e-3 sqrt(K)
 * off; of many millions it is more. */
static double tolerance(const bench_problem *p)
{
    const double sums = 1e-3 + 4e-6 * (double)p->k;
    return p->type == BENCH_E4M3   ? sums + 4e-3 * (double)p->k
           : p->type == BENCH_TF32 ? sums + 8e-3 * sqrt((double)p->k)
                                   : sums;
}

/* ---- cuBLASLt ---- */

struct bench_plans {
    cublasLtMatmulDesc_t operation;
    cublasLtMatrixLayout_t a, b, d;
    cublasLtMatmulHeuristicResult_t *results;
};

static void set_batch(cublasLtMatrixLayout_t layout, int64_t batch, int64_t stride)
{
    const int32_t count = (int32_t)batch;
    LT(cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count,
                                        sizeof count));
    LT(cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                        &stride, sizeof stride));
}

/* Row-major D = A B is column-major D^T = B^T A^T. */
static void describe(bench_problem *p)
{
    struct bench_plans *s = p->plans;
    static const cudaDataType_t types[] = {CUDA_R_16F, CUDA_R_16BF, CUDA_R_8F_E4M3, CUDA_R_32F};
    const cudaDataType_t type = types[p->type];
    const cublasComputeType_t compute =
        p->type == BENCH_TF32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    const cublasOperation_t b_op = p->transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    const uint64_t b_rows = (uint64_t)(p->transposed ? p->k : p->n),
                   b_columns = (uint64_t)(p->transposed ? p->n : p->k);
    LT(cublasLtMatmulDescCreate(&s->operation, compute, CUDA_R_32F));
    LT(cublasLtMatmulDescSetAttribute(s->operation, CUBLASLT_MATMUL_DESC_TRANSA, &b_op,
                                      sizeof b_op));
    LT(cublasLtMatrixLayoutCreate(&s->b, type, b_rows, b_columns, (int64_t)b_rows));
    LT(cublasLtMatrixLayoutCreate(&s->a, type, (uint64_t)p->k, (uint64_t)p->m, p->k));
    LT(cublasLtMatrixLayoutCreate(&s->d, CUDA_R_32F, (uint64_t)p->n, (uint64_t)p->m, p->n));
    set_batch(s->a, p->batch, p->m * p->k);
    set_batch(s->b, p->batch, p->k * p->n);
    set_batch(s->d, p->batch, p->m * p->n);
}

static cublasStatus_t run_algorithm(const bench_problem *p, int algorithm, float *d)
{
    static const float one = 1, zero = 0;
    const struct bench_plans *s = p->plans;
    return cublasLtMatmul(lt, s->operation, &one, p->b, s->b, p->a, s->a, p->no_c ? &zero : &one,
                          p->c, s->d, d, s->d, &s->results[algorithm].algo, workspace, WORKSPACE,
                          stream);
}

static void check_sample(const bench_problem *p)
{
    uint64_t state = 1;
    for (int i = 0; i < SAMPLES; i++) {
        float got;
        state = state * 6364136223846793005u + 1442695040888963407u;
        const int64_t row = (int64_t)(state >> 33) % p->m, column = (int64_t)(state >> 20) % p->n,
                      matrix = (int64_t)(state >> 27) % p->batch;
        CUDA(cudaMemcpy(&got, p->want + (matrix * p->m + row) * p->n + column, sizeof got,
                        cudaMemcpyDeviceToHost));
        const double want = wanted(p, matrix, row, column);
        if (!(fabs((double)got - want) <= tolerance(p)))
            printf("# cuBLASLt: D[%lld, %lld] is %g, not %g\n", (long long)row, (long long)column,
                   (double)got, want);
    }
}

int bench_find_algorithms(bench_problem *p, int most)
{
    const uint64_t bytes = WORKSPACE;
    cublasLtMatmulPreference_t preference;
    int found = 0, kept = 0;
    p->plans = calloc(1, sizeof *p->plans);
    p->plans->results = calloc((size_t)most, sizeof *p->plans->results);
    describe(p);
    LT(cublasLtMatmulPreferenceCreate(&preference));
    LT(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                            &bytes, sizeof bytes));
    if (cublasLtMatmulAlgoGetHeuristic(lt, p->plans->operation, p->plans->b, p->plans->a,
                                       p->plans->d, p->plans->d, preference, most,
                                       p->plans->results, &found) != CUBLAS_STATUS_SUCCESS)
        found = 0;
    cublasLtMatmulPreferenceDestroy(preference);
    for (int i = 0; i < found; i++) {
        p->plans->results[kept] = p->plans->results[i];
        kept += p->plans->results[kept].state == CUBLAS_STATUS_SUCCESS &&
                run_algorithm(p, kept, kept ? p->d : p->want) == CUBLAS_STATUS_SUCCESS;
    }
    CUDA(cudaStreamSynchronize(stream));
    if (kept)
        check_sample(p);
    return kept;
}

void bench_enqueue_cublaslt(const bench_problem *p, int algorithm)
{
    LT(run_algorithm(p, algorithm, p->d));
}

/* ---- ours ---- */

static ptxgen_status call_once(const bench_problem *p, const char *params, int64_t matrix,
                               int64_t batch, ptxgen_error *err)
{
    static const int64_t bytes[] = {2, 2, 1, 4};
    static const ptxgen_dtype dtypes[] = {PTXGEN_F16, PTXGEN_BF16, PTXGEN_E4M3, PTXGEN_F32};
    const ptxgen_matmul_accumulate_args args = {
        .size = sizeof args,
        .dtype = dtypes[p->type],
        .b_transposed = p->transposed,
        .m = p->m,
        .n = p->n,
        .k = p->k,
        .batch = batch,
        .a_batch_stride = p->m * p->k,
        .b_batch_stride = p->k * p->n,
        .c_batch_stride = p->m * p->n,
        .d_batch_stride = p->m * p->n,
        .a = (const char *)p->a + matrix * p->m * p->k * bytes[p->type],
        .b = (const char *)p->b + matrix * p->k * p->n * bytes[p->type],
        .c = p->no_c ? NULL : p->c + matrix * p->m * p->n,
        .d = p->d + matrix * p->m * p->n,
        .params = params,
        .workspace = workspace,
        .workspace_bytes = WORKSPACE};
    return ptxgen_matmul_accumulate(ctx, &args, stream, err);
}

static ptxgen_status call_ours(const bench_problem *p, const char *params, ptxgen_error *err)
{
    if (!params || strcmp(params, BENCH_LOOP) != 0)
        return call_once(p, params, 0, p->batch, err);
    ptxgen_status status = PTXGEN_OK;
    for (int64_t i = 0; i < p->batch && status == PTXGEN_OK; i++)
        status = call_once(p, NULL, i, 1, err);
    return status;
}

bool bench_prepare_ours(const bench_problem *p, const char *params, char *why, size_t size)
{
    ptxgen_error err;
    if (call_ours(p, params, &err) == PTXGEN_OK)
        return true;
    snprintf(why, size, "%s", err.message);
    return false;
}

void bench_enqueue_ours(const bench_problem *p, const char *params)
{
    ptxgen_error err;
    if (call_ours(p, params, &err) == PTXGEN_OK)
        return;
    fprintf(stderr, "%s: %s\n", params ? params : "auto", err.message);
    exit(1);
}

bool bench_is_right(const bench_problem *p, const char *params)
{
    const float minus_one = -1;
    const int64_t count = p->batch * p->m * p->n;
    int largest = 0;
    float sum = 0, error = 0;
    CUDA(cudaMemsetAsync(p->d, 0xff, (size_t)count * sizeof(float), stream));
    bench_enqueue_ours(p, params);
    LT(cublasSaxpy(blas, (int)count, &minus_one, p->want, 1, p->d, 1));
    LT(cublasIsamax(blas, (int)count, p->d, 1, &largest));
    LT(cublasSasum(blas, (int)count, p->d, 1, &sum));
    CUDA(cudaMemcpyAsync(&error, p->d + largest - 1, sizeof error, cudaMemcpyDeviceToHost, stream));
    CUDA(cudaStreamSynchronize(stream));
    return isfinite(sum) && fabs((double)error) <= tolerance(p);
}

/* ---- problems ---- */

bool bench_make(bench_problem *p, bench_shape s, bench_type type)
{
    const void *const pools[] = {pool_half[0], pool_half[1], pool_small, pool_f32};
    static const size_t bytes[] = {2, 2, 1, 4};
    const int64_t batch = s.batch ? s.batch : 1;
    *p = (bench_problem){.m = s.m,
                         .n = s.n,
                         .k = s.k,
                         .batch = batch,
                         .transposed = s.transposed,
                         .no_c = s.no_c,
                         .type = type};
    p->a = filled(pools[type], batch * s.m * s.k, bytes[type], A_FIRST);
    p->b = filled(pools[type], batch * s.k * s.n, bytes[type], B_FIRST);
    p->c = filled(pool_f32, batch * s.m * s.n, 4, C_FIRST);
    p->d = filled(pool_f32, batch * s.m * s.n, 4, 0);
    p->want = filled(pool_f32, batch * s.m * s.n, 4, 0);
    if (p->a && p->b && p->c && p->d && p->want)
        return true;
    printf("# %lld x %lld x %lld: not enough memory\n", (long long)s.m, (long long)s.n,
           (long long)s.k);
    bench_free(p);
    return false;
}

void bench_free(bench_problem *p)
{
    void *const buffers[] = {p->a, p->b, p->c, p->d, p->want};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        cudaFree(buffers[i]);
    if (!p->plans)
        return;
    cublasLtMatmulDescDestroy(p->plans->operation);
    cublasLtMatrixLayoutDestroy(p->plans->a);
    cublasLtMatrixLayoutDestroy(p->plans->b);
    cublasLtMatrixLayoutDestroy(p->plans->d);
    free(p->plans->results);
    free(p->plans);
    p->plans = NULL;
}

/* ---- time ---- */

static double elapsed_us(void)
{
    float ms = 0;
    CUDA(cudaEventSynchronize(end));
    CUDA(cudaEventElapsedTime(&ms, begin, end));
    return 1e3 * (double)ms;
}

static double once(void (*enqueue)(void *user), void *user)
{
    enqueue(user);
    CUDA(cudaEventRecord(begin, stream));
    enqueue(user);
    CUDA(cudaEventRecord(end, stream));
    return elapsed_us();
}

double bench_microseconds(void (*enqueue)(void *user), void *user, double budget_ms)
{
    const double fit = 1e3 * budget_ms / once(enqueue, user);
    const int calls = fit < 1 ? 1 : fit > MAX_GRAPH ? MAX_GRAPH : (int)fit;
    cudaGraph_t graph;
    cudaGraphExec_t runnable;
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < calls; i++)
        enqueue(user);
    CUDA(cudaStreamEndCapture(stream, &graph));
    CUDA(cudaGraphInstantiate(&runnable, graph, 0));
    CUDA(cudaGraphLaunch(runnable, stream));
    CUDA(cudaEventRecord(begin, stream));
    CUDA(cudaGraphLaunch(runnable, stream));
    CUDA(cudaEventRecord(end, stream));
    const double us = elapsed_us();
    CUDA(cudaGraphExecDestroy(runnable));
    CUDA(cudaGraphDestroy(graph));
    return us / calls;
}

static cudaGraph_t captured(void (*enqueue)(void *user), void *user)
{
    cudaGraph_t graph;
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    enqueue(user);
    CUDA(cudaStreamEndCapture(stream, &graph));
    return graph;
}

void bench_kernel_names(void (*enqueue)(void *user), void *user, char *out, size_t size)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    CUresult (*params_of)(CUgraphNode, CUDA_KERNEL_NODE_PARAMS *) =
        (CUresult(*)(CUgraphNode, CUDA_KERNEL_NODE_PARAMS *))dlsym(driver,
                                                                   "cuGraphKernelNodeGetParams_v2");
    CUresult (*function_name)(const char **, CUfunction) =
        (CUresult(*)(const char **, CUfunction))dlsym(driver, "cuFuncGetName");
    CUresult (*kernel_name)(const char **, CUkernel) =
        (CUresult(*)(const char **, CUkernel))dlsym(driver, "cuKernelGetName");
    cudaGraphNode_t nodes[8];
    size_t count = 8, used = 0;
    cudaGraph_t graph = captured(enqueue, user);
    CUDA(cudaGraphGetNodes(graph, nodes, &count));
    out[0] = 0;
    for (size_t i = 0; i < count && params_of && function_name && kernel_name && used < size; i++) {
        CUDA_KERNEL_NODE_PARAMS k = {0};
        const char *name = "?";
        if (params_of(nodes[i], &k) != CUDA_SUCCESS)
            continue;
        if (!k.func || function_name(&name, k.func) != CUDA_SUCCESS)
            kernel_name(&name, k.kern);
        used += (size_t)snprintf(out + used, size - used, "%s %ux%ux%u x %u; ", name, k.gridDimX,
                                 k.gridDimY, k.gridDimZ, k.blockDimX);
    }
    CUDA(cudaGraphDestroy(graph));
}

unsigned bench_clock_mhz(void)
{
    enum { SM_CLOCK = 1 };
    static int (*get)(void *device, int clock, unsigned *mhz);
    static void *device;
    static bool tried;
    unsigned mhz = 0;
    if (!tried) {
        void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
        int (*init)(void) = library ? (int (*)(void))dlsym(library, "nvmlInit_v2") : NULL;
        int (*find)(unsigned, void **) =
            library ? (int (*)(unsigned, void **))dlsym(library, "nvmlDeviceGetHandleByIndex_v2")
                    : NULL;
        if (init && find && init() == 0 && find(0, &device) == 0)
            get = (int (*)(void *, int, unsigned *))dlsym(library, "nvmlDeviceGetClockInfo");
        tried = true;
    }
    return get && get(device, SM_CLOCK, &mhz) == 0 ? mhz : 0;
}

/* ---- set-up ---- */

bool bench_open(void)
{
    const ptxgen_config config = {.size = sizeof config, .device = PTXGEN_DEVICE_CUDA};
    struct cudaDeviceProp properties;
    int devices = 0;
    ptxgen_error err;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || !devices) {
        printf("skipped: no GPU\n");
        return false;
    }
    CUDA(cudaGetDeviceProperties(&properties, 0));
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CUDA(cudaEventCreate(&begin));
    CUDA(cudaEventCreate(&end));
    CUDA(cudaMalloc(&workspace, WORKSPACE));
    LT(cublasLtCreate(&lt));
    LT(cublasCreate_v2(&blas));
    LT(cublasSetStream_v2(blas, stream));
    make_pools();
    if (ptxgen_create(&config, &ctx, &err) != PTXGEN_OK) {
        fprintf(stderr, "%s\n", err.message);
        exit(1);
    }
    printf("# %s, %d SMs, cuBLASLt %zu, %u MHz\n", properties.name, properties.multiProcessorCount,
           cublasLtGetVersion(), bench_clock_mhz());
    return true;
}

void bench_close(void)
{
    ptxgen_destroy(ctx);
    cublasDestroy_v2(blas);
    cublasLtDestroy(lt);
    cudaFree(workspace);
    free(host_pool);
    free(host_small);
    for (int h = 0; h < 2; h++)
        free(host_half[h]);
}
