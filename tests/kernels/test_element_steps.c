/* Activations as PTX against plain C in double, as accurate as common/activation.h says; and a
 * matrix multiplication of each, which must hold no more calls than the bare one. */
#include "test.h"

#include "common/activation.h"
#include "ptxgen/emulator.h"
#include "ptxgen/inspect.h"
#include "ptxgen/matmul.h"

#include <math.h>

enum { COUNT = 8192, A_FEW = 16 }; /* bytes that ptxas spills to have more at work at a time */

/* y[i] = activation(x[i]), a thread each. */
static void write_kernel(pg_emit *E, pg_activation activation)
{
    static const char head[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                               ".visible .entry k(.param .u64 x_)\n{\n"
                               "    .reg .b32 %thread, %cta, %value, %row, %column;\n"
                               "    .reg .b64 %address;\n"
                               "    mov.u32 %thread, %tid.x;\n    mov.u32 %cta, %ctaid.x;\n"
                               "    mad.lo.u32 %thread, %cta, 256, %thread;\n"
                               "    ld.param.u64 %address, [x_];\n"
                               "    mad.wide.u32 %address, %thread, 4, %address;\n"
                               "    ld.global.b32 %value, [%address];\n";
    static const char tail[] = "    st.global.b32 [%address], %value;\n    ret;\n}\n";
    static const char bounds[] = "    .reg .f32 %low_bound, %high_bound;\n"
                                 "    mov.f32 %low_bound, 0fC0000000;\n"
                                 "    mov.f32 %high_bound, 0f40000000;\n"
                                 "    mov.b32 %x, %value;\n";
    static const char back[] = "    mov.b32 %value, %x;\n";
    pg_lit(E, head, sizeof head - 1);
    pg_activation_registers(E);
    pg_lit(E, bounds, sizeof bounds - 1);
    pg_emit_activation(E, activation);
    pg_lit(E, back, sizeof back - 1);
    pg_lit(E, tail, sizeof tail - 1);
}

static void run(const pg_emit *E, float *x)
{
    ptxgen_error err = {0};
    ptxgen_emulator *emu;
    ptxgen_emulator_module *module;
    ptxgen_emulator_entry *entry;
    const ptxgen_emulator_config config = {.size = sizeof config, .threads = 1};
    assert_int_equal(ptxgen_emulator_create(&config, &emu, &err), PTXGEN_OK);
    if (ptxgen_emulator_load(emu, E->text.data, E->text.len, "activation", &module, &err) !=
        PTXGEN_OK)
        fail_msg("%s\n%s", err.message, E->text.data);
    assert_int_equal(ptxgen_emulator_find(module, NULL, &entry, &err), PTXGEN_OK);
    ptxgen_emulator_add_buffer(emu, "x", x, COUNT * sizeof *x, PTXGEN_EMULATOR_WRITABLE, &err);
    const ptxgen_emulator_launch launch = {.size = sizeof launch,
                                           .grid = {COUNT / 256, 1, 1},
                                           .block = {256, 1, 1},
                                           .args = (void *[]){&x},
                                           .arg_count = 1};
    assert_int_equal(ptxgen_emulator_run(entry, &launch, &err), PTXGEN_OK);
    ptxgen_emulator_unload(module);
    ptxgen_emulator_destroy(emu);
}

/* Zeros, tiny and huge values, and a dense grid where the functions bend. */
static float input(int i)
{
    static const float special[] = {0,     -0.0f,  1e-30f, -1e-30f, 100, -100,
                                    88.7f, -88.8f, 1e-4f,  -1e-4f,  12,  -12};
    if (i < 12)
        return special[i];
    return i % 4 == 0 ? (float)(i - COUNT / 2) / 41.0f : (float)(i - COUNT / 2) / 512.0f;
}

static void accurate(void **state)
{
    static const struct {
        pg_activation activation;
        double absolute, relative;
    } limits[] = {
        {PG_ACTIVATION_RELU, 0, 0},
        {PG_ACTIVATION_SQUARED_RELU, 0x1p-149, 0x1p-23},
        {PG_ACTIVATION_GELU_TANH, 1e-6, 1e-6},
        {PG_ACTIVATION_GELU_ERF, 6e-7, 1e-6},
        {PG_ACTIVATION_SILU, 1e-6, 1e-6},
        {PG_ACTIVATION_SIGMOID, 3e-7, 0},
        {PG_ACTIVATION_TANH, 6e-7, 0},
        {PG_ACTIVATION_CLAMP, 0, 0},
    };
    float *x = malloc(COUNT * sizeof *x);
    (void)state;
    assert_int_equal(sizeof limits / sizeof *limits, PG_ACTIVATIONS - 1);
    for (size_t a = 0; a < sizeof limits / sizeof *limits; a++) {
        pg_emit E;
        double worst = 0;
        for (int i = 0; i < COUNT; i++)
            x[i] = input(i);
        pg_emit_init(&E, &pg_alloc_libc);
        write_kernel(&E, limits[a].activation);
        run(&E, x);
        pg_emit_fini(&E);
        for (int i = 0; i < COUNT; i++) {
            const double want = pg_activate(limits[a].activation, (double)input(i), -2, 2);
            const double error = fabs((double)x[i] - want),
                         limit = limits[a].absolute + limits[a].relative * fabs(want);
            worst = error > worst ? error : worst;
            if (!(error <= limit))
                fail_msg("%s(%.9g) is %.9g, not %.9g: off by %.3g, allowed %.3g",
                         pg_activation_words[limits[a].activation], (double)input(i), (double)x[i],
                         want, error, limit);
        }
        printf("%-14s worst error %.3g\n", pg_activation_words[limits[a].activation], worst);
    }
    free(x);
}

static void nan_and_infinity(void **state)
{
    (void)state;
    for (int a = PG_ACTIVATION_RELU; a < PG_ACTIVATIONS; a++) {
        float *x = calloc(COUNT, sizeof *x);
        pg_emit E;
        x[0] = NAN;
        x[1] = INFINITY;
        pg_emit_init(&E, &pg_alloc_libc);
        write_kernel(&E, (pg_activation)a);
        run(&E, x);
        pg_emit_fini(&E);
        assert_true(isnan(x[0]));
        assert_true(x[1] == (a == PG_ACTIVATION_SIGMOID || a == PG_ACTIVATION_TANH ? 1.0f
                             : a == PG_ACTIVATION_CLAMP                            ? 2.0f
                                                                                   : INFINITY));
        free(x);
    }
}

/* ---- in kernels ---- */

static int calls_of(ptxgen *ctx, const char *family, const char *params)
{
    ptxgen_error err = {0};
    ptxgen_kernel *k;
    ptxgen_kernel_info info = {.size = sizeof info};
    ptxgen_cubin_kernel c = {.size = sizeof c};
    const ptxgen_status status = ptxgen_compile(ctx, family, params, &k, &err);
    if (status == PTXGEN_EMISSING)
        return -1;
    if (status != PTXGEN_OK)
        fail_msg("%s %s: %s", family, params, err.message);
    ptxgen_kernel_describe(k, &info);
    assert_true(ptxgen_cubin_kernel_at(info.cubin, info.cubin_size, 0, &c));
    if (info.spill_bytes > A_FEW || info.local_bytes > A_FEW)
        fail_msg("%s %s: %lld bytes spilled, %lld of local memory", family, params,
                 (long long)info.spill_bytes, (long long)info.local_bytes);
    ptxgen_kernel_unref(k);
    return c.calls;
}

/* ptxas puts three calls of its own into kernels for Blackwell, none into others. */
static void no_calls(void **state)
{
    static const char all[] = " gate=yes with_row_scale=yes with_col_scale=yes with_bias=row_f32 "
                              "with_residual=matrix_bf16 with_aux=bf16 with_amax=yes "
                              "with_d_scale=yes";
    static const struct {
        const char *family, *params, *results;
        int own;
    } kernels[] = {{"matmul_accumulate", "arch=sm_90a", " d_dtype=e4m3", 0},
                   {"matmul_accumulate", "arch=sm_80", " d_dtype=bf16", 0},
                   {"matmul_accumulate", "arch=sm_100a", " d_dtype=bf16", 3},
                   {"matmul_scaled", "arch=sm_100a", " out=e5m2", 3}};
    ptxgen *ctx;
    ptxgen_error err = {0};
    char params[400];
    const ptxgen_config config = {.size = sizeof config, .cache_dir = ""};
    (void)state;
    assert_int_equal(ptxgen_create(&config, &ctx, &err), PTXGEN_OK);
    for (size_t f = 0; f < sizeof kernels / sizeof *kernels; f++) {
        const int bare = calls_of(ctx, kernels[f].family, kernels[f].params);
        if (bare > kernels[f].own)
            fail_msg("the bare kernel of %s holds %d calls", kernels[f].params, bare);
        for (int a = PG_ACTIVATION_RELU; a < PG_ACTIVATIONS && bare >= 0; a++) {
            snprintf(params, sizeof params, "%s epilogue=%s%s%s", kernels[f].params,
                     pg_activation_words[a], a % 2 ? "" : all, a % 2 ? "" : kernels[f].results);
            assert_int_equal(calls_of(ctx, kernels[f].family, params), bare);
        }
    }
    ptxgen_destroy(ctx);
}

/* The whole kernel on the emulator, against its oracle. */
static void in_a_matmul(void **state)
{
    enum { M = 70, N = 96, K = 64 };
    ptxgen *ctx;
    ptxgen_error err = {0};
    const ptxgen_config config = {
        .size = sizeof config, .device = PTXGEN_DEVICE_EMULATOR, .cache_dir = ""};
    uint16_t *a = aligned_alloc(64, 2 * M * K), *b = aligned_alloc(64, 2 * K * N);
    float *d = aligned_alloc(64, 4 * M * N), *want = aligned_alloc(64, 4 * M * N),
          *c = aligned_alloc(64, 4 * M * N);
    (void)state;
    for (int i = 0; i < M * K; i++)
        a[i] = (uint16_t)(0x3800 + i * 37 % 64 * 8 + (i % 3 ? 0x8000 : 0)); /* around a half */
    for (int i = 0; i < K * N; i++)
        b[i] = (uint16_t)(0x3000 + i * 41 % 64 * 8 + (i % 2 ? 0x8000 : 0));
    for (int i = 0; i < M * N; i++)
        c[i] = (float)(i % 17) / 8 - 1;
    assert_int_equal(ptxgen_create(&config, &ctx, &err), PTXGEN_OK);
    for (int e = PTXGEN_EPILOGUE_NONE; e <= PTXGEN_EPILOGUE_TANH; e++) {
        ptxgen_kernel *k;
        ptxgen_matmul_accumulate_args x = {.size = sizeof x,
                                           .dtype = PTXGEN_F16,
                                           .m = M,
                                           .n = N,
                                           .k = K,
                                           .a = a,
                                           .b = b,
                                           .c = c,
                                           .d = want,
                                           .epilogue = (ptxgen_epilogue)e};
        char params[100];
        assert_int_equal(ptxgen_matmul_accumulate_oracle(&x, &err), PTXGEN_OK);
        x.d = d;
        snprintf(params, sizeof params, "arch=sm_100a epilogue=%s", pg_activation_words[e]);
        if (ptxgen_get(ctx, "matmul_accumulate", params, NULL, &k, &err) != PTXGEN_OK ||
            ptxgen_matmul_accumulate_launch(k, &x, NULL, &err) != PTXGEN_OK)
            fail_msg("%s: %s", params, err.message);
        for (int i = 0; i < M * N; i++)
            if (!(fabsf(d[i] - want[i]) <= 1e-5f + 1e-5f * fabsf(want[i])))
                fail_msg("%s: element %d is %g, not %g", params, i, (double)d[i], (double)want[i]);
        ptxgen_kernel_unref(k);
    }
    ptxgen_destroy(ctx);
    free(a), free(b), free(c), free(d), free(want);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(accurate),
                                       cmocka_unit_test(nan_and_infinity),
                                       cmocka_unit_test(no_calls), cmocka_unit_test(in_a_matmul)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
