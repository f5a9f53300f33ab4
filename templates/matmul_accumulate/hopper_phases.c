/* Which rows of a left operand begin at the same place of 16 bytes, and which Hopper kernels can
 * read it by that (hopper_phases.ptxc). */
#include "matmul_accumulate/hopper.h"

#include "base/error.h"

enum { VECTOR_BYTES = 16, ELEMENT_BYTES = 2, LEAST_SLICES = 2 };

bool pg_hopper_takes_phases_of_k(const pg_matmul_accumulate_key *k)
{
    return pg_phases_of(k->phases) && (pg_hopper_left_is_b(k) ? !k->b : k->a);
}

int64_t pg_hopper_least_slices(const pg_matmul_accumulate_key *k)
{
    const int phases = pg_phases_of(k->phases);
    if (!pg_hopper_takes_phases_of_k(k))
        return 1;
    return phases > LEAST_SLICES ? phases : LEAST_SLICES;
}

int pg_hopper_phases(const pg_view *v)
{
    const int64_t bits = pg_matmul_row_bytes(v) | VECTOR_BYTES;
    return VECTOR_BYTES / (int)(bits & -bits);
}

int pg_hopper_head(const pg_view *v, int phase)
{
    const uintptr_t first = (uintptr_t)v->data + (uintptr_t)(phase * pg_matmul_row_bytes(v));
    return (int)(first % VECTOR_BYTES) / ELEMENT_BYTES;
}

int pg_hopper_longest_head(const pg_view *v, int phases)
{
    int longest = 0;
    for (int i = 0; i < phases; i++) {
        const int head = pg_hopper_head(v, i);
        longest = head > longest ? head : longest;
    }
    return longest;
}

static const char *left_name(const pg_matmul_accumulate_key *k)
{
    return pg_hopper_left_is_b(k) ? "b" : "a";
}

ptxgen_status pg_hopper_check_phases(const pg_matmul_accumulate_key *k, ptxgen_error *err)
{
    const bool left_is_b = pg_hopper_left_is_b(k);
    const int phases = pg_phases_of(k->phases);
    if (!phases)
        return PTXGEN_OK;
    if (pg_matmul_operand_bytes(k) != ELEMENT_BYTES || k->batch || k->grouped)
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "phases=%d: operands of 16 bits, without batches and groups; use "
                       "phases=none",
                       phases);
    if (pg_hopper_takes_phases_of_k(k) &&
        (k->splits > 1 || k->slices < LEAST_SLICES || k->slices % phases))
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "phases=%d of K, which is not adjacent in %s, are slices of it: use "
                       "splits=1 and slices=%d or a multiple of it",
                       phases, left_name(k), phases > LEAST_SLICES ? phases : LEAST_SLICES);
    if (k->copy & (left_is_b ? PG_COPY_B : PG_COPY_A))
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "phases=%d reads %s where it lies: leave copy=%s out, or use phases=none",
                       phases, left_name(k), left_name(k));
    if (k->schedule != PG_SCHEDULE_COOPERATIVE || k->c_load != PG_C_DIRECT || k->stream == PG_AHEAD)
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "phases=%d takes schedule=cooperative, c_load=direct and stream=yes or no",
                       phases);
    const pg_epilogue steps = pg_epilogue_of(&k->steps, pg_matmul_d_type(k));
    if (k->slices == 1 && (pg_epilogue_has_steps(&steps) || pg_dtype_bits(steps.out) == 8))
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "phases=%d with steps or a D of 8 bits, which go by adjacent rows: use "
                       "slices=2, whose sum does, or phases=none",
                       phases);
    return PTXGEN_OK;
}

ptxgen_status pg_hopper_limit_phases(const pg_problem *p, ptxgen_error *err)
{
    const pg_matmul_accumulate_key *k = p->key;
    const int phases = pg_phases_of(k->phases);
    const pg_view *left = &p->operand[pg_hopper_left_is_b(k) ? PG_MATMUL_B : PG_MATMUL_A];
    if (pg_hopper_phases(left) > phases)
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "phases=%d: rows of %s are %lld bytes apart, so that every %dth begins at "
                       "the same place of 16 bytes: use phases=%d",
                       phases, left_name(k), (long long)pg_matmul_row_bytes(left),
                       pg_hopper_phases(left), pg_hopper_phases(left));
    /* A phase without rows would multiply what lies before the others by zeros: NaN. */
    if (pg_hopper_takes_phases_of_k(k) && p->symbol[PG_MATMUL_K] < phases)
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "phases=%d of K, of which %s has %lld: some would have none; use "
                       "phases=none",
                       phases, left_name(k), (long long)p->symbol[PG_MATMUL_K]);
    return PTXGEN_OK;
}
