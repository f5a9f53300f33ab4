/* Loops over the lanes of a warp. A handler writes its lane expression once; the full-warp form
 * is a plain counted loop that the compiler vectorises, the other walks the set bits. */
#ifndef PG_EMULATOR_LANES_H
#define PG_EMULATOR_LANES_H

#include "emulator/machine/program.h"

#if defined(__clang__)
#define PG_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define PG_INDEPENDENT _Pragma("GCC ivdep") /* rows are equal or disjoint, never shifted */
#else
#define PG_INDEPENDENT
#endif

/* Runs `body` with `l` = 0..31 for every lane of `lanes`. */
#define PG_EACH_LANE(lanes, body)                                                                  \
    do {                                                                                           \
        if ((lanes) == PG_ALL_LANES) {                                                             \
            PG_INDEPENDENT for (int l = 0; l < PG_LANES; l++)                                      \
            {                                                                                      \
                body;                                                                              \
            }                                                                                      \
        } else {                                                                                   \
            for (uint32_t left_ = (lanes); left_; left_ &= left_ - 1) {                            \
                const int l = __builtin_ctz(left_);                                                \
                body;                                                                              \
            }                                                                                      \
        }                                                                                          \
    } while (0)

/* pg_step NAME(w, op, lanes): d = expr(x [, y [, z]]), lane by lane; D, X, Y, Z are
 * lane types. `static` in front where no other file decodes it. */
#define PG_UNARY(NAME, D, X, expr)                                                                 \
    pg_step NAME(pg_warp *w, const pg_op *op, uint32_t lanes)                                      \
    {                                                                                              \
        D *d = pg_row_at(w, op->d);                                                                \
        const X *a = pg_row_at(w, op->a);                                                          \
        PG_EACH_LANE(lanes, const X x = a[l]; d[l] = (D)(expr));                                   \
        return PG_NEXT;                                                                            \
    }
#define PG_BINARY(NAME, D, X, Y, expr)                                                             \
    pg_step NAME(pg_warp *w, const pg_op *op, uint32_t lanes)                                      \
    {                                                                                              \
        D *d = pg_row_at(w, op->d);                                                                \
        const X *a = pg_row_at(w, op->a);                                                          \
        const Y *b = pg_row_at(w, op->b);                                                          \
        PG_EACH_LANE(lanes, const X x = a[l]; const Y y = b[l]; d[l] = (D)(expr));                 \
        return PG_NEXT;                                                                            \
    }
#define PG_TERNARY(NAME, D, X, Y, Z, expr)                                                         \
    pg_step NAME(pg_warp *w, const pg_op *op, uint32_t lanes)                                      \
    {                                                                                              \
        D *d = pg_row_at(w, op->d);                                                                \
        const X *a = pg_row_at(w, op->a);                                                          \
        const Y *b = pg_row_at(w, op->b);                                                          \
        const Z *c = pg_row_at(w, op->c);                                                          \
        PG_EACH_LANE(lanes, const X x = a[l]; const Y y = b[l]; const Z z = c[l];                  \
                     d[l] = (D)(expr));                                                            \
        return PG_NEXT;                                                                            \
    }

#endif
