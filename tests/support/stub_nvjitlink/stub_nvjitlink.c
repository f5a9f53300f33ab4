/* A stand-in for libnvJitLink that gives back what it was given as the cubin. Built several
 * times: STUB_VERSIONED exports versioned names only, as the first releases do;
 * STUB_FAILS_TO_ADD: AddData refuses and Complete says success all the same, as 13.0 has done;
 * STUB_LACKS_COMPLETE: no such function. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef STUB_VERSIONED
#define NAME(x) __nvJitLink##x##_12_1
#else
#define NAME(x) nvJitLink##x
#endif
#define EXPORT __attribute__((visibility("default")))

typedef struct handle {
    size_t size;
    char bytes[1 << 16];
} handle;

EXPORT int NAME(Create)(handle **h, uint32_t count, const char *const *options);
EXPORT int NAME(Destroy)(handle **h);
EXPORT int NAME(AddData)(handle *h, int type, const void *data, size_t size, const char *name);
EXPORT int NAME(Complete)(handle *h);
EXPORT int NAME(GetLinkedCubinSize)(handle *h, size_t *size);
EXPORT int NAME(GetLinkedCubin)(handle *h, void *cubin);
EXPORT int NAME(GetErrorLogSize)(handle *h, size_t *size);
EXPORT int NAME(GetErrorLog)(handle *h, char *log);
EXPORT int NAME(GetInfoLogSize)(handle *h, size_t *size);
EXPORT int NAME(GetInfoLog)(handle *h, char *log);

int NAME(Create)(handle **h, uint32_t count, const char *const *options)
{
    (void)count;
    (void)options;
    *h = calloc(1, sizeof **h);
    return *h ? 0 : 1;
}

int NAME(Destroy)(handle **h)
{
    free(*h);
    *h = NULL;
    return 0;
}

int NAME(AddData)(handle *h, int type, const void *data, size_t size, const char *name)
{
    (void)type;
    (void)name;
    if (size > sizeof h->bytes)
        return 1;
    memcpy(h->bytes, data, size);
    h->size = size;
#ifdef STUB_FAILS_TO_ADD
    return 4;
#else
    return 0;
#endif
}

#ifndef STUB_LACKS_COMPLETE
int NAME(Complete)(handle *h)
{
    (void)h;
    return 0;
}
#endif

int NAME(GetLinkedCubinSize)(handle *h, size_t *size)
{
    *size = h->size - 1; /* without the NUL of the text */
    return 0;
}

int NAME(GetLinkedCubin)(handle *h, void *cubin)
{
    memcpy(cubin, h->bytes, h->size - 1);
    return 0;
}

int NAME(GetErrorLogSize)(handle *h, size_t *size)
{
    (void)h;
    *size = 0;
    return 0;
}

int NAME(GetErrorLog)(handle *h, char *log)
{
    (void)h;
    *log = 0;
    return 0;
}

int NAME(GetInfoLogSize)(handle *h, size_t *size)
{
    (void)h;
    *size = 0;
    return 0;
}

int NAME(GetInfoLog)(handle *h, char *log)
{
    (void)h;
    *log = 0;
    return 0;
}
