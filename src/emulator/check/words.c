/* Checking mode: words of memory through which threads synchronise, and fences. An acquire takes over what the word
 * holds, a release adds all that the thread knows. A relaxed access does neither by itself (PTX ISA 9.0, section
 * 8.8): a write publishes what the thread knew at its last fence, and what a read finds is acquired by the
 * next fence. Only the order of tcgen05 operations, whose fences compose with relaxed accesses, passes at once. Scopes
 * are not looked at. */
#include "emulator/check/state.h"

static uint32_t word_slot(const pg_cluster_check *k, uint64_t key)
{
    uint32_t at = (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 40) & (k->word_slots - 1);
    while (k->words[at].key && k->words[at].key != key)
        at = (at + 1) & (k->word_slots - 1);
    return at;
}

static pg_sync_word *sync_word(pg_cluster *c, uint64_t key)
{
    pg_cluster_check *k = c->check;
    if (2 * (k->word_count + 1) > k->word_slots) {
        const uint32_t old_slots = k->word_slots, slots = old_slots ? 2 * old_slots : 64;
        pg_sync_word *old = k->words,
                     *words = pg_alloc_zero(c->launch->alloc, slots * sizeof *words);
        if (!words)
            return NULL;
        k->words = words;
        k->word_slots = slots;
        for (uint32_t i = 0; i < old_slots; i++)
            if (old[i].key)
                k->words[word_slot(k, old[i].key)] = old[i];
        if (old)
            pg_free(c->launch->alloc, old, old_slots * sizeof *old);
    }
    pg_sync_word *w = &k->words[word_slot(k, key)];
    if (!w->key) {
        w->key = key;
        k->word_count++;
    }
    return w;
}

void pg_check_words_free(pg_cluster *c)
{
    pg_cluster_check *k = c->check;
    for (uint32_t i = 0; i < k->word_slots; i++)
        if (k->words[i].key)
            pg_knowledge_drop(c, &k->words[i].knowledge);
    if (k->words)
        pg_free(c->launch->alloc, k->words, k->word_slots * sizeof *k->words);
}

static void read_word(const pg_touch *t, const pg_sync_word *word)
{
    pg_cluster *c = t->warp->cta->cluster;
    const bool foreign = !t->cta; /* global memory: the writer may be of another cluster */
    if (t->op->flags & PG_ACCESS_ACQUIRE) {
        pg_check_acquire(t->warp, 1u << t->lane, &word->knowledge);
        t->check->lane[t->lane].foreign |= foreign;
    } else {
        pg_check_tensor_acquire(t->warp, 1u << t->lane, &word->knowledge);
        pg_knowledge_join(c, &t->check->found[t->lane], &word->knowledge);
        t->check->found[t->lane].foreign |= foreign;
    }
}

static void write_word(const pg_touch *t, pg_sync_word *word)
{
    pg_cluster *c = t->warp->cta->cluster;
    const uint32_t fenced_at = t->check->released_at[t->lane];
    if (t->op->flags & PG_ACCESS_RELEASE) {
        pg_check_release(t->warp, 1u << t->lane, &word->knowledge);
        return;
    }
    pg_check_tensor_release(t->warp, 1u << t->lane, &word->knowledge);
    if (fenced_at) {
        pg_knowledge_join(c, &word->knowledge, &t->check->released[t->lane]);
        pg_knowledge_raise(c, &word->knowledge.seen, (uint16_t)(t->base + t->lane), fenced_at);
    }
}

void pg_check_strong_access(const pg_touch *t, uint64_t key)
{
    pg_sync_word *word = sync_word(t->warp->cta->cluster, key);
    if (!word)
        return;
    if (t->reads)
        read_word(t, word);
    if (t->write)
        write_word(t, word);
}

void pg_check_fence(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    pg_cluster *c = w->cta->cluster;
    pg_warp_check *k = pg_warp_check_of(w);
    for (uint32_t left = lanes; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        if (op->flags & PG_ACCESS_ACQUIRE) {
            pg_knowledge_join(c, &k->lane[l], &k->found[l]);
            pg_knowledge_drop(c, &k->found[l]);
        }
        if (op->flags & PG_ACCESS_RELEASE) {
            pg_knowledge_set(c, &k->released[l], &k->lane[l]);
            k->released_at[l] = k->now;
        }
    }
    k->now++;
}
