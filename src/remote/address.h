/* Where a remote store is, as cache_remote has it: a place and words behind it.
 *
 *     redis://[[USER]:PASSWORD@]HOST[:PORT][/DATABASE]     Redis (also Valkey), TCP
 *     redis+unix:///PATH/OF/SOCKET                        Redis on this machine
 *     crsh:/PATH/OF/SOCKET                                a storage helper that is running
 *     SCHEME://...                                        the storage helper ccache-storage-SCHEME
 *     read-only                                           nothing is sent
 *     @NAME=VALUE                                         an attribute for the helper
 *
 * User, password and values may have %-escapes. */
#ifndef PG_REMOTE_ADDRESS_H
#define PG_REMOTE_ADDRESS_H

#include "base/error.h"

#include <stdbool.h>

enum { PG_ADDRESS_TEXT = 512, PG_ADDRESS_ATTRIBUTES = 8 };

typedef enum pg_address_kind {
    PG_ADDRESS_REDIS,
    PG_ADDRESS_REDIS_UNIX,
    PG_ADDRESS_HELPER_SOCKET,
    PG_ADDRESS_HELPER
} pg_address_kind;

typedef struct pg_address {
    pg_address_kind kind;
    bool read_only;
    char url[PG_ADDRESS_TEXT];   /* the place as it was written */
    char shown[PG_ADDRESS_TEXT]; /* all of it, without passwords and attributes' values */
    char scheme[32];
    char host[256]; /* of Redis; of a socket: its path */
    int port, database;
    char user[128], password[256];
    int attributes;
    struct {
        char name[64], value[256];
    } attribute[PG_ADDRESS_ATTRIBUTES];
} pg_address;

ptxgen_status pg_address_read(const char *text, pg_address *out, ptxgen_error *err);
/* `text` without what is secret; good enough for a text that is no address. */
void pg_address_show(const char *text, char out[PG_ADDRESS_TEXT]);

#endif
