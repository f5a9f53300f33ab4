/* Any bytes through the emulator: what parses is launched, every entry, plainly and in checking
 * mode, within small budgets. Nothing may crash or hang; the instruction budget holds; every
 * allocation goes through the hook, is given back, and may fail (the hook refuses what would go
 * past LIVE_LIMIT). The launch is that of the comments in tests/emulator/cases ("grid=2,1,1
 * block=64,1,1 cluster=2,1,1"), so that those files run to their end. */
#include "ptxgen/emulator.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum {
    MAX_ENTRIES = 3,
    MAX_PARAMS = 16,
    BUFFERS = 3,
    BUFFER_BYTES = 1 << 14,
    INSTRUCTIONS = 3000,
    ROUND = 32 * 1024, /* instructions between two looks at the budget: a turn of every warp */
    MEMORY = 1 << 23,
    LIVE_LIMIT = 1 << 26
};

static size_t live;

static void *count(void *user, void *p, size_t old_size, size_t new_size)
{
    (void)user;
    if (new_size > old_size && live - old_size + new_size > LIVE_LIMIT)
        return NULL;
    void *q = NULL;
    if (!new_size)
        free(p);
    else if (!(q = realloc(p, new_size)))
        return NULL;
    live = live - old_size + new_size;
    return q;
}

/* The three numbers after `key`, each 1 .. limit; 1 when there are none. */
static void read_size(const char *text, const char *key, uint32_t limit, uint32_t out[3])
{
    const char *at = strstr(text, key);
    at = at ? at + strlen(key) : "";
    for (int i = 0; i < 3; i++) {
        char *end;
        const unsigned long v = strtoul(at, &end, 10);
        out[i] = v >= 1 && v <= limit ? (uint32_t)v : 1;
        at = *end == ',' ? end + 1 : "";
    }
}

typedef struct arguments {
    _Alignas(128) uint8_t value[MAX_PARAMS][128];
    void *pointers[MAX_PARAMS];
    size_t count;
} arguments;

/* Pointers to the buffers in turn, small numbers, tensor maps over the first buffer (for im2col
 * where the text has "pixels="), and the only texture where a parameter is named t. */
static void make_arguments(const ptxgen_emulator_entry *entry, const char *text,
                           uint8_t *const *buffers, arguments *a)
{
    const ptxgen_emulator_tensor_map pixels = {.size = sizeof pixels,
                                               .data_type = 7,
                                               .rank = 4,
                                               .address = buffers[0],
                                               .dims = {8, 5, 4, 2},
                                               .strides = {32, 160, 640},
                                               .box = {8},
                                               .im2col_pixels = 12,
                                               .im2col_lower = {-1, -1},
                                               .im2col_upper = {-1, -1}};
    const ptxgen_emulator_tensor_map map = {.size = sizeof map,
                                            .data_type = 7,
                                            .rank = 2,
                                            .address = buffers[0],
                                            .dims = {32, 32},
                                            .strides = {128},
                                            .box = {8, 4}};
    ptxgen_emulator_param p;
    memset(a, 0, sizeof *a);
    for (; a->count < MAX_PARAMS && ptxgen_emulator_entry_param(entry, a->count, &p); a->count++) {
        uint8_t *value = a->value[a->count];
        const uint64_t scalar = p.bytes < 8            ? 16 + a->count
                                : !strcmp(p.name, "t") ? 1
                                                       : (uintptr_t)buffers[a->count % BUFFERS];
        a->pointers[a->count] = value;
        if (p.bytes > sizeof a->value[0]) {
            a->count = 0; /* the launch will be refused */
            return;
        }
        if (p.is_array && p.bytes == 128)
            ptxgen_emulator_encode_tensor_map(strstr(text, "pixels=") ? &pixels : &map, value,
                                              NULL);
        else
            memcpy(value, &scalar, p.bytes < 8 ? p.bytes : 8);
    }
}

static void run_entry(ptxgen_emulator *emu, ptxgen_emulator_entry *entry, const char *text,
                      uint8_t *const *buffers)
{
    arguments a;
    make_arguments(entry, text, buffers, &a);
    ptxgen_emulator_launch launch = {
        .size = sizeof launch, .dynamic_shared = 2048, .args = a.pointers, .arg_count = a.count};
    read_size(text, "grid=", 4, launch.grid);
    read_size(text, "block=", 256, launch.block);
    read_size(text, "cluster=", 4, launch.cluster);
    ptxgen_emulator_stats before, after;
    ptxgen_error err = {0};
    ptxgen_emulator_get_stats(emu, &before);
    const ptxgen_status status = ptxgen_emulator_run(entry, &launch, &err);
    ptxgen_emulator_get_stats(emu, &after);
    if (after.warp_instructions - before.warp_instructions > INSTRUCTIONS + ROUND)
        abort();
    if (status != PTXGEN_OK && !err.message[0])
        abort();
}

static void run_module(ptxgen_emulator *emu, ptxgen_emulator_module *module, const char *text)
{
    static const unsigned flags[BUFFERS] = {
        PTXGEN_EMULATOR_WRITABLE | PTXGEN_EMULATOR_DEPENDENT, PTXGEN_EMULATOR_WRITABLE,
        PTXGEN_EMULATOR_WRITABLE | PTXGEN_EMULATOR_UNINITIALIZED};
    uint8_t *buffers[BUFFERS];
    for (int i = 0; i < BUFFERS; i++) {
        if (posix_memalign((void **)&buffers[i], 1024, BUFFER_BYTES))
            abort();
        memset(buffers[i], i, BUFFER_BYTES);
        ptxgen_emulator_add_buffer(emu, "buffer", buffers[i], BUFFER_BYTES, flags[i], NULL);
    }
    const ptxgen_emulator_texture texture = {.size = sizeof texture,
                                             .format = 32,
                                             .channels = 2,
                                             .width = 16,
                                             .height = 8,
                                             .memory = buffers[2],
                                             .address_mode = {3, 1},
                                             .linear = 1};
    uint64_t handle;
    ptxgen_emulator_add_texture(emu, &texture, &handle, NULL);
    for (size_t i = 0; i < MAX_ENTRIES; i++) {
        const char *name = ptxgen_emulator_entry_name(module, i);
        ptxgen_emulator_entry *entry;
        if (name && ptxgen_emulator_find(module, name, &entry, NULL) == PTXGEN_OK)
            run_entry(emu, entry, text, buffers);
    }
    for (int i = 0; i < BUFFERS; i++) {
        ptxgen_emulator_remove_buffer(emu, buffers[i]);
        free(buffers[i]);
    }
}

/* False: the text does not parse, no use trying again. */
static bool try_text(const uint8_t *bytes, size_t size, const char *text, uint64_t seed)
{
    const ptxgen_emulator_config config = {
        .size = sizeof config,
        .threads = 1,
        .check = seed != 0,
        .seed = seed,
        .order = seed ? PTXGEN_EMULATOR_ORDER_ISA : PTXGEN_EMULATOR_ORDER_HW,
        .arithmetic = size & 1 ? PTXGEN_EMULATOR_FAST : PTXGEN_EMULATOR_EXACT,
        .instruction_budget = INSTRUCTIONS,
        .memory_budget = MEMORY,
        .realloc = count};
    ptxgen_emulator *emu;
    ptxgen_emulator_module *module;
    live = 0;
    if (ptxgen_emulator_create(&config, &emu, NULL) != PTXGEN_OK)
        abort();
    const bool parsed =
        ptxgen_emulator_load(emu, (const char *)bytes, size, NULL, &module, NULL) == PTXGEN_OK;
    if (parsed) {
        run_module(emu, module, text);
        ptxgen_emulator_unload(module);
    }
    ptxgen_emulator_destroy(emu);
    if (live)
        abort();
    return parsed;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    memcpy(text, bytes, size);
    text[size] = 0;
    if (try_text(bytes, size, text, 0))
        try_text(bytes, size, text, 1 + size % 16);
    free(text);
    return 0;
}
