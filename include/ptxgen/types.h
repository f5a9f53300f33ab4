/* Types that every header of ptxgen shares: contexts and kernels by name, streams, devices,
 * element types, architectures. */
#ifndef PTXGEN_TYPES_H
#define PTXGEN_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ptxgen/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ptxgen ptxgen;               /* context: configuration, cache, devices */
typedef struct ptxgen_kernel ptxgen_kernel; /* one specialized kernel: PTX, cubin, loaded modules */

/* A CUDA stream (CUstream, cudaStream_t); NULL is the legacy default stream. */
typedef void *ptxgen_stream;

typedef enum ptxgen_device_kind {
    PTXGEN_DEVICE_AUTO, /* a GPU when the driver finds one, else the emulator */
    PTXGEN_DEVICE_CUDA,
    PTXGEN_DEVICE_EMULATOR /* host memory is device memory */
} ptxgen_device_kind;

typedef enum ptxgen_assembler {
    PTXGEN_ASSEMBLER_AUTO,  /* the first below that is there and keeps what the kernel needs */
    PTXGEN_ASSEMBLER_PTXAS, /* child process */
    PTXGEN_ASSEMBLER_NVPTXCOMPILER, /* in process, if the library was built with it */
    PTXGEN_ASSEMBLER_NVJITLINK,     /* in process, shared library; drops setmaxnreg */
    PTXGEN_ASSEMBLER_DRIVER         /* the CUDA driver's linker; drops setmaxnreg */
} ptxgen_assembler;

typedef enum ptxgen_dtype {
    PTXGEN_DTYPE_NONE,
    PTXGEN_F32,
    PTXGEN_F16,
    PTXGEN_BF16,
    PTXGEN_S32,
    PTXGEN_U32,
    PTXGEN_S64,
    PTXGEN_U64,
    PTXGEN_F64,
    PTXGEN_S16,
    PTXGEN_U16,
    PTXGEN_S8,
    PTXGEN_U8, /* also bool and bare bytes */
    PTXGEN_E4M3,
    PTXGEN_E5M2,
    PTXGEN_E2M1,  /* 4 bits, two to a byte, the one with the even index in the low half */
    PTXGEN_UE8M0, /* a power of two: scales of groups */
    PTXGEN_C64,   /* two f32, a complex number: moved as a whole */
    PTXGEN_C128   /* two f64 */
} ptxgen_dtype;
/* "bf16"; "none" for a number that is no element type. Static storage. */
PTXGEN_API const char *ptxgen_dtype_name(ptxgen_dtype dtype);
/* Bits of an element; 0 for a number that is no element type. */
PTXGEN_API int ptxgen_dtype_bits(ptxgen_dtype dtype);
typedef enum ptxgen_index_type { PTXGEN_INDEX_I64, PTXGEN_INDEX_I32 } ptxgen_index_type;

/* An architecture as a number: SM version * 10 + suffix (0 none, 1 'a', 2 'f'): sm_90a is 901. */
typedef int64_t ptxgen_arch;
/* "sm_90a" -> 901. EINVAL with the list of known ones for any other text. */
PTXGEN_API ptxgen_status ptxgen_arch_parse(const char *text, ptxgen_arch *out, ptxgen_error *err);
/* 901 -> "sm_90a"; "sm_?" for an unknown number. Static storage. */
PTXGEN_API const char *ptxgen_arch_name(ptxgen_arch arch);

/* What a call does whose kernel is not ready. */
typedef enum ptxgen_stall {
    PTXGEN_STALL_AUTO, /* as the context says */
    PTXGEN_STALL_WAIT, /* compiles and loads it, and waits for that */
    /* Runs the family's generic kernel at once; choosing, compiling and loading the call's own
     * go on behind, and later calls take it. Results have equal bits before and after, unless
     * ptxgen_call_generic says that they may not. Nothing is swapped while the stream is
     * captured. A family without a generic kernel (tcgen05_copy), and any call with a user
     * function, gives EPENDING until its own is ready. A generic kernel that is in no cache or
     * pack is compiled in the first call that needs it; compiles_in_call counts that. The CUDA
     * context of the call must live until the kernel is made: end it after ptxgen_destroy. */
    PTXGEN_STALL_NEVER
} ptxgen_stall;

#ifdef __cplusplus
}
#endif

#endif
