/* Device, pinned and managed memory: host memory that the emulator is told of. */
#ifndef PG_STAND_IN_MEMORY_H
#define PG_STAND_IN_MEMORY_H

#include "stand_in/device.h"

typedef enum pg_memory_kind {
    PG_MEMORY_NONE,
    PG_MEMORY_HOST,
    PG_MEMORY_DEVICE,
    PG_MEMORY_MANAGED
} pg_memory_kind;

typedef struct pg_allocation {
    void *address;
    size_t bytes;
    pg_memory_kind kind;
    bool registered; /* the program's own memory: never freed by us */
    unsigned flags;  /* of cudaHostAlloc or cudaHostRegister */
} pg_allocation;

/* 256-byte aligned, filled with a pattern, so that what nobody wrote looks like it; but large ones
 * cost only the pages that are touched. 0 bytes: NULL. */
pg_cuda_error pg_memory_allocate(size_t bytes, pg_memory_kind kind, unsigned flags, void **out);
/* NULL is allowed. InvalidValue: nothing of this kind begins there (kind NONE: any but
 * registered memory). */
pg_cuda_error pg_memory_free(void *address, pg_memory_kind kind);
pg_cuda_error pg_memory_register(void *address, size_t bytes, unsigned flags);
pg_cuda_error pg_memory_unregister(void *address);
/* The allocation that holds the address; false: none. */
bool pg_memory_find(const void *address, pg_allocation *out);
/* False, and pg_complain has said it: a copy that begins in an allocation does not end in it.
 * `what`: its destination or source. */
bool pg_memory_holds(const char *what, const void *address, size_t bytes);
/* Bytes of device memory in use. */
uint64_t pg_memory_used(void);

/* Rows of bytes: what every copy and fill of the API comes to. Sizes and pitches in bytes. */
typedef struct pg_copy {
    char *to;
    const char *from;
    size_t to_pitch, to_slice, from_pitch, from_slice;
    size_t width, height, depth;
} pg_copy;
typedef struct pg_fill {
    char *to;
    size_t pitch, slice;
    unsigned value, element_bytes;
    size_t width, height, depth; /* width in elements */
} pg_fill;
void pg_copy_run(const pg_copy *copy);
void pg_fill_run(const pg_fill *fill);

#endif
