/* Status codes, the error record that every ptxgen call can fill, and log levels.
 *
 * A call returns a ptxgen_status. When it is not PTXGEN_OK and the caller passed an error
 * record, the record holds one sentence or two: what was wrong (with the value), what the limit
 * is, and what to do. Numbers are stable: a code never changes its value or meaning, new ones
 * are added at the end. */
#ifndef PTXGEN_STATUS_H
#define PTXGEN_STATUS_H

#if defined(_WIN32)
#define PTXGEN_API
#elif defined(__GNUC__)
#define PTXGEN_API __attribute__((visibility("default")))
#else
#define PTXGEN_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* X(name, number, text) */
#define PTXGEN_STATUS_MAP(X)                                                                       \
    X(OK, 0, "ok")                                                                                 \
    X(EINVAL, 1, "invalid argument")                                                               \
    X(EUNSUPPORTED, 2, "no kernel for this problem")                                               \
    X(ENOMEM, 3, "out of memory")                                                                  \
    X(ETEMPLATE, 4, "code generation failed")                                                      \
    X(EASSEMBLE, 5, "assembler refused the PTX")                                                   \
    X(EDRIVER, 6, "CUDA driver error")                                                             \
    X(EIO, 7, "input or output error")                                                             \
    X(EMISSING, 8, "a needed part is not installed")                                               \
    X(ECAPTURE, 9, "stream is being captured and the kernel is not ready")                         \
    X(EINDEX, 10, "an index was out of range")                                                     \
    X(EPARSE, 11, "text could not be parsed")                                                      \
    X(EEMULATOR, 12, "the emulated program is wrong")                                              \
    X(EBUDGET, 13, "a budget was used up")                                                         \
    X(EPENDING, 14, "still being compiled")

typedef enum ptxgen_status {
#define PTXGEN_STATUS_ENUM(name, number, text) PTXGEN_##name = number,
    PTXGEN_STATUS_MAP(PTXGEN_STATUS_ENUM)
#undef PTXGEN_STATUS_ENUM
} ptxgen_status;

/* Filled by a failing call; untouched by a successful one. `file` and `line` name a source
 * position (a template line, a PTX line) when the fault has one, else "" and 0. `driver_error`
 * is the CUDA driver's own error number when the driver refused, else 0. */
typedef struct ptxgen_error {
    ptxgen_status status;
    int line;
    int driver_error;
    char file[128];
    char message[768];
} ptxgen_error;

/* How much a line that reaches the log hook matters. */
typedef enum ptxgen_log_level {
    PTXGEN_LOG_ERROR,
    PTXGEN_LOG_WARNING,
    PTXGEN_LOG_INFO,
    PTXGEN_LOG_DEBUG
} ptxgen_log_level;

/* "EINVAL", "ENOMEM", ...; "UNKNOWN" for a number that is none. Never allocates; any thread. */
PTXGEN_API const char *ptxgen_status_name(ptxgen_status status);
/* The one-line text of the map above. Never allocates; any thread. */
PTXGEN_API const char *ptxgen_status_text(ptxgen_status status);

#ifdef __cplusplus
}
#endif

#endif
