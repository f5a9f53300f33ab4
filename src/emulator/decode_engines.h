/* Decoders of the instructions that end in the number and matrix engines: conversions, matrix multiply, wgmma, and the
 * loads and stores of 8 x 8 matrices. One function per semantics column of opcodes.def, like those of the other
 * decode_*.c files; they live in decode_cvt.c and decode_matrix.c. */
#ifndef PG_EMULATOR_DECODE_ENGINES_H
#define PG_EMULATOR_DECODE_ENGINES_H

struct pg_decoder;
struct pg_op;

void pg_decode_cvt_int(struct pg_decoder *d, struct pg_op *op);
void pg_decode_cvt_float_to_int(struct pg_decoder *d, struct pg_op *op);
void pg_decode_cvt_int_to_float(struct pg_decoder *d, struct pg_op *op);
void pg_decode_cvt_float(struct pg_decoder *d, struct pg_op *op);
void pg_decode_cvt_tf32(struct pg_decoder *d, struct pg_op *op);
void pg_decode_cvt_pack_float(struct pg_decoder *d, struct pg_op *op);
void pg_decode_cvt_unpack_float(struct pg_decoder *d, struct pg_op *op);
void pg_decode_cvt_pack(struct pg_decoder *d, struct pg_op *op);

void pg_decode_mma(struct pg_decoder *d, struct pg_op *op);
void pg_decode_ldmatrix(struct pg_decoder *d, struct pg_op *op);
void pg_decode_stmatrix(struct pg_decoder *d, struct pg_op *op);
void pg_decode_movmatrix(struct pg_decoder *d, struct pg_op *op);

void pg_decode_wgmma(struct pg_decoder *d, struct pg_op *op);
void pg_decode_wgmma_fence(struct pg_decoder *d, struct pg_op *op);
void pg_decode_wgmma_commit(struct pg_decoder *d, struct pg_op *op);
void pg_decode_wgmma_wait(struct pg_decoder *d, struct pg_op *op);

#endif
