/* Who holds a byte lock. The lock file holds no data and a lock of an open file has no process
 * id, so the processes of this machine are asked (/proc), which takes milliseconds: for messages
 * only. */
#ifndef PG_CACHE_HOLDER_H
#define PG_CACHE_HOLDER_H

#include <stddef.h>
#include <stdint.h>

/* The holders of bytes first..last of the file open as `fd`, as text: "process 123 (server)", up
 * to three; "a process that cannot be seen from here" when none is found (another user's or
 * container's). */
void pg_lock_holders(int fd, uint64_t first, uint64_t last, char *out, size_t size);

#endif
