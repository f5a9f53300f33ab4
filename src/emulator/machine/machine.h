/* The emulated machine: what a launch, a cluster, a CTA, a warp, a group of lanes, an mbarrier
 * and an asynchronous operation are while a kernel runs. Only the files of src/emulator/ include
 * this.
 *
 * Shape: a module is decoded once into a flat array of pg_op (program.h). A warp owns a register
 * file of rows, one row per virtual register, 32 lanes wide, so that a handler is a plain loop
 * over lanes. Lanes of a warp that stand at the same instruction form a pg_group; a warp without
 * divergence has one group. A cluster is the unit of execution: one host thread runs all of its
 * warps, round robin (schedule.c). Asynchronous operations (bulk and tensor copies, cp.async,
 * wgmma) are queued as pg_async and completed by the scheduler, in order or, with order=isa, in
 * any order that the ISA leaves open (async.c).
 *
 * Addresses: global, const and param addresses are host addresses. A shared address is 32 bits,
 * CTA rank in its cluster << 24 | offset, as on the hardware; generic shared and local addresses
 * lie in the two windows below, which no host pointer can reach. */
#ifndef PG_MACHINE_H
#define PG_MACHINE_H

#include "base/alloc.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/log.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct pg_op pg_op;
typedef struct pg_program pg_program;
typedef struct pg_grid_run pg_grid_run;
typedef struct pg_cluster pg_cluster;
typedef struct pg_cta pg_cta;
typedef struct pg_warp pg_warp;
typedef struct pg_async pg_async;
typedef struct pg_observer pg_observer;
typedef struct pg_checker pg_checker;
typedef struct pg_profile pg_profile;
typedef struct pg_clock pg_clock;
typedef struct pg_findings pg_findings;

enum {
    PG_LANES = 32,
    PG_MAX_GROUPS = 32,     /* groups of a warp: at worst one lane each */
    PG_NAMED_BARRIERS = 16, /* bar 0..15 of a CTA */
    PG_SHARED_BASE = 1024,  /* first shared offset a program sees; below is reserved, as on sm_90 */
    PG_SHARED_LIMIT = 227 * 1024,
    PG_MAX_CTAS_IN_CLUSTER = 16,
    PG_MAX_WARPS_IN_CTA = 32,
    PG_MBARRIER_BYTES = 8
};
#define PG_ALL_LANES              0xffffffffu
#define PG_SHARED_RANK_SHIFT      24
#define PG_SHARED_OFFSET(address) ((uint32_t)(address)&0xffffffu)

/* Generic address windows. */
#define PG_WINDOW_SHARED UINT64_C(0x0100000000000000)
#define PG_WINDOW_LOCAL  UINT64_C(0x0200000000000000)
#define PG_WINDOW_CODE   UINT64_C(0x0300000000000000)
#define PG_WINDOW_MASK   UINT64_C(0xff00000000000000)

/* What a program sees as the address of a function of its module. */
static inline uint64_t pg_function_address(uint32_t function)
{
    return PG_WINDOW_CODE | (uint64_t)(function + 1) << 4;
}

/* PG_MEM_SHARED is the own CTA only (shared::cta), PG_MEM_CLUSTER any CTA of the cluster. */
typedef enum pg_space {
    PG_MEM_GENERIC,
    PG_MEM_GLOBAL,
    PG_MEM_SHARED,
    PG_MEM_CLUSTER,
    PG_MEM_LOCAL,
    PG_MEM_CONST,
    PG_MEM_PARAM,
    PG_MEM_COUNT
} pg_space;

/* What a handler tells the scheduler. */
typedef enum pg_step {
    PG_NEXT, /* go on with the next instruction */
    PG_JUMP, /* go on at warp->jump */
    /* the group waits (group->wait says for what); run this instruction again when woken */
    PG_AGAIN,
    PG_WAIT,  /* the group waits; go on after this instruction when woken */
    PG_YIELD, /* go on with the next instruction, after others had a turn */
    PG_SPLIT, /* the groups of the warp changed: choose anew */
    PG_STOP   /* the launch has failed: launch->error says why */
} pg_step;

/* What a group of lanes waits for. */
typedef enum pg_wait_kind {
    PG_WAIT_NONE,
    PG_WAIT_LANES,    /* .sync: the other lanes of `wait.lanes` */
    PG_WAIT_BARRIER,  /* bar: named barrier `wait.key` of the CTA */
    PG_WAIT_CLUSTER,  /* barrier.cluster.wait */
    PG_WAIT_MBARRIER, /* mbarrier at shared offset `wait.key`, phase `wait.phase` */
    /* tcgen05.alloc family: `wait.phase` columns of tensor memory; 0: the other CTA of the pair */
    PG_WAIT_TENSOR,
    PG_WAIT_ASYNC, /* wait_group and the like: some asynchronous operation of this warp */
    PG_WAIT_TURN   /* nanosleep and polling: the next round */
} pg_wait_kind;

typedef struct pg_wait {
    pg_wait_kind kind;
    uint32_t lanes;
    uint64_t key;
    uint64_t phase;
    bool again;     /* woken: run the instruction again (else go on after it) */
    bool timed_out; /* woken because nothing else could run: a try_wait may answer false */
} pg_wait;

/* Lanes of a warp that stand at the same instruction. */
typedef struct pg_group {
    uint32_t lanes;
    uint32_t pc;
    uint32_t turns; /* consecutive turns as the chosen group, for fairness */
    uint8_t stored; /* order=isa: elements of the vector store at pc that are done */
    pg_wait wait;
} pg_group;

/* A lane's return addresses and saved registers; grown on demand (control.c). */
typedef struct pg_call_stack pg_call_stack;

struct pg_warp {
    char *regs;         /* rows; a row offset >= 0 of an operand counts from here */
    const char *consts; /* rows of immediates; a row offset < 0 is ~offset from here */
    uint32_t *preds;    /* predicate registers, one bit a lane */
    pg_cta *cta;
    pg_grid_run *launch; /* of the worker that runs it */
    uint32_t index;      /* in its CTA */
    uint32_t born;       /* lanes that exist (the last warp of a CTA may have fewer than 32) */
    uint32_t live;       /* born lanes that have not exited */
    uint32_t jump;       /* target of PG_JUMP */
    uint32_t active;     /* lanes of the running group, whatever the guard says */
    uint32_t group_count;
    uint32_t chosen; /* index of the running group */
    uint32_t polls;  /* vain polls of barriers while cluster->progress was polls_progress */
    uint64_t polls_progress;
    const pg_op *polled; /* the last such instruction, and the shared offset of the barrier */
    uint32_t polled_offset;
    uint32_t carry; /* the CC flag of add.cc and relatives, one bit a lane */
    bool runnable;  /* some group waits for nothing */
    pg_group groups[PG_MAX_GROUPS];
    char *local;                 /* local memory, 32 lanes x launch->local_bytes */
    uint32_t *frame;             /* per lane: local offset of the running function's frame */
    pg_call_stack *calls;        /* NULL until the first call */
    struct pg_warp_async *async; /* groups of asynchronous operations, NULL until the first */
};

/* One mbarrier object. Its 64-bit word in shared memory mirrors this state. */
typedef struct pg_mbarrier {
    uint32_t offset;                /* in the CTA's shared memory */
    uint32_t expected;              /* arrivals per phase, from the next phase on */
    uint32_t pending;               /* arrivals that this phase still lacks */
    int32_t tx;                     /* bytes that this phase still lacks */
    uint64_t phase;                 /* phases completed */
    bool valid;                     /* between init and inval */
    uint32_t init_line, inval_line; /* 0: not invalidated */
    void *check;                    /* what the checker keeps about it */
} pg_mbarrier;

/* bar.sync and relatives. */
typedef struct pg_named_barrier {
    uint32_t arrived;  /* threads */
    uint32_t expected; /* threads, set by the first arrival; 0: idle */
    uint64_t completed;
    uint32_t arrived_lanes[PG_MAX_WARPS_IN_CTA]; /* of warps of which others have not arrived yet */
    uint32_t arrived_warps;                      /* those that have been counted, one bit each */
    uint32_t count;                              /* bar.red popc */
    bool all, any;
    /* no count was given: expects every warp of the CTA that has not exited without arriving */
    bool whole;
    bool counted; /* a count was given, by some other threads perhaps */
} pg_named_barrier;

struct pg_cta {
    pg_cluster *cluster;
    uint32_t rank;  /* in the cluster */
    uint32_t id[3]; /* ctaid */
    uint32_t warp_count;
    uint32_t live_warps;
    pg_warp *warps;
    uint8_t *shared; /* indexed by shared offset (so the first PG_SHARED_BASE bytes are unused) */
    uint32_t shared_bytes;    /* end offset */
    uint32_t shared_address;  /* rank << PG_SHARED_RANK_SHIFT */
    uint16_t *mbarrier_slots; /* per 8 bytes of shared memory: index + 1 into mbarriers, 0 none */
    pg_mbarrier *mbarriers;
    uint32_t mbarrier_count, mbarrier_capacity;
    pg_named_barrier barriers[PG_NAMED_BARRIERS];
    bool cancel_failed; /* a thread has seen clusterlaunchcontrol.try_cancel fail */
    /* lanes that arrived at the running cluster phase */
    uint32_t cluster_arrived[PG_MAX_WARPS_IN_CTA];
    struct pg_tensor_memory *tensor; /* NULL until the first tcgen05 instruction that needs it */
};

struct pg_cluster {
    pg_grid_run *launch;
    struct pg_worker *worker;
    uint64_t index; /* in the grid */
    uint32_t cta_count;
    pg_cta *ctas;
    uint32_t live_ctas;
    uint64_t cluster_phase; /* completed phases of barrier.cluster */
    uint64_t progress;      /* counts everything that could let another warp go on */
    uint64_t executed;      /* warp instructions */
    size_t memory_bytes;    /* of the block that holds the whole cluster; see cluster.c */
    pg_async *pending_first, *pending_last; /* asynchronous operations in issue order */
    uint32_t pending_count;
    void *check;
};

/* A memory range that generic and global accesses may touch. Sorted by address, never
 * overlapping. */
typedef struct pg_buffer {
    uint64_t address;
    uint64_t bytes;
    const char *name;
    bool writable;
    bool uninitialized; /* content undefined at the start of the launch */
    bool dependent;     /* written by the grid that this one depends on (griddepcontrol) */
} pg_buffer;

#endif
