/* Instructions in the text of PTX and of SASS, counted by opcode and by class. */
#ifndef PTXGEN_DIFF_OPCODES_H
#define PTXGEN_DIFF_OPCODES_H

#include <stddef.h>

enum { OPCODE_MOST = 512, OPCODE_NAME = 32 };

/* Classes are the same for both: memory by space, asynchronous operations, tensor cores, ... */
const char *opcode_class_name(size_t i); /* NULL past the last */

typedef struct opcode_counts {
    struct {
        char name[OPCODE_NAME];
        size_t count;
    } all[OPCODE_MOST]; /* in the order of the text */
    size_t kinds, instructions;
    size_t by_class[16];
} opcode_counts;

/* PTX: mnemonics as the ISA has them ("cp.async.bulk"), with the space of ld, st, atom and red. */
void opcodes_of_ptx(const char *text, opcode_counts *out);
/* SASS as nvdisasm and cuobjdump print it. */
void opcodes_of_sass(const char *text, opcode_counts *out);
size_t opcode_count(const opcode_counts *counts, const char *name);

#endif
