/* Checking mode: words of memory through which threads synchronise, and fences. PTX ISA 9.0,
 * chapter 8.
 *
 * A release pattern (a release, or a fence and then a strong write) publishes through the value
 * that it writes; an acquire pattern (an acquire, or a strong read and then a fence) takes what
 * the value that it reads publishes. A value is that of the last store and of all atomics since.
 * Both patterns count as their narrowest scope, and each scope must include the other's thread.
 * red reads nothing that a pattern could use (section 8.7). What passes at too narrow a scope is
 * kept as hope, for the wording of the race that follows. Only the order of tcgen05 operations,
 * whose fences compose with relaxed accesses, passes at once. Accesses of different sizes at one
 * address count as one word. */
#include "emulator/check/state.h"

#include "ptx/ptx.h"

/* ---- the table ---- */

static uint32_t word_slot(const pg_word_table *t, uint64_t key)
{
    uint32_t at = (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 40) & (t->slots - 1);
    while (t->words[at].key && t->words[at].key != key)
        at = (at + 1) & (t->slots - 1);
    return at;
}

static bool grow(pg_checker *k, pg_word_table *t)
{
    const pg_alloc *alloc = k->launch->alloc;
    const pg_word_table old = *t;
    const uint32_t slots = old.slots ? 2 * old.slots : 64;
    pg_sync_word *words = pg_alloc_zero(alloc, slots * sizeof *words);
    if (!words)
        return false;
    t->words = words;
    t->slots = slots;
    for (uint32_t i = 0; i < old.slots; i++)
        if (old.words[i].key)
            t->words[word_slot(t, old.words[i].key)] = old.words[i];
    if (old.words)
        pg_free(alloc, old.words, old.slots * sizeof *old.words);
    return true;
}

/* The word, if anything has been published there. */
static pg_sync_word *find_word(const pg_word_table *t, uint64_t key)
{
    pg_sync_word *w = t->slots ? &t->words[word_slot(t, key)] : NULL;
    return w && w->key ? w : NULL;
}

static pg_sync_word *word_at(pg_checker *k, pg_word_table *t, uint64_t key)
{
    if (2 * (t->count + 1) > t->slots && !grow(k, t))
        return NULL;
    pg_sync_word *w = &t->words[word_slot(t, key)];
    if (!w->key) {
        w->key = key;
        t->count++;
    }
    return w;
}

static void forget(pg_checker *k, pg_sync_word *w)
{
    for (int s = 0; s < PG_SCOPES; s++)
        pg_knowledge_drop(k, &w->reach[s].knowledge);
    pg_knowledge_drop(k, &w->narrow.knowledge);
    pg_knowledge_drop(k, &w->before.knowledge);
    w->owner = 0;
}

void pg_word_table_free(pg_checker *k, pg_word_table *t)
{
    for (uint32_t i = 0; i < t->slots; i++)
        if (t->words[i].key)
            forget(k, &t->words[i]);
    if (t->words)
        pg_free(k->launch->alloc, t->words, t->slots * sizeof *t->words);
    *t = (pg_word_table){NULL, 0, 0};
}

/* ---- fences of a lane ---- */

static pg_fences *fences_of(pg_warp *w)
{
    pg_warp_check *k = pg_warp_check_of(w);
    if (!k->fences)
        k->fences = pg_alloc_zero(w->launch->alloc, sizeof *k->fences);
    return k->fences;
}

void pg_check_fences_free(pg_warp *w)
{
    pg_checker *checker = w->launch->checker;
    pg_fences *f = pg_warp_check_of(w)->fences;
    if (!f)
        return;
    for (int l = 0; l < PG_LANES; l++) {
        for (int s = 0; s <= PG_SCOPES; s++) {
            pg_knowledge_drop(checker, &f->found[l][s]);
            if (s < PG_SCOPES)
                pg_knowledge_drop(checker, &f->released[l][s]);
        }
        pg_knowledge_drop(checker, &f->before[l]);
        pg_knowledge_drop(checker, &f->found_before[l]);
    }
    pg_free(w->launch->alloc, f, sizeof *f);
    pg_warp_check_of(w)->fences = NULL;
}

void pg_check_release_fenced(pg_warp *w, uint32_t lane, pg_scope scope, pg_knowledge *to)
{
    pg_checker *checker = w->launch->checker;
    const pg_fences *f = pg_warp_check_of(w)->fences;
    if (!f || !f->released_at[lane][scope - 1])
        return;
    pg_knowledge_join(checker, to, &f->released[lane][scope - 1]);
    pg_vector_raise(checker, &to->seen, (uint16_t)(pg_warp_agent(w) + lane),
                    f->released_at[lane][scope - 1]);
}

static void find(pg_warp *w, uint32_t lane, pg_scope scope, const pg_published *what)
{
    pg_fences *f = fences_of(w);
    const uint32_t cluster = (uint32_t)w->cta->cluster->index;
    for (int s = scope - 1; f && s < PG_SCOPES; s++)
        pg_knowledge_take(w->launch->checker, &f->found[lane][s], cluster, what);
}

void pg_check_find(pg_warp *w, uint32_t lane, pg_scope scope, const pg_knowledge *what)
{
    const pg_published p = {(uint32_t)w->cta->cluster->index, *what};
    if (!pg_knowledge_is_empty(what))
        find(w, lane, scope, &p);
}

/* The fence acquires what relaxed reads have found within its scope; the rest is hope. */
static void acquire_found(pg_warp *w, uint32_t lane, pg_scope scope)
{
    pg_checker *checker = w->launch->checker;
    pg_knowledge *mine = &pg_warp_check_of(w)->lane[lane];
    pg_knowledge *found = pg_warp_check_of(w)->fences->found[lane];
    const uint32_t cluster = (uint32_t)w->cta->cluster->index;
    pg_knowledge_join(checker, mine, &found[scope - 1]);
    pg_knowledge_join(checker, mine, &found[PG_SCOPES]);
    for (int s = 0; s < (int)scope; s++)
        pg_knowledge_drop(checker, &found[s]);
    const pg_published wider = {cluster, found[PG_SCOPES - 1]};
    if (scope < PG_SCOPE_GPU && !pg_knowledge_is_empty(&wider.knowledge))
        pg_knowledge_hope(checker, mine, cluster, &wider);
}

/* Tensor maps that the lane knows to be written may be used from now on. */
static void show_maps(pg_warp *w, uint32_t lane)
{
    pg_checker *checker = w->launch->checker;
    pg_warp_check *k = pg_warp_check_of(w);
    pg_knowledge *mine = &k->lane[lane];
    pg_vector_join(checker, &mine->maps, mine->seen);
    pg_vector_raise(checker, &mine->maps, (uint16_t)(pg_warp_agent(w) + lane), k->now);
    pg_foreign_fence(checker, &mine->foreign, PG_KNOWN_MAPS);
}

/* ---- fence.sc ---- */

/* Any two fence.sc whose scopes include each other's threads are ordered (section 8.9). Which is
 * first follows where a relaxed write after one is read before the other; "after" and "before" pass
 * through barriers, so it need not be one thread that writes, fences and signals. */
static void order_fence(pg_warp *w, uint32_t lane)
{
    pg_checker *checker = w->launch->checker;
    pg_warp_check *k = pg_warp_check_of(w);
    pg_fences *f = k->fences;
    pg_knowledge_join(checker, &k->lane[lane], &f->found_before[lane]);
    pg_knowledge_drop(checker, &f->found_before[lane]);
    pg_knowledge_join(checker, &f->before[lane], &k->lane[lane]);
    pg_vector_raise(checker, &f->before[lane].seen, (uint16_t)(pg_warp_agent(w) + lane), k->now);
}

void pg_check_fences_arrive(pg_warp *w, uint32_t lanes, uint32_t barrier)
{
    pg_checker *checker = w->launch->checker;
    pg_cta_check *c = pg_cta_check_of(w->cta);
    const pg_fences *f = pg_warp_check_of(w)->fences;
    for (uint32_t left = f ? lanes : 0; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        pg_knowledge_join(checker, &c->before[barrier], &f->before[l]);
        pg_knowledge_join(checker, &c->found_before[barrier], &f->found_before[l]);
    }
}

void pg_check_fences_pass(pg_warp *w, uint32_t lanes, uint32_t barrier)
{
    pg_checker *checker = w->launch->checker;
    const pg_cta_check *c = pg_cta_check_of(w->cta);
    const bool any = !pg_knowledge_is_empty(&c->before[barrier]) ||
                     !pg_knowledge_is_empty(&c->found_before[barrier]);
    pg_fences *f = any ? fences_of(w) : NULL;
    for (uint32_t left = f ? lanes : 0; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        pg_knowledge_join(checker, &f->before[l], &c->before[barrier]);
        pg_knowledge_join(checker, &f->found_before[l], &c->found_before[barrier]);
    }
}

void pg_check_fence(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    pg_checker *checker = w->launch->checker;
    pg_warp_check *k = pg_warp_check_of(w);
    const pg_scope scope = op->scope ? (pg_scope)op->scope : PG_SCOPE_GPU;
    pg_fences *f = fences_of(w);
    for (uint32_t left = f ? lanes : 0; left; left &= left - 1) {
        const uint32_t l = (uint32_t)__builtin_ctz(left);
        if (op->flags & PG_ACCESS_ACQUIRE)
            acquire_found(w, l, scope);
        if (op->opcode == PG_OP_FENCE_TENSORMAP_ACQUIRE)
            show_maps(w, l);
        for (int s = 0; (op->flags & PG_ACCESS_RELEASE) && s < (int)scope; s++) {
            pg_knowledge_set(checker, &f->released[l][s], &k->lane[l]);
            f->released_at[l][s] = k->now;
        }
        if (op->mode && scope == PG_SCOPE_GPU)
            order_fence(w, l);
    }
    k->now++;
}

/* ---- reads and writes of a word ---- */

/* Scope s of the word's value includes the thread. */
static bool reaches(const pg_sync_word *word, int s, const pg_touch *t)
{
    return s == PG_SCOPES - 1 ||
           (word->reach[s].cluster == t->cluster && (s > 0 || word->cta == t->warp->cta->rank));
}

static void read_word(const pg_touch *t, const pg_sync_word *word)
{
    pg_checker *checker = t->warp->launch->checker;
    pg_knowledge *mine = &t->check->lane[t->lane];
    const bool acquires = (t->op->flags & PG_ACCESS_ACQUIRE) != 0;
    for (int s = 0; s < PG_SCOPES; s++) {
        const pg_published *p = &word->reach[s];
        if (pg_knowledge_is_empty(&p->knowledge))
            continue;
        if (s >= (int)t->scope || !reaches(word, s, t)) {
            if (acquires && s == PG_SCOPES - 1)
                pg_knowledge_hope(checker, mine, t->cluster, p);
            continue;
        }
        if (acquires)
            pg_knowledge_take(checker, mine, t->cluster, p);
        else
            find(t->warp, t->lane, (pg_scope)(s + 1), p);
        if (p->cluster == t->cluster)
            pg_vector_join(checker, &mine->ordered, p->knowledge.ordered);
    }
    pg_fences *fences = t->scope == PG_SCOPE_GPU && !pg_knowledge_is_empty(&word->before.knowledge)
                            ? fences_of(t->warp)
                            : NULL;
    if (fences)
        pg_knowledge_take(checker, &fences->found_before[t->lane], t->cluster, &word->before);
    if (pg_knowledge_is_empty(&word->narrow.knowledge))
        return;
    pg_fences *f = acquires ? NULL : fences_of(t->warp);
    if (acquires || f)
        pg_knowledge_hope(checker, acquires ? mine : &f->found[t->lane][PG_SCOPES], t->cluster,
                          &word->narrow);
}

/* An atomic continues what the value publishes, as far as its own scope reaches the writers
 * before. */
static void narrow_down(const pg_touch *t, pg_sync_word *word)
{
    pg_checker *checker = t->warp->launch->checker;
    for (int s = 0; s < PG_SCOPES; s++) {
        pg_published *p = &word->reach[s];
        if (s < (int)t->scope && reaches(word, s, t))
            continue;
        if (s >= (int)t->scope && !pg_knowledge_is_empty(&p->knowledge))
            pg_published_add(checker, &word->narrow, p->cluster, &p->knowledge);
        pg_knowledge_drop(checker, &p->knowledge);
    }
}

static void publish(const pg_touch *t, pg_sync_word *word, int s, const pg_knowledge *what)
{
    if (s == 0)
        word->cta = t->warp->cta->rank;
    pg_published_add(t->warp->launch->checker, s == PG_SCOPES ? &word->narrow : &word->reach[s],
                     t->cluster, what);
}

static void write_released(const pg_touch *t, pg_sync_word *word)
{
    pg_knowledge all = {.foreign = NULL};
    pg_check_release(t->warp, 1u << t->lane, &all);
    for (int s = 0; s < (int)t->scope; s++)
        publish(t, word, s, &all);
    if (t->scope < PG_SCOPE_GPU)
        publish(t, word, PG_SCOPES, &all);
    pg_knowledge_drop(t->warp->launch->checker, &all);
    word->owner_cluster = t->cluster;
    word->owner = (uint16_t)(t->base + t->lane + 1);
}

static void write_relaxed(const pg_touch *t, pg_sync_word *word)
{
    pg_checker *checker = t->warp->launch->checker;
    const pg_fences *f = t->check->fences;
    const uint32_t *at = f ? f->released_at[t->lane] : NULL;
    for (int s = 0; s <= PG_SCOPES; s++) {
        pg_knowledge some = {.foreign = NULL};
        const bool narrow = s == PG_SCOPES;
        if (narrow ? at && at[0] > (t->scope == PG_SCOPE_GPU ? at[PG_SCOPES - 1] : 0)
                   : s < (int)t->scope)
            pg_check_release_fenced(t->warp, t->lane, narrow ? PG_SCOPE_CTA : (pg_scope)(s + 1),
                                    &some);
        if (!narrow)
            pg_vector_join(checker, &some.ordered, t->check->lane[t->lane].ordered);
        if (!pg_knowledge_is_empty(&some))
            publish(t, word, s, &some);
        pg_knowledge_drop(checker, &some);
    }
}

static bool is_reduction(const pg_op *op)
{
    return !strcmp(pg_ptx_op_describe((pg_ptx_op)op->opcode)->mnemonic, "red");
}

/* The access leaves something at its word: it releases, or a fence or an order may come with it. */
static bool may_publish(const pg_touch *t)
{
    return t->write && (t->op->flags & PG_ACCESS_RELEASE || t->check->fences ||
                        t->check->lane[t->lane].ordered);
}

void pg_check_strong_access(const pg_touch *t, uint64_t key)
{
    pg_checker *checker = t->warp->launch->checker;
    pg_word_table *table = t->cta ? &pg_cluster_check_of(t->warp)->words : &checker->words;
    pg_sync_word *word = may_publish(t) ? word_at(checker, table, key) : find_word(table, key);
    if (!word)
        return;
    if (t->reads && !is_reduction(t->op))
        read_word(t, word);
    if (!t->write)
        return;
    const bool owned = word->owner == t->base + t->lane + 1 && word->owner_cluster == t->cluster;
    if (t->reads)
        narrow_down(t, word);
    else if (!owned)
        forget(checker, word);
    const pg_fences *f = t->check->fences;
    if (f && t->scope == PG_SCOPE_GPU && !pg_knowledge_is_empty(&f->before[t->lane]))
        pg_published_add(checker, &word->before, t->cluster, &f->before[t->lane]);
    if (t->op->flags & PG_ACCESS_RELEASE)
        write_released(t, word);
    else
        write_relaxed(t, word);
}
