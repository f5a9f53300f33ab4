/* Writes the manual pages and the completions of shells, from the tables that print --help:
 * `ptxgen_document FOLDER`. Runs while ptxgen is built and is not installed. */
#include "document/document.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

FILE *document_open(const char *folder, const char *format, const char *name)
{
    char path[4096], file[256];
    snprintf(file, sizeof file, format, name);
    snprintf(path, sizeof path, "%s/%s", folder, file);
    FILE *f = fopen(path, "w");
    if (!f) {
        fprintf(stderr, "cannot write '%s': %s\n", path, strerror(errno));
        exit(1);
    }
    return f;
}

void document_close(FILE *f)
{
    if (ferror(f) | fclose(f)) {
        fprintf(stderr, "cannot write a document: %s\n", strerror(errno));
        exit(1);
    }
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: ptxgen_document FOLDER\n");
        return 2;
    }
    document_manual(argv[1]);
    document_bash(argv[1]);
    document_zsh(argv[1]);
    document_fish(argv[1]);
    return 0;
}
