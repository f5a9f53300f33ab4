/* Groups of rows on the emulator, against loops in double: groups of no row, of one, of many
 * tiles, counts that do not fit; rows that follow each other or lie apart; schedules and clusters;
 * and what is refused. */
#include "draw.h"
#include "group_case.h"

#include "matmul_accumulate/matmul_accumulate.h"

static ptxgen *ctx;

#define HOPPER    "arch=sm_90a"
#define BLACKWELL "arch=sm_100a"
#define SMALL     " block_m=64 block_n=64"

/* Problems, and the kernels that each is given to: schedules, C early or late, pairs, clusters, C
 * and D by fragments and by rows, and groups that a kernel has no tile of. */
enum { MOST_WAYS = 3 };
static const struct {
    group_case problem;
    const char *ways[MOST_WAYS + 1];
} cases[] = {
    {{.m = 300, .n = 72, .k = 100, .groups = 4, .rows = {100, 0, 150, 50}}, {HOPPER, BLACKWELL}},
    {{.m = 300, .n = 72, .k = 100, .groups = 5, .rows = {0, 1, 290, 40, 7}, .wide = true},
     {HOPPER, "arch=sm_80" SMALL}},
    {{.m = 700, .n = 72, .k = 100, .groups = 5, .rows = {0, 1, 590, 40, 7}, .wide = true},
     {BLACKWELL " ctas=2 block_n=64"}},
    {{.m = 200,
      .n = 64,
      .k = 64,
      .groups = 3,
      .rows = {-5, 60, 70},
      .no_c = true,
      .b_transposed = true,
      .d_dtype = PTXGEN_BF16},
     {HOPPER, BLACKWELL, "arch=sm_90"}},
    {{.m = 500, .n = 96, .k = 70, .groups = 3, .rows = {200, 20, 260}},
     {HOPPER " schedule=pingpong block_n=32 block_m=64 c_load=ring",
      HOPPER " block_n=64 c_load=late"}},
    {{.m = 500, .n = 96, .k = 72, .groups = 3, .rows = {200, 20, 260}},
     {BLACKWELL " schedule=seed block_n=64"}},
    {{.m = 700, .n = 130, .k = 40, .groups = 3, .rows = {300, 129, 200}},
     {HOPPER " ctas=2 block_n=64", BLACKWELL " ctas_n=2 block_n=64"}},
    {{.m = 1500, .n = 72, .k = 40, .groups = 3, .rows = {700, 100, 620}},
     {BLACKWELL " ctas=4 block_n=64"}},
    {{.m = 80, .n = 64, .k = 64, .groups = 6, .rows = {3, 80, 0, 100, 17, 64}, .apart = true},
     {HOPPER, BLACKWELL, "arch=sm_120a"}},
    {{.m = 40, .n = 40, .k = 0, .groups = 2, .rows = {10, 20}}, {HOPPER, BLACKWELL, "arch=sm_80"}},
    {{.m = 40, .n = 40, .k = 24, .groups = 3, .rows = {0, 0, 0}}, {BLACKWELL, "arch=sm_80"}},
    {{.m = 40, .n = 40, .k = 24, .groups = 1, .rows = {33}, .in_place = true}, {HOPPER}},
    {{.m = 10, .n = 8, .k = 24, .groups = 130, .rows = {[40] = 3, [100] = 4, [129] = 9}},
     {HOPPER, "arch=sm_80" SMALL}},
    {{.m = 300, .n = 73, .k = 70, .groups = 4, .rows = {100, 0, 150, 50}},
     {"arch=sm_89 c_load=rows" SMALL}},
    {{.m = 304, .n = 72, .k = 70, .groups = 4, .rows = {99, 0, 151, 50}, .a_transposed = true},
     {"arch=sm_80" SMALL}},
    /* Hopper's and Blackwell's own kernels load boxes, which no group begins at. */
    {{.m = 304, .n = 72, .k = 72, .groups = 4, .rows = {99, 0, 151, 50}, .a_transposed = true},
     {HOPPER}},
    {{.m = 304,
      .n = 72,
      .k = 72,
      .groups = 4,
      .rows = {99, 0, 151, 50},
      .a_transposed = true,
      .b_transposed = true},
     {BLACKWELL}},
    {{.m = 72,
      .n = 64,
      .k = 64,
      .groups = 3,
      .rows = {3, 70, 33},
      .apart = true,
      .a_transposed = true},
     {"arch=sm_80"}},
};

static void every_way(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (const char *const *way = cases[i].ways; *way; way++) {
            group_case c = cases[i].problem;
            c.params = *way;
            group_case_run(ctx, &c);
        }
}

static void drawn_groups(void **state)
{
    (void)state;
    const char *text = getenv("PTXGEN_DRAWS");
    const int count = text ? atoi(text) : 25;
    uint64_t draws = 20261203;
    for (int i = 0; i < count; i++) {
        group_case c = group_case_draw(&draws);
        group_case_run(ctx, &c);
        static const char *const others[] = {"arch=sm_100a", "arch=sm_80"};
        for (size_t j = 0; j < sizeof others / sizeof *others; j++) {
            c.params = others[j];
            group_case_run(ctx, &c);
        }
    }
}

static void refused(const char *params, const ptxgen_tensor *t, const char *word)
{
    ptxgen_error err = {0};
    assert_int_not_equal(
        ptxgen_call(ctx, "matmul_accumulate", params, t, PG_MATMUL_GROUP_ROWS + 1, NULL, &err),
        PTXGEN_OK);
    if (!strstr(err.message, word))
        fail_msg("\"%s\" does not say %s", err.message, word);
}

static void no_groups_are_nothing_to_do(void **state)
{
    (void)state;
    static float memory[1 << 14] __attribute__((aligned(256)));
    const int64_t rows[] = {16, 16}, none[] = {0, 16, 16}, count[] = {0};
    const ptxgen_tensor t[PG_MAX_OPERANDS] = {
        [PG_MATMUL_A] = {memory, PTXGEN_F16, 2, rows, NULL},
        [PG_MATMUL_B] = {memory + 2048, PTXGEN_F16, 3, none, NULL},
        [PG_MATMUL_D] = {memory + 8192, PTXGEN_F32, 2, rows, NULL},
        [PG_MATMUL_GROUP_ROWS] = {memory + 4096, PTXGEN_S32, 1, count, NULL}};
    static const char *const params[] = {"", "arch=sm_100a", "arch=sm_80"};
    ptxgen_error err = {0};
    for (size_t i = 0; i < sizeof params / sizeof *params; i++)
        if (ptxgen_call(ctx, "matmul_accumulate", params[i], t, PG_MATMUL_GROUP_ROWS + 1, NULL,
                        &err) != PTXGEN_OK)
            fail_msg("%s: %s", params[i], err.message);
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    static float memory[1 << 14] __attribute__((aligned(256)));
    const int64_t rows[] = {16, 16}, three[] = {3, 16, 16}, count[] = {3}, other[] = {4};
    ptxgen_tensor t[PG_MAX_OPERANDS] = {
        [PG_MATMUL_A] = {memory, PTXGEN_F16, 2, rows, NULL},
        [PG_MATMUL_B] = {memory + 2048, PTXGEN_F16, 3, three, NULL},
        [PG_MATMUL_D] = {memory + 8192, PTXGEN_F32, 2, rows, NULL},
        [PG_MATMUL_GROUP_ROWS] = {memory + 4096, PTXGEN_S32, 1, other, NULL}};
    refused("", t, "batch=4");
    t[PG_MATMUL_GROUP_ROWS].shape = count;
    refused("splits=2", t, "group_rows");
    const int64_t columns[] = {1, 16};
    t[PG_MATMUL_A].strides = columns;
    refused("schedule=cooperative", t, "store A by rows");
    t[PG_MATMUL_A].strides = NULL;
    t[PG_MATMUL_D] = (ptxgen_tensor){memory + 8192, PTXGEN_F32, 3, three, NULL};
    refused("", t, "a must have a matrix for each group");
}

int main(void)
{
    const ptxgen_config config = {
        .size = sizeof config, .device = PTXGEN_DEVICE_EMULATOR, .cache_dir = ""};
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_way), cmocka_unit_test(drawn_groups),
                                       cmocka_unit_test(no_groups_are_nothing_to_do),
                                       cmocka_unit_test(what_does_not_fit_is_refused)};
    ptxgen_error err;
    if (ptxgen_create(&config, &ctx, &err) != PTXGEN_OK) {
        printf("%s\n", err.message);
        return 1;
    }
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ptxgen_destroy(ctx);
    return failed;
}
