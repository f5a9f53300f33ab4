/* Kernels that nvcc compiles from tests/emulator/cuda, optimized and with -G, run on the
 * emulator: plainly, and in checking mode under order=isa, where nothing may be reported. What
 * they must give is computed here, in C. Skipped where nvcc is not installed. */
#include "test.h"

#include "base/half.h"
#include "ptxgen/emulator.h"

#include <math.h>

enum { MAX_BUFFERS = 8, MAX_ARGS = 8 };

typedef struct session {
    ptxgen_emulator *emu;
    ptxgen_emulator_module *module;
    void *buffers[MAX_BUFFERS];
    size_t buffer_count;
    uint32_t random;
    char said[512]; /* the log */
    bool check;
    bool cooperative; /* the launches that follow */
} session;

/* ---- the emulator ---- */

static void keep_line(void *user, ptxgen_log_level level, const char *line)
{
    session *s = user;
    (void)level;
    const size_t n = strlen(s->said);
    snprintf(s->said + n, sizeof s->said - n, "%s\n", line);
}

static void open_session(session *s, const char *ptx, size_t length, bool check)
{
    ptxgen_error err = {0};
    *s = (session){.random = 12345, .check = check};
    const ptxgen_emulator_config config = {.size = sizeof config,
                                           .threads = 1,
                                           .order = check ? PTXGEN_EMULATOR_ORDER_ISA
                                                          : PTXGEN_EMULATOR_ORDER_HW,
                                           .seed = 7,
                                           .check = check,
                                           .instruction_budget = 100000000,
                                           .log = keep_line,
                                           .user = s,
                                           .log_level = PTXGEN_LOG_INFO};
    assert_int_equal(ptxgen_emulator_create(&config, &s->emu, &err), PTXGEN_OK);
    if (ptxgen_emulator_load(s->emu, ptx, length, "nvcc", &s->module, &err) != PTXGEN_OK)
        fail_msg("%s", err.message);
}

static void close_session(session *s)
{
    ptxgen_emulator_unload(s->module);
    ptxgen_emulator_destroy(s->emu);
    for (size_t i = 0; i < s->buffer_count; i++)
        free(s->buffers[i]);
}

static void *buffer(session *s, size_t bytes)
{
    ptxgen_error err = {0};
    assert_true(s->buffer_count < MAX_BUFFERS);
    void *p = aligned_alloc(256, (bytes + 255) / 256 * 256);
    memset(p, 0, bytes);
    s->buffers[s->buffer_count++] = p;
    assert_int_equal(
        ptxgen_emulator_add_buffer(s->emu, "buffer", p, bytes, PTXGEN_EMULATOR_WRITABLE, &err),
        PTXGEN_OK);
    return p;
}

static uint32_t draw(session *s)
{
    s->random = s->random * 1664525u + 1013904223u;
    return s->random >> 8;
}

/* In -2 .. 2. */
static float draw_float(session *s)
{
    return (float)(draw(s) % 4001) / 1000.0f - 2.0f;
}

typedef struct shape {
    uint32_t grid[3], block[3], cluster;
} shape;

static ptxgen_status try_run(session *s, const char *name, const shape *at, void *const *args,
                             ptxgen_error *err)
{
    ptxgen_emulator_entry *entry;
    ptxgen_emulator_launch launch = {.size = sizeof launch,
                                     .cluster = {at->cluster},
                                     .args = args,
                                     .cooperative = s->cooperative};
    memcpy(launch.grid, at->grid, sizeof launch.grid);
    memcpy(launch.block, at->block, sizeof launch.block);
    while (launch.arg_count < MAX_ARGS && args[launch.arg_count])
        launch.arg_count++;
    const ptxgen_status found = ptxgen_emulator_find(s->module, name, &entry, err);
    return found == PTXGEN_OK ? ptxgen_emulator_run(entry, &launch, err) : found;
}

/* args: pointers to the arguments, then NULL. */
static void run(session *s, const char *name, shape at, void *const *args)
{
    ptxgen_error err = {0};
    ptxgen_emulator_report report;
    if (try_run(s, name, &at, args, &err) != PTXGEN_OK)
        fail_msg("%s: %s", name, err.message);
    for (size_t i = 0; ptxgen_emulator_get_report(s->emu, i, &report); i++)
        if (ptxgen_emulator_report_class_of(report.kind) != PTXGEN_EMULATOR_ADVICE)
            fail_msg("%s: line %d: %s", name, report.line, report.text);
}

static void near(const char *what, double got, double wanted, double tolerance)
{
    if (fabs(got - wanted) > tolerance * (fabs(wanted) + 1) || isnan(got) != isnan(wanted))
        fail_msg("%s: %.17g, not %.17g", what, got, wanted);
}

static double f16(uint16_t h)
{
    return pg_f16_to_double(h);
}

/* ---- language.cu ---- */

static void matmul(session *s)
{
    int n = 50;
    float *a = buffer(s, 4 * 50 * 50), *b = buffer(s, 4 * 50 * 50), *c = buffer(s, 4 * 50 * 50);
    for (int i = 0; i < n * n; i++) {
        a[i] = draw_float(s);
        b[i] = draw_float(s);
    }
    run(s, "matmul", (shape){{4, 4, 1}, {16, 16, 1}, 0}, (void *[]){&a, &b, &c, &n, NULL});
    for (int row = 0; row < n; row++)
        for (int col = 0; col < n; col++) {
            float sum = 0;
            for (int k = 0; k < n; k++)
                sum = fmaf(a[row * n + k], b[k * n + col], sum);
            near("matmul", (double)c[row * n + col], (double)sum, 1e-5);
        }
}

static void reduce(session *s)
{
    int n = 3001;
    int *in = buffer(s, 4 * 3001);
    long long *out = buffer(s, 8), sum = 0;
    for (int i = 0; i < n; i++)
        sum += in[i] = (int)(draw(s) << 8);
    run(s, "reduce", (shape){{3, 1, 1}, {160, 1, 1}, 0}, (void *[]){&in, &out, &n, NULL});
    assert_int_equal(*out, sum);
}

static void histogram(session *s)
{
    int n = 2500;
    unsigned char *data = buffer(s, 2500);
    unsigned *bins = buffer(s, 1024), wanted[256] = {0};
    for (int i = 0; i < n; i++)
        wanted[data[i] = (unsigned char)(draw(s) % 97 * (draw(s) % 3))]++;
    run(s, "histogram", (shape){{2, 1, 1}, {128, 1, 1}, 0}, (void *[]){&data, &bins, &n, NULL});
    assert_memory_equal(bins, wanted, sizeof wanted);
}

static void last_block(session *s)
{
    int *in = buffer(s, 4 * 320), *partial = buffer(s, 40), *out = buffer(s, 4), sum = 0;
    for (int i = 0; i < 320; i++)
        sum += in[i] = (int)(draw(s) % 1000);
    for (int again = 0; again < 2; again++) {
        *out = 0;
        run(s, "last_block", (shape){{10, 1, 1}, {32, 1, 1}, 0},
            (void *[]){&in, &partial, &out, NULL});
        assert_int_equal(*out, sum);
    }
}

static int collatz(int x)
{
    int steps = 0;
    for (; x != 1; steps++)
        x = x & 1 ? 3 * x + 1 : x / 2;
    return steps;
}

static int pick(int what, int x)
{
    switch (what) {
    case 0:
        return x + 1;
    case 1:
        return x * 3;
    case 2:
        return x ^ 0x55;
    case 3:
        return collatz(x + 1);
    case 4:
        return -x;
    case 5:
        return x >> 2;
    case 6:
        return __builtin_popcount((unsigned)x);
    default:
        return 1000;
    }
}

static void calls(session *s)
{
    int *out = buffer(s, 4 * 64);
    run(s, "calls", (shape){{1, 1, 1}, {64, 1, 1}, 0}, (void *[]){&out, NULL});
    for (int t = 0; t < 64; t++) {
        int stack[24];
        uint32_t top = 0;
        for (int i = 0; i < 24; i++)
            stack[(i * 7 + t) % 24] = pick((i + t) % 8, i * t);
        for (int i = 0; i < 24; i++)
            top = top * 31 + (uint32_t)stack[(i + t) % 24];
        assert_int_equal(out[t], (int)(top + 2u * (uint32_t)(t % 4) + 3));
    }
}

static void structs(session *s)
{
    double *out = buffer(s, 8 * 32);
    run(s, "structs", (shape){{1, 1, 1}, {32, 1, 1}, 0}, (void *[]){&out, NULL});
    for (int t = 0; t < 32; t++)
        assert_true(out[t] == t * 0.5 * (t + 3) + 'c' + t % 3);
}

static void pointers(session *s)
{
    int *which = buffer(s, 4 * 96), *out = buffer(s, 4 * 96);
    for (int t = 0; t < 96; t++)
        which[t] = (int)(draw(s) % 3);
    run(s, "pointers", (shape){{1, 1, 1}, {96, 1, 1}, 0}, (void *[]){&which, &out, NULL});
    for (int t = 0; t < 96; t++) {
        const int x = t + 5;
        assert_int_equal(out[t], which[t] == 0 ? 2 * x : which[t] == 1 ? x * x : -x);
    }
}

static void virtual_calls(session *s)
{
    int *out = buffer(s, 4 * 32);
    run(s, "virtual_calls", (shape){{1, 1, 1}, {32, 1, 1}, 0}, (void *[]){&out, NULL});
    for (int t = 0; t < 32; t++)
        assert_int_equal(out[t], t % 3 ? t * t : 3 * t);
}

static void stack_memory(session *s)
{
    int n = 9, *out = buffer(s, 4 * 40);
    run(s, "stack_memory", (shape){{1, 1, 1}, {40, 1, 1}, 0}, (void *[]){&out, &n, NULL});
    for (int t = 0; t < 40; t++) {
        int sum = 0;
        for (int i = n - 1; i >= 0; i--)
            sum = sum * 3 + i * t;
        assert_int_equal(out[t], sum);
    }
}

static void talk(session *s)
{
    int limit = 32;
    ptxgen_error err = {0};
    const shape at = {{1, 1, 1}, {32, 1, 1}, 0};
    run(s, "talk", at, (void *[]){&limit, NULL});
    assert_non_null(strstr(s->said, "block 0: text  2.50 1099511627776 x %"));
    limit = 20;
    assert_int_equal(try_run(s, "talk", &at, (void *[]){&limit, NULL}, &err), PTXGEN_EEMULATOR);
    assert_non_null(strstr(err.message, "threadIdx.x < limit"));
}

static void double_math(session *s)
{
    double *in = buffer(s, 8 * 64), *out = buffer(s, 8 * 64 * 8);
    for (int t = 0; t < 64; t++)
        in[t] = t == 0 ? 0 : (double)draw_float(s) * (t % 5 == 0 ? 1000 : 3) + 1e-9 * t;
    run(s, "double_math", (shape){{1, 1, 1}, {64, 1, 1}, 0}, (void *[]){&in, &out, NULL});
    for (int t = 0; t < 64; t++, out += 8) {
        const double x = in[t], huge = x > 709 ? HUGE_VAL : exp(x);
        near("sin", out[0], sin(x), 1e-15);
        if (isinf(huge))
            assert_true(isinf(out[1]));
        else
            near("exp", out[1], huge, 1e-15);
        near("log", out[2], log(fabs(x) + 1e-3), 1e-15);
        near("sqrt", out[3], sqrt(fabs(x)) / (1 + x * x), 1e-15);
        near("pow", out[4], pow(fabs(x) + 0.5, 1.7), 1e-15);
        assert_true(out[5] == fma(x, x, -1.0));
        near("rsqrt", out[6], 1 / sqrt(fabs(x) + 1), 1e-15);
        near("rint", out[7], rint(x * 10) + floor(x) + fmod(x, 0.7), 1e-15);
    }
}

static void float_math(session *s)
{
    float *in = buffer(s, 4 * 64), *out = buffer(s, 4 * 64 * 8);
    for (int t = 0; t < 64; t++)
        in[t] = t == 0 ? 0 : draw_float(s) * (t % 5 == 0 ? 40 : 3);
    run(s, "float_math", (shape){{1, 1, 1}, {64, 1, 1}, 0}, (void *[]){&in, &out, NULL});
    for (int t = 0; t < 64; t++, out += 8) {
        const double x = (double)in[t];
        near("sinf", (double)out[0], sin(x), 2e-7);
        near("expf", (double)out[1], exp(x), 4e-7);
        near("logf", (double)out[2], log(fabs(x) + 1e-3), 4e-7);
        near("tanhf", (double)out[3], tanh(x), 4e-7);
        near("powf", (double)out[4], pow(fabs(x) + 0.5, 1.7), 2e-6);
        near("erff", (double)out[5], erf(x), 4e-7);
        near("cbrtf", (double)out[6], cbrt(x), 4e-7);
        near("atan2f", (double)out[7], x / 3 + atan2(x, 2), 6e-7);
    }
}

static void mma(session *s)
{
    uint16_t *a = buffer(s, 2 * 256), *b = buffer(s, 2 * 128);
    float *d = buffer(s, 4 * 128);
    for (int i = 0; i < 256; i++)
        a[i] = pg_f16_from_double((int)(draw(s) % 17) - 8);
    for (int i = 0; i < 128; i++)
        b[i] = pg_f16_from_double((int)(draw(s) % 17) / 4.0 - 2);
    run(s, "mma", (shape){{1, 1, 1}, {32, 1, 1}, 0}, (void *[]){&a, &b, &d, NULL});
    for (int m = 0; m < 16; m++)
        for (int n = 0; n < 8; n++) {
            double sum = 0; /* exact: small integers, quarters */
            for (int k = 0; k < 16; k++)
                sum += f16(a[m * 16 + k]) * f16(b[n * 16 + k]);
            assert_true((double)d[m * 8 + n] == sum);
        }
}

/* ---- library.cu ---- */

static void scan(session *s)
{
    int *in = buffer(s, 4 * 1024), *out = buffer(s, 4 * 1024), sum = 0;
    for (int i = 0; i < 1024; i++)
        in[i] = (int)(draw(s) % 2001) - 1000;
    run(s, "scan", (shape){{2, 1, 1}, {128, 1, 1}, 0}, (void *[]){&in, &out, NULL});
    for (int i = 0; i < 1024; i++) {
        sum = i % 512 ? sum + in[i - 1] : 0;
        assert_int_equal(out[i], sum);
    }
}

static int by_key(const void *a, const void *b)
{
    const unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;
    return x < y ? -1 : x > y;
}

static void sort(session *s)
{
    unsigned *keys = buffer(s, 4 * 512), wanted[512];
    for (int i = 0; i < 512; i++)
        keys[i] = draw(s) << 8 ^ draw(s);
    memcpy(wanted, keys, sizeof wanted);
    qsort(wanted, 512, sizeof *wanted, by_key);
    run(s, "sort", (shape){{1, 1, 1}, {128, 1, 1}, 0}, (void *[]){&keys, NULL});
    assert_memory_equal(keys, wanted, sizeof wanted);
}

static void half_math(session *s)
{
    enum { N = 64 };
    uint16_t *a = buffer(s, 4 * N), *b = buffer(s, 4 * N), *out = buffer(s, 4 * 5 * N);
    for (int i = 0; i < 2 * N; i++) { /* eighths: sums and products are exact as float */
        a[i] = pg_f16_from_double((int)(draw(s) % 401) / 8.0 - 25);
        b[i] = pg_f16_from_double((int)(draw(s) % 401) / 8.0 - 25);
    }
    run(s, "half_math", (shape){{1, 1, 1}, {N, 1, 1}, 0}, (void *[]){&a, &b, &out, NULL});
    for (int t = 0; t < N; t++, out += 10)
        for (int h = 0; h < 2; h++) {
            const double x = f16(a[2 * t + h]), y = f16(b[2 * t + h]), z = f16(b[2 * t + 1 - h]);
            const double product = x * y;
            assert_int_equal(out[h], pg_f16_from_double(product + 0.25));
            assert_int_equal(out[2 + h], pg_f16_from_double(product < 0   ? 0
                                                            : product > 1 ? 1
                                                                          : product) &
                                             0x7fff);
            assert_true(f16(out[4 + h]) == (x > -y ? x : -y));
            assert_true(f16(out[6 + h]) == f16(pg_f16_from_double(x - z)));
        }
}

static void half_choice(session *s)
{
    enum { N = 32 };
    uint16_t *a = buffer(s, 4 * N), *b = buffer(s, 4 * N), *out = buffer(s, 4 * 5 * N);
    for (int i = 0; i < 2 * N; i++) {
        a[i] = pg_f16_from_double((double)draw_float(s));
        b[i] = pg_f16_from_double((double)draw_float(s));
    }
    run(s, "half_math", (shape){{1, 1, 1}, {N, 1, 1}, 0}, (void *[]){&a, &b, &out, NULL});
    for (int t = 0; t < N; t++) {
        assert_int_equal(out[10 * t + 8], f16(a[2 * t]) < f16(b[2 * t]) ? a[2 * t] : b[2 * t + 1]);
        assert_int_equal(out[10 * t + 9], pg_f16_from_double(pg_bf16_to_double(
                                              pg_bf16_from_double(f16(a[2 * t + 1])))));
    }
}

static void half_predicates(session *s)
{
    enum { N = 64 };
    uint16_t *a = buffer(s, 4 * N), *b = buffer(s, 4 * N);
    uint32_t *out = buffer(s, 4 * N);
    for (int i = 0; i < 2 * N; i++) {
        a[i] = pg_f16_from_double(draw(s) % 3);
        b[i] = draw(s) % 9 ? pg_f16_from_double(draw(s) % 3) : 0x7e00;
    }
    run(s, "half_predicates", (shape){{1, 1, 1}, {N, 1, 1}, 0}, (void *[]){&a, &b, &out, NULL});
    for (int t = 0; t < N; t++) {
        const double x = f16(a[2 * t]), y = f16(b[2 * t]), u = f16(a[2 * t + 1]),
                     v = f16(b[2 * t + 1]);
        const uint32_t mask = (x > y ? 0xffffu : 0) | (u > v ? 0xffff0000u : 0);
        assert_int_equal(out[t], (uint32_t)(x == y && u == v) | (uint32_t)(x <= y && u <= v) << 1 |
                                     mask << 2);
    }
}

static void fp8(session *s)
{
    static const float wanted[][3] = {/* value, e4m3, e5m2 */
                                      {0, 0, 0},
                                      {1.3f, 1.25f, 1.25f},
                                      {-1.1f, -1.125f, -1},
                                      {500, 448, 512},
                                      {0.013f, 0.013671875f, 0.013671875f},
                                      {17, 16, 16},
                                      {19, 20, 20},
                                      {60000, 448, 57344},
                                      {1e-9f, 0, 0},
                                      {-240, -240, -256}};
    enum { N = sizeof wanted / sizeof *wanted };
    float *in = buffer(s, 4 * N), *out = buffer(s, 8 * N);
    for (int t = 0; t < N; t++)
        in[t] = wanted[t][0];
    run(s, "fp8", (shape){{1, 1, 1}, {N, 1, 1}, 0}, (void *[]){&in, &out, NULL});
    for (int t = 0; t < N; t++) {
        near("e4m3", (double)out[2 * t], (double)wanted[t][1], 0);
        near("e5m2", (double)out[2 * t + 1], (double)wanted[t][2], 0);
    }
}

static void warp_matrix(session *s)
{
    uint16_t *a = buffer(s, 2 * 256), *b = buffer(s, 2 * 256);
    float *c = buffer(s, 4 * 256), *d = buffer(s, 4 * 256);
    for (int i = 0; i < 256; i++) {
        a[i] = pg_f16_from_double((int)(draw(s) % 17) - 8);
        b[i] = pg_f16_from_double((int)(draw(s) % 17) / 4.0 - 2);
        c[i] = (float)(draw(s) % 100);
    }
    run(s, "warp_matrix", (shape){{1, 1, 1}, {32, 1, 1}, 0}, (void *[]){&a, &b, &c, &d, NULL});
    for (int m = 0; m < 16; m++)
        for (int n = 0; n < 16; n++) {
            double sum = (double)c[m * 16 + n];
            for (int k = 0; k < 16; k++)
                sum += f16(a[m * 16 + k]) * f16(b[n * 16 + k]);
            assert_true((double)d[m * 16 + n] == sum);
        }
}

static void pipeline(session *s)
{
    int steps = 9;
    float *in = buffer(s, 16 * 64 * 9), *out = buffer(s, 4 * 64);
    for (int i = 0; i < 4 * 64 * 9; i++)
        in[i] = (float)(draw(s) % 1000);
    run(s, "pipeline", (shape){{1, 1, 1}, {64, 1, 1}, 0}, (void *[]){&in, &out, &steps, NULL});
    for (int t = 0; t < 64; t++) {
        float sum = 0; /* integers: exact */
        for (int i = 0; i < steps; i++)
            for (int k = 0; k < 4; k++)
                sum += (float)(k + 1) * in[(i * 64 + 63 - t) * 4 + k];
        assert_true(out[t] == sum);
    }
}

static void cluster_ring(session *s)
{
    int *in = buffer(s, 4 * 256), *out = buffer(s, 4 * 256);
    for (int i = 0; i < 256; i++)
        in[i] = (int)(draw(s) % 1000);
    run(s, "cluster_ring", (shape){{8, 1, 1}, {32, 1, 1}, 4}, (void *[]){&in, &out, NULL});
    for (int i = 0; i < 256; i++) {
        const int block = i / 32, next = block / 4 * 4 + (block + 1) % 4;
        assert_int_equal(out[i], in[i] * 1000 + in[next * 32 + 31 - i % 32]);
    }
}

static void groups(session *s)
{
    int *in = buffer(s, 4 * 64), *out = buffer(s, 4 * 64);
    for (int i = 0; i < 64; i++)
        in[i] = (int)(draw(s) % 100);
    run(s, "groups", (shape){{1, 1, 1}, {64, 1, 1}, 0}, (void *[]){&in, &out, NULL});
    for (int i = 0; i < 64; i++) {
        int sum = 0, rank = 0, odd = 0, big = 0;
        for (int k = i / 8 * 8; k < i / 8 * 8 + 8; k++) {
            sum += in[k];
            big |= in[k] > 90;
        }
        for (int k = i / 32 * 32; k < i / 32 * 32 + 32; k++) {
            odd += in[k] & 1;
            rank += (in[k] & 1) && k < i;
        }
        assert_int_equal(out[i],
                         sum + (in[i] & 1 ? 100 * rank + 10000 * odd : 0) + (big ? 1000000 : 0));
    }
}

/* ---- tensor.cu ---- */

static void double_tiles(session *s)
{
    enum { COLUMNS = 64, ROWS = 36 }; /* the last box is clipped */
    int tiles = 5;
    float *in = buffer(s, 4 * COLUMNS * ROWS), *out = buffer(s, 4 * COLUMNS * ROWS),
          *sum = buffer(s, 4), total = 0;
    char from[128] __attribute__((aligned(64))), to[128] __attribute__((aligned(64)));
    ptxgen_error err = {0};
    for (int i = 0; i < COLUMNS * ROWS; i++)
        total += 2 * (in[i] = (float)(draw(s) % 100));
    ptxgen_emulator_tensor_map map = {.size = sizeof map,
                                      .data_type = 7,
                                      .rank = 2,
                                      .address = in,
                                      .dims = {COLUMNS, ROWS},
                                      .strides = {4 * COLUMNS},
                                      .box = {32, 8}};
    assert_int_equal(ptxgen_emulator_encode_tensor_map(&map, from, &err), PTXGEN_OK);
    map.address = out;
    assert_int_equal(ptxgen_emulator_encode_tensor_map(&map, to, &err), PTXGEN_OK);
    run(s, "double_tiles", (shape){{2, 1, 1}, {256, 1, 1}, 0},
        (void *[]){from, to, &sum, &tiles, NULL});
    for (int i = 0; i < COLUMNS * ROWS; i++)
        assert_true(out[i] == 2 * in[i]);
    assert_true(*sum == total);
}

/* ---- all of them ---- */

typedef struct kernel {
    const char *source;
    void (*test)(session *);
} kernel;

/* ---- runtime.cu ---- */

static void grid_steps(session *s)
{
    int n = 700, steps = 3, want[700], half[700];
    int *a = buffer(s, 4 * 700), *b = buffer(s, 4 * 700);
    for (int i = 0; i < n; i++)
        want[i] = a[i] = (int)(draw(s) % 1000);
    for (int step = 0; step < steps; step++) {
        for (int i = 0; i < n; i++)
            half[i] = want[(i + 17) % n] + want[n - 1 - i] + step;
        for (int i = 0; i < n; i++)
            want[i] = half[n - 1 - i] ^ step;
    }
    void *args[] = {&a, &b, &n, &steps, NULL};
    s->cooperative = true;
    run(s, "grid_steps", (shape){{5, 1, 1}, {64, 1, 1}, 0}, args);
    assert_memory_equal(a, want, sizeof want);
    /* Launched plainly, cooperative groups has no workspace and traps, as on a GPU. */
    s->cooperative = false;
    ptxgen_error err = {0};
    const shape plain = {{5, 1, 1}, {64, 1, 1}, 0};
    assert_int_equal(try_run(s, "grid_steps", &plain, args, &err), PTXGEN_EEMULATOR);
}

static void device_heap(session *s)
{
    int n = 9;
    void **lists = buffer(s, 8 * 96);
    int *sums = buffer(s, 4 * 96);
    long long *got = buffer(s, 32);
    const shape at = {{3, 1, 1}, {32, 1, 1}, 0};
    for (int again = 0; again < 2; again++) {
        run(s, "build_lists", at, (void *[]){&lists, &n, NULL});
        run(s, "free_lists", at, (void *[]){&lists, &sums, NULL});
        for (int t = 0; t < 96; t++) {
            int sum = 0;
            for (int i = n - 1; i >= 0; i--)
                sum = sum * 3 + t * 100 + i;
            assert_int_equal(sums[t], sum);
        }
    }
    run(s, "exhaust", (shape){{1, 1, 1}, {1, 1, 1}, 0}, (void *[]){&got, NULL});
    assert_true(got[0] == 1 && got[1] == 0 && got[2] == 1 && got[3] == 0);
    ptxgen_error err = {0};
    const shape one = {{1, 1, 1}, {1, 1, 1}, 0};
    assert_int_equal(try_run(s, "free_twice", &one, (void *[]){NULL}, &err), PTXGEN_EEMULATOR);
    assert_non_null(strstr(err.message, "freed before"));
}

static void by_address(session *s)
{
    struct {
        int v[24];
    } table;
    int *out = buffer(s, 4 * 64);
    for (int i = 0; i < 24; i++)
        table.v[i] = (int)draw(s);
    run(s, "by_address", (shape){{1, 1, 1}, {64, 1, 1}, 0}, (void *[]){&table, &out, NULL});
    for (int t = 0; t < 64; t++)
        assert_int_equal(out[t], (int)((unsigned)table.v[t * 7 % 24] * 2));
}

static const kernel kernels[] = {
    {"language.cu", matmul},      {"language.cu", reduce},        {"language.cu", histogram},
    {"language.cu", last_block},  {"language.cu", calls},         {"language.cu", structs},
    {"language.cu", pointers},    {"language.cu", virtual_calls}, {"language.cu", stack_memory},
    {"language.cu", talk},        {"language.cu", double_math},   {"language.cu", float_math},
    {"language.cu", mma},         {"library.cu", scan},           {"library.cu", sort},
    {"library.cu", half_math},    {"library.cu", half_choice},    {"library.cu", half_predicates},
    {"library.cu", fp8},          {"library.cu", warp_matrix},    {"library.cu", pipeline},
    {"library.cu", cluster_ring}, {"library.cu", groups},         {"tensor.cu", double_tiles},
    {"runtime.cu", grid_steps},   {"runtime.cu", device_heap},    {"runtime.cu", by_address},
};

static char *compile(const char *source, const char *option, size_t *length)
{
    enum { ROOM = 8 << 20 };
    char command[4096];
    snprintf(command, sizeof command,
             "nvcc -std=c++17 -arch=sm_90a %s -ptx -o - " PTXGEN_SOURCE_DIR
             "/tests/emulator/cuda/%s 2>/dev/null",
             option, source);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    char *text = malloc(ROOM);
    *length = fread(text, 1, ROOM, pipe);
    assert_int_equal(pclose(pipe), 0);
    assert_true(*length > 1000 && *length < ROOM);
    return text;
}

static void run_all(const char *source, const char *option)
{
    size_t length;
    char *ptx = compile(source, option, &length);
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        for (int check = 0; check < 2 && strcmp(kernels[i].source, source) == 0; check++) {
            session s;
            open_session(&s, ptx, length, check != 0);
            kernels[i].test(&s);
            close_session(&s);
        }
    free(ptx);
}

static void language(void **state)
{
    (void)state;
    run_all("language.cu", "");
    run_all("language.cu", "-G");
}

static void library(void **state)
{
    (void)state;
    run_all("library.cu", "");
    run_all("library.cu", "-G");
}

static void runtime(void **state)
{
    (void)state;
    run_all("runtime.cu", "");
    run_all("runtime.cu", "-G");
}

static void tensor(void **state)
{
    (void)state;
    run_all("tensor.cu", "");
    run_all("tensor.cu", "-G");
}

int main(void)
{
    if (system("nvcc --version > /dev/null 2>&1") != 0) {
        puts("no nvcc here: skipped");
        return TEST_SKIPPED;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(language),
        cmocka_unit_test(library),
        cmocka_unit_test(runtime),
        cmocka_unit_test(tensor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
