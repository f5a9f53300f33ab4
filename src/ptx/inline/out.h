/* Text that is written piece by piece and whose lines know where they come from. */
#ifndef PG_PTX_INLINE_OUT_H
#define PG_PTX_INLINE_OUT_H

#include "base/arena.h"
#include "base/buf.h"

typedef struct pg_origin {
    uint8_t source; /* ptxgen_inlined_source */
    uint32_t line;  /* of its PTX */
    uint32_t loc;   /* of its module; 0: none */
} pg_origin;

typedef struct pg_out {
    pg_buf text;
    pg_arena *arena;
    pg_origin *lines; /* a line each, the last one too if it has no end */
    size_t n_lines, cap_lines;
    pg_origin now; /* of what is written next */
    /* the current line has its origin: that of its first character that is no blank, or of its
     * end */
    bool begun;
} pg_out;

void pg_out_init(pg_out *o, pg_arena *arena, const pg_alloc *alloc);
void pg_out_put(pg_out *o, const char *text, size_t n);
/* A line, with its end. */
void pg_out_line(pg_out *o, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* What has been put into o->text since it had `from` bytes is of the current origin. */
void pg_out_wrote(pg_out *o, size_t from);
/* Text of one source whose lines count from `line`. */
void pg_out_source(pg_out *o, pg_origin first, const char *text, size_t n);
bool pg_out_failed(const pg_out *o);

#endif
