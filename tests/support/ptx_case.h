/* Instruction tests: a PTX file whose comments say how to launch its only entry, what goes in and
 * what must come out. The same files run on the emulator and, through the CUDA driver, on a GPU.
 *
 *     //: launch grid=1,1,1 block=64,1,1     also cluster=2,1,1 and shared=BYTES (dynamic)
 *     //: in a 4                             a buffer of 4-byte words that the kernel reads
 *     //= 00000000 80000000                  its words, hexadecimal
 *     //: out d 4                            a buffer that it writes (before the launch: 0xcd)
 *     //= 00000001                           what it must hold afterwards
 *     //: inout x 4                          what goes in, then after "//: expect" what comes out
 *     //: map m over=a type=float32 dims=64,32 strides=256 box=32,8 element_strides=1,1
 *                                            swizzle=128B fill=zero
 *     //: map ... box=CHANNELS pixels=8 lower=-1 upper=-1   the same for im2col
 *     //: texture t over=a format=32 channels=4 extent=8,4,1 layers=0 cube=0 address=1,1,1
 *                       linear=0 integers=0 normalized=0 border=0,0,0,0   the driver's numbers;
 *                                        also surface: what it holds afterwards is in the buffer
 *     //: exact                              matrix arithmetic is compared bit for bit
 *     //: fails TEXT                         the emulator must stop and say TEXT; no GPU run
 *     //: report TEXT|TEXT                   checking mode reports one (or stops, "error: TEXT")
 *     //: at line=7 other=5 thread=0,0,0/1/4 where=TEXT   what it must say; thread: order=hw
 *     //: seeds 12                           how many of the 21 runs find it; without it all do
 *     //: advice TEXT                        checking mode must give this advice, with order=hw
 *     //: dependent NAME                     written by the grid before (griddepcontrol)
 *     //: undefined NAME                     what it holds is undefined before the launch
 *     //: emulator                           not for a GPU (needs what only the emulator defines)
 *
 * Buffers and maps are the kernel's parameters in the order of their lines: a pointer each, a
 * tensor map each. */
#ifndef PTX_CASE_H
#define PTX_CASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PTX_CASE_MAX_PARAMS = 64, PTX_CASE_NAME = 64 };

/* A parameter: a buffer, or a tensor map over one. */
typedef struct ptx_case_param {
    char name[PTX_CASE_NAME];
    unsigned word;     /* bytes of a word */
    uint8_t *bytes;    /* what the buffer holds before the launch, and after an emulated one */
    uint8_t *expected; /* what it must hold afterwards; NULL: not compared */
    size_t size;
    bool is_map; /* or an image: no buffer */
    bool is_image, is_surface;
    uint32_t format, channels, extent[3], layers, cube, linear, integers, normalized;
    int32_t address[3], border[4];
    char over[PTX_CASE_NAME];
    int type, swizzle; /* the driver's numbers */
    bool fill_nan;
    uint32_t rank, box[5], element_strides[5];
    uint64_t dims[5], strides[4];
    int wide;        /* of a map for im2col::w: 1, 2 */
    uint32_t pixels; /* of a map for im2col, with the corners of its pixel box */
    int32_t lower[3], upper[3];
} ptx_case_param;

typedef struct ptx_case {
    char *text; /* the file, NUL-terminated */
    size_t length;
    uint32_t grid[3], block[3], cluster[3];
    uint32_t shared;
    ptx_case_param params[PTX_CASE_MAX_PARAMS];
    size_t param_count;
    char at[160], advice[80];
    unsigned seeds;
    char fails[128], report[128], dependent[PTX_CASE_NAME], undefined[PTX_CASE_NAME];
    bool exact, emulator_only;
    char error[200]; /* of reading, "" when fine */
} ptx_case;

/* Reads a file; false with case->error. Free in any case. */
bool ptx_case_read(const char *path, ptx_case *c);
void ptx_case_free(ptx_case *c);
/* The buffer of this name, or NULL. */
ptx_case_param *ptx_case_buffer(ptx_case *c, const char *name);
/* Compares all buffers with what is expected; false with a message that names the first
 * difference. */
bool ptx_case_check(const ptx_case *c, char *message, size_t size);

/* Whether the outcome (a report's name and text, or "error: message") is one that the `report`
 * line asks for. */
bool ptx_case_expects(const ptx_case *c, const char *outcome);

/* How to run a case on the emulator. */
typedef struct ptx_case_mode {
    uint64_t isa_seed; /* 0: order=hw */
    bool check; /* checking mode: a report fails the case, and so does the lack of the `advice` */
} ptx_case_mode;
bool ptx_case_emulate(ptx_case *c, ptx_case_mode mode, char *message, size_t size);

/* The driver, with the primary context of device 0 current in this thread; NULL with a message
 * when there is none of compute capability 9.0. For the life of the process. */
struct pg_driver;
const struct pg_driver *ptx_case_open_gpu(char *message, size_t size);
/* Runs a case there, from its assembled cubin; the buffers then hold what the GPU left in them.
 * False with a message when the driver refuses or the kernel fails: the context may then be
 * lost. */
bool ptx_case_launch(ptx_case *c, const struct pg_driver *driver, const void *cubin, char *message,
                     size_t size);

/* Writes the case to a file, with what its buffers hold now as the expected data. False: errno
 * says why. */
bool ptx_case_write(const ptx_case *c, const char *path);

#endif
