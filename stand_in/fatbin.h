/* PTX out of what nvcc and others embed: fat binaries, their wrappers, plain PTX text. */
#ifndef PG_STAND_IN_FATBIN_H
#define PG_STAND_IN_FATBIN_H

#include <stdbool.h>
#include <stddef.h>

/* What was found: text for the best architecture, or the sentence that says why there is none. */
typedef struct pg_ptx_image {
    char *text; /* NUL-terminated, malloc; NULL: see why */
    size_t length;
    unsigned sm; /* of the entry; 0: plain text */
    char why[200];
} pg_ptx_image;

/* `image` is PTX text, a fat binary or a wrapper of one. The entry of the highest architecture
 * that runs on `sm` (compute capability times ten) is taken. False with `why`: a cubin, none
 * that fits, damaged, out of memory. */
bool pg_ptx_from_image(const void *image, unsigned sm, pg_ptx_image *out);
/* The images that the linker of nvcc -rdc=true made this one of, up to a NULL; NULL: it was not
 * linked. */
const void *const *pg_image_parts(const void *image);

#endif
