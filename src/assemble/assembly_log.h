/* What an assembler's log says. ptxas, nvPTXCompiler, nvJitLink and the driver share one format:
 *     ptxas <input>, line 9; error   : Arguments mismatch for instruction 'st'
 *     ptxas info    : (C7504) Potential Performance Loss: 'setmaxnreg' ignored to maintain ...
 *         0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads */
#ifndef PG_ASSEMBLY_LOG_H
#define PG_ASSEMBLY_LOG_H

#include "assemble/assembler.h"

typedef enum pg_log_verdict {
    PG_LOG_GOOD,
    PG_LOG_REFUSED, /* the assembler complains of a line of the text */
    PG_LOG_CHANGED, /* it accepted the text but says that it changed the kernel (any C75xx) */
    PG_LOG_FAILED   /* it failed and names no line: the text need not be the reason */
} pg_log_verdict;

/* *err is EASSEMBLE unless the log is good, with the PTX line if the log names one. `refused`:
 * the assembler said so by its exit code. `assembler` is named in the message. */
pg_log_verdict pg_judge_log(const char *log, bool refused, const char *assembler,
                            ptxgen_error *err);
/* The most bytes that any function stores or loads for spills; -1 when the log does not say. */
int pg_spill_bytes(const char *log);

/* EASSEMBLE, with the line, for text that is known to crash the assembler instead of being
 * refused: a literal tensor-memory address in tcgen05.cp or tcgen05.shift (ptxas, nvJitLink
 * 13.0). In-process assemblers would take the host program with them. */
ptxgen_status pg_refuse_crashing_text(const char *ptx, size_t size, ptxgen_error *err);

#endif
