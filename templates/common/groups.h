/* Groups of rows whose counts only the device knows: tiles of all groups one behind the other, and
 * a walk from a tile's number to its group. The kernel has the parameters m_ (rows of all groups,
 * or of each), batch_maps_ (bit PG_GROUPS_FOLLOW: the rows of groups follow each other), groups_
 * and group_rows_ (a count for each). */
#ifndef PG_TEMPLATES_GROUPS_H
#define PG_TEMPLATES_GROUPS_H

#include "generate/emit.h"

enum { PG_GROUPS_FOLLOW = 3 };

typedef struct pg_groups {
    const char *type; /* of a count: "s32", "s64"; NULL: there are no groups */
    int tile_rows;    /* rows of what tiles_m counts */
    const char *name; /* of a walk: begins its registers' names */
} pg_groups;

/* %NAME_first, %NAME_rows (the group's), %NAME_tiles, %NAME_before (tiles of the groups before),
 * %NAME_group (.b32); before the first group. */
void pg_groups_declare(pg_emit *E, const pg_groups *g);
/* `total` (a .b32 register): the tiles of all groups. Reads %tiles_n; writes %tiles_m. Then the
 * walk is before the first group again. */
void pg_groups_count(pg_emit *E, const pg_groups *g, const char *total);
/* From `number` (a register), the tile of all, to `tile`, that of its group, where the walk then
 * is; %tiles_m are the group's. Numbers of a walk do not fall. Where there are fewer tiles, to the
 * label `none`; NULL: there are that many. */
typedef struct pg_tile_number {
    const char *number, *tile, *none;
} pg_tile_number;
void pg_groups_take(pg_emit *E, const pg_groups *g, const pg_tile_number *t);

#endif
