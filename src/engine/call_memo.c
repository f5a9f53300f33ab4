/* See call_memo.h. Places are found by a hash of the shapes; each holds the last call that fell on
 * it. */
#include "engine/call_memo.h"

#include "engine/kernel.h"

#include <sched.h>
#include <string.h>

/* No check and no hook looks at more of an address than its low bits: alignments are at most 128
 * bytes (pg_operand.alignment is 8 bits wide). */
enum { PLACE_BITS = 4, PLACES = 1 << PLACE_BITS, ADDRESS_MASK = 255 };

typedef struct place {
    atomic_flag busy;
    ptxgen_kernel *kernel; /* NULL: empty */
    uint64_t hits;
    pg_call_name name;
    pg_view checked[PG_MAX_OPERANDS]; /* in the order of name.operand */
    int64_t symbol[PG_MAX_SYMBOLS];
} place;

struct pg_call_memo {
    pg_call_memo_head head;
    ptxgen_kernel *owner; /* NULL: a context's */
    size_t count;         /* PLACES or 1 */
    place places[];
};

static size_t bytes_of(size_t count)
{
    return sizeof(pg_call_memo) + count * sizeof(place);
}

static pg_call_memo *create(const pg_alloc *alloc, ptxgen_kernel *owner, size_t count)
{
    pg_call_memo *m = pg_alloc_zero(alloc, bytes_of(count));
    if (!m)
        return NULL;
    m->head = (pg_call_memo_head){*alloc, bytes_of(count)};
    m->owner = owner;
    m->count = count;
    for (size_t i = 0; i < count; i++)
        atomic_flag_clear(&m->places[i].busy);
    return m;
}

ptxgen_status pg_call_memo_create(const pg_alloc *alloc, pg_call_memo **out, ptxgen_error *err)
{
    *out = create(alloc, NULL, PLACES);
    return *out ? PTXGEN_OK : pg_fail_memory(err, bytes_of(PLACES));
}

pg_call_memo *pg_call_memo_create_for(const pg_alloc *alloc, ptxgen_kernel *owner)
{
    return create(alloc, owner, 1);
}

static bool try_enter(place *s)
{
    return !atomic_flag_test_and_set_explicit(&s->busy, memory_order_acquire);
}

/* Places are held for moments. */
static void enter(place *s)
{
    while (!try_enter(s))
        sched_yield();
}

static void leave(place *s)
{
    atomic_flag_clear_explicit(&s->busy, memory_order_release);
}

void pg_call_memo_clear(pg_call_memo *m)
{
    for (size_t i = 0; i < m->count; i++) {
        place *s = &m->places[i];
        enter(s);
        ptxgen_kernel *const k = s->kernel;
        s->kernel = NULL;
        leave(s);
        ptxgen_kernel_unref(k);
    }
}

/* No thread is at a place, or one that did not live through a fork. */
void pg_call_memo_destroy(pg_call_memo *m)
{
    for (size_t i = 0; i < m->count; i++)
        ptxgen_kernel_unref(m->places[i].kernel);
    pg_call_memo_free(m);
}

/* ---- names ---- */

static uint64_t mix(uint64_t h, uint64_t v)
{
    return (h ^ v) * UINT64_C(0x9e3779b97f4a7c15);
}

/* Lists the operands that are there. */
static size_t list_operands(const pg_problem *p, uint8_t *operand, uint64_t *hash)
{
    const size_t count = p->table->count;
    size_t n = 0;
    uint64_t h = (uintptr_t)p->table;
    for (size_t i = 0; i < count; i++) {
        const pg_view *v = &p->operand[i];
        if (!v->present)
            continue;
        operand[n++] = (uint8_t)i;
        h = mix(h, v->dtype);
        for (int d = 0; d < v->rank; d++)
            h = mix(h, (uint64_t)v->shape[d]);
    }
    *hash = h;
    return n;
}

/* A scalar is read during the call: its value takes the place of its address. */
static uintptr_t scalar_bits(const pg_view *v)
{
    uint64_t bits = 0;
    if (v->data)
        memcpy(&bits, v->data, v->dtype == PTXGEN_F32 || v->dtype == PTXGEN_S32 ? 4 : 8);
    return (uintptr_t)bits;
}

static bool is_known_scalar(const pg_view *v)
{
    return v->data && (v->dtype == PTXGEN_F32 || v->dtype == PTXGEN_F64 || v->dtype == PTXGEN_S32 ||
                       v->dtype == PTXGEN_S64);
}

bool pg_call_name_of(const pg_problem *p, const int64_t *key, pg_given given, pg_call_name *out)
{
    if (p->prepared || !p->device)
        return false;
    out->family = p->family;
    out->table = p->table;
    out->device = p->device;
    out->given = given;
    out->count = list_operands(p, out->operand, &out->hash);
    memcpy(out->key, key, p->family->params.key_size);
    for (size_t i = 0; i < out->count; i++) {
        pg_view *const v = &out->view[i];
        *v = p->operand[out->operand[i]];
        if (p->table->rows[out->operand[i]].role != PG_SCALAR)
            continue;
        if (!is_known_scalar(v))
            return false;
        v->data = (void *)scalar_bits(v);
    }
    return true;
}

static bool same_view(const pg_operand *row, const pg_view *kept, const pg_view *v)
{
    if (kept->dtype != v->dtype || kept->rank != v->rank || kept->transposed != v->transposed ||
        !v->data)
        return false;
    if (row->role == PG_SCALAR)
        return (uintptr_t)kept->data == scalar_bits(v);
    if (((uintptr_t)kept->data ^ (uintptr_t)v->data) & ADDRESS_MASK)
        return false;
    for (int d = 0; d < v->rank; d++)
        if (kept->shape[d] != v->shape[d] || kept->stride[d] != v->stride[d])
            return false;
    return true;
}

static bool same_call(const pg_call_name *n, const pg_problem *p, const int64_t *key,
                      pg_given given)
{
    if (n->table != p->table || n->family != p->family || n->device != p->device ||
        n->given != given || memcmp(n->key, key, p->family->params.key_size) != 0)
        return false;
    for (size_t i = 0; i < n->count; i++) {
        const size_t o = n->operand[i];
        if (!same_view(&p->table->rows[o], &n->view[i], &p->operand[o]))
            return false;
    }
    return true;
}

/* ---- calls ---- */

static place *place_of(pg_call_memo *m, uint64_t hash)
{
    return &m->places[m->count == 1 ? 0 : hash >> (64 - PLACE_BITS)];
}

/* The problem as the checks left the kept one, with its own addresses. */
static void take_over(const place *s, pg_problem *p)
{
    for (size_t i = 0; i < s->name.count; i++) {
        pg_view *const v = &p->operand[s->name.operand[i]];
        void *const data = v->data;
        *v = s->checked[i];
        v->data = data;
        p->given[i] = s->name.operand[i];
    }
    p->given_count = (uint8_t)s->name.count;
    memcpy(p->symbol, s->symbol, p->table->symbol_count * sizeof *p->symbol);
    p->empty = false;
}

ptxgen_kernel *pg_call_memo_recall(pg_call_memo *m, pg_problem *p, const int64_t *key,
                                   pg_given given)
{
    uint8_t operand[PG_MAX_OPERANDS];
    uint64_t hash;
    ptxgen_kernel *k = NULL;
    const size_t count = list_operands(p, operand, &hash);
    place *const s = place_of(m, hash);
    if (p->prepared || !try_enter(s))
        return NULL;
    if (s->kernel && s->name.hash == hash && s->name.count == count &&
        memcmp(s->name.operand, operand, count) == 0 && same_call(&s->name, p, key, given) &&
        !pg_kernel_is_rejected(s->kernel)) {
        take_over(s, p);
        k = ptxgen_kernel_ref(s->kernel);
        p->key = k->id.key;
        s->hits++;
    }
    leave(s);
    return k;
}

void pg_call_memo_keep(pg_call_memo *m, const pg_call_name *name, const pg_problem *checked,
                       ptxgen_kernel *k)
{
    place *const s = place_of(m, name->hash);
    if (!try_enter(s))
        return;
    ptxgen_kernel *const old = m->owner ? NULL : s->kernel;
    s->kernel = m->owner ? k : ptxgen_kernel_ref(k);
    s->name = *name;
    memcpy(s->symbol, checked->symbol, sizeof s->symbol);
    for (size_t i = 0; i < name->count; i++)
        s->checked[i] = checked->operand[name->operand[i]];
    leave(s);
    ptxgen_kernel_unref(old);
}

uint64_t pg_call_memo_hits(pg_call_memo *m)
{
    uint64_t hits = 0;
    for (size_t i = 0; i < m->count; i++) {
        enter(&m->places[i]);
        hits += m->places[i].hits;
        leave(&m->places[i]);
    }
    return hits;
}

void pg_call_memo_before_fork(pg_call_memo *m)
{
    for (size_t i = 0; i < m->count; i++)
        enter(&m->places[i]);
}

void pg_call_memo_after_fork(pg_call_memo *m)
{
    for (size_t i = 0; i < m->count; i++)
        leave(&m->places[i]);
}
