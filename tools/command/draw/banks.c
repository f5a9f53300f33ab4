/* Lanes in banks: a load of one warp, of which the emulator counts the wavefronts. */
#include "command/draw/draw.h"

#include "ptxgen/emulator.h"

#include <stdlib.h>
#include <stdio.h>
#include <string.h>

enum { LANES = 32, BANKS = 32, WORD = 4, SHARED = 48 * 1024 };

typedef struct pattern {
    int64_t stride, bytes, offset, span;
    int swizzle;
} pattern;

static ptxgen_status read_pattern(const cli_args *args, pattern *p, ptxgen_error *err)
{
    *p = (pattern){4, 4, 0, 0, 0};
    ptxgen_status status = draw_number(args, "stride", 0, 1024, &p->stride, err);
    if (status == PTXGEN_OK)
        status = draw_number(args, "bytes", 1, 16, &p->bytes, err);
    if (status == PTXGEN_OK)
        status = draw_number(args, "offset", 0, 1024, &p->offset, err);
    if (status == PTXGEN_OK)
        status = draw_number(args, "swizzle", 0, 128, &p->span, err);
    if (status != PTXGEN_OK)
        return status;
    if ((p->bytes & (p->bytes - 1)) || p->stride % p->bytes || p->offset % p->bytes)
        return cli_fail(
            err, PTXGEN_EINVAL,
            "bytes=%lld, stride=%lld, offset=%lld; a lane loads 1, 2, 4, 8 or 16 bytes, "
            "and each address is a multiple of that",
            (long long)p->bytes, (long long)p->stride, (long long)p->offset);
    p->swizzle = p->span == 0 ? 0 : p->span == 32 ? 1 : p->span == 64 ? 2 : p->span == 128 ? 3 : -1;
    return p->swizzle >= 0
               ? PTXGEN_OK
               : cli_fail(err, PTXGEN_EINVAL, "swizzle=%lld; there are 0, 32, 64 and 128",
                          (long long)p->span);
}

static uint32_t address_of(const pattern *p, int lane)
{
    return ptxgen_emulator_swizzle(p->swizzle, (uint32_t)(p->offset + lane * p->stride));
}

/* A kernel whose lanes load from the addresses that its buffer lists. */
static char *kernel_of(const pattern *p)
{
    static const char *const loads[] = {[1] = "ld.shared.u8 %r3, [%r2];",
                                        [2] = "ld.shared.u16 %h, [%r2];",
                                        [4] = "ld.shared.u32 %r3, [%r2];",
                                        [8] = "ld.shared.v2.u32 {%r3, %r4}, [%r2];",
                                        [16] = "ld.shared.v4.u32 {%r3, %r4, %r5, %r6}, [%r2];"};
    return cli_format(".version 8.0\n.target sm_90\n.address_size 64\n"
                      ".visible .entry k(.param .u64 p)\n{\n"
                      ".reg .u64 %%rd<3>; .reg .u32 %%r<8>; .reg .u16 %%h;\n"
                      ".shared .align 1024 .b8 tile[%d];\n"
                      "ld.param.u64 %%rd1, [p]; mov.u32 %%r1, %%tid.x;\n"
                      "mad.wide.u32 %%rd1, %%r1, 4, %%rd1;\nld.global.u32 %%r2, [%%rd1];\n"
                      "mov.u32 %%r7, tile; add.u32 %%r2, %%r2, %%r7;\n%s\nret;\n}\n",
                      SHARED, loads[p->bytes]);
}

static ptxgen_status measure(const pattern *p, ptxgen_emulator_line *load, ptxgen_error *err)
{
    const ptxgen_emulator_config config = {.size = sizeof config, .profile = true};
    ptxgen_emulator *emu;
    ptxgen_emulator_module *module = NULL;
    ptxgen_emulator_entry *entry;
    uint32_t addresses[LANES];
    void *pointer = addresses, *const values[] = {&pointer};
    const ptxgen_emulator_launch launch = {
        .size = sizeof launch, .block = {LANES, 1, 1}, .args = values, .arg_count = 1};
    for (int l = 0; l < LANES; l++)
        addresses[l] = address_of(p, l);
    char *text = kernel_of(p);
    ptxgen_status status = ptxgen_emulator_create(&config, &emu, err);
    if (status == PTXGEN_OK)
        status = ptxgen_emulator_add_buffer(emu, "addresses", addresses, sizeof addresses, 0, err);
    if (status == PTXGEN_OK)
        status = ptxgen_emulator_load(emu, text, strlen(text), "banks", &module, err);
    if (status == PTXGEN_OK)
        status = ptxgen_emulator_find(module, NULL, &entry, err);
    if (status == PTXGEN_OK)
        status = ptxgen_emulator_run(entry, &launch, err);
    for (size_t i = 0; status == PTXGEN_OK && ptxgen_emulator_line_at(module, i, load); i++)
        if (load->shared_requests)
            break;
    ptxgen_emulator_unload(module);
    ptxgen_emulator_destroy(emu);
    free(text);
    return status;
}

/* The lanes that memory serves together: all, a half or a quarter of the warp. */
static int together_of(const pattern *p)
{
    return p->bytes > WORD ? (int)(LANES * WORD / p->bytes) : LANES;
}

/* The words that the lanes `from` .. `to` - 1 want, by bank. */
typedef struct wanted {
    uint32_t words[BANKS][LANES];
    int lanes[BANKS][LANES], more[BANKS][LANES]; /* the first that wants it, and how many others */
    size_t count[BANKS], most;
} wanted;

static void collect(const pattern *p, int from, int to, wanted *w)
{
    memset(w, 0, sizeof *w);
    for (int l = from; l < to; l++) {
        const uint32_t at = address_of(p, l), last = (at + (uint32_t)p->bytes - 1) / WORD;
        for (uint32_t word = at / WORD; word <= last; word++) {
            const size_t bank = word % BANKS;
            size_t k = 0;
            while (k < w->count[bank] && w->words[bank][k] != word)
                k++;
            w->more[bank][k] += k < w->count[bank];
            if (k < w->count[bank])
                continue;
            w->words[bank][k] = word;
            w->lanes[bank][k] = l;
            w->count[bank]++;
            w->most = w->count[bank] > w->most ? w->count[bank] : w->most;
        }
    }
}

ptxgen_status draw_banks(const cli_args *args, drawing *d, ptxgen_error *err)
{
    pattern p;
    wanted w;
    ptxgen_emulator_line load = {.size = sizeof load};
    ptxgen_status status = read_pattern(args, &p, err);
    if (status == PTXGEN_OK)
        status = measure(&p, &load, err);
    if (status != PTXGEN_OK)
        return status;
    const int together = together_of(&p);
    size_t rows = 0;
    for (int from = 0; from < LANES; from += together) {
        collect(&p, from, from + together, &w);
        rows += w.most;
    }
    drawing_make(d, rows, BANKS);
    size_t row = 0;
    for (int from = 0; from < LANES; from += together) {
        collect(&p, from, from + together, &w);
        for (size_t bank = 0; bank < BANKS; bank++)
            for (size_t k = 0; k < w.count[bank]; k++) {
                const size_t cell = (row + k) * BANKS + bank;
                snprintf(d->cells[cell], sizeof *d->cells, "%d%s", w.lanes[bank][k],
                         w.more[bank][k] ? "+" : "");
                d->marked[cell] = k > 0;
            }
        for (size_t k = 0; k < w.most; k++)
            snprintf(d->row_names[row + k], sizeof *d->row_names, "lanes %d-%d", from,
                     from + together - 1);
        row += w.most;
    }
    for (size_t bank = 0; bank < BANKS; bank++)
        snprintf(d->column_names[bank], sizeof *d->column_names, "%zu", bank);
    d->title = cli_format("banks of a load of %lld bytes a lane, stride %lld, swizzle %lld",
                          (long long)p.bytes, (long long)p.stride, (long long)p.span);
    d->notes = cli_format(
        "across: banks of 4 bytes; a row is a wavefront; a cell is the lane that gets its word "
        "there (+: others get the same)\nheavy frames (*): words that wait for another of "
        "their bank\nthe emulator counts %llu wavefronts; the bytes need %llu\n",
        (unsigned long long)load.shared_wavefronts, (unsigned long long)load.shared_ideal);
    return PTXGEN_OK;
}
