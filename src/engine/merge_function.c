/* Inlines a user function into emitted text and joins the two line maps. */
#include "engine/merge_function.h"

#include "base/error.h"
#include "engine/functions.h"
#include "ptx/inline/inline.h"

#include <stdio.h>
#include <string.h>

/* The name of a file that outlives the merged text: one of the function's own. */
static const char *own_file(const pg_function *f, const char *name)
{
    for (size_t i = 0; i < f->source.header_count; i++)
        if (!strcmp(f->source.headers[i].name, name))
            return f->source.headers[i].name;
    return f->source.file;
}

static pg_line_origin origin_of(const pg_function *f, const pg_emit *kernel,
                                const ptxgen_inlined_line *line)
{
    if (line->source == PTXGEN_INLINED_KERNEL)
        return pg_emit_origin(kernel, (int)line->line);
    if (line->source == PTXGEN_INLINED_FUNCTION && line->file_line)
        return (pg_line_origin){own_file(f, line->file), (int)line->file_line};
    if (line->source == PTXGEN_INLINED_FUNCTION && f->source.language == PTXGEN_FUNCTION_PTX)
        return (pg_line_origin){f->source.file, (int)line->line};
    return (pg_line_origin){"", 0};
}

static ptxgen_status replace(const pg_function *f, const ptxgen_inlined *merged, pg_emit *emitted,
                             ptxgen_error *err)
{
    ptxgen_inlined_line line;
    size_t length;
    const char *text = ptxgen_inlined_text(merged, &length);
    pg_emit fresh;
    pg_emit_init(&fresh, emitted->text.alloc);
    pg_lit(&fresh, text, length);
    for (size_t i = 0; ptxgen_inlined_line_at(merged, i, &line); i++) {
        const pg_line_origin o = origin_of(f, emitted, &line);
        pg_at(&fresh, o.file, o.line);
    }
    pg_emit_fini(emitted);
    *emitted = fresh;
    return pg_emit_failed(emitted) ? pg_fail_memory(err, 0) : PTXGEN_OK;
}

static void say_calls(const pg_engine *e, const pg_function *f, const ptxgen_inlined *merged)
{
    ptxgen_inlined_call call;
    const size_t local = ptxgen_inlined_local_bytes(merged);
    if (ptxgen_inlined_call_at(merged, 0, &call) && !call.inlined)
        pg_log_line(&e->log, PTXGEN_LOG_WARNING, "%s: %s has %zu instructions and stays a call: %s",
                    f->source.file, call.callee, call.instructions, call.reason);
    if (local)
        pg_log_line(
            &e->log, PTXGEN_LOG_WARNING,
            "%s: needs %zu bytes of local memory per thread (arrays that are indexed at run time)",
            f->source.file, local);
}

/* The message names the user's file; where the fault is in NVRTC's PTX, it says so. */
static ptxgen_status explain(const pg_function *f, ptxgen_status status, ptxgen_error *err)
{
    if (err && f->source.language == PTXGEN_FUNCTION_CUDA && !strcmp(err->file, f->source.file) &&
        !strncmp(err->message, f->source.file, strlen(f->source.file))) {
        err->line = 0; /* a line of the PTX, not of the user's text */
    }
    return status;
}

ptxgen_status pg_merge_function(pg_engine *e, const pg_kernel_id *id, pg_emit *emitted,
                                ptxgen_error *err)
{
    const pg_function_seam *seam = id->family->function;
    const int64_t number = pg_kernel_id_function(id);
    const pg_function_text *text;
    ptxgen_inlined *merged;
    if (!number)
        return PTXGEN_OK;
    if (pg_emit_failed(emitted))
        return pg_fail_memory(err, 0);
    pg_function_use use = {.arch = id->key[0], .exact = seam->exact(id->key)};
    pg_seam_signature(seam, id->key, &use.signature, &use.types);
    PG_TRY(pg_functions_text(e, number, &use, &text, err));
    const pg_function *f = pg_functions_find(e, number);
    char file[160];
    snprintf(file, sizeof file, "%.120s%s", f->source.file,
             f->source.language == PTXGEN_FUNCTION_CUDA ? " (NVRTC's PTX)" : "");
    const ptxgen_inline_args args = {.size = sizeof args,
                                     .kernel = pg_buf_text(&emitted->text),
                                     .kernel_length = emitted->text.len,
                                     .kernel_file = id->family->name,
                                     .function = pg_buf_text(&text->ptx),
                                     .function_length = text->ptx.len,
                                     .function_file = file};
    pg_function_text *known = (pg_function_text *)(uintptr_t)text;
    const pg_inline_seam place = {PG_FUNCTION_SYMBOL, text->name, use.signature,
                                  atomic_load(&known->merged_into) == id->family};
    const ptxgen_status status = pg_inline(&e->alloc, &args, &place, &merged, err);
    if (status != PTXGEN_OK)
        return explain(f, status, err);
    atomic_store(&known->merged_into, id->family);
    say_calls(e, f, merged);
    const ptxgen_status replaced = replace(f, merged, emitted, err);
    ptxgen_inlined_free(merged);
    return replaced;
}
