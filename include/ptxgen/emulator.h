/* The emulator: runs PTX for NVIDIA GPUs up to Hopper and Blackwell (sm_100) on the CPU, with
 * the asynchronous machinery (mbarriers, bulk and tensor copies, wgmma, tcgen05 and its tensor
 * memory, clusters), and finds races, deadlocks and misuse of it. It needs no GPU, no driver and
 * no toolkit. Host memory is device memory: a pointer argument is an ordinary host pointer.
 *
 *     ptxgen_emulator *emu;
 *     ptxgen_emulator_module *module;
 *     ptxgen_emulator_entry *entry;
 *     ptxgen_emulator_create(NULL, &emu, &err);
 *     ptxgen_emulator_load(emu, text, strlen(text), "kernel.ptx", &module, &err);
 *     ptxgen_emulator_find(module, "scale", &entry, &err);
 *     ptxgen_emulator_add_buffer(emu, "x", x, n * sizeof *x, PTXGEN_EMULATOR_WRITABLE, &err);
 *     float factor = 2;
 *     void *args[] = {&x, &n, &factor};
 *     ptxgen_emulator_launch launch = {.size = sizeof launch,
 *                                      .grid = {blocks, 1, 1}, .block = {256, 1, 1},
 *                                      .args = args, .arg_count = 3};
 *     ptxgen_emulator_run(entry, &launch, &err);
 *
 * What a kernel may touch is what was added with ptxgen_emulator_add_buffer (and its own
 * variables); anything else is an error that names the PTX line, the thread and the nearest
 * buffer. `trust_pointers` switches that off: then a bad pointer of the kernel is a bad pointer
 * of this process.
 *
 * Results are those of the hardware where the ISA defines them: rounding, NaN bits, .ftz, and
 * with PTXGEN_EMULATOR_EXACT the tensor cores bit for bit. Approximate instructions (ex2.approx,
 * ...) are rounded correctly, so their last bits may differ from a GPU's. A program without
 * races gives the same bits whatever `threads`, `order` and `seed` are, except for the order of
 * floating-point atomics; with `threads` = 1 or order=isa a run is repeatable to the last bit.
 *
 * The tensor core of Blackwell was at nobody's hand: its exact arithmetic is a published model,
 * its layouts are those of the ISA's tables. Where these leave something open the emulator
 * chooses, and says so at the code: the halves of a word above an f16 accumulator (zero), the
 * direction of tcgen05.shift and .ashift (a row takes what the next has). Not executed, and
 * refused with the line: K = 96 of sm_103a, st.bulk, st.async and red.async on global memory,
 * fma.oob, istypep, the matrix instructions and formats of ldmatrix that only sm_120 has.
 *
 * Conventions are those of ptxgen.h: structs begin with `size`, zero means default, getters
 * lend. Every call may come from any thread; launches of one emulator may overlap. Objects must
 * not be destroyed while in use. Source of the semantics: PTX ISA 9.0. */
#ifndef PTXGEN_EMULATOR_H
#define PTXGEN_EMULATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ptxgen/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ptxgen_emulator ptxgen_emulator;
typedef struct ptxgen_emulator_module ptxgen_emulator_module; /* parsed PTX and its variables */
typedef struct ptxgen_emulator_entry ptxgen_emulator_entry;   /* a kernel, ready to run */

typedef enum ptxgen_emulator_order {
    PTXGEN_EMULATOR_ORDER_HW, /* copies complete in order, soon: for results */
    /* whatever the ISA does not order is drawn from `seed`: for finding races */
    PTXGEN_EMULATOR_ORDER_ISA
} ptxgen_emulator_order;

typedef enum ptxgen_emulator_arithmetic {
    PTXGEN_EMULATOR_EXACT, /* tensor cores bit for bit */
    /* tensor cores in float arithmetic: several times faster, last bits differ */
    PTXGEN_EMULATOR_FAST
} ptxgen_emulator_arithmetic;

/* What config.trace hears. */
typedef enum ptxgen_emulator_event_kind {
    PTXGEN_EMULATOR_WARP_STARTS,
    PTXGEN_EMULATOR_WARP_ENDS,
    PTXGEN_EMULATOR_ISSUES, /* an asynchronous operation: `operation`, `unit`, `bytes` */
    /* `operation` has moved its data and signals the mbarrier at `barrier` of `barrier_cta` */
    PTXGEN_EMULATOR_SIGNALS,
    PTXGEN_EMULATOR_COMPLETES, /* `operation` */
    /* the mbarrier at `barrier` of `barrier_cta` has completed phase number `phase` */
    PTXGEN_EMULATOR_PHASE,
    PTXGEN_EMULATOR_WAITS,   /* a test of an mbarrier was vain ... */
    PTXGEN_EMULATOR_WAITED,  /* ... or succeeded */
    PTXGEN_EMULATOR_ARRIVES, /* at named barrier `barrier` */
    PTXGEN_EMULATOR_PASSES,  /* it */
    PTXGEN_EMULATOR_FENCES,  /* fence.proxy.async */
    /* the warp's first plain write of shared memory since it began or fenced */
    PTXGEN_EMULATOR_WRITES,
    PTXGEN_EMULATOR_GROUPS_WAITED, /* the warp has waited for groups of `unit` */
    /* Tensor memory of the CTA: `columns` from `column` on. */
    PTXGEN_EMULATOR_TENSOR_ALLOCATES,
    PTXGEN_EMULATOR_TENSOR_FREES,
    PTXGEN_EMULATOR_TENSOR_USES /* `use`, in `lanes`; it `reads`, it `writes` */
} ptxgen_emulator_event_kind;

typedef struct ptxgen_emulator_event {
    ptxgen_emulator_event_kind kind;
    /* warp instructions of the launch so far, in the emulator's order: not a GPU's time. With
     * config.clock: nanoseconds of the GPU, of the CTAs that are followed */
    uint64_t time;
    uint32_t launch;  /* from 0, by emulator */
    uint64_t cluster; /* its number in the grid; the CTA's rank in it, and %ctaid */
    uint32_t cta_rank, cta[3];
    uint32_t warp;
    uint32_t line; /* of the PTX; 0: none */
    uint32_t operation;
    const char *unit;  /* as ptxgen_emulator_engine's names */
    uint64_t bytes;    /* WARP_STARTS: of shared memory that its CTA has */
    bool reads_shared; /* ISSUES: the operation reads shared memory through the async proxy */
    uint32_t barrier,
        barrier_cta; /* shared offset, or number of a named barrier; rank of its CTA */
    uint64_t phase;
    /* of tcgen05.mma "D", "A", "indices of A", "scales of A", "scales of B"; "tcgen05.cp",
     * "tcgen05.shift", "tcgen05.ld", "tcgen05.st" */
    const char *use;
    uint32_t column, columns;
    uint16_t lanes[8]; /* a bit for each of 128 */
    bool reads, writes;
} ptxgen_emulator_event;

typedef struct ptxgen_emulator_config {
    size_t size;
    /* Host threads that run clusters; 0: one per processor. order=isa and `check` always use
     * one. */
    unsigned threads;
    ptxgen_emulator_order order;
    uint64_t seed; /* order=isa */
    /* Find races, missing fences and barrier mistakes; see ptxgen_emulator_report. Slower. */
    bool check;
    ptxgen_emulator_arithmetic arithmetic;
    /* Limits that end a launch with PTXGEN_EBUDGET. Warp instructions of one launch; 0: no
     * limit. */
    uint64_t instruction_budget;
    /* Bytes of registers, shared and local memory of running clusters; 0: 8 GiB. */
    uint64_t memory_budget;
    /* Clusters that a host thread interleaves when they run long (persistent kernels that wait
     * for each other need all of theirs); 0: 132. */
    unsigned resident_clusters;
    bool trust_pointers;
    /* As in ptxgen_config. printf of a kernel and deadlock reports arrive here. */
    void *(*realloc)(void *user, void *p, size_t old_size, size_t new_size);
    void (*log)(void *user, ptxgen_log_level level, const char *line);
    void *user;
    ptxgen_log_level log_level;
    /* What kernels print with printf, as written, a call each; one at a time. NULL: lines to
     * `log`. */
    void (*print)(void *user, const char *text, size_t length);
    /* Count by line and by asynchronous unit: ptxgen_emulator_line_at, _engine_at. Slower, on
     * one host thread; not together with `check`. */
    bool profile;
    /* With `profile`: what happens, in order, on the thread that runs. `user` is that of the
     * log. */
    void (*trace)(void *user, const struct ptxgen_emulator_event *event);
    /* Estimate how long launches take on a GPU: "sm_90" (an H200) or "sm_100" (a B200);
     * ptxgen_emulator_time_at. Tensor cores in float arithmetic, on one host thread; only a sample
     * of the clusters may run, so results in memory are not to be used. Modules that this GPU does
     * not run are refused. Not together with order=isa, `check` or `profile`. */
    const char *clock;
} ptxgen_emulator_config;

/* config may be NULL. EINVAL for a value outside its enumeration, ENOMEM. Of config, launches
 * and tensor maps, `size` bytes are read: set it to the sizeof of the struct (0 is refused). */
PTXGEN_API ptxgen_status ptxgen_emulator_create(const ptxgen_emulator_config *config,
                                                ptxgen_emulator **out, ptxgen_error *err);
/* Modules and entries must be gone. NULL is allowed. */
PTXGEN_API void ptxgen_emulator_destroy(ptxgen_emulator *emu);

/* ---- programs -------------------------------------------------------------------------------- */

/* Parses and checks `length` bytes of PTX (a terminating NUL may be counted or not) and gives
 * module variables their memory. EPARSE: err has the first fault with line and column, the log
 * hook all of them. The text may come from anyone: it cannot crash the process. `file_name` is
 * for messages; NULL: "<ptx>". */
PTXGEN_API ptxgen_status ptxgen_emulator_load(ptxgen_emulator *emu, const char *text, size_t length,
                                              const char *file_name, ptxgen_emulator_module **out,
                                              ptxgen_error *err);
/* One of the texts that nvcc -rdc=true makes of a program's files; name: for messages. */
typedef struct ptxgen_emulator_text {
    const char *text;
    size_t length;
    const char *name;
} ptxgen_emulator_text;
/* The same for several texts, joined as nvlink does; EPARSE too when two define one name. Lines
 * that messages name count through the texts, one behind the other. */
PTXGEN_API ptxgen_status ptxgen_emulator_load_linked(ptxgen_emulator *emu,
                                                     const ptxgen_emulator_text *texts,
                                                     size_t count, const char *file_name,
                                                     ptxgen_emulator_module **out,
                                                     ptxgen_error *err);
/* The joined text, NUL-terminated, until the module is unloaded; NULL: it was not linked. */
PTXGEN_API const char *ptxgen_emulator_linked_text(const ptxgen_emulator_module *module,
                                                   size_t *length);
/* Entries found in it go with it. NULL is allowed. */
PTXGEN_API void ptxgen_emulator_unload(ptxgen_emulator_module *module);
/* Names of the entries; NULL past the end. */
PTXGEN_API const char *ptxgen_emulator_entry_name(const ptxgen_emulator_module *module, size_t i);
/* Decodes an entry (once). name NULL: the only one. EINVAL: no such entry; EUNSUPPORTED: an
 * instruction that the emulator does not execute, with its line. */
PTXGEN_API ptxgen_status ptxgen_emulator_find(ptxgen_emulator_module *module, const char *name,
                                              ptxgen_emulator_entry **out, ptxgen_error *err);

typedef struct ptxgen_emulator_param {
    const char *name;
    size_t offset, bytes; /* in the parameter block */
    bool is_array;        /* a byte array; 128 bytes: a tensor map */
    bool is_float;        /* declared .f32 or .f64 */
} ptxgen_emulator_param;
/* false past the end. */
PTXGEN_API bool ptxgen_emulator_entry_param(const ptxgen_emulator_entry *entry, size_t i,
                                            ptxgen_emulator_param *out);

/* What an entry asks of a launch. */
typedef struct ptxgen_emulator_entry_info {
    const char *name;
    size_t static_shared;          /* bytes of a CTA, without dynamic shared memory */
    size_t local;                  /* bytes of a thread */
    uint32_t max_threads;          /* .maxntid; 0: it sets no limit */
    uint32_t block[3], cluster[3]; /* .reqntid, .reqnctapercluster; 0: any */
} ptxgen_emulator_entry_info;
/* false when an argument is NULL. */
PTXGEN_API bool ptxgen_emulator_get_entry_info(const ptxgen_emulator_entry *entry,
                                               ptxgen_emulator_entry_info *out);

/* The host address and size of a .global or .const variable; false when there is none of this
 * name, or when an argument is NULL, which is so in all functions here that cannot say more. */
PTXGEN_API bool ptxgen_emulator_variable(const ptxgen_emulator_module *module, const char *name,
                                         void **address, size_t *bytes);

/* ---- memory ---------------------------------------------------------------------------------- */

enum {
    PTXGEN_EMULATOR_WRITABLE = 1,
    /* Written by the grid that the next launch depends on: reading it before griddepcontrol.wait
     * is reported in checking mode. */
    PTXGEN_EMULATOR_DEPENDENT = 2,
    /* Its content is undefined when a launch begins: reading a byte (also by an atomic) that the
     * launch has not written is reported in checking mode. */
    PTXGEN_EMULATOR_UNINITIALIZED = 4
};
/* Lets kernels use [address, address + bytes). The name (copied) appears in reports. EINVAL when
 * the range is empty or overlaps another buffer. */
PTXGEN_API ptxgen_status ptxgen_emulator_add_buffer(ptxgen_emulator *emu, const char *name,
                                                    void *address, size_t bytes, unsigned flags,
                                                    ptxgen_error *err);
/* Takes back the buffer that begins at `address`; false when there is none. */
PTXGEN_API bool ptxgen_emulator_remove_buffer(ptxgen_emulator *emu, const void *address);

/* What cuTensorMapEncodeTiled, ...Im2col and ...Im2colWide take, with the driver's numbers. The
 * result works on the emulator only. */
typedef struct ptxgen_emulator_tensor_map {
    size_t size;
    /* CU_TENSOR_MAP_DATA_TYPE_...: 0 u8, 1 u16, 2 u32, 3 s32, 4 u64, 5 s64, 6 f16, 7 f32, 8 f64,
     * 9 bf16, 10 f32_ftz, 11 tf32, 12 tf32_ftz, 13 16u4_align8b, 14 16u4_align16b, 15
     * 16u6_align16b */
    int data_type;
    uint32_t rank; /* 1..5 */
    void *address;
    uint64_t dims[5];            /* elements, innermost first */
    uint64_t strides[4];         /* bytes, of dimensions 1.. */
    uint32_t box[5];             /* elements */
    uint32_t element_strides[5]; /* 0 is taken as 1 */
    int interleave;              /* 0 none; 1 and 2 are refused */
    /* 0 none, 1 32B, 2 64B, 3 128B, 4 128B_ATOM_32B, 5 128B_ATOM_32B_FLIP_8B, 6 128B_ATOM_64B */
    int swizzle;
    int l2_promotion, oob_fill; /* 0 to 3, without effect; 0 zeros, else NaN */
    /* cuTensorMapEncodeIm2col: pixels per column; 0: tiled. box[0] is then the channels per
     * pixel and the rest of box is ignored; rank 3 to 5. */
    uint32_t im2col_pixels;
    int32_t im2col_lower[3], im2col_upper[3]; /* corners of the pixel box, W first */
    /* cuTensorMapEncodeIm2colWide: 1 for im2col::w, 2 for im2col::w::128 (128 pixels whatever
     * im2col_pixels says; not 0). Corners of W only; needs a swizzle. */
    int im2col_wide;
} ptxgen_emulator_tensor_map;
/* Writes 128 bytes. EINVAL with the rule that a value breaks (the driver's rules). */
PTXGEN_API ptxgen_status ptxgen_emulator_encode_tensor_map(const ptxgen_emulator_tensor_map *map,
                                                           void *out, ptxgen_error *err);

/* What cuTexObjectCreate and cuSurfObjectCreate take, with the driver's numbers, of an image
 * that lies in rows in host memory. A texture has one level; samplers of their own, names
 * (.texref), texel offsets, depth comparison and multi-sampling are not executed. Weights of
 * linear filtering are rounded to 8 fraction bits as the CUDA programming guide has it; how
 * hardware rounds what it then adds is not published. Checking mode does not watch these
 * accesses. */
typedef struct ptxgen_emulator_texture {
    size_t size;
    int format; /* CU_AD_FORMAT_...: 1 u8, 2 u16, 3 u32, 8 s8, 9 s16, 10 s32, 16 f16, 32 f32 */
    uint32_t channels;             /* 1, 2 or 4 */
    uint32_t width, height, depth; /* texels; 0 is taken as 1 for height and depth */
    uint32_t layers;               /* 0: not layered */
    int cube;                      /* layers are the faces of cubes */
    void *memory;                  /* must stay valid until the texture is removed */
    /* bytes from row to row, from slice or layer to the next; 0: dense */
    uint64_t pitch[2];
    int address_mode[3]; /* 0 wrap, 1 clamp, 2 mirror, 3 border */
    int linear;          /* filter; else the nearest texel */
    /* CU_TRSF_READ_AS_INTEGER: else integers are read as 0..1 or -1..1 */
    int read_integers;
    int normalized; /* CU_TRSF_NORMALIZED_COORDINATES */
    float border[4];
} ptxgen_emulator_texture;
/* The handle is what kernels take as a 64-bit value, for textures and surfaces. EINVAL with the
 * rule that a value breaks. Not while a launch uses the handle of a removed one. */
PTXGEN_API ptxgen_status ptxgen_emulator_add_texture(ptxgen_emulator *emu,
                                                     const ptxgen_emulator_texture *texture,
                                                     uint64_t *handle, ptxgen_error *err);
PTXGEN_API bool ptxgen_emulator_remove_texture(ptxgen_emulator *emu, uint64_t handle);

/* Where the byte with linear shared address `address` lies under a swizzle (the number is that
 * of ptxgen_emulator_tensor_map.swizzle), and the other way round: each is its own inverse. An
 * unknown swizzle is none. */
PTXGEN_API uint32_t ptxgen_emulator_swizzle(int swizzle, uint32_t address);

/* ---- running --------------------------------------------------------------------------------- */

typedef struct ptxgen_emulator_launch {
    size_t size;
    uint32_t grid[3], block[3]; /* 0 is taken as 1 */
    uint32_t cluster[3];        /* CTAs; 0: what the entry requires, else 1 */
    size_t dynamic_shared;      /* bytes */
    /* One pointer per parameter to a value of the parameter's size, as for cuLaunchKernel. */
    void *const *args;
    size_t arg_count;
    /* as cuLaunchCooperativeKernel: the whole grid runs at the same time and may synchronise */
    bool cooperative;
    uint64_t instruction_budget; /* of this launch; 0: that of the config */
} ptxgen_emulator_launch;

/* Runs the whole grid; returns when it has ended. EINVAL: the launch does not fit the entry.
 * EEMULATOR: the program did something undefined (out of bounds, trap, deadlock, ...); err says
 * what and at which PTX line. EBUDGET: a limit of the config. Buffers then hold whatever had
 * been written. */
PTXGEN_API ptxgen_status ptxgen_emulator_run(ptxgen_emulator_entry *entry,
                                             const ptxgen_emulator_launch *launch,
                                             ptxgen_error *err);

/* ---- what happened --------------------------------------------------------------------------- */

typedef struct ptxgen_emulator_stats {
    uint64_t launches;
    uint64_t warp_instructions;
    uint64_t global_read, global_written; /* bytes */
    uint64_t shared_read, shared_written;
    uint64_t local_read, local_written;
} ptxgen_emulator_stats;
/* Totals since the emulator was created or reset. */
PTXGEN_API void ptxgen_emulator_get_stats(const ptxgen_emulator *emu, ptxgen_emulator_stats *out);
PTXGEN_API void ptxgen_emulator_reset_stats(ptxgen_emulator *emu);
/* Warp instructions per row of the opcode table, i = 0, 1, ...; false past the end. The name is
 * static; ptxgen_emulator_get_instruction says for the same i how PTX spells it. */
PTXGEN_API bool ptxgen_emulator_opcode_count(const ptxgen_emulator *emu, size_t i,
                                             const char **name, uint64_t *count);

/* What the launches of a module did at a line of its PTX (config.profile). A request is a warp
 * instruction that accesses global (or shared) memory; sectors are the pieces of 32 bytes that
 * requests touch, by host addresses; wavefronts the passes over the 32 banks of 4 bytes that
 * they take, `shared_ideal` those that their bytes need. Lanes of 8 bytes are served in two
 * halves, of 16 bytes in four quarters. */
typedef struct ptxgen_emulator_line {
    size_t size;
    uint32_t line;
    uint64_t executions;   /* warp instructions, also those whose guard was false for all lanes */
    uint64_t active_lanes; /* their sum; executions x 32 without divergence */
    uint64_t global_requests, global_sectors;
    uint64_t shared_requests, shared_wavefronts, shared_ideal;
    uint64_t async_operations; /* issued here */
    uint64_t async_bytes; /* that they moved from or to global memory, else within shared memory */
    /* Registers of 32 bits in the PTX that hold a value which is read at this line or later, or
     * that it writes. An assembler may need more or fewer. */
    uint32_t live_registers;
} ptxgen_emulator_line;
/* Lines with executions, in order, i = 0, 1, ...; false past the end. Since the module was
 * loaded. */
PTXGEN_API bool ptxgen_emulator_line_at(const ptxgen_emulator_module *module, size_t i,
                                        ptxgen_emulator_line *out);

/* What the units that work on their own have done (config.profile): "cp.async", "cp.async.bulk",
 * "cp.async.bulk.tensor", "st.async", "wgmma", "tcgen05", "tcgen05.ld", "tcgen05.st", "other".
 * Bytes; multicast is read once and written in each CTA; of wgmma and tcgen05 the operands in
 * shared memory, and of tcgen05 those in tensor memory: D is read where it is added. */
typedef struct ptxgen_emulator_engine {
    size_t size;
    const char *name;
    uint64_t operations;
    uint64_t global_read, global_written, shared_read, shared_written;
    uint64_t tensor_read, tensor_written;
} ptxgen_emulator_engine;
/* false past the end. */
PTXGEN_API bool ptxgen_emulator_engine_at(const ptxgen_emulator *emu, size_t i,
                                          ptxgen_emulator_engine *out);

/* How long a launch takes on a GPU, by a model (config.clock; docs/clock.md says how well it is
 * known). A kernel is taken as called again and again, so L2 holds what the call before left. */
typedef struct ptxgen_emulator_time {
    size_t size;
    const char *arch, *gpu;
    double ns;        /* with the launch */
    double launch_ns; /* of it, the launch */
    /* the unit that is busiest, or "power", "atomics on few lines", "launch", "latency"; valid
     * until the next launch */
    const char *limit;
    double error_percent; /* mean error of kernels with such a limit */
    double power_ns;      /* below which power does not let it fall; 0: no matrix instructions */
    double dram_bytes, flop;
    uint64_t clusters, sampled; /* of the grid; followed in detail */
    uint32_t occupancy;         /* CTAs on an SM, assumed */
    bool whole;                 /* all clusters ran: L2 has seen every line */
} ptxgen_emulator_time;
/* Launches in order, i = 0, 1, ...; false past the end. */
PTXGEN_API bool ptxgen_emulator_time_at(const ptxgen_emulator *emu, size_t i,
                                        ptxgen_emulator_time *out);
/* How busy unit number `unit` was during launch i, 0 to 1; false past the last unit. */
PTXGEN_API bool ptxgen_emulator_time_unit_at(const ptxgen_emulator *emu, size_t i, size_t unit,
                                             const char **name, double *busy);

/* X(name, text, class): kinds of reports of checking mode. Names stay what they are: `ptxgen run
 * --ignore` takes them. */
#define PTXGEN_EMULATOR_REPORT_MAP(X)                                                              \
    X(RACE_SHARED, "race on shared memory", UNDEFINED)                                             \
    X(RACE_GLOBAL, "race on global memory", UNDEFINED)                                             \
    X(MISSING_PROXY_FENCE, "missing proxy fence", UNDEFINED)                                       \
    X(MISSING_INIT_FENCE, "mbarrier used before its initialisation is visible", UNDEFINED)         \
    X(READ_BEFORE_ARRIVAL, "read before the copy has arrived", UNDEFINED)                          \
    X(REUSE_BEFORE_RELEASE, "memory reused before its reader is done", UNDEFINED)                  \
    X(UNINITIALIZED, "read of memory that nothing has written", UNDEFINED)                         \
    X(STALE_PHASE, "wait satisfied by an older phase", UNDEFINED)                                  \
    X(BARRIER_MISUSE, "barrier misused", UNDEFINED)                                                \
    X(BYTE_COUNT, "byte count of an mbarrier does not add up", UNDEFINED)                          \
    X(FOREIGN_BULK_GROUP, "bulk group waited for by a thread that did not issue it", UNDEFINED)    \
    X(EXIT_IN_FLIGHT, "exit with work in flight", UNDEFINED)                                       \
    X(MISSING_GRID_WAIT, "dependent grid's data read before griddepcontrol.wait", UNDEFINED)       \
    X(ACCUMULATOR_IN_FLIGHT, "wgmma registers used before wait_group", UNDEFINED)                  \
    X(UNNEEDED_FENCE, "fence that was not needed in this run", ADVICE)                             \
    X(RACE_TENSOR, "race on tensor memory", UNDEFINED)                                             \
    X(MISSING_TENSOR_FENCE, "missing tcgen05 fence", RELIANCE)                                     \
    X(TENSOR_NOT_WAITED, "tcgen05 operation used before it was waited for", UNDEFINED)             \
    X(TENSOR_ORDER, "order of tcgen05 operations that the ISA does not promise", UNDEFINED)        \
    X(TENSOR_FREED, "tensor memory given back while in use", UNDEFINED)                            \
    X(NARROW_SCOPE, "synchronised at too narrow a scope", UNDEFINED)                               \
    X(DEFAULT_SCOPE, "mbarrier of another CTA used at the default scope .cta", RELIANCE)           \
    X(LOADED_REGISTER, "register of a tcgen05.ld used before it was waited for", RELIANCE)         \
    X(REUSE_WITHOUT_FENCE, "missing proxy fence between a read and an asynchronous write",         \
      RELIANCE)                                                                                    \
    X(COPY_WITHOUT_FENCE, "data of cp.async used by the async proxy without a fence", RELIANCE)    \
    X(EXITED_CTA, "shared memory of a CTA that may have exited", UNDEFINED)                        \
    X(REGISTER_COUNT, "setmaxnreg not executed alike", UNDEFINED)                                  \
    X(INACTIVE_LANE, "value of a lane that does not take part", UNDEFINED)                         \
    X(UNDEFINED_REGISTER, "register used that nothing has written", UNDEFINED)                     \
    X(CARRY, "carry flag used that nothing has written", UNDEFINED)                                \
    X(READ_ONLY, "ld.global.nc of data that the kernel writes", UNDEFINED)                         \
    X(TENSOR_MAP, "tensor map changed without its proxy fence", UNDEFINED)                         \
    X(DESCRIPTOR, "matrix descriptor whose groups overlap", UNDEFINED)                             \
    X(SAME_VALUE, "same value stored twice without order", ADVICE)                                 \
    X(DIVERGENT_BARRIER, "aligned barrier in divergent code", ADVICE)                              \
    X(TENSOR_LANE, "tcgen05.ld or .st at lanes of another warp", RELIANCE)

/* How a report is to be taken. */
typedef enum ptxgen_emulator_report_class {
    PTXGEN_EMULATOR_UNDEFINED, /* the ISA does not define what the program does */
    /* The ISA does not define it either, but today's ptxas and hardware are known to do what is
     * meant. */
    PTXGEN_EMULATOR_RELIANCE,
    PTXGEN_EMULATOR_ADVICE /* no defect */
} ptxgen_emulator_report_class;

typedef enum ptxgen_emulator_report_kind {
#define PTXGEN_EMULATOR_REPORT_ENUM(name, text, report_class) PTXGEN_EMULATOR_REPORT_##name,
    PTXGEN_EMULATOR_REPORT_MAP(PTXGEN_EMULATOR_REPORT_ENUM)
#undef PTXGEN_EMULATOR_REPORT_ENUM
        PTXGEN_EMULATOR_REPORT_KINDS
} ptxgen_emulator_report_kind;

/* One defect of a program: reported once per entry, kind and pair of PTX lines, with the first
 * threads that met it. Strings are "" where there is nothing to say. */
typedef struct ptxgen_emulator_report {
    ptxgen_emulator_report_kind kind;
    int line;       /* of the PTX text: the access or instruction that is wrong */
    int other_line; /* the one it conflicts with; 0: none */
    uint32_t cta[3], warp, lane;
    /* "argument 0 + 16 (64 bytes)", "tile + 4, shared offset 1028", "tensor memory of CTA rank r,
     * lane l, column c", "register %r3" */
    const char *where;
    const char *text;          /* one or two sentences */
    uint64_t count;            /* times it was met */
    const char *op, *other_op; /* mnemonics of the two lines; static */
    bool other_thread;         /* the other access is of a thread, which the next two lines name */
    uint32_t other_cta[3], other_warp;
    uint32_t other_lane;               /* 32: some or all lanes of the warp */
    const char *source, *other_source; /* files of the program that the PTX was made from (.loc) */
    int source_line, other_source_line;
    const char *object; /* what `where` is in: a shared variable, a buffer, a register */
} ptxgen_emulator_report;

/* Reports of checking mode since the last clear, in order of discovery; false past the end. Of a
 * kind the first 2,000 are kept; the second function says how often others of it were met. */
PTXGEN_API bool ptxgen_emulator_get_report(const ptxgen_emulator *emu, size_t i,
                                           ptxgen_emulator_report *out);
PTXGEN_API uint64_t ptxgen_emulator_reports_left_out(const ptxgen_emulator *emu);
PTXGEN_API void ptxgen_emulator_clear_reports(ptxgen_emulator *emu);
/* "missing proxy fence"; "?" for a number that is none. */
PTXGEN_API const char *ptxgen_emulator_report_name(ptxgen_emulator_report_kind kind);
/* "MISSING_PROXY_FENCE": the kind's name in this file, for options, files and tools; "?". */
PTXGEN_API const char *ptxgen_emulator_report_id(ptxgen_emulator_report_kind kind);
/* ADVICE for a number that is none. */
PTXGEN_API ptxgen_emulator_report_class
ptxgen_emulator_report_class_of(ptxgen_emulator_report_kind kind);

/* ---- what of PTX there is ---- */

typedef enum ptxgen_emulator_support {
    PTXGEN_EMULATOR_EXECUTED,
    PTXGEN_EMULATOR_PARSED, /* text with it loads, an entry that reaches it does not run */
    PTXGEN_EMULATOR_UNKNOWN /* of the PTX ISA, but refused by the parser */
} ptxgen_emulator_support;

/* One form of an instruction. `modifiers` and `operands` are in the notation of
 * src/ptx/table/opcodes.def, "" for what is unknown. */
typedef struct ptxgen_emulator_instruction {
    const char *mnemonic, *modifiers, *operands;
    unsigned isa;       /* least .version, 10 * major + minor */
    const char *target; /* least .target without "sm_"; '|' joins alternatives */
    ptxgen_emulator_support support;
} ptxgen_emulator_instruction;

/* All forms, in the order of the ISA's chapters; false past the end. Any thread. */
PTXGEN_API bool ptxgen_emulator_get_instruction(size_t i, ptxgen_emulator_instruction *out);

/* ---- fragments: matrices in registers ---- */

/* How the threads of a warp, or of a warpgroup, hold a matrix in their registers. C and D of a
 * product lie alike and are one fragment, 'c'. The layout of wmma is the emulator's own: the ISA
 * leaves it open. */
typedef struct ptxgen_emulator_fragment {
    size_t size;
    char name[48];          /* "mma.m16n8k16", "ldmatrix.x4.trans", "tcgen05.ld.16x64b.x2" */
    char matrix;            /* 'a', 'b', 'c'; 'd': of instructions that move data */
    uint32_t bits;          /* of an element */
    uint32_t rows, columns; /* of tcgen05.ld and .st: lanes and columns of tensor memory */
    uint32_t threads, registers, elements; /* registers of a thread, elements of a register */
    uint32_t id;                           /* for ptxgen_emulator_fragment_place */
} ptxgen_emulator_fragment;
/* Those of all instructions that the emulator executes, i = 0, 1, ...; false past the end. Any
 * thread. */
PTXGEN_API bool ptxgen_emulator_fragment_at(size_t i, ptxgen_emulator_fragment *out);

typedef struct ptxgen_emulator_place {
    uint32_t thread, reg, element; /* the element's number in the register, from its low bits */
    uint32_t row, column;
} ptxgen_emulator_place;
/* Row and column of an element of a register of a thread, by the map that the instruction goes
 * by; false when the fragment has none such. Any thread. */
PTXGEN_API bool ptxgen_emulator_fragment_place(const ptxgen_emulator_fragment *fragment,
                                               ptxgen_emulator_place *place);

#ifdef __cplusplus
}
#endif

#endif
