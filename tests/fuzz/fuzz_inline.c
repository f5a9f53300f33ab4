/* The inliner on any two texts, divided by a line "////": no crash, and what it makes is PTX (it
 * reads its own result: a fault in "merged.ptx" is ours, not the input's). */
#include "ptxgen/inline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void check(const char *kernel, size_t kernel_length, const char *function,
                  size_t function_length, int64_t budget)
{
    ptxgen_error err = {0};
    ptxgen_inlined *out;
    ptxgen_inlined_line line;
    const ptxgen_inline_args args = {.size = sizeof args,
                                     .kernel = kernel,
                                     .kernel_length = kernel_length,
                                     .function = function,
                                     .function_length = function_length,
                                     .budget = budget};
    if (ptxgen_inline(&args, &out, &err) != PTXGEN_OK) {
        if (!err.message[0] || !strcmp(err.file, "merged.ptx")) {
            fprintf(stderr, "%s\n", err.message);
            abort();
        }
        return;
    }
    size_t lines = 0, ends = 0;
    for (const char *p = ptxgen_inlined_text(out, NULL); *p; p++)
        ends += *p == '\n';
    while (ptxgen_inlined_line_at(out, lines, &line))
        lines++;
    if (lines != ends)
        abort();
    ptxgen_inlined_free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const char mark[] = "\n////\n";
    const uint8_t *at = memmem(bytes, size, mark, sizeof mark - 1);
    if (!at || at == bytes || at + sizeof mark - 1 == bytes + size)
        return 0;
    /* Copies of exact size: a read past the end is seen. */
    const size_t before = (size_t)(at - bytes), after = size - before - (sizeof mark - 1);
    char *kernel = malloc(before), *function = malloc(after);
    if (kernel && function) {
        memcpy(kernel, bytes, before);
        memcpy(function, at + sizeof mark - 1, after);
        check(kernel, before, function, after, 0);
        check(kernel, before, function, after, 20);
        check(kernel, before, function, after, -1);
    }
    free(kernel);
    free(function);
    return 0;
}
