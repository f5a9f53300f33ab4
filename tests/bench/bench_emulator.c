/* How fast the emulator is on one core: plain instructions, copies and reductions of
 * scatter-add's kind, and the price of checking mode. Columns: thread instructions (or bytes)
 * per second, fast and checked. bench_emulator [CSV [PART OF A NAME]] */
#include "ptxgen/emulator.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char plain_ptx[] =
    ".version 8.0\n.target sm_90a\n.address_size 64\n"
    ".visible .entry kernel(.param .u64 out, .param .u32 n)\n{\n"
    "    .reg .b32 %r<12>;\n    .reg .f32 %f<4>;\n    .reg .b64 %d<3>;\n    .reg .pred %p;\n"
    "    ld.param.u64 %d1, [out];\n    ld.param.u32 %r0, [n];\n    mov.u32 %r1, %tid.x;\n"
    "    mov.u32 %r3, 12345;\n    mov.u32 %r4, 0;\n    mov.u32 %r5, 99;\n"
    "    mov.f32 %f1, 0f3F800000;\n    mov.f32 %f2, 0f3F800001;\n"
    "LOOP:\n"
    "    mad.lo.u32 %r3, %r3, 1664525, 1013904223;\n    shr.u32 %r6, %r3, 7;\n"
    "    xor.b32 %r4, %r4, %r6;\n    add.u32 %r5, %r5, %r4;\n    and.b32 %r7, %r5, 255;\n"
    "    shl.b32 %r8, %r7, 3;\n    or.b32 %r9, %r8, %r1;\n    sub.u32 %r5, %r5, %r9;\n"
    "    fma.rn.f32 %f1, %f1, %f2, %f2;\n    add.rn.f32 %f3, %f1, %f2;\n    max.u32 %r10, %r5, "
    "%r4;\n"
    "    add.u32 %r4, %r4, %r10;\n"
    "    sub.u32 %r0, %r0, 1;\n    setp.ne.u32 %p, %r0, 0;\n    @%p bra LOOP;\n"
    "    mul.wide.u32 %d2, %r1, 4;\n    add.u64 %d1, %d1, %d2;\n    add.u32 %r4, %r4, %r5;\n"
    "    st.global.u32 [%d1], %r4;\n    ret;\n}\n";

static const char memory_ptx[] =
    ".version 8.0\n.target sm_90a\n.address_size 64\n"
    ".visible .entry kernel(.param .u64 out, .param .u32 n)\n{\n"
    "    .reg .b32 %r<12>;\n    .reg .b64 %d<4>;\n    .reg .pred %p;\n    .shared .align 16 .b8 "
    "buf[4096];\n"
    "    ld.param.u64 %d1, [out];\n    ld.param.u32 %r0, [n];\n    mov.u32 %r1, %tid.x;\n"
    "    mul.wide.u32 %d2, %r1, 4;\n    add.u64 %d1, %d1, %d2;\n    mov.u32 %r2, buf;\n"
    "    shl.b32 %r3, %r1, 2;\n    add.u32 %r2, %r2, %r3;\n    st.shared.u32 [%r2], %r1;\n"
    "LOOP:\n"
    "    ld.global.u32 %r4, [%d1];\n    ld.shared.u32 %r5, [%r2];\n    add.u32 %r6, %r4, %r5;\n"
    "    st.shared.u32 [%r2], %r6;\n    xor.b32 %r7, %r6, %r4;\n    st.global.u32 [%d1], %r7;\n"
    "    sub.u32 %r0, %r0, 1;\n    setp.ne.u32 %p, %r0, 0;\n    @%p bra LOOP;\n    ret;\n}\n";

/* A tile of 32 columns: a row of it, a column of it (32 words apart), one word for all lanes,
 * halves. */
static const char mixed_ptx[] =
    ".version 8.0\n.target sm_90a\n.address_size 64\n"
    ".visible .entry kernel(.param .u64 out, .param .u32 n)\n{\n"
    "    .reg .b16 %h<4>;\n    .reg .b32 %r<16>;\n    .reg .b64 %d<4>;\n    .reg .pred %p;\n"
    "    .shared .align 128 .b8 tile[4096];\n"
    "    ld.param.u64 %d1, [out];\n    ld.param.u32 %r0, [n];\n    mov.u32 %r1, %tid.x;\n"
    "    mul.wide.u32 %d2, %r1, 2;\n    add.u64 %d1, %d1, %d2;\n    mov.u32 %r2, tile;\n"
    "    shl.b32 %r3, %r1, 2;\n    add.u32 %r3, %r3, %r2;\n    and.b32 %r4, %r1, 31;\n"
    "    shl.b32 %r4, %r4, 7;\n    shr.u32 %r5, %r1, 5;\n    shl.b32 %r5, %r5, 2;\n"
    "    add.u32 %r4, %r4, %r5;\n    add.u32 %r4, %r4, %r2;\n    add.u32 %r5, %r5, %r2;\n"
    "LOOP:\n"
    "    st.shared.u32 [%r3], %r0;\n    bar.sync 0;\n"
    "    ld.shared.u32 %r6, [%r4];\n    ld.shared.u32 %r7, [%r5];\n    add.u32 %r8, %r6, %r7;\n"
    "    ld.shared.u32 %r9, [%r3];\n    ld.shared.u32 %r10, [%r5+128];\n    ld.global.u16 %h1, "
    "[%d1];\n"
    "    add.u32 %r8, %r8, %r9;\n    add.u32 %r8, %r8, %r10;\n    cvt.u16.u32 %h2, %r8;\n"
    "    add.u16 %h3, %h1, %h2;\n    st.global.u16 [%d1], %h3;\n    bar.sync 0;\n"
    "    sub.u32 %r0, %r0, 1;\n    setp.ne.u32 %p, %r0, 0;\n    @%p bra LOOP;\n    ret;\n}\n";

static const char scatter_ptx[] =
    ".version 8.0\n.target sm_90a\n.address_size 64\n"
    ".visible .entry kernel(.param .u64 out, .param .u64 src, .param .u64 index, .param .u32 "
    "rows)\n{\n"
    "    .reg .b32 %r<12>;\n    .reg .b64 %d<12>;\n    .reg .pred %p<4>;\n"
    "    .shared .align 128 .b8 buf[1024];\n    .shared .align 8 .b64 bar;\n"
    "    ld.param.u64 %d1, [out];\n    ld.param.u64 %d2, [src];\n    ld.param.u64 %d3, [index];\n"
    "    ld.param.u32 %r0, [rows];\n    mov.u32 %r1, %ctaid.x;\n    mov.u32 %r2, %nctaid.x;\n"
    "    mov.u32 %r3, buf;\n    mov.u32 %r4, bar;\n    mov.u32 %r5, %tid.x;\n    setp.ne.u32 %p1, "
    "%r5, 0;\n"
    "    @%p1 ret;\n    mbarrier.init.shared::cta.b64 [%r4], 1;\n    "
    "fence.mbarrier_init.release.cluster;\n"
    "    mov.u32 %r6, 0;\n"
    "LOOP:\n    setp.ge.u32 %p2, %r1, %r0;\n    @%p2 bra DONE;\n"
    "    mul.wide.u32 %d4, %r1, 8;\n    add.u64 %d4, %d3, %d4;\n    ld.global.u64 %d5, [%d4];\n"
    "    mad.lo.u64 %d6, %d5, 1024, %d1;\n    mul.wide.u32 %d7, %r1, 1024;\n    add.u64 %d7, %d2, "
    "%d7;\n"
    "    mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], 1024;\n"
    "    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%d7], 1024, "
    "[%r4];\n"
    "WAIT:\n    mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r4], %r6;\n    @!%p3 bra WAIT;\n"
    "    xor.b32 %r6, %r6, 1;\n"
    "    cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%d6], [%r3], 1024;\n"
    "    cp.async.bulk.commit_group;\n    cp.async.bulk.wait_group.read 0;\n"
    "    add.u32 %r1, %r1, %r2;\n    bra LOOP;\n"
    "DONE:\n    cp.async.bulk.wait_group 0;\n    ret;\n}\n";

/* m64n256k16, f16 into f32, both operands in shared memory: the accumulator registers are listed
 * by this. */
static const char *wgmma_ptx(char *text, size_t size)
{
    char list[1200] = "";
    for (int i = 0; i < 128; i++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%%f%d", i ? ", " : "", i);
    snprintf(text, size,
             ".version 8.0\n.target sm_90a\n.address_size 64\n"
             ".visible .entry kernel(.param .u64 out, .param .u32 n)\n{\n"
             "    .reg .b32 %%r<4>;\n    .reg .b64 %%d<6>;\n    .reg .f32 %%f<128>;\n    .reg "
             ".pred %%p<3>;\n"
             "    .shared .align 128 .b8 buf[16384];\n    ld.param.u64 %%d3, [out];\n    "
             "ld.param.u32 %%r0, [n];\n"
             "    mov.u32 %%r1, %%tid.x;\n    mov.u32 %%r2, buf;\n    shr.u32 %%r3, %%r2, 4;\n"
             "    cvt.u64.u32 %%d1, %%r3;\n    or.b64 %%d1, %%d1, 0x0000001000080000;\n    add.u64 "
             "%%d2, %%d1, 128;\n"
             "    setp.eq.u32 %%p1, 0, 0;\n    fence.proxy.async.shared::cta;\n    bar.sync 0;\n"
             "LOOP:\n    wgmma.fence.sync.aligned;\n"
             "    wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 {%s}, %%d1, %%d2, %%p1, 1, "
             "1, 0, 0;\n"
             "    wgmma.commit_group.sync.aligned;\n    wgmma.wait_group.sync.aligned 0;\n"
             "    sub.u32 %%r0, %%r0, 1;\n    setp.ne.u32 %%p2, %%r0, 0;\n    @%%p2 bra LOOP;\n"
             "    mul.wide.u32 %%d4, %%r1, 4;\n    add.u64 %%d3, %%d3, %%d4;\n    st.global.f32 "
             "[%%d3], %%f0;\n"
             "    ret;\n}\n",
             list);
    return text;
}

/* m128n256k16, f16 into f32, both operands in shared memory with 128-byte swizzle: one thread
 * issues, the first of each 64 waits for those before. */
static const char tcgen05_ptx[] =
    ".version 8.6\n.target sm_100a\n.address_size 64\n"
    ".visible .entry kernel(.param .u64 out, .param .u32 n)\n{\n"
    "    .reg .b32 %r<12>;\n    .reg .b64 %d<6>;\n    .reg .pred %p<5>;\n"
    "    .shared .align 1024 .b8 buf[49152];\n    .shared .align 8 .b8 bar[8];\n    .shared .align "
    "4 .b8 slot[4];\n"
    "    ld.param.u64 %d1, [out];\n    ld.param.u32 %r0, [n];\n    mov.u32 %r1, %tid.x;\n"
    "    mov.u32 %r2, buf;\n    mov.u32 %r3, bar;\n    mov.u32 %r4, slot;\n"
    "    setp.lt.u32 %p1, %r1, 32;\n    setp.eq.u32 %p2, %r1, 0;\n    mov.u32 %r5, 0;\n    shl.b32 "
    "%r6, %r1, 2;\n"
    "    add.u32 %r6, %r6, %r2;\n"
    "CLEAR:\n    st.shared.b32 [%r6], 0;\n    add.u32 %r6, %r6, 512;\n    add.u32 %r5, %r5, 512;\n"
    "    setp.lt.u32 %p3, %r5, 49152;\n    @%p3 bra CLEAR;\n    fence.proxy.async.shared::cta;\n"
    "    @%p2 mbarrier.init.shared::cta.b64 [%r3], 1;\n    fence.mbarrier_init.release.cluster;\n"
    "    @!%p1 bra ALLOCATED;\n"
    "    tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r4], 256;\n"
    "ALLOCATED:\n    tcgen05.fence::before_thread_sync;\n    bar.sync 0;\n    "
    "tcgen05.fence::after_thread_sync;\n"
    "    ld.shared.b32 %r7, [%r4];\n    @!%p2 bra ISSUED;\n"
    "    shr.u32 %r5, %r2, 4;\n    cvt.u64.u32 %d2, %r5;\n    or.b64 %d2, %d2, "
    "0x4000404000010000;\n"
    "    add.u64 %d3, %d2, 1024;\n    mov.b32 %r8, 0x08400010;\n    setp.ne.u32 %p4, %r1, %r1;\n"
    "    mov.u32 %r9, 0;\n"
    "LOOP:\n    tcgen05.mma.cta_group::1.kind::f16 [%r7], %d2, %d3, %r8, %p4;\n    setp.eq.u32 "
    "%p4, %r1, %r1;\n"
    "    sub.u32 %r0, %r0, 1;\n    and.b32 %r10, %r0, 63;\n    setp.ne.u32 %p3, %r10, 0;\n    @%p3 "
    "bra LOOP;\n"
    "    tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r3];\n"
    "WAIT:\n    mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r3], %r9;\n    @!%p3 bra WAIT;\n"
    "    xor.b32 %r9, %r9, 1;\n    setp.ne.u32 %p3, %r0, 0;\n    @%p3 bra LOOP;\n"
    "    tcgen05.fence::before_thread_sync;\n"
    "ISSUED:\n    bar.sync 0;\n    tcgen05.fence::after_thread_sync;\n    shr.u32 %r11, %r1, 5;\n"
    "    shl.b32 %r11, %r11, 21;\n    add.u32 %r11, %r11, %r7;\n"
    "    tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r5}, [%r11];\n    tcgen05.wait::ld.sync.aligned;\n"
    "    tcgen05.fence::before_thread_sync;\n    bar.sync 0;\n    "
    "tcgen05.fence::after_thread_sync;\n"
    "    @!%p1 bra FREED;\n"
    "    tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\n"
    "    tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r7, 256;\n"
    "FREED:\n    mul.wide.u32 %d4, %r1, 4;\n    add.u64 %d1, %d1, %d4;\n    st.global.b32 [%d1], "
    "%r5;\n    ret;\n}\n";

typedef struct job {
    const char *name, *ptx, *unit;
    uint32_t grid, block;
    void *args[4];
    unsigned arg_count;
    double work; /* bytes or operations; 0: count thread instructions */
    bool exact;  /* tensor cores bit for bit */
} job;

typedef struct memory {
    void *address;
    size_t bytes;
    const char *name;
} memory;

/* Processor time: other work on the machine does not count. */
static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Units per second; negative when it failed. */
static double measure(const job *j, const memory *buffers, size_t count, bool check)
{
    const ptxgen_emulator_config config = {.size = sizeof config,
                                           .threads = 1,
                                           .check = check,
                                           .arithmetic = j->exact ? PTXGEN_EMULATOR_EXACT
                                                                  : PTXGEN_EMULATOR_FAST};
    ptxgen_emulator *emu;
    ptxgen_emulator_module *module;
    ptxgen_emulator_entry *entry;
    ptxgen_error err = {0};
    if (ptxgen_emulator_create(&config, &emu, &err) != PTXGEN_OK)
        return -1;
    for (size_t i = 0; i < count; i++)
        ptxgen_emulator_add_buffer(emu, buffers[i].name, buffers[i].address, buffers[i].bytes,
                                   PTXGEN_EMULATOR_WRITABLE, &err);
    const ptxgen_emulator_launch launch = {.size = sizeof launch,
                                           .grid = {j->grid, 1, 1},
                                           .block = {j->block, 1, 1},
                                           .args = j->args,
                                           .arg_count = j->arg_count};
    double rate = -1;
    if (ptxgen_emulator_load(emu, j->ptx, strlen(j->ptx), j->name, &module, &err) == PTXGEN_OK &&
        ptxgen_emulator_find(module, NULL, &entry, &err) == PTXGEN_OK) {
        const double start = seconds();
        if (ptxgen_emulator_run(entry, &launch, &err) == PTXGEN_OK) {
            ptxgen_emulator_stats s;
            ptxgen_emulator_get_stats(emu, &s);
            rate =
                (j->work > 0 ? j->work : 32.0 * (double)s.warp_instructions) / (seconds() - start);
        }
        ptxgen_emulator_unload(module);
    }
    if (rate < 0)
        printf("%s: %s\n", j->name, err.message);
    ptxgen_emulator_destroy(emu);
    return rate;
}

enum { ROW = 1024, ROWS = 65536, OUT_ROWS = 16384 };

int main(int argc, char **argv)
{
    FILE *csv = argc > 1 && *argv[1] ? fopen(argv[1], "w") : NULL;
    void *out = aligned_alloc(1024, (size_t)OUT_ROWS * ROW),
         *src = aligned_alloc(1024, (size_t)ROWS * ROW);
    uint64_t *index = malloc(ROWS * sizeof *index);
    enum { MMAS = 400, TENSOR_MMAS = 640 };
    char mma[8192];
    uint32_t mmas = MMAS, tensor_mmas = TENSOR_MMAS, loops = 20000, few = 40000, fewer = 2000,
             rows = ROWS;
    memset(out, 0, (size_t)OUT_ROWS * ROW);
    memset(src, 0, (size_t)ROWS * ROW);
    for (uint32_t i = 0; i < ROWS; i++)
        index[i] = i * 2654435761u % OUT_ROWS;
    const memory buffers[] = {{out, (size_t)OUT_ROWS * ROW, "out"},
                              {src, (size_t)ROWS * ROW, "src"},
                              {index, ROWS * sizeof *index, "index"}};
    const job jobs[] = {
        {"plain instructions",
         plain_ptx,
         "G thread instructions/s",
         8,
         256,
         {(void *)&out, &loops},
         2,
         0,
         false},
        {"loads and stores",
         memory_ptx,
         "G thread instructions/s",
         1,
         256,
         {(void *)&out, &few},
         2,
         0,
         false},
        {"loads and stores, other patterns",
         mixed_ptx,
         "G thread instructions/s",
         1,
         1024,
         {(void *)&out, &fewer},
         2,
         0,
         false},
        {"scatter-add, 64 MiB of rows",
         scatter_ptx,
         "GB/s",
         4096,
         32,
         {(void *)&out, (void *)&src, (void *)&index, &rows},
         4,
         (double)ROWS * ROW,
         false},
        {"wgmma f16, fast",
         wgmma_ptx(mma, sizeof mma),
         "GFLOP/s",
         1,
         128,
         {(void *)&out, &mmas},
         2,
         2.0 * 64 * 256 * 16 * MMAS,
         false},
        {"wgmma f16, exact",
         mma,
         "GFLOP/s",
         1,
         128,
         {(void *)&out, &mmas},
         2,
         2.0 * 64 * 256 * 16 * MMAS,
         true},
        {"tcgen05 f16, fast",
         tcgen05_ptx,
         "GFLOP/s",
         1,
         128,
         {(void *)&out, &tensor_mmas},
         2,
         2.0 * 128 * 256 * 16 * TENSOR_MMAS,
         false},
        {"tcgen05 f16, exact",
         tcgen05_ptx,
         "GFLOP/s",
         1,
         128,
         {(void *)&out, &tensor_mmas},
         2,
         2.0 * 128 * 256 * 16 * TENSOR_MMAS,
         true},
    };
    printf("%-32s %12s %12s %10s\n", "", "fast", "checked", "slowdown");
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
        if (argc > 2 && !strstr(jobs[i].name, argv[2]))
            continue;
        const double fast = measure(&jobs[i], buffers, 3, false) / 1e9;
        const double checked = measure(&jobs[i], buffers, 3, true) / 1e9;
        printf("%-32s %12.3f %12.3f %10.1f  %s\n", jobs[i].name, fast, checked, fast / checked,
               jobs[i].unit);
        if (csv)
            fprintf(csv, "\"%s\",%g,%g\n", jobs[i].name, fast, checked);
    }
    if (csv)
        fclose(csv);
    free(out);
    free(src);
    free(index);
    return 0;
}
