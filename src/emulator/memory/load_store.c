/* ld and st: element widths 8 to 128 bits, vectors, into register rows of 16 to 128 bits. Ordered and
 * volatile accesses use the processor's atomic loads and stores, because other host threads may be at the
 * same address by design; plain ones do not, as a program without races needs none. */
#include "emulator/memory/load_store.h"

#include "emulator/machine/lanes.h"
#include "emulator/machine/memory.h"

typedef unsigned __int128 u128;

/* The traffic counters of --stats. */
static void count_bytes(uint64_t *counter, const pg_op *op, uint32_t lanes)
{
    counter[op->space] += (uint64_t)__builtin_popcount(lanes) * op->size * op->count;
}

#define LOAD(NAME, T, D)                                                                           \
    static pg_step NAME(pg_warp *w, const pg_op *op, uint32_t lanes)                               \
    {                                                                                              \
        uint8_t *at[PG_LANES];                                                                     \
        if (!pg_resolve(w, op, lanes, (uint32_t)sizeof(T) * op->count, PG_ACCESS_READ, at))        \
            return PG_STOP;                                                                        \
        count_bytes(w->cta->cluster->worker->space_read, op, lanes);                               \
        const bool strong = (op->flags & PG_ACCESS_STRONG) != 0;                                   \
        for (uint32_t e = 0; e < op->count; e++) {                                                 \
            D *d = pg_row_at(w, op->rows[e]);                                                      \
            if (strong && sizeof(T) <= 8)                                                          \
                PG_EACH_LANE(lanes, d[l] = (D)LOAD_STRONG(T, (const T *)at[l] + e));               \
            else                                                                                   \
                PG_EACH_LANE(lanes, d[l] = (D)(((const T *)at[l])[e]));                            \
        }                                                                                          \
        return PG_NEXT;                                                                            \
    }                                                                                              \
    static pg_step NAME##_param(pg_warp *w, const pg_op *op, uint32_t lanes)                       \
    {                                                                                              \
        for (uint32_t e = 0; e < op->count; e++) {                                                 \
            D *d = pg_row_at(w, op->rows[e]);                                                      \
            T value;                                                                               \
            memcpy(&value, w->launch->params + op->imm + e * sizeof(T), sizeof value);             \
            PG_EACH_LANE(lanes, d[l] = (D)value);                                                  \
        }                                                                                          \
        return PG_NEXT;                                                                            \
    }
#define LOAD_STRONG(T, p) __atomic_load_n(p, __ATOMIC_ACQUIRE)

#define STORE(NAME, T, S)                                                                          \
    static pg_step NAME(pg_warp *w, const pg_op *op, uint32_t lanes)                               \
    {                                                                                              \
        uint8_t *at[PG_LANES];                                                                     \
        if (!pg_resolve(w, op, lanes, (uint32_t)sizeof(T) * op->count, PG_ACCESS_WRITE, at))       \
            return PG_STOP;                                                                        \
        count_bytes(w->cta->cluster->worker->space_written, op, lanes);                            \
        w->cta->cluster->progress++;                                                               \
        const bool strong = (op->flags & PG_ACCESS_STRONG) != 0;                                   \
        for (uint32_t e = 0; e < op->count; e++) {                                                 \
            const S *s = pg_row_at(w, op->rows[e]);                                                \
            if (strong && sizeof(T) <= 8)                                                          \
                PG_EACH_LANE(lanes, STORE_STRONG((T *)at[l] + e, (T)s[l]));                        \
            else                                                                                   \
                PG_EACH_LANE(lanes, ((T *)at[l])[e] = (T)s[l]);                                    \
        }                                                                                          \
        return PG_NEXT;                                                                            \
    }
#define STORE_STRONG(p, v) __atomic_store_n(p, v, __ATOMIC_RELEASE)

/* Whole registers of a whole warp side by side in memory: one copy. */
#define ROW_ACCESS(n, T)                                                                           \
    static pg_step ld_row_##n(pg_warp *w, const pg_op *op, uint32_t lanes)                         \
    {                                                                                              \
        const uint8_t *at =                                                                        \
            lanes == PG_ALL_LANES ? pg_resolve_row(w, op, sizeof(T), false) : NULL;                \
        if (!at)                                                                                   \
            return ld_u##n##_##n(w, op, lanes);                                                    \
        count_bytes(w->cta->cluster->worker->space_read, op, lanes);                               \
        memcpy(pg_row_at(w, op->rows[0]), at, PG_LANES * sizeof(T));                               \
        return PG_NEXT;                                                                            \
    }                                                                                              \
    static pg_step st_row_##n(pg_warp *w, const pg_op *op, uint32_t lanes)                         \
    {                                                                                              \
        uint8_t *at = lanes == PG_ALL_LANES ? pg_resolve_row(w, op, sizeof(T), true) : NULL;       \
        if (!at)                                                                                   \
            return st_##n##_##n(w, op, lanes);                                                     \
        count_bytes(w->cta->cluster->worker->space_written, op, lanes);                            \
        w->cta->cluster->progress++;                                                               \
        memcpy(at, pg_row_at(w, op->rows[0]), PG_LANES * sizeof(T));                               \
        return PG_NEXT;                                                                            \
    }

#define WIDTHS(X, name, T)                                                                         \
    X(name##_16, T, uint16_t)                                                                      \
    X(name##_32, T, uint32_t)                                                                      \
    X(name##_64, T, uint64_t)
WIDTHS(LOAD, ld_u8, uint8_t)
WIDTHS(LOAD, ld_s8, int8_t)
WIDTHS(LOAD, ld_u16, uint16_t)
WIDTHS(LOAD, ld_s16, int16_t)
WIDTHS(LOAD, ld_u32, uint32_t)
WIDTHS(LOAD, ld_s32, int32_t)
WIDTHS(LOAD, ld_u64, uint64_t)
WIDTHS(STORE, st_8, uint8_t)
WIDTHS(STORE, st_16, uint16_t)
WIDTHS(STORE, st_32, uint32_t)
WIDTHS(STORE, st_64, uint64_t)

ROW_ACCESS(16, uint16_t)
ROW_ACCESS(32, uint32_t)
ROW_ACCESS(64, uint64_t)

#undef LOAD_STRONG
#undef STORE_STRONG
#define LOAD_STRONG(T, p)  (*(p)) /* 16 bytes: never reached */
#define STORE_STRONG(p, v) (*(p) = (v))
LOAD(ld_128_128, u128, u128)
STORE(st_128_128, u128, u128)

#define ROW(name)                                                                                  \
    {                                                                                              \
        name##_16, name##_32, name##_64                                                            \
    }
#define ROW_PARAM(name)                                                                            \
    {                                                                                              \
        name##_16_param, name##_32_param, name##_64_param                                          \
    }

/* Rows: u8 s8 u16 s16 u32 s32 u64 u64; columns: lanes of 16, 32, 64 bits. */
static const pg_handler loads[8][3] = {ROW(ld_u8),  ROW(ld_s8),  ROW(ld_u16), ROW(ld_s16),
                                       ROW(ld_u32), ROW(ld_s32), ROW(ld_u64), ROW(ld_u64)};
static const pg_handler param_loads[8][3] = {
    ROW_PARAM(ld_u8),  ROW_PARAM(ld_s8),  ROW_PARAM(ld_u16), ROW_PARAM(ld_s16),
    ROW_PARAM(ld_u32), ROW_PARAM(ld_s32), ROW_PARAM(ld_u64), ROW_PARAM(ld_u64)};
static const pg_handler stores[4][3] = {ROW(st_8), ROW(st_16), ROW(st_32), ROW(st_64)};

static int log2_of(unsigned bytes)
{
    return bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : bytes == 8 ? 3 : -1;
}

/* Index by (element, lane) width, -1 when there is none. */
static const pg_handler *pick(const pg_handler *row, unsigned lane_bytes)
{
    const int column = log2_of(lane_bytes) - 1;
    return column < 0 ? NULL : row + column;
}

/* The handlers for plain accesses to one whole register. */
static const pg_handler row_loads[3] = {ld_row_16, ld_row_32, ld_row_64};
static const pg_handler row_stores[3] = {st_row_16, st_row_32, st_row_64};

pg_handler pg_load_row_handler(unsigned bytes)
{
    return row_loads[log2_of(bytes) - 1];
}

pg_handler pg_store_row_handler(unsigned bytes)
{
    return row_stores[log2_of(bytes) - 1];
}

pg_handler pg_load_handler(unsigned bytes, unsigned lane_bytes, bool is_signed)
{
    if (bytes == 16)
        return lane_bytes == 16 ? ld_128_128 : NULL;
    const int row = log2_of(bytes);
    const pg_handler *h = row < 0 ? NULL : pick(loads[2 * row + is_signed], lane_bytes);
    return h ? *h : NULL;
}

pg_handler pg_load_param_handler(unsigned bytes, unsigned lane_bytes, bool is_signed)
{
    if (bytes == 16)
        return lane_bytes == 16 ? ld_128_128_param : NULL;
    const int row = log2_of(bytes);
    const pg_handler *h = row < 0 ? NULL : pick(param_loads[2 * row + is_signed], lane_bytes);
    return h ? *h : NULL;
}

pg_handler pg_store_handler(unsigned bytes, unsigned lane_bytes)
{
    if (bytes == 16)
        return lane_bytes == 16 ? st_128_128 : NULL;
    const int row = log2_of(bytes);
    const pg_handler *h = row < 0 ? NULL : pick(stores[row], lane_bytes);
    return h ? *h : NULL;
}
