/* pg_entry_decode on any bytes: no read outside them, and what it accepts lies inside them. Every
 * input is tried as it is and once more with magic, size and checksum repaired, for these hide all
 * the rest. */
#include "base/bytes.h"
#include "cache/entry.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void check_text(const char *text, const unsigned char *bytes, size_t size)
{
    const unsigned char *p = (const unsigned char *)text;
    if (*text && (p < bytes || p + strlen(text) >= bytes + size))
        abort();
}

static void decode(const unsigned char *bytes, size_t size)
{
    pg_cache_entry e;
    pg_str key;
    if (pg_entry_decode(bytes, size, &e, &key) != PG_ENTRY_OK)
        return;
    const char *const texts[] = {e.family, e.params,  e.entry_name, e.assembler,
                                 e.log,    e.message, e.error_file, e.ptx};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        check_text(texts[i], bytes, size);
    const unsigned char *cubin = e.cubin;
    if (key.n > size || (e.cubin_size && (cubin < bytes || cubin + e.cubin_size > bytes + size)) ||
        e.ptx[e.ptx_size] != 0)
        abort();
    /* What is accepted can be written, and then says the same. */
    pg_buf again;
    pg_cache_entry back;
    pg_str same;
    pg_buf_init(&again, &pg_alloc_libc);
    if (!pg_entry_encode(&again, key, &e) ||
        pg_entry_decode(again.data, again.len, &back, &same) != PG_ENTRY_OK ||
        !pg_str_eq(key, same) || back.cubin_size != e.cubin_size ||
        strcmp(back.params, e.params) != 0 || back.arch != e.arch)
        abort();
    pg_buf_fini(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    decode(bytes, size);
    if (size < PG_ENTRY_HEADER_SIZE)
        return 0;
    unsigned char *repaired = malloc(size);
    if (!repaired)
        return 0;
    memcpy(repaired, bytes, size);
    memcpy(repaired, "ptxgen\r\n\1\0\0\0\0\0\0\0", 16);
    pg_put_le(repaired + 32, size, 8);
    pg_hash128 h = pg_hash(repaired + 32, size - 32);
    pg_put_le(repaired + 16, h.lo, 8);
    pg_put_le(repaired + 24, h.hi, 8);
    decode(repaired, size);
    free(repaired);
    return 0;
}
