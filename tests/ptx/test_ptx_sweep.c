/* Generated instructions, and what becomes of them when an operand or a suffix is changed,
 * against ptxas: what ptxas takes, ptxgen must take; of what ptxas refuses, ptxgen must warn.
 * Skipped where ptxas is not installed. PTX_SWEEP=SEED draws other instructions;
 * PTX_SWEEP_SHOW=1 prints every difference. */
#include "test.h"

#include "emulator/decode/decode.h"
#include "ptx/ptx.h"
#include "ptx_examples.h"

#include <unistd.h>

enum { LINES = 6000, LONGEST = 600, EACH = 3, BATCH = 100 };
/* Of the first draw: what ptxgen takes without a warning and ptxas does not, and of what ptxas
 * takes as well it warns. */
enum { MOST_LAX = 0, MOST_FALSE_WARNINGS = 0 };

typedef struct sweep {
    const char *target;
    uint64_t random;
    char line[LINES][LONGEST];
    bool refused[LINES]; /* by ptxas */
    char why[LINES][120];
    int count;
} sweep;

static uint64_t draw(sweep *s)
{
    s->random = s->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return s->random >> 33;
}

/* ---- changes ---- */

/* The n-th register behind the first operand, which may be a destination; NULL: there are fewer. */
static char *operand_of(char *line, unsigned n)
{
    char *at = strchr(line, ' ');
    for (int depth = 0; at && *at && !(*at == ',' && !depth); at++)
        depth += (*at == '{' || *at == '[') - (*at == '}' || *at == ']');
    while (at && (at = strchr(at, '%')) && n--)
        at++;
    return at;
}

static void replace(char *at, size_t old, const char *new_text)
{
    const size_t n = strlen(new_text);
    if (strlen(at) - old + n + 1 > LONGEST / 4)
        return;
    memmove(at + n, at + old, strlen(at + old) + 1);
    memcpy(at, new_text, n);
}

static void change_operand(sweep *s, char *line)
{
    char *at = operand_of(line, (unsigned)draw(s) % 3);
    if (!at)
        return;
    const size_t n = strcspn(at, " ,;]}|).");
    const bool integer = at[1] == 'b' || at[1] == 'u' || at[1] == 's';
    switch (draw(s) % 3) {
    case 0:
        replace(at, n, "1");
        break;
    case 1:
        if (integer && at[-1] != '{' && at[-1] != '[' && at[n] != '.')
            replace(at + n, 0, "+4");
        break;
    default:
        replace(at, n, "%tid.x");
        break;
    }
}

static void change_type(sweep *s, char *line)
{
    static const char *const types[] = {".u16", ".s16", ".b16", ".u32", ".s32", ".b32",
                                        ".u64", ".s64", ".b64", ".f32", ".f64", ".f16"};
    const size_t end = strcspn(line, " ;");
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        char *at = strstr(line, types[i]);
        if (!at || at > line + end)
            continue;
        memcpy(at, types[i / 3 * 3 + draw(s) % 3], 4);
        return;
    }
}

static void drop_suffix(sweep *s, char *line)
{
    const size_t end = strcspn(line, " ;");
    char *at = line;
    for (unsigned n = (unsigned)draw(s) % 4 + 1; n; n--) {
        char *next = strchr(at + 1, '.');
        if (!next || next > line + end)
            break;
        at = next;
    }
    if (at != line)
        replace(at, 1 + strcspn(at + 1, ". ;"), "");
}

static void add_lines(sweep *s, pg_ptx_op op)
{
    pg_buf b;
    pg_buf_init(&b, &pg_alloc_libc);
    for (unsigned i = 0; i < 4 * EACH && s->count < LINES; i++) {
        char *line = s->line[s->count];
        pg_buf_truncate(&b, 0);
        if (!ptx_example(op, &s->random, false, &b) || b.len + 40 > LONGEST ||
            strchr(pg_buf_text(&b), '\n') || strstr(pg_buf_text(&b), "label") ||
            strstr(pg_buf_text(&b), "targets"))
            break;
        strcpy(line, pg_buf_text(&b));
        if (i % 4 == 1)
            change_operand(s, line);
        else if (i % 4 == 2)
            change_type(s, line);
        else if (i % 4 == 3)
            drop_suffix(s, line);
        s->count++;
    }
    pg_buf_fini(&b);
}

/* ---- ptxas ---- */

static int first_line; /* of the file: that of line[0] */

/* Lines first .. end - 1, one a line; those that ptxas has refused are left blank. */
static void put_module(const sweep *s, pg_buf *out, int first, int end)
{
    pg_buf_printf(out, ".version 9.0\n.target %s\n.address_size 64\n.func callee() { ret; }\n",
                  s->target);
    pg_buf_printf(out, ".visible .entry k(.param .align 16 .b8 parameter[64])\n{\n");
    ptx_example_declarations(out);
    pg_buf_printf(out, "targets: .branchtargets label;\n");
    first_line = 1;
    for (size_t i = 0; i < out->len; i++)
        first_line += out->data[i] == '\n';
    for (int i = first; i < end; i++)
        pg_buf_printf(out, "%s\n", s->refused[i] ? "" : s->line[i]);
    pg_buf_printf(out, "label: ret;\n}\n");
}

/* Marks the lines that ptxas complains about; how many it found, or -1 when it takes all. */
static int run_ptxas(sweep *s, int first, int end)
{
    char command[400], path[] = "/tmp/ptxgen_sweep_XXXXXX", text[1000];
    int found = 0;
    pg_buf module;
    pg_buf_init(&module, &pg_alloc_libc);
    put_module(s, &module, first, end);
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, module.data, module.len), (ssize_t)module.len);
    close(fd);
    pg_buf_fini(&module);
    snprintf(command, sizeof command, "ptxas -c -O0 -arch=%s -o /dev/null %s 2>&1", s->target,
             path);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    while (fgets(text, sizeof text, pipe)) {
        const char *at = strstr(text, ", line ");
        const bool ours = strstr(text, path) != NULL;
        const int i = at && ours ? first + atoi(at + 7) - first_line : -1;
        if (i < first || i >= end || s->refused[i] ||
            (!strstr(text, "error") && !strstr(text, "fatal")))
            continue;
        found++;
        s->refused[i] = true;
        const char *reason = strstr(at, "; ");
        snprintf(s->why[i], sizeof s->why[i], "%.100s", reason ? reason + 2 : "");
        s->why[i][strcspn(s->why[i], "\n")] = 0;
    }
    const bool taken = pclose(pipe) == 0;
    unlink(path);
    return taken ? -1 : found;
}

/* ptxas stops at some errors, and at some without saying where: then each half is tried. */
static void judge(sweep *s, int first, int end)
{
    int found;
    do
        found = run_ptxas(s, first, end);
    while (found > 0);
    if (found < 0)
        return;
    if (end - first == 1) {
        s->refused[first] = true;
        return;
    }
    judge(s, first, (first + end) / 2);
    judge(s, (first + end) / 2, end);
}

/* ---- ptxgen ---- */

typedef enum verdict { REFUSED, WARNED_OF, TAKEN } verdict;

static verdict ptxgen_says(sweep *s, int line, ptxgen_error *err)
{
    pg_buf module;
    pg_arena arena;
    pg_ptx_module *m;
    pg_ptx_diagnostics d;
    pg_buf_init(&module, &pg_alloc_libc);
    pg_arena_init(&arena, &pg_alloc_libc);
    const bool refused = s->refused[line];
    s->refused[line] = false;
    put_module(s, &module, line, line + 1);
    s->refused[line] = refused;
    const bool ok = pg_ptx_parse(&arena, module.data, module.len, NULL, &m, &d) == PTXGEN_OK;
    const verdict v = !ok ? REFUSED : d.count ? WARNED_OF : TAKEN;
    if (!ok)
        pg_ptx_load(&arena, module.data, module.len, NULL, &m, err);
    pg_arena_fini(&arena);
    pg_buf_fini(&module);
    return v;
}

/* Spellings of which nobody knows what they mean, or that ptxas takes by oversight. */
static bool is_tolerated(const char *line, const char *message)
{
    static const struct {
        const char *line, *message;
    } known[] = {
        {"testp.f", "suffix is missing"}, /* which property? */
        {"mov.b", "elements of 32 bits"}, /* 64 bits as 128 */
        {"mapa", ".s"},
        {"getctarank", ".s"}, /* a signed address */
        {"setmaxnreg", ".s32"},
        {"su", "not a vector"}, /* a vector without .v2 */
        {"st.async", "not a vector"},
        {"st.async", "one too many: .release"},   /* a scope without an order */
        {"", "an integer constant does not fit"}, /* 1 as a half, or as bits of a float */
        {"", "only an integer register can have a constant added"}, /* %b8+4, %b128+4, %f32+4 */
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strncmp(line, known[i].line, strlen(known[i].line)) &&
            strstr(message, known[i].message))
            return true;
    return false;
}

typedef struct counts {
    int missing, lax, false_warnings;
} counts;

static void compare(sweep *s, counts *c)
{
    const bool show = getenv("PTX_SWEEP_SHOW") != NULL;
    for (int i = 0; i < s->count; i++) {
        ptxgen_error err = {0};
        const verdict v = ptxgen_says(s, i, &err);
        const bool missing =
            v == REFUSED && !s->refused[i] && !is_tolerated(s->line[i], err.message);
        const bool lax = v == TAKEN && s->refused[i],
                   false_warning = v == WARNED_OF && !s->refused[i];
        c->missing += missing;
        c->lax += lax;
        c->false_warnings += false_warning;
        if (missing || ((lax || false_warning) && show))
            print_message("%s %s: %s %s\n",
                          missing ? "MISSING"
                          : lax   ? "lax"
                                  : "warned of",
                          s->target, s->line[i], missing ? err.message : s->why[i]);
    }
}

static void ptxgen_takes_what_ptxas_takes(void **state)
{
    (void)state;
    static const char *const targets[] = {"sm_90a", "sm_100a"};
    static sweep s;
    counts c = {0};
    int total = 0;
    if (system("ptxas --version > /dev/null 2>&1") != 0)
        skip();
    for (size_t t = 0; t < sizeof targets / sizeof *targets; t++) {
        memset(&s, 0, sizeof s);
        s.target = targets[t];
        s.random = getenv("PTX_SWEEP") ? (uint64_t)atoll(getenv("PTX_SWEEP")) : 1;
        for (int op = 0; op < PG_PTX_OP_COUNT; op++)
            add_lines(&s, (pg_ptx_op)op);
        for (int i = 0; i < s.count; i += BATCH)
            judge(&s, i, i + BATCH < s.count ? i + BATCH : s.count);
        compare(&s, &c);
        total += s.count;
    }
    print_message("%d instructions: %d that only ptxas takes, %d that only ptxgen takes without a "
                  "warning, %d that both take with one\n",
                  total, c.missing, c.lax, c.false_warnings);
    assert_int_equal(c.missing, 0);
    if (getenv("PTX_SWEEP"))
        return;
    assert_in_range(c.lax, 0, MOST_LAX);
    assert_in_range(c.false_warnings, 0, MOST_FALSE_WARNINGS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(ptxgen_takes_what_ptxas_takes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
