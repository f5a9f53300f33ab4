/* Disk first; else, under the key's lock across processes, disk again and then the assembler. */
#include "engine/build.h"

#include "assemble/release.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file_path.h"
#include "cubin/cubin_match.h"
#include "engine/cache_key.h"
#include "engine/entry_judge.h"
#include "engine/merge_function.h"
#include "engine/refused.h"

#include <stdio.h>
#include <time.h>

static ptxgen_status emit_into(ptxgen_kernel *k, ptxgen_error *err)
{
    const double start = pg_clock_us();
    pg_emit_init(&k->emitted, &k->engine->alloc);
    k->id.family->emit(&k->emitted, k->plan);
    PG_TRY(pg_merge_function(k->engine, &k->id, &k->emitted, err));
    k->emit_us = pg_clock_us() - start;
    return pg_emit_failed(&k->emitted) ? pg_fail_memory(err, 0) : PTXGEN_OK;
}

/* ---- assembling ---- */

void pg_locate_in_template(const ptxgen_kernel *k, ptxgen_error *err)
{
    const ptxgen_status status = err->status;
    if ((status != PTXGEN_EASSEMBLE && status != PTXGEN_EPARSE) || err->line <= 0)
        return;
    const pg_line_origin o = pg_emit_origin(&k->emitted, err->line);
    if (o.line)
        pg_fail_at(err, status, o.file, o.line, "%s:%d (PTX line %d of %s %s): %s", o.file, o.line,
                   err->line, k->id.family->name, pg_buf_text(&k->params), err->message);
}

/* What the assembler wrote is compared with the request before anybody gets it, or keeps it. */
static ptxgen_status check_assembled(const ptxgen_kernel *k, ptxgen_error *err)
{
    char fault[96];
    const pg_plan_head *head = (const pg_plan_head *)k->plan;
    const pg_cubin_wanted wanted = {k->id.key[0], head->entry, head->parts};
    const pg_buf *cubin = &k->assembly.cubin;
    if (pg_cubin_match(cubin->data, cubin->len, &wanted, fault, sizeof fault))
        return PTXGEN_OK;
    return pg_fail(err, PTXGEN_EASSEMBLE, "%s wrote a cubin that %s, for %s of %s: use another one",
                   k->assembler, fault, head->entry, pg_arch_to_text(k->id.key[0]).text);
}

static ptxgen_status assemble_into(ptxgen_kernel *k, ptxgen_assembler kind, ptxgen_error *err)
{
    PG_TRY(emit_into(k, err));
    const pg_assembly_request request = {
        .ptx = pg_buf_text(&k->emitted.text),
        .ptx_size = k->emitted.text.len,
        .arch = k->id.key[0],
        .whole_program = k->id.family->whole_program,
    };
    const double start = pg_clock_us();
    const ptxgen_status status =
        pg_toolkit_assemble(k->engine->toolkit, kind, &request, &k->assembly, err);
    k->assemble_us = pg_clock_us() - start;
    k->origin = PTXGEN_ORIGIN_ASSEMBLED;
    if (status != PTXGEN_OK)
        pg_locate_in_template(k, err);
    return status == PTXGEN_OK ? check_assembled(k, err) : status;
}

/* What the disk keeps of a kernel, refused or not. */
static pg_cache_entry entry_of(const ptxgen_kernel *k)
{
    return (pg_cache_entry){
        .family = k->id.family->name,
        .params = pg_buf_text(&k->params),
        .entry_name = ((const pg_plan_head *)k->plan)->entry,
        .assembler = k->assembler,
        .log = pg_buf_text(&k->assembly.log),
        .arch = k->id.key[0],
        .registers = k->assembly.registers,
        .shared_bytes = k->assembly.shared_bytes,
        .local_bytes = k->assembly.local_bytes,
        .spill_bytes = k->assembly.spill_bytes,
        .emit_us = k->emit_us,
        .assemble_us = k->assemble_us,
        .ptx = pg_buf_text(&k->emitted.text),
        .ptx_size = k->emitted.text.len,
    };
}

static void store(const ptxgen_kernel *k)
{
    pg_cache_entry entry = entry_of(k);
    entry.created = (int64_t)time(NULL);
    entry.cubin = k->assembly.cubin.data;
    entry.cubin_size = k->assembly.cubin.len;
    pg_cache_store(k->engine->cache, pg_buf_text(&k->key_text), k->key_text.len, &entry);
}

static void store_failure(const ptxgen_kernel *k, const ptxgen_error *err)
{
    pg_cache_entry entry = entry_of(k);
    entry.status = err->status;
    entry.message = err->message;
    entry.error_file = err->file;
    entry.error_line = err->line;
    entry.registers = entry.shared_bytes = entry.local_bytes = entry.spill_bytes = -1;
    pg_cache_store(k->engine->cache, pg_buf_text(&k->key_text), k->key_text.len, &entry);
    pg_refusals_remember(k->engine->refusals, pg_buf_text(&k->key_text), k->key_text.len, err);
}

/* For who debugs: whatever came of it. A refused kernel's text is written with the words about
 * it. */
static void dump(const ptxgen_kernel *k, bool assembled)
{
    const struct {
        const char *suffix;
        const pg_buf *bytes;
    } files[] = {
        {".ptx", &k->emitted.text}, {".log", &k->assembly.log}, {".cubin", &k->assembly.cubin}};
    char name[96], path[PG_PATH_MAX + 1];
    for (size_t i = assembled ? 0 : 1; k->engine->dump.dir && i < (assembled ? 3 : 2); i++) {
        pg_kernel_file_name(k, files[i].suffix, name);
        const pg_str bytes = {pg_buf_text(files[i].bytes), files[i].bytes->len};
        pg_dump_write(&k->engine->dump, name, bytes, path, sizeof path);
    }
}

static void log_assembly(const ptxgen_kernel *k, const char *why, ptxgen_status status)
{
    const uint64_t us = (uint64_t)k->assemble_us;
    pg_log_line(&k->engine->log, PTXGEN_LOG_INFO, "%s %s: %s in %llu.%llu ms by %s; %s",
                k->id.family->name, pg_buf_text(&k->params),
                status == PTXGEN_OK ? "assembled" : "refused", (unsigned long long)(us / 1000),
                (unsigned long long)(us % 1000 / 100), k->assembler, why);
}

static void take_entry(ptxgen_kernel *k)
{
    k->origin = PTXGEN_ORIGIN_DISK;
    snprintf(k->assembler, sizeof k->assembler, "%s", k->disk.assembler);
    k->emit_us = k->disk.emit_us;
    k->assemble_us = k->disk.assemble_us;
    k->assembly.registers = k->disk.registers;
    k->assembly.shared_bytes = k->disk.shared_bytes;
    k->assembly.local_bytes = k->disk.local_bytes;
    k->assembly.spill_bytes = k->disk.spill_bytes;
}

static void log_origin(const ptxgen_kernel *k, const char *whence)
{
    pg_log_line(&k->engine->log, PTXGEN_LOG_DEBUG, "%s %s: %s", k->id.family->name,
                pg_buf_text(&k->params), whence);
}

/* true when the disk has the answer: *status OK, or a failure, which the context may remember
 * itself. Else judge->why says why it has none. */
static bool look_up(ptxgen_kernel *k, pg_entry_judge *judge, ptxgen_status *status,
                    ptxgen_error *err)
{
    const char *const key = pg_buf_text(&k->key_text);
    if (pg_refusals_recall(k->engine->refusals, key, k->key_text.len, err)) {
        *status = err->status;
        log_origin(k, "it was refused before");
        return true;
    }
    const pg_cache_judge say = pg_entry_judge_of(judge);
    const pg_cache_found found =
        pg_cache_lookup_judged(k->engine->cache, (pg_str){key, k->key_text.len}, &say, &k->disk);
    *status = PTXGEN_OK;
    if (found == PG_CACHE_HIT)
        take_entry(k);
    else if (found == PG_CACHE_FAILED)
        *status = pg_fail_at(err, k->disk.status, k->disk.error_file, k->disk.error_line, "%s",
                             k->disk.message);
    else if (k->disk.miss != judge->why)
        snprintf(judge->why, sizeof judge->why, "%s", k->disk.miss);
    if (found != PG_CACHE_MISS)
        log_origin(k, found == PG_CACHE_HIT ? "from the cache folder or a layer"
                                            : "it was refused before");
    return found != PG_CACHE_MISS;
}

static _Thread_local uint64_t assemblies_here;

uint64_t pg_build_assemblies_here(void)
{
    return assemblies_here;
}

static ptxgen_status assemble_and_store(ptxgen_kernel *k, ptxgen_assembler kind, pg_build_mode mode,
                                        const char *why, ptxgen_error *err)
{
    atomic_fetch_add(&k->engine->misses, 1);
    assemblies_here++;
    const ptxgen_status status = assemble_into(k, kind, err);
    log_assembly(k, why, status);
    if (status == PTXGEN_EASSEMBLE)
        pg_explain_refusal(k, kind, err);
    dump(k, status == PTXGEN_OK);
    if (status == PTXGEN_OK)
        store(k);
    else if (k->assembly.text_at_fault && mode != PG_BUILD_AHEAD)
        store_failure(k, err);
    return status;
}

int pg_build_release(const ptxgen_kernel *k)
{
    return pg_release_for_text(pg_buf_text(&k->emitted.text), k->emitted.text.len);
}

/* When what is there is too old for the architecture, the text says how new it has to be. */
static ptxgen_status choose_assembler(ptxgen_kernel *k, ptxgen_assembler *kind,
                                      const char **identity, ptxgen_error *err)
{
    pg_assembly_need need = pg_kernel_need(&k->id);
    const ptxgen_status status = pg_toolkit_choose(k->engine->toolkit, need, kind, identity, err);
    if (status != PTXGEN_EMISSING)
        return status;
    PG_TRY(emit_into(k, err));
    const int release = pg_build_release(k);
    need.release = release > need.release ? release : need.release;
    return pg_toolkit_choose(k->engine->toolkit, need, kind, identity, err);
}

/* Without an assembler the cache was the only hope: why it had nothing is a part of the answer. */
static ptxgen_status add_why(ptxgen_status status, const char *why, ptxgen_error *err)
{
    if (status != PTXGEN_EMISSING)
        return status;
    const ptxgen_error said = *err;
    return pg_fail(err, status, "%.600s; the cache was asked first: %s", said.message, why);
}

/* Under the key's lock across processes: disk again, and then the assembler. */
static ptxgen_status fill_locked(ptxgen_kernel *k, ptxgen_assembler kind, pg_build_mode mode,
                                 pg_entry_judge *judge, ptxgen_error *err)
{
    ptxgen_status status;
    uint64_t token;
    pg_cache *cache = k->engine->cache;
    pg_cache_acquire(cache, pg_buf_text(&k->key_text), k->key_text.len, &token);
    if (mode == PG_BUILD_FRESH || !look_up(k, judge, &status, err)) {
        pg_cache_take_slot(cache, token);
        status = assemble_and_store(k, kind, mode, judge->why, err);
    }
    pg_cache_release(cache, token);
    return status;
}

/* Who builds ahead has asked other machines before (fleet.h), for longer. */
static bool fetch_quickly(const ptxgen_kernel *k, pg_entry_judge *judge)
{
    pg_cache *cache = k->engine->cache;
    const pg_cache_judge say = pg_entry_judge_of(judge);
    return pg_cache_has_remote(cache) &&
           pg_cache_fetch_quickly(cache, (pg_str){pg_buf_text(&k->key_text), k->key_text.len},
                                  &say);
}

/* Disk, which needs no assembler; else one is chosen. */
static ptxgen_status fill(ptxgen_kernel *k, pg_build_mode mode, ptxgen_error *err)
{
    ptxgen_assembler kind;
    const char *identity;
    ptxgen_status status;
    pg_entry_judge judge = {k, "the driver refused what the cache had"};
    PG_TRY(pg_write_key(&k->id, &k->engine->extra_key, &k->key_text, err));
    if (mode != PG_BUILD_FRESH && look_up(k, &judge, &status, err))
        return status;
    if (mode == PG_BUILD_ON_DEMAND && fetch_quickly(k, &judge) && look_up(k, &judge, &status, err))
        return status;
    PG_TRY(add_why(choose_assembler(k, &kind, &identity, err), judge.why, err));
    snprintf(k->assembler, sizeof k->assembler, "%s", identity);
    return fill_locked(k, kind, mode, &judge, err);
}

/* Without the kernel when it could not be filled. */
static ptxgen_status keep_or_drop(ptxgen_status status, ptxgen_kernel **k)
{
    if (status != PTXGEN_OK) {
        ptxgen_kernel_unref(*k);
        *k = NULL;
    }
    return status;
}

ptxgen_status pg_build_text(pg_engine *engine, const pg_kernel_id *id, ptxgen_kernel **out,
                            ptxgen_error *err)
{
    PG_TRY(pg_kernel_create(engine, id, out, err));
    (*out)->origin = PTXGEN_ORIGIN_EMITTED;
    PG_TRY(keep_or_drop(emit_into(*out, err), out));
    log_origin(*out, "written as PTX, not assembled");
    return PTXGEN_OK;
}

ptxgen_status pg_build(pg_engine *engine, const pg_kernel_id *id, pg_build_mode mode,
                       ptxgen_kernel **out, ptxgen_error *err)
{
    if (!id->assembled)
        return pg_build_text(engine, id, out, err);
    PG_TRY(pg_kernel_create(engine, id, out, err));
    return keep_or_drop(fill(*out, mode, err), out);
}
