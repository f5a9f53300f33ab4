/* A table of chains. Nodes are made outside of the lock, and freed when the table is cleared. */
#include "engine/choices.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/lock.h"
#include "base/stock.h"

#include <pthread.h>
#include <string.h>

enum { BUCKETS = 4096, NODES_MAX = 65536, NODES_READY = 1024, USUAL_KEY = 1024 /* bytes */ };

enum { WIDEST = 256 }; /* bytes; no choice follows from more of an address than this alignment */

typedef struct node {
    struct node *next;
    uint64_t hash;
    pg_choice_state state;
    bool swapped;
    pg_kernel_id id;
    size_t size;
    unsigned char bytes[];
} node;

struct pg_choices {
    pg_alloc alloc;
    pthread_mutex_t lock;
    size_t count;
    pg_stock stock; /* of nodes */
    node *buckets[BUCKETS];
};

/* ---- keys ---- */

static void put(pg_choice_key *k, const void *bytes, size_t n)
{
    memcpy(k->bytes + k->size, bytes, n);
    k->size += n;
}

static int64_t alignment(const void *p)
{
    const uintptr_t bits = (uintptr_t)p | WIDEST;
    return (int64_t)(bits & (~bits + 1));
}

static void put_view(pg_choice_key *k, const pg_view *v)
{
    const int64_t facts[] = {alignment(v->data), v->dtype,
                             v->present | v->transposed << 1 | v->rank << 8};
    put(k, facts, sizeof facts);
    put(k, v->shape, v->rank * sizeof *v->shape);
    put(k, v->stride, v->rank * sizeof *v->stride);
}

void pg_choice_key_of(const pg_problem *p, const pg_kernel_id *bound, pg_given given,
                      pg_choice_key *out)
{
    const pg_family *f = p->family;
    const uint64_t head[] = {(uintptr_t)f, given, p->prepared != NULL,
                             f->facts ? f->facts(p, bound->key) : 0};
    out->size = 0;
    put(out, head, sizeof head);
    put(out, bound->key, p->family->params.key_size);
    put(out, p->symbol, p->table->symbol_count * sizeof *p->symbol);
    for (size_t i = 0; i < p->table->count; i++)
        if (p->operand[i].present)
            put_view(out, &p->operand[i]);
}

/* ---- the table ---- */

ptxgen_status pg_choices_create(const pg_alloc *alloc, pg_choices **out, ptxgen_error *err)
{
    pg_choices *c = pg_alloc_zero(alloc, sizeof *c);
    if (!c)
        return pg_fail_memory(err, sizeof *c);
    c->alloc = *alloc;
    pg_stock_init(&c->stock, alloc, (sizeof(node) + USUAL_KEY) / 16 * 16, NODES_READY);
    pg_lock_init(&c->lock);
    *out = c;
    return PTXGEN_OK;
}

void pg_choices_stock_up(pg_choices *c)
{
    pg_stock_fill(&c->stock);
}

/* Without the lock. */
static void free_nodes(pg_choices *c, node *nodes)
{
    for (node *next; nodes; nodes = next) {
        next = nodes->next;
        pg_stock_give(&c->stock, nodes, sizeof *nodes + nodes->size);
    }
}

void pg_choices_clear(pg_choices *c)
{
    node *all = NULL;
    pthread_mutex_lock(&c->lock);
    for (size_t b = 0; b < BUCKETS; b++) {
        for (node *n = c->buckets[b], *next; n; n = next) {
            next = n->next;
            n->next = all;
            all = n;
        }
        c->buckets[b] = NULL;
    }
    c->count = 0;
    pthread_mutex_unlock(&c->lock);
    free_nodes(c, all);
}

void pg_choices_destroy(pg_choices *c)
{
    if (!c)
        return;
    pg_choices_clear(c);
    pg_stock_fini(&c->stock);
    pthread_mutex_destroy(&c->lock);
    const pg_alloc alloc = c->alloc;
    pg_free(&alloc, c, sizeof *c);
}

/* The link to the node, or to the end of its chain. */
static node **find(pg_choices *c, const pg_choice_key *key, uint64_t hash)
{
    node **link = &c->buckets[hash % BUCKETS];
    while (*link && !((*link)->hash == hash && (*link)->size == key->size &&
                      memcmp((*link)->bytes, key->bytes, key->size) == 0))
        link = &(*link)->next;
    return link;
}

/* A node with the caller's key, PENDING; NULL without memory. */
static node *make(pg_choices *c, const pg_choice_key *key, uint64_t hash)
{
    node *n = pg_stock_take(&c->stock, sizeof *n + key->size);
    if (!n)
        return NULL;
    *n = (node){.hash = hash, .state = PG_CHOICE_PENDING, .size = key->size};
    memcpy(n->bytes, key->bytes, key->size);
    return n;
}

/* The first who asks is told UNKNOWN, everybody else PENDING. */
static pg_choice_state add(pg_choices *c, const pg_choice_key *key, uint64_t hash)
{
    node *fresh = make(c, key, hash);
    if (!fresh)
        return PG_CHOICE_PENDING;
    pg_choice_state state = PG_CHOICE_UNKNOWN;
    pthread_mutex_lock(&c->lock);
    node **link = find(c, key, hash);
    if (*link) {
        state = (*link)->state == PG_CHOICE_FAILED ? PG_CHOICE_FAILED : PG_CHOICE_PENDING;
    } else if (c->count < NODES_MAX) {
        *link = fresh;
        fresh = NULL;
        c->count++;
    } else {
        state = PG_CHOICE_PENDING; /* full: it stays with the generic kernel */
    }
    pthread_mutex_unlock(&c->lock);
    free_nodes(c, fresh);
    return state;
}

pg_choice_state pg_choices_find(pg_choices *c, const pg_choice_key *key, pg_kernel_id *id,
                                bool *swapped)
{
    const uint64_t hash = pg_hash64(key->bytes, key->size);
    pg_choice_state state = PG_CHOICE_UNKNOWN;
    pthread_mutex_lock(&c->lock);
    const node *n = *find(c, key, hash);
    if (n) {
        state = n->state;
        *swapped = n->swapped;
        if (state == PG_CHOICE_READY)
            *id = n->id;
    }
    pthread_mutex_unlock(&c->lock);
    return n ? state : add(c, key, hash);
}

void pg_choices_settle(pg_choices *c, const pg_choice_key *key, pg_choice_state state,
                       const pg_kernel_id *id)
{
    node *gone = NULL;
    pthread_mutex_lock(&c->lock);
    node **link = find(c, key, pg_hash64(key->bytes, key->size)), *n = *link;
    if (n && state == PG_CHOICE_UNKNOWN) {
        *link = n->next;
        n->next = NULL;
        gone = n;
        c->count--;
    } else if (n) {
        n->state = state;
        n->swapped = false;
        if (id)
            n->id = *id;
    }
    pthread_mutex_unlock(&c->lock);
    free_nodes(c, gone);
}

void pg_choices_swap(pg_choices *c, const pg_choice_key *key)
{
    pthread_mutex_lock(&c->lock);
    node *n = *find(c, key, pg_hash64(key->bytes, key->size));
    if (n)
        n->swapped = true;
    pthread_mutex_unlock(&c->lock);
}

void pg_choices_before_fork(pg_choices *c)
{
    pthread_mutex_lock(&c->lock);
}

void pg_choices_after_fork(pg_choices *c, bool child)
{
    for (size_t b = 0; child && b < BUCKETS; b++)
        for (node **link = &c->buckets[b]; *link;) {
            if ((*link)->state ==
                PG_CHOICE_PENDING) { /* its memory stays: a child frees nothing here */
                *link = (*link)->next;
                c->count--;
            } else {
                link = &(*link)->next;
            }
        }
    pthread_mutex_unlock(&c->lock);
}
