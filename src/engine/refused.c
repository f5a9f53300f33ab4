/* The sentence has a limit; what the assembler said comes first and is cut before what can be
 * done about it. */
#include "engine/refused.h"

#include "base/arena.h"
#include "base/arch.h"
#include "base/error.h"
#include "base/hash.h"
#include "ptx/ptx.h"

#include <stdio.h>
#include <string.h>

enum { REASON_MAX = 400, VERIFIER_MEMORY = 64 << 20 };

void pg_kernel_file_name(const ptxgen_kernel *k, const char *suffix, char out[96])
{
    char hex[33];
    pg_hash_hex(pg_hash(pg_buf_text(&k->key_text), k->key_text.len), hex);
    snprintf(out, 96, "%.40s-%.12s%s", k->id.family->name, hex, suffix);
}

/* Our own opinion of the text. */
static void ask_verifier(const ptxgen_kernel *k, char *out, size_t size)
{
    pg_arena arena;
    pg_ptx_module *module;
    ptxgen_error own = {0};
    pg_arena_init(&arena, &k->engine->alloc);
    arena.budget = VERIFIER_MEMORY;
    const pg_ptx_options options = {.file_name = "PTX"};
    const ptxgen_status status = pg_ptx_load(&arena, pg_buf_text(&k->emitted.text),
                                             k->emitted.text.len, &options, &module, &own);
    if (status == PTXGEN_OK)
        snprintf(out, size, "ptxgen's own check finds no fault");
    else if (status == PTXGEN_EPARSE)
        snprintf(out, size, "ptxgen's own check: %.120s", own.message);
    else
        out[0] = 0;
    pg_arena_fini(&arena);
}

/* The text goes to the dump folder, which has it already, or to the cache's; where there is
 * neither, it can be written again. */
static void say_how_to_repeat(const ptxgen_kernel *k, ptxgen_assembler kind, char *out, size_t size)
{
    char name[96], path[2048] = "";
    pg_engine *e = k->engine;
    const char *program = pg_toolkit_program(e->toolkit, kind);
    const pg_arch_text arch = pg_arch_to_text(k->id.key[0]);
    pg_kernel_file_name(k, ".ptx", name);
    const pg_str ptx = {pg_buf_text(&k->emitted.text), k->emitted.text.len};
    const bool kept = pg_dump_write(&e->dump, name, ptx, path, sizeof path) ||
                      pg_cache_keep_refused(e->cache, name, ptx, path, sizeof path);
    if (!kept)
        snprintf(out, size, "its PTX: ptxgen emit %s %s", k->id.family->name,
                 pg_buf_text(&k->params));
    else if (program[0])
        snprintf(out, size, "again: %s -arch %s -v %s -o /dev/null", program, arch.text, path);
    else
        snprintf(out, size, "its PTX: %s", path);
}

void pg_explain_refusal(ptxgen_kernel *k, ptxgen_assembler kind, ptxgen_error *err)
{
    char opinion[192], again[2400];
    if (err->status != PTXGEN_EASSEMBLE)
        return;
    ask_verifier(k, opinion, sizeof opinion);
    say_how_to_repeat(k, kind, again, sizeof again);
    const ptxgen_error said = *err;
    pg_fail_at(err, said.status, said.file, said.line, "%.*s%s%s%s; %s", (int)REASON_MAX,
               said.message, strlen(said.message) > REASON_MAX ? "..." : "", opinion[0] ? "; " : "",
               opinion, again);
}
