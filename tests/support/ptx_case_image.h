/* Textures and surfaces of an instruction test on a GPU: an array of the driver with the content
 * of a buffer, and the object over it. The results are the driver's. */
#ifndef PTX_CASE_IMAGE_H
#define PTX_CASE_IMAGE_H

#include "ptx_case.h"

typedef struct ptx_case_image {
    void *array;
    uint64_t object;
} ptx_case_image;

int ptx_case_make_image(const ptx_case_param *p, uint64_t buffer, ptx_case_image *image,
                        uint64_t *handle);
/* Copies what a surface holds back into its buffer. */
int ptx_case_read_image(const ptx_case_param *p, const ptx_case_image *image, uint64_t buffer);
void ptx_case_free_image(const ptx_case_param *p, ptx_case_image *image);

#endif
