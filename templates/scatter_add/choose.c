/* Which schedule a call gets that names none, and what else the sizes of a problem decide. */
#include "scatter_add/scatter_add.h"

enum {
    WORD = 4,
    NARROW_ROW_BYTES = 64,   /* that private adds, and owner by narrow accesses */
    SORTED_ROW_BYTES = 96,   /* that owner adds faster than vector */
    SHIFTED_ROW_BYTES = 176, /* ... by shifted accesses */
    HALVES_ROW_BYTES = 192,  /* that vector adds at odd addresses, at most */
    STORED_ROW_BYTES = 256,  /* that owner stores, rather than adds to */
};

static int64_t row_bytes_of(const pg_problem *p)
{
    return p->symbol[PG_SCATTER_N] * pg_dtype_bits(p->operand[PG_SCATTER_OUT].dtype) / 8;
}

/* Bytes, 16 at most, that every row of the operand begins at a multiple of, and is long. */
static int64_t alignment_of(const pg_problem *p, size_t operand)
{
    const pg_view *v = &p->operand[operand];
    const int64_t bytes = pg_dtype_bits(v->dtype) / 8;
    const uint64_t all = 16 | (uintptr_t)v->data | (uint64_t)(v->shape[1] * bytes) |
                         (v->shape[0] > 1 ? (uint64_t)(v->stride[0] * bytes) : 0);
    return (int64_t)(all & (~all + 1));
}

int64_t pg_scatter_add_access_of(const pg_problem *p)
{
    const int64_t out = alignment_of(p, PG_SCATTER_OUT), src = alignment_of(p, PG_SCATTER_SRC);
    return out < src ? out : src;
}

const char *pg_scatter_add_owner_operand(const pg_problem *p)
{
    static const uint8_t owners[] = {PG_SCATTER_WEIGHT,        PG_SCATTER_SRC_INDEX,
                                     PG_SCATTER_ALPHA,         PG_SCATTER_DEVICE_ROWS,
                                     PG_SCATTER_PADDING_INDEX, PG_SCATTER_COUNTS};
    for (size_t i = 0; i < sizeof owners; i++)
        if (p->operand[owners[i]].present)
            return p->table->rows[owners[i]].name;
    return p->prepared ? "a plan" : NULL;
}

/* Bytes of the shortest rows that are sorted. */
static int64_t sorted_from(int64_t access, bool once)
{
    if (access == 2)
        return SORTED_ROW_BYTES;
    if (access < 16)
        return SHIFTED_ROW_BYTES;
    return once ? STORED_ROW_BYTES : SORTED_ROW_BYTES;
}

/* Sorting costs about as much as moving 60 MB, and leaves nothing to how the index is
 * distributed. Shorter rows would be gathered in pieces that memory does not deliver one by one:
 * they are sorted only where they go to so few rows that these are always contended for. Where
 * out stays in L2, additions that are spread evenly cost little, and the sort pays later. Where
 * rows are not hit more than once it pays for long ones only, whose sums are then stored.
 * Measured: docs/benchmarks.md. */
static bool prefers_owner(const pg_problem *p, int64_t access)
{
    enum { LEAST_ROWS = 8192, FEW_ROWS = 512, MANY = 1 << 20 };
    const int64_t rows = p->symbol[PG_SCATTER_ROWS], out_rows = p->symbol[PG_SCATTER_OUT_ROWS];
    const int64_t row_bytes = row_bytes_of(p);
    if (rows > INT32_MAX || out_rows > PG_SORT_MAX)
        return false;
    const bool once = rows - rows / 5 <= out_rows;
    if (row_bytes < sorted_from(access, once))
        return out_rows <= FEW_ROWS && rows >= MANY;
    const bool out_stays = out_rows <= (int64_t)p->device->l2_bytes / 2 / row_bytes;
    const int64_t least_bytes = INT64_C(1) << (out_stays ? 27 : 26);
    return rows >= LEAST_ROWS && rows >= least_bytes / row_bytes;
}

/* Short rows that shared memory can add. */
static bool fits_private(const pg_problem *p, const pg_scatter_add_key *k)
{
    enum { LEAST_ROWS = 1 << 15 };
    const int64_t rows = p->symbol[PG_SCATTER_ROWS], n = p->symbol[PG_SCATTER_N];
    const pg_view *src = &p->operand[PG_SCATTER_SRC];
    const int64_t bytes = pg_dtype_bits(src->dtype) / 8;
    const pg_arch *arch = pg_arch_find((ptxgen_arch)k->arch);
    return arch && arch->sm >= 90 && k->n && n * bytes <= NARROW_ROW_BYTES && bytes < 8 &&
           !k->exact && !k->function && k->reduce == PTXGEN_SCATTER_ADD &&
           !pg_scatter_add_owner_operand(p) && rows >= LEAST_ROWS && rows <= INT32_MAX &&
           src->stride[0] <= UINT32_MAX / bytes;
}

/* Whether rows so aligned can be added where they are. Halves at odd addresses go word by word:
 * short rows, and those of calls that the launches of a sort would take longer than, even if all
 * rows went to one. */
static bool has_reductions(const pg_problem *p, const pg_scatter_add_key *k, int64_t access)
{
    enum { SMALL_CALL_BYTES = 1 << 22, SMALL_CALL_ROWS = 512 };
    if (access == 16)
        return true;
    if (k->access || k->function || k->exact || k->reduce != PTXGEN_SCATTER_ADD ||
        !pg_sum_type_at(k->dtype)->vector_add)
        return false;
    const pg_arch *arch = pg_arch_find((ptxgen_arch)k->arch);
    const int64_t rows = p->symbol[PG_SCATTER_ROWS], row_bytes = row_bytes_of(p);
    const bool small = rows <= SMALL_CALL_ROWS && rows * row_bytes <= SMALL_CALL_BYTES;
    return access >= WORD || (arch && arch->sm >= 90 && (row_bytes < HALVES_ROW_BYTES || small) &&
                              pg_scatter_add_dense_out(p));
}

/* Tables that pay: each row of out is hit so often that filling and emptying them costs little. */
static bool prefers_private(const pg_problem *p, const pg_scatter_add_key *k)
{
    enum { LEAST_HITS = 128, HITS_A_COLUMN = 64 };
    const int64_t rows = p->symbol[PG_SCATTER_ROWS], out_rows = p->symbol[PG_SCATTER_OUT_ROWS];
    const int64_t n = p->symbol[PG_SCATTER_N], hits = HITS_A_COLUMN * n;
    const int64_t access = k->access ? k->access : pg_scatter_add_access_of(p);
    return fits_private(p, k) && rows / (hits < LEAST_HITS ? LEAST_HITS : hits) >= out_rows &&
           pg_scatter_add_cut_private(p, k, access).copies != PG_COPIES_AUTO;
}

static void choose_private(const pg_problem *p, pg_scatter_add_key *k)
{
    k->access = k->access ? k->access : pg_scatter_add_access_of(p);
    const pg_private_cut cut = pg_scatter_add_cut_private(p, k, k->access);
    k->copies = cut.copies;
    if (!k->warps && !k->ctas && !k->slices) {
        k->warps = cut.warps;
        k->ctas = cut.ctas;
        k->slices = cut.slices;
    }
}

/* Two accesses at a time, where rows of halves have several, are without gaps, and too short for
 * panels. */
static bool adds_blocks(const pg_problem *p, const pg_scatter_add_key *k)
{
    const pg_arch *arch = pg_arch_find((ptxgen_arch)k->arch);
    return arch && arch->sm >= 90 && pg_sum_type_at(k->dtype)->bytes == 2 && !k->panel &&
           row_bytes_of(p) > k->access && row_bytes_of(p) <= STORED_ROW_BYTES &&
           pg_scatter_add_dense_out(p);
}

/* Looking for hot rows takes 0.3 us, which large calls gain many times over where there are any.
 * Rows that panels may cut are left alone. */
static void choose_hot(const pg_problem *p, pg_scatter_add_key *k, int64_t access)
{
    enum { LEAST_ROWS = 1 << 18, WHOLE_ROW_BYTES = 256 };
    const pg_arch *arch = pg_arch_find((ptxgen_arch)k->arch);
    if (!k->hot && !pg_scatter_add_needs_owner(k) && arch && arch->sm >= 90 &&
        p->symbol[PG_SCATTER_ROWS] >= LEAST_ROWS && row_bytes_of(p) <= WHOLE_ROW_BYTES &&
        !k->panel && pg_scatter_add_may_be_hot(p, access, k->shift))
        k->hot = PG_HOT_YES;
}

/* Rows that are hit about once, as far as the sizes tell. Short ones are rather added to where they
 * are, if they can be: to store parts of lines costs more. */
static bool loads_ahead(const pg_problem *p, const pg_scatter_add_key *k, int64_t access)
{
    const int64_t rows = p->symbol[PG_SCATTER_ROWS], out_rows = p->symbol[PG_SCATTER_OUT_ROWS];
    const bool adds = access == 16 && !k->exact && k->reduce == PTXGEN_SCATTER_ADD &&
                      pg_sum_type_at(k->dtype)->vector_add;
    return rows / 2 < out_rows && rows >= out_rows / 2 && !k->shift &&
           k->reduce != PTXGEN_SCATTER_MEAN && !(adds && row_bytes_of(p) < STORED_ROW_BYTES);
}

static void choose_schedule(const pg_problem *p, pg_scatter_add_key *k, int64_t access)
{
    if (prefers_private(p, k))
        k->schedule = PTXGEN_SCHEDULE_PRIVATE;
    else if (pg_scatter_add_owner_operand(p) || !has_reductions(p, k, access) ||
             (!k->function && prefers_owner(p, access)))
        k->schedule = PTXGEN_SCHEDULE_OWNER;
    else if (access < 16) {
        k->schedule = PTXGEN_SCHEDULE_VECTOR;
        k->access = access;
        k->shift = adds_blocks(p, k);
        if (row_bytes_of(p) <= WORD && !k->pieces) /* in the order of a sorted index */
            k->pieces = 2;
    }
    if (k->schedule != PTXGEN_SCHEDULE_AUTO)
        pg_scatter_add_drop_settings(k);
}

void pg_scatter_add_choose(const pg_problem *p, void *key)
{
    pg_scatter_add_key *k = key;
    const int64_t access = pg_scatter_add_access_of(p);
    pg_scatter_add_follow_settings(k);
    if (k->schedule == PTXGEN_SCHEDULE_AUTO)
        choose_schedule(p, k, access);
    if (k->schedule == PTXGEN_SCHEDULE_PRIVATE)
        choose_private(p, k);
    if (k->schedule == PTXGEN_SCHEDULE_AUTO || k->schedule == PTXGEN_SCHEDULE_VECTOR)
        choose_hot(p, k, k->access ? k->access : access);
    if (k->schedule != PTXGEN_SCHEDULE_OWNER)
        return;
    if (!k->access && access < 16)
        k->shift = row_bytes_of(p) >= NARROW_ROW_BYTES;
    if (!k->access && !k->shift)
        k->access = access;
    if (!k->ahead && loads_ahead(p, k, access))
        k->ahead = PG_AHEAD_YES;
}

/* Rows of any length, with or without gaps, of any number; how the work is cut stays, where bits
 * follow from it. */
void pg_scatter_add_generic(const pg_problem *p, void *key)
{
    pg_scatter_add_key *k = key;
    const bool adds = has_reductions(p, k, pg_scatter_add_access_of(p));
    const bool named = k->schedule != PTXGEN_SCHEDULE_AUTO;
    pg_scatter_add_choose(p, key);
    if (!named && k->schedule == PTXGEN_SCHEDULE_PRIVATE) { /* is for a few rows of one length */
        k->access = pg_scatter_add_access_of(p);
        k->schedule = adds ? PTXGEN_SCHEDULE_VECTOR : PTXGEN_SCHEDULE_OWNER;
        k->shift = k->schedule == PTXGEN_SCHEDULE_OWNER; /* as inexact as the copies */
    }
    k->n = k->contig = 0;
    k->tile = k->stages = k->warps = k->ctas = k->pieces = k->panel = 0;
    k->ahead = k->copies = k->slices = k->hot = 0;
}
