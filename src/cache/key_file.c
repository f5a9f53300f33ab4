/* A key's file is small: it is read whole. */
#include "cache/key_file.h"

#include "base/system_words.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void pg_hex_put(const unsigned char *bytes, size_t n, char *out)
{
    for (size_t i = 0; i < n; i++)
        sprintf(out + 2 * i, "%02x", bytes[i]);
}

static int digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool pg_hex_take(pg_str text, unsigned char *out, size_t n)
{
    bool good = text.n == 2 * n;
    for (size_t i = 0; good && i < n; i++) {
        const int high = digit(text.p[2 * i]), low = digit(text.p[2 * i + 1]);
        good = high >= 0 && low >= 0;
        out[i] = (unsigned char)(high << 4 | low);
    }
    return good;
}

ptxgen_status pg_key_file_text(const char *path, char text[PG_KEY_FILE_MAX_BYTES],
                               ptxgen_error *err)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd < 0 ? -1 : read(fd, text, PG_KEY_FILE_MAX_BYTES - 1);
    const int error = errno;
    if (fd >= 0)
        close(fd);
    if (n < 0)
        return pg_fail(err, PTXGEN_EIO, "cannot read the key file '%.400s': %s", path,
                       pg_error_words(error));
    text[n] = 0;
    return PTXGEN_OK;
}

bool pg_key_line_take(pg_str line, const char *kind, const pg_key_line *out)
{
    const pg_str first = pg_str_word(&line), second = pg_str_word(&line),
                 third = pg_str_word(&line);
    if (!pg_str_is(first, kind) || second.n == 0 || second.n > PG_KEY_NAME_MAX || line.n)
        return false;
    memcpy(out->name, second.p, second.n);
    out->name[second.n] = 0;
    return pg_hex_take(third, out->bytes, out->n);
}

pg_str pg_key_file_line(const char **at)
{
    const size_t n = strcspn(*at, "\n");
    pg_str line = {*at, n};
    *at += n + ((*at)[n] != 0);
    const char *comment = n ? memchr(line.p, '#', n) : NULL;
    if (comment)
        line.n = (size_t)(comment - line.p);
    while (line.n && (line.p[line.n - 1] == ' ' || line.p[line.n - 1] == '\r'))
        line.n--;
    return line;
}

ptxgen_status pg_key_file_read(const char *path, const char *kind, const pg_key_line *out,
                               ptxgen_error *err)
{
    char text[PG_KEY_FILE_MAX_BYTES];
    PG_TRY(pg_key_file_text(path, text, err));
    for (const char *at = text; *at;)
        if (pg_key_line_take(pg_key_file_line(&at), kind, out))
            return PTXGEN_OK;
    return pg_fail(err, PTXGEN_EINVAL, "%.400s has no \"%s\" line: `ptxgen cache keygen` makes one",
                   path, kind);
}

ptxgen_status pg_key_file_is_private(const char *path, ptxgen_error *err)
{
    struct stat st;
    if (stat(path, &st) < 0)
        return pg_fail(err, PTXGEN_EIO,
                       "cannot read the key file '%.400s': %s (`ptxgen cache keygen` makes one)",
                       path, pg_error_words(errno));
    if (st.st_uid == geteuid() && !(st.st_mode & (S_IRWXG | S_IRWXO)))
        return PTXGEN_OK;
    return pg_fail(err, PTXGEN_EINVAL,
                   "the key file '%.400s' is another user's or can be read by others (mode %03o): "
                   "chmod 600 it, and make a new key if others may have read it",
                   path, (unsigned)st.st_mode & 0777);
}

ptxgen_status pg_key_file_write(const char *path, const char *kind, const pg_key_line *line,
                                unsigned mode, ptxgen_error *err)
{
    enum { BYTES_MAX = 64, TEXT_MAX = 2 * BYTES_MAX + PG_KEY_NAME_MAX + 32 };
    char hex[2 * BYTES_MAX + 1], text[TEXT_MAX];
    const size_t named = strlen(line->name);
    if (named == 0 || named > PG_KEY_NAME_MAX || strcspn(line->name, " \t\r\n#") != named)
        return pg_fail(err, PTXGEN_EINVAL, "a key's name has 1 to %d bytes and no blanks",
                       (int)PG_KEY_NAME_MAX);
    pg_hex_put(line->bytes, line->n, hex);
    const size_t n = (size_t)snprintf(text, sizeof text, "%s %s %s\n", kind, line->name, hex);
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (fd >= 0 && write(fd, text, n) == (ssize_t)n && close(fd) == 0)
        return PTXGEN_OK;
    return pg_fail(err, errno == EEXIST ? PTXGEN_EINVAL : PTXGEN_EIO, "cannot write '%.400s': %s",
                   path, pg_error_words(errno));
}
