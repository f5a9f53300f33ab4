/* From one call's arguments to a launch record. The arguments were checked
 * (src/api/matmul_accumulate.c). */
#include "matmul_accumulate/matmul_accumulate.h"

#include "common/matmul.h"

#include <string.h>

enum { OPERAND_BYTES = 2, ACCUMULATOR_BYTES = 4, C_BOX_COLUMNS = 32 };

static int64_t divide_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* K = 0 loads nothing of A and B, and a tensor map needs an extent: theirs is one element of C
 * then. */
static void add_operands(const pg_matmul_accumulate_plan *p, const ptxgen_matmul_accumulate_args *a,
                         pg_launch *l)
{
    pg_matrix_map map = {.type = p->dtype->tensor_type,
                         .swizzle = pg_swizzle_of(p->swizzle),
                         .address = a->k ? a->a : a->c,
                         .columns = a->k ? a->k : 1,
                         .rows = a->k ? a->m : 1,
                         .stride = a->k ? a->a_stride * OPERAND_BYTES : 1,
                         .box_columns = p->swizzle / OPERAND_BYTES,
                         .box_rows = p->block_m};
    pg_arg_matrix(l, &map);
    map.box_rows = p->b_box_rows;
    if (a->k) {
        map.address = a->b;
        map.columns = p->b_transposed ? a->k : a->n;
        map.rows = p->b_transposed ? a->n : a->k;
        map.stride = a->b_stride * OPERAND_BYTES;
    }
    pg_arg_matrix(l, &map);
}

/* tcgen05 loads C through the map, wgmma only fetches it into L2 that way. */
static void add_accumulators(const pg_matmul_accumulate_plan *p,
                             const ptxgen_matmul_accumulate_args *a, pg_launch *l)
{
    pg_matrix_map c = {.type = PG_TENSOR_F32,
                       .address = a->c,
                       .columns = a->n,
                       .rows = a->m,
                       .stride = a->c_stride * ACCUMULATOR_BYTES,
                       .box_columns = C_BOX_COLUMNS,
                       .box_rows = p->block_m,
                       .swizzle = PG_SWIZZLE_128B};
    if (p->engine == PG_ENGINE_WGMMA) {
        c.box_columns = p->block_n;
        c.swizzle = PG_SWIZZLE_NONE;
    }
    pg_arg_matrix(l, &c);
    if (p->engine == PG_ENGINE_WGMMA) {
        pg_arg_u64(l, (uintptr_t)a->c);
        pg_arg_u64(l, (uint64_t)(a->c_stride * ACCUMULATOR_BYTES));
    }
    pg_arg_u64(l, (uintptr_t)a->d);
    pg_arg_u64(l, (uint64_t)(a->d_stride * ACCUMULATOR_BYTES));
}

void pg_matmul_accumulate_launch(const void *plan, const void *args,
                                 const ptxgen_device_info *device, pg_launch *l)
{
    const pg_matmul_accumulate_plan *p = plan;
    const ptxgen_matmul_accumulate_args *a = args;
    const int64_t tiles_m = divide_up(a->m, p->block_m * p->ctas),
                  tiles_n = divide_up(a->n, p->block_n);
    const int64_t tiles = tiles_m * tiles_n;
    const int64_t workers = device->sm_count / p->ctas > 1 ? device->sm_count / p->ctas : 1;
    memset(l, 0, offsetof(pg_launch, args));
    l->grid[0] = (uint32_t)((tiles < workers ? tiles : workers) * p->ctas);
    l->grid[1] = l->grid[2] = 1;
    l->block[0] = (uint32_t)p->threads;
    l->block[1] = l->block[2] = 1;
    if (p->ctas == 2) {
        l->cluster[0] = 2;
        l->cluster[1] = l->cluster[2] = 1;
    }
    l->shared_bytes = p->head.shared_bytes;
    add_operands(p, a, l);
    add_accumulators(p, a, l);
    pg_arg_u32(l, a->m);
    pg_arg_u32(l, a->n);
    pg_arg_u32(l, divide_up(a->k, p->block_k));
    pg_arg_u32(l, tiles_m);
    pg_arg_u32(l, tiles_n);
    pg_arg_u32(l, tiles);
    pg_arg_u32(l, pg_vector_bytes(a->d, a->m > 1 ? a->d_stride * ACCUMULATOR_BYTES : 0));
}
