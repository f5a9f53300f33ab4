/* User functions of the command line. */
#include "command/function.h"

#include "command/file.h"
#include "ptxgen/function.h"

#include <stdlib.h>
#include <string.h>

static bool ends_with(const char *text, const char *end)
{
    const size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

/* The value behind '@' is cut at a ':' in its last part, the name of the function. */
static ptxgen_status add(ptxgen *ctx, char *path, int64_t *id, ptxgen_error *err)
{
    char *slash = strrchr(path, '/'), *colon = strchr(slash ? slash : path, ':'), *text;
    if (colon)
        *colon = '\0';
    if (!path[0])
        return cli_fail(err, PTXGEN_EINVAL,
                        "@%s%s names no file: write @FILE.cu or @FILE.cu:NAME, or .ptx",
                        colon ? ":" : "", colon ? colon + 1 : "");
    const ptxgen_status status = cli_read_text(path, &text, err);
    if (status != PTXGEN_OK)
        return status;
    if (!text[0]) {
        free(text);
        return cli_fail(err, PTXGEN_EINVAL, "%s is empty: it must hold the function to call", path);
    }
    const ptxgen_function f = {.size = sizeof f,
                               .language = ends_with(path, ".ptx") ? PTXGEN_FUNCTION_PTX
                                                                   : PTXGEN_FUNCTION_CUDA,
                               .text = text,
                               .file = path,
                               .name = colon ? colon + 1 : NULL};
    const ptxgen_status added = ptxgen_function_add(ctx, &f, id, err);
    free(text);
    return added;
}

ptxgen_status cli_functions(ptxgen *ctx, char **params, ptxgen_error *err)
{
    for (char *at; (at = strstr(*params, "=@")) != NULL;) {
        const size_t before = (size_t)(at + 1 - *params), length = strcspn(at + 2, " ");
        char *path = cli_format("%.*s", (int)length, at + 2);
        int64_t id;
        const ptxgen_status status = add(ctx, path, &id, err);
        free(path);
        if (status != PTXGEN_OK)
            return status;
        /* epilogue=@FILE is another way to write function=@FILE. */
        const size_t name = before >= 9 && !strncmp(*params + before - 9, "epilogue=", 9) ? 9 : 0;
        char *next = cli_format("%.*s%s%lld%s", (int)(before - name), *params,
                                name ? "function=" : "", (long long)id, at + 2 + length);
        free(*params);
        *params = next;
    }
    return PTXGEN_OK;
}

ptxgen_status cli_kernel_params(ptxgen *ctx, const char *family, char **params, ptxgen_error *err)
{
    char canonical[1024];
    ptxgen_status status = cli_functions(ctx, params, err);
    if (status == PTXGEN_OK)
        status = ptxgen_problem_params(ctx, family, *params, canonical, sizeof canonical, err);
    if (status == PTXGEN_OK) {
        free(*params);
        *params = cli_format("%s", canonical);
    }
    return status;
}
