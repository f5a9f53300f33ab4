#include "engine_helpers.h"

#include "cache_helpers.h"
#include "stub_libcuda.h"

#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char script[] = "#!/bin/sh\n"
                             "[ \"$1\" = --version ] && exit 0\n"
                             "d=${0%/*}\n"
                             "echo >>\"$d/runs\"\n"
                             ". \"$d/does\"\n";

static void path_of(const fake_toolkit *t, const char *name, char out[128])
{
    snprintf(out, 128, "%s/%s", t->dir, name);
}

static void write_file(const fake_toolkit *t, const char *name, const void *bytes, size_t n)
{
    char path[128];
    path_of(t, name, path);
    test_write_file(path, bytes, n);
}

void fake_toolkit_make(fake_toolkit *t)
{
    char path[128];
    const stub_cubin cubin = stub_make_cubin(90);
    snprintf(t->dir, sizeof t->dir, "/tmp/ptxgen-engine-XXXXXX");
    assert_non_null(mkdtemp(t->dir));
    write_file(t, "cubin", cubin.bytes, sizeof cubin.bytes);
    write_file(t, "ptxas", script, sizeof script - 1);
    path_of(t, "assemble", path);
    assert_int_equal(symlink(PTXGEN_BINARY_DIR "/tests/stub_assemble", path), 0);
    path_of(t, "ptxas", path);
    assert_int_equal(chmod(path, 0755), 0);
    fake_toolkit_does(t, FAKE_ASSEMBLES);
}

void fake_toolkit_remove(const fake_toolkit *t)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", t->dir);
    assert_int_equal(system(command), 0);
}

void fake_toolkit_does(const fake_toolkit *t, const char *what)
{
    char from[128], to[128];
    write_file(t, "does.new", what, strlen(what));
    path_of(t, "does.new", from);
    path_of(t, "does", to);
    assert_int_equal(rename(from, to), 0);
}

void fake_toolkit_go(const fake_toolkit *t)
{
    write_file(t, "go", "", 0);
}

int fake_toolkit_runs(const fake_toolkit *t)
{
    char path[128];
    struct stat st;
    path_of(t, "runs", path);
    return stat(path, &st) == 0 ? (int)st.st_size : 0;
}

void fake_toolkit_await(const fake_toolkit *t, int runs)
{
    while (fake_toolkit_runs(t) < runs)
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
}

ptxgen *engine_create(const fake_toolkit *t, const char *cache_dir, const ptxgen_config *config)
{
    ptxgen_config c = config ? *config : (ptxgen_config){0};
    ptxgen *ctx;
    ptxgen_error err;
    c.size = sizeof c;
    c.assembler = PTXGEN_ASSEMBLER_PTXAS;
    c.toolkit_dir = t->dir;
    c.cache_dir = cache_dir;
    if (ptxgen_create(&c, &ctx, &err) != PTXGEN_OK)
        fail_msg("%s", err.message);
    return ctx;
}

ptxgen_cache_info engine_info(ptxgen *ctx)
{
    ptxgen_cache_info info = {.size = sizeof info};
    ptxgen_cache_get_info(ctx, &info);
    return info;
}

void engine_compile(ptxgen *ctx, const char *params)
{
    ptxgen_kernel *k;
    ptxgen_error err;
    if (ptxgen_compile(ctx, "scatter_add", params, &k, &err) != PTXGEN_OK)
        fail_msg("%s: %s", params, err.message);
    ptxgen_kernel_unref(k);
}
