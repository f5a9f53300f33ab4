/* Heap sort: the largest element is at the root; it is swapped to the end and the rest is repaired.
 */
#include "base/sort.h"

#include <string.h>

enum { ELEMENT_MAX = 64 };

static void swap(char *a, char *b, size_t size)
{
    char t[ELEMENT_MAX];
    memcpy(t, a, size);
    memcpy(a, b, size);
    memcpy(b, t, size);
}

static void sift_down(char *base, size_t root, size_t count, size_t size,
                      int (*compare)(const void *, const void *))
{
    for (;;) {
        size_t child = 2 * root + 1;
        if (child >= count)
            return;
        if (child + 1 < count && compare(base + child * size, base + (child + 1) * size) < 0)
            child++;
        if (compare(base + root * size, base + child * size) >= 0)
            return;
        swap(base + root * size, base + child * size, size);
        root = child;
    }
}

void pg_sort(void *base, size_t count, size_t size, int (*compare)(const void *, const void *))
{
    for (size_t i = count / 2; i-- > 0;)
        sift_down(base, i, count, size, compare);
    for (size_t end = count; end-- > 1;) {
        swap(base, (char *)base + end * size, size);
        sift_down(base, 0, end, size, compare);
    }
}
