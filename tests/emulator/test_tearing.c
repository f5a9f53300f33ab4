/* Vector accesses of several host threads: 8 and 16 aligned bytes come and go in one piece with
 * order=hw, whatever the instructions that move them; order=isa tears ordered stores, since the
 * ISA's memory model knows elements only. */
#include "test.h"

#include "ptxgen/emulator.h"

enum { WORDS = 4, TIMES_HW = 30000, TIMES_ISA = 300 };

/* Two CTAs, or two warps: one writes {n, n, ...}, one reads and counts words that differ. */
static const char kernel[] =
    ".version 8.4\n.target sm_90a\n.address_size 64\n"
    ".visible .entry k(.param .u64 cell, .param .u64 torn, .param .u32 times)\n{\n"
    "    .reg .pred p;\n    .reg .b32 r<4>, v<4>, x;\n    .reg .b64 d<6>, w<2>;\n    .reg .b128 q, "
    "q0;\n"
    "    ld.param.u64 d0, [cell];\n    ld.param.u64 d1, [torn];\n    ld.param.u32 r1, [times];\n"
    "    mov.u32 r0, %%ctaid.x;\n    mov.u32 r2, %%tid.x;\n    shr.u32 r2, r2, 5;\n    add.u32 r0, "
    "r0, r2;\n"
    "    mov.b64 d2, 0;\n    mov.u32 r2, 0;\n    mov.b128 q, {d2, d2};\n"
    "    setp.eq.u32 p, r0, 1;\n    @p bra reader;\n"
    "writer:\n"
    "    add.u64 d2, d2, 0x100000001;\n    mov.b64 {v0, v1}, d2;\n    mov.u64 w0, d2;\n"
    "    mov.b128 q0, {d2, d2};\n    %s\n"
    "    sub.u32 r1, r1, 1;\n    setp.ne.u32 p, r1, 0;\n    @p bra writer;\n    ret;\n"
    "reader:\n"
    "    %s\n"
    "    setp.ne.u32 p, x, 0;\n    @p add.u32 r2, r2, 1;\n"
    "    sub.u32 r1, r1, 1;\n    setp.ne.u32 p, r1, 0;\n    @p bra reader;\n"
    "    st.global.u32 [d1], r2;\n    ret;\n}\n";

/* Readers leave 0 in x when all words are equal. */
#define READ_V4(ld)                                                                                \
    ld " {v0, v1, v2, v3}, [d0]; xor.b32 x, v0, v1; xor.b32 r3, v0, v2; or.b32 x, x, r3; "         \
       "xor.b32 r3, v0, v3; or.b32 x, x, r3;"
#define READ_V2(ld) ld " {v0, v1}, [d0]; xor.b32 x, v0, v1;"
#define READ_D2(ld)                                                                                \
    ld " {d3, d4}, [d0]; xor.b64 d3, d3, d4; mov.b64 {v0, v1}, d3; or.b32 x, v0, v1;"

typedef struct exchange {
    const char *store, *load;
    bool ordered; /* order=isa may tear it */
} exchange;

static const exchange exchanges[] = {
    {"st.relaxed.gpu.global.v2.u64 [d0], {d2, d2};", READ_D2("ld.relaxed.gpu.global.v2.u64"), true},
    {"st.release.gpu.global.v4.u32 [d0], {v0, v0, v0, v0};",
     READ_V4("ld.acquire.gpu.global.v4.u32"), true},
    {"st.volatile.global.v2.u32 [d0], {v0, v0};", READ_V2("ld.volatile.global.v2.u32"), true},
    {"st.volatile.global.v4.u32 [d0], {v0, v0, v0, v0};", READ_D2("ld.relaxed.gpu.global.v2.u64"),
     true},
    {"st.relaxed.gpu.global.u64 [d0], d2;", READ_V2("ld.relaxed.gpu.global.v2.u32"), false},
    {"st.global.v4.u32 [d0], {v0, v0, v0, v0};", READ_V4("ld.global.v4.u32"), false},
    {"atom.global.exch.b128 q, [d0], q0;", READ_D2("ld.relaxed.gpu.global.v2.u64"), false},
    {"atom.global.cas.b128 q, [d0], q, q0; mov.b128 q, q0;",
     READ_V4("ld.relaxed.gpu.global.v4.u32"), false},
    {"atom.global.cas.b128 q, [d0], q, q0; mov.b128 q, q0;",
     "ld.relaxed.gpu.global.u64 d3, [d0]; mov.b64 {v0, v1}, d3; xor.b32 x, v0, v1;", false},
};

/* The torn reads of one run. */
static uint32_t run(const exchange *e, ptxgen_emulator_config config, uint32_t times)
{
    static uint32_t cell[WORDS] __attribute__((aligned(16)));
    uint32_t torn = UINT32_MAX;
    char text[4096];
    ptxgen_error err = {0};
    ptxgen_emulator *emu;
    ptxgen_emulator_module *module;
    ptxgen_emulator_entry *entry;
    memset(cell, 0, sizeof cell);
    snprintf(text, sizeof text, kernel, e->store, e->load);
    config.size = sizeof config;
    assert_int_equal(ptxgen_emulator_create(&config, &emu, &err), PTXGEN_OK);
    ptxgen_emulator_add_buffer(emu, "cell", cell, sizeof cell, PTXGEN_EMULATOR_WRITABLE, &err);
    ptxgen_emulator_add_buffer(emu, "torn", &torn, sizeof torn, PTXGEN_EMULATOR_WRITABLE, &err);
    if (ptxgen_emulator_load(emu, text, strlen(text), NULL, &module, &err) != PTXGEN_OK)
        fail_msg("%s", err.message);
    assert_int_equal(ptxgen_emulator_find(module, NULL, &entry, &err), PTXGEN_OK);
    uint32_t *cell_at = cell, *torn_at = &torn;
    void *args[] = {&cell_at, &torn_at, &times};
    const bool isa = config.order == PTXGEN_EMULATOR_ORDER_ISA;
    const ptxgen_emulator_launch launch = {.size = sizeof launch,
                                           .grid = {isa ? 1 : 2, 1, 1},
                                           .block = {isa ? 64 : 32, 1, 1},
                                           .args = args,
                                           .arg_count = 3};
    if (ptxgen_emulator_run(entry, &launch, &err) != PTXGEN_OK)
        fail_msg("%s: %s", e->store, err.message);
    ptxgen_emulator_unload(module);
    ptxgen_emulator_destroy(emu);
    return torn;
}

static void aligned_vectors_do_not_tear(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof exchanges / sizeof *exchanges; i++) {
        const uint32_t torn = run(&exchanges[i], (ptxgen_emulator_config){.threads = 2}, TIMES_HW);
        if (torn)
            fail_msg("%s: %u of %d reads are torn", exchanges[i].store, torn, TIMES_HW);
    }
}

static void the_adversary_tears_ordered_vectors(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof exchanges / sizeof *exchanges; i++) {
        uint32_t torn = 0;
        for (uint64_t seed = 1; seed <= 5; seed++)
            torn += run(&exchanges[i],
                        (ptxgen_emulator_config){.order = PTXGEN_EMULATOR_ORDER_ISA, .seed = seed},
                        TIMES_ISA);
        if (exchanges[i].ordered != (torn > 0))
            fail_msg("%s: %u torn reads in five seeds", exchanges[i].store, torn);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(aligned_vectors_do_not_tear),
        cmocka_unit_test(the_adversary_tears_ordered_vectors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
