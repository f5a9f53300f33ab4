/* Decoders of the instructions that end in the number and matrix engines: conversions, matrix multiply, wgmma,
 * tcgen05, and the loads and stores of 8 x 8 matrices. One function per semantics column of opcodes.def, like those
 * of the other decode_*.c files; they live in decode_cvt.c, decode_matrix.c, decode_tcgen05.c and packed_float.c. */
#ifndef PG_EMULATOR_DECODE_ENGINES_H
#define PG_EMULATOR_DECODE_ENGINES_H

struct pg_decoder;
struct pg_op;

/* X(semantics) */
/* clang-format off */
#define PG_DECODE_ENGINES(X)                                                                       \
    X(cvt_int) X(cvt_float_to_int) X(cvt_int_to_float) X(cvt_float) X(cvt_tf32)                    \
    X(cvt_pack_float) X(cvt_unpack_float) X(cvt_pack)                                              \
    X(mma) X(ldmatrix) X(stmatrix) X(movmatrix)                                                    \
    X(wgmma) X(wgmma_fence) X(wgmma_commit) X(wgmma_wait)                                          \
    X(tcgen05_alloc) X(tcgen05_dealloc) X(tcgen05_relinquish) X(tcgen05_cp) X(tcgen05_mma)         \
    X(tcgen05_ld) X(tcgen05_st) X(tcgen05_shift) X(tcgen05_commit) X(tcgen05_wait)                 \
    X(tcgen05_fence)                                                                               \
    X(f32x2) X(minmax3) X(set_x2)
/* clang-format on */

#define PG_DECLARE(name) void pg_decode_##name(struct pg_decoder *d, struct pg_op *op);
PG_DECODE_ENGINES(PG_DECLARE)
#undef PG_DECLARE

#endif
