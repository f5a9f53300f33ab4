/* A toolkit in a folder of the test's own whose ptxas is a shell script: for tests of what becomes
 * of an assembler's process. make_folder and remove_folder are the group's set-up and end. */
#ifndef PG_TEST_SCRIPT_TOOLKIT_H
#define PG_TEST_SCRIPT_TOOLKIT_H

#include "runtime_kernels.h"

#include <sys/stat.h>
#include <unistd.h>

static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/ptxgen-test-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    char command[128];
    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

/* A toolkit whose ptxas is this shell script; $d is its folder. */
static pg_toolkit *toolkit_with_script(const char *script, uint32_t timeout_ms)
{
    static const pg_log silent;
    char path[96];
    snprintf(path, sizeof path, "%s/ptxas", folder);
    unlink(path);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "#!/bin/sh\n[ \"$1\" = --version ] && exit 0\nd=%s\n%s\n", folder, script);
    fclose(f);
    assert_int_equal(chmod(path, 0755), 0);
    const pg_toolkit_config config = {
        .toolkit_dir = folder, .wanted = PTXGEN_ASSEMBLER_PTXAS, .timeout_ms = timeout_ms};
    pg_toolkit *t;
    assert_int_equal(pg_toolkit_create(&pg_alloc_libc, &silent, &config, &t, NULL), PTXGEN_OK);
    return t;
}

#endif
