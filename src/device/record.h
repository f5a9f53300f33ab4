/* The bad-index record: 16 bytes of device memory, one per device and context, into which
 * kernels built with oob=record write the first bad index they met (the one with the smallest
 * position). */
#ifndef PG_BAD_INDEX_H
#define PG_BAD_INDEX_H

#include <stdint.h>

/* Empty: position = UINT64_MAX. A kernel replaces it as one 16-byte compare-and-swap when its
 * position is smaller, so that position and value always belong together. 16-byte aligned. */
typedef struct pg_bad_index {
    uint64_t position; /* in index */
    int64_t value;     /* index[position], sign-extended */
} pg_bad_index;

#define PG_BAD_INDEX_EMPTY ((pg_bad_index){UINT64_MAX, 0})

#endif
