/* From one call's arguments to the launches of a sort: three a pass, and one that groups. */
#include "common/index_sort.h"

#include <string.h>

enum { COUNT_INDEX, PLACE_INDEX, SCAN, COUNT_ENTRIES, PLACE_ENTRIES, GROUP };
enum { SCAN_DIGITS = 32, SCAN_THREADS = 1024, MIN_DIGIT = 2, BIN_ENTRIES = 10, ALIGNMENT = 256 };

/* How a sort is cut. */
typedef struct shape {
    uint32_t tiles;
    uint32_t passes, digit, shift; /* digit: bits; shift: of the first pass */
    uint32_t group;                /* bits of the digit that is sorted within tiles; 0: none */
    size_t counts, other, bytes;   /* places in the workspace, which begins with totals */
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

/* Grouping only: bins of about 1024 entries by the high digit, which tiles of 4096 then sort by the low one. */
static void cut_in_two(shape *s, uint32_t bits, int max_digit, int64_t rows)
{
    const uint32_t most = (uint32_t)max_digit, wanted = bits_of((uint64_t)rows >> BIN_ENTRIES);
    s->digit = wanted < bits - most ? bits - most : wanted;
    if (s->digit > most)
        s->digit = most;
    if (s->digit < MIN_DIGIT)
        s->digit = MIN_DIGIT;
    s->group = bits - s->digit;
    s->shift = s->group;
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
    if (s.passes > 1)
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

static void add_record(pg_launch *l, const void *record)
{
    if (record)
        pg_arg_pointer(l, record);
    else
        pg_arg_record(l);
}

static void add_index(pg_launch *l, const pg_index_sort_args *a)
{
    pg_arg_pointer(l, a->index);
    pg_arg_u64(l, (uint64_t)a->rows);
    pg_arg_pointer(l, a->device_rows);
    pg_arg_u64(l, (uint64_t)a->out_rows);
    pg_arg_u64(l, (uint64_t)a->padding);
    pg_arg_u32(l, a->has_padding);
    add_record(l, a->record);
}

/* `from`: the entries of the pass before. */
static void add_entries(pg_launch *l, const pg_index_sort_args *a, const char *from)
{
    pg_arg_pointer(l, from);
    pg_arg_pointer(l, a->total);
}

/* The entries that pass i writes: the last pass writes the result, the one before it the workspace. */
static char *entries_of(const pg_index_sort_args *a, const shape *s, const pg_step *step,
                        uint32_t i)
{
    return (s->passes - i) % 2 ? a->entries : step->workspace + s->other;
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

/* What the kernel reads and writes; its part and shared memory. */
static void add_data(const shape *s, const pg_index_sort_args *a, const pg_step *step, pg_launch *l)
{
    const uint32_t pass = step->number / 3, kind = step->number % 3;
    if (pass == s->passes) {
        l->part = GROUP;
        l->shared_bytes = place_bytes(s->group);
        add_entries(l, a, a->entries);
    } else if (kind == 1) {
        l->part = SCAN;
    } else if (pass == 0) {
        l->part = kind ? PLACE_INDEX : COUNT_INDEX;
        add_index(l, a);
    } else {
        l->part = kind ? PLACE_ENTRIES : COUNT_ENTRIES;
        add_entries(l, a, entries_of(a, s, step, pass - 1));
    }
    if (l->part == COUNT_INDEX || l->part == COUNT_ENTRIES)
        l->shared_bytes = 4u << s->digit;
    if (l->part == PLACE_INDEX || l->part == PLACE_ENTRIES) {
        l->shared_bytes = place_bytes(s->digit);
        pg_arg_pointer(l, entries_of(a, s, step, pass));
        pg_arg_pointer(l, a->total);
    }
}

void pg_index_sort_launch(const pg_index_sort_plan *p, const pg_index_sort_args *a,
                          const pg_step *step, pg_launch *l)
{
    const shape s = shape_of(p, a);
    l->nargs = 0;
    l->shared_bytes = 0;
    l->grid[0] = s.tiles;
    l->block[0] = PG_SORT_THREADS;
    l->grid[1] = l->grid[2] = l->block[1] = l->block[2] = 1;
    memset(l->cluster, 0, sizeof l->cluster);
    add_data(&s, a, step, l);
    if (l->part == SCAN) {
        l->grid[0] = ((1u << s.digit) - 1) / SCAN_DIGITS + 1;
        l->block[0] = SCAN_THREADS;
    }
    const uint32_t pass = step->number / 3;
    pg_arg_pointer(l, step->workspace);
    pg_arg_pointer(l, step->workspace + s.counts);
    pg_arg_u32(l, 1u << (l->part == GROUP ? s.group : s.digit));
    pg_arg_u32(l, l->part == GROUP ? 0 : s.shift + pass * s.digit);
    pg_arg_u32(l, s.tiles);
}
