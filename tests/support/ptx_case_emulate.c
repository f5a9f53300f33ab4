/* Runs an instruction test on the emulator; see ptx_case.h. */
#include "ptx_case.h"

#include "ptxgen/emulator.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The kernel's arguments: pointers and tensor maps. */
typedef struct arguments {
    void *pointers[PTX_CASE_MAX_PARAMS];
    uint64_t addresses[PTX_CASE_MAX_PARAMS];
    uint8_t maps[PTX_CASE_MAX_PARAMS][128];
} arguments;

/* Moves a buffer to memory that is aligned as device memory is. */
static void align_buffer(ptx_case_param *p)
{
    void *aligned = NULL;
    if (posix_memalign(&aligned, 1024, p->size + 1))
        return;
    memcpy(aligned, p->bytes, p->size);
    free(p->bytes);
    p->bytes = aligned;
}

static bool encode_map(ptx_case *c, const ptx_case_param *m, uint8_t *out, ptxgen_error *err)
{
    const ptx_case_param *b = ptx_case_buffer(c, m->over);
    ptxgen_emulator_tensor_map t = {.size = sizeof t,
                                    .data_type = m->type,
                                    .rank = m->rank,
                                    .address = b ? b->bytes : NULL,
                                    .swizzle = m->swizzle,
                                    .oob_fill = m->fill_nan};
    memcpy(t.dims, m->dims, sizeof t.dims);
    memcpy(t.strides, m->strides, sizeof t.strides);
    memcpy(t.box, m->box, sizeof t.box);
    memcpy(t.element_strides, m->element_strides, sizeof t.element_strides);
    t.im2col_pixels = m->pixels;
    t.im2col_wide = m->wide;
    memcpy(t.im2col_lower, m->lower, sizeof t.im2col_lower);
    memcpy(t.im2col_upper, m->upper, sizeof t.im2col_upper);
    return ptxgen_emulator_encode_tensor_map(&t, out, err) == PTXGEN_OK;
}

static bool add_image(ptxgen_emulator *emu, ptx_case *c, const ptx_case_param *m, uint64_t *handle,
                      ptxgen_error *err)
{
    const ptx_case_param *b = ptx_case_buffer(c, m->over);
    ptxgen_emulator_texture t = {.size = sizeof t,
                                 .format = (int)m->format,
                                 .channels = m->channels,
                                 .width = m->extent[0],
                                 .height = m->extent[1],
                                 .depth = m->extent[2],
                                 .layers = m->layers,
                                 .cube = (int)m->cube,
                                 .memory = b ? b->bytes : NULL,
                                 .linear = (int)m->linear,
                                 .read_integers = (int)m->integers,
                                 .normalized = (int)m->normalized};
    for (int i = 0; i < 3; i++)
        t.address_mode[i] = m->address[i];
    for (int i = 0; i < 4; i++)
        t.border[i] = (float)m->border[i];
    return ptxgen_emulator_add_texture(emu, &t, handle, err) == PTXGEN_OK;
}

static bool make_arguments(ptxgen_emulator *emu, ptx_case *c, arguments *a, ptxgen_error *err)
{
    for (size_t i = 0; i < c->param_count; i++) {
        ptx_case_param *p = &c->params[i];
        if (p->is_map)
            continue;
        align_buffer(p);
        a->addresses[i] = (uint64_t)(uintptr_t)p->bytes;
        a->pointers[i] = &a->addresses[i];
        const unsigned flags = PTXGEN_EMULATOR_WRITABLE |
                               (strcmp(p->name, c->dependent) ? 0 : PTXGEN_EMULATOR_DEPENDENT) |
                               (strcmp(p->name, c->undefined) ? 0 : PTXGEN_EMULATOR_UNINITIALIZED);
        if (ptxgen_emulator_add_buffer(emu, p->name, p->bytes, p->size, flags, err) != PTXGEN_OK)
            return false;
    }
    for (size_t i = 0; i < c->param_count; i++) {
        if (!c->params[i].is_map)
            continue;
        a->pointers[i] = c->params[i].is_image ? (void *)&a->addresses[i] : a->maps[i];
        if (c->params[i].is_image) {
            if (!add_image(emu, c, &c->params[i], &a->addresses[i], err))
                return false;
            continue;
        }
        if (!encode_map(c, &c->params[i], a->maps[i], err))
            return false;
    }
    return true;
}

static bool launch_case(ptxgen_emulator *emu, ptx_case *c, ptxgen_error *err)
{
    ptxgen_emulator_module *module;
    ptxgen_emulator_entry *entry;
    arguments *a = calloc(1, sizeof *a);
    ptxgen_emulator_launch launch = {.size = sizeof launch,
                                     .dynamic_shared = c->shared,
                                     .args = a->pointers,
                                     .arg_count = c->param_count};
    memcpy(launch.grid, c->grid, sizeof launch.grid);
    memcpy(launch.block, c->block, sizeof launch.block);
    memcpy(launch.cluster, c->cluster, sizeof launch.cluster);
    bool ok = ptxgen_emulator_load(emu, c->text, c->length, NULL, &module, err) == PTXGEN_OK;
    if (ok) {
        ok = make_arguments(emu, c, a, err) &&
             ptxgen_emulator_find(module, NULL, &entry, err) == PTXGEN_OK &&
             ptxgen_emulator_run(entry, &launch, err) == PTXGEN_OK;
        ptxgen_emulator_unload(module);
    }
    free(a);
    return ok;
}

/* " line=7 other=5 thread=0,0,0/1/4 where=..." */
static void place_of(const ptxgen_emulator_report *r, char *text, size_t size)
{
    snprintf(text, size, " line=%d other=%d thread=%u,%u,%u/%u/%u where=%s", r->line, r->other_line,
             r->cta[0], r->cta[1], r->cta[2], r->warp, r->lane, r->where);
}

/* Whether the place is what the `at` line asks for, word by word; `where` is the rest of the
 * line. */
static bool is_at(const ptx_case *c, bool with_thread, const char *place)
{
    char list[sizeof c->at], word[sizeof c->at + 2];
    snprintf(list, sizeof list, "%s", c->at);
    char *rest = list, *where = strstr(list, "where=");
    if (where) {
        if (!strstr(strstr(place, "where="), where + 6))
            return false;
        *where = '\0';
    }
    for (char *one = strtok_r(rest, " ", &rest); one; one = strtok_r(NULL, " ", &rest)) {
        snprintf(word, sizeof word, " %s ", one);
        if ((with_thread || strncmp(one, "thread=", 7)) && !strstr(place, word))
            return false;
    }
    return true;
}

/* The report that the case asks for, else the first that is no advice; false: none. */
static bool first_report(const ptxgen_emulator *emu, const ptx_case *c, bool in_order,
                         char *message, size_t size)
{
    ptxgen_emulator_report r;
    bool found = false;
    for (size_t i = 0; ptxgen_emulator_get_report(emu, i, &r); i++) {
        if (ptxgen_emulator_report_class_of(r.kind) == PTXGEN_EMULATOR_ADVICE)
            continue;
        char text[700], place[300];
        place_of(&r, place, sizeof place);
        snprintf(text, sizeof text, "%s (%s)%s", ptxgen_emulator_report_name(r.kind), r.text,
                 place);
        const bool kind = c->report[0] && ptx_case_expects(c, text);
        const bool wanted = kind && is_at(c, in_order, place);
        if (kind && !wanted)
            snprintf(text, sizeof text, "at another place than \"%s\": %s%s", c->at,
                     ptxgen_emulator_report_id(r.kind), place);
        if (!found || wanted)
            snprintf(message, size, "%s", text);
        found = true;
        if (wanted)
            break;
    }
    return found;
}

static bool gives_advice(const ptxgen_emulator *emu, const ptx_case *c)
{
    ptxgen_emulator_report r;
    for (size_t i = 0; ptxgen_emulator_get_report(emu, i, &r); i++)
        if (ptxgen_emulator_report_class_of(r.kind) == PTXGEN_EMULATOR_ADVICE &&
            strstr(ptxgen_emulator_report_name(r.kind), c->advice))
            return true;
    return false;
}

typedef struct outcome {
    const ptxgen_emulator *emu;
    ptx_case_mode mode;
    bool ran;
    const ptxgen_error *err;
} outcome;

static bool judge(const outcome *o, const ptx_case *c, char *message, size_t size)
{
    const ptxgen_emulator *emu = o->emu;
    const ptxgen_error *err = o->err;
    const bool ran = o->ran;
    if (c->fails[0]) {
        /* every mistake of a program has one status; only what is not executed has another */
        const bool not_executed = !ran && strstr(err->message, "not executed");
        if (!ran && strstr(err->message, c->fails) &&
            (not_executed || err->status == PTXGEN_EEMULATOR))
            return true;
        snprintf(message, size, "expected a failure with \"%s\", got: %s (status %d)", c->fails,
                 ran ? "success" : err->message, (int)err->status);
        return false;
    }
    if (first_report(emu, c, !o->mode.isa_seed, message, size))
        return false;
    if (!ran) {
        snprintf(message, size, "error: %s", err->message);
        return false;
    }
    if (c->advice[0] && o->mode.check && !o->mode.isa_seed && !gives_advice(emu, c)) {
        snprintf(message, size, "the advice \"%s\" is not given", c->advice);
        return false;
    }
    return ptx_case_check(c, message, size);
}

bool ptx_case_emulate(ptx_case *c, ptx_case_mode mode, char *message, size_t size)
{
    const ptxgen_emulator_config config = {.size = sizeof config,
                                           .threads = 1,
                                           .seed = mode.isa_seed,
                                           .check = mode.check,
                                           .order = mode.isa_seed ? PTXGEN_EMULATOR_ORDER_ISA
                                                                  : PTXGEN_EMULATOR_ORDER_HW,
                                           .instruction_budget = 20000000};
    ptxgen_emulator *emu;
    ptxgen_error err = {0};
    if (ptxgen_emulator_create(&config, &emu, &err) != PTXGEN_OK) {
        snprintf(message, size, "%s", err.message);
        return false;
    }
    const bool ran = launch_case(emu, c, &err);
    const bool ok = judge(&(outcome){emu, mode, ran, &err}, c, message, size);
    ptxgen_emulator_destroy(emu);
    return ok;
}
