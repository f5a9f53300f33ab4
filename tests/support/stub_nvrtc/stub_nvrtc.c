/* A stand-in for libnvrtc: "compiles" any text to one function, so that tests see what is asked of
 * it and how often. The text says what it does: REFUSE: a log with an error in line 3; FOREVER:
 * steps until the flow callback says stop; CRASH: a signal. A file beside it, of its name and
 * ".log", gets a line of all options for each compilation.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define API __attribute__((visibility("default")))

/* What pg_identify_file takes the version from. */
API const char stub_version[] = "Cuda compilation tools, release 13.9, V13.9." STUB_VERSION;

typedef struct program {
    char *text;
    char log[400];
    int (*flow)(void *, void *);
    void *user;
} program;

static const char ptx[] = "//\n.version 8.0\n.target sm_80\n.address_size 64\n"
                          ".visible .func (.param .b32 r) f(.param .b32 x)\n{\n"
                          "    .reg .f32 %f<3>;\n"
                          "    ld.param.f32 %f1, [x];\n"
                          "    .loc 1 2 5\n"
                          "    fma.rn.f32 %f2, %f1, 0f40000000, 0f3F800000;\n"
                          "    st.param.f32 [r], %f2;\n"
                          "    ret;\n}\n"
                          "\t.file\t1 \"/some/folder/my.cu\"\n";

API int nvrtcCreateProgram(program **out, const char *text, const char *name, int n,
                           const char *const *texts, const char *const *names);
API int nvrtcDestroyProgram(program **p);
API int nvrtcCompileProgram(program *p, int n, const char *const *options);
API int nvrtcGetPTXSize(program *p, size_t *size);
API int nvrtcGetPTX(program *p, char *out);
API int nvrtcGetProgramLogSize(program *p, size_t *size);
API int nvrtcGetProgramLog(program *p, char *out);
API int nvrtcSetFlowCallback(program *p, int (*flow)(void *, void *), void *user);

int nvrtcCreateProgram(program **out, const char *text, const char *name, int n,
                       const char *const *texts, const char *const *names)
{
    (void)name, (void)n, (void)texts, (void)names;
    *out = calloc(1, sizeof **out);
    (*out)->text = strdup(text);
    return 0;
}

int nvrtcDestroyProgram(program **p)
{
    free((*p)->text);
    free(*p);
    *p = NULL;
    return 0;
}

static void note(int n, const char *const *options)
{
    char path[1024];
    Dl_info self;
    if (!dladdr(stub_version, &self))
        return;
    snprintf(path, sizeof path, "%s.log", self.dli_fname);
    FILE *f = fopen(path, "a");
    for (int i = 0; f && i < n; i++)
        fprintf(f, "%s ", options[i]);
    if (f) {
        fputc('\n', f);
        fclose(f);
    }
}

int nvrtcCompileProgram(program *p, int n, const char *const *options)
{
    note(n, options);
    while (strstr(p->text, "FOREVER")) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        if (p->flow && p->flow(p->user, NULL))
            return 13;
    }
    if (strstr(p->text, "CRASH"))
        raise(SIGSEGV);
    if (!strstr(p->text, "REFUSE"))
        return 0;
    snprintf(p->log, sizeof p->log,
             "my.cu(1): warning: something\nmy.cu(3): error: expected a ';'\n\n1 error detected\n");
    return 6;
}

int nvrtcGetPTXSize(program *p, size_t *size)
{
    (void)p;
    *size = sizeof ptx;
    return 0;
}

int nvrtcGetPTX(program *p, char *out)
{
    (void)p;
    memcpy(out, ptx, sizeof ptx);
    return 0;
}

int nvrtcGetProgramLogSize(program *p, size_t *size)
{
    *size = strlen(p->log) + 1;
    return 0;
}

int nvrtcGetProgramLog(program *p, char *out)
{
    strcpy(out, p->log);
    return 0;
}

int nvrtcSetFlowCallback(program *p, int (*flow)(void *, void *), void *user)
{
    p->flow = flow;
    p->user = user;
    return 0;
}
