/* Files of keys: lines "KIND NAME HEX"; # begins a comment. */
#ifndef PG_CACHE_KEY_FILE_H
#define PG_CACHE_KEY_FILE_H

#include "base/error.h"
#include "base/str.h"

enum { PG_KEY_NAME_MAX = 31, PG_KEY_FILE_MAX_BYTES = 16384 };

typedef struct pg_key_line {
    char *name; /* PG_KEY_NAME_MAX + 1 bytes when read */
    unsigned char *bytes;
    size_t n;
} pg_key_line;

/* Lower-case digits and a NUL. */
void pg_hex_put(const unsigned char *bytes, size_t n, char *out);
/* Exactly n bytes of lower-case digits. */
bool pg_hex_take(pg_str text, unsigned char *out, size_t n);

ptxgen_status pg_key_file_text(const char *path, char text[PG_KEY_FILE_MAX_BYTES],
                               ptxgen_error *err);
/* The next line without comment and blanks behind it; *at moves on. */
pg_str pg_key_file_line(const char **at);
/* false: the line is not of this kind and size. */
bool pg_key_line_take(pg_str line, const char *kind, const pg_key_line *out);
/* The first line of the kind. EINVAL: there is none. EIO. */
ptxgen_status pg_key_file_read(const char *path, const char *kind, const pg_key_line *out,
                               ptxgen_error *err);
/* EINVAL when others than its owner may read it, or it is another user's. */
ptxgen_status pg_key_file_is_private(const char *path, ptxgen_error *err);
/* A new file with one line; EINVAL when there is one, or the name is none. */
ptxgen_status pg_key_file_write(const char *path, const char *kind, const pg_key_line *,
                                unsigned mode, ptxgen_error *err);

#endif
