/* One launch while it runs: what its host threads share, what each of them owns, and the calls
 * between the scheduler and the handlers. */
#ifndef PG_EMULATOR_LAUNCH_H
#define PG_EMULATOR_LAUNCH_H

#include "emulator/machine/program.h"

#include "base/buf.h"

#include <pthread.h>
#include <stdatomic.h>

/* Memory that global accesses may touch, sorted by address. */
typedef struct pg_memory {
    const pg_buffer *buffers;
    uint32_t count;
    bool trust_pointers; /* no look-up: every address is taken as valid */
} pg_memory;

struct pg_grid_run {
    const pg_alloc *alloc;
    const pg_log *log;
    void (*print)(void *user, const char *text, size_t length); /* NULL: printf goes to the log */
    void *print_user;
    const pg_program *program;
    const pg_entry *entry;
    pg_memory memory;
    uint32_t grid[3], block[3], cluster[3];
    uint32_t threads_per_cta, warps_per_cta, ctas_per_cluster;
    uint64_t cluster_count;
    uint32_t dynamic_shared, shared_bytes; /* shared_bytes: end offset in a CTA's shared memory */
    uint32_t local_bytes; /* per lane: frames of all functions and the stack of recursion */
    const uint8_t *params;
    struct pg_texture *const *textures; /* by handle - 1 */
    struct pg_heap *heap;               /* of malloc and free; NULL: the program calls neither */
    bool cooperative;                   /* all clusters run at the same time */
    uint8_t *grid_workspace;            /* of a cooperative launch, for %envreg1 and 2; else NULL */
    uint64_t seed;
    bool isa_order, exact;
    uint32_t host_threads;
    uint32_t resident_clusters; /* most clusters that one host thread interleaves */
    uint64_t instruction_budget, memory_budget;
    const pg_observer *observer; /* NULL in fast mode */
    pg_checker *checker;         /* its state */
    pg_profile *profile;         /* its state, when it is a profile */
    pg_clock *clock;             /* its state, when it is the clock */
    /* Which cluster is next; NULL: in order. False: none. */
    bool (*choose_cluster)(pg_grid_run *launch, uint64_t *index);
    /* For one that runs and asks for it (clusterlaunchcontrol); NULL: as above. */
    bool (*give_cluster)(pg_grid_run *launch, uint64_t *index);
    pg_findings *findings;

    atomic_uint_fast64_t next_cluster;
    /* warp instructions executed by workers that have finished a round */
    atomic_uint_fast64_t instructions;
    atomic_uint_fast64_t memory_used;
    atomic_bool stopped;
    pthread_mutex_t lock; /* guards error and the reports */
    ptxgen_error error;   /* of the first failure */
};

/* A host thread's part of a launch. */
typedef struct pg_worker {
    pg_grid_run *launch;
    uint64_t random; /* state of the order=isa adversary */
    pg_cluster **resident;
    uint32_t resident_count;
    pg_cluster *spare;   /* a finished cluster whose memory the next one reuses */
    uint64_t *op_counts; /* warp instructions per op */
    uint64_t *op_lanes;  /* lanes that executed them; NULL: no profile */
    uint64_t ticks;      /* with a profile: its clock, warp instructions so far */
    uint64_t space_read[PG_MEM_COUNT], space_written[PG_MEM_COUNT]; /* bytes */
    uint64_t instructions;
    uint64_t now; /* scheduling rounds: the clock of nanosleep and %clock */
    /* Of the tile engines (wgmma_op.c); NULL until the first wgmma or tcgen05.mma. */
    void *mma_scratch;
    pg_buffer last; /* the buffer of the last global access */
} pg_worker;

/* ---- groups.c ---- */
/* Makes a waiting group runnable. */
void pg_wake(pg_warp *w, pg_group *g);
/* Wakes every group of the CTA that waits for (kind, key). */
void pg_wake_all(pg_cta *cta, pg_wait_kind kind, uint64_t key);
/* A barrier was asked in vain: counts towards a deadlock. */
void pg_note_poll(pg_warp *w, const pg_op *op, uint32_t offset);
/* Sets what the running group waits for and returns PG_AGAIN or PG_WAIT. */
pg_step pg_block(pg_warp *w, pg_wait wait);
/* Splits `lanes` off the running group; they stand at `pc`. 32 groups always fit. */
void pg_split_group(pg_warp *w, uint32_t lanes, uint32_t pc);
static inline pg_group *pg_running_group(pg_warp *w)
{
    return &w->groups[w->chosen];
}
static inline uint32_t pg_pc_of(const pg_warp *w, const pg_op *op)
{
    return (uint32_t)(op - w->launch->program->ops);
}

/* ---- grid.c ---- */
/* The next 64 random bits of the adversary. */
uint64_t pg_worker_random(pg_worker *worker);
/* The next cluster of the grid that nobody has started or taken; false: none is left. */
bool pg_cluster_claim(pg_grid_run *launch, uint64_t *index);
/* %ctaid of the first CTA of a cluster. */
void pg_cluster_first_ctaid(const pg_grid_run *launch, uint64_t index, uint32_t id[3]);

/* ---- async.c ---- */
/* Completes pending operations: all of them in order, or one chosen by the adversary. */
void pg_async_advance(pg_cluster *cluster);
/* Whether a pending operation can complete. */
bool pg_async_any_ready(const pg_cluster *cluster);

#endif
