/* Random instructions made from every row of the opcode table: they parse as that row, come back
 * from the printer, and mean the same with their suffixes in another order. Where ptxas is
 * installed, it takes the plainest instruction of every row that something runs. */
#include "test.h"

#include "ptx/table/form.h"
#include "ptx/ptx.h"
#include "ptx/table/vocabulary.h"
#include "ptx_examples.h"

#include <sys/wait.h>
#include <unistd.h>

enum { EXAMPLES = 40, LONGEST = 8192 };

static void put_header(const char *target, pg_buf *out)
{
    pg_buf_printf(out, ".version 9.0\n.target %s\n.address_size 64\n.func callee() { ret; }\n",
                  target);
}

static void put_kernel(const char *name, const char *code, pg_buf *out)
{
    pg_buf_printf(out, ".visible .entry %s(.param .align 16 .b8 parameter[64])\n{\n", name);
    ptx_example_declarations(out);
    pg_buf_printf(out, "targets: .branchtargets label;\n%s\nlabel: ret;\n}\n", code);
}

static ptxgen_status load(pg_arena *arena, const char *target, const char *code,
                          pg_ptx_module **module, ptxgen_error *err)
{
    pg_buf text;
    pg_buf_init(&text, &pg_alloc_libc);
    put_header(target, &text);
    put_kernel("k", code, &text);
    ptxgen_status status = pg_ptx_load(arena, text.data, text.len, NULL, module, err);
    pg_buf_fini(&text);
    return status;
}

/* Suffixes that belong to one field alone may stand anywhere; types, spaces and priorities keep
 * their order. */
static bool may_move(pg_str word)
{
    unsigned fields = 0;
    for (unsigned m = 1; m < PG_PTX_MODIFIER_COUNT; m++)
        fields += pg_str_is(word, pg_modifier_table[m].spelling);
    return fields == 1 && strncmp(word.p, "L2::evict", 9) != 0;
}

/* Moves the first suffix behind the mnemonic to the end of the spelling. */
static bool rotate(const char *instruction, const char *mnemonic, char *out)
{
    size_t head = strlen(mnemonic), end = strcspn(instruction, " ;");
    if (instruction[head] != '.')
        return false;
    const char *first = instruction + head + 1;
    size_t n = strcspn(first, ". ;");
    pg_str word = {first, n};
    if (head + 1 + n >= end || !may_move(word))
        return false;
    snprintf(out, LONGEST, "%.*s%.*s.%.*s%s", (int)head, instruction, (int)(end - head - 1 - n),
             first + n, (int)n, first, instruction + end);
    return true;
}

static void check_example(pg_ptx_op op, const char *instruction)
{
    const char *target = ptx_example_target(op);
    pg_arena arena;
    pg_ptx_module *module, *again;
    ptxgen_error err = {0};
    pg_buf printed;
    char rotated[LONGEST];
    pg_arena_init(&arena, &pg_alloc_libc);
    pg_buf_init(&printed, &pg_alloc_libc);
    if (load(&arena, target, instruction, &module, &err) != PTXGEN_OK) {
        /* Constraints between suffixes are the verifier's: not every combination is legal. */
        pg_arena_fini(&arena);
        return;
    }
    pg_ptx_print(module, &printed);
    if (pg_ptx_load(&arena, printed.data, printed.len, NULL, &again, &err) != PTXGEN_OK)
        fail_msg("%s printed: %s", instruction, err.message);
    if (!pg_ptx_equal(module, again, NULL))
        fail_msg("%s: printed and parsed it differs", instruction);
    if (rotate(instruction, pg_ptx_op_describe(op)->mnemonic, rotated)) {
        if (load(&arena, target, rotated, &again, &err) != PTXGEN_OK)
            fail_msg("%s: %s", rotated, err.message);
        if (!pg_ptx_equal(module, again, NULL))
            fail_msg("%s and %s differ", instruction, rotated);
    }
    pg_buf_fini(&printed);
    pg_arena_fini(&arena);
}

static void examples_come_back_from_the_printer(void **state)
{
    (void)state;
    uint64_t random = 12345;
    pg_buf b;
    pg_buf_init(&b, &pg_alloc_libc);
    for (int op = 0; op < PG_PTX_OP_COUNT; op++)
        for (int i = 0; i < EXAMPLES; i++) {
            pg_buf_truncate(&b, 0);
            if (ptx_example((pg_ptx_op)op, &random, i == 0, &b))
                check_example((pg_ptx_op)op, pg_buf_text(&b));
        }
    pg_buf_fini(&b);
}

/* Taken, and without a warning that ptxas does not. */
static bool is_ours(pg_ptx_op op, const char *instruction)
{
    pg_arena arena;
    pg_buf text;
    pg_ptx_module *module;
    pg_ptx_diagnostics d;
    pg_arena_init(&arena, &pg_alloc_libc);
    pg_buf_init(&text, &pg_alloc_libc);
    put_header(ptx_example_target(op), &text);
    put_kernel("k", instruction, &text);
    const bool ours =
        pg_ptx_parse(&arena, text.data, text.len, NULL, &module, &d) == PTXGEN_OK && !d.count;
    pg_buf_fini(&text);
    pg_arena_fini(&arena);
    return ours;
}

/* A plain example that is ours, if it takes a few draws. */
static bool plain_example(pg_ptx_op op, pg_buf *out)
{
    uint64_t random = 1;
    for (int i = 0; i < EXAMPLES; i++) {
        pg_buf_truncate(out, 0);
        if (!ptx_example(op, &random, true, out))
            return false;
        if (is_ours(op, pg_buf_text(out)))
            return true;
    }
    return false;
}

/* A kernel of its own for the plainest example of every row for this target that something runs;
 * adds to *rows. */
static void put_plain_examples(const char *target, pg_buf *text, unsigned *rows)
{
    pg_buf b;
    pg_buf_init(&b, &pg_alloc_libc);
    for (int op = 0; op < PG_PTX_OP_COUNT; op++) {
        const pg_ptx_op_info *info = pg_ptx_op_describe((pg_ptx_op)op);
        if (!strcmp(info->semantics, "parse_only") ||
            strcmp(ptx_example_target((pg_ptx_op)op), target) != 0 ||
            !plain_example((pg_ptx_op)op, &b))
            continue;
        put_kernel(info->name, pg_buf_text(&b), text);
        ++*rows;
    }
    pg_buf_fini(&b);
}

static bool ptxas_takes(const char *target, const pg_buf *text)
{
    char command[512], path[] = "/tmp/ptxgen_forms_XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text->data, text->len), (ssize_t)text->len);
    close(fd);
    snprintf(command, sizeof command, "ptxas -c -O0 -arch=%s -o /dev/null %s ", target, path);
    int status = system(command);
    unlink(path);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void ptxas_takes_the_plainest_of_every_row(void **state)
{
    (void)state;
    static const char *const targets[] = {"sm_75",  "sm_80",   "sm_90",   "sm_90a",
                                          "sm_100", "sm_100a", "sm_103a", "sm_120a"};
    bool have_ptxas = system("ptxas --version > /dev/null 2>&1") == 0;
    unsigned rows = 0;
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        pg_buf text;
        pg_buf_init(&text, &pg_alloc_libc);
        put_header(targets[i], &text);
        put_plain_examples(targets[i], &text, &rows);
        if (have_ptxas && !ptxas_takes(targets[i], &text))
            fail_msg("ptxas refuses an example for %s", targets[i]);
        pg_buf_fini(&text);
    }
    print_message("%u rows have a plain example\n", rows);
    assert_true(rows > 380);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(examples_come_back_from_the_printer),
        cmocka_unit_test(ptxas_takes_the_plainest_of_every_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
