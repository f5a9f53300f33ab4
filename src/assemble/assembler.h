/* PTX -> cubin. One interface over the four assemblers; which one, its version and its build-id
 * are part of every cache key, so the identity of each can be told without loading or running
 * it.
 *
 * - An assembler error is EASSEMBLE with err->line = the PTX line (0 if unknown) and the first
 *   message.
 * - Any C75xx line in a log is an error: the assembler changed the kernel (setmaxnreg dropped,
 *   wgmma serialized).
 * - nvJitLink and the driver run under a C locale and under a lock that fork() takes.
 * All functions may be called from any thread. */
#ifndef PG_ASSEMBLER_H
#define PG_ASSEMBLER_H

#include "base/alloc.h"
#include "base/buf.h"
#include "base/log.h"
#include "ptxgen/ptxgen.h"

typedef struct pg_toolkit pg_toolkit; /* the assemblers that were found */

typedef struct pg_toolkit_config {
    /* a toolkit or a folder of pip wheels, nothing else is searched; NULL: search */
    const char *toolkit_dir;
    const char *cuda_home,
        *path; /* values of CUDA_HOME and PATH or NULL; the caller reads the environment */
    const char *user_dir;       /* looked into after CUDA_HOME; NULL or "": nothing */
    ptxgen_assembler wanted;    /* AUTO: in the order of the enum */
    const char *driver_library; /* NULL: libcuda.so.1 */
    uint32_t timeout_ms;        /* of the ptxas child process; 0: 300000 */
} pg_toolkit_config;

ptxgen_status pg_toolkit_create(const pg_alloc *, const pg_log *, const pg_toolkit_config *,
                                pg_toolkit **out, ptxgen_error *);
void pg_toolkit_destroy(pg_toolkit *);

typedef struct pg_assembly_request {
    const char *ptx; /* NUL-terminated */
    size_t ptx_size; /* without the NUL */
    ptxgen_arch arch;
    bool whole_program; /* the kernel uses setmaxnreg: only assemblers that keep it */
} pg_assembly_request;

typedef struct pg_assembly {
    pg_buf cubin, log;                                     /* initialised by the caller */
    int registers, shared_bytes, local_bytes, spill_bytes; /* largest of any kernel; -1: unknown */
    /* After EASSEMBLE: the same text will fail again with this assembler. A killed or stopped
     * assembler, a full disk or no memory say nothing about the text. */
    bool text_at_fault;
} pg_assembly;

/* What a kernel asks of its assembler, as far as it is known before its text is written. */
typedef struct pg_assembly_need {
    bool whole_program; /* as in pg_assembly_request */
    int release;        /* of CUDA, at least: 12.9 is 1209; 0: any */
} pg_assembly_need;

/* The assembler that would be used and its identity "ptxas 13.0.88 157d67e6..." (borrowed from
 * the toolkit), for the key. AUTO: the first of those that meet the need. EMISSING names what to
 * install. */
ptxgen_status pg_toolkit_choose(pg_toolkit *, pg_assembly_need, ptxgen_assembler *kind,
                                const char **identity, ptxgen_error *);
ptxgen_status pg_toolkit_assemble(pg_toolkit *, ptxgen_assembler kind, const pg_assembly_request *,
                                  pg_assembly *out, ptxgen_error *);
/* Whether a cubin by the assembler of this identity may serve a kernel with this need: it is one
 * that ptxgen knows, and it does not change the kernel. No toolkit is looked at. */
bool pg_assembler_is_accepted(const char *identity, pg_assembly_need);
/* The path of an assembler that is a program and was found; "" for the others. */
const char *pg_toolkit_program(pg_toolkit *, ptxgen_assembler kind);
/* For `doctor`: part i (the assemblers in the order of the enum, nvrtc, the disassembler), false
 * past the last. */
bool pg_toolkit_part(pg_toolkit *, size_t i, ptxgen_part *out);

#endif
