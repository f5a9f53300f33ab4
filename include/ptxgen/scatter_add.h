/* The typed call of scatter_add, out[index[i], :] += src[i, :], with all that only it offers: plans
 * (an index sorted once), weights, rows of src by index, min, max, mean and mul, equal bits in
 * every run. Part of ptxgen/ptxgen.h, whose conventions hold.
 *
 * Pointers are device memory, except in the _oracle function. Strides are elements. Calls are
 * asynchronous in `stream`; any thread. */
#ifndef PTXGEN_SCATTER_ADD_H
#define PTXGEN_SCATTER_ADD_H

#include "ptxgen/context.h"
#include "ptxgen/kernel.h"
#include "ptxgen/status.h"
#include "ptxgen/types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum ptxgen_schedule {
    PTXGEN_SCHEDULE_AUTO,   /* by measured rule */
    PTXGEN_SCHEDULE_SEED,   /* one warp per CTA, tensor-map loads, two stages */
    PTXGEN_SCHEDULE_BULK,   /* bulk loads of several rows, lanes reduce in parallel */
    PTXGEN_SCHEDULE_VECTOR, /* no staging: each thread adds 16 bytes with one reduction */
    PTXGEN_SCHEDULE_OWNER,  /* sorts the index, then sums each row of out in registers */
    PTXGEN_SCHEDULE_PRIVATE /* sums in copies of out in shared memory: few and short rows */
} ptxgen_schedule;

typedef enum ptxgen_oob {
    PTXGEN_OOB_RECORD,   /* skip the row, remember the first bad (position, value) */
    PTXGEN_OOB_TRAP,     /* trap: the CUDA context is lost */
    PTXGEN_OOB_UNCHECKED /* the caller guarantees 0 <= index[i] < out_rows */
} ptxgen_oob;

/* What a row of out becomes of itself and its rows of src. A NaN stays one; of -0 and +0 min
 * takes -0, max +0. */
typedef enum ptxgen_scatter_reduce {
    PTXGEN_SCATTER_ADD,
    PTXGEN_SCATTER_MIN,
    PTXGEN_SCATTER_MAX,
    /* floats: of its rows of src; what it held is replaced, unless there are none */
    PTXGEN_SCATTER_MEAN,
    PTXGEN_SCATTER_MUL /* halves: products in f32, rounded once; integers wrap */
} ptxgen_scatter_reduce;

/* The first bad index of one or several calls, in device memory. Empty: all bytes 0xff (a memset
 * in the stream). A kernel replaces it as a whole when it meets one at a smaller position. */
typedef struct ptxgen_bad_index {
    uint64_t position; /* in index; bit 62 set: in src_index */
    int64_t value;
} ptxgen_bad_index;

/* An index, sorted (see ptxgen_scatter_plan_create). */
typedef struct ptxgen_scatter_plan ptxgen_scatter_plan;

typedef struct ptxgen_scatter_add_args {
    size_t size;
    ptxgen_dtype dtype; /* of out and src: F32, F16, BF16, F64, S32, S64 */
    ptxgen_index_type index_type;
    int64_t rows;     /* rows of src, length of index; 0: success, nothing happens */
    int64_t out_rows; /* rows of out */
    int64_t n;        /* elements in a row; 0: nothing happens */
    /* device, [out_rows, n]; rows that are aligned to 16 bytes are served faster */
    void *out;
    const void *src;   /* device, [rows, n], likewise, no overlap with out */
    const void *index; /* device, [rows], contiguous, aligned to its type */
    int64_t out_stride, src_stride; /* elements from row to row, 0: n */
    int64_t out_inner, src_inner, index_stride; /* elements; 0 and 1 are the only ones accepted */
    ptxgen_schedule schedule;
    ptxgen_oob oob;
    bool dynamic_n; /* one cubin per dtype serves every n */
    int64_t function; /* of each element before it is added (ptxgen/function.h); 0: none */

    /* What follows is zero or NULL where it is not wanted. */
    /* the index, prepared; then index and index_type mean nothing */
    const ptxgen_scatter_plan *plan;
    /* device, 128-byte aligned, of ptxgen_scatter_add_workspace bytes; NULL: taken from and given
     * back to a pool in stream order */
    void *workspace;
    size_t workspace_bytes; /* of workspace */
    ptxgen_scatter_reduce reduce;
    bool deterministic;  /* the same bits in every run, on every number of SMs */
    bool accumulate_f32; /* f16, bf16: sums in f32, each row of out rounded once */
    double alpha;        /* factor of the sums; 0 stands for 1 */
    const void *weight;  /* device, [rows]: factor of each row of src, of the element type or f32 */
    ptxgen_dtype weight_dtype; /* PTXGEN_DTYPE_NONE: the element type */
    /* device, [rows], of index_type: entry i takes row src_index[i] of src, not row i */
    const void *src_index;
    int64_t src_rows; /* rows of src when src_index is given */
    /* device: only the first *device_rows (at most rows) entries count */
    const int64_t *device_rows;
    bool has_padding_index;
    int64_t padding_index; /* entries with this index are left out, and are not bad */
    /* device, 16-byte aligned: bad indices of this call are told here (below) */
    ptxgen_bad_index *record;
    int32_t *counts; /* device, [out_rows]: gets how many entries went to each row of out */
    ptxgen_stall stall; /* when its kernel is not ready; 0: as the context says */
} ptxgen_scatter_add_args;

/* Adds in the element type or better, each add rounded to nearest even; the order among equal
 * indices is not specified, so results with repeated indices may differ from run to run, unless
 * `deterministic`. f32 subnormals may be flushed to zero (schedule=vector flushes them; the PTX
 * ISA says so of bulk reductions too, an H200 keeps them), f16 and bf16 ones are kept.
 * Asynchronous in `stream`. Refusals (EINVAL, EUNSUPPORTED) leave out untouched. schedule=auto
 * is owner for large calls and for all that only it does: up to 2^31 - 1 values of index, 2^32 -
 * 3 rows. It takes 16 bytes of workspace a value and more with `deterministic`. Many rows of up
 * to 64 bytes into few go to private, which takes none. Before sm_90 seed, bulk and private are
 * missing and owner's sums are exact. An entry whose src_index is bad is left out of the sums, but
 * is one of `counts` and of the mean. */
PTXGEN_API ptxgen_status ptxgen_scatter_add(ptxgen *ctx, const ptxgen_scatter_add_args *args,
                                            ptxgen_stream stream, ptxgen_error *err);
/* The same with a kernel from ptxgen_get(ctx, "scatter_add", ...): EINVAL when the kernel's
 * parameters do not serve the arguments (schedule, oob and dynamic_n of args are ignored: the
 * kernel decides). */
PTXGEN_API ptxgen_status ptxgen_scatter_add_launch(ptxgen_kernel *kernel,
                                                   const ptxgen_scatter_add_args *args,
                                                   ptxgen_stream stream, ptxgen_error *err);
/* How much device memory a call takes as its workspace, 0 for none. */
PTXGEN_API ptxgen_status ptxgen_scatter_add_workspace(ptxgen *ctx,
                                                      const ptxgen_scatter_add_args *args,
                                                      size_t *bytes, ptxgen_error *err);

/* Sorts an index once, for any number of calls with other data, other row lengths and types, in
 * captured graphs too. Of args it reads size, index, index_type, rows, out_rows, oob,
 * device_rows, padding_index, record. The plan owns 8 bytes of device memory a row. Asynchronous
 * in `stream`: calls that use the plan come after it there. The index may change afterwards, the
 * plan does not. ECAPTURE while the stream is being captured. */
PTXGEN_API ptxgen_status ptxgen_scatter_plan_create(ptxgen *ctx,
                                                    const ptxgen_scatter_add_args *args,
                                                    ptxgen_stream stream, ptxgen_scatter_plan **out,
                                                    ptxgen_error *err);
/* After the last call that uses it has run. NULL is allowed. */
PTXGEN_API void ptxgen_scatter_plan_destroy(ptxgen_scatter_plan *plan);

/* A copy of a call's own record in host memory as OK or EINDEX; waits for nothing. */
PTXGEN_API ptxgen_status ptxgen_bad_index_error(const ptxgen_bad_index *record, ptxgen_error *err);
/* Waits for the stream; EINDEX with position and value when a scatter_add in PTXGEN_OOB_RECORD
 * mode of this device met a bad index since the last check. The record is then empty again. */
PTXGEN_API ptxgen_status ptxgen_check_indices(ptxgen *ctx, ptxgen_stream stream, ptxgen_error *err);

/* The same of a call's own record, and waiting for nothing: `start` puts into the stream that the
 * record's content is taken and the record emptied; `poll` is EPENDING until the stream has come
 * there, then OK or EINDEX. One look at a time, as many as wanted; start is ECAPTURE while the
 * stream is being captured. Destroyed after the stream has come there; NULL is allowed. */
typedef struct ptxgen_index_watch ptxgen_index_watch;
PTXGEN_API ptxgen_status ptxgen_index_watch_create(ptxgen *ctx, ptxgen_index_watch **out,
                                                   ptxgen_error *err);
PTXGEN_API ptxgen_status ptxgen_index_watch_start(ptxgen_index_watch *watch,
                                                  ptxgen_bad_index *record, ptxgen_stream stream,
                                                  ptxgen_error *err);
PTXGEN_API ptxgen_status ptxgen_index_watch_poll(ptxgen_index_watch *watch, ptxgen_error *err);
PTXGEN_API void ptxgen_index_watch_destroy(ptxgen_index_watch *watch);

/* The plain C answer on host memory: out and its sources summed in double, rounded once to the
 * element type. Ignores schedule; a bad index is EINDEX and nothing is written. Takes about 256
 * MiB of memory at most. */
PTXGEN_API ptxgen_status ptxgen_scatter_add_oracle(const ptxgen_scatter_add_args *args,
                                                   ptxgen_error *err);

/* Host helpers, the reference schedule's numbers. */
/* Elements per 512-byte chunk. */
PTXGEN_API int64_t ptxgen_chunk_elems_for(ptxgen_dtype dtype, int64_t n);
/* n must be a multiple of this. */
PTXGEN_API int64_t ptxgen_min_d_divisor_for(ptxgen_dtype dtype);
PTXGEN_API bool ptxgen_row_shape_supported(ptxgen_dtype dtype, int64_t n);
typedef struct ptxgen_grid {
    int64_t grid_x, grid_y, chunks_per_cta;
} ptxgen_grid;
PTXGEN_API ptxgen_grid ptxgen_plan_grid(int64_t m, int64_t d, int64_t chunk_elems,
                                        int64_t sm_count);

#ifdef __cplusplus
}
#endif

#endif
