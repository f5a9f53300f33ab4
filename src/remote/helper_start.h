/* Finding a storage helper, starting it once for all processes of the user, connecting to it. */
#ifndef PG_HELPER_START_H
#define PG_HELPER_START_H

#include "remote/transport.h"

/* The program "ccache-storage-SCHEME" in a list of folders, into out[size]; false: it is in
 * none. */
bool pg_helper_find(const char *scheme, const char *path, char *out, size_t size);
/* Connects to the helper of the connection's address; when none listens, one process starts it. */
pg_wire pg_helper_connect(pg_connection *);

#endif
