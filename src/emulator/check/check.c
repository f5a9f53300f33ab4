/* Checking mode: the life of its state, plain accesses, fences and barriers. Copies and
 * mbarriers are in async.c; the model is explained in state.h. */
#include "emulator/check/check.h"
#include "emulator/check/mbarrier.h"

#include "emulator/machine/stop.h"
#include "emulator/memory/barrier.h"
#include "ptx/ptx.h"

/* ---- life ---- */

pg_checker *pg_checker_new(pg_grid_run *launch)
{
    pg_checker *k = pg_alloc_zero(launch->alloc, sizeof *k);
    if (!k)
        return NULL;
    k->launch = launch;
    for (uint32_t i = 0; i < launch->memory.count; i++) {
        k->has_dependent |= launch->memory.buffers[i].dependent;
        k->has_undefined |= launch->memory.buffers[i].uninitialized;
    }
    const size_t ops = launch->program->op_count + 1;
    k->fence_use = pg_alloc_zero(launch->alloc, ops);
    k->strides = pg_alloc_zero(launch->alloc, ops * sizeof *k->strides);
    if (k->fence_use && k->strides)
        return k;
    if (k->fence_use)
        pg_free(launch->alloc, k->fence_use, ops);
    if (k->strides)
        pg_free(launch->alloc, k->strides, ops * sizeof *k->strides);
    pg_free(launch->alloc, k, sizeof *k);
    return NULL;
}

void pg_checker_free(pg_checker *k)
{
    if (!k)
        return;
    const pg_grid_run *launch = k->launch;
    for (uint32_t i = 0; i < launch->program->op_count; i++) {
        if (k->fence_use[i] != 1)
            continue;
        const ptxgen_emulator_report r = {
            .kind = PTXGEN_EMULATOR_REPORT_UNNEEDED_FENCE,
            .where = "",
            .op = pg_ptx_op_describe((pg_ptx_op)launch->program->ops[i].opcode)->mnemonic,
            .line = (int)launch->program->ops[i].line,
            .text = "no asynchronous access of this run relied on this fence"};
        pg_findings_add(launch->findings, launch->program, &r);
    }
    pg_word_table_free(k, &k->words);
    pg_shadow_free(k);
    const size_t ops = launch->program->op_count + 1;
    pg_free(launch->alloc, k->fence_use, ops);
    pg_free(launch->alloc, k->strides, ops * sizeof *k->strides);
    pg_free(launch->alloc, k, sizeof *k);
}

static size_t state_bytes(const pg_grid_run *y)
{
    return sizeof(pg_cluster_check) +
           y->ctas_per_cluster * (sizeof(pg_cta_check) + y->warps_per_cta * sizeof(pg_warp_check) +
                                  (y->shared_bytes / PG_BLOCK + 1) * sizeof(pg_shadow_block));
}

bool pg_check_cluster_start(pg_cluster *c)
{
    const pg_grid_run *y = c->launch;
    const size_t bytes = state_bytes(y);
    char *block = pg_alloc_zero(y->alloc, bytes);
    if (!block)
        return false;
    pg_cluster_check *k = (pg_cluster_check *)block;
    k->bytes = bytes;
    k->ctas = (pg_cta_check *)(k + 1);
    char *rest = (char *)(k->ctas + y->ctas_per_cluster);
    for (uint32_t i = 0; i < y->ctas_per_cluster; i++) {
        k->ctas[i].warps = (pg_warp_check *)rest;
        rest += y->warps_per_cta * sizeof(pg_warp_check);
        for (uint32_t w = 0; w < y->warps_per_cta; w++)
            k->ctas[i].warps[w].now = 1;
    }
    for (uint32_t i = 0; i < y->ctas_per_cluster; i++) {
        k->ctas[i].shared = (pg_shadow_block *)rest;
        rest += (y->shared_bytes / PG_BLOCK + 1) * sizeof(pg_shadow_block);
    }
    k->threads = y->ctas_per_cluster * y->warps_per_cta * PG_LANES;
    k->agents = k->threads + PG_DYNAMIC_AGENTS;
    k->next_agent = k->threads;
    c->check = k;
    return true;
}

static void forget_barrier(pg_checker *k, pg_cta_check *cta, uint32_t id)
{
    pg_knowledge_drop(k, &cta->barrier[id]);
    pg_knowledge_drop(k, &cta->before[id]);
    pg_knowledge_drop(k, &cta->found_before[id]);
}

static void drop_all(pg_cluster *c)
{
    pg_cluster_check *k = c->check;
    for (uint32_t i = 0; i < c->cta_count; i++) {
        pg_shadow_drop_parts(c->launch, k->ctas[i].shared, c->launch->shared_bytes / PG_BLOCK + 1);
        pg_check_tensor_shadow_free(&c->ctas[i]);
        for (uint32_t w = 0; w < c->ctas[i].warp_count; w++) {
            pg_check_matrix_free(&c->ctas[i].warps[w]);
            pg_check_tensor_free(&c->ctas[i].warps[w]);
            pg_check_fences_free(&c->ctas[i].warps[w]);
            pg_check_registers_free(&c->ctas[i].warps[w]);
            for (int l = 0; l < PG_LANES; l++) {
                pg_knowledge_drop(c->launch->checker, &k->ctas[i].warps[w].lane[l]);
            }
        }
        for (uint32_t b = 0; b < PG_NAMED_BARRIERS; b++)
            forget_barrier(c->launch->checker, &k->ctas[i], b);
        for (uint32_t b = 0; b < c->ctas[i].mbarrier_count; b++)
            pg_mbarrier_check_free(c->launch->checker, &c->ctas[i].mbarriers[b]);
        pg_check_remote_free(&c->ctas[i]);
    }
    pg_word_table_free(c->launch->checker, &k->words);
    pg_knowledge_drop(c->launch->checker, &k->arriving);
    pg_knowledge_drop(c->launch->checker, &k->completed);
}

void pg_check_cluster_free(pg_cluster *c)
{
    pg_cluster_check *k = c->check;
    if (!k)
        return;
    drop_all(c);
    pg_free(c->launch->alloc, k, k->bytes);
    c->check = NULL;
}

void pg_check_cluster_end(pg_cluster *c)
{
    for (uint32_t i = 0; i < c->cta_count; i++) {
        for (uint32_t n = 0; n < c->ctas[i].mbarrier_count; n++)
            pg_mbarrier_check_end(&c->ctas[i], &c->ctas[i].mbarriers[n]);
        pg_check_remote_uses(&c->ctas[i]);
        pg_check_register_counts(&c->ctas[i]);
    }
    pg_check_cluster_free(c);
}

/* ---- plain accesses ---- */

/* The dependent buffer rule of griddepcontrol. */
static void check_dependent(const pg_touch *t)
{
    const pg_memory *m = &t->warp->launch->memory;
    if (!t->warp->launch->checker->has_dependent ||
        pg_warp_check_of(t->warp)->grid_waited >> t->lane & 1)
        return;
    for (uint32_t i = 0; i < m->count; i++)
        if (m->buffers[i].dependent && t->address - m->buffers[i].address < m->buffers[i].bytes)
            pg_check_report(
                t, PTXGEN_EMULATOR_REPORT_MISSING_GRID_WAIT, NULL,
                "the grid that writes this buffer may still run: griddepcontrol.wait comes first");
}

static void check_barrier_memory(const pg_touch *t)
{
    const pg_cta *cta = t->cta;
    if (!cta->mbarrier_count)
        return;
    for (uint64_t at = t->address / 8 * 8; at < t->address + t->bytes; at += 8)
        if (pg_mbarrier_find(cta, (uint32_t)at))
            pg_check_report(t, PTXGEN_EMULATOR_REPORT_BARRIER_MISUSE, NULL,
                            "an mbarrier lives here: it must be invalidated before the memory is "
                            "used otherwise");
}

static bool holds_barrier(const pg_cta *cta, uint64_t offset, uint64_t bytes)
{
    for (uint32_t i = 0; i < cta->mbarrier_count; i++)
        if (cta->mbarriers[i].valid && cta->mbarriers[i].offset - offset < bytes)
            return true;
    return false;
}

/* All lanes side by side from a block's start, plainly, in memory that needs no look of its own. */
static bool is_row(pg_touch *t, const pg_checked_access *access)
{
    const uint64_t *a = access->address;
    uint64_t differs = 0;
    if (access->lanes != PG_ALL_LANES || t->bytes < PG_GRANULE || a[0] % PG_BLOCK || t->strong ||
        t->op->flags & PG_ACCESS_FRAME || t->warp->launch->checker->has_dependent)
        return false;
    for (uint64_t l = 0; l < PG_LANES; l++)
        differs |= a[l] ^ (a[0] + l * t->bytes);
    if (differs)
        return false;
    pg_space space = (pg_space)t->op->space;
    t->address = a[0];
    if (space == PG_MEM_GENERIC)
        space = pg_generic_space(a[0], &t->address);
    if (space == PG_MEM_GLOBAL) {
        t->cta = NULL;
        return true;
    }
    if (space != PG_MEM_SHARED && space != PG_MEM_CLUSTER)
        return false;
    t->cta = &t->warp->cta->cluster->ctas[t->address >> PG_SHARED_RANK_SHIFT & 0xff];
    t->address = PG_SHARED_OFFSET(t->address);
    return !holds_barrier(t->cta, t->address, (uint64_t)PG_LANES * t->bytes);
}

static void check_lane(pg_touch *t, uint64_t address)
{
    pg_space space = (pg_space)t->op->space;
    if (space == PG_MEM_GENERIC)
        space = pg_generic_space(address, &address);
    if (space == PG_MEM_LOCAL && t->write)
        pg_check_local_write(t->warp, t->lane, address, t->bytes);
    else if (space == PG_MEM_LOCAL)
        pg_check_local_read(t->warp, t->op, t->lane, address);
    if (space == PG_MEM_LOCAL || space == PG_MEM_PARAM || space == PG_MEM_CONST)
        return;
    const bool shared = space == PG_MEM_SHARED || space == PG_MEM_CLUSTER;
    t->cta = NULL;
    t->address = address;
    if (shared) {
        t->cta = &t->warp->cta->cluster->ctas[address >> PG_SHARED_RANK_SHIFT & 0xff];
        t->address = PG_SHARED_OFFSET(address);
        if (t->cta != t->warp->cta)
            pg_check_remote_use(t->warp, t->op, 1u << t->lane, t->cta);
        check_barrier_memory(t);
    } else {
        check_dependent(t);
    }
    t->whole_address = t->address;
    for (uint32_t at = 0; t->strong && at < t->bytes; at += t->op->size)
        pg_check_strong_access(t, address + at + 1);
    pg_shadow_touch(t);
}

void pg_check_access(pg_warp *w, const pg_op *op, const pg_checked_access *access)
{
    pg_touch t = pg_touch_by(w, op);
    t.access = access;
    t.bytes = access->bytes;
    t.write = (access->kind & PG_ACCESS_WRITE) != 0;
    t.reads = (access->kind & PG_ACCESS_READ) != 0;
    t.read_only = (op->flags & PG_ACCESS_READ_ONLY) != 0;
    t.strong = (op->flags & PG_ACCESS_STRONG) != 0;
    t.scope = !t.strong ? PG_SCOPE_NONE : op->scope ? (pg_scope)op->scope : PG_SCOPE_GPU;
    pg_touch row = t;
    const bool whole = is_row(&row, access);
    if (whole && row.cta && row.cta != w->cta)
        pg_check_remote_use(w, op, access->lanes, row.cta);
    const uint32_t lanes = whole ? pg_shadow_touch_row(&row) : access->lanes;
    for (uint32_t left = lanes; left; left &= left - 1) {
        t.lane = (uint32_t)__builtin_ctz(left);
        check_lane(&t, access->address[t.lane]);
    }
    if (whole && lanes && t.write)
        pg_shadow_join_row(&row);
}

/* ---- fences ---- */

void pg_check_proxy_fence(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    pg_checker *checker = w->launch->checker;
    /* Shared and global memory, unless it names one. */
    const bool orders[2] = {op->space != PG_MEM_GLOBAL,
                            op->space == PG_MEM_GENERIC || op->space == PG_MEM_GLOBAL};
    pg_warp_check *k = pg_warp_check_of(w);
    w->launch->checker->fence_use[pg_pc_of(w, op)] |= 1;
    for (uint32_t left = lanes; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        pg_knowledge *mine = &k->lane[l];
        for (int space = 0; space < 2; space++) {
            if (!orders[space])
                continue;
            pg_vector_join(checker, &mine->fenced[space], mine->seen);
            pg_vector_raise(checker, &mine->fenced[space], (uint16_t)(pg_warp_agent(w) + l),
                            k->now);
        }
        if (orders[1])
            pg_foreign_fence(checker, &mine->foreign, PG_KNOWN_GLOBAL);
        k->last_fence[l] = op;
    }
    k->now++;
    pg_check_init_fence(w, op, lanes);
}

void pg_check_grid_wait(pg_warp *w, uint32_t lanes)
{
    pg_warp_check_of(w)->grid_waited |= lanes;
}

/* ---- barriers ---- */

void pg_check_warp_barrier(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    (void)op;
    pg_knowledge all = {0};
    pg_check_release(w, lanes, &all);
    for (uint32_t left = lanes; left; left &= left - 1) /* each knows no more than all do */
        pg_knowledge_set(w->launch->checker, &pg_warp_check_of(w)->lane[__builtin_ctz(left)], &all);
    pg_knowledge_drop(w->launch->checker, &all);
}

/* .aligned: all lanes of the warp execute one instruction. The hardware passes it all the same. */
static void check_aligned(pg_warp *w, const pg_op *op, uint32_t lanes, uint32_t barrier)
{
    const pg_op **first = &pg_warp_check_of(w)->arrived_by[barrier];
    if (*first && *first != op && ((op->imm | (*first)->imm) & PG_BAR_ALIGNED)) {
        const pg_check_conflict c = {.warp = w,
                                     .op = op,
                                     .lane = (uint32_t)__builtin_ctz(lanes),
                                     .kind = PTXGEN_EMULATOR_REPORT_DIVERGENT_BARRIER,
                                     .other = *first,
                                     .where = ""};
        pg_check_report_conflict(&c, "lanes of one warp meet at two .aligned barrier instructions; "
                                     "barrier.sync without .aligned is for divergent code");
    }
    *first = op;
}

static void forget_arrivals(pg_cta *cta, uint32_t barrier)
{
    for (uint32_t i = 0; i < cta->warp_count; i++)
        pg_warp_check_of(&cta->warps[i])->arrived_by[barrier] = NULL;
}

void pg_check_barrier(pg_warp *w, const pg_op *op, uint32_t lanes, uint32_t id)
{
    check_aligned(w, op, lanes, id);
    pg_check_release(w, lanes, &pg_cta_check_of(w->cta)->barrier[id]);
    pg_check_fences_arrive(w, lanes, id);
}

void pg_check_barrier_passed(pg_warp *w, uint32_t lanes, uint32_t id)
{
    pg_check_acquire(w, lanes, &pg_cta_check_of(w->cta)->barrier[id]);
    pg_check_fences_pass(w, lanes, id);
}

void pg_check_barrier_done(pg_cta *cta, uint32_t id)
{
    forget_arrivals(cta, id);
    forget_barrier(cta->cluster->launch->checker, pg_cta_check_of(cta), id);
}

/* .relaxed publishes what a fence has released before. */
void pg_check_cluster_arrive(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    pg_knowledge *arriving = &pg_cluster_check_of(w)->arriving;
    check_aligned(w, op, lanes, PG_NAMED_BARRIERS);
    for (uint32_t left = op->mode ? lanes : 0; left; left &= left - 1)
        pg_check_release_fenced(w, (uint32_t)__builtin_ctz(left), PG_SCOPE_CLUSTER, arriving);
    if (op->mode)
        pg_check_tensor_release(w, lanes, arriving);
    else
        pg_check_release(w, lanes, arriving);
    pg_check_init_published(w, lanes);
}

void pg_check_cluster_done(pg_cluster *c)
{
    pg_cluster_check *k = c->check;
    k->cluster_phases++;
    for (uint32_t i = 0; i < c->cta_count; i++)
        forget_arrivals(&c->ctas[i], PG_NAMED_BARRIERS);
    pg_knowledge_drop(c->launch->checker, &k->completed);
    k->completed = k->arriving;
    k->arriving = (pg_knowledge){0};
}

void pg_check_cluster_wait(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    (void)op;
    const pg_cluster_check *c = pg_cluster_check_of(w);
    pg_check_acquire(w, lanes, &c->completed);
    for (uint32_t left = lanes; left; left &= left - 1)
        pg_warp_check_of(w)->cluster_waited[__builtin_ctz(left)] = c->cluster_phases;
}
