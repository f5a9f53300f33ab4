/* Inlined equals called, bit for bit: each file of tests/ptx/inline holds functions and the body
 * of a kernel that calls them. It runs on the emulator as it is (the functions are called), with
 * the functions inlined, and with the texts only put together; the results must be the same
 * bits. Where ptxas is installed it must take what came out. */
#include "test.h"

#include "ptxgen/emulator.h"
#include "ptxgen/inline.h"

#include <dirent.h>
#include <unistd.h>

enum { THREADS = 64, WORDS = 4 * THREADS, MAX_TEXT = 1 << 16 };

static const char header[] = ".version 8.3\n.target sm_90a\n.address_size 64\n";
static const char prologue[] = ".visible .entry k(.param .u64 out, .param .u64 in)\n"
                               "{\n"
                               "    .reg .b32 %a<4>, %o<4>, %thread;\n"
                               "    .reg .b64 %in, %out, %at;\n"
                               "    mov.u32 %thread, %tid.x;\n"
                               "    mul.wide.u32 %at, %thread, 16;\n"
                               "    ld.param.u64 %in, [in];\n"
                               "    ld.param.u64 %out, [out];\n"
                               "    add.s64 %in, %in, %at;\n"
                               "    add.s64 %out, %out, %at;\n"
                               "    ld.global.v4.b32 {%a0, %a1, %a2, %a3}, [%in];\n";
static const char epilogue[] = "    st.global.v4.b32 [%out], {%o0, %o1, %o2, %o3};\n"
                               "    ret;\n"
                               "}\n";

/* The sections of a file. */
typedef struct example {
    char name[64];
    char functions[MAX_TEXT], declarations[MAX_TEXT], variables[MAX_TEXT], body[MAX_TEXT];
} example;

typedef struct text {
    char bytes[4 * MAX_TEXT];
} text;

static void load_example(example *e, const char *name)
{
    char path[512], line[512];
    char *to = e->functions;
    *e = (example){0};
    snprintf(e->name, sizeof e->name, "%.60s", name);
    snprintf(path, sizeof path, PTXGEN_SOURCE_DIR "/tests/ptx/inline/%s", name);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        if (!strcmp(line, "//// declarations\n"))
            to = e->declarations;
        else if (!strcmp(line, "//// kernel variables\n"))
            to = e->variables;
        else if (!strcmp(line, "//// body\n"))
            to = e->body;
        else
            strcat(to, line);
    }
    fclose(f);
    assert_true(e->body[0] && e->declarations[0]);
}

/* All in one module: what calls are. */
static void called_text(const example *e, text *t)
{
    snprintf(t->bytes, sizeof t->bytes, "%s%s%s%s%s%s", header, e->functions, e->variables,
             prologue, e->body, epilogue);
}

/* The kernel alone. KERNEL_x is a name that only here may be x. */
static void kernel_text(const example *e, text *t)
{
    snprintf(t->bytes, sizeof t->bytes, "%s%s%s%s%s%s", header, e->declarations, e->variables,
             prologue, e->body, epilogue);
    for (char *p; (p = strstr(t->bytes, "KERNEL_")) != NULL;)
        memmove(p, p + 7, strlen(p + 7) + 1);
}

static void function_text(const example *e, text *t)
{
    snprintf(t->bytes, sizeof t->bytes, "%s%s", header, e->functions);
}

/* ---- running ---- */

static void fill(uint32_t *in)
{
    static const uint32_t special[] = {0,          1,          0xFFFFFFFF, 0x80000000,
                                       0x7FFFFFFF, 0x3F800000, 0xC0A00000, 0x7F800000,
                                       0x7FC00001, 0x00000001, 0x40490FDB, 0xFF7FFFFF};
    uint32_t random = 99;
    for (unsigned i = 0; i < WORDS; i++) {
        random = random * 1664525u + 1013904223u;
        in[i] = i % 3 ? random ^ random >> 7
                      : special[random >> 16 & 7 ? i / 3 % 12 : random >> 20 & 7];
    }
}

static void run(const example *e, const char *what, const char *ptx, uint32_t *out)
{
    ptxgen_error err = {0};
    ptxgen_emulator *emu;
    ptxgen_emulator_module *module;
    ptxgen_emulator_entry *entry;
    uint32_t *in = calloc(WORDS, sizeof *in);
    const ptxgen_emulator_config config = {
        .size = sizeof config, .threads = 1, .instruction_budget = 1000000};
    fill(in);
    memset(out, 0xEE, WORDS * sizeof *out);
    assert_int_equal(ptxgen_emulator_create(&config, &emu, &err), PTXGEN_OK);
    if (ptxgen_emulator_load(emu, ptx, strlen(ptx), what, &module, &err) != PTXGEN_OK)
        fail_msg("%s, %s: %s\n%s", e->name, what, err.message, ptx);
    ptxgen_emulator_add_buffer(emu, "in", in, WORDS * sizeof *in, 0, &err);
    ptxgen_emulator_add_buffer(emu, "out", out, WORDS * sizeof *out, PTXGEN_EMULATOR_WRITABLE,
                               &err);
    const ptxgen_emulator_launch launch = {.size = sizeof launch,
                                           .block = {THREADS, 1, 1},
                                           .args = (void *[]){&out, &in},
                                           .arg_count = 2};
    if (ptxgen_emulator_find(module, "k", &entry, &err) != PTXGEN_OK ||
        ptxgen_emulator_run(entry, &launch, &err) != PTXGEN_OK)
        fail_msg("%s, %s: %s\n%s", e->name, what, err.message, ptx);
    ptxgen_emulator_unload(module);
    ptxgen_emulator_destroy(emu);
    free(in);
}

/* ptxas, where it is installed, takes the text. */
static void assemble(const example *e, const char *what, const char *ptx)
{
    char path[256], command[600];
    if (system("ptxas --version >/dev/null 2>&1") != 0)
        return;
    snprintf(path, sizeof path, "/tmp/ptxgen_inline_%ld.ptx", (long)getpid());
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(ptx, f);
    fclose(f);
    snprintf(command, sizeof command, "ptxas -arch=sm_90a %s -o /dev/null", path);
    if (system(command) != 0)
        fail_msg("%s, %s: ptxas refuses\n%s", e->name, what, ptx);
    remove(path);
}

static void compare(const example *e, const char *what, const uint32_t *got, const uint32_t *wanted)
{
    for (unsigned i = 0; i < WORDS; i++)
        if (got[i] != wanted[i])
            fail_msg("%s, %s: thread %u, word %u is %08x, not %08x", e->name, what, i / 4, i % 4,
                     got[i], wanted[i]);
}

static ptxgen_inlined *merge(const example *e, int64_t budget)
{
    static text kernel, function;
    ptxgen_inlined *merged;
    ptxgen_error err = {0};
    kernel_text(e, &kernel);
    function_text(e, &function);
    const ptxgen_inline_args args = {
        .size = sizeof args, .kernel = kernel.bytes, .function = function.bytes, .budget = budget};
    if (ptxgen_inline(&args, &merged, &err) != PTXGEN_OK)
        fail_msg("%s: %s\n%s", e->name, err.message, kernel.bytes);
    return merged;
}

/* Every line of the merged text has its origin: a line of the kernel that was not touched is
 * that line. */
static void check_lines(const example *e, const ptxgen_inlined *merged)
{
    static text kernel;
    const char *at = ptxgen_inlined_text(merged, NULL);
    size_t same = 0, n = 0;
    kernel_text(e, &kernel);
    for (ptxgen_inlined_line line; *at && ptxgen_inlined_line_at(merged, n, &line); n++) {
        const char *source = kernel.bytes;
        const size_t length = strcspn(at, "\n");
        for (unsigned i = 1; line.source == PTXGEN_INLINED_KERNEL && i < line.line; i++)
            source += strcspn(source, "\n") + 1;
        same += line.source == PTXGEN_INLINED_KERNEL && strcspn(source, "\n") == length &&
                !strncmp(source, at, length);
        at += length + (at[length] == '\n');
    }
    assert_true(*at == 0);
    if (same < 16) /* prologue and epilogue alone have more */
        fail_msg("%s: only %zu of %zu lines are known to be the kernel's", e->name, same, n);
}

static void check_example(const char *name)
{
    static example e;
    static text t;
    uint32_t wanted[WORDS], got[WORDS];
    ptxgen_inlined_call call;
    load_example(&e, name);
    called_text(&e, &t);
    run(&e, "called", t.bytes, wanted);
    ptxgen_inlined *merged = merge(&e, 0), *joined = merge(&e, -1);
    assert_true(ptxgen_inlined_call_at(merged, 0, &call));
    bool all = true;
    for (size_t i = 0; ptxgen_inlined_call_at(merged, i, &call); i++)
        all &= call.inlined;
    assert_int_equal(all, strcmp(name, "mixed.ptx") != 0);
    if (all) /* comments say "call" only before a body */
        assert_null(strstr(strstr(ptxgen_inlined_text(merged, NULL), "%tid.x"), "\n    call"));
    check_lines(&e, merged);
    run(&e, "inlined", ptxgen_inlined_text(merged, NULL), got);
    compare(&e, "inlined", got, wanted);
    run(&e, "joined", ptxgen_inlined_text(joined, NULL), got);
    compare(&e, "joined", got, wanted);
    assemble(&e, "inlined", ptxgen_inlined_text(merged, NULL));
    assemble(&e, "joined", ptxgen_inlined_text(joined, NULL));
    ptxgen_inlined_free(merged);
    ptxgen_inlined_free(joined);
}

static void test_inlined_equals_called(void **state)
{
    (void)state;
    int n = 0;
    DIR *folder = opendir(PTXGEN_SOURCE_DIR "/tests/ptx/inline");
    assert_non_null(folder);
    for (struct dirent *d; (d = readdir(folder)) != NULL;)
        if (strstr(d->d_name, ".ptx")) {
            check_example(d->d_name);
            n++;
        }
    closedir(folder);
    assert_true(n >= 13);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_inlined_equals_called)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
