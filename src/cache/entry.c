/* Layout: header (128), key NUL, metadata, zeros up to a multiple of 64, cubin, ptx NUL, log NUL.
 * Sections have sizes only; where they begin follows from the sizes, so that no offset can point
 * elsewhere.
 *
 *    0  8  "ptxgen\r\n": catches text-mode copies      32  8  file size
 *    8  4  format, 1                                   40  4  kind: 0 kernel, 1 failure, 2 function
 *   12  4  zero                                        44  4  key size, without the NUL
 *   16 16  XXH3-128 of the bytes from 32 on            48  4  metadata size
 *                                                      52  4  log size, without the NUL
 *                                                      56  8  cubin size
 *                                                      64  8  ptx size, without the NUL
 *                                                      72 56  zero
 * All little-endian. Metadata is a sequence of fields: id u16, kind u16, size u32, value. */
#include "cache/entry.h"

#include "base/bytes.h"

#include <string.h>

#define MAGIC "ptxgen\r\n"

enum {
    FORMAT = 1,
    CHECKED_FROM = 32,
    RESERVED_FROM = 72,
    KIND_KERNEL = 0,
    KIND_FAILURE = 1,
    KIND_FUNCTION = 2
};

enum value_kind { VALUE_TEXT = 1, VALUE_I32, VALUE_I64, VALUE_F64 };

/* Ids are never reused; an unknown one is skipped, a missing one leaves 0 or "". */
static const struct field {
    uint16_t id, kind;
    size_t offset;
} fields[] = {
#define FIELD(id, kind, member)                                                                    \
    {                                                                                              \
        id, kind, offsetof(pg_cache_entry, member)                                                 \
    }
    FIELD(1, VALUE_TEXT, family),      FIELD(2, VALUE_TEXT, params),
    FIELD(3, VALUE_TEXT, entry_name),  FIELD(4, VALUE_TEXT, assembler),
    FIELD(5, VALUE_I64, arch),         FIELD(6, VALUE_I32, registers),
    FIELD(7, VALUE_I32, shared_bytes), FIELD(8, VALUE_I32, local_bytes),
    FIELD(9, VALUE_I32, spill_bytes),  FIELD(10, VALUE_F64, emit_us),
    FIELD(11, VALUE_F64, assemble_us), FIELD(12, VALUE_I64, created),
    FIELD(13, VALUE_I32, status),      FIELD(14, VALUE_I32, error_line),
    FIELD(15, VALUE_TEXT, message),    FIELD(16, VALUE_TEXT, error_file),
    FIELD(17, VALUE_TEXT, signature),  FIELD(18, VALUE_TEXT, mac),
#undef FIELD
};
enum {
    FIELD_COUNT = sizeof fields / sizeof *fields,
    FIELD_MAC = 18 /* left out when empty: what was signed before there was one stays as it was */
};
_Static_assert(sizeof(ptxgen_status) == 4, "the status is stored as an int32");

typedef struct sizes {
    uint32_t kind, key, meta, log;
    uint64_t cubin, ptx;
} sizes;

const char *pg_entry_fault_text(pg_entry_fault fault)
{
    static const char *const texts[] = {
        [PG_ENTRY_OK] = "sound",
        [PG_ENTRY_SHORT] = "truncated or too long",
        [PG_ENTRY_FOREIGN] = "not an entry of this format",
        [PG_ENTRY_CHECKSUM] = "checksum does not match",
        [PG_ENTRY_CONTENT] = "malformed content",
    };
    return texts[fault];
}

static void put(pg_buf *b, uint64_t v, size_t n)
{
    unsigned char bytes[8];
    pg_put_le(bytes, v, n);
    pg_buf_append(b, bytes, n);
}

static void put_zeros(pg_buf *b, size_t n)
{
    static const char zeros[128];
    pg_buf_append(b, zeros, n);
}

static size_t aligned(size_t n)
{
    return (n + PG_ENTRY_ALIGN - 1) / PG_ENTRY_ALIGN * PG_ENTRY_ALIGN;
}

/* Cannot overflow: every size is below PG_ENTRY_FILE_MAX. */
static size_t cubin_offset(const sizes *s)
{
    return aligned(PG_ENTRY_HEADER_SIZE + s->key + 1 + s->meta);
}

static size_t file_size(const sizes *s)
{
    return cubin_offset(s) + s->cubin + s->ptx + 1 + s->log + 1;
}

static bool sizes_allowed(const sizes *s)
{
    return s->kind <= KIND_FUNCTION && s->key <= PG_ENTRY_KEY_MAX && s->meta <= PG_ENTRY_FILE_MAX &&
           s->log <= PG_ENTRY_FILE_MAX && s->cubin <= PG_ENTRY_FILE_MAX &&
           s->ptx <= PG_ENTRY_FILE_MAX && file_size(s) <= PG_ENTRY_FILE_MAX;
}

static const char *text_of(const char *s)
{
    return s ? s : "";
}

static void put_field(pg_buf *b, const struct field *f, const pg_cache_entry *entry)
{
    const char *member = (const char *)entry + f->offset;
    put(b, f->id, 2);
    put(b, f->kind, 2);
    if (f->kind == VALUE_TEXT) {
        const char *text;
        memcpy(&text, member, sizeof text);
        size_t n = strlen(text_of(text)) + 1;
        put(b, n, 4);
        pg_buf_append(b, text_of(text), n);
    } else if (f->kind == VALUE_I32) {
        uint32_t v;
        memcpy(&v, member, sizeof v);
        put(b, 4, 4);
        put(b, v, 4);
    } else {
        uint64_t v; /* an int64 or the bits of a double */
        memcpy(&v, member, sizeof v);
        put(b, 8, 4);
        put(b, v, 8);
    }
}

/* A function is PTX only: what a user's CUDA C++ became. */
static uint32_t kind_of(const pg_cache_entry *entry)
{
    if (entry->status != PTXGEN_OK)
        return KIND_FAILURE;
    return entry->cubin_size ? KIND_KERNEL : KIND_FUNCTION;
}

static void put_checksum(unsigned char *file, size_t n)
{
    pg_hash128 h = pg_hash(file + CHECKED_FROM, n - CHECKED_FROM);
    pg_put_le(file + 16, h.lo, 8);
    pg_put_le(file + 24, h.hi, 8);
}

static void put_header(pg_buf *b, const sizes *s)
{
    pg_buf_append(b, MAGIC, 8);
    put(b, FORMAT, 4);
    put_zeros(b, 4 + 16);
    put(b, file_size(s), 8);
    put(b, s->kind, 4);
    put(b, s->key, 4);
    put(b, s->meta, 4);
    put(b, s->log, 4);
    put(b, s->cubin, 8);
    put(b, s->ptx, 8);
    put_zeros(b, PG_ENTRY_HEADER_SIZE - RESERVED_FROM);
}

bool pg_entry_encode(pg_buf *out, pg_str key, const pg_cache_entry *entry)
{
    pg_buf meta;
    pg_buf_init(&meta, out->alloc);
    for (size_t i = 0; i < FIELD_COUNT; i++)
        if (fields[i].id != FIELD_MAC || *text_of(entry->mac))
            put_field(&meta, &fields[i], entry);
    const char *log = text_of(entry->log);
    size_t log_size = strlen(log), start = out->len;
    bool fits = key.n <= PG_ENTRY_KEY_MAX && !(key.n && memchr(key.p, 0, key.n)) &&
                meta.len <= PG_ENTRY_FILE_MAX && log_size <= PG_ENTRY_FILE_MAX && !meta.failed;
    sizes s = {
        .kind = kind_of(entry),
        .key = (uint32_t)key.n,
        .meta = (uint32_t)meta.len,
        .log = (uint32_t)log_size,
        .cubin = entry->cubin_size,
        .ptx = entry->ptx_size,
    };
    if (fits && sizes_allowed(&s) && pg_buf_reserve(out, file_size(&s))) {
        put_header(out, &s);
        pg_buf_append(out, key.p, key.n);
        put_zeros(out, 1);
        pg_buf_append(out, pg_buf_text(&meta), meta.len);
        put_zeros(out, start + cubin_offset(&s) - out->len);
        pg_buf_append(out, entry->cubin, entry->cubin_size);
        pg_buf_append(out, entry->ptx, entry->ptx_size);
        put_zeros(out, 1);
        pg_buf_append(out, log, log_size + 1);
        put_checksum((unsigned char *)out->data + start, out->len - start);
    }
    pg_buf_fini(&meta);
    return out->len != start && !out->failed;
}

uint64_t pg_entry_claimed_size(const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    if (n < PG_ENTRY_HEADER_SIZE || memcmp(p, MAGIC, 8) != 0 || pg_get_le(p + 8, 4) != FORMAT)
        return 0;
    return pg_get_le(p + 32, 8);
}

static bool read_field(const struct field *f, const unsigned char *value, size_t n,
                       pg_cache_entry *entry)
{
    char *member = (char *)entry + f->offset;
    if (f->kind == VALUE_TEXT) {
        if (n == 0 || memchr(value, 0, n) != value + n - 1)
            return false;
        const char *text = (const char *)value;
        memcpy(member, &text, sizeof text);
    } else if (f->kind == VALUE_I32) {
        uint32_t v = n == 4 ? (uint32_t)pg_get_le(value, 4) : 0;
        memcpy(member, &v, sizeof v);
        return n == 4;
    } else {
        uint64_t v = n == 8 ? pg_get_le(value, 8) : 0;
        memcpy(member, &v, sizeof v);
        return n == 8;
    }
    return true;
}

static bool read_metadata(const unsigned char *p, size_t n, pg_cache_entry *entry)
{
    while (n) {
        if (n < 8)
            return false;
        uint64_t id = pg_get_le(p, 2), kind = pg_get_le(p + 2, 2), size = pg_get_le(p + 4, 4);
        if (size > n - 8)
            return false;
        for (size_t i = 0; i < FIELD_COUNT; i++)
            if (fields[i].id == id &&
                (fields[i].kind != kind || !read_field(&fields[i], p + 8, size, entry)))
                return false;
        p += 8 + size;
        n -= 8 + size;
    }
    return true;
}

static bool all_zero(const unsigned char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i])
            return false;
    return true;
}

static bool checksum_matches(const unsigned char *p, size_t n)
{
    pg_hash128 h = pg_hash(p + CHECKED_FROM, n - CHECKED_FROM);
    return h.lo == pg_get_le(p + 16, 8) && h.hi == pg_get_le(p + 24, 8);
}

/* The sections of a file whose checksum is right. A checksum proves no intent: all is still
 * bounded. */
static bool read_sections(const unsigned char *p, const sizes *s, pg_cache_entry *entry,
                          pg_str *key)
{
    size_t key_end = PG_ENTRY_HEADER_SIZE + (size_t)s->key, meta_end = key_end + 1 + s->meta;
    size_t cubin = cubin_offset(s), ptx = cubin + s->cubin, log = ptx + s->ptx + 1;
    if (p[key_end] != 0 || p[log - 1] != 0 || p[log + s->log] != 0 ||
        memchr(p + PG_ENTRY_HEADER_SIZE, 0, s->key) || !all_zero(p + meta_end, cubin - meta_end) ||
        memchr(p + log, 0, s->log))
        return false;
    *key = (pg_str){(const char *)p + PG_ENTRY_HEADER_SIZE, s->key};
    entry->cubin = p + cubin;
    entry->cubin_size = s->cubin;
    entry->ptx = (const char *)p + ptx;
    entry->ptx_size = s->ptx;
    entry->log = (const char *)p + log;
    return read_metadata(p + key_end + 1, s->meta, entry) && s->kind == kind_of(entry) &&
           (s->kind != KIND_FAILURE || !entry->cubin_size);
}

pg_entry_fault pg_entry_decode(const void *bytes, size_t n, pg_cache_entry *entry, pg_str *key)
{
    const unsigned char *p = bytes;
    *entry = (pg_cache_entry){.message = "",
                              .error_file = "",
                              .family = "",
                              .params = "",
                              .entry_name = "",
                              .assembler = "",
                              .log = "",
                              .signature = "",
                              .mac = "",
                              .ptx = ""};
    *key = (pg_str){"", 0};
    if (n < PG_ENTRY_HEADER_SIZE)
        return PG_ENTRY_SHORT;
    uint64_t claimed = pg_entry_claimed_size(p, n);
    if (claimed == 0 || !all_zero(p + 12, 4))
        return PG_ENTRY_FOREIGN;
    if (claimed != n)
        return PG_ENTRY_SHORT;
    if (!checksum_matches(p, n))
        return PG_ENTRY_CHECKSUM;
    sizes s = {
        .kind = (uint32_t)pg_get_le(p + 40, 4),
        .key = (uint32_t)pg_get_le(p + 44, 4),
        .meta = (uint32_t)pg_get_le(p + 48, 4),
        .log = (uint32_t)pg_get_le(p + 52, 4),
        .cubin = pg_get_le(p + 56, 8),
        .ptx = pg_get_le(p + 64, 8),
    };
    if (!sizes_allowed(&s) || file_size(&s) != n || !all_zero(p + RESERVED_FROM, 56))
        return PG_ENTRY_CONTENT;
    return read_sections(p, &s, entry, key) ? PG_ENTRY_OK : PG_ENTRY_CONTENT;
}
