/* The device: settings from the environment, properties of the GPU that is stood in for, errors,
 * words. */
#include "stand_in/device.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- words ---- */

void pg_complain(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    flockfile(stderr);
    fputs("ptxgen emulate: ", stderr);
    vfprintf(stderr, format, list);
    fputc('\n', stderr);
    funlockfile(stderr);
    va_end(list);
}

typedef struct error_row {
    int number;
    const char *runtime, *driver, *text;
} error_row;

static const error_row *find_error(int number)
{
    static const error_row rows[] = {
#define ERROR_ROW(runtime, driver, number, text)                                                   \
    {number, number ? "cudaError" #runtime : "cudaSuccess", "CUDA_" #driver, text},
        PG_CUDA_ERRORS(ERROR_ROW)
#undef ERROR_ROW
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].number == number)
            return &rows[i];
    return NULL;
}

const char *pg_error_name(int error)
{
    const error_row *row = find_error(error);
    return row ? row->runtime : "unrecognized error code";
}

const char *pg_driver_error_name(int error)
{
    static const char success[] = "CUDA_SUCCESS";
    static _Thread_local char name[64];
    const error_row *row = find_error(error);
    if (!error)
        return success;
    if (!row)
        return NULL;
    snprintf(name, sizeof name, "CUDA_ERROR_%s", row->driver + strlen("CUDA_"));
    return name;
}

const char *pg_error_text(int error)
{
    const error_row *row = find_error(error);
    return row ? row->text : "unrecognized error code";
}

/* ---- errors ---- */

static _Thread_local pg_cuda_error last_error;
static atomic_int lost_error;

pg_cuda_error pg_set_error(pg_cuda_error error)
{
    if (error == PG_CUDA_Success || error == PG_CUDA_NotReady)
        return error;
    return last_error = error;
}

pg_cuda_error pg_last_error(bool clear)
{
    const pg_cuda_error lost = pg_lost();
    const pg_cuda_error error = lost ? lost : last_error;
    if (clear)
        last_error = PG_CUDA_Success;
    return error;
}

void pg_set_lost(pg_cuda_error error)
{
    int none = 0;
    atomic_compare_exchange_strong(&lost_error, &none, (int)error);
}

pg_cuda_error pg_lost(void)
{
    return (pg_cuda_error)atomic_load_explicit(&lost_error, memory_order_relaxed);
}

pg_cuda_error pg_refuse(const char *name, const char *why)
{
    enum { MOST = 256 };
    static const char *said[MOST];
    static atomic_uint count;
    const unsigned n = atomic_load(&count);
    for (unsigned i = 0; i < n && i < MOST; i++)
        if (said[i] && !strcmp(said[i], name))
            return pg_set_error(PG_CUDA_NotSupported);
    const unsigned at = atomic_fetch_add(&count, 1);
    if (at < MOST)
        said[at] = name;
    pg_complain("%s is not provided%s%s", name, why ? ": " : "", why ? why : "");
    return pg_set_error(PG_CUDA_NotSupported);
}

/* ---- settings ---- */

static uint64_t number_of(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text && *text ? strtoull(text, NULL, 10) : otherwise;
}

static bool is_set(const char *name)
{
    const char *text = getenv(name);
    return text && *text && strcmp(text, "0") != 0;
}

static void print_text(void *user, const char *text, size_t length)
{
    (void)user;
    fwrite(text, 1, length, stdout);
}

/* A report of checking mode is left to report.c, which knows its kernel. */
static void print_line(void *user, ptxgen_log_level level, const char *line)
{
    const pg_settings *s = user;
    if (s->emulator.check && level == PTXGEN_LOG_WARNING && strncmp(line, "line ", 5) == 0)
        return;
    pg_complain("%s", line);
}

/* The names are those that tools/command/run/program.c sets. */
static void read_settings(pg_settings *s)
{
    s->sm = (unsigned)number_of("PTXGEN_EMULATE_SM", 90);
    s->sm_count = (unsigned)number_of("PTXGEN_EMULATE_SM_COUNT", s->sm >= 100 ? 148 : 132);
    s->memory = number_of("PTXGEN_EMULATE_MEMORY", UINT64_C(16) << 30);
    s->report = getenv("PTXGEN_EMULATE_REPORT");
    s->verbose = is_set("PTXGEN_EMULATE_VERBOSE");
    s->silent_reports = is_set("PTXGEN_EMULATE_SILENT_REPORTS");
    const char *order = getenv("PTXGEN_EMULATE_ORDER");
    s->emulator = (ptxgen_emulator_config){
        .size = sizeof s->emulator,
        .threads = (unsigned)number_of("PTXGEN_EMULATE_THREADS", 0),
        .order =
            order && !strcmp(order, "isa") ? PTXGEN_EMULATOR_ORDER_ISA : PTXGEN_EMULATOR_ORDER_HW,
        .seed = number_of("PTXGEN_EMULATE_SEED", 1),
        .check = is_set("PTXGEN_EMULATE_CHECK"),
        .clock = getenv("PTXGEN_EMULATE_CLOCK"),
        .arithmetic = is_set("PTXGEN_EMULATE_FAST") ? PTXGEN_EMULATOR_FAST : PTXGEN_EMULATOR_EXACT,
        .instruction_budget = number_of("PTXGEN_EMULATE_BUDGET", UINT64_C(10000000000)),
        .log = print_line,
        .log_level = PTXGEN_LOG_WARNING,
        .print = print_text,
        .user = s,
    };
}

static pg_device device;

static void make_device(void)
{
    ptxgen_error err;
    pthread_mutexattr_t attributes;
    read_settings(&device.settings);
    if (ptxgen_emulator_create(&device.settings.emulator, &device.emulator, &err) != PTXGEN_OK) {
        pg_complain("%s", err.message);
        device.emulator = NULL;
    }
    pthread_mutexattr_init(&attributes); /* a host function of a stream may call us again */
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&device.lock, &attributes);
    pthread_mutex_init(&device.running, &attributes);
    pthread_mutexattr_destroy(&attributes);
}

pg_device *pg_device_get(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_device);
    return device.emulator ? &device : NULL;
}

/* ---- properties ---- */

/* (attribute number, value) of what is the same on the GPUs that we stand in for: sm_80 and
 * later, as their programming guide's table of technical specifications says. */
typedef struct attribute_row {
    int attribute, value;
} attribute_row;

static const attribute_row attributes[] = {
    {1, 1024},      {2, 1024},    {3, 1024},       {4, 64},      {5, 2147483647},  {6, 65535},
    {7, 65535},     {8, 49152},   {9, 65536},      {10, 32},     {11, 2147483647}, {12, 65536},
    {13, 1980000},  {14, 512},    {15, 1},         {19, 1},      {21, 131072},     {22, 131072},
    {23, 65536},    {24, 16384},  {25, 16384},     {26, 16384},  {27, 32768},      {28, 32768},
    {29, 2048},     {30, 512},    {31, 1},         {33, 1},      {36, 2619000},    {37, 5120},
    {38, 52428800}, {39, 2048},   {40, 3},         {41, 1},      {42, 32768},      {43, 2048},
    {45, 32768},    {46, 32768},  {51, 32},        {52, 32768},  {53, 32768},      {54, 2046},
    {55, 32768},    {56, 131072}, {57, 65536},     {58, 16384},  {59, 16384},      {60, 16384},
    {61, 32768},    {62, 2048},   {63, 32768},     {64, 32768},  {65, 2048},       {66, 32768},
    {67, 32768},    {68, 2046},   {69, 268435456}, {70, 131072}, {71, 65000},      {72, 2097120},
    {73, 32768},    {74, 32768},  {77, 32768},     {78, 1},      {79, 1},          {80, 1},
    {81, 233472},   {82, 65536},  {83, 1},         {86, 0},      {87, 2},          {89, 1},
    {90, 1},        {91, 1},      {95, 1},         {97, 232448}, {99, 1},          {106, 32},
    {111, 1024},    {115, 1},     {120, 1},        {126, 4},
};

int pg_device_attribute(int attribute)
{
    const pg_device *d = pg_device_get();
    if (!d)
        return 0;
    switch (attribute) {
    case 16:
        return (int)d->settings.sm_count;
    case 75:
        return (int)(d->settings.sm / 10);
    case 76:
        return (int)(d->settings.sm % 10);
    case 120:
        return d->settings.sm >= 90;
    default:
        break;
    }
    for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++)
        if (attributes[i].attribute == attribute)
            return attributes[i].value;
    return 0;
}

static void fill_textures(cudaDeviceProp *p)
{
    static const struct {
        size_t offset;
        int count, attribute[3];
    } rows[] = {
#define FIELD(name) offsetof(cudaDeviceProp, name)
        {FIELD(maxTexture1D), 1, {21}},
        {FIELD(maxTexture1DMipmap), 1, {77}},
        {FIELD(maxTexture2D), 2, {22, 23}},
        {FIELD(maxTexture2DMipmap), 2, {73, 74}},
        {FIELD(maxTexture2DLinear), 3, {70, 71, 72}},
        {FIELD(maxTexture2DGather), 2, {45, 46}},
        {FIELD(maxTexture3D), 3, {24, 25, 26}},
        {FIELD(maxTextureCubemap), 1, {52}},
        {FIELD(maxTexture1DLayered), 2, {42, 43}},
        {FIELD(maxTexture2DLayered), 3, {27, 28, 29}},
        {FIELD(maxTextureCubemapLayered), 2, {53, 54}},
        {FIELD(maxSurface1D), 1, {55}},
        {FIELD(maxSurface2D), 2, {56, 57}},
        {FIELD(maxSurface3D), 3, {58, 59, 60}},
        {FIELD(maxSurface1DLayered), 2, {61, 62}},
        {FIELD(maxSurface2DLayered), 3, {63, 64, 65}},
        {FIELD(maxSurfaceCubemap), 1, {66}},
        {FIELD(maxSurfaceCubemapLayered), 2, {67, 68}},
#undef FIELD
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int k = 0; k < rows[i].count; k++)
            ((int *)((char *)p + rows[i].offset))[k] = pg_device_attribute(rows[i].attribute[k]);
}

void pg_device_properties(cudaDeviceProp *p)
{
    const pg_device *d = pg_device_get();
    memset(p, 0, sizeof *p);
    if (!d)
        return;
    snprintf(p->name, sizeof p->name, "ptxgen emulator (sm_%u)", d->settings.sm);
    memcpy(p->uuid, "ptxgen-emulator", sizeof p->uuid);
    p->totalGlobalMem = d->settings.memory;
    p->sharedMemPerBlock = (size_t)pg_device_attribute(8);
    p->regsPerBlock = pg_device_attribute(12);
    p->warpSize = 32;
    p->memPitch = (size_t)pg_device_attribute(11);
    p->maxThreadsPerBlock = pg_device_attribute(1);
    for (int i = 0; i < 3; i++) {
        p->maxThreadsDim[i] = pg_device_attribute(2 + i);
        p->maxGridSize[i] = pg_device_attribute(5 + i);
    }
    p->totalConstMem = (size_t)pg_device_attribute(9);
    p->major = pg_device_attribute(75);
    p->minor = pg_device_attribute(76);
    p->textureAlignment = (size_t)pg_device_attribute(14);
    p->texturePitchAlignment = (size_t)pg_device_attribute(51);
    p->multiProcessorCount = pg_device_attribute(16);
    p->canMapHostMemory = p->concurrentKernels = p->unifiedAddressing = 1;
    fill_textures(p);
    p->surfaceAlignment = (size_t)pg_device_attribute(30);
    p->pciBusID = pg_device_attribute(33);
    p->asyncEngineCount = pg_device_attribute(40);
    p->memoryBusWidth = pg_device_attribute(37);
    p->l2CacheSize = pg_device_attribute(38);
    p->maxThreadsPerMultiProcessor = pg_device_attribute(39);
    p->streamPrioritiesSupported = p->globalL1CacheSupported = p->localL1CacheSupported = 1;
    p->sharedMemPerMultiprocessor = (size_t)pg_device_attribute(81);
    p->regsPerMultiprocessor = pg_device_attribute(82);
    p->managedMemory = p->concurrentManagedAccess = p->computePreemptionSupported = 1;
    p->canUseHostPointerForRegisteredMem = p->cooperativeLaunch = 1;
    p->sharedMemPerBlockOptin = (size_t)pg_device_attribute(97);
    p->maxBlocksPerMultiProcessor = pg_device_attribute(106);
    p->reservedSharedMemPerBlock = (size_t)pg_device_attribute(111);
    p->hostRegisterSupported = p->memoryPoolsSupported = 1;
    p->clusterLaunch = pg_device_attribute(120);
}
