/* Runs a family's call on an emulator of one's own, with buffers known by operand: what the
 * kernels may touch is what the operands are, and checking mode reports by operand. The call's
 * launches come from ptxgen_call_describe; any other runtime could be driven the same way. */
#ifndef PTXGEN_RUN_EMULATE_H
#define PTXGEN_RUN_EMULATE_H

#include "ptxgen/ptxgen.h"
#include "ptxgen/emulator.h"

/* The smallest position and its value, as in the library's own record; position -1: none was
 * bad. */
typedef struct run_bad_index {
    _Alignas(16) int64_t position;
    int64_t value;
} run_bad_index;

typedef struct run_emulation {
    ptxgen *ctx;
    size_t family; /* of the kernel: its place in ptxgen_family_name */
    ptxgen_kernel *kernel;
    const ptxgen_tensor *tensors; /* host memory */
    size_t count;
    run_bad_index *bad;
    /* Called when all launches have run, with the module that they ran; may be NULL. */
    ptxgen_status (*seen)(void *user, const ptxgen_emulator_module *module, ptxgen_error *err);
    void *user;
} run_emulation;

/* Adds the operands as buffers to `emu`, and runs every launch. Reports and statistics are the
 * emulator's. */
ptxgen_status run_emulate(ptxgen_emulator *emu, const run_emulation *e, ptxgen_error *err);

#endif
