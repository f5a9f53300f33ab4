/* What checking mode knows. Happens-before is kept with vector clocks: every thread, and every
 * source of asynchronous completion (an mbarrier's phases, a thread's bulk groups, ...), is an
 * agent of its cluster; an access is an agent and a clock; a lane has seen it when its vector holds
 * at least that clock for that agent. What a lane knows of other clusters is a list with vectors of
 * theirs (foreign.c). Further vectors beside `seen` say what else holds for the same agents; see
 * pg_knowledge.
 *
 * Lanes that know the same share one vector (reference counted, never changed once shared); the
 * lane's own accesses are known to it implicitly. Clocks of all lanes of a warp tick together, at
 * each release.
 *
 * Knowledge passes between threads by barriers and mbarriers, and through words of memory (words.c)
 * as the ISA's memory model has it: from a release pattern to the acquire pattern that observes its
 * write, if the scopes of both include the other thread.
 *
 * Every 4 bytes of shared memory, and of global memory that was touched, hold the last write and
 * the last few reads. When more reads come than fit, the least useful one is dropped: a defect
 * may then be missed, but nothing sound is ever reported. */
#ifndef PG_EMULATOR_CHECK_STATE_H
#define PG_EMULATOR_CHECK_STATE_H

#include "emulator/check/events.h"
#include "emulator/check/findings.h"

enum {
    PG_GRANULE = 4,       /* bytes that share one shadow entry */
    PG_GRANULE_MOST = 32, /* bytes of one lane's access */
    PG_SHADOW_READS = 3,
    PG_KNOWN_GRANULES = 8,
    PG_DYNAMIC_AGENTS = 512, /* asynchronous sources; past these, the last one is shared */
    PG_BLOCK = 128,          /* bytes: what a warp touches when each lane touches 4 */
    PG_BLOCK_PARTS = PG_BLOCK / PG_GRANULE,
    PG_SHADOW_PAGE = 4096 /* bytes of global memory per page of shadow */
};
#define PG_IN_FLIGHT UINT32_MAX

/* ---- vectors (vector.c) ---- */

typedef struct pg_vector {
    uint64_t id;    /* of this content: another once it has been raised */
    uint64_t above; /* id of a content that this one is nowhere below; 0: not known */
    uint32_t references, length;
    uint32_t clock[]; /* by agent; 0 past the end */
} pg_vector;

/* What else is known, each a vector of the same agents:
 * SHARED, GLOBAL  accesses that a proxy fence has made visible to the async proxy, in that space
 * ORDERED         tcgen05 operations that come before what the lane does next; see tensor.h
 * MAPS            writes that fence.proxy.tensormap has shown to the copies that read tensor maps
 * HOPED           what would have been seen, had some scopes been wide enough */
enum {
    PG_KNOWN_SEEN,
    PG_KNOWN_SHARED,
    PG_KNOWN_GLOBAL,
    PG_KNOWN_ORDERED,
    PG_KNOWN_HOPED,
    PG_KNOWN_MAPS,
    PG_KNOWN_PARTS
};

/* What is known of another cluster. */
typedef struct pg_foreign_entry {
    uint32_t cluster;
    pg_vector *part[PG_KNOWN_PARTS];
} pg_foreign_entry;
typedef struct pg_foreign {
    uint32_t references, count, capacity;
    pg_foreign_entry entry[]; /* by cluster */
} pg_foreign;

/* A lane's or a barrier's knowledge. */
typedef struct pg_knowledge {
    union {
        struct {
            pg_vector *seen, *fenced[2], *ordered, *hoped, *maps; /* NULL: nothing */
        };
        pg_vector *part[PG_KNOWN_PARTS];
    };
    pg_foreign *foreign;
} pg_knowledge;

/* Knowledge that threads of any cluster may take: its vectors are of `cluster`. */
typedef struct pg_published {
    uint32_t cluster;
    pg_knowledge knowledge;
} pg_published;

enum { PG_SCOPES = 3 }; /* of pg_scope, without NONE */

/* Fences and relaxed accesses of a warp's lanes; by scope - 1, the last column whatever the
 * scope. */
typedef struct pg_fences {
    pg_knowledge released[PG_LANES][PG_SCOPES]; /* at the last fence of this scope or a wider one */
    uint32_t released_at[PG_LANES][PG_SCOPES];  /* the clock of that fence; 0: none */
    pg_knowledge found[PG_LANES][PG_SCOPES + 1]; /* by relaxed reads: the next fence acquires it */
    /* fence.sc.gpu, which orders across barriers: what is known to be before one, and what relaxed
     * reads have found of that; the next one acquires it */
    pg_knowledge before[PG_LANES], found_before[PG_LANES];
} pg_fences;

/* A register that some wgmma uses or some tcgen05.ld fills. */
typedef struct pg_matrix_register {
    uint32_t group;   /* + 1, of the last wgmma that used it */
    uint32_t shape;   /* n of that wgmma, 0: it was an A register */
    uint32_t touched; /* fences + 1 before the last other access since; 0: none */
    uint32_t loaded;  /* waits for loads + 1 before the last tcgen05.ld that fills it; 0: none */
    uint32_t load_op; /* index of that tcgen05.ld */
} pg_matrix_register;

typedef struct pg_watched pg_watched; /* registers.c */

typedef struct pg_warp_check {
    pg_knowledge lane[PG_LANES];
    pg_fences *fences;                 /* NULL until the first */
    uint32_t now;                      /* the clock of its lanes' accesses; from 1 */
    uint32_t cluster_waited[PG_LANES]; /* cluster_phases at the last barrier.cluster.wait */
    uint32_t grid_waited;              /* lanes that have executed griddepcontrol.wait */
    uint32_t bulk_issued[PG_LANES];    /* groups + 1 that hold an operation */
    uint32_t bulk_tried;               /* lanes that have executed a wait for bulk groups */
    uint32_t bulk_waited[PG_LANES];    /* groups whose reads were waited for */
    uint16_t bulk_agent[PG_LANES];     /* agent of the reads, + 1 of the writes; 0: none yet */
    uint16_t copy_agent[PG_LANES];
    uint16_t mma_agent;
    uint32_t mma_fences, mma_waited; /* wgmma.fence's; groups that were waited for */
    uint32_t load_waits;             /* tcgen05.wait::ld's */
    pg_matrix_register *matrix;      /* program->matrix_registers, NULL until the first use */
    const pg_op *arrived_by[PG_NAMED_BARRIERS + 1]; /* in this phase; the last: barrier.cluster */
    pg_watched *watched;     /* registers that may hold nothing; NULL until the first */
    uint32_t *local_written; /* by byte of local memory: lanes that have written it */
    uint32_t registers, register_changes; /* by setmaxnreg: how many, how often */
    const pg_op *register_op;
    const pg_op *last_fence[PG_LANES];
    struct pg_tensor_warp *tensor; /* NULL until the warp's first tcgen05 instruction */
} pg_warp_check;

/* ---- shadow (shadow.c) ---- */

/* Above the flags: the scope of a strong access. DETACHED: cp.async, st.async and red.async, in
 * the generic proxy (PTX ISA, at each of them) but with their own completion. STRIPED: of a
 * whole warp, each lane its own granules; `lanes` says only that the record is not empty. */
enum {
    PG_RECORD_ASYNC = 1,
    PG_RECORD_STRONG = 2,
    PG_RECORD_DETACHED = 4,
    PG_RECORD_STRIPED = 8,
    PG_RECORD_SAME = 16, /* several lanes of one store wrote here */
    PG_RECORD_SCOPE_SHIFT = 6
};

typedef struct pg_record {
    uint32_t lanes; /* of the warp `base / 32`, or 1 for a dynamic agent; 0: empty */
    uint32_t clock;
    uint32_t cluster; /* index in the grid */
    uint32_t op;      /* index */
    uint16_t base;    /* first agent */
    uint8_t bytes;    /* mask in the granule */
    uint8_t flags;    /* PG_RECORD_... */
} pg_record;

typedef struct pg_granule {
    pg_record write;
    pg_record reads[PG_SHADOW_READS];
    uint8_t written;   /* bytes that something has written */
    uint8_t read_only; /* bytes that ld.global.nc has read */
} pg_granule;

/* Copies touch whole blocks, and so do warps whose lanes are side by side: one entry stands for
 * all granules of a block until an access is otherwise. */
typedef struct pg_shadow_block {
    pg_granule whole;
    pg_granule *parts; /* PG_BLOCK_PARTS, NULL until the first other access; valid while split */
    bool split;
    uint8_t first_lane,
        lane_shift; /* of striped records: granule i is of first_lane + (i >> lane_shift) */
} pg_shadow_block;

/* ---- synchronising objects ---- */

/* A word of memory through which threads synchronise: what its present value publishes. Scope s
 * of a write reaches the writer's CTA, its cluster, or all; later atomics add to it, a store
 * begins anew. */
typedef struct pg_sync_word {
    uint64_t key;                  /* 0: free */
    pg_published reach[PG_SCOPES]; /* by scope - 1 */
    uint32_t cta;                  /* that reach[0] is of: rank in reach[0].cluster */
    pg_published narrow;           /* of writes with a scope below .gpu */
    pg_published before;           /* what is before a fence.sc.gpu before a write at .gpu */
    uint32_t owner_cluster;
    uint16_t owner; /* thread of the last release, + 1 */
} pg_sync_word;
typedef struct pg_word_table {
    pg_sync_word *words;
    uint32_t slots, count;
} pg_word_table;

/* The last use of another CTA's shared memory by a thread. */
typedef struct pg_remote_use {
    uint32_t clock, op; /* clock 0: none */
} pg_remote_use;

typedef struct pg_cta_check {
    pg_shadow_block *shared; /* shared_bytes / PG_BLOCK, rounded up */
    pg_knowledge barrier[PG_NAMED_BARRIERS];
    pg_knowledge before[PG_NAMED_BARRIERS], found_before[PG_NAMED_BARRIERS]; /* see pg_fences */
    pg_warp_check *warps;
    /* Threads of other CTAs that have used the shared memory, by agent; NULL: none has. What its
     * threads knew when they ended. */
    struct pg_remote_use *remote;
    pg_knowledge exited;
    const pg_op *vain_wait; /* the last bulk wait_group of threads that had issued nothing */
    struct pg_tensor_shadow *tensor; /* NULL until the first tcgen05.alloc */
} pg_cta_check;

typedef struct pg_cluster_check {
    pg_cta_check *ctas;
    pg_knowledge arriving, completed; /* barrier.cluster */
    uint32_t cluster_phases;          /* of barrier.cluster that have completed */
    uint32_t threads, agents, next_agent;
    pg_word_table words; /* of shared memory */
    size_t bytes;        /* of the block that holds all this */
} pg_cluster_check;

typedef struct pg_shadow_page {
    uint64_t page; /* address / PG_SHADOW_PAGE + 1; 0: free */
    pg_shadow_block *blocks;
} pg_shadow_page;

/* What an asynchronous operation made of all bytes of a granule of shared memory, which it then
 * makes of those that hold the same; of the latest operation. */
typedef struct pg_known_granule {
    pg_granule before, after;
    bool silent; /* nothing was reported */
    const pg_cta *cta;
    uint32_t clock, pc, lane;
    uint16_t agent;
    uint16_t stripe; /* of a striped block: its shift and first lane */
    bool write;
} pg_known_granule;

struct pg_checker {
    pg_grid_run *launch;
    pg_shadow_page *pages;
    uint32_t page_slots, page_count;
    pg_shadow_page last;    /* the page of the last access */
    uint64_t vector_ids;    /* given out */
    pg_word_table words;    /* of global memory */
    bool has_dependent;     /* some buffer is written by the grid before */
    bool has_undefined;     /* some buffer holds nothing at the start */
    uint64_t (*strides)[2]; /* by op: of the last matrix operands that were looked at */
    uint8_t *fence_use;     /* by op: 1 executed, 2 needed */
    pg_known_granule known[PG_KNOWN_GRANULES]; /* by the warp that wrote it */
};

static inline pg_cluster_check *pg_cluster_check_of(const pg_warp *w)
{
    return w->cta->cluster->check;
}
static inline pg_cta_check *pg_cta_check_of(const pg_cta *cta)
{
    return &((pg_cluster_check *)cta->cluster->check)->ctas[cta->rank];
}
static inline pg_warp_check *pg_warp_check_of(const pg_warp *w)
{
    return &pg_cta_check_of(w->cta)->warps[w->index];
}
/* Agent of a lane. */
static inline uint16_t pg_warp_agent(const pg_warp *w)
{
    return (uint16_t)((w->cta->rank * w->cta->warp_count + w->index) * PG_LANES);
}

/* ---- vector.c ---- */
/* *to = join(*to, from), sharing where one contains the other. */
void pg_vector_join(pg_checker *k, pg_vector **to, pg_vector *from);
/* The vector with no other holder and room for `length` agents, to be raised; NULL: out of
 * memory. */
pg_vector *pg_vector_own(pg_checker *k, pg_vector **v, uint32_t length);
/* Raises one component. */
void pg_vector_raise(pg_checker *k, pg_vector **v, uint16_t agent, uint32_t clock);
pg_vector *pg_vector_share(pg_vector *v);
void pg_vector_drop(pg_checker *k, pg_vector **v);
static inline uint32_t pg_vector_at(const pg_vector *v, uint32_t agent)
{
    return v && agent < v->length ? v->clock[agent] : 0;
}

/* ---- knowledge.c ---- */
/* Knowledge of one cluster. */
void pg_knowledge_join(pg_checker *k, pg_knowledge *to, const pg_knowledge *from);
void pg_knowledge_set(pg_checker *k, pg_knowledge *to, const pg_knowledge *from);
void pg_knowledge_drop(pg_checker *k, pg_knowledge *what);
bool pg_knowledge_is_empty(const pg_knowledge *k);
/* The lanes publish all they know, and their own accesses up to now, into `to`. */
void pg_check_release(pg_warp *w, uint32_t lanes, pg_knowledge *to);
void pg_check_acquire(pg_warp *w, uint32_t lanes, const pg_knowledge *from);
uint16_t pg_new_agent(pg_cluster *c, uint16_t count);

/* ---- foreign.c ---- */
pg_foreign *pg_foreign_share(pg_foreign *f);
void pg_foreign_drop(pg_checker *k, pg_foreign *f);
/* NULL: nothing is known of the cluster. */
const pg_foreign_entry *pg_foreign_find(const pg_foreign *f, uint32_t cluster);
void pg_foreign_add(pg_checker *k, pg_foreign **f, uint32_t cluster, pg_vector *const *part);
void pg_foreign_join(pg_checker *k, pg_foreign **to, pg_foreign *from);
/* A proxy fence: all that is seen of other clusters is fenced too, in this part. */
void pg_foreign_fence(pg_checker *k, pg_foreign **f, int part);

/* ---- published.c ---- */
/* Knowledge of `cluster` joined with what is published; the same as hope alone. */
void pg_knowledge_take(pg_checker *k, pg_knowledge *to, uint32_t cluster, const pg_published *from);
void pg_knowledge_hope(pg_checker *k, pg_knowledge *to, uint32_t cluster, const pg_published *from);
/* Publishes knowledge of `cluster` with the rest. */
void pg_published_add(pg_checker *k, pg_published *to, uint32_t cluster, const pg_knowledge *from);

/* ---- words.c ---- */
/* What a relaxed write at this scope publishes: all that was known at the last fence that is as
 * wide. */
/* fence.sc across a barrier of the CTA. */
void pg_check_fences_arrive(pg_warp *w, uint32_t lanes, uint32_t barrier);
void pg_check_fences_pass(pg_warp *w, uint32_t lanes, uint32_t barrier);
void pg_check_release_fenced(pg_warp *w, uint32_t lane, pg_scope scope, pg_knowledge *to);
/* What a relaxed read at this scope found: acquired by the next fence that is as wide. */
void pg_check_find(pg_warp *w, uint32_t lane, pg_scope scope, const pg_knowledge *what);
void pg_check_fences_free(pg_warp *w);
void pg_word_table_free(pg_checker *k, pg_word_table *t);

/* ---- registers.c ---- */
void pg_check_local_read(pg_warp *w, const pg_op *op, uint32_t lane, uint64_t address);
/* At the end of a CTA: setmaxnreg by all warps of a warpgroup. */
void pg_check_register_counts(pg_cta *cta);
void pg_check_registers_free(pg_warp *w);

void pg_check_matrix_free(pg_warp *w); /* matrix.c */

/* ---- tensor_order.c ---- */
/* What relaxed synchronisation hands on: the order of tcgen05 operations alone. */
void pg_check_tensor_release(pg_warp *w, uint32_t lanes, pg_knowledge *to);
void pg_check_tensor_acquire(pg_warp *w, uint32_t lanes, const pg_knowledge *from);
/* A commit: what it hands to the mbarrier when it is issued, and when it completes. */
void pg_check_tensor_commit(pg_async *a, pg_knowledge *to, bool done);
void pg_check_tensor_free(pg_warp *w);
void pg_check_tensor_shadow_free(pg_cta *cta); /* tensor.c */

/* ---- shadow.c ---- */
/* One access to memory by a lane or by an asynchronous operation that a lane has issued. */
typedef struct pg_touch {
    pg_warp *warp;
    const pg_op *op;
    const pg_checked_access *access; /* of a plain access: what all lanes do; else NULL */
    uint32_t lane;
    pg_cta *cta;            /* shared memory of; NULL: global memory */
    uint64_t address;       /* offset, or global address */
    uint64_t whole_address; /* of the access that this touch is a part of */
    uint32_t bytes;
    bool write, async, strong;
    pg_scope scope; /* of a strong access */
    bool reads;     /* what it finds matters: loads, atomics */
    bool read_only; /* ld.global.nc */
    bool map;       /* a copy reads its tensor map */
    bool detached;  /* of an agent of its own, though in the generic proxy (cp.async, st.async) */
    uint16_t agent; /* of an asynchronous operation */
    uint32_t clock;
    pg_warp_check *check; /* of the warp; this and the rest by pg_touch_by */
    uint16_t base;        /* agent of the warp's lane 0 */
    uint32_t cluster, pc;
} pg_touch;
/* A touch by `op` of the warp, whose other fields are to be set. */
static inline pg_touch pg_touch_by(pg_warp *w, const pg_op *op)
{
    return (pg_touch){.warp = w,
                      .op = op,
                      .check = pg_warp_check_of(w),
                      .base = pg_warp_agent(w),
                      .cluster = (uint32_t)w->cta->cluster->index,
                      .pc = pg_pc_of(w, op)};
}
/* words.c: the access is ordered or atomic; key: its address + 1. */
void pg_check_strong_access(const pg_touch *t, uint64_t key);

void pg_shadow_touch(const pg_touch *t);
pg_shadow_block *pg_shadow_page_at(pg_checker *k, uint64_t address);
/* The shadow of an address; NULL: no memory for it, the access goes unchecked. */
static inline pg_shadow_block *pg_shadow_block_at(const pg_touch *t, uint64_t address)
{
    if (t->cta)
        return &pg_cta_check_of(t->cta)->shared[address / PG_BLOCK];
    pg_checker *k = t->warp->launch->checker;
    pg_shadow_block *page = k->last.page == address / PG_SHADOW_PAGE + 1
                                ? k->last.blocks
                                : pg_shadow_page_at(k, address);
    return page ? &page[address % PG_SHADOW_PAGE / PG_BLOCK] : NULL;
}
/* Sets the clock of the records that an operation left in flight. */
void pg_shadow_settle(const pg_touch *t);
/* Bytes of a CTA's shared memory become written by nobody in particular (a new mbarrier). */
void pg_shadow_reset(pg_cta *cta, uint32_t offset, uint32_t bytes);
void pg_shadow_drop_parts(pg_grid_run *launch, pg_shadow_block *blocks, uint32_t count);
void pg_shadow_free(pg_checker *checker);
/* Some record of a block's one entry is striped. */
bool pg_granule_is_striped(const pg_granule *g);

/* ---- exit.c ---- */
/* Lanes use shared memory of another CTA. */
void pg_check_remote_use(pg_warp *w, const pg_op *op, uint32_t lanes, pg_cta *cta);
/* At the end: those that the CTA did not know to be over when it ended. */
void pg_check_remote_uses(pg_cta *cta);
void pg_check_remote_free(pg_cta *cta);

/* ---- mbarrier.c ---- */
/* barrier.cluster.arrive, also .relaxed, after fence.mbarrier_init: the next wait shows the
 * barriers that the lanes have initialised. */
void pg_check_init_published(pg_warp *w, uint32_t lanes);

/* ---- row.c ---- */
/* The touch by a whole warp, lane l at t->address + l * t->bytes (4, 8, 16 or 32 of them; the
 * first address is a multiple of PG_BLOCK). The lanes that are left to touch one by one. */
uint32_t pg_shadow_touch_row(const pg_touch *t);
/* After a write by a whole warp, lane by lane: one entry per block again. */
void pg_shadow_join_row(const pg_touch *t);

/* ---- wording.c ---- */
void pg_check_report(const pg_touch *t, ptxgen_emulator_report_kind kind, const pg_record *other,
                     const char *text);
/* A report of a conflict that is no access to shared or global memory. */
typedef struct pg_check_conflict {
    pg_warp *warp;
    const pg_op *op;
    uint32_t lane;
    ptxgen_emulator_report_kind kind;
    const pg_op *other;         /* NULL: none */
    const char *where, *object; /* NULL: "" */
} pg_check_conflict;
void pg_check_report_conflict(const pg_check_conflict *c, const char *text);
/* A report that names no memory. */
void pg_check_complain(pg_warp *w, const pg_op *op, uint32_t lane, ptxgen_emulator_report_kind kind,
                       const char *text);

#endif
