/* Which tcgen05 fences a run of a kernel needed: checking mode lists the others. The kernel is a
 * repaired twin of test_races: an accumulator goes from tcgen05.mma to tcgen05.ld and back. */
#include "test.h"

#include "ptx_case.h"
#include "ptxgen/emulator.h"

enum { MOST_FENCES = 16, OUT_WORDS = 128 };

typedef struct fences {
    int line[MOST_FENCES];
    bool unneeded[MOST_FENCES];
    int count;
} fences;

/* The lines of the text that hold a tcgen05 fence. */
static void find_fences(const char *text, fences *f)
{
    int line = 1;
    f->count = 0;
    for (const char *at = text; at; at = strchr(at, '\n'), line++) {
        at += *at == '\n';
        const char *fence = strstr(at, "    tcgen05.fence::");
        if (fence == at && f->count < MOST_FENCES)
            f->line[f->count++] = line;
    }
}

static void run(const ptx_case *c, fences *f)
{
    static uint32_t out[OUT_WORDS];
    void *address = out, *args[] = {&address};
    const ptxgen_emulator_config config = {.size = sizeof config, .threads = 1, .check = true};
    const ptxgen_emulator_launch launch = {.size = sizeof launch,
                                           .grid = {1, 1, 1},
                                           .block = {c->block[0], 1, 1},
                                           .args = args,
                                           .arg_count = 1};
    ptxgen_emulator *emu;
    ptxgen_emulator_module *module;
    ptxgen_emulator_entry *entry;
    ptxgen_emulator_report r;
    ptxgen_error err;
    assert_int_equal(ptxgen_emulator_create(&config, &emu, &err), PTXGEN_OK);
    assert_int_equal(
        ptxgen_emulator_add_buffer(emu, "out", out, sizeof out, PTXGEN_EMULATOR_WRITABLE, &err),
        PTXGEN_OK);
    assert_int_equal(ptxgen_emulator_load(emu, c->text, c->length, NULL, &module, &err), PTXGEN_OK);
    assert_int_equal(ptxgen_emulator_find(module, NULL, &entry, &err), PTXGEN_OK);
    assert_int_equal(ptxgen_emulator_run(entry, &launch, &err), PTXGEN_OK);
    ptxgen_emulator_unload(module);
    memset(f->unneeded, 0, sizeof f->unneeded);
    for (size_t i = 0; ptxgen_emulator_get_report(emu, i, &r); i++) {
        assert_int_equal(r.kind, PTXGEN_EMULATOR_REPORT_UNNEEDED_FENCE);
        for (int n = 0; n < f->count; n++)
            f->unneeded[n] |= f->line[n] == r.line;
    }
    ptxgen_emulator_destroy(emu);
}

/* In the order of the text: around the barrier that publishes the address (nothing asynchronous
 * comes before it); mma -> ld; ld -> mma, two; mma -> ld; ld -> dealloc, which is synchronous. */
static void fences_that_order_nothing_are_listed(void **state)
{
    (void)state;
    static const bool unneeded[] = {true, true, false, false, false, false, true};
    fences f;
    ptx_case c;
    assert_true(ptx_case_read(
        PTXGEN_SOURCE_DIR "/tests/emulator/races/tcgen05_release_without_fence.good.ptx", &c));
    find_fences(c.text, &f);
    run(&c, &f);
    assert_int_equal(f.count, sizeof unneeded / sizeof *unneeded);
    for (int i = 0; i < f.count; i++)
        if (f.unneeded[i] != unneeded[i])
            fail_msg("line %d: %s", f.line[i], f.unneeded[i] ? "listed" : "not listed");
    ptx_case_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(fences_that_order_nothing_are_listed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
