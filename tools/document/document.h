/* The documents that are made of the command's tables. Each function writes its files into a
 * folder, or ends the program. */
#ifndef PTXGEN_DOCUMENT_H
#define PTXGEN_DOCUMENT_H

#include "command/options.h"

#include <stdio.h>

void document_manual(const char *folder); /* ptxgen.1, ptxgen-SUBCOMMAND.1 */
void document_bash(const char *folder);   /* ptxgen.bash */
void document_zsh(const char *folder);    /* _ptxgen */
void document_fish(const char *folder);   /* ptxgen.fish */

/* folder/format with `name` in it, to write. */
FILE *document_open(const char *folder, const char *format, const char *name);
void document_close(FILE *);

#endif
