/* Sorting in place without memory of its own (libc's qsort may allocate behind the allocator hook).
 */
#ifndef PG_SORT_H
#define PG_SORT_H

#include <stddef.h>

/* Heap sort, ascending, not stable. Elements of at most 64 bytes; compare as for qsort. */
void pg_sort(void *base, size_t count, size_t size, int (*compare)(const void *, const void *));

#endif
