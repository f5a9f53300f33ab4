/* Which build of a tool or library a file is, told from the file alone: nothing is loaded or run.
 *
 * The version is NVIDIA's own ("13.0.88", in the read-only data of every CUDA compiler part).
 * The build is the linker's build-id where the file has one (the libraries do), else a hash over
 * the size and 64 evenly spread blocks of 4 KiB (ptxas has none): two builds of a compiler
 * differ in nearly every block, and a hash of all 38 MB would cost 30 ms where this costs 0.2.
 * Small files are hashed whole. Neither path nor times count, so equal toolkits in different
 * places have equal identities. */
#ifndef PG_TOOL_IDENTITY_H
#define PG_TOOL_IDENTITY_H

#include "ptxgen/status.h"

#include <stdbool.h>

typedef struct pg_tool_identity {
    char version[24]; /* "13.0.88", "" if unknown */
    char build[48];   /* hex */
    bool is_elf;      /* false: a wrapper script, say */
} pg_tool_identity;

/* 0, or an errno and *err says why the file cannot be read. */
int pg_identify_file(const char *path, pg_tool_identity *out, ptxgen_error *err);

/* Adds what a tool answered to --version: the version, and the text to the build. */
void pg_identify_text(const char *answer, pg_tool_identity *id);

#endif
