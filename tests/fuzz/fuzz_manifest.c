/* Manifests: any bytes are read or refused with a line; what is read is clean text, and its
 * canonical form means the same kernel. */
#include "ptxgen/ptxgen.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok)
{
    if (!ok)
        abort();
}

static bool visit(void *user, const ptxgen_manifest_line *line)
{
    int *last = user;
    char once[2048], twice[2048];
    must(line->number >= *last);
    *last = line->number;
    must(line->family[0] && !strpbrk(line->family, " \t\r\n#") &&
         !strpbrk(line->params, "\t\r\n#"));
    if (ptxgen_canonical(line->family, line->params, once, sizeof once, NULL) == PTXGEN_OK) {
        must(ptxgen_canonical(line->family, once, twice, sizeof twice, NULL) == PTXGEN_OK);
        must(strcmp(once, twice) == 0);
    }
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int last = 0;
    ptxgen_error err = {0};
    /* A copy of exactly this size, so that a read past the end is seen. */
    char *text = malloc(size ? size : 1);
    if (!text)
        return 0;
    if (size)
        memcpy(text, data, size);
    const ptxgen_status status = ptxgen_manifest_parse(text, size, visit, &last, &err);
    must(status == PTXGEN_OK || (status == PTXGEN_EPARSE && err.line > last && err.message[0]));
    free(text);
    return 0;
}
