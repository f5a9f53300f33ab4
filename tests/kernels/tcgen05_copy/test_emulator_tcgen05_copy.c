/* tcgen05_copy on the emulator against the oracle, bit for bit: the reference test's whole grid of
 * shapes through the public call, and single kernels in checking mode over seeds of order=isa.
 *
 *     test_emulator_tcgen05_copy [SEEDS (3)]      seeds per kernel of the second part */
#include "emulated_call.h"

#include "ptxgen/matmul.h"

enum { GUARD = 0xA5 };

static ptxgen *device, *emitter;
static uint64_t seeds = 3;

/* A problem and its memory: `out` between guards. */
typedef struct copy_case {
    ptxgen_tcgen05_copy_args args;
    uint32_t *in, *out, *want;
    size_t in_bytes, out_bytes;
} copy_case;

static uint32_t random_state = 5;

static uint32_t next_word(void)
{
    random_state = random_state * 1664525u + 1013904223u;
    return random_state ^
           random_state >> 15; /* NaNs and infinities among them: a copy minds nothing */
}

static void *allocate(size_t bytes)
{
    void *p = aligned_alloc(256, (bytes + 255) / 256 * 256);
    assert_non_null(p);
    return memset(p, GUARD, bytes);
}

static void make_case(copy_case *c, const ptxgen_tcgen05_copy_args *args)
{
    c->args = *args;
    c->args.size = sizeof c->args;
    c->in_bytes = (size_t)(args->m * args->in_stride) * sizeof *c->in;
    c->out_bytes = (size_t)(args->m * args->out_stride) * sizeof *c->out;
    c->in = allocate(c->in_bytes);
    c->out = allocate(c->out_bytes);
    c->want = allocate(c->out_bytes);
    for (size_t i = 0; i < c->in_bytes / sizeof *c->in; i++)
        c->in[i] = next_word();
    c->args.in = c->in;
    c->args.out = c->want;
    assert_int_equal(ptxgen_tcgen05_copy_oracle(&c->args, NULL), PTXGEN_OK);
    c->args.out = c->out;
}

static void compare_and_free(copy_case *c)
{
    for (size_t i = 0; i < c->out_bytes / sizeof *c->out; i++)
        if (c->out[i] != c->want[i])
            fail_msg("m=%lld n=%lld block=%lld swizzle=%lld: out[%lld, %lld] is %08x, not %08x",
                     (long long)c->args.m, (long long)c->args.n, (long long)c->args.block,
                     (long long)c->args.swizzle, (long long)i / (long long)c->args.out_stride,
                     (long long)i % (long long)c->args.out_stride, c->out[i], c->want[i]);
    free(c->in);
    free(c->out);
    free(c->want);
}

static void run_on_device(const ptxgen_tcgen05_copy_args *args)
{
    copy_case c;
    ptxgen_error err = {0};
    make_case(&c, args);
    if (ptxgen_tcgen05_copy(device, &c.args, NULL, &err) != PTXGEN_OK)
        fail_msg("m=%lld n=%lld block=%lld swizzle=%lld: %s", (long long)args->m,
                 (long long)args->n, (long long)args->block, (long long)args->swizzle, err.message);
    compare_and_free(&c);
}

static bool is_skipped_by_the_reference(const ptxgen_tcgen05_copy_args *a)
{
    return a->n < a->block || a->m * a->n * 4 > 228 * 1024 ||
           (a->m == 256 && a->swizzle / a->block >= 8) || a->n < a->swizzle / 4;
}

static void the_whole_reference_grid(void **state)
{
    (void)state;
    int cases = 0;
    for (int64_t block = 1; block <= 256; block *= 2)
        for (int64_t m = 128; m <= 256; m *= 2)
            for (int64_t n = 16; n <= 256; n *= 2)
                for (int64_t swizzle = 32; swizzle <= 128; swizzle *= 2) {
                    const ptxgen_tcgen05_copy_args a = {.dtype = PTXGEN_F32,
                                                        .m = m,
                                                        .n = n,
                                                        .block = block,
                                                        .swizzle = swizzle,
                                                        .in_stride = n,
                                                        .out_stride = n};
                    if (is_skipped_by_the_reference(&a))
                        continue;
                    run_on_device(&a);
                    cases++;
                }
    assert_int_equal(cases, 130);
}

/* Row strides, the other types, more rows than the reference, sizes that the library chooses. */
static const ptxgen_tcgen05_copy_args odd_cases[] = {
    {.dtype = PTXGEN_U32, .m = 128, .n = 16, .in_stride = 20, .out_stride = 36},
    {.dtype = PTXGEN_S32, .m = 128, .n = 256, .in_stride = 260, .out_stride = 256},
    {.dtype = PTXGEN_F32, .m = 256, .n = 64, .in_stride = 64, .out_stride = 500},
    {.dtype = PTXGEN_U32,
     .m = 512,
     .n = 16,
     .block = 8,
     .swizzle = 32,
     .in_stride = 44,
     .out_stride = 16},
    {.dtype = PTXGEN_S32,
     .m = 512,
     .n = 64,
     .block = 32,
     .swizzle = 128,
     .in_stride = 128,
     .out_stride = 68},
    {.dtype = PTXGEN_F32,
     .m = 512,
     .n = 64,
     .block = 64,
     .swizzle = 32,
     .in_stride = 64,
     .out_stride = 64},
    {.dtype = PTXGEN_F32,
     .m = 256,
     .n = 128,
     .block = 16,
     .swizzle = 64,
     .in_stride = 132,
     .out_stride = 140},
};
enum { ODD_CASES = sizeof odd_cases / sizeof *odd_cases };

static void strides_types_and_more_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < ODD_CASES; i++)
        run_on_device(&odd_cases[i]);
}

static void add_number(char *text, size_t size, const char *name, int64_t value)
{
    const size_t used = strlen(text);
    if (value)
        snprintf(text + used, size - used, "%s%s=%lld", used ? " " : "", name, (long long)value);
}

static void right_and_silent_in_any_order(void **state)
{
    (void)state;
    for (size_t i = 0; i < ODD_CASES; i++)
        for (uint64_t seed = 0; seed <= seeds; seed++) {
            copy_case c;
            char params[128] = "";
            make_case(&c, &odd_cases[i]);
            add_number(params, sizeof params, "m", c.args.m);
            add_number(params, sizeof params, "n", c.args.n);
            add_number(params, sizeof params, "block", c.args.block);
            add_number(params, sizeof params, "swizzle", c.args.swizzle);
            const emulated_buffer buffers[] = {{"in", c.in, c.in_bytes, false},
                                               {"out", c.out, c.out_bytes, true}};
            const emulated_call call = {.family = "tcgen05_copy",
                                        .params = params,
                                        .args = &c.args,
                                        .buffers = buffers,
                                        .buffer_count = 2,
                                        .sm_count = 1,
                                        .check = true,
                                        .isa_seed = seed};
            emulate_call(emitter, &call);
            compare_and_free(&c);
        }
}

int main(int argc, char **argv)
{
    const ptxgen_config on_emulator = {
        .size = sizeof on_emulator, .device = PTXGEN_DEVICE_EMULATOR, .cache_dir = ""};
    const ptxgen_config no_device = {.size = sizeof no_device, .cache_dir = ""};
    ptxgen_error err;
    if (argc > 1)
        seeds = strtoull(argv[1], NULL, 10);
    if (ptxgen_create(&on_emulator, &device, &err) != PTXGEN_OK ||
        ptxgen_create(&no_device, &emitter, &err) != PTXGEN_OK) {
        printf("%s\n", err.message);
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_whole_reference_grid),
        cmocka_unit_test(strides_types_and_more_rows),
        cmocka_unit_test(right_and_silent_in_any_order),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ptxgen_destroy(device);
    ptxgen_destroy(emitter);
    return failed;
}
