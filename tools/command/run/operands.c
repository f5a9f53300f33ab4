/* Operands in memory: the files' values, padded the way kernels want rows, on a device or in
 * host memory. */
#include "command/run/family.h"

#include <stdlib.h>
#include <string.h>

bool run_is_result(const run_operand *o)
{
    return o->info.role == PTXGEN_ROLE_OUT || o->info.role == PTXGEN_ROLE_INOUT;
}

bool run_has_result(const run_operand *o)
{
    return o->present && run_is_result(o);
}

void run_host_tensors(const run_job *j, bool after, ptxgen_tensor *out)
{
    memset(out, 0, j->count * sizeof *out);
    for (size_t i = 0; i < j->count; i++) {
        const run_operand *o = &j->operands[i];
        if (o->present && o->info.role != PTXGEN_ROLE_WORKSPACE)
            out[i] = (ptxgen_tensor){o->array.data, o->dtype, o->rank, o->shape, o->host_strides};
        if (after && run_has_result(o))
            out[i].data = o->output.data;
    }
}

void run_device_tensors(const run_job *j, ptxgen_tensor *out)
{
    memset(out, 0, j->count * sizeof *out);
    for (size_t i = 0; i < j->count; i++) {
        const run_operand *o = &j->operands[i];
        if (o->present)
            out[i] = (ptxgen_tensor){o->info.role == PTXGEN_ROLE_SCALAR ? o->array.data : o->memory,
                                     o->dtype, o->rank, o->shape, o->strides};
    }
}

/* The file as rows of bytes: its last dimension, and all others together. */
typedef struct row_layout {
    int64_t count, bytes, padded;
} row_layout;

static row_layout rows_of(const run_job *j, const run_operand *o)
{
    enum { FOUR_BIT_ALIGNMENT = 32 };
    const npy_header *h = &o->array.header;
    const int bits = ptxgen_dtype_bits(o->dtype);
    row_layout r = {1, (int64_t)h->elem_bytes, 0};
    for (int d = 0; d < h->rank - 1; d++)
        r.count *= h->shape[d];
    if (h->rank)
        r.bytes *= h->shape[h->rank - 1];
    /* What tensor maps take, also where kernels take less; some unpack 4-bit elements on the
     * way. */
    int64_t unit = run_is_result(o)         ? o->info.alignment
                   : o->info.alignment > 16 ? o->info.alignment
                                            : 16;
    if (bits < 8 && unit < FOUR_BIT_ALIGNMENT)
        unit = FOUR_BIT_ALIGNMENT;
    if (!unit || j->args->set.print_launch) /* for a caller, whose rows are as the file's */
        unit = 1;
    r.padded = h->rank < 2 ? r.bytes : (r.bytes + unit - 1) / unit * unit;
    return r;
}

/* The strides of the padded rows, in elements. */
static void set_strides(run_operand *o, const row_layout *r)
{
    const int bits = ptxgen_dtype_bits(o->dtype);
    memcpy(o->strides, o->host_strides, sizeof o->strides);
    if (r->padded == r->bytes || r->bytes == 0)
        return;
    for (int d = 0; d < o->rank; d++)
        if (o->strides[d] * bits / 8 >= r->bytes)
            o->strides[d] = o->strides[d] * bits / 8 / r->bytes * (r->padded * 8 / bits);
}

static void copy_rows(const row_layout *r, char *to, const char *from, bool unpad)
{
    for (int64_t i = 0; i < r->count; i++)
        memcpy(to + i * (unpad ? r->bytes : r->padded), from + i * (unpad ? r->padded : r->bytes),
               (size_t)r->bytes);
}

static ptxgen_status allocate(run_job *j, run_operand *o, ptxgen_error *err)
{
    enum { ALIGNMENT = 256 };
    if (!j->emulates)
        return ptxgen_device_alloc(j->ctx, o->bytes, &o->memory, err);
    o->memory = aligned_alloc(ALIGNMENT, (o->bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
    return o->memory ? PTXGEN_OK
                     : cli_fail(err, PTXGEN_ENOMEM, "out of memory: %s needs %zu bytes",
                                o->info.name, o->bytes);
}

/* The values that the operand has before the call; of a result that is only written, zeros. */
static char *values_of(const run_operand *o, const row_layout *r)
{
    char *padded = cli_calloc(o->bytes + 1, 1);
    copy_rows(r, padded, o->array.data, false);
    return padded;
}

ptxgen_status run_place_operands(run_job *j, ptxgen_error *err)
{
    ptxgen_status status = PTXGEN_OK;
    for (size_t i = 0; i < j->count && status == PTXGEN_OK; i++) {
        run_operand *o = &j->operands[i];
        if (!o->present)
            continue;
        const row_layout r = rows_of(j, o);
        set_strides(o, &r);
        o->bytes = (size_t)(r.count * r.padded);
        if (o->bytes == 0 || o->info.role == PTXGEN_ROLE_SCALAR)
            continue;
        status = allocate(j, o, err);
        if (status != PTXGEN_OK)
            break;
        char *values = values_of(o, &r);
        if (j->emulates)
            memcpy(o->memory, values, o->bytes);
        else
            status = ptxgen_device_upload(j->ctx, o->memory, values, o->bytes, err);
        free(values);
    }
    return status;
}

void run_reset_operands(run_job *j)
{
    for (size_t i = 0; i < j->count; i++) {
        run_operand *o = &j->operands[i];
        if (!o->memory || o->info.role == PTXGEN_ROLE_WORKSPACE)
            continue;
        const row_layout r = rows_of(j, o);
        char *values = values_of(o, &r);
        memcpy(o->memory, values, o->bytes);
        free(values);
    }
}

ptxgen_status run_place_workspace(run_job *j, ptxgen_error *err)
{
    ptxgen_tensor tensors[RUN_MAX_OPERANDS];
    run_operand *o = NULL;
    for (size_t i = 0; i < j->count; i++)
        if (j->operands[i].info.role == PTXGEN_ROLE_WORKSPACE)
            o = &j->operands[i];
    if (!o || !j->kernel)
        return PTXGEN_OK;
    run_device_tensors(j, tensors);
    ptxgen_status status =
        ptxgen_call_workspace(j->ctx, j->family, j->words, tensors, j->count, &o->bytes, err);
    if (status != PTXGEN_OK || !o->bytes)
        return status;
    o->dtype = PTXGEN_U8;
    o->rank = 1;
    o->shape[0] = (int64_t)o->bytes;
    o->strides[0] = o->host_strides[0] = 1;
    status = allocate(j, o, err);
    o->present = status == PTXGEN_OK;
    return status;
}

void run_drop_outputs(run_job *j)
{
    for (size_t i = 0; i < j->count; i++)
        npy_free(&j->operands[i].output);
}

static ptxgen_status fetch(run_job *j, run_operand *o, ptxgen_error *err)
{
    const npy_header *h = &o->array.header;
    ptxgen_status status = npy_create(h->type, h->rank, h->shape, &o->output, err);
    if (status != PTXGEN_OK)
        return status;
    memcpy(o->output.header.descr, h->descr, sizeof h->descr); /* saved as its input was */
    if (!o->memory) {
        memcpy(o->output.data, o->array.data, h->data_bytes);
        return PTXGEN_OK;
    }
    const row_layout r = rows_of(j, o);
    char *padded = cli_calloc(o->bytes + 1, 1);
    if (j->emulates)
        memcpy(padded, o->memory, o->bytes);
    else
        status = ptxgen_device_download(j->ctx, padded, o->memory, o->bytes, err);
    copy_rows(&r, o->output.data, padded, true);
    free(padded);
    return status;
}

ptxgen_status run_fetch_results(run_job *j, ptxgen_error *err)
{
    ptxgen_status status = PTXGEN_OK;
    for (size_t i = 0; i < j->count && status == PTXGEN_OK; i++)
        if (run_has_result(&j->operands[i]))
            status = fetch(j, &j->operands[i], err);
    return status;
}

void run_free_operands(run_job *j)
{
    for (size_t i = 0; i < j->count; i++) {
        run_operand *o = &j->operands[i];
        if (o->memory && j->emulates)
            free(o->memory);
        else if (o->memory)
            ptxgen_device_free(j->ctx, o->memory);
        npy_free(&o->array);
        npy_free(&o->output);
        free(o->to);
        free(o->path);
    }
}

/* ---- extents and indices --------------------------------------------------------------------- */

bool run_extent_at(const run_job *j, size_t i, const char **name, int64_t *value)
{
    const char *seen[RUN_MAX_OPERANDS * PTXGEN_OPERAND_MAX_RANK];
    size_t count = 0;
    for (size_t k = 0; k < 2 * j->count; k++) { /* results first */
        const run_operand *o = &j->operands[k % j->count];
        if (!o->present || run_is_result(o) != (k < j->count))
            continue;
        for (int d = 0; d < o->rank; d++) {
            size_t s = 0;
            *name = o->info.extents[o->info.rank - o->rank + d];
            *value = o->shape[d];
            while (s < count && strcmp(seen[s], *name) != 0)
                s++;
            if (s == count && count == i)
                return true;
            if (s == count)
                seen[count++] = *name;
        }
    }
    return false;
}

/* The operand that has the extent first: "out" of out_rows. */
static const run_operand *owner_of(const run_job *j, const char *extent, int64_t *value)
{
    for (size_t i = 0; i < j->count; i++) {
        const run_operand *o = &j->operands[i];
        if (o->present && o->rank && strcmp(o->info.extents[o->info.rank - o->rank], extent) == 0) {
            *value = o->shape[0];
            return o;
        }
    }
    return NULL;
}

static ptxgen_status check_index(const run_job *j, const run_operand *o, ptxgen_error *err)
{
    int64_t rows = 0;
    const run_operand *owner = owner_of(j, o->info.indexes, &rows);
    const int64_t count = (int64_t)o->array.header.count;
    if (!owner || ptxgen_dtype_bits(o->dtype) < 32)
        return PTXGEN_OK;
    if (count > 0 && rows == 0)
        return cli_fail(
            err, PTXGEN_EINDEX,
            "%s has no rows, so each of the %lld values of %s is out of range; nothing is written",
            owner->info.name, (long long)count, o->info.name);
    for (int64_t i = 0; i < count; i++) {
        const int64_t v = o->dtype == PTXGEN_S64 ? ((const int64_t *)o->array.data)[i]
                                                 : ((const int32_t *)o->array.data)[i];
        if (v < 0 || v >= rows)
            return cli_fail(err, PTXGEN_EINDEX,
                            "%s[%lld] = %lld is not a row of %s, which has rows 0 to %lld; nothing "
                            "is written",
                            o->info.name, (long long)i, (long long)v, owner->info.name,
                            (long long)(rows - 1));
    }
    return PTXGEN_OK;
}

/* Whole numbers that are only read may say which values of an index count; then the kernel's own
 * record tells of a bad one. */
static bool is_told_more(const run_job *j)
{
    for (size_t i = 0; i < j->count; i++) {
        const run_operand *o = &j->operands[i];
        const bool read = o->info.role == PTXGEN_ROLE_IN || o->info.role == PTXGEN_ROLE_SCALAR;
        if (o->present && read && o->info.optional &&
            (o->dtype == PTXGEN_S64 || o->dtype == PTXGEN_S32) && o->info.like < 0)
            return true;
    }
    return false;
}

ptxgen_status run_check_indices(const run_job *j, ptxgen_error *err)
{
    const char *oob = run_word(j, "oob"); /* unchecked: nobody else would look */
    if (is_told_more(j) && !(oob && strcmp(oob, "unchecked") == 0))
        return PTXGEN_OK;
    for (size_t i = 0; i < j->count; i++) {
        const run_operand *o = &j->operands[i];
        if (!o->present || o->info.role != PTXGEN_ROLE_INDEX || !o->info.indexes[0])
            continue;
        const ptxgen_status status = check_index(j, o, err);
        if (status != PTXGEN_OK)
            return status;
    }
    return PTXGEN_OK;
}
