/* Runs a kernel of the library on the emulator through its launch record: emits the PTX by
 * parameter text, lets the family fill the record from the public argument struct (host
 * pointers), hands both to the emulator. */
#ifndef EMULATED_CALL_H
#define EMULATED_CALL_H

#include "test.h"

#include "ptxgen/ptxgen.h"

typedef struct emulated_buffer {
    const char *name;
    const void *address;
    size_t bytes;
    bool writable;
} emulated_buffer;

typedef struct emulated_call {
    const char *family, *params;
    const void *args; /* checked: strides filled in */
    const emulated_buffer *buffers;
    size_t buffer_count;
    int sm_count;
    bool check;        /* checking mode: a report fails the call */
    uint64_t isa_seed; /* 0: order=hw */
    bool fast;         /* float arithmetic in the tensor core */
} emulated_call;

/* Fails the test with the library's or the emulator's message. */
void emulate_call(ptxgen *ctx, const emulated_call *call);

#endif
