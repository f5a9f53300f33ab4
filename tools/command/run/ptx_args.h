/* The arguments of `ptxgen run FILE.ptx`: numbers, .npy buffers, new buffers, tensor maps and
 * textures over a buffer, and a file's bytes by value. */
#ifndef PTXGEN_PTX_ARGS_H
#define PTXGEN_PTX_ARGS_H

#include "npy/npy.h"

#include "ptxgen/emulator.h"

enum { PTX_ARGS_MAX = 64, PTX_TENSOR_MAP_BYTES = 128 };

/* One --arg. */
typedef struct ptx_arg {
    const char *text;                /* as given, borrowed */
    npy_array buffer;                /* data NULL: no buffer */
    npy_array before;                /* its content before a run */
    ptxgen_emulator_texture texture; /* size 0: none */
    char *large;                     /* owned; what the kernel gets of bytes:FILE; NULL: value */
    _Alignas(64) unsigned char value[PTX_TENSOR_MAP_BYTES]; /* what the kernel gets */
} ptx_arg;

typedef struct ptx_args {
    ptx_arg *all; /* owned */
    size_t count;
    void *pointers[PTX_ARGS_MAX]; /* to the values, for the launch */
} ptx_args;

/* Reads texts[0..count) as the entry's parameters. EINVAL says which is wrong and how to write
 * it. */
ptxgen_status ptx_args_parse(const ptxgen_emulator_entry *entry, const char *const *texts,
                             size_t count, ptx_args *out, ptxgen_error *err);
/* Gives the emulator the buffers, with the content that they had before any run. */
ptxgen_status ptx_args_attach(ptx_args *, ptxgen_emulator *, ptxgen_error *err);
void ptx_args_free(ptx_args *);

#endif
