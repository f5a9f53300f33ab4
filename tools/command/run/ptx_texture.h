/* --arg texture:..., of `ptxgen run FILE.ptx`: a texture or surface over the buffer of an
 * earlier argument. */
#ifndef PTXGEN_PTX_TEXTURE_H
#define PTXGEN_PTX_TEXTURE_H

#include "ptxgen/emulator.h"

/* Reads "TYPE:CHANNELSxWIDTH[xHEIGHT[xDEPTH]][:OPTION]..." over `bytes` bytes at `memory`; NULL,
 * or what is wrong with the text. Options: layers (the last size counts layers), linear,
 * normalized, wrap, mirror, border (else the edge repeats). Integers are read as integers. */
const char *ptx_texture_parse(const char *text, void *memory, size_t bytes,
                              ptxgen_emulator_texture *out);

#endif
