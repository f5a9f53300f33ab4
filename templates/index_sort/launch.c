/* From one call's arguments to the launches of a sort: three a pass, and one that groups. */
#include "index_sort/sort_kernels.h"

enum {
    SCAN_DIGITS = 32,
    SCAN_THREADS = 1024,
    MIN_DIGIT = 2,
    BIN_ENTRIES = 12,
    MOST_BINS = 10,
    ALIGNMENT = 256
};

/* How a sort is cut. */
typedef struct shape {
    uint32_t tiles;
    uint32_t passes, digit, shift; /* digit: bits; shift: of the first pass */
    uint32_t group;                /* bits of the digit that is sorted within tiles; 0: none */
    size_t counts, other, bytes;   /* places in the workspace, which begins with totals */
    uint32_t bins;                 /* group: what of a row is its bin begins with this bit */
} shape;

static size_t align_up(size_t n)
{
    return (n + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static uint32_t bits_of(uint64_t n)
{
    uint32_t bits = 0;
    while (bits < 63 && n >> bits)
        bits++;
    return bits;
}

/* Grouping only: bins of 2048 entries and more by the high digit, which tiles of 4096 then sort
 * by the low one. */
static void cut_in_two(shape *s, uint32_t bits, int max_digit, int64_t rows)
{
    const uint32_t most = (uint32_t)max_digit, wanted = bits_of((uint64_t)rows >> BIN_ENTRIES);
    s->digit = wanted < MOST_BINS ? wanted : MOST_BINS;
    if (s->digit < bits - most)
        s->digit = bits - most;
    if (s->digit > most)
        s->digit = most;
    if (s->digit < MIN_DIGIT)
        s->digit = MIN_DIGIT;
    s->group = bits - s->digit;
    s->shift = s->bins = s->group;
    if (s->group < MIN_DIGIT)
        s->group = MIN_DIGIT;
    s->passes = 1;
}

static shape shape_of(const pg_index_sort_plan *p, const pg_index_sort_args *a)
{
    shape s = {.tiles = (uint32_t)((a->rows - 1) / PG_SORT_TILE + 1)};
    const uint32_t bits = bits_of((uint64_t)a->out_rows - 1), most = (uint32_t)p->max_digit;
    if (a->grouped && bits > most && bits <= 2 * most) {
        cut_in_two(&s, bits, p->max_digit, a->rows);
    } else {
        s.passes = bits ? (bits - 1) / most + 1 : 1;
        s.digit = bits ? (bits - 1) / s.passes + 1 : 1;
        if (s.digit < MIN_DIGIT)
            s.digit = MIN_DIGIT;
    }
    const size_t digits = (size_t)1 << s.digit;
    s.counts = align_up(4 * digits);
    s.other = s.counts + align_up(4 * digits * s.tiles);
    s.bytes = s.other;
    if (s.passes > 1 || s.group)
        s.bytes += align_up((size_t)(a->rows + PG_SORT_PAD) * PG_SORT_ENTRY_BYTES);
    return s;
}

pg_sequence pg_index_sort_sequence(const pg_index_sort_plan *p, const pg_index_sort_args *a)
{
    const shape s = shape_of(p, a);
    return (pg_sequence){.launches = 3 * s.passes + (s.group != 0), .workspace_bytes = s.bytes};
}

size_t pg_index_sort_entries_bytes(int64_t rows)
{
    return align_up((size_t)(rows + PG_SORT_PAD) * PG_SORT_ENTRY_BYTES) + ALIGNMENT;
}

enum { PG_SORT_PARAMS(PG_PARAM_PLACE) COUNT };

static uint32_t places(int from, int to)
{
    return (UINT32_C(1) << (to + 1)) - (UINT32_C(1) << from);
}

pg_param_list pg_index_sort_params(const void *plan, uint32_t part)
{
    static const pg_kernel_param rows[] = {PG_SORT_PARAMS(PG_PARAM_ROW){NULL, 0}};
    const uint32_t index = places(at_index_, at_record_), entries = places(at_from_, at_count_),
                   target = places(at_to_, at_total_), bins = places(at_bin_shift_, at_mark_),
                   rows_only = places(at_row_counts_, at_row_counts_), all = places(0, COUNT - 1);
    const uint32_t absent[] = {
        [PG_SORT_COUNT_INDEX] = entries | target | bins | rows_only,
        [PG_SORT_PLACE_INDEX] = entries | bins | rows_only,
        [PG_SORT_SCAN] = index | entries | target | bins | rows_only,
        [PG_SORT_COUNT_ENTRIES] = index | target | bins | rows_only,
        [PG_SORT_PLACE_ENTRIES] = index | bins | rows_only,
        [PG_SORT_GROUP] = index | places(at_total_, at_total_) | rows_only,
        [PG_SORT_CLEAR_ROWS] = all & ~rows_only & ~places(at_out_rows_, at_out_rows_),
        [PG_SORT_COUNT_ROWS] = all & ~rows_only & ~entries,
    };
    (void)plan;
    return (pg_param_list){rows, absent[part]};
}

/* The entries that pass i writes: the last of all writes the result, the one before it the
 * workspace. */
static char *entries_of(const pg_index_sort_args *a, const shape *s, const pg_step *step,
                        uint32_t i)
{
    const uint32_t left = s->passes - i + (s->group != 0);
    return left % 2 ? a->entries : step->workspace + s->other;
}

static uint32_t place_bytes(uint32_t digit)
{
    return ((2 * PG_SORT_WARPS + 4) << digit) + PG_SORT_ENTRY_BYTES * PG_SORT_TILE +
           8 * PG_SORT_WARPS;
}

uint32_t pg_index_sort_shared_bytes(int max_digit)
{
    return place_bytes((uint32_t)max_digit);
}

static pg_sort_part part_of(const shape *s, const pg_step *step)
{
    const uint32_t pass = step->number / 3, kind = step->number % 3;
    if (pass == s->passes)
        return PG_SORT_GROUP;
    if (kind == 1)
        return PG_SORT_SCAN;
    if (pass == 0)
        return kind ? PG_SORT_PLACE_INDEX : PG_SORT_COUNT_INDEX;
    return kind ? PG_SORT_PLACE_ENTRIES : PG_SORT_COUNT_ENTRIES;
}

static uint32_t shared_bytes(const shape *s, pg_sort_part part)
{
    if (part == PG_SORT_SCAN)
        return 0;
    if (part == PG_SORT_COUNT_INDEX || part == PG_SORT_COUNT_ENTRIES)
        return 4u << s->digit;
    return place_bytes(part == PG_SORT_GROUP ? s->group : s->digit);
}

void pg_index_sort_launch(const pg_index_sort_plan *p, const pg_index_sort_args *a,
                          const pg_step *step, pg_launch *l)
{
    const shape s = shape_of(p, a);
    const pg_sort_part part = part_of(&s, step);
    const uint32_t pass = step->number / 3;
    const bool scan = part == PG_SORT_SCAN, group = part == PG_SORT_GROUP;
    pg_launch_line(l, scan ? ((1u << s.digit) - 1) / SCAN_DIGITS + 1 : s.tiles,
                   scan ? SCAN_THREADS : PG_SORT_THREADS, COUNT,
                   pg_index_sort_params(p, part).absent);
    l->part = part;
    l->early = step->number > 0;
    l->shared_bytes = shared_bytes(&s, part);
    pg_set_pointer(l, at_index_, a->index);
    pg_set_u64(l, at_rows_, (uint64_t)a->rows);
    pg_set_pointer(l, at_device_rows_, a->device_rows);
    pg_set_u64(l, at_out_rows_, (uint64_t)a->out_rows);
    pg_set_u64(l, at_padding_, (uint64_t)a->padding);
    pg_set_u32(l, at_has_padding_, a->has_padding);
    pg_set_record(l, at_record_, a->record);
    pg_set_pointer(l, at_from_, entries_of(a, &s, step, pass - 1));
    pg_set_pointer(l, at_count_, a->total);
    pg_set_pointer(l, at_to_, entries_of(a, &s, step, pass));
    pg_set_pointer(l, at_total_, a->total);
    pg_set_pointer(l, at_totals_, step->workspace);
    pg_set_pointer(l, at_counts_, step->workspace + s.counts);
    pg_set_u32(l, at_digits_, 1u << (group ? s.group : s.digit));
    pg_set_u32(l, at_shift_, group ? 0 : s.shift + pass * s.digit);
    pg_set_u32(l, at_tiles_, s.tiles);
    pg_set_u32(l, at_bin_shift_, s.bins);
    pg_set_u32(l, at_mark_, a->marked ? PG_SORT_MARK : 0);
}

void pg_index_sort_count_rows(const pg_index_sort_plan *p, const pg_index_sort_args *a,
                              pg_sort_part part, int32_t *counts, pg_launch *l)
{
    const int64_t threads = part == PG_SORT_CLEAR_ROWS ? a->out_rows : a->rows;
    pg_launch_line(l, (threads - 1) / PG_SORT_THREADS + 1, PG_SORT_THREADS, COUNT,
                   pg_index_sort_params(p, part).absent);
    l->part = part;
    pg_set_u64(l, at_out_rows_, (uint64_t)a->out_rows);
    pg_set_pointer(l, at_from_, a->entries);
    pg_set_pointer(l, at_count_, a->total);
    pg_set_pointer(l, at_row_counts_, counts);
}
