/* Values of the special registers; PTX ISA 9.0, section 10. Those that change while a warp runs
 * (clocks) are not here but in move.c. */
#include "emulator/machine/special.h"

#include "ptx/ptx.h"

/* An SM id for %smid: clusters go round robin over as many as an H200 has. */
enum { SM_COUNT = 132 };

/* %tid of every lane, counted on from the first lane's: a division a lane would cost more than
 * many a short kernel. */
static void thread_indices(const pg_warp *w, unsigned axis, uint32_t *out)
{
    const uint32_t *b = w->launch->block;
    const uint32_t first = w->index * PG_LANES;
    uint32_t at[3] = {first % b[0], first / b[0] % b[1], first / b[0] / b[1]};
    if (at[0] + PG_LANES <= b[0]) { /* a row of threads: as most blocks have them */
        for (uint32_t l = 0; l < PG_LANES; l++)
            out[l] = at[axis] + (axis ? 0 : l);
        return;
    }
    for (uint32_t l = 0; l < PG_LANES; l++) {
        out[l] = at[axis];
        if (++at[0] == b[0]) {
            at[0] = 0;
            if (++at[1] == b[1]) {
                at[1] = 0;
                at[2]++;
            }
        }
    }
}

static uint32_t lane_mask(uint32_t special, uint32_t lane)
{
    const uint32_t own = 1u << lane;
    switch (special) {
    case PG_SPECIAL_LANEMASK_EQ:
        return own;
    case PG_SPECIAL_LANEMASK_LE:
        return own | (own - 1);
    case PG_SPECIAL_LANEMASK_LT:
        return own - 1;
    case PG_SPECIAL_LANEMASK_GE:
        return ~(own - 1);
    default:
        return ~(own | (own - 1));
    }
}

/* The same for all lanes of a CTA; by axis where it has one. */
static uint32_t cta_value(const pg_cta *cta, uint32_t special, unsigned axis)
{
    const pg_grid_run *y = cta->cluster->launch;
    switch (special) {
    case PG_SPECIAL_NTID_X:
        return y->block[axis];
    case PG_SPECIAL_CTAID_X:
        return cta->id[axis];
    case PG_SPECIAL_NCTAID_X:
        return y->grid[axis];
    case PG_SPECIAL_CLUSTERID_X:
        return cta->id[axis] / y->cluster[axis];
    case PG_SPECIAL_NCLUSTERID_X:
        return y->grid[axis] / y->cluster[axis];
    case PG_SPECIAL_CLUSTER_CTAID_X:
        return cta->id[axis] % y->cluster[axis];
    case PG_SPECIAL_CLUSTER_NCTAID_X:
        return y->cluster[axis];
    case PG_SPECIAL_CLUSTER_CTARANK:
        return cta->rank;
    case PG_SPECIAL_CLUSTER_NCTARANK:
        return y->ctas_per_cluster;
    case PG_SPECIAL_NWARPID:
        return y->warps_per_cta;
    case PG_SPECIAL_SMID:
        return (uint32_t)(cta->cluster->index * y->ctas_per_cluster + cta->rank) % SM_COUNT;
    case PG_SPECIAL_NSMID:
        return SM_COUNT;
    case PG_SPECIAL_TOTAL_SMEM_SIZE:
    case PG_SPECIAL_AGGR_SMEM_SIZE:
        return y->shared_bytes - PG_SHARED_BASE;
    case PG_SPECIAL_DYNAMIC_SMEM_SIZE:
        return y->dynamic_shared;
    case PG_SPECIAL_ENVREG1:
        return (uint32_t)((uint64_t)(uintptr_t)y->grid_workspace >> 32);
    case PG_SPECIAL_ENVREG2:
        return (uint32_t)(uintptr_t)y->grid_workspace;
    case PG_SPECIAL_RESERVED_SMEM_OFFSET_END:
    case PG_SPECIAL_RESERVED_SMEM_OFFSET_CAP:
        return PG_SHARED_BASE;
    default:
        return 0;
    }
}

static bool has_axes(uint32_t special)
{
    return special < PG_SPECIAL_CLUSTER_CTARANK;
}

static bool is_lane_mask(uint32_t special)
{
    return special >= PG_SPECIAL_LANEMASK_EQ && special <= PG_SPECIAL_LANEMASK_GT;
}

/* The value of each lane. */
static void lane_values(const pg_warp *w, uint32_t special, uint32_t *out)
{
    const unsigned axis = has_axes(special) ? special % 3 : 0;
    const uint32_t first = special - axis;
    if (first == PG_SPECIAL_TID_X) {
        thread_indices(w, axis, out);
        return;
    }
    if (special == PG_SPECIAL_LANEID || is_lane_mask(special)) {
        for (uint32_t l = 0; l < PG_LANES; l++)
            out[l] = special == PG_SPECIAL_LANEID ? l : lane_mask(special, l);
        return;
    }
    const uint32_t value = special == PG_SPECIAL_WARPID ? w->index : cta_value(w->cta, first, axis);
    for (uint32_t l = 0; l < PG_LANES; l++)
        out[l] = value;
}

void pg_fill_specials(pg_warp *w)
{
    const pg_program *p = w->launch->program;
    uint32_t values[PG_LANES];
    for (uint32_t i = 0; i < p->special_count; i++) {
        void *row = pg_row_at(w, p->specials[i].row);
        lane_values(w, p->specials[i].special, values);
        for (uint32_t l = 0; l < PG_LANES; l++)
            if (p->specials[i].bytes == 8)
                ((uint64_t *)row)[l] = values[l];
            else if (p->specials[i].bytes == 4)
                ((uint32_t *)row)[l] = values[l];
            else
                ((uint16_t *)row)[l] = (uint16_t)values[l];
    }
}

_Static_assert(PG_SPECIAL_TID_X == 0 && PG_SPECIAL_CLUSTER_CTARANK == 24,
               "axes are the enum modulo 3");
