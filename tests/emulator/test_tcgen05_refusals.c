/* The rules of tcgen05 that no assembler checks: a kernel that breaks one is stopped with a
 * message that names the rule, in order=hw and for seeds of order=isa alike. */
#include "test.h"

#include "ptxgen/emulator.h"

/* A kernel of `warps` warps: the text between the common head and `ret`. %tmem is what slot
 * holds after warp 0 ran `by_warp_0`; then all run `by_all`. */
typedef struct rule {
    const char *name;
    uint32_t warps, cluster;
    const char *by_warp_0, *by_all;
    const char *message;
} rule;

#define ALLOC(columns)                                                                             \
    "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], " columns ";\n"
#define DEALLOC(address, columns)                                                                  \
    "tcgen05.dealloc.cta_group::1.sync.aligned.b32 " address ", " columns ";\n"
#define ALLOC2(columns)                                                                            \
    "tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [slot], " columns ";\n"
#define RELINQUISH "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\n"
#define COMMIT     "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [bar];\n"
/* Unswizzled rows of 16 bytes, groups of 8 rows 128 bytes apart, from shared memory's first
 * byte. */
#define DESCRIPTOR(high) "mov.b64 %desc, {65600, " high "};\n"
#define DENSE            DESCRIPTOR("16392")

static const rule rules[] = {
    {"columns not a power of two", 1, 1, "mov.b32 %x, 96;\n" ALLOC("%x"), "",
     "of 96 columns: the number must be a power of two in 32..512"},
    {"too few columns", 1, 1, "mov.b32 %x, 16;\n" ALLOC("%x"), "",
     "of 16 columns: the number must be a power of two in 32..512"},
    {"more columns than there are", 1, 1, "mov.b32 %x, 1024;\n" ALLOC("%x"), "",
     "of 1024 columns: the number must be"},
    {"growing allocations", 1, 1, ALLOC("64") ALLOC("128"), "",
     "tcgen05.alloc of 128 columns after one of 64: allocations of a CTA must not grow"},
    {"alloc after relinquish", 1, 1, ALLOC("64") RELINQUISH ALLOC("32"), "",
     "of 32 columns: the CTA has executed tcgen05.relinquish_alloc_permit"},
    {"dealloc of a part", 1, 1, ALLOC("64"), "mov.b32 %x, 32;\n" DEALLOC("%tmem", "%x"),
     "tcgen05.dealloc of 32 columns at 0x00000000: CTA rank 0 has no allocation of this size "
     "there"},
    {"dealloc elsewhere", 1, 1, ALLOC("64"), "add.u32 %x, %tmem, 32;\n" DEALLOC("%x", "64"),
     "at 0x00000020: CTA rank 0 has no allocation"},
    {"dealloc twice", 1, 1, ALLOC("64"), DEALLOC("%tmem", "64") DEALLOC("%tmem", "64"),
     "has no allocation of this size there"},
    {"never freed", 1, 1, ALLOC("256") ALLOC("64"), "",
     "exits with 320 columns of tensor memory allocated (256 of them at column 0)"},
    {"columns that nobody frees", 1, 1, ALLOC("512") ALLOC("64"), "",
     "waits for 64 columns of tensor memory, of which 0 are free"},
    {"lanes want different numbers", 1, 1, "add.u32 %x, %lane, 32;\n" ALLOC("%x"), "",
     "an operand is 32 in lane 0 and 33 in lane 1: all lanes must give the same"},
    {"lanes give back different columns", 1, 1, ALLOC("64"),
     "add.u32 %x, %tmem, %lane;\n" DEALLOC("%x", "64"),
     "an operand is 0 in lane 0 and 1 in lane 1: all lanes must give the same"},
    {"predicated alloc", 1, 1, "setp.lt.u32 %p, %lane, 5;\n@%p " ALLOC("64"), "",
     "true in lanes 0x0000001f and false in lanes 0xffffffe0"},
    {"a lane has exited", 1, 1, "setp.eq.u32 %p, %lane, 3;\n@%p exit;\n" ALLOC("64"), "",
     "only lanes 0xfffffff7 of the warp are running"},
    {"lanes name different addresses", 1, 1, ALLOC("64"),
     "add.u32 %x, %tmem, %lane;\ntcgen05.ld.sync.aligned.32x32b.x1.b32 {%y}, [%x];\n",
     "lanes 0 and 1 give the tensor-memory addresses 0x00000000 and 0x00000001"},
    {"lanes of another warp", 2, 1, ALLOC("64"),
     "add.u32 %x, %tmem, 4194304;\ntcgen05.ld.sync.aligned.32x32b.x1.b32 {%y}, [%x];\n",
     "begins at lane 64; warp"},
    {"a lane inside", 1, 1, ALLOC("64"),
     "add.u32 %x, %tmem, 524288;\ntcgen05.st.sync.aligned.16x64b.x1.b32 [%x], {%y};\n",
     "begins at lane 8; warp 0 reaches lanes 0 to 31"},
    {"the upper half of a whole shape", 1, 1, ALLOC("64"),
     "add.u32 %x, %tmem, 1048576;\ntcgen05.ld.sync.aligned.32x32b.x1.b32 {%y}, [%x];\n",
     "the address must name lane 0"},
    {"beyond the allocation", 1, 1, ALLOC("32"),
     "tcgen05.ld.sync.aligned.32x32b.x2.b32 {%x, %y}, [%tmem + 31];\n",
     "columns 31 to 32 are not all allocated in CTA rank 0"},
    {"the second half beyond it", 1, 1, ALLOC("32"),
     "tcgen05.ld.sync.aligned.16x32bx2.x1.b32 {%y}, [%tmem], 32;\n",
     "access of the upper 16 threads at tensor-memory address 0x00000020: columns 32 to 32"},
    {"packed columns beyond it", 1, 1, ALLOC("32"),
     "tcgen05.ld.sync.aligned.32x32b.x1.pack::16b.b32 {%y}, [%tmem + 31];\n",
     "columns 31 to 32 are not all allocated"},
    {"nothing is allocated", 1, 1, "st.shared.b32 [slot], 0;\n",
     "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%y}, [%tmem];\n",
     "columns 0 to 0 are not all allocated"},
    {"a copy beyond the allocation", 1, 1, ALLOC("32"),
     DENSE "tcgen05.cp.cta_group::1.128x128b [%tmem + 29], %desc;\n",
     "target at tensor-memory address 0x0000001d: columns 29 to 32 are not all allocated"},
    {"a copy to a lane inside", 1, 1, ALLOC("32"),
     DENSE "add.u32 %x, %tmem, 1048576;\ntcgen05.cp.cta_group::1.128x128b [%x], %desc;\n",
     "begins at lane 16; this shape fills lanes from lane 0 on"},
    {"a copy from outside shared memory", 1, 1, ALLOC("32"),
     DESCRIPTOR("16640") "tcgen05.cp.cta_group::1.128x128b [%tmem], %desc;\n",
     "covers shared memory from 1024 to"},
    {"a descriptor of another architecture", 1, 1, ALLOC("32"),
     DESCRIPTOR("8") "tcgen05.cp.cta_group::1.128x128b [%tmem], %desc;\n",
     "bits 46-48 are 0; this architecture needs 1"},
    {"an undefined swizzle", 1, 1, ALLOC("32"),
     "mov.b64 %desc, {65600, 0x60004008};\ntcgen05.cp.cta_group::1.128x128b [%tmem], %desc;\n",
     "swizzle mode 3 (bits 61-63) is not defined"},
    {"a shift of lanes inside", 1, 1, ALLOC("32"),
     "add.u32 %x, %tmem, 1048576;\ntcgen05.shift.cta_group::1.down [%x];\n",
     "begins at lane 16, which is not a multiple of 32"},
    {"a shift beyond the allocation", 1, 1, ALLOC("32"),
     "add.u32 %x, %tmem, 25;\ntcgen05.shift.cta_group::1.down [%x];\n",
     "columns 25 to 32 are not all allocated"},
    {"a commit to no barrier", 1, 1, ALLOC("32"), COMMIT "loop:\nbra loop;\n",
     "where there is no mbarrier"},
    {"a commit to global memory", 1, 1, ALLOC("32"),
     "ld.param.u64 %d, [p];\ntcgen05.commit.cta_group::1.mbarrier::arrive::one.b64 [%d];\n",
     "not an 8-byte aligned address in the cluster's shared memory"},
    {"a commit to a CTA that is not there", 1, 2, ALLOC("32"),
     "mov.b16 %mask, "
     "5;\ntcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 "
     "[bar], %mask;\n",
     "multicast mask 0x0005; the cluster has 2 CTAs"},
    {"a pair without a cluster", 1, 1, ALLOC2("32"), "",
     ".cta_group::2 needs pairs of CTAs: the cluster has 1"},
    {"both groups", 1, 2, ALLOC("32"), "tcgen05.shift.cta_group::2.down [%tmem];\n",
     ".cta_group::2 after .cta_group::1"},
    {"the partner does not come", 1, 2,
     "setp.eq.u32 %p, %rank, 0;\n@%p bra.uni in;\nloop: "
     "barrier.cluster.arrive;\nbarrier.cluster.wait;\nbra loop;\nin:\n" ALLOC2("32"),
     "", "waits for CTA rank 1, the other of its pair, to execute the same (.cta_group::2)"},
    {"the partner has exited", 1, 2,
     "setp.eq.u32 %p, %rank, 1;\n@%p exit;\nmov.b32 %x, 0;\nspin: add.u32 %x, %x, 1;\nsetp.lt.u32 "
     "%p, %x, 2000;\nbar.warp.sync 0xffffffff;\n@%p bra spin;\n" ALLOC2("32"),
     "", "CTA rank 0: CTA rank 1, the other of its pair, has exited"},
    {"the pair disagrees", 1, 2, "shl.b32 %x, 32, %rank;\n" ALLOC2("%x"), "",
     "with .cta_group::2 both must execute the same"},
};

static const char head[] =
    ".version 8.6\n.target sm_100a\n.address_size 64\n"
    ".visible .entry k(.param .u64 p)\n{\n"
    ".reg .b32 %x, %y, %lane, %warp, %rank, %tmem;\n.reg .b64 %d, %desc;\n.reg .b16 %mask;\n.reg "
    ".pred %p, %q;\n"
    ".shared .align 1024 .b8 data[4096];\n.shared .b32 slot;\n.shared .b64 bar;\n"
    "mov.u32 %x, data;\nmov.b32 %y, 0;\nmov.u32 %rank, %cluster_ctarank;\nmov.u32 %lane, %laneid;\n"
    "mov.u32 %warp, %tid.x;\nshr.u32 %warp, %warp, 5;\nsetp.ne.u32 %q, %warp, 0;\n@%q bra "
    "others;\n";

static void write_kernel(const rule *r, char *text, size_t size)
{
    snprintf(text, size, "%s%sothers:\nbar.sync 0;\nld.shared.b32 %%tmem, [slot];\n%sret;\n}\n",
             head, r->by_warp_0, r->by_all);
}

static void run(const rule *r, uint64_t seed, ptxgen_error *err)
{
    static char text[8192];
    static uint32_t data[16] __attribute__((aligned(128)));
    uint32_t *pointer = data;
    void *args[] = {&pointer};
    const ptxgen_emulator_config config = {.size = sizeof config,
                                           .threads = 1,
                                           .instruction_budget = 4000000,
                                           .seed = seed,
                                           .order = seed ? PTXGEN_EMULATOR_ORDER_ISA
                                                         : PTXGEN_EMULATOR_ORDER_HW};
    const ptxgen_emulator_launch launch = {.size = sizeof launch,
                                           .grid = {r->cluster, 1, 1},
                                           .block = {32 * r->warps, 1, 1},
                                           .cluster = {r->cluster, 1, 1},
                                           .args = args,
                                           .arg_count = 1};
    ptxgen_emulator *emu;
    ptxgen_emulator_module *module = NULL;
    ptxgen_emulator_entry *entry;
    write_kernel(r, text, sizeof text);
    assert_int_equal(ptxgen_emulator_create(&config, &emu, err), PTXGEN_OK);
    assert_int_equal(
        ptxgen_emulator_add_buffer(emu, "data", data, sizeof data, PTXGEN_EMULATOR_WRITABLE, err),
        PTXGEN_OK);
    if (ptxgen_emulator_load(emu, text, strlen(text), NULL, &module, err) == PTXGEN_OK &&
        ptxgen_emulator_find(module, NULL, &entry, err) == PTXGEN_OK)
        ptxgen_emulator_run(entry, &launch, err);
    if (module)
        ptxgen_emulator_unload(module);
    ptxgen_emulator_destroy(emu);
}

static void every_rule_is_enforced(void **state)
{
    (void)state;
    int failures = 0;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        for (uint64_t seed = 0; seed < 4; seed++) {
            ptxgen_error err = {0};
            run(&rules[i], seed, &err);
            if (err.status == PTXGEN_OK || !strstr(err.message, rules[i].message)) {
                print_error("%s (seed %d): %s\n", rules[i].name, (int)seed,
                            err.status == PTXGEN_OK ? "not refused" : err.message);
                failures++;
            }
        }
    assert_int_equal(failures, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_rule_is_enforced)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
