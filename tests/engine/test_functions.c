/* User functions in kernels: what they compute, what they are cached under, what is refused.
 * NVRTC is a stand-in here (tests/support/stub_nvrtc), so nothing needs to be installed;
 * tests/command/function.sh has the real one. */
#include "test.h"

#include "base/clock.h"
#include "base/half.h"
#include "ptxgen/function.h"

#include <sys/wait.h>
#include <unistd.h>

#define STUB(version) PTXGEN_BINARY_DIR "/tests/stub_nvrtc_" version

static const char scale[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .func (.param .b32 r) f(.param .b32 x, .param .b64 row, .param .b32 column)\n{\n"
    "    .reg .f32 %f<5>;\n    .reg .b64 %l;\n    .reg .b32 %c;\n"
    "    ld.param.f32 %f1, [x];\n    ld.param.u64 %l, [row];\n    ld.param.u32 %c, [column];\n"
    "    cvt.rn.f32.s64 %f2, %l;\n    cvt.rn.f32.s32 %f3, %c;\n"
    "    fma.rn.f32 %f4, %f1, %f2, %f3;\n"
    "    st.param.f32 [r], %f4;\n    ret;\n}\n";
static const char cuda[] = "extern \"C\" float f(float x) { return 2 * x + 1; }\n";

typedef struct session {
    char dir[64];
} session;

static int make_session(void **state)
{
    session *s = calloc(1, sizeof *s);
    strcpy(s->dir, "/tmp/ptxgen_functions_XXXXXX");
    if (!mkdtemp(s->dir))
        return 1;
    *state = s;
    return 0;
}

static int drop_session(void **state)
{
    session *s = *state;
    char command[120];
    snprintf(command, sizeof command, "rm -rf %s", s->dir);
    const int code = system(command);
    free(s);
    return code;
}

static ptxgen *open_context(const session *s, const char *toolkit)
{
    ptxgen *ctx;
    ptxgen_error err = {0};
    char cache[80];
    snprintf(cache, sizeof cache, "%s/cache", s->dir);
    const ptxgen_config config = {.size = sizeof config,
                                  .device = PTXGEN_DEVICE_EMULATOR,
                                  .cache_dir = cache,
                                  .toolkit_dir = toolkit};
    if (ptxgen_create(&config, &ctx, &err) != PTXGEN_OK)
        fail_msg("%s", err.message);
    return ctx;
}

static int lines_of(const char *path)
{
    int n = 0;
    FILE *f = fopen(path, "r");
    for (int c; f && (c = getc(f)) != EOF;)
        n += c == '\n';
    if (f)
        fclose(f);
    return n;
}

/* By both stand-ins, since ever. */
static int compilations(const session *s)
{
    (void)s;
    return lines_of(STUB("1") "/lib64/libnvrtc.so.13.log") +
           lines_of(STUB("2") "/lib64/libnvrtc.so.13.log");
}

static int64_t add(ptxgen *ctx, const ptxgen_function *f)
{
    ptxgen_error err = {0};
    int64_t id;
    if (ptxgen_function_add(ctx, f, &id, &err) != PTXGEN_OK)
        fail_msg("%s", err.message);
    assert_true(id > 0);
    return id;
}

static ptxgen_function ptx_function(void)
{
    return (ptxgen_function){
        .size = sizeof(ptxgen_function), .language = PTXGEN_FUNCTION_PTX, .text = scale};
}

static ptxgen_function cuda_function(void)
{
    return (ptxgen_function){.size = sizeof(ptxgen_function),
                             .language = PTXGEN_FUNCTION_CUDA,
                             .text = cuda,
                             .file = "dir/my.cu"};
}

/* ---- results ---- */

enum { ROWS = 37, OUT_ROWS = 5, N = 48 };

static double value_of(ptxgen_dtype dtype, const void *p, int i)
{
    return dtype == PTXGEN_F32   ? (double)((const float *)p)[i]
           : dtype == PTXGEN_F16 ? pg_f16_to_double(((const uint16_t *)p)[i])
                                 : pg_bf16_to_double(((const uint16_t *)p)[i]);
}

static void set(ptxgen_dtype dtype, void *p, int i, double v)
{
    if (dtype == PTXGEN_F32)
        ((float *)p)[i] = (float)v;
    else
        ((uint16_t *)p)[i] = dtype == PTXGEN_F16 ? pg_f16_from_double(v) : pg_bf16_from_double(v);
}

/* out += x * row + column in small whole numbers: every order of additions gives these. */
static void check_scatter(ptxgen *ctx, int64_t function, ptxgen_dtype dtype, bool dynamic)
{
    ptxgen_error err = {0};
    float *src = aligned_alloc(64, ROWS * N * 4), *out = aligned_alloc(64, OUT_ROWS * N * 4);
    int64_t index[ROWS];
    double want[OUT_ROWS * N] = {0};
    memset(out, 0, OUT_ROWS * N * 4);
    for (int i = 0; i < ROWS; i++) {
        index[i] = i * 7 % OUT_ROWS;
        for (int j = 0; j < N; j++) {
            set(dtype, src, i * N + j, (i + j) % 2);
            want[index[i] * N + j] += (i + j) % 2 * i + j;
        }
    }
    const ptxgen_scatter_add_args args = {.size = sizeof args,
                                          .dtype = dtype,
                                          .rows = ROWS,
                                          .out_rows = OUT_ROWS,
                                          .n = N,
                                          .out = out,
                                          .src = src,
                                          .index = index,
                                          .dynamic_n = dynamic,
                                          .function = function};
    if (ptxgen_scatter_add(ctx, &args, NULL, &err) != PTXGEN_OK)
        fail_msg("%s", err.message);
    for (int i = 0; i < OUT_ROWS * N; i++) {
        const double got = value_of(dtype, out, i),
                     tolerance = dtype == PTXGEN_BF16 ? want[i] / 64 : 0;
        if (got < want[i] - tolerance || got > want[i] + tolerance)
            fail_msg("dtype %d, element %d: %g, not %g", (int)dtype, i, got, want[i]);
    }
    free(src);
    free(out);
}

static void test_scatter_add(void **state)
{
    ptxgen *ctx = open_context(*state, NULL);
    const ptxgen_function f = ptx_function();
    const int64_t id = add(ctx, &f);
    for (int dtype = PTXGEN_F32; dtype <= PTXGEN_BF16; dtype++)
        for (int dynamic = 0; dynamic < 2; dynamic++)
            check_scatter(ctx, id, (ptxgen_dtype)dtype, dynamic);
    ptxgen_destroy(ctx);
}

/* Ends for a NaN only. */
static const char endless[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .func (.param .b32 r) f(.param .b32 value)\n{\n"
    "    .reg .f32 %v;\n    .reg .pred %p;\n    ld.param.f32 %v, [value];\n"
    "AGAIN:\n    setp.num.f32 %p, %v, %v;\n    @%p bra AGAIN;\n"
    "    st.param.f32 [r], %v;\n    ret;\n}\n";

/* A loop that does not end is stopped, with a sentence, and the context goes on. */
static void test_endless_loop(void **state)
{
    ptxgen *ctx = open_context(*state, NULL);
    const ptxgen_function f = {.size = sizeof f, .language = PTXGEN_FUNCTION_PTX, .text = endless};
    float src[4] = {1}, out[4] = {0};
    const int64_t index[1] = {0};
    const ptxgen_scatter_add_args args = {.size = sizeof args,
                                          .dtype = PTXGEN_F32,
                                          .rows = 1,
                                          .out_rows = 1,
                                          .n = 4,
                                          .out = out,
                                          .src = src,
                                          .index = index,
                                          .function = add(ctx, &f)};
    ptxgen_error err = {0};
    assert_int_equal(ptxgen_scatter_add(ctx, &args, NULL, &err), PTXGEN_EBUDGET);
    assert_non_null(strstr(err.message, "user function seems not to end"));
    const ptxgen_function good = ptx_function();
    check_scatter(ctx, add(ctx, &good), PTXGEN_F32, false);
    ptxgen_destroy(ctx);
}

/* Reads its table, of one element, at `row` times 4 MB. */
static const char beyond[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".global .align 4 .f32 table[1] = {0f40000000};\n"
    ".visible .func (.param .b32 r) f(.param .b32 value, .param .b64 row)\n{\n"
    "    .reg .f32 %v;\n    .reg .b64 %at, %row;\n    ld.param.u64 %row, [row];\n"
    "    mov.u64 %at, table;\n    mad.lo.s64 %at, %row, 4000000, %at;\n"
    "    ld.global.f32 %v, [%at];\n    st.param.f32 [r], %v;\n    ret;\n}\n";

/* `memory` has 1,024 bytes: out, src and index lie in it, or are columns of one array. */
static void check_wild(ptxgen *ctx, float *memory, int64_t stride)
{
    const ptxgen_function f = {.size = sizeof f, .language = PTXGEN_FUNCTION_PTX, .text = beyond};
    ptxgen_error err = {0};
    memset(memory, 0, 1024);
    ptxgen_scatter_add_args args = {.size = sizeof args,
                                    .dtype = PTXGEN_F32,
                                    .rows = 1,
                                    .out_rows = 1,
                                    .n = 4,
                                    .out = memory,
                                    .out_stride = stride,
                                    .src = memory + (stride ? 4 : 64),
                                    .src_stride = stride,
                                    .index = (int64_t *)(void *)(memory + 128),
                                    .function = add(ctx, &f)};
    if (ptxgen_scatter_add(ctx, &args, NULL, &err) != PTXGEN_OK)
        fail_msg("%s", err.message);
    assert_true(memory[0] == 2);
    args.rows = 2;
    assert_int_equal(ptxgen_scatter_add(ctx, &args, NULL, &err), PTXGEN_EEMULATOR);
    assert_non_null(strstr(err.message, "read of 4 bytes"));
    assert_non_null(strstr(err.message, "is out of bounds"));
}

/* An address that a function makes up is an error, not a crash, whosever the operands' memory. */
static void test_wild_address(void **state)
{
    ptxgen *ctx = open_context(*state, NULL);
    ptxgen_error err = {0};
    void *device;
    assert_int_equal(ptxgen_device_alloc(ctx, 1024, &device, &err), PTXGEN_OK);
    float *const host = aligned_alloc(64, 1024);
    for (int64_t stride = 0; stride <= 8; stride += 8) {
        check_wild(ctx, device, stride);
        check_wild(ctx, host, stride);
    }
    free(host);
    ptxgen_device_free(ctx, device);
    ptxgen_destroy(ctx);
}

static void test_map(void **state)
{
    ptxgen *ctx = open_context(*state, NULL);
    ptxgen_error err = {0};
    const ptxgen_function f = ptx_function();
    float x[3][4] = {{1, 2, 3, 4}, {1, 2, 3, 4}, {0.5f, -1, 0, 9}};
    const ptxgen_function_map_args args = {.size = sizeof args,
                                           .function = add(ctx, &f),
                                           .dtype = PTXGEN_F32,
                                           .rows = 3,
                                           .n = 4,
                                           .in = x,
                                           .out = x};
    assert_int_equal(ptxgen_function_map(ctx, &args, &err), PTXGEN_OK);
    const float want[3][4] = {{0, 1, 2, 3}, {1, 3, 5, 7}, {1, -1, 2, 21}};
    assert_memory_equal(x, want, sizeof x);
    ptxgen_destroy(ctx);
}

/* ---- keys ---- */

static void test_key_holds_everything(void **state)
{
    ptxgen *ctx = open_context(*state, STUB("1")), *other = open_context(*state, STUB("2"));
    static const ptxgen_header headers[] = {{"a.h", "x"}, {"a.h", "y"}, {"b.h", "x"}};
    static const char *const options[] = {"-DA=1", "-DA=2"};
    ptxgen_function f[16];
    int64_t ids[17];
    const int before = compilations(*state);
    int n = 0;
    for (int i = 0; i < 16; i++)
        f[i] = cuda_function();
    n++; /* f[0]: as it is */
    f[n++].text = "extern \"C\" float f(float x) { return 2 * x + 2; }\n";
    f[n++].file = "dir/other.cu"; /* __FILE__ */
    f[n++].name = "f";
    for (int i = 0; i < 3; i++) {
        f[n].headers = &headers[i];
        f[n++].header_count = 1;
    }
    for (int i = 0; i < 2; i++) {
        f[n].options = &options[i];
        f[n++].option_count = 1;
    }
    f[n++].division = PTXGEN_DIVISION_FAST;
    f[n++].division = PTXGEN_DIVISION_EXACT;
    for (int i = 0; i < n; i++)
        ids[i] = add(ctx, &f[i]);
    ids[n] = add(other, &f[0]); /* another NVRTC */
    for (int i = 0; i <= n; i++)
        for (int j = 0; j < i; j++)
            if (ids[i] == ids[j])
                fail_msg("functions %d and %d have one number", i, j);
    f[0].file = "elsewhere/my.cu"; /* the folder says nothing */
    f[0].timeout_ms = 5;
    assert_int_equal(add(ctx, &f[0]), ids[0]);
    assert_int_equal(compilations(*state), before);
    ptxgen_destroy(ctx);
    ptxgen_destroy(other);
}

static ptxgen_origin origin_of(ptxgen *ctx, int64_t id, ptxgen_arch arch)
{
    ptxgen_error err = {0};
    ptxgen_function_info info = {.size = sizeof info};
    if (ptxgen_function_ptx(ctx, id, arch, true, &info, &err) != PTXGEN_OK)
        fail_msg("%s", err.message);
    assert_non_null(strstr(info.ptx, "fma.rn.f32"));
    assert_string_equal(info.name, "f");
    return info.origin;
}

static void test_compiled_once(void **state)
{
    const ptxgen_function f = cuda_function();
    const int before = compilations(*state);
    ptxgen *ctx = open_context(*state, STUB("1"));
    const int64_t id = add(ctx, &f);
    assert_int_equal(origin_of(ctx, id, 900), PTXGEN_ORIGIN_ASSEMBLED);
    assert_int_equal(origin_of(ctx, id, 900), PTXGEN_ORIGIN_ASSEMBLED);
    assert_int_equal(compilations(*state), before + 1);
    assert_int_equal(origin_of(ctx, id, 1001), PTXGEN_ORIGIN_ASSEMBLED);
    assert_int_equal(compilations(*state), before + 2);
    ptxgen_destroy(ctx);
    ctx = open_context(*state, STUB("1")); /* another process would see the same */
    assert_int_equal(add(ctx, &f), id);
    assert_int_equal(origin_of(ctx, id, 900), PTXGEN_ORIGIN_DISK);
    assert_int_equal(compilations(*state), before + 2);
    ptxgen_destroy(ctx);
}

/* Kernels of other shapes use the function's entry; the line map names the user's lines. */
static void test_shared_by_kernels(void **state)
{
    const ptxgen_function f = cuda_function();
    const int before = compilations(*state);
    ptxgen *ctx = open_context(*state, STUB("1"));
    ptxgen_error err = {0};
    const int64_t id = add(ctx, &f);
    for (int n = 4; n <= 64; n *= 4) {
        char params[100];
        const char *file;
        int line, seen = 0;
        ptxgen_kernel *k;
        snprintf(params, sizeof params, "n=%d function=%lld", n, (long long)id);
        if (ptxgen_emit(ctx, "scatter_add", params, &k, &err) != PTXGEN_OK)
            fail_msg("%s", err.message);
        for (int i = 1; i < 1000; i++)
            seen += ptxgen_kernel_line_origin(k, i, &file, &line) && !strcmp(file, "my.cu") &&
                    line == 2;
        assert_true(seen >= 4); /* at every element of a piece */
        ptxgen_kernel_unref(k);
    }
    assert_int_equal(compilations(*state), before + 1);
    ptxgen_destroy(ctx);
}

static void test_options(void **state)
{
    session *s = *state;
    static const char *const options[] = {"-DA=1", "-prec-div=true"};
    ptxgen_function f = cuda_function();
    char text[600] = "";
    f.options = options;
    f.option_count = 2;
    f.division = PTXGEN_DIVISION_FAST;
    ptxgen *ctx = open_context(s, STUB("1"));
    origin_of(ctx, add(ctx, &f), 900);
    ptxgen_destroy(ctx);
    FILE *file = fopen(STUB("1") "/lib64/libnvrtc.so.13.log", "r");
    while (fgets(text, sizeof text, file))
        ;
    fclose(file);
    assert_non_null(strstr(text, "-arch=sm_90 "));
    assert_non_null(strstr(text, "--no-source-include "));
    assert_non_null(strstr(text, "-prec-div=false -prec-sqrt=false -DA=1 -prec-div=true"));
}

/* ---- refusals ---- */

static void refused(ptxgen *ctx, const ptxgen_function *f, ptxgen_status wanted, int line,
                    const char *says)
{
    ptxgen_error err = {0};
    ptxgen_function_info info = {.size = sizeof info};
    int64_t id;
    ptxgen_status status = ptxgen_function_add(ctx, f, &id, &err);
    if (status == PTXGEN_OK)
        status = ptxgen_function_ptx(ctx, id, 900, true, &info, &err);
    if (status != wanted || !strstr(err.message, says) || err.line != line)
        fail_msg("status %d, line %d: %s\nwanted %d, %d: %s", status, err.line, err.message, wanted,
                 line, says);
}

static void test_files_are_not_read(void **state)
{
    static const struct {
        const char *text;
        int line;
        const char *says;
    } cases[] = {
        {"#include \"/etc/passwd\"\n", 1,
         "#include /etc/passwd: only headers that are given as text"},
        {"int a;\n  #  include <cuda_fp16.h>\n", 2, "#include cuda_fp16.h"},
        {"/* x */ #/* y */include/**/\"local.h\"\n", 1, "#include local.h"},
        {"#inc\\\nlude \"local.h\"\n", 1, "#include local.h"},
        {"%:include \"local.h\"\n", 1, "#include local.h"},
        {"#define H \"local.h\"\n#include H\n", 2, "of something that is no name"},
        {"#include_next \"a.h\"\n", 1, "#include_next a.h"},
        {"// \\\n x\n#embed \"a.h\"\n", 3, "#embed a.h"},
        {"#if __has_include(\"/etc/passwd\")\n#endif\n", 1, "__has_include looks at files"},
        {"const char *s = R\"(\n#include \"a.h\"\n)\";\n#include \"b.h\"\n", 4, "#include b.h"},
        {"#include \"a.h\"\n#include <a.h>\nchar c = '\"';\n#include \"z.h\"\n", 4, "#include z.h"},
    };
    static const ptxgen_header header = {"a.h", "// \"quotes\" and 'more'\n"};
    ptxgen *ctx = open_context(*state, STUB("1"));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ptxgen_function f = cuda_function();
        f.text = cases[i].text;
        f.headers = &header;
        f.header_count = 1;
        refused(ctx, &f, PTXGEN_EINVAL, cases[i].line, cases[i].says);
    }
    /* In a header too; and what only looks like a directive is none. */
    static const ptxgen_header bad = {"a.h", "\n#include \"/etc/passwd\"\n"};
    ptxgen_function f = cuda_function();
    f.headers = &bad;
    f.header_count = 1;
    refused(ctx, &f, PTXGEN_EINVAL, 2, "a.h:2: #include /etc/passwd");
    f.headers = &header;
    f.text = "// #include \"x\"\n/* #include \"y\" */ const char *s = \"\\\"\\n#include "
             "\\\"z\\\"\"; int a = 1 # 2;\n"
             "#include \"a.h\"\nconst char *r = R\"x(\n#include \"w\")\" )x\";";
    assert_true(add(ctx, &f) != 0);
    ptxgen_destroy(ctx);
}

static void test_options_are_judged(void **state)
{
    static const char *const bad[] = {"-I/usr/include", "--include-path=/x",
                                      "-include=x.h",   "--pre-include=x",
                                      "-arch=sm_80",    "-dlto",
                                      "@file",          "-D",
                                      "--pch",          "-lineinfo=x"};
    ptxgen *ctx = open_context(*state, STUB("1"));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ptxgen_function f = cuda_function();
        f.options = &bad[i];
        f.option_count = 1;
        refused(ctx, &f, PTXGEN_EINVAL, 0, "is not taken");
    }
    ptxgen_destroy(ctx);
}

static void test_compiler_refuses(void **state)
{
    ptxgen *ctx = open_context(*state, STUB("1"));
    ptxgen_function f = cuda_function();
    f.text = "REFUSE";
    const int before = compilations(*state);
    refused(ctx, &f, PTXGEN_EASSEMBLE, 3, "NVRTC: my.cu(3): error: expected a ';'");
    refused(ctx, &f, PTXGEN_EASSEMBLE, 3, "NVRTC: my.cu(3): error: expected a ';'");
    assert_int_equal(compilations(*state), before + 1); /* the refusal is remembered */
    f.text = "FOREVER";
    f.timeout_ms = 30;
    refused(ctx, &f, PTXGEN_EBUDGET, 0, "NVRTC had not compiled my.cu after 30 ms and was stopped");
    f.timeout_ms = 0; /* the default */
    f.text = "CRASH";
    refused(ctx, &f, PTXGEN_EASSEMBLE, 0, "NVRTC was killed by signal 11");
    f.name = "g";
    f.text = cuda;
    refused(ctx, &f, PTXGEN_EINVAL, 0, "my.cu defines no function 'g': is it extern \"C\"?");
    ptxgen_destroy(ctx);
}

/* A text that the real one would work on for minutes, in steps of its own: it is stopped at its
 * deadline, and no process is left. */
static void test_deadline(void **state)
{
    enum { LINES = 10000, LINE = 64, LIMIT_MS = 1500, LATEST_MS = 6000 };
    ptxgen *ctx = open_context(*state, NULL);
    char *text = malloc((LINES + 3) * LINE), *at = text;
    ptxgen_function f = cuda_function();
    ptxgen_error err = {0};
    ptxgen_function_info info = {.size = sizeof info};
    int64_t id;
    at += sprintf(at, "extern \"C\" float f(float x) {\n");
    for (int i = 0; i < LINES; i++)
        at += sprintf(at, "x = sinf(x) + powf(x, %d.5f) / (x + %d);\n", i % 7, i);
    sprintf(at, "return x; }\n");
    f.text = text;
    f.timeout_ms = LIMIT_MS;
    const int64_t start = pg_clock_ms();
    ptxgen_status status = ptxgen_function_add(ctx, &f, &id, &err);
    if (status == PTXGEN_EMISSING)
        skip();
    assert_int_equal(status, PTXGEN_OK);
    status = ptxgen_function_ptx(ctx, id, 900, true, &info, &err);
    if (status != PTXGEN_EBUDGET || pg_clock_ms() - start > LATEST_MS)
        fail_msg("status %d after %lld ms: %s", status, (long long)(pg_clock_ms() - start),
                 err.message);
    assert_non_null(strstr(err.message, "after 1500 ms and was stopped"));
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child */
    ptxgen_destroy(ctx);
    free(text);
}

static void test_without_nvrtc(void **state)
{
    session *s = *state;
    ptxgen *ctx = open_context(s, s->dir);
    ptxgen_function f = cuda_function();
    refused(ctx, &f, PTXGEN_EMISSING, 0, "or give the function as PTX");
    f = ptx_function();
    check_scatter(ctx, add(ctx, &f), PTXGEN_F32, false); /* PTX needs nothing */
    ptxgen_destroy(ctx);
}

static void test_signature(void **state)
{
    ptxgen *ctx = open_context(*state, NULL);
    ptxgen_error err = {0};
    ptxgen_kernel *k;
    char params[100];
    ptxgen_function f = ptx_function();
    f.text = ".version 8.0\n.target sm_80\n.address_size 64\n"
             ".visible .func (.param .b64 r) f(.param .b32 x)\n{\n    ret;\n}\n";
    snprintf(params, sizeof params, "function=%lld", (long long)add(ctx, &f));
    assert_int_equal(ptxgen_emit(ctx, "scatter_add", params, &k, &err), PTXGEN_EINVAL);
    assert_non_null(
        strstr(err.message, "it must be float f(float value, long long row, int column)"));
    assert_int_equal(ptxgen_emit(ctx, "scatter_add", "function=77", &k, &err), PTXGEN_EINVAL);
    assert_non_null(strstr(err.message, "function 77 is not known to this context"));
    snprintf(params, sizeof params, "schedule=bulk function=%lld", (long long)add(ctx, &f));
    assert_int_equal(ptxgen_emit(ctx, "scatter_add", params, &k, &err), PTXGEN_EUNSUPPORTED);
    assert_non_null(strstr(err.message, "a user function needs schedule=vector"));
    ptxgen_destroy(ctx);
}

static void test_fields(void **state)
{
    ptxgen *ctx = open_context(*state, STUB("1"));
    ptxgen_function f = cuda_function();
    f.language = 0;
    refused(ctx, &f, PTXGEN_EINVAL, 0, "function.language is 0");
    f = cuda_function();
    f.text = NULL;
    refused(ctx, &f, PTXGEN_EINVAL, 0, "function.text is NULL");
    f.text = "";
    refused(ctx, &f, PTXGEN_EINVAL, 0, "function.text is empty");
    f = cuda_function();
    f.division = 3;
    refused(ctx, &f, PTXGEN_EINVAL, 0, "function.division is 3");
    f = cuda_function();
    f.file = "a\nb";
    refused(ctx, &f, PTXGEN_EINVAL, 0, "take no quotes");
    f = cuda_function();
    f.header_count = 1;
    refused(ctx, &f, PTXGEN_EINVAL, 0, "function.headers is NULL");
    f = ptx_function();
    f.option_count = 1;
    refused(ctx, &f, PTXGEN_EINVAL, 0, "PTX takes none");
    f = ptx_function();
    f.size = 0;
    refused(ctx, &f, PTXGEN_EINVAL, 0, "size");
    f = ptx_function();
    f.text =
        ".version 8.0\n.target sm_80\n.visible .func a() { ret; }\n.visible .func b() { ret; }\n";
    refused(ctx, &f, PTXGEN_EINVAL, 0, "defines 2 functions that it does not hide");
    ptxgen_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scatter_add),
        cmocka_unit_test(test_endless_loop),
        cmocka_unit_test(test_wild_address),
        cmocka_unit_test(test_map),
        cmocka_unit_test(test_key_holds_everything),
        cmocka_unit_test(test_compiled_once),
        cmocka_unit_test(test_shared_by_kernels),
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_files_are_not_read),
        cmocka_unit_test(test_options_are_judged),
        cmocka_unit_test(test_compiler_refuses),
        cmocka_unit_test(test_deadline),
        cmocka_unit_test(test_without_nvrtc),
        cmocka_unit_test(test_signature),
        cmocka_unit_test(test_fields),
    };
    return cmocka_run_group_tests(tests, make_session, drop_session);
}
