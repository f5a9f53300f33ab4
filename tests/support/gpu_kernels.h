/* PTX for the tests and benches of the CUDA device on a real GPU (sm_90 and up). */
#ifndef PG_TEST_GPU_KERNELS_H
#define PG_TEST_GPU_KERNELS_H

/* Does nothing; takes what fits a launch of any test. */
#define GPU_EMPTY                                                                                  \
    ".version 8.0\n.target sm_90\n.address_size 64\n"                                              \
    ".visible .entry empty(.param .u64 a, .param .u32 b)\n{\n    ret;\n}\n"

#define GPU_EMPTY_TENSOR                                                                           \
    ".version 8.0\n.target sm_90\n.address_size 64\n"                                              \
    ".visible .entry empty_tensor(.param .align 64 .b8 map[128])\n{\n    ret;\n}\n"

/* out[i] = value + i for one CTA; value by 32 bits, out by 64. */
#define GPU_FILL                                                                                   \
    ".version 8.0\n.target sm_90\n.address_size 64\n"                                              \
    ".visible .entry fill(.param .u64 out, .param .u32 value)\n{\n"                                \
    "    .reg .b32 %r<4>; .reg .b64 %rd<4>;\n"                                                     \
    "    ld.param.u64 %rd1, [out];\n"                                                              \
    "    ld.param.u32 %r1, [value];\n"                                                             \
    "    mov.u32 %r2, %tid.x;\n"                                                                   \
    "    add.u32 %r3, %r1, %r2;\n"                                                                 \
    "    mul.wide.u32 %rd2, %r2, 4;\n"                                                             \
    "    add.u64 %rd3, %rd1, %rd2;\n"                                                              \
    "    st.global.u32 [%rd3], %r3;\n"                                                             \
    "    ret;\n}\n"

/* out[ctaid] = rank in the cluster * 1000 + what the last byte of 100000 bytes of dynamic shared
 * memory, written by thread 0, holds. */
#define GPU_CLUSTER                                                                                \
    ".version 8.0\n.target sm_90\n.address_size 64\n"                                              \
    ".extern .shared .align 16 .b8 dynamic[];\n"                                                   \
    ".visible .entry cluster(.param .u64 out)\n{\n"                                                \
    "    .reg .b32 %r<6>; .reg .b64 %rd<4>;\n"                                                     \
    "    ld.param.u64 %rd1, [out];\n"                                                              \
    "    mov.u32 %r1, %ctaid.x;\n"                                                                 \
    "    mov.u32 %r2, %cluster_ctarank;\n"                                                         \
    "    mov.u32 %r3, dynamic;\n"                                                                  \
    "    mov.u32 %r4, 77;\n"                                                                       \
    "    st.shared.u8 [%r3+99999], %r4;\n"                                                         \
    "    ld.shared.u8 %r4, [%r3+99999];\n"                                                         \
    "    mad.lo.u32 %r5, %r2, 1000, %r4;\n"                                                        \
    "    mul.wide.u32 %rd2, %r1, 4;\n"                                                             \
    "    add.u64 %rd3, %rd1, %rd2;\n"                                                              \
    "    st.global.u32 [%rd3], %r5;\n"                                                             \
    "    ret;\n}\n"

/* Loads the 8 x 4 box of 32-bit elements at (x, y) by the tensor map and writes it out in row
 * order. */
#define GPU_TENSOR                                                                                 \
    ".version 8.0\n.target sm_90\n.address_size 64\n"                                              \
    ".visible .entry tensor(.param .align 64 .b8 map[128], .param .u64 out, .param .u32 x, "       \
    ".param .u32 y)\n{\n"                                                                          \
    "    .reg .b32 %r<8>; .reg .b64 %rd<6>; .reg .pred %p;\n"                                      \
    "    .shared .align 128 .b8 tile[128];\n"                                                      \
    "    .shared .align 8 .b64 bar;\n"                                                             \
    "    mov.b64 %rd1, map;\n"                                                                     \
    "    cvta.param.u64 %rd2, %rd1;\n"                                                             \
    "    ld.param.u64 %rd3, [out];\n"                                                              \
    "    ld.param.u32 %r1, [x];\n"                                                                 \
    "    ld.param.u32 %r2, [y];\n"                                                                 \
    "    mov.u32 %r3, tile;\n"                                                                     \
    "    mov.u32 %r4, bar;\n"                                                                      \
    "    mov.u32 %r5, %tid.x;\n"                                                                   \
    "    setp.ne.u32 %p, %r5, 0;\n"                                                                \
    "    @%p bra wait;\n"                                                                          \
    "    mbarrier.init.shared.b64 [%r4], 1;\n"                                                     \
    "    fence.mbarrier_init.release.cluster;\n"                                                   \
    "    mbarrier.arrive.expect_tx.shared.b64 _, [%r4], 128;\n"                                    \
    "    cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "        \
    "[%r3], [%rd2, {%r1, %r2}], [%r4];\n"                                                          \
    "wait:\n"                                                                                      \
    "    bar.sync 0;\n"                                                                            \
    "again:\n"                                                                                     \
    "    mbarrier.try_wait.parity.shared.b64 %p, [%r4], 0;\n"                                      \
    "    @!%p bra again;\n"                                                                        \
    "    shl.b32 %r6, %r5, 2;\n"                                                                   \
    "    add.u32 %r6, %r3, %r6;\n"                                                                 \
    "    ld.shared.u32 %r7, [%r6];\n"                                                              \
    "    mul.wide.u32 %rd4, %r5, 4;\n"                                                             \
    "    add.u64 %rd5, %rd3, %rd4;\n"                                                              \
    "    st.global.u32 [%rd5], %r7;\n"                                                             \
    "    ret;\n}\n"

/* Writes (12345, -7) into the record that it is given. */
#define GPU_RECORD                                                                                 \
    ".version 8.0\n.target sm_90\n.address_size 64\n"                                              \
    ".visible .entry record(.param .u64 to)\n{\n"                                                  \
    "    .reg .b64 %rd<4>;\n"                                                                      \
    "    ld.param.u64 %rd1, [to];\n"                                                               \
    "    mov.u64 %rd2, 12345;\n"                                                                   \
    "    mov.s64 %rd3, -7;\n"                                                                      \
    "    st.global.v2.u64 [%rd1], {%rd2, %rd3};\n"                                                 \
    "    ret;\n}\n"

#endif
