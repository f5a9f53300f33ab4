/* See findings.h. */
#include "emulator/check/findings.h"

#include "base/hash.h"

#include <pthread.h>
#include <string.h>

enum { MOST_OF_A_KIND = 2000, FIRST_ROOM = 16 };

typedef struct finding {
    const pg_program *program; /* NULL: it was unloaded */
    ptxgen_emulator_report report;
} finding;

struct pg_findings {
    const pg_alloc *alloc;
    pthread_mutex_t lock;
    finding *items;
    uint32_t *slots; /* 2 * capacity, a power of two: the item with that hash + 1, or 0 */
    size_t count, capacity;
    size_t of_kind[PTXGEN_EMULATOR_REPORT_KINDS];
    uint64_t left_out;
};

pg_findings *pg_findings_new(const pg_alloc *alloc)
{
    pg_findings *r = pg_alloc_zero(alloc, sizeof *r);
    if (!r)
        return NULL;
    r->alloc = alloc;
    if (pthread_mutex_init(&r->lock, NULL)) {
        pg_free(alloc, r, sizeof *r);
        return NULL;
    }
    return r;
}

static char *copy(const pg_alloc *alloc, const char *text)
{
    const size_t n = strlen(text) + 1;
    char *p = pg_alloc_zero(alloc, n);
    if (p)
        memcpy(p, text, n);
    return p;
}

static void drop(const pg_alloc *alloc, const char *text)
{
    if (text)
        pg_free(alloc, (void *)text, strlen(text) + 1);
}

/* The strings that a report owns once it is kept. */
enum { OWN_STRINGS = 5 };
static void own_strings(ptxgen_emulator_report *r, const char **own[OWN_STRINGS])
{
    own[0] = &r->where;
    own[1] = &r->text;
    own[2] = &r->source;
    own[3] = &r->other_source;
    own[4] = &r->object;
}

static void drop_strings(const pg_alloc *alloc, ptxgen_emulator_report *r)
{
    const char **own[OWN_STRINGS];
    own_strings(r, own);
    for (int i = 0; i < OWN_STRINGS; i++)
        drop(alloc, *own[i]);
}

static bool copy_strings(const pg_alloc *alloc, ptxgen_emulator_report *r)
{
    const char **own[OWN_STRINGS];
    bool all = true;
    own_strings(r, own);
    for (int i = 0; i < OWN_STRINGS; i++) {
        *own[i] = copy(alloc, *own[i] ? *own[i] : "");
        all &= *own[i] != NULL;
    }
    r->op = r->op ? r->op : "";
    r->other_op = r->other_op ? r->other_op : "";
    if (!all)
        drop_strings(alloc, r);
    return all;
}

static void free_slots(pg_findings *r)
{
    if (r->slots)
        pg_free(r->alloc, r->slots, 2 * r->capacity * sizeof *r->slots);
    r->slots = NULL;
}

void pg_findings_clear(pg_findings *r)
{
    pthread_mutex_lock(&r->lock);
    for (size_t i = 0; i < r->count; i++)
        drop_strings(r->alloc, &r->items[i].report);
    free_slots(r);
    pg_free(r->alloc, r->items, r->capacity * sizeof *r->items);
    r->items = NULL;
    r->count = r->capacity = 0;
    r->left_out = 0;
    memset(r->of_kind, 0, sizeof r->of_kind);
    pthread_mutex_unlock(&r->lock);
}

void pg_findings_free(pg_findings *r)
{
    if (!r)
        return;
    pg_findings_clear(r);
    pthread_mutex_destroy(&r->lock);
    pg_free(r->alloc, r, sizeof *r);
}

/* ---- finding again ---- */

static pg_finding_key key_of(const finding *f)
{
    return (pg_finding_key){f->program, f->report.kind, f->report.line, f->report.other_line};
}

/* Where the key's item is named, or would be. There is always a slot that is free. */
static uint32_t *slot_of(const pg_findings *r, const pg_finding_key *key)
{
    const uint64_t words[] = {(uint64_t)(uintptr_t)key->program, (uint64_t)key->kind,
                              (uint64_t)(uint32_t)key->line << 32 | (uint32_t)key->other_line};
    const size_t mask = 2 * r->capacity - 1;
    size_t at = pg_hash64(words, sizeof words) & mask;
    for (; r->slots[at]; at = (at + 1) & mask) {
        const pg_finding_key x = key_of(&r->items[r->slots[at] - 1]);
        if (x.program == key->program && x.kind == key->kind && x.line == key->line &&
            x.other_line == key->other_line)
            break;
    }
    return &r->slots[at];
}

static void fill_slots(pg_findings *r)
{
    memset(r->slots, 0, 2 * r->capacity * sizeof *r->slots);
    for (size_t i = 0; i < r->count; i++) {
        const pg_finding_key key = key_of(&r->items[i]);
        if (key.program)
            *slot_of(r, &key) = (uint32_t)i + 1;
    }
}

static bool grow(pg_findings *r)
{
    const size_t grown = r->capacity ? 2 * r->capacity : FIRST_ROOM;
    uint32_t *slots = pg_alloc_zero(r->alloc, 2 * grown * sizeof *slots);
    finding *more = slots ? r->alloc->realloc(r->alloc->user, r->items, r->capacity * sizeof *more,
                                              grown * sizeof *more)
                          : NULL;
    if (!more) {
        if (slots)
            pg_free(r->alloc, slots, 2 * grown * sizeof *slots);
        return false;
    }
    free_slots(r);
    r->items = more;
    r->slots = slots;
    r->capacity = grown;
    fill_slots(r);
    return true;
}

static finding *find(pg_findings *r, const pg_finding_key *key)
{
    const uint32_t at = r->count ? *slot_of(r, key) : 0;
    return at ? &r->items[at - 1] : NULL;
}

static bool again(pg_findings *r, const pg_finding_key *key)
{
    finding *known = find(r, key);
    const bool full = r->of_kind[key->kind] == MOST_OF_A_KIND;
    if (known)
        known->report.count++;
    else if (full)
        r->left_out++;
    return known || full;
}

static bool append(pg_findings *r, const pg_program *program, const ptxgen_emulator_report *report)
{
    finding kept = {program, *report};
    kept.report.count = 1;
    if ((r->count == r->capacity && !grow(r)) || !copy_strings(r->alloc, &kept.report)) {
        r->left_out++;
        return false;
    }
    const pg_finding_key key = key_of(&kept);
    uint32_t *slot = slot_of(r, &key);
    r->items[r->count++] = kept;
    r->of_kind[report->kind]++;
    *slot = (uint32_t)r->count;
    return true;
}

bool pg_findings_again(pg_findings *r, const pg_finding_key *key)
{
    pthread_mutex_lock(&r->lock);
    const bool known = again(r, key);
    pthread_mutex_unlock(&r->lock);
    return known;
}

bool pg_findings_add(pg_findings *r, const pg_program *program,
                     const ptxgen_emulator_report *report)
{
    const pg_finding_key key = {program, report->kind, report->line, report->other_line};
    pthread_mutex_lock(&r->lock);
    const bool added = !again(r, &key) && append(r, program, report);
    pthread_mutex_unlock(&r->lock);
    return added;
}

void pg_findings_retire(pg_findings *r, const pg_program *program)
{
    bool any = false;
    pthread_mutex_lock(&r->lock);
    for (size_t i = 0; i < r->count; i++)
        if (r->items[i].program == program) {
            r->items[i].program = NULL;
            any = true;
        }
    if (any)
        fill_slots(r);
    pthread_mutex_unlock(&r->lock);
}

uint64_t pg_findings_left_out(pg_findings *r)
{
    pthread_mutex_lock(&r->lock);
    const uint64_t n = r->left_out;
    pthread_mutex_unlock(&r->lock);
    return n;
}

bool pg_findings_get(pg_findings *r, size_t i, ptxgen_emulator_report *out)
{
    pthread_mutex_lock(&r->lock);
    const bool found = i < r->count;
    if (found)
        *out = r->items[i].report;
    pthread_mutex_unlock(&r->lock);
    return found;
}

/* ---- kinds ---- */

static const struct kind {
    const char *name, *constant;
    ptxgen_emulator_report_class report_class;
} kinds[] = {
#define KIND(name, text, report_class) {text, #name, PTXGEN_EMULATOR_##report_class},
    PTXGEN_EMULATOR_REPORT_MAP(KIND)
#undef KIND
};

static const struct kind *kind_of(ptxgen_emulator_report_kind kind)
{
    static const struct kind none = {"?", "?", PTXGEN_EMULATOR_ADVICE};
    return (unsigned)kind < PTXGEN_EMULATOR_REPORT_KINDS ? &kinds[kind] : &none;
}

const char *ptxgen_emulator_report_name(ptxgen_emulator_report_kind kind)
{
    return kind_of(kind)->name;
}

const char *ptxgen_emulator_report_id(ptxgen_emulator_report_kind kind)
{
    return kind_of(kind)->constant;
}

ptxgen_emulator_report_class ptxgen_emulator_report_class_of(ptxgen_emulator_report_kind kind)
{
    return kind_of(kind)->report_class;
}
