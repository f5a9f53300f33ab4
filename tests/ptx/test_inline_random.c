/* The inliner on functions that NVRTC compiles from random C++: scalars of all sizes, structs
 * and vectors as parameters and results, loops, switches, arrays indexed at run time, helpers
 * that are not inlined, tables, exact division. One source has functions and kernel together and
 * is compiled whole; from the other two the kernel gets its functions by ptxgen_inline. Both run
 * on the emulator and must give the same bits; ptxas, where it is installed, must take the
 * result. Skipped without NVRTC. An argument is the number of seeds. */
#include "test.h"

#include "assemble/nvrtc.h"
#include "ptxgen/emulator.h"
#include "ptxgen/inline.h"

enum { FUNCTIONS = 10, THREADS = 32, SLOTS = 2 * FUNCTIONS };

typedef struct writer {
    char *at, *end;
    uint64_t state;
    int depth;
} writer;

static uint32_t draw(writer *w, uint32_t n)
{
    w->state = w->state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t)(w->state >> 33) % n;
}

static void put(writer *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(writer *w, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(w->at, (size_t)(w->end - w->at), format, args);
    va_end(args);
    assert_true(n < w->end - w->at);
    w->at += n;
}

/* ---- types: how one is declared, made from two floats and an int, and made one float again --- */

typedef struct kind {
    const char *name, *make, *take;
} kind;

static const kind kinds[] = {
    {"float", "(x)", "(%s)"},
    {"int", "(i)", "((float)%s)"},
    {"double", "((double)x * 3)", "((float)%s)"},
    {"char", "((char)(i * 37))", "((float)%s)"},
    {"unsigned char", "((unsigned char)(i * 41))", "((float)%s)"},
    {"short", "((short)(i * 1001))", "((float)%s)"},
    {"bool", "(i % 3 == 1)", "(%s ? 1.5f : 2.5f)"},
    {"long long", "((long long)i << 33)", "((float)(%s >> 30))"},
    {"float4", "make_float4(x, y, x + y, (float)i)", "(%s.x * 2 + %s.w)"},
    {"float2", "make_float2(y, x)", "(%s.x - %s.y)"},
    {"Mixed", "Mixed{(char)i, x, (short)(i * 5), (double)y}", "(%s.a + %s.b * %s.c + (float)%s.d)"},
    {"Bytes", "Bytes{{(char)i, (char)(i + 1), (char)(i * 2)}}",
     "((float)(%s.v[0] + 2 * %s.v[1] + 3 * %s.v[2]))"},
    {"Many", "Many{{x, y, x, y, 1, 2, 3, (float)i, x}}", "(%s.v[0] + %s.v[7] * %s.v[8])"},
};
enum { KINDS = sizeof kinds / sizeof *kinds, MAX_PARAMS = 5 };

static const char preamble[] = "struct Mixed { char a; float b; short c; double d; };\nstruct "
                               "Bytes { char v[3]; };\nstruct Many { float v[9]; };\n";

typedef struct function {
    int result, n, params[MAX_PARAMS];
} function;

static void put_taken(writer *w, const kind *k, const char *name)
{
    for (const char *p = k->take; *p; p++) {
        if (p[0] == '%' && p[1] == 's') {
            put(w, "%s", name);
            p++;
        } else {
            put(w, "%c", *p);
        }
    }
}

static void put_signature(writer *w, const function *f, int index)
{
    put(w, "%s f%d(", kinds[f->result].name, index);
    for (int i = 0; i < f->n; i++)
        put(w, "%s%s p%d", i ? ", " : "", kinds[f->params[i]].name, i);
    put(w, ")");
}

/* ---- bodies: x and y are floats, i an int ---- */

static void put_statement(writer *w);

static void put_block(writer *w)
{
    put(w, "{ ");
    w->depth++;
    for (int n = 1 + (int)draw(w, 3); n; n--)
        put_statement(w);
    w->depth--;
    put(w, "}\n");
}

static void put_statement(writer *w)
{
    static const char *const plain[] = {
        "x = x * 1.25f + y;",
        "y = y - x * 0.5f;",
        "i = i * 7 + 3;",
        "x = fmaxf(x, y);",
        "x = y / (1 + x * x);",
        "y = sqrtf(fabsf(x));",
        "i ^= (int)y;",
        "x += table[i & 7];",
        "y = expf(-fabsf(x));",
        "x = __int_as_float(__float_as_int(x) ^ (i & 255));",
        "i = (i >> 3) - i;",
        "y = helper(x, i);",
        "x = sinf(y);",
        "i += x < y ? 5 : -5;",
        "{ float a[6]; for (int k = 0; k < 6; k++) a[k] = x * k + y; x = a[(unsigned)i % 6]; }",
    };
    const uint32_t n = sizeof plain / sizeof *plain, which = draw(w, w->depth < 3 ? n + 4 : n);
    if (which < n) {
        put(w, "%s ", plain[which]);
    } else if (which == n) {
        put(w, "if (i & %u) ", 1u << draw(w, 5));
        put_block(w);
    } else if (which == n + 1) {
        put(w, "for (int k%d = 0; k%d < (i & 3) + 1; k%d++) ", w->depth, w->depth, w->depth);
        put_block(w);
    } else if (which == n + 2) {
        put(w, "switch (i & 7) { case 0: x += 1; break; case 1: y *= 2; break; case 2: x -= y; "
               "break; case 3: i++; break; "
               "case 5: y = x; break; default: i -= 2; } ");
    } else {
        put(w, "if (x > %u.5f) goto out; ", draw(w, 4));
    }
}

static void put_function(writer *w, const function *f, int index)
{
    put(w, "extern \"C\" __device__ __noinline__ ");
    put_signature(w, f, index);
    put(w, "\n{\nfloat x = 0.5f, y = 1.5f; int i = %d;\n", index);
    for (int i = 0; i < f->n; i++) {
        char name[16];
        snprintf(name, sizeof name, "p%d", i);
        put(w, "%s += ", i % 2 ? "y" : "x");
        put_taken(w, &kinds[f->params[i]], name);
        put(w, "; i = i * 3 + (int)%s;\n", i % 2 ? "y" : "x");
    }
    for (int n = 2 + (int)draw(w, 6); n; n--)
        put_statement(w);
    put(w, "\ngoto out; out:\nreturn %s;\n}\n", kinds[f->result].make);
}

static void put_functions(writer *w, const function *f)
{
    put(w, "__constant__ float table[8] = {1, 2, 3, 4, 5, 6, 7, 8};\n"
           "static __device__ __noinline__ float helper(float x, int i) { return i & 1 ? x * 3 - "
           "table[i & 3] : x + i; }\n");
    for (int i = 0; i < FUNCTIONS; i++)
        put_function(w, &f[i], i);
}

static void put_kernel(writer *w, const function *f, bool declare)
{
    for (int i = 0; declare && i < FUNCTIONS; i++) {
        put(w, "extern \"C\" __device__ ");
        put_signature(w, &f[i], i);
        put(w, ";\n");
    }
    put(w, "extern \"C\" __global__ void k(float *out)\n{\nint i = threadIdx.x; float x = i * "
           "0.37f - 3, y = 2 - i * 0.11f;\n");
    for (int s = 0; s < SLOTS; s++) {
        const function *g = &f[s % FUNCTIONS];
        put(w, "%s{ %s r = f%d(", s % 5 == 3 ? "if (i & 2) " : "", kinds[g->result].name,
            s % FUNCTIONS);
        for (int i = 0; i < g->n; i++)
            put(w, "%s%s", i ? ", " : "", kinds[g->params[i]].make);
        put(w, "); out[i * %d + %d] = ", SLOTS, s);
        put_taken(w, &kinds[g->result], "r");
        put(w, "; x += %d * 0.125f; y = x * 0.5f - y; }\n", s);
    }
    put(w, "}\n");
}

/* ---- compiling and running ---- */

static pg_toolkit *toolkit;

static void compile(const char *text, pg_buf *ptx)
{
    ptxgen_error err = {0};
    pg_buf log;
    pg_buf_init(ptx, &pg_alloc_libc);
    pg_buf_init(&log, &pg_alloc_libc);
    const pg_cuda_request request = {.text = text, .file = "random.cu", .arch = 901};
    if (pg_toolkit_compile_cuda(toolkit, &request, ptx, &log, &err) != PTXGEN_OK)
        fail_msg("%s\n%s", err.message, text);
    pg_buf_fini(&log);
}

static void run(const char *what, const char *ptx, float *out)
{
    ptxgen_error err = {0};
    ptxgen_emulator *emu;
    ptxgen_emulator_module *module;
    ptxgen_emulator_entry *entry;
    const ptxgen_emulator_config config = {
        .size = sizeof config, .threads = 1, .instruction_budget = 10000000};
    const ptxgen_emulator_launch launch = {
        .size = sizeof launch, .block = {THREADS, 1, 1}, .args = (void *[]){&out}, .arg_count = 1};
    memset(out, 0, THREADS * SLOTS * sizeof *out);
    assert_int_equal(ptxgen_emulator_create(&config, &emu, &err), PTXGEN_OK);
    if (ptxgen_emulator_load(emu, ptx, strlen(ptx), what, &module, &err) != PTXGEN_OK)
        fail_msg("%s: %s\n%s", what, err.message, ptx);
    ptxgen_emulator_add_buffer(emu, "out", out, THREADS * SLOTS * sizeof *out,
                               PTXGEN_EMULATOR_WRITABLE, &err);
    if (ptxgen_emulator_find(module, "k", &entry, &err) != PTXGEN_OK ||
        ptxgen_emulator_run(entry, &launch, &err) != PTXGEN_OK)
        fail_msg("%s: %s\n%s", what, err.message, ptx);
    ptxgen_emulator_unload(module);
    ptxgen_emulator_destroy(emu);
}

static void assemble(const char *ptx)
{
    ptxgen_error err = {0};
    ptxgen_assembler which;
    const char *identity;
    pg_assembly assembly;
    const pg_assembly_request request = {.ptx = ptx, .ptx_size = strlen(ptx), .arch = 901};
    if (pg_toolkit_choose(toolkit, (pg_assembly_need){.whole_program = true}, &which, &identity,
                          &err) != PTXGEN_OK)
        return;
    pg_buf_init(&assembly.cubin, &pg_alloc_libc);
    pg_buf_init(&assembly.log, &pg_alloc_libc);
    if (pg_toolkit_assemble(toolkit, which, &request, &assembly, &err) != PTXGEN_OK)
        fail_msg("%s\n%s", err.message, ptx);
    pg_buf_fini(&assembly.cubin);
    pg_buf_fini(&assembly.log);
}

static void check_merged(uint64_t seed, const pg_buf *kernel, const pg_buf *functions,
                         const float *want)
{
    static float got[THREADS * SLOTS];
    ptxgen_error err = {0};
    ptxgen_inlined_call call;
    for (int64_t budget = -1; budget <= 1000000;
         budget += 1000001) { /* nothing inlined, everything */
        ptxgen_inlined *merged;
        const ptxgen_inline_args args = {.size = sizeof args,
                                         .kernel = pg_buf_text(kernel),
                                         .function = pg_buf_text(functions),
                                         .budget = budget};
        if (ptxgen_inline(&args, &merged, &err) != PTXGEN_OK)
            fail_msg("seed %llu: %s\n%s", (unsigned long long)seed, err.message,
                     pg_buf_text(functions));
        for (size_t i = 0; ptxgen_inlined_call_at(merged, i, &call); i++)
            assert_int_equal(call.inlined, budget > 0);
        run(budget < 0 ? "joined" : "inlined", ptxgen_inlined_text(merged, NULL), got);
        if (memcmp(got, want, sizeof got))
            fail_msg("seed %llu, budget %lld: other bits\n%s", (unsigned long long)seed,
                     (long long)budget, ptxgen_inlined_text(merged, NULL));
        assemble(ptxgen_inlined_text(merged, NULL));
        ptxgen_inlined_free(merged);
    }
}

static void check_seed(uint64_t seed)
{
    static char whole[1 << 16], functions[1 << 16], kernel[1 << 16];
    static float want[THREADS * SLOTS];
    function f[FUNCTIONS];
    pg_buf ptx[3];
    writer w = {.at = whole, .end = whole + sizeof whole, .state = seed * 977};
    for (int i = 0; i < FUNCTIONS; i++) {
        f[i] = (function){.result = (int)draw(&w, KINDS), .n = (int)draw(&w, MAX_PARAMS + 1)};
        for (int p = 0; p < f[i].n; p++)
            f[i].params[p] = (int)draw(&w, KINDS);
    }
    put(&w, "%s", preamble);
    put_functions(&w, f);
    snprintf(functions, sizeof functions, "%s", whole);
    put_kernel(&w, f, false);
    w = (writer){.at = kernel, .end = kernel + sizeof kernel};
    put(&w, "%s", preamble);
    put_kernel(&w, f, true);
    compile(whole, &ptx[0]);
    compile(functions, &ptx[1]);
    compile(kernel, &ptx[2]);
    run("whole", pg_buf_text(&ptx[0]), want);
    check_merged(seed, &ptx[2], &ptx[1], want);
    for (int i = 0; i < 3; i++)
        pg_buf_fini(&ptx[i]);
}

static int seeds = 3;

static void test_random(void **state)
{
    (void)state;
    for (int seed = 1; seed <= seeds; seed++)
        check_seed((uint64_t)seed);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random)};
    const pg_toolkit_config config = {.cuda_home = getenv("CUDA_HOME"), .path = getenv("PATH")};
    const char *identity;
    ptxgen_error err = {0};
    if (argc > 1)
        seeds = atoi(argv[1]);
    if (pg_toolkit_create(&pg_alloc_libc, &(pg_log){0}, &config, &toolkit, &err) != PTXGEN_OK ||
        pg_toolkit_nvrtc(toolkit, &identity, &err) != PTXGEN_OK) {
        printf("skipped: %s\n", err.message);
        return TEST_SKIPPED;
    }
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    pg_toolkit_destroy(toolkit);
    return failed;
}
