/* What the public handles of ptxgen/emulator.h are inside. */
#ifndef PG_EMULATOR_CONTEXT_H
#define PG_EMULATOR_CONTEXT_H

#include "emulator/texture/texture.h"
#include "emulator/decode/decode.h"
#include "emulator/machine/launch.h"
#include "emulator/profile/profile.h"
#include "ptxgen/emulator.h"

#include <pthread.h>

struct ptxgen_emulator {
    pg_alloc alloc;
    pg_log log;
    ptxgen_emulator_config config;
    pthread_mutex_t lock; /* guards all that follows */
    struct pg_heap *heap; /* NULL until an entry that uses it runs */
    pg_buffer *buffers;   /* sorted by address; names are owned */
    uint32_t buffer_count, buffer_capacity;
    pg_texture *textures[PG_MAX_TEXTURES]; /* by handle - 1; owned */
    ptxgen_emulator_stats stats;
    uint64_t op_counts[PG_PTX_OP_COUNT];
    pg_findings *findings;
    pg_engine_use engines[PG_ENGINE_COUNT]; /* of launches with a profile */
    struct pg_clock_time *times;            /* of launches with a clock */
    uint32_t time_count, time_room;
};

struct ptxgen_emulator_entry {
    ptxgen_emulator_module *module;
    ptxgen_emulator_entry *next;
    pg_arena arena;
    const pg_program *program;
};

struct ptxgen_emulator_module {
    ptxgen_emulator *emu;
    pg_arena arena; /* the parse */
    pg_ptx_module *ptx;
    const char *file; /* name of its text */
    pg_buf linked;    /* the text, if it was linked from several */
    pg_module_memory memory;
    const bool *taken;    /* pg_functions_taken */
    pthread_mutex_t lock; /* guards entries */
    ptxgen_emulator_entry *entries;
    ptxgen_emulator_entry **decoded; /* by function; NULL: not decoded */
    uint32_t *kernels, kernel_count; /* functions that are entries with a body */
    pg_op_profile *lines;            /* by line of the text; guarded by emu->lock */
    uint32_t line_count;
    /* Beside `lines`: registers that are live there, the most of a line's instructions. 0: not
     * worked out, or none. */
    uint32_t *live;
};

/* Lays out and initialises module variables and registers them as buffers. loaded_module.c */
ptxgen_status pg_module_variables(ptxgen_emulator_module *module, ptxgen_error *err);
/* Inserts into the sorted list; the lock is held. `name` is copied. */
ptxgen_status pg_buffers_insert(ptxgen_emulator *emu, const pg_buffer *buffer, ptxgen_error *err);
bool pg_buffers_remove(ptxgen_emulator *emu, uint64_t address);
/* Adds what the launch's profile, if it has one, says to the module's lines. profile_results.c */
void pg_profile_keep(ptxgen_emulator_module *module, pg_grid_run *launch);
void pg_profile_forget(ptxgen_emulator_module *module);

#endif
