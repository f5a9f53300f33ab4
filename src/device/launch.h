/* The launch record: what a kernel family asks of a device. Plain data, filled on the caller's
 * stack by a family's `launch` and carried out by a device (runtime: the CUDA driver; emulator). */
#ifndef PG_LAUNCH_H
#define PG_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PG_LAUNCH_MAX_ARGS = 52, PG_TENSOR_MAX_RANK = 5, PG_MAX_PARTS = 8 };

/* Numbers equal the CUDA driver's CUtensorMapDataType, ...Swizzle, ...L2promotion,
 * ...FloatOOBfill. */
typedef enum pg_tensor_type {
    PG_TENSOR_U8 = 0,
    PG_TENSOR_U16 = 1,
    PG_TENSOR_U32 = 2,
    PG_TENSOR_S32 = 3,
    PG_TENSOR_U64 = 4,
    PG_TENSOR_S64 = 5,
    PG_TENSOR_F16 = 6,
    PG_TENSOR_F32 = 7,
    PG_TENSOR_F64 = 8,
    PG_TENSOR_BF16 = 9,
    PG_TENSOR_F32_FTZ = 10,
    PG_TENSOR_TF32 = 11,
    PG_TENSOR_TF32_FTZ = 12,
    PG_TENSOR_16U4_ALIGN8B = 13,
    PG_TENSOR_16U4_ALIGN16B = 14,
    PG_TENSOR_16U6_ALIGN16B = 15
} pg_tensor_type;

typedef enum pg_swizzle {
    PG_SWIZZLE_NONE = 0,
    PG_SWIZZLE_32B = 1,
    PG_SWIZZLE_64B = 2,
    PG_SWIZZLE_128B = 3
} pg_swizzle;

/* A tiled tensor map. dims and box are in elements, innermost first; strides are bytes of dims
 * 1..rank-1. */
typedef struct pg_tensor_spec {
    pg_tensor_type type;
    uint32_t rank;
    void *address;
    uint64_t dims[PG_TENSOR_MAX_RANK];
    uint64_t strides[PG_TENSOR_MAX_RANK - 1];
    uint32_t box[PG_TENSOR_MAX_RANK];
    pg_swizzle swizzle;
    uint32_t l2_promotion; /* 0 none, 1 64 B, 2 128 B, 3 256 B */
    uint32_t nan_fill;     /* 0: out-of-bounds elements read as zero, 1: as NaN */
} pg_tensor_spec;

typedef enum pg_arg_kind {
    PG_ARG_U32,
    PG_ARG_U64,
    PG_ARG_TENSOR,
    PG_ARG_RECORD,
    PG_ARG_POINTER
} pg_arg_kind;

/* A parameter of a kernel's entry. A kernel says its parameters once, in order, as a list of
 * X(name, kind):
 *
 *     #define PG_SCALE_PARAMS(X) X(out_, POINTER) X(n_, U64)
 *
 * The PTX is written from the table (pg_entry_params), the launch sets arguments by their
 * places:
 *
 *     static const pg_kernel_param rows[] = {PG_SCALE_PARAMS(PG_PARAM_ROW){0}};
 *     enum { PG_SCALE_PARAMS(PG_PARAM_PLACE) COUNT }; ... pg_set_u64(l, at_n_, n);
 *
 * Kernels that differ in some parameters share a list, and each says which of it it lacks: a bit
 * for a place. */
typedef struct pg_kernel_param {
    const char *name; /* in the PTX; NULL ends a table */
    pg_arg_kind kind;
} pg_kernel_param;
#define PG_PARAM_ROW(name, kind)   {#name, PG_ARG_##kind},
#define PG_PARAM_PLACE(name, kind) at_##name,

typedef struct pg_param_list {
    const pg_kernel_param *rows;
    uint64_t absent; /* bit i: the kernel has no row i */
} pg_param_list;

typedef struct pg_arg {
    pg_arg_kind kind;
    union {
        uint32_t u32;
        uint64_t u64;          /* also pointers */
        pg_tensor_spec tensor; /* encoded by the device, passed as 128 bytes by value */
    };
    /* PG_ARG_RECORD: the device passes the address of its bad-index record (device/record.h). */
} pg_arg;

/* Memory that the caller passed. */
typedef struct pg_range {
    void *first;
    size_t bytes;
    bool written;
} pg_range;

typedef struct pg_launch {
    uint32_t part; /* which of the module's entries; 0: the first */
    bool helper;   /* of the helper's module (generate/family.h), not the kernel's own */
    uint32_t grid[3], block[3], cluster[3]; /* cluster all 0: none */
    uint32_t shared_bytes;                  /* dynamic */
    /* May begin while the kernel before it in the stream ends: it waits (griddepcontrol.wait). */
    bool early;
    /* The operands' memory, in order of address, none within another: of a kernel with a function
     * of the user's, else none. Borrowed. */
    const pg_range *ranges;
    uint32_t range_count;
    uint64_t absent; /* places of the list that the kernel lacks: args close up */
    uint32_t nargs;
    pg_arg args[PG_LAUNCH_MAX_ARGS];
} pg_launch;

/* The argument at a place of the kernel's list; NULL: the kernel has none there. */
static inline pg_arg *pg_arg_at(pg_launch *l, int place)
{
    const uint64_t bit = UINT64_C(1) << place, before = l->absent & (bit - 1);
    if (l->absent & bit)
        return NULL;
    return &l->args[before ? place - __builtin_popcountll(before) : place];
}

/* Set an argument by its place; what the kernel lacks is skipped. */
static inline void pg_set_u64(pg_launch *l, int place, uint64_t v)
{
    pg_arg *const a = pg_arg_at(l, place);
    if (!a)
        return;
    a->kind = PG_ARG_U64;
    a->u64 = v;
}

static inline void pg_set_u32(pg_launch *l, int place, int64_t v)
{
    pg_arg *const a = pg_arg_at(l, place);
    if (!a)
        return;
    a->kind = PG_ARG_U32;
    a->u32 = (uint32_t)v;
}

/* Its bits: the kernel loads a .f32 from a .u32. */
static inline void pg_set_f32(pg_launch *l, int place, float v)
{
    union {
        float f;
        uint32_t bits;
    } both = {v};
    pg_set_u32(l, place, both.bits);
}

static inline void pg_set_pointer(pg_launch *l, int place, const void *p)
{
    pg_arg *const a = pg_arg_at(l, place);
    if (!a)
        return;
    a->kind = PG_ARG_POINTER;
    a->u64 = (uintptr_t)p;
}

static inline void pg_set_tensor(pg_launch *l, int place, const pg_tensor_spec *spec)
{
    pg_arg *const a = pg_arg_at(l, place);
    if (!a)
        return;
    a->kind = PG_ARG_TENSOR;
    a->tensor = *spec;
}

/* The caller's record, or the device's where that is NULL. */
static inline void pg_set_record(pg_launch *l, int place, const void *record)
{
    pg_arg *const a = pg_arg_at(l, place);
    if (!a)
        return;
    a->kind = record ? PG_ARG_POINTER : PG_ARG_RECORD;
    a->u64 = (uintptr_t)record;
}

/* A grid of one dimension, no cluster; and the parameters that will be set: `count` places of a
 * list less those in `absent`. */
static inline void pg_launch_line(pg_launch *l, int64_t ctas, int threads, uint32_t count,
                                  uint64_t absent)
{
    *l->grid = (uint32_t)ctas;
    *l->block = (uint32_t)threads;
    l->grid[1] = l->grid[2] = l->block[1] = l->block[2] = 1;
    l->cluster[0] = l->cluster[1] = l->cluster[2] = 0;
    l->part = 0;
    l->helper = l->early = false;
    l->shared_bytes = 0;
    l->absent = absent;
    l->nargs = count - (uint32_t)__builtin_popcountll(absent);
}

#endif
