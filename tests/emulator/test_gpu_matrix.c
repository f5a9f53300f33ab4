/* Tensor-core arithmetic: mma.sync and wgmma of every float type on random and adversarial
 * operands, the emulator's exact model against a real GPU, bit for bit. Skipped without a device
 * of compute capability 9.0.
 *
 *     test_gpu_matrix [SETS (64)] [SEED (1)]
 *
 * A set is one CTA's operands: 4096 outputs of wgmma, 128 of mma.sync (of which 16 times as many
 * sets are run). Each set has a flavour (below). A difference is printed with its row of A,
 * column of B, and C, as codes. */
#include "ptx_case.h"
#include "runtime_kernels.h"

#include "emulator/matrix/wgmma.h"

#include <pthread.h>
#include <stdatomic.h>

enum { THREADS = 16, SHOWN = 24, ROW_BYTES = 32, MMA_SYNC_SETS = 16 };

typedef struct format {
    unsigned exponent, mantissa; /* bits */
} format;

static const format formats[] = {[PG_MMA_F16] = {5, 10},
                                 [PG_MMA_BF16] = {8, 7},
                                 [PG_MMA_TF32] = {8, 10},
                                 [PG_MMA_E4M3] = {4, 3},
                                 [PG_MMA_E5M2] = {5, 2}};
static const format f32 = {8, 23};

typedef struct variant {
    bool wgmma;
    pg_mma_type a, b;
    bool f16_result;
    unsigned k;
    int scale_a, scale_b; /* wgmma: 1 or -1 */
} variant;

static const variant variants[] = {
    {true, PG_MMA_F16, PG_MMA_F16, false, 16, 1, 1},
    {true, PG_MMA_F16, PG_MMA_F16, true, 16, 1, 1},
    {true, PG_MMA_F16, PG_MMA_F16, false, 16, -1, 1},
    {true, PG_MMA_F16, PG_MMA_F16, true, 16, 1, -1},
    {true, PG_MMA_BF16, PG_MMA_BF16, false, 16, 1, 1},
    {true, PG_MMA_BF16, PG_MMA_BF16, false, 16, 1, -1},
    {true, PG_MMA_TF32, PG_MMA_TF32, false, 8, 1, 1},
    {true, PG_MMA_TF32, PG_MMA_TF32, false, 8, -1, 1},
    {true, PG_MMA_E4M3, PG_MMA_E4M3, false, 32, 1, 1},
    {true, PG_MMA_E4M3, PG_MMA_E4M3, true, 32, 1, 1},
    {true, PG_MMA_E4M3, PG_MMA_E5M2, false, 32, 1, 1},
    {true, PG_MMA_E4M3, PG_MMA_E5M2, true, 32, 1, 1},
    {true, PG_MMA_E5M2, PG_MMA_E4M3, false, 32, 1, 1},
    {true, PG_MMA_E5M2, PG_MMA_E4M3, true, 32, 1, 1},
    {true, PG_MMA_E5M2, PG_MMA_E5M2, false, 32, 1, 1},
    {true, PG_MMA_E5M2, PG_MMA_E5M2, true, 32, 1, 1},
    {true, PG_MMA_E5M2, PG_MMA_E5M2, false, 32, -1, 1},
    {false, PG_MMA_F16, PG_MMA_F16, false, 8, 1, 1},
    {false, PG_MMA_F16, PG_MMA_F16, false, 16, 1, 1},
    {false, PG_MMA_F16, PG_MMA_F16, true, 8, 1, 1},
    {false, PG_MMA_F16, PG_MMA_F16, true, 16, 1, 1},
    {false, PG_MMA_BF16, PG_MMA_BF16, false, 8, 1, 1},
    {false, PG_MMA_BF16, PG_MMA_BF16, false, 16, 1, 1},
    {false, PG_MMA_TF32, PG_MMA_TF32, false, 4, 1, 1},
    {false, PG_MMA_TF32, PG_MMA_TF32, false, 8, 1, 1},
    {false, PG_MMA_E4M3, PG_MMA_E4M3, false, 32, 1, 1},
    {false, PG_MMA_E4M3, PG_MMA_E5M2, false, 32, 1, 1},
    {false, PG_MMA_E5M2, PG_MMA_E4M3, false, 32, 1, 1},
    {false, PG_MMA_E5M2, PG_MMA_E5M2, false, 32, 1, 1},
};
enum { VARIANTS = sizeof variants / sizeof variants[0] };

/* A variant with its operands, kernel and results. */
typedef struct trial {
    const variant *v;
    ptx_case c;
    pg_assembly assembly;
    char error[800];
} trial;

static trial trials[VARIANTS];

static unsigned sets_wanted = 64;
static uint64_t first_seed = 1;

/* ---- the shape of a variant ---- */

static unsigned rows_of(const variant *v)
{
    return v->wgmma ? 64 : 16;
}
static unsigned columns_of(const variant *v)
{
    return v->wgmma ? 64 : 8;
}
static unsigned threads_of(const variant *v)
{
    return v->wgmma ? 128 : 32;
}
static unsigned sets_of(const variant *v)
{
    return v->wgmma ? sets_wanted : MMA_SYNC_SETS * sets_wanted;
}
static unsigned row_bytes(const variant *v)
{
    return v->k * pg_mma_types[v->a].bits / 8;
}
static unsigned d_registers(const variant *v)
{
    return rows_of(v) * columns_of(v) / threads_of(v) / (v->f16_result ? 2 : 1);
}

/* Where byte `byte` of K of a row of A (or column of B) lies in a set's operand: wgmma without
 * swizzle has 16-byte pieces of K one behind the other, each with all its rows; mma.sync has
 * [register][lane]. */
static unsigned operand_at(const variant *v, bool is_a, unsigned row, unsigned byte)
{
    if (v->wgmma)
        return byte / 16 * 1024 + row * 16 + byte % 16;
    const unsigned halves = is_a ? 2 : 1, r = row / 8 + byte / 16 * halves;
    return (r * 32 + row % 8 * 4 + byte % 16 / 4) * 4 + byte % 4;
}

/* ---- operands ---- */

typedef enum flavour {
    NEAR_ONE,   /* magnitudes within a few binades */
    FINITE,     /* every finite code alike */
    ANY,        /* infinities and NaN among them */
    CANCELLING, /* extreme significands; products that come in pairs of opposite sign */
    SUBNORMAL,
    SPREAD,    /* exponents around the width of the adder */
    TIES,      /* one or two bits set: sums half way between results */
    UNDERFLOW, /* products around the smallest f32 numbers, where the operands can make them */
    FLAVOURS
} flavour;

static uint64_t draw(uint64_t *state, uint64_t below)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (z ^ z >> 31) % below;
}

/* An exponent of this distance from 1.0, kept finite. */
static unsigned exponent_near(format f, int distance)
{
    const int top = (1 << f.exponent) - 1, e = top / 2 + distance;
    return (unsigned)(e < 0 ? 0 : e >= top ? top - 1 : e);
}

static uint32_t any_code(uint64_t *rng, format f, bool finite)
{
    const uint32_t top = (1u << f.exponent) - 1;
    uint32_t code;
    do {
        code = (uint32_t)draw(rng, UINT64_C(1) << (f.exponent + f.mantissa));
    } while (
        finite && code >> f.mantissa == top &&
        (f.exponent != 4 || code == (1u << (f.exponent + f.mantissa)) - 1)); /* e4m3: NaN alone */
    return code;
}

static uint32_t element(uint64_t *rng, format f, flavour kind, int binades)
{
    const uint32_t sign = (uint32_t)draw(rng, 2) << (f.exponent + f.mantissa);
    uint32_t man = (uint32_t)draw(rng, UINT64_C(1) << f.mantissa);
    unsigned exponent = 0;
    switch (kind) {
    case FINITE:
    case ANY:
        return sign | any_code(rng, f, kind == FINITE || draw(rng, 4));
    case NEAR_ONE:
        exponent = exponent_near(f, -(int)draw(rng, 4));
        break;
    case CANCELLING:
        man = draw(rng, 2) ? 0 : (1u << f.mantissa) - 1;
        exponent = exponent_near(f, (int)draw(rng, 2));
        break;
    case SUBNORMAL:
        exponent = draw(rng, 4) ? 0 : (unsigned)draw(rng, 4);
        break;
    case UNDERFLOW:
        exponent =
            f.mantissa == 23 ? (unsigned)draw(rng, 32) : exponent_near(f, -53 - (int)draw(rng, 24));
        break;
    case SPREAD:
        exponent = exponent_near(f, (int)draw(rng, 2u * (unsigned)binades + 1) - binades);
        break;
    default: /* TIES */
        man = draw(rng, 2) ? 0 : 1u << draw(rng, f.mantissa);
        exponent = exponent_near(f, (int)draw(rng, (unsigned)binades) - binades / 2);
    }
    return sign | exponent << f.mantissa | man;
}

static void put(uint8_t *bytes, unsigned size, uint32_t value)
{
    memcpy(bytes, &value, size);
}

/* Fills one operand of one set. In cancelling and spread sets, every fourth k repeats the one
 * before, negated in B, so that products vanish in pairs and leave what is small. */
static void fill_operand(const variant *v, bool is_a, flavour kind, uint64_t *rng, uint8_t *to)
{
    const pg_mma_type type = is_a ? v->a : v->b;
    const format f = formats[type];
    const unsigned size = pg_mma_types[type].bits / 8;
    for (unsigned row = 0; row < (is_a ? rows_of(v) : columns_of(v)); row++) {
        uint32_t before = 0;
        for (unsigned k = 0; k < v->k; k++) {
            uint32_t code = element(rng, f, kind, 14);
            if (k % 4 == 1 && (kind == CANCELLING || kind == SPREAD))
                code = is_a ? before : before ^ 1u << (f.exponent + f.mantissa);
            before = code;
            const uint32_t word =
                type == PG_MMA_TF32 ? code << 13 | (uint32_t)draw(rng, 1 << 13) : code;
            put(to + operand_at(v, is_a, row, k * size), size, word);
        }
    }
}

static void fill_accumulator(const variant *v, flavour kind, uint64_t *rng, uint8_t *to)
{
    const format f = v->f16_result ? formats[PG_MMA_F16] : f32;
    const unsigned size = v->f16_result ? 2 : 4;
    for (unsigned i = 0; i < rows_of(v) * columns_of(v); i++)
        put(to + i * size, size, draw(rng, 8) ? element(rng, f, kind, 30) : 0);
}

/* ---- the case ---- */

static ptx_case_param *add_buffer(ptx_case *c, const char *name, size_t size)
{
    ptx_case_param *p = &c->params[c->param_count++];
    snprintf(p->name, sizeof p->name, "%s", name);
    p->word = 4;
    p->size = size;
    p->bytes = calloc(1, size);
    return p;
}

static void fill(trial *t)
{
    const variant *v = t->v;
    const unsigned sets = sets_of(v);
    const size_t a_bytes = (size_t)rows_of(v) * row_bytes(v),
                 b_bytes = (size_t)columns_of(v) * row_bytes(v);
    const size_t d_bytes = (size_t)d_registers(v) * threads_of(v) * 4;
    t->c = (ptx_case){.grid = {sets, 1, 1}, .block = {threads_of(v), 1, 1}, .cluster = {1, 1, 1}};
    uint8_t *a = add_buffer(&t->c, "a", a_bytes * sets)->bytes;
    uint8_t *b = add_buffer(&t->c, "b", b_bytes * sets)->bytes;
    uint8_t *c = add_buffer(&t->c, "c", d_bytes * sets)->bytes;
    add_buffer(&t->c, "d", d_bytes * sets);
    for (unsigned set = 0; set < sets; set++) {
        uint64_t rng = first_seed << 32 ^ (uint64_t)(v - variants) << 20 ^ set;
        const flavour kind = (flavour)(set % FLAVOURS);
        fill_operand(v, true, kind, &rng, a + set * a_bytes);
        fill_operand(v, false, kind, &rng, b + set * b_bytes);
        fill_accumulator(v, kind, &rng, c + set * d_bytes);
    }
}

static void put_registers(pg_buf *text, const char *name, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        pg_buf_printf(text, "%s%s%u", i ? ", " : "{", name, i);
    pg_buf_puts(text, "}");
}

/* %p: the address of this thread's first word of a buffer that is [set][register][thread]. */
static void put_address(pg_buf *text, const variant *v, const char *name, unsigned registers)
{
    pg_buf_printf(text, "    ld.param.u64 %%p, [%s];\n    mad.lo.u32 %%x, %%cta, %u, %%t;\n", name,
                  registers * threads_of(v));
    pg_buf_puts(text, "    mad.wide.u32 %p, %x, 4, %p;\n");
}

static void put_loads(pg_buf *text, const variant *v, const char *name, unsigned registers)
{
    pg_buf_printf(text, "    .reg .b32 %%%s<%u>;\n", name, registers);
    put_address(text, v, name, registers);
    for (unsigned i = 0; i < registers; i++)
        pg_buf_printf(text, "    ld.global.b32 %%%s%u, [%%p + %u];\n", name, i,
                      i * threads_of(v) * 4);
}

static void put_stores(pg_buf *text, const variant *v, const char *name, unsigned registers)
{
    put_address(text, v, "d", registers);
    for (unsigned i = 0; i < registers; i++)
        pg_buf_printf(text, "    st.global.b32 [%%p + %u], %%%s%u;\n", i * threads_of(v) * 4, name,
                      i);
}

static void put_wgmma(pg_buf *text, const variant *v)
{
    const char *const operands[] = {"a", "b"};
    pg_buf_puts(
        text,
        "    .shared .align 1024 .b8 smem[4096];\n    .reg .b64 %da, %db;\n    .reg .pred %q;\n"
        "    .reg .b32 %v<4>, %s;\n    mov.u32 %s, smem;\n    mad.lo.u32 %s, %t, 16, %s;\n");
    for (int i = 0; i < 2; i++)
        pg_buf_printf(text,
                      "    ld.param.u64 %%p, [%s];\n    mad.lo.u32 %%x, %%cta, 128, %%t;\n"
                      "    mad.wide.u32 %%p, %%x, 16, %%p;\n    ld.global.v4.b32 {%%v0, %%v1, "
                      "%%v2, %%v3}, [%%p];\n"
                      "    st.shared.v4.b32 [%%s + %d], {%%v0, %%v1, %%v2, %%v3};\n",
                      operands[i], 2048 * i);
    pg_buf_puts(
        text,
        "    fence.proxy.async.shared::cta;\n    bar.sync 0;\n    mov.u32 %s, smem;\n"
        "    cvt.u64.u32 %da, %s;\n    shr.u64 %da, %da, 4;\n    and.b64 %da, %da, 0x3fff;\n"
        "    or.b64 %da, %da, 0x800400000;\n    add.u64 %db, %da, 128;\n    setp.eq.u32 %q, 0, 0;\n"
        "    wgmma.fence.sync.aligned;\n");
    pg_buf_printf(text, "    wgmma.mma_async.sync.aligned.m64n64k%u.%s.%s.%s ", v->k,
                  v->f16_result ? "f16" : "f32", pg_mma_types[v->a].name, pg_mma_types[v->b].name);
    put_registers(text, "%c", d_registers(v));
    pg_buf_printf(text, ", %%da, %%db, %%q, %d, %d%s;\n", v->scale_a, v->scale_b,
                  pg_mma_types[v->a].bits == 16 ? ", 0, 0" : "");
    pg_buf_puts(text,
                "    wgmma.commit_group.sync.aligned;\n    wgmma.wait_group.sync.aligned 0;\n");
}

static void put_mma_sync(pg_buf *text, const variant *v)
{
    const unsigned a = rows_of(v) * row_bytes(v) / 128, b = columns_of(v) * row_bytes(v) / 128;
    const char *d = v->f16_result ? "f16" : "f32";
    put_loads(text, v, "a", a);
    put_loads(text, v, "b", b);
    pg_buf_printf(text, "    mma.sync.aligned.m16n8k%u.row.col.%s.%s.%s.%s ", v->k, d,
                  pg_mma_types[v->a].name, pg_mma_types[v->b].name, d);
    put_registers(text, "%c", d_registers(v));
    pg_buf_puts(text, ", ");
    put_registers(text, "%a", a);
    pg_buf_puts(text, ", ");
    put_registers(text, "%b", b);
    pg_buf_puts(text, ", ");
    put_registers(text, "%c", d_registers(v));
    pg_buf_puts(text, ";\n");
}

static void write_text(trial *t)
{
    const variant *v = t->v;
    pg_buf text;
    pg_buf_init(&text, &pg_alloc_libc);
    pg_buf_puts(
        &text,
        ".version 8.4\n.target sm_90a\n.address_size 64\n.visible .entry kernel(.param .u64 a, "
        ".param .u64 b, .param .u64 c, .param .u64 d)\n{\n    .reg .b32 %t, %cta, %x;\n"
        "    .reg .b64 %p;\n    mov.u32 %t, %tid.x;\n    mov.u32 %cta, %ctaid.x;\n");
    put_loads(&text, v, "c", d_registers(v));
    (v->wgmma ? put_wgmma : put_mma_sync)(&text, v);
    put_stores(&text, v, "c", d_registers(v));
    pg_buf_puts(&text, "    ret;\n}\n");
    t->c.text = text.data;
    t->c.length = text.len;
}

/* ---- running ---- */

static pg_toolkit *toolkit;
static ptxgen_assembler assembler;
static atomic_size_t next;

/* Assembles the kernel, and has the emulator compute what is expected. */
static void prepare(trial *t)
{
    ptxgen_error err = {0};
    fill(t);
    write_text(t);
    assembly_init(&t->assembly);
    const pg_assembly_request r = {.ptx = t->c.text, .ptx_size = t->c.length, .arch = 901};
    if (pg_toolkit_assemble(toolkit, assembler, &r, &t->assembly, &err) != PTXGEN_OK) {
        snprintf(t->error, sizeof t->error, "%s", err.message);
        return;
    }
    if (!ptx_case_emulate(&t->c, (ptx_case_mode){0}, t->error, sizeof t->error))
        return;
    ptx_case_param *d = ptx_case_buffer(&t->c, "d");
    d->expected = malloc(d->size);
    memcpy(d->expected, d->bytes, d->size);
    memset(d->bytes, 0, d->size);
}

static void *prepare_some(void *unused)
{
    (void)unused;
    for (size_t i; (i = atomic_fetch_add(&next, 1)) < VARIANTS;) {
        trials[i].v = &variants[i];
        prepare(&trials[i]);
    }
    return NULL;
}

static void prepare_all(void)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, prepare_some, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

static uint32_t get(const uint8_t *bytes, unsigned size)
{
    uint32_t value = 0;
    memcpy(&value, bytes, size);
    return value;
}

static void print_operand(trial *t, bool is_a, unsigned set, unsigned row)
{
    const variant *v = t->v;
    const unsigned size = pg_mma_types[is_a ? v->a : v->b].bits / 8;
    const size_t per_set = (size_t)(is_a ? rows_of(v) : columns_of(v)) * row_bytes(v);
    const uint8_t *bytes = ptx_case_buffer(&t->c, is_a ? "a" : "b")->bytes + set * per_set;
    printf("  %c", is_a ? 'a' : 'b');
    for (unsigned k = 0; k < v->k; k++)
        printf(" %0*x", (int)(2 * size), get(bytes + operand_at(v, is_a, row, k * size), size));
    printf("\n");
}

/* Output `i` of a set, counted as D lies in memory: two to a word with f16. */
static void print_output(trial *t, unsigned set, unsigned i)
{
    const variant *v = t->v;
    const unsigned size = v->f16_result ? 2 : 4, per_word = 4 / size, word = i / per_word;
    const unsigned r = word / threads_of(v) * per_word + i % per_word,
                   thread = word % threads_of(v);
    const pg_mma_place place = pg_wgmma_place_32(thread, r);
    const size_t at = ((size_t)set * rows_of(v) * columns_of(v) + i) * size;
    const ptx_case_param *d = ptx_case_buffer(&t->c, "d");
    const int digits = (int)(2 * size);
    printf("  set %u (flavour %u) row %u column %u: c %0*x expected %0*x got %0*x\n", set,
           set % FLAVOURS, place.row, place.col, digits,
           get(ptx_case_buffer(&t->c, "c")->bytes + at, size), digits, get(d->expected + at, size),
           digits, get(d->bytes + at, size));
    print_operand(t, true, set, place.row);
    print_operand(t, false, set, place.col);
}

static void print_name(const variant *v)
{
    printf("%s k%u %s.%s.%s%s", v->wgmma ? "wgmma" : "mma.sync", v->k,
           v->f16_result ? "f16" : "f32", pg_mma_types[v->a].name, pg_mma_types[v->b].name,
           v->scale_a * v->scale_b < 0 ? " negated" : "");
}

/* The number of outputs that differ. */
static size_t compare(trial *t)
{
    const variant *v = t->v;
    const unsigned size = v->f16_result ? 2 : 4, outputs = rows_of(v) * columns_of(v);
    const ptx_case_param *d = ptx_case_buffer(&t->c, "d");
    size_t different[FLAVOURS] = {0}, all = 0;
    for (unsigned set = 0; set < sets_of(v); set++)
        for (unsigned i = 0; i < outputs; i++) {
            const size_t at = ((size_t)set * outputs + i) * size;
            if (!memcmp(d->bytes + at, d->expected + at, size))
                continue;
            if (different[set % FLAVOURS]++ < SHOWN / FLAVOURS)
                print_output(t, set, i);
            all++;
        }
    print_name(v);
    printf(": %zu of %zu outputs differ (by flavour", all, (size_t)sets_of(v) * outputs);
    for (int f = 0; f < FLAVOURS; f++)
        printf(" %zu", different[f]);
    printf(")\n");
    return all;
}

static bool run(trial *t, const struct pg_driver *driver)
{
    const variant *v = t->v;
    if (!t->error[0])
        ptx_case_launch(&t->c, driver, t->assembly.cubin.data, t->error, sizeof t->error);
    if (!t->error[0])
        return compare(t) == 0;
    print_name(v);
    printf(": %s\n", t->error);
    return false;
}

int main(int argc, char **argv)
{
    const char *identity;
    ptxgen_error err = {0};
    bool ok = true;
    if (argc > 1)
        sets_wanted = (unsigned)atoi(argv[1]);
    if (argc > 2)
        first_seed = strtoull(argv[2], NULL, 10);
    toolkit = open_toolkit(PTXGEN_ASSEMBLER_PTXAS);
    if (!toolkit ||
        pg_toolkit_choose(toolkit, (pg_assembly_need){0}, &assembler, &identity, &err) != PTXGEN_OK)
        return TEST_SKIPPED;
    const struct pg_driver *driver = ptx_case_open_gpu(err.message, sizeof err.message);
    if (!driver) {
        printf("skipped: %s\n", err.message);
        return TEST_SKIPPED;
    }
    prepare_all();
    for (size_t i = 0; i < VARIANTS; i++)
        ok = run(&trials[i], driver) && ok;
    pg_toolkit_destroy(toolkit);
    return !ok;
}
