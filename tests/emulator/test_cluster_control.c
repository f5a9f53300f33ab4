/* Work stealing by clusterlaunchcontrol on one host thread and on several: every item is done
 * once, and clusters that were taken never start. */
#include "test.h"

#include "ptx_case.h"
#include "ptxgen/emulator.h"

enum { ITEMS = 3 * 2 * 4, THREADS = 32 };

static uint64_t executed(const ptxgen_emulator *emu, const char *wanted)
{
    const char *name;
    uint64_t count;
    for (size_t i = 0; ptxgen_emulator_opcode_count(emu, i, &name, &count); i++)
        if (!strcmp(name, wanted))
            return count;
    fail_msg("no opcode row %s", wanted);
    return 0;
}

/* Runs cases/cluster_cancel.ptx; the number of clusters that started. */
static uint64_t run(const ptxgen_emulator_config *config)
{
    ptx_case c;
    assert_true(ptx_case_read(PTXGEN_SOURCE_DIR "/tests/emulator/cases/cluster_cancel.ptx", &c));
    ptxgen_emulator *emu;
    ptxgen_emulator_module *module;
    ptxgen_emulator_entry *entry;
    static uint32_t counts[ITEMS * THREADS];
    memset(counts, 0, sizeof counts);
    void *pointer = counts;
    void *args[] = {&pointer};
    const ptxgen_emulator_launch launch = {.size = sizeof launch,
                                           .grid = {3, 2, 4},
                                           .block = {THREADS, 1, 1},
                                           .args = args,
                                           .arg_count = 1};
    assert_int_equal(ptxgen_emulator_create(config, &emu, NULL), PTXGEN_OK);
    assert_int_equal(ptxgen_emulator_add_buffer(emu, "counts", counts, sizeof counts,
                                                PTXGEN_EMULATOR_WRITABLE, NULL),
                     PTXGEN_OK);
    assert_int_equal(ptxgen_emulator_load(emu, c.text, c.length, NULL, &module, NULL), PTXGEN_OK);
    assert_int_equal(ptxgen_emulator_find(module, NULL, &entry, NULL), PTXGEN_OK);
    assert_int_equal(ptxgen_emulator_run(entry, &launch, NULL), PTXGEN_OK);
    for (int i = 0; i < ITEMS * THREADS; i++)
        assert_int_equal(counts[i], 1);
    const uint64_t started = executed(emu, "MBARRIER_INIT");
    ptxgen_emulator_unload(module);
    ptxgen_emulator_destroy(emu);
    ptx_case_free(&c);
    return started;
}

static void one_cluster_takes_all(void **state)
{
    (void)state;
    const ptxgen_emulator_config config = {.size = sizeof config, .threads = 1};
    assert_int_equal(run(&config), 1);
}

static void host_threads_share(void **state)
{
    (void)state;
    const ptxgen_emulator_config config = {.size = sizeof config, .threads = 4};
    for (int i = 0; i < 50; i++)
        assert_in_range(run(&config), 1, 4);
}

/* Some requests fail although clusters are left: those start later. */
static void seeds_refuse_some(void **state)
{
    (void)state;
    bool more_than_one = false;
    for (uint64_t seed = 1; seed <= 30; seed++) {
        const ptxgen_emulator_config config = {
            .size = sizeof config, .order = PTXGEN_EMULATOR_ORDER_ISA, .seed = seed};
        const uint64_t started = run(&config);
        assert_in_range(started, 1, ITEMS);
        more_than_one |= started > 1;
    }
    assert_true(more_than_one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_cluster_takes_all),
        cmocka_unit_test(host_threads_share),
        cmocka_unit_test(seeds_refuse_some),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
