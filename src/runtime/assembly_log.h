/* What an assembler's log says. ptxas, nvPTXCompiler, nvJitLink and the driver share one format:
 *     ptxas <input>, line 9; error   : Arguments mismatch for instruction 'st'
 *     ptxas info    : (C7504) Potential Performance Loss: 'setmaxnreg' ignored to maintain ...
 *     ptxas info    : Used 40 registers, used 1 barriers, 1024 bytes smem
 *         0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads */
#ifndef PG_ASSEMBLY_LOG_H
#define PG_ASSEMBLY_LOG_H

#include "runtime/assembler.h"

/* OK, or EASSEMBLE when the assembler refused the text, or accepted it but says that it changed the kernel
 * (any C75xx). err->line is the PTX line, 0 if the log names none. `assembler` is named in the message. */
ptxgen_status pg_judge_log(const char *log, bool refused, const char *assembler, ptxgen_error *err);
/* registers, local_bytes and spill_bytes, the largest of all functions in the log; a number that the log
 * does not have stays as it is. */
void pg_read_log_numbers(const char *log, pg_assembly *out);

/* EASSEMBLE, with the line, for text that is known to crash the assembler instead of being refused: a
 * literal tensor-memory address in tcgen05.cp or tcgen05.shift (ptxas, nvJitLink 13.0). In-process assemblers
 * would take the host program with them. */
ptxgen_status pg_refuse_crashing_text(const char *ptx, size_t size, ptxgen_error *err);

#endif
