/* ld and st: element widths 8 to 128 bits, vectors, into register rows of 16 to 128 bits.
 * Ordered and volatile accesses of every size use the processor's atomic loads and stores,
 * because other host threads may be at the same address by design; vectors move in pieces that
 * do not tear. Plain ones need nothing, in a program without races. */
#include "emulator/memory/load_store.h"

#include "emulator/machine/lanes.h"
#include "emulator/machine/memory.h"
#include "emulator/memory/wide.h"

enum { PG_MAX_VECTOR_BYTES = 32 };

/* The traffic counters of --stats. */
static void count_bytes(uint64_t *counter, const pg_op *op, uint32_t lanes)
{
    counter[op->space] += (uint64_t)__builtin_popcount(lanes) * op->size * op->count;
}

/* The elements of one lane in memory, `bytes` (a power of two) in all, in pieces of up to 16
 * bytes, each moved at once: aligned vectors do not tear, as on the hardware. `strong`: other
 * host threads may be there by design. */
static void read_lane(uint8_t *to, const uint8_t *at, uint32_t bytes, bool strong)
{
    for (uint32_t i = 0; i + 16 <= bytes; i += 16) {
        const pg_wide piece = pg_wide_load((const pg_wide *)(const void *)(at + i));
        memcpy(to + i, &piece, sizeof piece);
    }
#define PIECE(T)                                                                                   \
    {                                                                                              \
        const T *p = (const T *)(const void *)at;                                                  \
        const T piece = strong ? __atomic_load_n(p, __ATOMIC_ACQUIRE) : *p;                        \
        memcpy(to, &piece, sizeof piece);                                                          \
    }
    if (bytes == 8)
        PIECE(uint64_t)
    else if (bytes == 4)
        PIECE(uint32_t)
    else if (bytes == 2)
        PIECE(uint16_t)
    else if (bytes == 1)
        PIECE(uint8_t)
#undef PIECE
}

static void write_lane(uint8_t *at, const uint8_t *from, uint32_t bytes, bool strong)
{
    for (uint32_t i = 0; i + 16 <= bytes; i += 16) {
        pg_wide piece;
        memcpy(&piece, from + i, sizeof piece);
        pg_wide_store((pg_wide *)(void *)(at + i), piece);
    }
#define PIECE(T)                                                                                   \
    {                                                                                              \
        T *p = (T *)(void *)at, piece;                                                             \
        memcpy(&piece, from, sizeof piece);                                                        \
        if (strong)                                                                                \
            __atomic_store_n(p, piece, __ATOMIC_RELEASE);                                          \
        else                                                                                       \
            *p = piece;                                                                            \
    }
    if (bytes == 8)
        PIECE(uint64_t)
    else if (bytes == 4)
        PIECE(uint32_t)
    else if (bytes == 2)
        PIECE(uint16_t)
    else if (bytes == 1)
        PIECE(uint8_t)
#undef PIECE
}

/* Pieces of memory for all lanes: what lies between registers and memory in vector and strong
 * accesses. */
typedef struct pieces {
    _Alignas(16) uint8_t lane[PG_LANES][PG_MAX_VECTOR_BYTES];
} pieces;

static void read_lanes(pieces *p, const pg_op *op, uint32_t lanes, uint8_t *const *at)
{
    const uint32_t bytes = (uint32_t)op->size * op->count;
    const bool strong = (op->flags & PG_ACCESS_STRONG) != 0;
    for (uint32_t left = lanes; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        read_lane(p->lane[l], at[l], bytes, strong);
    }
}

static void write_lanes(const pieces *p, const pg_op *op, uint32_t lanes, uint8_t *const *at)
{
    const uint32_t bytes = (uint32_t)op->size * op->count;
    const bool strong = (op->flags & PG_ACCESS_STRONG) != 0;
    for (uint32_t left = lanes; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        write_lane(at[l], p->lane[l], bytes, strong);
    }
}

static bool in_pieces(const pg_op *op)
{
    return op->count > 1 || op->size == 16 || (op->flags & PG_ACCESS_STRONG);
}

#define LOAD(NAME, T, D)                                                                           \
    static pg_step NAME(pg_warp *w, const pg_op *op, uint32_t lanes)                               \
    {                                                                                              \
        uint8_t *at[PG_LANES];                                                                     \
        if (!pg_resolve(w, op, lanes, (uint32_t)sizeof(T) * op->count, PG_ACCESS_READ, at))        \
            return PG_STOP;                                                                        \
        count_bytes(w->cta->cluster->worker->space_read, op, lanes);                               \
        D *d = pg_row_at(w, op->rows[0]);                                                          \
        if (!in_pieces(op)) {                                                                      \
            PG_EACH_LANE(lanes, d[l] = (D)(*(const T *)(const void *)at[l]));                      \
            return PG_NEXT;                                                                        \
        }                                                                                          \
        pieces p;                                                                                  \
        read_lanes(&p, op, lanes, at);                                                             \
        for (uint32_t e = 0; e < op->count; e++) {                                                 \
            d = pg_row_at(w, op->rows[e]);                                                         \
            PG_EACH_LANE(lanes, d[l] = (D)((const T *)(const void *)p.lane[l])[e]);                \
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

/* order=isa: a strong vector store is one store an element, in order, with others in between:
 * the ISA's memory model makes nothing of a vector but its elements. `group->stored` of them are
 * done; more when this returns. */
static pg_step store_torn(pg_warp *w, const pg_op *op, uint32_t lanes, const pieces *p)
{
    pg_group *g = pg_running_group(w);
    uint64_t address[PG_LANES];
    uint8_t *at[PG_LANES];
    pg_addresses(w, op, lanes, address);
    /* bounds and alignment are the vector's, like those of a store in one piece */
    if (!pg_resolve_async(w, op, lanes, (uint32_t)op->size * op->count, PG_ACCESS_WRITE, at))
        return PG_STOP;
    PG_EACH_LANE(lanes, address[l] += (uint64_t)g->stored * op->size);
    const pg_checked_access access = {lanes, op->size, PG_ACCESS_WRITE, address, NULL};
    if (!pg_resolve_at(w, op, &access, at))
        return PG_STOP;
    for (uint32_t left = lanes; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        write_lane(at[l], p->lane[l] + g->stored * op->size, op->size, true);
    }
    if (++g->stored < op->count)
        return pg_block(w, (pg_wait){.kind = PG_WAIT_TURN, .again = true});
    g->stored = 0;
    return PG_NEXT;
}

static bool tears(pg_warp *w, const pg_op *op)
{
    if (!w->launch->isa_order || !(op->flags & PG_ACCESS_STRONG) || op->count < 2)
        return false;
    return pg_running_group(w)->stored || pg_worker_random(w->cta->cluster->worker) % 2;
}

#define STORE(NAME, T, S)                                                                          \
    static pg_step NAME(pg_warp *w, const pg_op *op, uint32_t lanes)                               \
    {                                                                                              \
        uint8_t *at[PG_LANES];                                                                     \
        const bool plain = !in_pieces(op), torn = tears(w, op);                                    \
        pieces p;                                                                                  \
        for (uint32_t e = 0; !plain && e < op->count; e++) {                                       \
            const S *s = pg_row_at(w, op->rows[e]);                                                \
            PG_EACH_LANE(lanes, ((T *)(void *)p.lane[l])[e] = (T)s[l]);                            \
        }                                                                                          \
        count_bytes(w->cta->cluster->worker->space_written, op, lanes);                            \
        w->cta->cluster->progress++;                                                               \
        if (torn)                                                                                  \
            return store_torn(w, op, lanes, &p);                                                   \
        if (!pg_resolve(w, op, lanes, (uint32_t)sizeof(T) * op->count, PG_ACCESS_WRITE, at))       \
            return PG_STOP;                                                                        \
        const S *s = pg_row_at(w, op->rows[0]);                                                    \
        if (plain)                                                                                 \
            PG_EACH_LANE(lanes, *(T *)(void *)at[l] = (T)s[l]);                                    \
        else                                                                                       \
            write_lanes(&p, op, lanes, at);                                                        \
        return PG_NEXT;                                                                            \
    }

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

LOAD(ld_128_128, pg_wide, pg_wide)
STORE(st_128_128, pg_wide, pg_wide)

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
