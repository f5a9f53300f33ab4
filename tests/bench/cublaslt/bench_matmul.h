/* What bench_matmul_cublaslt measures with: a problem's buffers on the GPU, cuBLASLt's algorithms
 * and our kernels as calls that can be captured, timing, and comparison. A CUDA or cuBLASLt error
 * prints itself and ends the program. */
#ifndef BENCH_MATMUL_H
#define BENCH_MATMUL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct bench_shape {
    int64_t m, n, k;
    bool transposed; /* B stored as [n, k] */
    int64_t batch;   /* matrices, one behind the other; 0: one */
    bool no_c;       /* D = A @ B */
} bench_shape;

/* Of A and B. BENCH_TF32: f32, multiplied as tf32. */
typedef enum bench_type { BENCH_F16, BENCH_BF16, BENCH_E4M3, BENCH_TF32, BENCH_TYPES } bench_type;

typedef struct bench_problem {
    int64_t m, n, k, batch;
    bool transposed, no_c;
    bench_type type;
    void *a, *b;
    float *c, *d, *want; /* want: cuBLASLt's D */
    struct bench_plans *plans;
} bench_problem;

/* false: there is no GPU. */
bool bench_open(void);
void bench_close(void);

/* Buffers with random data: A and B normal, C normal. false: too large for the GPU. */
bool bench_make(bench_problem *p, bench_shape shape, bench_type type);
void bench_free(bench_problem *p);

/* Every algorithm that cuBLASLt's heuristic returns and that runs, at most `most`; fills p->want
 * with the first one's D and compares it with sums in double on some elements. */
int bench_find_algorithms(bench_problem *p, int most);
void bench_enqueue_cublaslt(const bench_problem *p, int algorithm);

/* Compiles and loads the kernel (params NULL: the automatic choice); false, with the reason, when
 * there is none. */
bool bench_prepare_ours(const bench_problem *p, const char *params, char *why, size_t size);
void bench_enqueue_ours(const bench_problem *p, const char *params);
/* Instead of params: a call for each matrix of the batch. */
#define BENCH_LOOP "loop"
/* Runs it once over a D of NaN and compares all of it with p->want. */
bool bench_is_right(const bench_problem *p, const char *params);

/* GPU time of one call: a graph of as many as fill the budget, between two events, after one run
 * to warm up. */
double bench_microseconds(void (*enqueue)(void *user), void *user, double budget_ms);
/* The names and grids of the kernels that the call launches, into out. */
void bench_kernel_names(void (*enqueue)(void *user), void *user, char *out, size_t size);
/* The SM clock now; 0 if it cannot be read. */
unsigned bench_clock_mhz(void);

#endif
