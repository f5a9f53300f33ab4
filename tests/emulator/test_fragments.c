/* ptxgen_emulator_fragment_*: every map covers its matrix once, and is the one that the
 * instructions go by: products of matrices that are put into registers and taken out by the maps
 * are right, moves between memory and registers put each element where the map says. */
#include "test.h"

#include "emulator/number/float_ops.h"
#include "ptxgen/emulator.h"

typedef ptxgen_emulator_fragment fragment;
typedef ptxgen_emulator_place place;

enum { LANES = 32, MOST_REGISTERS = 128, MOST_ROWS = 64, MOST_COLUMNS = 256 };

/* ---- the maps by themselves ---- */

static void check_covered_once(const fragment *f)
{
    uint8_t *seen = calloc((size_t)f->rows * f->columns, 1);
    place p = {0};
    size_t elements = 0;
    for (p.thread = 0; p.thread < f->threads; p.thread++)
        for (p.reg = 0; p.reg < f->registers; p.reg++)
            for (p.element = 0; p.element < f->elements; p.element++, elements++) {
                assert_true(ptxgen_emulator_fragment_place(f, &p));
                if (p.row >= f->rows || p.column >= f->columns ||
                    seen[p.row * f->columns + p.column]++)
                    fail_msg("%s %c/%u: T%u register %u element %u at %u, %u", f->name, f->matrix,
                             f->bits, p.thread, p.reg, p.element, p.row, p.column);
            }
    assert_int_equal(elements, (size_t)f->rows * f->columns);
    p = (place){f->threads, 0, 0, 0, 0};
    assert_false(ptxgen_emulator_fragment_place(f, &p));
    p = (place){0, f->registers, 0, 0, 0};
    assert_false(ptxgen_emulator_fragment_place(f, &p));
    p = (place){0, 0, f->elements, 0, 0};
    assert_false(ptxgen_emulator_fragment_place(f, &p));
    free(seen);
}

static void every_map_covers_its_matrix_once(void **state)
{
    (void)state;
    fragment f = {.size = sizeof f};
    size_t count = 0;
    for (; ptxgen_emulator_fragment_at(count, &f); count++)
        check_covered_once(&f);
    assert_true(count > 300);
    assert_false(ptxgen_emulator_fragment_at(count, &f));
    assert_false(ptxgen_emulator_fragment_at(0, NULL));
    f.id = UINT32_MAX;
    assert_false(ptxgen_emulator_fragment_place(&f, &(place){0}));
    assert_false(ptxgen_emulator_fragment_place(NULL, &(place){0}));
}

static fragment find(const char *name, char matrix, uint32_t bits)
{
    fragment f = {.size = sizeof f};
    for (size_t i = 0; ptxgen_emulator_fragment_at(i, &f); i++)
        if (strcmp(f.name, name) == 0 && f.matrix == matrix && f.bits == bits)
            return f;
    fail_msg("no fragment %s %c/%u", name, matrix, bits);
    return f;
}

/* ---- running ---- */

typedef struct text {
    char bytes[32768];
    size_t n;
} text;

static void add(text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(text *t, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    t->n += (size_t)vsnprintf(t->bytes + t->n, sizeof t->bytes - t->n, format, list);
    va_end(list);
    assert_true(t->n < sizeof t->bytes);
}

/* A kernel of one warp (or `threads` threads) that finds its buffer's address in d0 and its
 * thread in t. */
static void begin(text *t, const char *target)
{
    t->n = 0;
    add(t,
        ".version 8.6\n.target %s\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n"
        ".reg .b64 d<8>; .reg .b32 t, x, y, r<%d>; .reg .pred q;\n"
        ".shared .align 1024 .b8 tile[4096]; .shared .align 8 .b32 at;\n"
        "ld.param.u64 d0, [p]; mov.u32 t, %%tid.x;\n",
        target, 3 * MOST_REGISTERS);
}

static void run(text *t, void *buffer, size_t bytes, uint32_t threads)
{
    ptxgen_emulator *emu;
    ptxgen_emulator_module *module = NULL;
    ptxgen_emulator_entry *entry;
    ptxgen_error err = {0};
    void *const values[] = {&buffer};
    const ptxgen_emulator_launch launch = {
        .size = sizeof launch, .block = {threads, 1, 1}, .args = values, .arg_count = 1};
    add(t, "ret;\n}\n");
    assert_int_equal(ptxgen_emulator_create(NULL, &emu, &err), PTXGEN_OK);
    assert_int_equal(
        ptxgen_emulator_add_buffer(emu, "buffer", buffer, bytes, PTXGEN_EMULATOR_WRITABLE, &err),
        PTXGEN_OK);
    if (ptxgen_emulator_load(emu, t->bytes, t->n, "k", &module, &err) ||
        ptxgen_emulator_find(module, NULL, &entry, &err) ||
        ptxgen_emulator_run(entry, &launch, &err))
        fail_msg("%s\n%s", err.message, t->bytes);
    ptxgen_emulator_unload(module);
    ptxgen_emulator_destroy(emu);
}

/* "{r4, r5}" */
static void add_registers(text *t, uint32_t first, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        add(t, "%sr%u", i ? ", " : "{", first + i);
    add(t, "}");
}

/* ---- products ---- */

typedef struct product {
    const char *name, *a_name, *b_name, *instruction;
    uint32_t a_bits, c_bits;
} product;
static const product products[] = {
    {"mma.m16n8k16", 0, 0, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", 16, 32},
    {"mma.m16n8k16", 0, 0, "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16", 16, 16},
    {"mma.m16n8k8", 0, 0, "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32", 16, 32},
    {"mma.m16n8k32", 0, 0, "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", 8, 32},
    {"mma.m8n8k16", 0, 0, "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32", 8, 32},
    {"mma.m16n8k64", 0, 0, "mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32", 4, 32},
    {"mma.m16n8k256", 0, 0, "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc", 1, 32},
    {"mma.m8n8k4", "mma.m8n8k4.row", "mma.m8n8k4.col",
     "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32", 16, 32},
    {"mma.m8n8k4", "mma.m8n8k4.col", "mma.m8n8k4.row",
     "mma.sync.aligned.m8n8k4.col.row.f16.f16.f16.f16", 16, 16},
};

/* An element by its map: its bits in the register, or the other way. */
static void put(uint32_t *registers, const fragment *f, const place *p, uint32_t value)
{
    const uint32_t mask = f->bits == 32 ? UINT32_MAX : (1u << f->bits) - 1;
    registers[p->thread * MOST_REGISTERS + p->reg] |= (value & mask) << p->element * f->bits;
}

static uint32_t encode(uint32_t bits, int value)
{
    return bits == 16 ? (uint32_t)pg_f16_of_f32((float)value) : (uint32_t)value;
}

/* Fills registers and the matrix (MOST_COLUMNS wide) with small numbers. */
static void fill(const fragment *f, uint32_t *registers, int *matrix, uint32_t seed)
{
    place p = {0};
    for (p.thread = 0; p.thread < f->threads; p.thread++)
        for (p.reg = 0; p.reg < f->registers; p.reg++)
            for (p.element = 0; p.element < f->elements; p.element++) {
                assert_true(ptxgen_emulator_fragment_place(f, &p));
                seed = seed * 1664525u + 1013904223u;
                const int value = (int)(seed >> 24) % (f->bits == 1 ? 2 : 4);
                matrix[p.row * MOST_COLUMNS + p.column] = value;
                put(registers, f, &p, encode(f->bits, value));
            }
}

/* a and b in the buffer, c comes back: each MOST_REGISTERS words a thread. */
static void product_kernel(text *t, const product *x, const fragment f[3])
{
    begin(t, "sm_90");
    add(t, "mad.wide.u32 d0, t, %d, d0;\n", MOST_REGISTERS * 4);
    for (uint32_t m = 0; m < 2; m++)
        for (uint32_t r = 0; r < f[m].registers; r++)
            add(t, "ld.global.b32 r%u, [d0+%u];\n", (m + 1) * MOST_REGISTERS + r,
                m * LANES * MOST_REGISTERS * 4 + r * 4);
    for (uint32_t r = 0; r < f[2].registers; r++)
        add(t, "mov.b32 r%u, 0;\n", r);
    add(t, "%s ", x->instruction);
    add_registers(t, 0, f[2].registers);
    add(t, ", ");
    add_registers(t, MOST_REGISTERS, f[0].registers);
    add(t, ", ");
    add_registers(t, 2 * MOST_REGISTERS, f[1].registers);
    add(t, ", ");
    add_registers(t, 0, f[2].registers);
    add(t, ";\n");
    for (uint32_t r = 0; r < f[2].registers; r++)
        add(t, "st.global.b32 [d0+%u], r%u;\n", 2 * LANES * MOST_REGISTERS * 4 + r * 4, r);
}

/* Row of C times column: of m8n8k4 only within one of the four products. */
static int expected(const fragment f[3], const int *a, const int *b, const place *p)
{
    const bool four = f[0].rows == 32 && f[0].columns == 4;
    const uint32_t column = four ? p->row / 8 * 8 + p->column : p->column;
    int sum = 0;
    for (uint32_t k = 0; k < f[0].columns; k++)
        sum += a[p->row * MOST_COLUMNS + k] * b[k * MOST_COLUMNS + column];
    return sum;
}

static void check_product(const product *x)
{
    static int a[MOST_COLUMNS * MOST_COLUMNS], b[MOST_COLUMNS * MOST_COLUMNS];
    static uint32_t buffer[3][LANES * MOST_REGISTERS];
    static text t;
    const fragment f[3] = {find(x->a_name ? x->a_name : x->name, 'a', x->a_bits),
                           find(x->b_name ? x->b_name : x->name, 'b', x->a_bits),
                           find(x->name, 'c', x->c_bits)};
    memset(buffer, 0, sizeof buffer);
    fill(&f[0], buffer[0], a, 1);
    fill(&f[1], buffer[1], b, 2);
    product_kernel(&t, x, f);
    run(&t, buffer, sizeof buffer, LANES);
    place p = {0};
    for (p.thread = 0; p.thread < LANES; p.thread++)
        for (p.reg = 0; p.reg < f[2].registers; p.reg++)
            for (p.element = 0; p.element < f[2].elements; p.element++) {
                assert_true(ptxgen_emulator_fragment_place(&f[2], &p));
                const uint32_t word = buffer[2][p.thread * MOST_REGISTERS + p.reg];
                float value = (float)(int32_t)word;
                if (strstr(x->instruction, ".f32.f16"))
                    memcpy(&value, &word, sizeof value);
                if (x->c_bits == 16)
                    value = pg_f32_of_f16((uint16_t)(word >> 16 * p.element));
                if (value != (float)expected(f, a, b, &p))
                    fail_msg("%s: C[%u, %u] is %g, expected %d", x->instruction, p.row, p.column,
                             (double)value, expected(f, a, b, &p));
            }
}

static void products_go_by_the_maps(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof products / sizeof *products; i++)
        check_product(&products[i]);
}

/* ---- moves ---- */

/* Halves in shared memory, numbered by row and column; what ldmatrix gives each lane. */
static void check_ldmatrix(uint32_t count, bool trans)
{
    static text t;
    static uint32_t out[LANES * 4];
    char name[32];
    snprintf(name, sizeof name, "ldmatrix.x%u%s", count, trans ? ".trans" : "");
    const fragment f = find(name, 'd', 16);
    begin(&t, "sm_90");
    add(&t, "mov.u32 x, tile; shl.b32 y, t, 4; add.u32 x, x, y; mul.lo.u32 y, t, 8;\n");
    for (uint32_t i = 0; i < 8; i++) /* lane t writes row t: the number 8 t + i */
        add(&t, "add.u32 r0, y, %u; st.shared.u16 [x+%u], r0;\n", i, 2 * i);
    add(&t, "bar.warp.sync 0xffffffff;\nldmatrix.sync.aligned.m8n8.x%u%s.shared.b16 ", count,
        trans ? ".trans" : "");
    add_registers(&t, 0, count);
    add(&t, ", [x];\nmad.wide.u32 d0, t, 16, d0;\n");
    for (uint32_t r = 0; r < count; r++)
        add(&t, "st.global.b32 [d0+%u], r%u;\n", 4 * r, r);
    run(&t, out, sizeof out, LANES);
    place p = {0};
    for (p.thread = 0; p.thread < LANES; p.thread++)
        for (p.reg = 0; p.reg < count; p.reg++)
            for (p.element = 0; p.element < 2; p.element++) {
                assert_true(ptxgen_emulator_fragment_place(&f, &p));
                assert_int_equal(out[p.thread * 4 + p.reg] >> 16 * p.element & 0xffff,
                                 8 * p.row + p.column);
            }
}

static void ldmatrix_goes_by_the_map(void **state)
{
    (void)state;
    for (uint32_t count = 1; count <= 4; count *= 2)
        for (int trans = 0; trans < 2; trans++)
            check_ldmatrix(count, trans);
}

static const struct {
    const char *shape, *registers_of; /* of the instruction, repetitions included */
    uint32_t registers;
    const char *immediate;
} tensor_moves[] = {{"32x32b", "x4", 4, ""},
                    {"16x64b", "x4", 4, ""},
                    {"16x128b", "x2", 4, ""},
                    {"16x256b", "x2", 8, ""},
                    {"16x32bx2", "x4", 4, ", 4"}};

/* Words of tensor memory numbered by lane and column through .32x32b, whose thread has a lane. */
static void check_tensor_load(size_t i)
{
    enum { COLUMNS = 32 };
    static text t;
    static uint32_t out[LANES * MOST_REGISTERS];
    char name[48];
    snprintf(name, sizeof name, "tcgen05.ld.%s.%s", tensor_moves[i].shape,
             tensor_moves[i].registers_of);
    const fragment f = find(name, 'd', 32);
    assert_int_equal(f.registers, tensor_moves[i].registers);
    begin(&t, "sm_100a");
    add(&t, "mov.u32 x, at;\n"
            "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [x], 32;\n"
            "bar.sync 0;\nld.shared.u32 x, [x];\n");
    for (uint32_t c = 0; c < COLUMNS; c++)
        add(&t, "mad.lo.u32 r%u, t, 100, %u;\n", c, c);
    add(&t, "tcgen05.st.sync.aligned.32x32b.x32.b32 [x], ");
    add_registers(&t, 0, COLUMNS);
    add(&t, ";\ntcgen05.wait::st.sync.aligned;\ntcgen05.ld.sync.aligned.%s.%s.b32 ",
        tensor_moves[i].shape, tensor_moves[i].registers_of);
    add_registers(&t, 0, f.registers);
    add(&t, ", [x]%s;\ntcgen05.wait::ld.sync.aligned;\nmad.wide.u32 d0, t, %d, d0;\n",
        tensor_moves[i].immediate, 4 * MOST_REGISTERS);
    for (uint32_t r = 0; r < f.registers; r++)
        add(&t, "st.global.b32 [d0+%u], r%u;\n", 4 * r, r);
    add(&t, "tcgen05.dealloc.cta_group::1.sync.aligned.b32 x, 32;\n");
    run(&t, out, sizeof out, LANES);
    place p = {0};
    for (p.thread = 0; p.thread < LANES; p.thread++)
        for (p.reg = 0; p.reg < f.registers; p.reg++) {
            assert_true(ptxgen_emulator_fragment_place(&f, &p));
            if (out[p.thread * MOST_REGISTERS + p.reg] != 100 * p.row + p.column)
                fail_msg("%s: T%u register %u is %u, the map says %u, %u", name, p.thread, p.reg,
                         out[p.thread * MOST_REGISTERS + p.reg], p.row, p.column);
        }
}

static void tcgen05_loads_go_by_the_maps(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof tensor_moves / sizeof *tensor_moves; i++)
        check_tensor_load(i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_map_covers_its_matrix_once),
        cmocka_unit_test(products_go_by_the_maps),
        cmocka_unit_test(ldmatrix_goes_by_the_map),
        cmocka_unit_test(tcgen05_loads_go_by_the_maps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
