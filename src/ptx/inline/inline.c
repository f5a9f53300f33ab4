/* The public calls of ptxgen/inline.h. */
#include "ptx/inline/inline.h"

#include "base/error.h"

#include <string.h>

struct ptxgen_inlined {
    pg_arena arena;
    pg_inliner in;
};

static ptxgen_status load(pg_inliner *in, pg_inline_text *t)
{
    const bool proven = in->seam && in->seam->proven && t == &in->kernel;
    const pg_ptx_options options = {.file_name = t->file, .no_verify = proven};
    return pg_ptx_load(in->arena, t->text, t->length, &options, &t->module, in->err);
}

/* What came out is read again: a fault here would be ours, and must not reach an assembler as
 * somebody's code. */
static ptxgen_status check_result(const pg_inliner *in)
{
    pg_arena arena;
    pg_ptx_module *module;
    const pg_ptx_options options = {.file_name = "merged.ptx"};
    pg_arena_init(&arena, in->alloc);
    const ptxgen_status status =
        pg_ptx_load(&arena, in->out.text.data, in->out.text.len, &options, &module, in->err);
    pg_arena_fini(&arena);
    return status;
}

static ptxgen_status run(pg_inliner *in)
{
    PG_TRY(load(in, &in->kernel));
    PG_TRY(load(in, &in->user));
    PG_TRY(pg_inline_plan(in));
    PG_TRY(pg_inline_merge(in));
    return in->seam && in->seam->proven ? PTXGEN_OK : check_result(in);
}

static pg_inline_text text_of(const char *text, size_t length, const char *file,
                              const char *otherwise)
{
    return (pg_inline_text){
        .text = text, .file = file ? file : otherwise, .length = length ? length : strlen(text)};
}

/* A caller may know fewer fields than we do: those that it does not have are zero. */
static ptxgen_status read_args(const ptxgen_inline_args *given, ptxgen_inline_args *args,
                               ptxgen_error *err)
{
    *args = (ptxgen_inline_args){0};
    if (!given || !given->size)
        return pg_fail(err, PTXGEN_EINVAL,
                       "args is NULL or args->size is 0: set it to sizeof(ptxgen_inline_args)");
    memcpy(args, given, given->size < sizeof *args ? given->size : sizeof *args);
    if (!args->kernel || !args->function)
        return pg_fail(err, PTXGEN_EINVAL, "args->%s is NULL: it must be PTX text",
                       args->kernel ? "function" : "kernel");
    return PTXGEN_OK;
}

ptxgen_status pg_inline(const pg_alloc *alloc, const ptxgen_inline_args *given,
                        const pg_inline_seam *seam, ptxgen_inlined **out, ptxgen_error *err)
{
    ptxgen_inline_args args;
    if (!out)
        return pg_fail(err, PTXGEN_EINVAL, "out is NULL");
    *out = NULL;
    PG_TRY(read_args(given, &args, err));
    ptxgen_inlined *inlined = pg_alloc_zero(alloc, sizeof *inlined);
    if (!inlined)
        return pg_fail_memory(err, sizeof *inlined);
    pg_inliner *in = &inlined->in;
    pg_arena_init(&inlined->arena, alloc);
    in->arena = &inlined->arena;
    in->alloc = alloc;
    in->err = err;
    in->seam = seam;
    in->kernel = text_of(args.kernel, args.kernel_length, args.kernel_file, "kernel.ptx");
    in->user = text_of(args.function, args.function_length, args.function_file, "function.ptx");
    in->budget = args.budget ? args.budget : PTXGEN_INLINE_BUDGET;
    pg_out_init(&in->out, in->arena, alloc);
    const ptxgen_status status = run(in);
    in->err = NULL;
    in->seam = NULL;
    if (status == PTXGEN_OK)
        *out = inlined;
    else
        ptxgen_inlined_free(inlined);
    return status;
}

ptxgen_status ptxgen_inline(const ptxgen_inline_args *args, ptxgen_inlined **out, ptxgen_error *err)
{
    return pg_inline(&pg_alloc_libc, args, NULL, out, err);
}

void ptxgen_inlined_free(ptxgen_inlined *inlined)
{
    if (!inlined)
        return;
    pg_buf_fini(&inlined->in.out.text);
    pg_arena_fini(&inlined->arena);
    pg_free(inlined->in.alloc, inlined, sizeof *inlined);
}

const char *ptxgen_inlined_text(const ptxgen_inlined *inlined, size_t *length)
{
    if (length)
        *length = inlined ? inlined->in.out.text.len : 0;
    return inlined ? pg_buf_text(&inlined->in.out.text) : "";
}

bool ptxgen_inlined_line_at(const ptxgen_inlined *inlined, size_t i, ptxgen_inlined_line *out)
{
    if (!inlined || !out || i >= inlined->in.out.n_lines)
        return false;
    const pg_ptx_module *m = inlined->in.user.module;
    const pg_origin o = inlined->in.out.lines[i];
    *out = (ptxgen_inlined_line){(ptxgen_inlined_source)o.source, o.line, "", 0};
    for (uint32_t f = 0; o.loc && f < m->n_files; f++)
        if (m->files[f].number == m->locs[o.loc].file) {
            out->file = m->files[f].name;
            out->file_line = m->locs[o.loc].line;
        }
    return true;
}

bool ptxgen_inlined_call_at(const ptxgen_inlined *inlined, size_t i, ptxgen_inlined_call *out)
{
    if (!inlined || !out || i >= inlined->in.n_calls)
        return false;
    *out = inlined->in.calls[i];
    return true;
}

size_t ptxgen_inlined_local_bytes(const ptxgen_inlined *inlined)
{
    return inlined ? inlined->in.local_bytes : 0;
}
