/* NVRTC's functions for programs that ask it for a cubin, which the emulator cannot run: NVRTC
 * is told to write PTX for the same architecture, and that is what the program gets for its
 * cubin. cuModuleLoadData takes both. All else of NVRTC is the program's own library. */
#include "stand_in/runtime.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int nvrtc_result; /* nvrtcResult: 0 success, 1 out of memory, 11 internal error */
typedef struct nvrtc_program_data *nvrtc_program;

enum { NVRTC_OUT_OF_MEMORY = 1, NVRTC_INTERNAL_ERROR = 11, LONGEST = 64 };

/* The program's own; NULL: it has none. */
static void *own(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

/* Where "sm_90a" begins in an option that names an architecture, given what stood before it;
 * NULL: it is no such option, or it names a virtual one already. */
static const char *real_architecture(const char *option, const char *before)
{
    static const char *const names[] = {"--gpu-architecture", "-arch"};
    const char *value = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const size_t n = strlen(names[i]);
        if (strncmp(option, names[i], n) == 0 && option[n] == '=')
            value = option + n + 1;
        else if (before && strcmp(before, names[i]) == 0)
            value = option;
    }
    return value && strncmp(value, "sm_", 3) == 0 ? value : NULL;
}

PG_API(nvrtc_result)
nvrtcCompileProgram(nvrtc_program program, int count, const char *const *options)
{
    nvrtc_result (*compile)(nvrtc_program, int, const char *const *);
    *(void **)&compile = own("nvrtcCompileProgram");
    if (!compile || count < 0)
        return NVRTC_INTERNAL_ERROR;
    const char **asked = calloc((size_t)count + 1, sizeof *asked);
    char(*virtual)[LONGEST] = calloc((size_t)count + 1, sizeof *virtual);
    nvrtc_result result = NVRTC_OUT_OF_MEMORY;
    for (int i = 0; asked && virtual && i < count; i++) {
        const char *arch = real_architecture(options[i], i ? options[i - 1] : NULL);
        asked[i] = options[i];
        if (!arch)
            continue;
        snprintf(virtual[i], LONGEST, "%.*scompute_%s", (int)(arch - options[i]), options[i],
                 arch + 3);
        asked[i] = virtual[i];
    }
    if (asked && virtual)
        result = compile(program, count, asked);
    free(asked);
    free(virtual);
    return result;
}

PG_API(nvrtc_result) nvrtcGetCUBINSize(nvrtc_program program, size_t *size)
{
    nvrtc_result (*ptx_size)(nvrtc_program, size_t *);
    *(void **)&ptx_size = own("nvrtcGetPTXSize");
    return ptx_size ? ptx_size(program, size) : NVRTC_INTERNAL_ERROR;
}

PG_API(nvrtc_result) nvrtcGetCUBIN(nvrtc_program program, char *cubin)
{
    nvrtc_result (*ptx)(nvrtc_program, char *);
    *(void **)&ptx = own("nvrtcGetPTX");
    return ptx ? ptx(program, cubin) : NVRTC_INTERNAL_ERROR;
}
