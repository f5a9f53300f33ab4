/* Knowledge that goes from one cluster to another; see state.h. */
#include "emulator/check/state.h"

/* What one cluster's knowledge is to another: tensor memory and shared memory are the cluster's
 * own. */
static void export_parts(const pg_knowledge *from, pg_vector **part)
{
    for (int p = 0; p < PG_KNOWN_PARTS; p++)
        part[p] = p == PG_KNOWN_ORDERED || p == PG_KNOWN_SHARED ? NULL : from->part[p];
}

void pg_knowledge_take(pg_checker *k, pg_knowledge *to, uint32_t cluster, const pg_published *from)
{
    if (from->cluster == cluster) {
        pg_knowledge_join(k, to, &from->knowledge);
        return;
    }
    pg_vector *part[PG_KNOWN_PARTS];
    bool any = false;
    export_parts(&from->knowledge, part);
    for (int p = 0; p < PG_KNOWN_PARTS; p++)
        any |= part[p] != NULL;
    const pg_foreign *others = from->knowledge.foreign;
    const pg_foreign_entry *own = pg_foreign_find(others, cluster);
    for (int p = 0; own && p < PG_KNOWN_PARTS; p++)
        pg_vector_join(k, &to->part[p], own->part[p]);
    if (!own)
        pg_foreign_join(k, &to->foreign, from->knowledge.foreign);
    for (uint32_t i = 0; own && i < others->count; i++)
        if (others->entry[i].cluster != cluster)
            pg_foreign_add(k, &to->foreign, others->entry[i].cluster, others->entry[i].part);
    if (any)
        pg_foreign_add(k, &to->foreign, from->cluster, part);
}

void pg_published_add(pg_checker *k, pg_published *to, uint32_t cluster, const pg_knowledge *from)
{
    if (pg_knowledge_is_empty(&to->knowledge))
        to->cluster = cluster;
    if (to->cluster == cluster) {
        pg_knowledge_join(k, &to->knowledge, from);
        return;
    }
    pg_published moved = {.cluster = cluster};
    pg_knowledge_take(k, &moved.knowledge, cluster, to);
    pg_knowledge_join(k, &moved.knowledge, from);
    pg_knowledge_drop(k, &to->knowledge);
    *to = moved;
}

void pg_knowledge_hope(pg_checker *k, pg_knowledge *to, uint32_t cluster, const pg_published *from)
{
    pg_knowledge all = {.foreign = NULL};
    pg_vector *only[PG_KNOWN_PARTS] = {NULL};
    pg_knowledge_take(k, &all, cluster, from);
    pg_vector_join(k, &to->hoped, all.seen);
    pg_vector_join(k, &to->hoped, all.hoped);
    for (uint32_t i = 0; all.foreign && i < all.foreign->count; i++) {
        const pg_foreign_entry *e = &all.foreign->entry[i];
        only[PG_KNOWN_HOPED] = e->part[PG_KNOWN_SEEN];
        pg_foreign_add(k, &to->foreign, e->cluster, only);
    }
    pg_knowledge_drop(k, &all);
}
