/* NumPy's .npy files: versions 1 to 3, one dense little-endian array in C order. Anything else
 * is refused with a sentence that says how to convert it. Format: numpy.lib.format (NEP 1). */
#ifndef NPY_H
#define NPY_H

#include "ptxgen/status.h"
#include "ptxgen/types.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {
    NPY_MAX_RANK = 8,
    NPY_PREAMBLE_BYTES = 12,     /* magic, version and the longest length field */
    NPY_MAX_HEADER_BYTES = 10000 /* numpy's own limit when it reads an untrusted file */
};

typedef struct npy_header {
    /* PTXGEN_BF16 of '<V2' (how ml_dtypes' bfloat16 is saved) and 'bfloat16'; PTXGEN_U16 of '<u2'
     * and '|V2', 16 bits that the user may name; PTXGEN_U8 also of '|V1' (ml_dtypes' 8-bit types)
     * and '|b1'. */
    ptxgen_dtype type;
    char descr[12]; /* as in the file, so that a result can be saved as its input was */
    int rank;
    int64_t shape[NPY_MAX_RANK];
    size_t count, elem_bytes, data_bytes; /* count * elem_bytes == data_bytes fits a ptrdiff_t */
} npy_header;

typedef struct npy_array {
    npy_header header;
    void *data; /* 64-byte aligned, never NULL */
} npy_array;

/* Bytes from the start of the file to its data. `first` are the first n bytes, n <=
 * NPY_PREAMBLE_BYTES. EINVAL: no .npy file, unknown version, a header of unbelievable length. */
ptxgen_status npy_data_offset(const uint8_t *first, size_t n, size_t *offset, ptxgen_error *err);
/* Reads bytes[0..offset): the whole header. EINVAL says what is wrong and what to do. */
ptxgen_status npy_parse_header(const uint8_t *bytes, size_t offset, npy_header *out,
                               ptxgen_error *err);
/* EINVAL for 16-bit words that no dtype=bf16 names; dtype: what the user said, or NULL. */
ptxgen_status npy_fail_bare_words(const char *path, const npy_header *, const char *dtype,
                                  ptxgen_error *err);
/* The header of a new array; no size is negative. A type that NumPy has not is bytes. */
ptxgen_status npy_make_header(ptxgen_dtype type, int rank, const int64_t *shape, npy_header *out,
                              ptxgen_error *err);
/* NumPy's name of a type, "float32"; "uint8" where it has none. */
const char *npy_type_name(ptxgen_dtype type);
/* "f32", "s32" or "i32": the type of that name, if a file can say it; else PTXGEN_DTYPE_NONE. */
ptxgen_dtype npy_type_of_word(const char *word);
/* "(1000, 512)" into text, always terminated. */
const char *npy_shape_text(const npy_header *header, char *text, size_t size);

/* Reads a file ("-": standard input). The message begins with the path. EIO when it cannot be
 * read, EINVAL when it is not an array we take: damaged, cut short, too long, another element
 * type or order. */
ptxgen_status npy_load(const char *path, npy_array *out, ptxgen_error *err);
/* A zeroed array; type and shape decide the rest of the header. */
ptxgen_status npy_create(ptxgen_dtype type, int rank, const int64_t *shape, npy_array *out,
                         ptxgen_error *err);
/* Writes header (version 1, data aligned to 64) and data; the caller looks at ferror. */
void npy_write(const npy_array *array, FILE *file);
void npy_free(npy_array *array);

#endif
