/* What is installed beside the library: the pack of generic kernels, and parts of the library that
 * are opened when they are needed. */
#ifndef PG_SHIPPED_H
#define PG_SHIPPED_H

#include "base/file_path.h"

/* The path of a file that is there, by where this code lies: a folder `ptxgen` beside the library,
 * or in the lib folder of the program's prefix. "" when there is none. */
void pg_shipped_path(const char *name, char out[PG_PATH_MAX + 1]);

#endif
