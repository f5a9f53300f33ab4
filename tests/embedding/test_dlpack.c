/* Calls on DLPack's tensors, on the emulator: the layouts that producers give are taken as they
 * are, and each refusal names its argument and leaves the result alone. */
#include "test.h"

#include "ptxgen/dlpack.h"

#include "scaled_case.h"

enum { CPU = 1, CUDA = 2, INT = 0, UINT = 1, FLOAT = 2, E4M3 = 10, E8M0 = 14, E2M1 = 17 };
enum { ROWS = 6, OUT_ROWS = 4, N = 8, WIDE = 12 };

static ptxgen *ctx;

static int make_context(void **state)
{
    (void)state;
    const ptxgen_config config = {
        .size = sizeof config, .device = PTXGEN_DEVICE_EMULATOR, .cache = PTXGEN_CACHE_OFF};
    return ptxgen_create(&config, &ctx, NULL) != PTXGEN_OK;
}

static int destroy_context(void **state)
{
    (void)state;
    ptxgen_destroy(ctx);
    return 0;
}

static ptxgen_dl_tensor tensor(void *data, int code, int bits, int rank, int64_t *shape)
{
    return (ptxgen_dl_tensor){.data = data,
                              .device = {.device_type = CPU},
                              .ndim = rank,
                              .dtype = {(uint8_t)code, (uint8_t)bits, 1},
                              .shape = shape};
}

/* A scatter_add whose out lies in the middle of wider rows, behind a byte offset. */
typedef struct scatter {
    float out[(OUT_ROWS + 1) * WIDE], before[(OUT_ROWS + 1) * WIDE], src[ROWS * N], weight[ROWS];
    int64_t index[ROWS];
    int64_t out_shape[2], src_shape[2], index_shape[1], out_strides[2];
    ptxgen_dl_tensor t[3];
    ptxgen_dlpack arg[3];
} scatter;

static void make_scatter(scatter *s)
{
    static const int64_t index[ROWS] = {3, 0, 3, 1, 0, 3};
    for (int i = 0; i < (OUT_ROWS + 1) * WIDE; i++)
        s->out[i] = s->before[i] = (float)(i % 7);
    for (int i = 0; i < ROWS * N; i++)
        s->src[i] = (float)(i % 11 - 5);
    for (int i = 0; i < ROWS; i++)
        s->weight[i] = (float)(i + 1);
    memcpy(s->index, index, sizeof index);
    s->out_shape[0] = OUT_ROWS, s->out_shape[1] = N;
    s->src_shape[0] = ROWS, s->src_shape[1] = N;
    s->index_shape[0] = ROWS;
    s->out_strides[0] = WIDE, s->out_strides[1] = 1;
    s->t[0] = tensor(s->out, FLOAT, 32, 2, s->out_shape);
    s->t[0].strides = s->out_strides;
    s->t[0].byte_offset = 4 * sizeof(float);
    s->t[1] = tensor(s->src, FLOAT, 32, 2, s->src_shape);
    s->t[2] = tensor(s->index, INT, 64, 1, s->index_shape);
    for (int i = 0; i < 3; i++)
        s->arg[i] = (ptxgen_dlpack){&s->t[i], 0};
}

static void assert_scattered(const scatter *s, bool weighted)
{
    float want[(OUT_ROWS + 1) * WIDE];
    memcpy(want, s->before, sizeof want);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < N; j++)
            want[4 + s->index[i] * WIDE + j] +=
                s->src[i * N + j] * (weighted ? s->weight[i] : 1.0f);
    assert_memory_equal(s->out, want, sizeof want);
}

static ptxgen_dlpack_scatter_add_args typed(const scatter *s)
{
    return (ptxgen_dlpack_scatter_add_args){.size = sizeof(ptxgen_dlpack_scatter_add_args),
                                            .out = s->arg[0],
                                            .src = s->arg[1],
                                            .index = s->arg[2]};
}

static void strides_and_offsets(void **state)
{
    (void)state;
    scatter s;
    make_scatter(&s);
    ptxgen_error err = {0};
    if (ptxgen_dlpack_call(ctx, "scatter_add", s.arg, 3, NULL, &err))
        fail_msg("%s", err.message);
    assert_scattered(&s, false);
    make_scatter(&s);
    const ptxgen_dlpack_scatter_add_args args = typed(&s);
    if (ptxgen_dlpack_scatter_add(ctx, &args, &err))
        fail_msg("%s", err.message);
    assert_scattered(&s, false);
}

static void options_of_the_typed_call(void **state)
{
    (void)state;
    scatter s;
    make_scatter(&s);
    ptxgen_dl_tensor weight = tensor(s.weight, FLOAT, 32, 1, s.index_shape);
    ptxgen_dlpack_scatter_add_args args = typed(&s);
    args.weight.tensor = &weight;
    ptxgen_error err = {0};
    if (ptxgen_dlpack_scatter_add(ctx, &args, &err))
        fail_msg("%s", err.message);
    assert_scattered(&s, true);

    make_scatter(&s);
    const ptxgen_scatter_add_args twice = {.size = sizeof twice, .alpha = 2, .deterministic = true};
    args = typed(&s);
    args.options = &twice;
    if (ptxgen_dlpack_scatter_add(ctx, &args, &err))
        fail_msg("%s", err.message);
    for (int i = 0; i < ROWS * N; i++)
        s.src[i] *= 2;
    assert_scattered(&s, false);
}

/* 300 ones in bf16: added one by one they stay at 256. */
static void sums_of_halves_in_f32(void **state)
{
    (void)state;
    enum { ONES = 300, BF = 4, ONE = 0x3f80, SUM = 0x4396 };
    static uint16_t src[ONES * 8], out[8];
    static int64_t index[ONES];
    int64_t out_shape[] = {1, 8}, src_shape[] = {ONES, 8}, index_shape[] = {ONES};
    for (int i = 0; i < ONES * 8; i++)
        src[i] = ONE;
    ptxgen_dl_tensor t[] = {tensor(out, BF, 16, 2, out_shape), tensor(src, BF, 16, 2, src_shape),
                            tensor(index, INT, 64, 1, index_shape)};
    const ptxgen_scatter_add_args options = {.size = sizeof options, .accumulate_f32 = true};
    const ptxgen_dlpack_scatter_add_args args = {.size = sizeof args,
                                                 .out = {&t[0], 0},
                                                 .src = {&t[1], 0},
                                                 .index = {&t[2], 0},
                                                 .options = &options};
    ptxgen_error err = {0};
    if (ptxgen_dlpack_scatter_add(ctx, &args, &err))
        fail_msg("%s", err.message);
    for (int i = 0; i < 8; i++)
        assert_int_equal(out[i], SUM);
}

static void a_plan_stands_for_the_index(void **state)
{
    (void)state;
    scatter s;
    make_scatter(&s);
    ptxgen_scatter_plan *plan;
    const ptxgen_scatter_add_args of = {
        .size = sizeof of, .rows = ROWS, .out_rows = OUT_ROWS, .index = s.index};
    assert_int_equal(ptxgen_scatter_plan_create(ctx, &of, NULL, &plan, NULL), PTXGEN_OK);
    const ptxgen_scatter_add_args options = {
        .size = sizeof options, .plan = plan, .rows = ROWS, .index_type = PTXGEN_INDEX_I64};
    ptxgen_dlpack_scatter_add_args args = typed(&s);
    args.index.tensor = NULL;
    args.options = &options;
    ptxgen_error err = {0};
    if (ptxgen_dlpack_scatter_add(ctx, &args, &err))
        fail_msg("%s", err.message);
    assert_scattered(&s, false);
    ptxgen_scatter_plan_destroy(plan);
}

/* What may be wrong with one argument, and the words of the refusal. */
typedef struct fault {
    int argument;
    ptxgen_status status;
    const char *words;
    void (*plant)(scatter *);
} fault;

static void read_only(scatter *s)
{
    s->arg[0].flags = PTXGEN_DLPACK_READ_ONLY;
}
static void on_cuda(scatter *s)
{
    s->t[1].device.device_type = CUDA;
}
static void on_vulkan(scatter *s)
{
    s->t[2].device.device_type = 7;
}
static void complex_numbers(scatter *s)
{
    s->t[1].dtype.code = 5, s->t[1].dtype.bits = 32;
}
static void four_lanes(scatter *s)
{
    s->t[1].dtype.lanes = 4;
}
static void odd_bits(scatter *s)
{
    s->t[2].dtype.bits = 24;
}
static void future_code(scatter *s)
{
    s->t[0].dtype.code = 200;
}
static void float_index(scatter *s)
{
    s->t[2].dtype.code = FLOAT;
}
static void halves(scatter *s)
{
    s->t[1].dtype.bits = 16;
}
static void column_gaps(scatter *s)
{
    s->out_strides[1] = 2, s->out_strides[0] = 2 * N;
}
static void same_rows(scatter *s)
{
    s->out_strides[0] = 0;
}
static void backwards(scatter *s)
{
    s->out_strides[0] = -WIDE;
}
static void off_element(scatter *s)
{
    s->t[0].byte_offset = 3;
}
static void no_data(scatter *s)
{
    s->t[1].data = NULL;
}
static void no_shape(scatter *s)
{
    s->t[1].shape = NULL;
}
static void many_dimensions(scatter *s)
{
    s->t[1].ndim = 9;
}
static void negative_dimensions(scatter *s)
{
    s->t[0].ndim = -1;
}
static void one_dimension(scatter *s)
{
    s->t[0].ndim = 1;
}
static void short_index(scatter *s)
{
    s->index_shape[0] = ROWS - 1;
}
static void left_out(scatter *s)
{
    s->arg[2].tensor = NULL;
}
static void in_each_other(scatter *s)
{
    s->t[1].data = s->out;
}

static const fault faults[] = {
    {0, PTXGEN_EINVAL, "out is read-only and would be written", read_only},
    {1, PTXGEN_EINVAL, "src is on cuda (device type 2), it must be on cpu", on_cuda},
    {2, PTXGEN_EINVAL, "index is on another kind of device (device type 7)", on_vulkan},
    {1, PTXGEN_EUNSUPPORTED, "src holds DLPack's complex (code 5) of 32 bits", complex_numbers},
    {1, PTXGEN_EUNSUPPORTED, "src holds DLPack's float (code 2) of 32 bits and 4 lanes",
     four_lanes},
    {2, PTXGEN_EUNSUPPORTED, "index holds DLPack's int (code 0) of 24 bits", odd_bits},
    {0, PTXGEN_EUNSUPPORTED, "out holds DLPack's code (code 200)", future_code},
    {2, PTXGEN_EUNSUPPORTED, "index holds f64", float_index},
    {1, PTXGEN_EINVAL, "src holds f16 and out f32", halves},
    {0, PTXGEN_EUNSUPPORTED, "out has inner stride 2", column_gaps},
    {0, PTXGEN_EUNSUPPORTED, "out has stride 0 over 4 rows", same_rows},
    {0, PTXGEN_EUNSUPPORTED, "out has row stride -12", backwards},
    {0, PTXGEN_EUNSUPPORTED, "out is at 0x", off_element},
    {1, PTXGEN_EINVAL, "src is NULL", no_data},
    {1, PTXGEN_EINVAL, "src has no shape", no_shape},
    {1, PTXGEN_EINVAL, "src has 9 dimensions", many_dimensions},
    {0, PTXGEN_EINVAL, "out has -1 dimensions", negative_dimensions},
    {0, PTXGEN_EINVAL, "out has 1 dimension, it must have 2", one_dimension},
    {2, PTXGEN_EINVAL, "index has rows=5, but src has rows=6", short_index},
    {2, PTXGEN_EINVAL, "index is missing", left_out},
    {1, PTXGEN_EUNSUPPORTED, "out and src overlap", in_each_other},
};

static void refused(const fault *f, bool by_type)
{
    scatter s;
    make_scatter(&s);
    f->plant(&s);
    ptxgen_error err = {0};
    const ptxgen_dlpack_scatter_add_args args = typed(&s);
    const ptxgen_status got = by_type
                                  ? ptxgen_dlpack_scatter_add(ctx, &args, &err)
                                  : ptxgen_dlpack_call(ctx, "scatter_add", s.arg, 3, NULL, &err);
    if (got != f->status || !strstr(err.message, f->words))
        fail_msg("%s \"%s\", wanted %s and \"%s\"", ptxgen_status_name(got), err.message,
                 ptxgen_status_name(f->status), f->words);
    assert_memory_equal(s.out, s.before, sizeof s.out);
}

static void refusals_name_the_argument(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        refused(&faults[i], false);
        refused(&faults[i], true);
    }
}

static void managed_tensors(void **state)
{
    (void)state;
    scatter s;
    make_scatter(&s);
    ptxgen_dl_versioned managed = {
        .version = {1, 7}, .flags = PTXGEN_DLPACK_READ_ONLY, .dl_tensor = s.t[0]};
    ptxgen_error err = {0};
    assert_int_equal(ptxgen_dlpack_from_versioned(&managed, &s.arg[0], &err), PTXGEN_OK);
    assert_ptr_equal(s.arg[0].tensor, &managed.dl_tensor);
    assert_int_equal(ptxgen_dlpack_call(ctx, "scatter_add", s.arg, 3, NULL, &err), PTXGEN_EINVAL);
    assert_non_null(strstr(err.message, "out is read-only"));
    managed.version.major = 2;
    assert_int_equal(ptxgen_dlpack_from_versioned(&managed, &s.arg[0], &err), PTXGEN_EINVAL);
    assert_non_null(strstr(err.message, "DLPack 2.7"));
    assert_int_equal(ptxgen_dlpack_from_versioned(NULL, &s.arg[0], &err), PTXGEN_EINVAL);
}

/* Rows of every type that DLPack and ptxgen share are gathered byte for byte. */
static void element_types(void **state)
{
    (void)state;
    static const int codes[][2] = {{0, 8},  {0, 16}, {0, 32}, {0, 64}, {1, 8},  {1, 16},
                                   {1, 32}, {1, 64}, {2, 16}, {2, 32}, {2, 64}, {4, 16},
                                   {6, 8},  {10, 8}, {12, 8}, {14, 8}};
    uint8_t src[4 * 64], out[3 * 64];
    int32_t index[] = {2, 0, 2};
    int64_t index_shape[] = {3}, src_shape[] = {4, 0}, out_shape[] = {3, 0};
    for (size_t i = 0; i < sizeof src; i++)
        src[i] = (uint8_t)(i * 37);
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        src_shape[1] = out_shape[1] = 64 * 8 / codes[i][1];
        ptxgen_dl_tensor t[] = {tensor(out, codes[i][0], codes[i][1], 2, out_shape),
                                tensor(src, codes[i][0], codes[i][1], 2, src_shape),
                                tensor(index, INT, 32, 1, index_shape)};
        const ptxgen_dlpack args[] = {{&t[0], 0}, {&t[1], PTXGEN_DLPACK_READ_ONLY}, {&t[2], 0}};
        ptxgen_error err = {0};
        memset(out, 0, sizeof out);
        if (ptxgen_dlpack_call(ctx, "gather_rows", args, 3, NULL, &err))
            fail_msg("code %d, %d bits: %s", codes[i][0], codes[i][1], err.message);
        for (int row = 0; row < 3; row++)
            assert_memory_equal(out + row * 64, src + index[row] * 64, 64);
    }
}

static void transposed_by_strides(void **state)
{
    (void)state;
    enum { M = 5, COLUMNS = 16, K = 8 };
    static uint16_t a[M * K], b[COLUMNS * K]; /* f16; b as [n, k] */
    static float d[M * COLUMNS];
    for (int i = 0; i < M * K; i++)
        a[i] = i % 3 ? 0x3c00 : 0x4000; /* 1, 2 */
    for (int i = 0; i < COLUMNS * K; i++)
        b[i] = i % 5 ? 0x3c00 : 0xc000; /* 1, -2 */
    int64_t a_shape[] = {M, K}, b_shape[] = {K, COLUMNS}, b_strides[] = {1, K};
    int64_t d_shape[] = {M, COLUMNS};
    ptxgen_dl_tensor ta = tensor(a, FLOAT, 16, 2, a_shape), tb = tensor(b, FLOAT, 16, 2, b_shape);
    ptxgen_dl_tensor td = tensor(d, FLOAT, 32, 2, d_shape);
    tb.strides = b_strides;
    for (int i = 0; i < M * COLUMNS; i++)
        d[i] = (float)i;
    const ptxgen_dlpack_matmul_args args = {
        .size = sizeof args, .a = {&ta, 0}, .b = {&tb, 0}, .c = {&td, 0}, .d = {&td, 0}};
    ptxgen_error err = {0};
    if (ptxgen_dlpack_matmul_accumulate(ctx, &args, &err))
        fail_msg("%s", err.message);
    for (int i = 0; i < M * COLUMNS; i++) {
        float want = (float)i;
        for (int k = 0; k < K; k++)
            want += ((i / COLUMNS * K + k) % 3 ? 1.0f : 2.0f) *
                    ((i % COLUMNS * K + k) % 5 ? 1.0f : -2.0f);
        assert_true(d[i] == want);
    }
}

/* Three dimensions are a batch; B is one matrix for all, C one by a stride of 0. */
static void batches(void **state)
{
    (void)state;
    enum { BATCH = 3, M = 5, COLUMNS = 16, K = 8, GAP = 8 };
    static uint16_t a[BATCH * (M * K + GAP)], b[K * COLUMNS]; /* f16 */
    static float c[M * COLUMNS], d[BATCH * M * COLUMNS];
    for (int i = 0; i < BATCH * (M * K + GAP); i++)
        a[i] = i % 3 ? 0x3c00 : 0x4000; /* 1, 2 */
    for (int i = 0; i < K * COLUMNS; i++)
        b[i] = i % 5 ? 0x3c00 : 0xc000; /* 1, -2 */
    for (int i = 0; i < M * COLUMNS; i++)
        c[i] = (float)i;
    int64_t a_shape[] = {BATCH, M, K}, a_strides[] = {M * K + GAP, K, 1}, b_shape[] = {K, COLUMNS};
    int64_t d_shape[] = {BATCH, M, COLUMNS}, c_strides[] = {0, COLUMNS, 1};
    ptxgen_dl_tensor ta = tensor(a, FLOAT, 16, 3, a_shape), tb = tensor(b, FLOAT, 16, 2, b_shape);
    ptxgen_dl_tensor tc = tensor(c, FLOAT, 32, 3, d_shape), td = tensor(d, FLOAT, 32, 3, d_shape);
    ta.strides = a_strides;
    tc.strides = c_strides;
    const ptxgen_dlpack_matmul_args args = {
        .size = sizeof args, .a = {&ta, 0}, .b = {&tb, 0}, .c = {&tc, 0}, .d = {&td, 0}};
    ptxgen_error err = {0};
    if (ptxgen_dlpack_matmul_accumulate(ctx, &args, &err))
        fail_msg("%s", err.message);
    for (int i = 0; i < BATCH * M * COLUMNS; i++) {
        const int matrix = i / (M * COLUMNS), row = i / COLUMNS % M, column = i % COLUMNS;
        float want = c[i % (M * COLUMNS)];
        for (int k = 0; k < K; k++)
            want += ((matrix * (M * K + GAP) + row * K + k) % 3 ? 1.0f : 2.0f) *
                    ((k * COLUMNS + column) % 5 ? 1.0f : -2.0f);
        assert_true(d[i] == want);
    }
}

/* How producers give 4-bit elements. */
typedef enum packing { ELEMENTS, PAIRS, BYTES } packing;

typedef struct scaled_tensors {
    int64_t a[2], b[2], scales[2], d[2];
    ptxgen_dl_tensor t[5];
} scaled_tensors;

static void make_operand(ptxgen_dl_tensor *t, void *data, ptxgen_scaled_format format, packing as,
                         int64_t shape[2])
{
    *t = format == PTXGEN_MXFP8 ? tensor(data, E4M3, 8, 2, shape) : tensor(data, E2M1, 4, 2, shape);
    if (as == BYTES)
        t->dtype = (ptxgen_dl_type){UINT, 8, 1};
    if (format == PTXGEN_MXFP8 || as == ELEMENTS)
        return;
    shape[1] /= 2;
    t->dtype.lanes = as == PAIRS ? 2 : 1;
}

static ptxgen_status run_scaled(scaled_data *data, packing as, ptxgen_error *err)
{
    const ptxgen_matmul_scaled_args *p = &data->args;
    scaled_tensors s = {.a = {p->m, p->k}, .b = {p->n, p->k}, .d = {p->m, p->n}};
    const int code = as == BYTES ? UINT : p->a_format == PTXGEN_NVFP4 ? E4M3 : E8M0;
    make_operand(&s.t[0], data->a, p->a_format, as, s.a);
    make_operand(&s.t[1], data->b, p->b_format, as, s.b);
    s.scales[0] = (int64_t)data->a_scale_bytes, s.scales[1] = (int64_t)data->b_scale_bytes;
    s.t[2] = tensor(data->a_scales, code, 8, 1, &s.scales[0]);
    s.t[3] = tensor(data->b_scales, code, 8, 1, &s.scales[1]);
    s.t[4] = tensor(data->d, FLOAT, 32, 2, s.d);
    const ptxgen_matmul_scaled_args options = {
        .size = sizeof options, .a_format = p->a_format, .b_format = p->b_format};
    const ptxgen_dlpack_scaled_args args = {.size = sizeof args,
                                            .a = {&s.t[0], 0},
                                            .b = {&s.t[1], 0},
                                            .a_scales = {&s.t[2], 0},
                                            .b_scales = {&s.t[3], 0},
                                            .d = {&s.t[4], 0},
                                            .options = as == BYTES ? &options : NULL};
    return ptxgen_dlpack_matmul_scaled(ctx, &args, err);
}

static void scaled_formats(void **state)
{
    (void)state;
    static const ptxgen_scaled_format formats[][2] = {{PTXGEN_MXFP8, PTXGEN_MXFP8},
                                                      {PTXGEN_MXFP4, PTXGEN_MXFP4},
                                                      {PTXGEN_NVFP4, PTXGEN_NVFP4},
                                                      {PTXGEN_MXFP8, PTXGEN_MXFP4}};
    for (size_t i = 0; i < 4; i++)
        for (packing as = ELEMENTS; as <= BYTES; as++) {
            const scaled_case problem = {.a_format = formats[i][0],
                                         .b_format = formats[i][1],
                                         .out = PTXGEN_F32,
                                         .m = 40,
                                         .n = 24,
                                         .k = 128};
            scaled_data data;
            ptxgen_error err = {0};
            scaled_case_make(&problem, &data);
            if (run_scaled(&data, as, &err))
                fail_msg("formats %zu, packing %d: %s", i, as, err.message);
            scaled_case_compare(&data, 1 << 20);
            scaled_case_free(&data);
        }
}

static void padded_elements_are_refused(void **state)
{
    (void)state;
    uint8_t bytes[64];
    int64_t shape[] = {1, 64};
    ptxgen_dl_tensor t = tensor(bytes, E2M1, 4, 2, shape);
    ptxgen_dlpack_room room;
    ptxgen_tensor out;
    ptxgen_error err = {0};
    const ptxgen_dlpack padded = {&t, PTXGEN_DLPACK_PADDED}, packed = {&t, 0};
    assert_int_equal(ptxgen_dlpack_tensor(&padded, "a", &room, &out, &err), PTXGEN_EUNSUPPORTED);
    assert_non_null(strstr(err.message, "a has its 4-bit elements padded"));
    assert_int_equal(ptxgen_dlpack_tensor(&packed, "a", &room, &out, &err), PTXGEN_OK);
    assert_int_equal(out.dtype, PTXGEN_E2M1);
}

static void kernels_before_the_call(void **state)
{
    (void)state;
    ptxgen *fresh;
    const ptxgen_config config = {
        .size = sizeof config, .device = PTXGEN_DEVICE_EMULATOR, .cache = PTXGEN_CACHE_OFF};
    ptxgen_error err = {0};
    scatter s;
    char params[1024];
    ptxgen_kernel *kernel;
    assert_int_equal(ptxgen_create(&config, &fresh, &err), PTXGEN_OK);
    make_scatter(&s);
    ptxgen_dlpack_scatter_add_args args = typed(&s);
    args.ready_only = true;
    assert_int_equal(ptxgen_dlpack_scatter_add(fresh, &args, &err), PTXGEN_EPENDING);
    assert_memory_equal(s.out, s.before, sizeof s.out);
    assert_int_equal(
        ptxgen_dlpack_params(fresh, "scatter_add", s.arg, 3, NULL, params, sizeof params, &err),
        PTXGEN_OK);
    assert_int_equal(ptxgen_get(fresh, "scatter_add", params, NULL, &kernel, &err), PTXGEN_OK);
    ptxgen_kernel_unref(kernel);
    if (ptxgen_dlpack_scatter_add(fresh, &args, &err))
        fail_msg("%s", err.message);
    assert_scattered(&s, false);
    ptxgen_destroy(fresh);
}

static void nothing_to_do(void **state)
{
    (void)state;
    scatter s;
    make_scatter(&s);
    s.src_shape[0] = s.index_shape[0] = 0;
    s.t[1].data = s.t[2].data = NULL; /* as producers give empty tensors */
    ptxgen_error err = {0};
    if (ptxgen_dlpack_call(ctx, "scatter_add", s.arg, 3, NULL, &err))
        fail_msg("%s", err.message);
    assert_memory_equal(s.out, s.before, sizeof s.out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strides_and_offsets),
        cmocka_unit_test(options_of_the_typed_call),
        cmocka_unit_test(sums_of_halves_in_f32),
        cmocka_unit_test(a_plan_stands_for_the_index),
        cmocka_unit_test(refusals_name_the_argument),
        cmocka_unit_test(managed_tensors),
        cmocka_unit_test(element_types),
        cmocka_unit_test(transposed_by_strides),
        cmocka_unit_test(batches),
        cmocka_unit_test(scaled_formats),
        cmocka_unit_test(padded_elements_are_refused),
        cmocka_unit_test(kernels_before_the_call),
        cmocka_unit_test(nothing_to_do),
    };
    return cmocka_run_group_tests(tests, make_context, destroy_context);
}
