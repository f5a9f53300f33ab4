/* See findings.h. */
#include "emulator/check/findings.h"

#include <pthread.h>
#include <string.h>

enum { MAX_REPORTS = 1000 };

struct pg_findings {
    const pg_alloc *alloc;
    pthread_mutex_t lock;
    ptxgen_emulator_report *items;
    size_t count, capacity;
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

void pg_findings_clear(pg_findings *r)
{
    pthread_mutex_lock(&r->lock);
    for (size_t i = 0; i < r->count; i++) {
        drop_strings(r->alloc, &r->items[i]);
    }
    r->count = 0;
    pthread_mutex_unlock(&r->lock);
}

void pg_findings_free(pg_findings *r)
{
    if (!r)
        return;
    pg_findings_clear(r);
    pg_free(r->alloc, r->items, r->capacity * sizeof *r->items);
    pthread_mutex_destroy(&r->lock);
    pg_free(r->alloc, r, sizeof *r);
}

static bool append(pg_findings *r, const ptxgen_emulator_report *report)
{
    if (r->count == MAX_REPORTS)
        return false;
    if (r->count == r->capacity) {
        const size_t grown = r->capacity ? 2 * r->capacity : 16;
        ptxgen_emulator_report *more = r->alloc->realloc(
            r->alloc->user, r->items, r->capacity * sizeof *more, grown * sizeof *more);
        if (!more)
            return false;
        r->items = more;
        r->capacity = grown;
    }
    ptxgen_emulator_report kept = *report;
    kept.count = 1;
    if (!copy_strings(r->alloc, &kept))
        return false;
    r->items[r->count++] = kept;
    return true;
}

static ptxgen_emulator_report *find(pg_findings *r, ptxgen_emulator_report_kind kind, int line,
                                    int other_line)
{
    for (size_t i = 0; i < r->count; i++) {
        ptxgen_emulator_report *x = &r->items[i];
        if (x->kind == kind && x->line == line && x->other_line == other_line)
            return x;
    }
    return NULL;
}

bool pg_findings_again(pg_findings *r, ptxgen_emulator_report_kind kind, int line, int other_line)
{
    pthread_mutex_lock(&r->lock);
    ptxgen_emulator_report *known = find(r, kind, line, other_line);
    if (known)
        known->count++;
    pthread_mutex_unlock(&r->lock);
    return known != NULL;
}

bool pg_findings_add(pg_findings *r, const ptxgen_emulator_report *report)
{
    if (pg_findings_again(r, report->kind, report->line, report->other_line))
        return false;
    pthread_mutex_lock(&r->lock);
    const bool added = append(r, report);
    pthread_mutex_unlock(&r->lock);
    return added;
}

bool pg_findings_get(pg_findings *r, size_t i, ptxgen_emulator_report *out)
{
    pthread_mutex_lock(&r->lock);
    const bool found = i < r->count;
    if (found)
        *out = r->items[i];
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
