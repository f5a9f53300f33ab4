/* Video instructions: arithmetic on bytes and halves of registers, with a second operation or a
 * merge. PTX ISA 9.0, section 9.7.17. */
#ifndef PG_EMULATOR_VIDEO_H
#define PG_EMULATOR_VIDEO_H

#include "emulator/machine/program.h"

typedef enum pg_video_op {
    PG_VIDEO_ADD,
    PG_VIDEO_SUB,
    PG_VIDEO_ABSDIFF,
    PG_VIDEO_MIN,
    PG_VIDEO_MAX,
    PG_VIDEO_SHL,
    PG_VIDEO_SHR,
    PG_VIDEO_AVRG,
    PG_VIDEO_SET
} pg_video_op;

typedef enum pg_video_second {
    PG_SECOND_NONE,
    PG_SECOND_ADD,
    PG_SECOND_MIN,
    PG_SECOND_MAX
} pg_video_second;

/* op->extra. Selectors as in a parsed operand (PG_SELECT_...). */
typedef struct pg_video_plan {
    pg_video_op op;
    pg_video_second second;
    bool d_signed, a_signed, b_signed, sat;
    bool wrap;       /* shifts: amounts modulo 32, else at most 32 */
    unsigned accept; /* set: PG_OUTCOME_... that are true */
    uint32_t d, a, b, c;
    unsigned parts; /* SIMD: 2 or 4 */
    bool plus_one;  /* mad.po */
    unsigned shift; /* mad: 0, 7, 15 */
} pg_video_plan;

/* d, a, b, c: rows of 32 bits. One value; a mad; two halves or four bytes. */
pg_step pg_op_video(pg_warp *w, const pg_op *op, uint32_t lanes);
pg_step pg_op_video_mad(pg_warp *w, const pg_op *op, uint32_t lanes);
pg_step pg_op_video_parts(pg_warp *w, const pg_op *op, uint32_t lanes);

#endif
