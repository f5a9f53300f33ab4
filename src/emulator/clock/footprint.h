/* The lines of 128 bytes of global memory that a grid touches, and what of that L2 cannot give:
 * per buffer, how many of the bytes that are asked for come from DRAM, and how many go there.
 * Lines are sampled by a hash (of n lines one), more thinly as they become many; the sample is
 * run through a least-recently-used L2 of an n-th of the capacity, twice, since kernels are
 * measured in a row: what the first round leaves is what the second finds. */
#ifndef PG_CLOCK_FOOTPRINT_H
#define PG_CLOCK_FOOTPRINT_H

#include "emulator/machine/launch.h"

enum { PG_LINE_SHIFT = 7, PG_LINE_SECTORS = 4, PG_LINE_BYTES = 128, PG_SECTOR_BYTES = 32 };

typedef enum pg_touch { TOUCH_LOAD, TOUCH_STORE, TOUCH_ATOMIC } pg_touch;

typedef struct pg_footprint pg_footprint;

/* Of a buffer, for the whole grid: bytes asked for, and DRAM bytes per byte asked for. */
typedef struct pg_buffer_traffic {
    double asked[3];   /* by pg_touch */
    double misses[3];  /* of TOUCH_STORE: fetched for nothing, 0 */
    double written[3]; /* written back per byte asked for */
    double unique;     /* bytes that are touched at all */
} pg_buffer_traffic;

pg_footprint *pg_footprint_new(const pg_alloc *, const pg_memory *);
void pg_footprint_free(pg_footprint *);
/* The number of the buffer that an address lies in; the count of buffers: in none. */
uint16_t pg_footprint_buffer(const pg_footprint *, uint64_t address);
uint32_t pg_footprint_buffers(const pg_footprint *);
/* `sectors`: a bit for each of the line's. wave and tick order what clusters do side by side. */
typedef struct pg_footprint_touch {
    uint64_t line;
    uint32_t wave, tick;
    uint8_t touch, sectors;
    uint16_t buffer;
} pg_footprint_touch;
bool pg_footprint_add(pg_footprint *, const pg_footprint_touch *);
/* `scale`: the grid has so many times what was added. */
bool pg_footprint_settle(pg_footprint *, double l2_bytes, double scale);
const pg_buffer_traffic *pg_footprint_traffic(const pg_footprint *, uint16_t buffer);
/* An atomic request on a line, of so many units of 16 bytes. Clusters run side by side, so the
 * same part of their lives is an epoch of the grid. */
enum { PG_HOT_EPOCHS = 8 };
void pg_footprint_hot(pg_footprint *, uint64_t line, uint32_t units, uint32_t epoch);
/* How long the line with the most atomics takes, and the part of L2 with the most of them: sums of
 * the epochs' longest. */
typedef struct pg_hot_cost {
    double request_ns, unit_ns; /* of a line */
    double slice_unit_ns;
    uint32_t slices;
} pg_hot_cost;
typedef struct pg_hot_times {
    double line_ns, slice_ns;
} pg_hot_times;
pg_hot_times pg_footprint_hottest(const pg_footprint *, const pg_hot_cost *);

#endif
