/* Fat binaries as CUDA 11 to 13 write them. A wrapper (24 bytes: magic, version, data, parts)
 * points at a blob, one of version 2 also at a list of the blobs that were linked: a header of 16
 * bytes (magic, version, header size, size of the rest), then entries. An entry's header says kind
 * (1 PTX, 2 cubin), its own size, the padded size of the payload, its compressed size, PTX
 * version, architecture, flags and the size of the text. Flags 0x2000: LZ4 block; 0x8000: a
 * Zstandard frame. Read off files that fatbinary wrote. */
#include "stand_in/fatbin.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef PG_HAVE_LZ4
#include <lz4.h>
#endif
#ifdef PG_HAVE_ZSTD
#include <zstd.h>
#endif

#define WRAPPER_MAGIC UINT32_C(0x466243b1)
#define BLOB_MAGIC    UINT32_C(0xba55ed50)
enum { KIND_PTX = 1, FLAG_LZ4 = 0x2000, FLAG_ZSTD = 0x8000 };
enum { LARGEST_TEXT = 1 << 30 };

typedef struct wrapper {
    uint32_t magic, version;
    const void *blob;
    const void *parts; /* version 2 */
} wrapper;

typedef struct blob_header {
    uint32_t magic;
    uint16_t version, header_bytes;
    uint64_t bytes; /* of the entries */
} blob_header;

typedef struct entry_header {
    uint16_t kind, version;
    uint32_t header_bytes;
    uint64_t bytes; /* padded */
    uint32_t compressed_bytes, options_offset;
    uint16_t minor, major;
    uint32_t arch;
    uint32_t name_offset, name_bytes;
    uint64_t flags, reserved, text_bytes;
} entry_header;

enum { SHORT_ENTRY_HEADER = 64 }; /* bytes that every entry header has */

/* What a search of one blob finds. */
typedef struct best_entry {
    entry_header header;
    const char *payload;
    unsigned cubins, others; /* entries that do not serve */
    unsigned lowest;         /* architecture of the PTX that is too new */
} best_entry;

static void look_at_entry(const char *at, unsigned sm, best_entry *best)
{
    entry_header e;
    memcpy(&e, at, SHORT_ENTRY_HEADER);
    if (e.kind != KIND_PTX) {
        best->cubins++;
    } else if (e.arch > sm) {
        best->others++;
        best->lowest = best->lowest && best->lowest < e.arch ? best->lowest : e.arch;
    } else if (!best->payload || e.arch > best->header.arch) {
        best->header = e;
        best->payload = at + e.header_bytes;
    }
}

static bool search(const char *blob, unsigned sm, best_entry *best)
{
    blob_header h;
    memcpy(&h, blob, sizeof h);
    const char *at = blob + h.header_bytes, *const end = at + h.bytes;
    while (end - at >= SHORT_ENTRY_HEADER) {
        entry_header e;
        memcpy(&e, at, SHORT_ENTRY_HEADER);
        if (e.header_bytes < SHORT_ENTRY_HEADER || e.header_bytes > (size_t)(end - at) ||
            e.bytes > (size_t)(end - at) - e.header_bytes)
            return false;
        look_at_entry(at, sm, best);
        at += e.header_bytes + e.bytes;
    }
    return true;
}

static bool unpack(const entry_header *e, const char *payload, pg_ptx_image *out)
{
    const uint64_t bytes = e->flags & (FLAG_LZ4 | FLAG_ZSTD) ? e->text_bytes : e->bytes;
    if (!bytes || bytes > LARGEST_TEXT || !(out->text = malloc(bytes + 1))) {
        snprintf(out->why, sizeof out->why, "no memory for %llu bytes of PTX",
                 (unsigned long long)bytes);
        return false;
    }
    size_t got = 0;
    if (e->flags & FLAG_LZ4) {
#ifdef PG_HAVE_LZ4
        const int n = LZ4_decompress_safe(payload, out->text, (int)e->compressed_bytes, (int)bytes);
        got = n > 0 ? (size_t)n : 0;
#endif
    } else if (e->flags & FLAG_ZSTD) {
#ifdef PG_HAVE_ZSTD
        const size_t n = ZSTD_decompress(out->text, bytes, payload, e->compressed_bytes);
        got = ZSTD_isError(n) ? 0 : n;
#endif
    } else {
        memcpy(out->text, payload, bytes);
        got = bytes;
    }
    if (!got) {
        free(out->text);
        out->text = NULL;
        snprintf(out->why, sizeof out->why,
                 "its PTX is compressed (%s) and cannot be unpacked here: build the program with "
                 "nvcc -no-compress",
                 e->flags & FLAG_LZ4 ? "LZ4" : "Zstandard");
        return false;
    }
    out->text[got] = 0;
    out->length = strlen(out->text); /* payloads are padded with zeros */
    out->sm = e->arch;
    return true;
}

static bool from_blob(const char *blob, unsigned sm, pg_ptx_image *out)
{
    best_entry best = {.payload = NULL};
    if (!search(blob, sm, &best)) {
        snprintf(out->why, sizeof out->why, "its fat binary is damaged");
        return false;
    }
    if (best.payload)
        return unpack(&best.header, best.payload, out);
    if (best.others)
        snprintf(out->why, sizeof out->why,
                 "its PTX is for sm_%u and later, the emulated GPU is sm_%u: say --arch sm_%u",
                 best.lowest, sm, best.lowest);
    else
        snprintf(out->why, sizeof out->why,
                 "it holds %u cubin%s and no PTX: build it with nvcc -gencode "
                 "arch=compute_%u,code=compute_%u (without -dlto)",
                 best.cubins, best.cubins == 1 ? "" : "s", sm, sm);
    return false;
}

bool pg_ptx_from_image(const void *image, unsigned sm, pg_ptx_image *out)
{
    uint32_t magic;
    *out = (pg_ptx_image){.text = NULL};
    memcpy(&magic, image, sizeof magic);
    if (magic == WRAPPER_MAGIC) {
        wrapper w;
        memcpy(&w, image, sizeof w);
        return pg_ptx_from_image(w.blob, sm, out);
    }
    if (magic == BLOB_MAGIC)
        return from_blob(image, sm, out);
    if (!memcmp(image, "\177ELF", 4)) {
        snprintf(out->why, sizeof out->why, "it is a cubin: the emulator runs PTX");
        return false;
    }
    out->length = strlen(image);
    out->text = malloc(out->length + 1);
    if (!out->text) {
        snprintf(out->why, sizeof out->why, "no memory for %zu bytes of PTX", out->length);
        return false;
    }
    memcpy(out->text, image, out->length + 1);
    return true;
}

const void *const *pg_image_parts(const void *image)
{
    enum { LINKED = 2 };
    wrapper w;
    uint32_t magic;
    memcpy(&magic, image, sizeof magic);
    if (magic != WRAPPER_MAGIC)
        return NULL;
    memcpy(&w, image, sizeof w);
    return w.version == LINKED ? w.parts : NULL;
}
