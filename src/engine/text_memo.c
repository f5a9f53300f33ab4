/* Recently used parameter texts and their kernels, so that a request by text does not parse it
 * again.
 *
 * A direct-mapped table: a text has one place, and the newest text of a place stays. A place is
 * locked for one comparison and one reference count, by spinning: nothing slow happens under it. */
#include "engine/text_memo.h"

#include "base/hash.h"
#include "engine/kernel.h"

#include <sched.h>
#include <string.h>

enum { PLACES = 256, TEXT_BYTES = 160 };

typedef struct place {
    atomic_flag busy;
    uint32_t size; /* of text; 0: empty */
    int64_t scope;
    uint64_t hits;
    ptxgen_kernel *kernel; /* owns a reference */
    char text[TEXT_BYTES]; /* family, a newline, parameters */
} place;

struct pg_text_memo {
    pg_alloc alloc;
    place places[PLACES];
};

static void lock(place *p)
{
    while (atomic_flag_test_and_set_explicit(&p->busy, memory_order_acquire))
        sched_yield();
}

static void unlock(place *p)
{
    atomic_flag_clear_explicit(&p->busy, memory_order_release);
}

/* Joins family and params; 0 when they are too long to remember. */
static uint32_t join(const char *family, const char *params, char text[TEXT_BYTES])
{
    const size_t f = strlen(family), n = strlen(params);
    if (f + 1 + n > TEXT_BYTES)
        return 0;
    memcpy(text, family, f);
    text[f] = '\n';
    memcpy(text + f + 1, params, n);
    return (uint32_t)(f + 1 + n);
}

static place *place_of(pg_text_memo *m, int64_t scope, const char *text, uint32_t size)
{
    return &m->places[(pg_hash64(text, size) ^ (uint64_t)scope) % PLACES];
}

ptxgen_status pg_text_memo_create(const pg_alloc *alloc, pg_text_memo **out, ptxgen_error *err)
{
    pg_text_memo *m = pg_alloc_zero(alloc, sizeof *m);
    if (!m)
        return pg_fail_memory(err, sizeof *m);
    m->alloc = *alloc;
    for (int i = 0; i < PLACES; i++)
        atomic_flag_clear(&m->places[i].busy);
    *out = m;
    return PTXGEN_OK;
}

void pg_text_memo_clear(pg_text_memo *m)
{
    for (int i = 0; i < PLACES; i++) {
        place *p = &m->places[i];
        lock(p);
        ptxgen_kernel *k = p->kernel;
        p->kernel = NULL;
        p->size = 0;
        unlock(p);
        ptxgen_kernel_unref(k);
    }
}

void pg_text_memo_destroy(pg_text_memo *m)
{
    const pg_alloc alloc = m->alloc;
    pg_text_memo_clear(m);
    pg_free(&alloc, m, sizeof *m);
}

ptxgen_kernel *pg_text_memo_recall(pg_text_memo *m, int64_t scope, const char *family,
                                   const char *params)
{
    char text[TEXT_BYTES];
    const uint32_t size = join(family, params, text);
    if (!size)
        return NULL;
    ptxgen_kernel *k = NULL;
    place *p = place_of(m, scope, text, size);
    lock(p);
    if (p->size == size && p->scope == scope && memcmp(p->text, text, size) == 0 &&
        !pg_kernel_is_rejected(p->kernel)) {
        k = ptxgen_kernel_ref(p->kernel);
        p->hits++;
    }
    unlock(p);
    return k;
}

void pg_text_memo_remember(pg_text_memo *m, int64_t scope, const char *family, const char *params,
                           ptxgen_kernel *k)
{
    char text[TEXT_BYTES];
    const uint32_t size = join(family, params, text);
    if (!size)
        return;
    place *p = place_of(m, scope, text, size);
    ptxgen_kernel_ref(k);
    lock(p);
    ptxgen_kernel *old = p->kernel;
    p->kernel = k;
    p->scope = scope;
    p->size = size;
    memcpy(p->text, text, size);
    unlock(p);
    ptxgen_kernel_unref(old);
}

uint64_t pg_text_memo_hits(pg_text_memo *m)
{
    uint64_t hits = 0;
    for (int i = 0; i < PLACES; i++) {
        lock(&m->places[i]);
        hits += m->places[i].hits;
        unlock(&m->places[i]);
    }
    return hits;
}

void pg_text_memo_before_fork(pg_text_memo *m)
{
    for (int i = 0; i < PLACES; i++)
        lock(&m->places[i]);
}

void pg_text_memo_after_fork(pg_text_memo *m)
{
    for (int i = 0; i < PLACES; i++)
        unlock(&m->places[i]);
}
