/* What of XLA's FFI (a C ABI, version 0.3) the handlers in xla.c read, restated under names of
 * ours: no header of XLA is needed to build, and nothing of it is linked. Sizes of structs are
 * part of the ABI. */
#ifndef PTXGEN_PYTHON_XLA_H
#define PTXGEN_PYTHON_XLA_H

#include <stddef.h>
#include <stdint.h>

enum { XLA_MAJOR = 0, XLA_MINOR = 3 };
enum xla_stage { XLA_INSTANTIATE, XLA_PREPARE, XLA_INITIALIZE, XLA_EXECUTE };
enum xla_code {
    XLA_INVALID_ARGUMENT = 3,
    XLA_RESOURCE_EXHAUSTED = 8,
    XLA_FAILED_PRECONDITION = 9,
    XLA_OUT_OF_RANGE = 11,
    XLA_UNIMPLEMENTED = 12,
    XLA_INTERNAL = 13
};
enum { XLA_EXTENSION_METADATA = 1, XLA_ATTR_STRING = 4 };

typedef struct xla_extension {
    size_t struct_size;
    int type;
    struct xla_extension *next;
} xla_extension;

typedef struct xla_version {
    size_t struct_size;
    xla_extension *extensions;
    int major, minor;
} xla_version;

typedef struct xla_metadata {
    size_t struct_size;
    xla_version version;
    uint32_t traits;
    int64_t state_type;
} xla_metadata;

typedef struct xla_metadata_extension {
    xla_extension base;
    xla_metadata *metadata;
} xla_metadata_extension;

typedef struct xla_error xla_error;

typedef struct xla_error_args {
    size_t struct_size;
    xla_extension *extensions;
    const char *message;
    int code;
} xla_error_args;

typedef struct xla_destroy_args {
    size_t struct_size;
    xla_extension *extensions;
    xla_error *error;
} xla_destroy_args;

typedef struct xla_type_info {
    size_t struct_size;
    xla_extension *extensions;
    void (*deleter)(void *state);
} xla_type_info;

/* type_id 0: XLA gives one. */
typedef struct xla_type_args {
    size_t struct_size;
    xla_extension *extensions;
    struct {
        const char *data;
        size_t length;
    } name;
    int64_t *type_id;
    const xla_type_info *info;
} xla_type_args;

/* What a call site keeps from a stage to the later ones. */
typedef struct xla_state_args {
    size_t struct_size;
    xla_extension *extensions;
    void *context;
    int stage; /* the one that makes it */
    int64_t *type_id;
    void *state;
} xla_state_args;

typedef struct xla_stream_args {
    size_t struct_size;
    xla_extension *extensions;
    void *context;
    void *stream;
} xla_stream_args;

typedef struct xla_buffer {
    size_t struct_size;
    xla_extension *extensions;
    int dtype;
    void *data;
    int64_t rank;
    int64_t *dims; /* dense, row-major */
} xla_buffer;

typedef struct xla_text {
    const char *data;
    size_t length;
} xla_text;

/* Arguments and results. */
typedef struct xla_list {
    size_t struct_size;
    xla_extension *extensions;
    int64_t size;
    const int *types;
    xla_buffer **items;
} xla_list;

typedef struct xla_attributes {
    size_t struct_size;
    xla_extension *extensions;
    int64_t size;
    const int *types;
    const xla_text *const *names;
    const void *const *values;
} xla_attributes;

typedef struct xla_api {
    size_t struct_size;
    xla_extension *extensions;
    xla_version version;
    const void *internal;
    xla_error *(*error_create)(xla_error_args *);
    void *error_message;
    void (*error_destroy)(xla_destroy_args *);
    void *register_handler;
    xla_error *(*stream_get)(xla_stream_args *);
    xla_error *(*register_type)(xla_type_args *);
    void *context_get;
    xla_error *(*state_set)(xla_state_args *);
    xla_error *(*state_get)(xla_state_args *);
} xla_api;

typedef struct xla_frame {
    size_t struct_size;
    xla_extension *extensions;
    const xla_api *api;
    void *context;
    int stage;
    xla_list args, rets;
    xla_attributes attributes;
} xla_frame;

#endif
