/* SASS of a cubin: NVIDIA's disassembler, a program of the CUDA toolkit, reads it and writes to
 * the output. */
#include "command/sass.h"

#include "command/child.h"
#include "command/output.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

ptxgen_status cli_find_part(ptxgen *ctx, const char *name, const char **path, ptxgen_error *err)
{
    ptxgen_part p;
    for (size_t i = 0; ptxgen_part_at(ctx, i, &p); i++)
        if (strcmp(p.name, name) == 0) {
            *path = p.path;
            return p.found ? PTXGEN_OK : cli_fail(err, PTXGEN_EMISSING, "no %s: %s", name, p.note);
        }
    return cli_fail(err, PTXGEN_EMISSING, "this libptxgen knows no %s", name);
}

ptxgen_status cli_disassemble(const char *program, const void *cubin, size_t n, int to,
                              ptxgen_error *err)
{
    char option[] = "-c", whole[] = "-sass", path[CLI_DESCRIPTOR_PATH];
    const char *name = strrchr(program, '/');
    const bool cuobjdump = strcmp(name ? name + 1 : program, "cuobjdump") == 0;
    const int from = cli_memory_file(cubin, n);
    if (from < 0)
        return cli_fail(err, PTXGEN_EIO, "cannot hold %zu bytes in memory: %s", n, strerror(errno));
    cli_descriptor_path(from, path);
    char *const argv[] = {(char *)program, cuobjdump ? whole : option, path, NULL};
    const ptxgen_status status = cli_run_child(&(cli_child){argv, to, -1}, NULL, err);
    close(from);
    return status;
}

static ptxgen_status write_sass(const char *program, const char *path, const void *bytes, size_t n,
                                ptxgen_error *err)
{
    cli_output out;
    ptxgen_status status = cli_output_open(&out, path, false, err);
    if (status != PTXGEN_OK)
        return status;
    fflush(out.file);
    status = cli_disassemble(program, bytes, n, fileno(out.file), err);
    if (status == PTXGEN_OK)
        return cli_output_commit(&out, err);
    cli_output_discard(&out);
    return status;
}

ptxgen_status cli_output_sass(const cli_settings *set, const void *cubin, size_t n,
                              ptxgen_error *err)
{
    ptxgen *ctx;
    const char *program = "";
    cli_settings memory_only = *set;
    memory_only.cache_dir = "";
    ptxgen_status status = cli_context(&memory_only, &ctx, err);
    if (status != PTXGEN_OK)
        return status;
    status = cli_find_part(ctx, "disassembler", &program, err);
    if (status == PTXGEN_OK)
        status = write_sass(program, set->output, cubin, n, err);
    ptxgen_destroy(ctx);
    return status;
}
