/* NVRTC in a process of its own: a compilation that does not end, or crashes, is stopped at its
 * deadline and leaves nothing behind, which no library can be made to do in this process.
 *
 * The program is ptxgen-nvrtc (tools/nvrtc/), found beside the library or the program that holds
 * it: FOLDER/ptxgen/, FOLDER/../ptxgen/, FOLDER/../lib/ptxgen/. Its descriptor 3 holds a request,
 * 4 takes the answer: fields, each a 64-bit length and so many bytes with a NUL behind them. */
#ifndef PG_NVRTC_CHILD_H
#define PG_NVRTC_CHILD_H

#include "assemble/nvrtc_library.h"
#include "base/log.h"

/* Of request and answer; another one is another program's. */
#define PG_NVRTC_PROTOCOL "ptxgen-nvrtc 1"

/* The program's path into `out`; false: there is none. */
bool pg_nvrtc_child_find(char *out, size_t size);

typedef struct pg_nvrtc_process {
    const char *program, *library;
    uint32_t timeout_ms;
    const pg_log *log;
} pg_nvrtc_process;
/* As pg_nvrtc_compile. result.late: it was killed at the deadline. ran: false when the program is
 * not one of ours or could not be started, so that nothing is known. */
typedef struct pg_nvrtc_outcome {
    pg_nvrtc_result result;
    pg_buf *ptx, *log; /* the caller's, initialized */
    bool ran;
} pg_nvrtc_outcome;
/* EASSEMBLE: NVRTC was killed. */
ptxgen_status pg_nvrtc_child_compile(const pg_nvrtc_process *, const pg_nvrtc_job *,
                                     pg_nvrtc_outcome *out, ptxgen_error *err);

/* ---- the wire ---- */

void pg_wire_put(pg_buf *b, const char *text, size_t length);
/* The next field, NUL-terminated; NULL: the text ends. */
const char *pg_wire_take(const char **at, const char *end, size_t *length);
void pg_wire_put_job(pg_buf *b, const char *library, const pg_nvrtc_job *);
/* Borrows from the text. */
bool pg_wire_take_job(const char *at, const char *end, const char **library, pg_nvrtc_job *out);
void pg_wire_put_result(pg_buf *b, const pg_nvrtc_result *, const pg_buf *ptx, const pg_buf *log);
bool pg_wire_take_result(const char *at, const char *end, pg_nvrtc_result *out, pg_buf *ptx,
                         pg_buf *log);

#endif
