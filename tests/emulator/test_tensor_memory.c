/* The column allocator of tensor memory, where tcgen05.ld and .st find the registers of a
 * thread, and the order among pending operations. */
#include "test.h"

#include "emulator/tensor/tcgen05.h"
#include "emulator/tensor/tensor_memory.h"

/* ---- allocator ---- */

typedef struct allocation {
    uint32_t first, columns;
} allocation;

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* One of the allocator's bits per unit against a plain list of what is handed out. */
static void check_against_list(const pg_tensor_allocator *a, const allocation *list, uint32_t count)
{
    bool taken[PG_TENSOR_COLUMNS] = {false};
    uint32_t used = 0;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t c = 0; c < list[i].columns; c++) {
            assert_false(taken[list[i].first + c]); /* no two allocations share a column */
            taken[list[i].first + c] = true;
            used++;
        }
    assert_int_equal(pg_tensor_free_columns(a), PG_TENSOR_COLUMNS - used);
    for (uint32_t c = 0; c < PG_TENSOR_COLUMNS; c += 7)
        assert_int_equal(pg_tensor_is_allocated(a, c, 1), taken[c]);
}

static void allocations_never_meet(void **state)
{
    (void)state;
    pg_tensor_allocator a = {0};
    allocation list[PG_TENSOR_UNITS];
    uint32_t count = 0, random = 7, refused = 0, granted = 0;
    for (int step = 0; step < 5000; step++) {
        if (next_random(&random) % 2 == 0) {
            const uint32_t columns = 32u << next_random(&random) % 5;
            const int first = pg_tensor_find(a.used, columns);
            if (first < 0) {
                refused++;
            } else {
                pg_tensor_take(&a, (uint32_t)first, columns);
                list[count++] = (allocation){(uint32_t)first, columns};
                granted++;
            }
        } else if (count) {
            const uint32_t i = next_random(&random) % count;
            assert_true(pg_tensor_give_back(&a, list[i].first, list[i].columns));
            list[i] = list[--count];
        }
        check_against_list(&a, list, count);
    }
    assert_true(refused > 100 && granted > 100);
}

static void the_lowest_columns_first(void **state)
{
    (void)state;
    assert_int_equal(pg_tensor_find(0, 512), 0);
    assert_int_equal(pg_tensor_find(0x0001, 512), -1);
    assert_int_equal(pg_tensor_find(0x0001, 256), 32);
    assert_int_equal(pg_tensor_find(0x0105, 32), 32);
    assert_int_equal(pg_tensor_find(0x0105, 64), 96);
    assert_int_equal(pg_tensor_find(0x0105, 128), 96);
    assert_int_equal(pg_tensor_find(0x0105, 256), -1);
    assert_int_equal(pg_tensor_find(0xffff, 32), -1);
}

static void only_whole_allocations_go_back(void **state)
{
    (void)state;
    pg_tensor_allocator a = {0};
    pg_tensor_take(&a, 64, 128);
    pg_tensor_take(&a, 192, 32);
    static const allocation wrong[] = {{64, 64},  {64, 256}, {96, 32},  {64, 160},       {0, 32},
                                       {65, 128}, {64, 0},   {512, 32}, {0xffffffe0, 32}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(pg_tensor_give_back(&a, wrong[i].first, wrong[i].columns));
    assert_int_equal(pg_tensor_free_columns(&a), 352);
    assert_true(pg_tensor_give_back(&a, 64, 128));
    assert_false(pg_tensor_give_back(&a, 64, 128));
    assert_true(pg_tensor_is_allocated(&a, 192, 32));
    assert_false(pg_tensor_is_allocated(&a, 191, 2));
    assert_false(pg_tensor_is_allocated(&a, 192, 33));
    assert_false(pg_tensor_is_allocated(&a, 512, 1));
    assert_false(pg_tensor_is_allocated(&a, 0xffffffff, 2));
    assert_false(pg_tensor_is_allocated(&a, 192, 0xffffffff));
}

/* ---- ld and st ---- */

static const struct shape_case {
    pg_tensor_shape shape;
    uint32_t lanes, registers, columns; /* columns that one repetition takes */
} shapes[] = {
    {PG_TENSOR_32X32B, 32, 1, 1},
    {PG_TENSOR_16X64B, 16, 1, 2},
    {PG_TENSOR_16X128B, 16, 2, 4},
    {PG_TENSOR_16X256B, 16, 4, 8},
};

/* Every word of the shape belongs to exactly one register of one thread. */
static void registers_tile_the_shape(void **state)
{
    (void)state;
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (uint32_t n = 1; n * shapes[s].registers <= 128; n *= 2) {
            static uint8_t seen[32][PG_TENSOR_COLUMNS];
            memset(seen, 0, sizeof seen);
            for (uint32_t t = 0; t < 32; t++)
                for (uint32_t r = 0; r < n * shapes[s].registers; r++) {
                    const pg_tensor_place at = pg_tensor_place_of(shapes[s].shape, t, r);
                    assert_true(at.lane < shapes[s].lanes && at.column < n * shapes[s].columns);
                    assert_int_equal(seen[at.lane][at.column]++, 0);
                }
        }
}

static void check_place(pg_tensor_shape shape, uint32_t thread, uint32_t reg,
                        pg_tensor_place wanted)
{
    const pg_tensor_place at = pg_tensor_place_of(shape, thread, reg);
    assert_int_equal(at.lane, wanted.lane);
    assert_int_equal(at.column, wanted.column);
}

/* Read off the register fragments of PTX ISA 9.0, section 9.7.16.2.3. */
static void places_are_those_of_the_isa(void **state)
{
    (void)state;
    check_place(PG_TENSOR_32X32B, 17, 5, (pg_tensor_place){17, 5});
    check_place(PG_TENSOR_16X64B, 0, 0, (pg_tensor_place){0, 0});
    check_place(PG_TENSOR_16X64B, 1, 0, (pg_tensor_place){8, 0});
    check_place(PG_TENSOR_16X64B, 2, 0, (pg_tensor_place){0, 1});
    check_place(PG_TENSOR_16X64B, 31, 3, (pg_tensor_place){15, 7});
    check_place(PG_TENSOR_16X128B, 5, 0, (pg_tensor_place){1, 1});
    check_place(PG_TENSOR_16X128B, 5, 1, (pg_tensor_place){9, 1});
    check_place(PG_TENSOR_16X128B, 30, 7, (pg_tensor_place){15, 14});
    check_place(PG_TENSOR_16X256B, 6, 1, (pg_tensor_place){1, 5});
    check_place(PG_TENSOR_16X256B, 6, 2, (pg_tensor_place){9, 4});
    check_place(PG_TENSOR_16X256B, 31, 11, (pg_tensor_place){15, 23});
    check_place(PG_TENSOR_16X32BX2, 3, 4, (pg_tensor_place){3, 4});
    check_place(PG_TENSOR_16X32BX2, 19, 4, (pg_tensor_place){3, 4}); /* and the split */
}

/* ---- order ---- */

typedef enum operation { CP, CP_4_ROWS, MMA, MMA_OTHER_D, SHIFT, COMMIT, OPERATIONS } operation;

/* An operation of lane `lane`, as it lies in the queue. MMA has D in columns 0..63, MMA_OTHER_D
 * in 64..127. */
static pg_async_tcgen05_mma pending(operation what, pg_warp *w, uint32_t lane)
{
    static const pg_tcgen05_cp_plan copies[] = {{.shape = PG_COPY_128X256B},
                                                {.shape = PG_COPY_4X256B}};
    static const pg_op ops[] = {{.extra = &copies[0]}, {.extra = &copies[1]}};
    static const pg_async_kind *const kinds[OPERATIONS] = {
        [CP] = &pg_kind_tcgen05_cp,       [CP_4_ROWS] = &pg_kind_tcgen05_cp,
        [MMA] = &pg_kind_tcgen05_mma,     [MMA_OTHER_D] = &pg_kind_tcgen05_mma,
        [SHIFT] = &pg_kind_tcgen05_shift, [COMMIT] = &pg_kind_tcgen05_commit};
    return (pg_async_tcgen05_mma){
        .head = {.kind = kinds[what], .warp = w, .lane = lane, .op = &ops[what == CP_4_ROWS]},
        .d = what == MMA ? 0 : 64, /* of an mma */
        .d_columns = 64};
}

static bool follows(const pg_async_tcgen05_mma *a, const pg_async_tcgen05_mma *before)
{
    return a->head.kind->follows(&a->head, &before->head);
}

/* PTX ISA 9.0, section 9.7.16.6: same-thread pairs that are carried out in order; commit waits
 * for all. */
static bool is_promised(operation before, operation after)
{
    switch (after) {
    case COMMIT:
        return before != COMMIT;
    case MMA:
    case MMA_OTHER_D:
        return before == after || before == CP || before == CP_4_ROWS || before == SHIFT;
    case SHIFT:
        return before == MMA || before == MMA_OTHER_D;
    case CP_4_ROWS:
        return before == SHIFT;
    default:
        return false;
    }
}

static void only_the_promised_pairs_keep_their_order(void **state)
{
    (void)state;
    static pg_cta ctas[2];
    static pg_warp one = {.cta = &ctas[0]}, other = {.cta = &ctas[1]};
    for (int before = 0; before < OPERATIONS; before++)
        for (int after = 0; after < OPERATIONS; after++) {
            const pg_async_tcgen05_mma first = pending((operation)before, &one, 3);
            const pg_async_tcgen05_mma second = pending((operation)after, &one, 3);
            const pg_async_tcgen05_mma of_another_cta = pending((operation)after, &other, 3);
            assert_int_equal(follows(&second, &first),
                             is_promised((operation)before, (operation)after));
            assert_false(follows(&of_another_cta, &first));
        }
    const pg_async_tcgen05_mma copy = pending(CP, &one, 3), commit = pending(COMMIT, &one, 4);
    assert_false(follows(&commit, &copy)); /* a commit is of its own thread's operations */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allocations_never_meet),
        cmocka_unit_test(the_lowest_columns_first),
        cmocka_unit_test(only_whole_allocations_go_back),
        cmocka_unit_test(registers_tile_the_shape),
        cmocka_unit_test(places_are_those_of_the_isa),
        cmocka_unit_test(only_the_promised_pairs_keep_their_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
