/* A text is at most PG_ADDRESS_TEXT long, so its parts fit where they are copied to, or are
 * refused. */
#include "remote/address.h"

#include "base/str.h"

#include <stdio.h>
#include <string.h>

enum { REDIS_PORT = 6379, PORT_MAX = 65535, DATABASE_MAX = 100000 };

static ptxgen_status refuse(const char *text, const char *why, ptxgen_error *err)
{
    char shown[PG_ADDRESS_TEXT];
    pg_address_show(text, shown);
    return pg_fail(err, PTXGEN_EINVAL,
                   "cache_remote=%s: %s; it is redis://HOST[:PORT][/DATABASE], "
                   "redis+unix:///SOCKET, crsh:/SOCKET, or SCHEME://... of a storage helper",
                   shown, why);
}

static int digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* Copies with %-escapes resolved; false: too long, or no escape. */
static bool unescape(pg_str from, char *out, size_t size)
{
    size_t n = 0;
    for (size_t i = 0; i < from.n; i++, n++) {
        if (n + 1 >= size)
            return false;
        out[n] = from.p[i];
        if (from.p[i] != '%')
            continue;
        const int high = i + 2 < from.n ? digit(from.p[i + 1]) : -1;
        const int low = high >= 0 ? digit(from.p[i + 2]) : -1;
        if (low < 0 || (high | low) == 0)
            return false;
        out[n] = (char)(high << 4 | low);
        i += 2;
    }
    out[n] = 0;
    return true;
}

static bool copy(pg_str from, char *out, size_t size)
{
    if (from.n >= size)
        return false;
    memcpy(out, from.p, from.n);
    out[from.n] = 0;
    return true;
}

/* What is before the first `mark` of *rest, and *rest behind it; false: there is none. */
static bool cut(pg_str *rest, char mark, pg_str *before)
{
    const char *at = rest->n ? memchr(rest->p, mark, rest->n) : NULL;
    if (!at)
        return false;
    *before = (pg_str){rest->p, (size_t)(at - rest->p)};
    rest->n -= before->n + 1;
    rest->p = at + 1;
    return true;
}

static bool number(pg_str text, int most, int *out)
{
    int64_t value;
    if (!pg_str_i64(text, &value) || value < 0 || value > most)
        return false;
    *out = (int)value;
    return true;
}

static const char *read_credentials(pg_address *a, pg_str *rest)
{
    pg_str who, user = {"", 0};
    if (!cut(rest, '@', &who))
        return NULL;
    cut(&who, ':', &user);
    return unescape(user, a->user, sizeof a->user) && unescape(who, a->password, sizeof a->password)
               ? NULL
               : "its user or password is not understood";
}

static const char *read_redis(pg_address *a, pg_str rest)
{
    pg_str host, behind = {"", 0};
    const char *why = read_credentials(a, &rest);
    if (why)
        return why;
    if (cut(&rest, '/', &host)) {
        behind = rest;
        rest = host;
    }
    a->port = REDIS_PORT;
    if (behind.n && !number(behind, DATABASE_MAX, &a->database))
        return "its database is no number";
    if (rest.n && *rest.p == '[') { /* an IPv6 address */
        rest.p++, rest.n--;
        if (!cut(&rest, ']', &host) || (rest.n && *rest.p != ':'))
            return "its host is not understood";
        if (rest.n)
            rest.p++, rest.n--;
    } else if (!cut(&rest, ':', &host)) {
        host = rest;
        rest.n = 0;
    }
    if (rest.n && (!number(rest, PORT_MAX, &a->port) || !a->port))
        return "its port is no number up to 65535";
    return host.n && copy(host, a->host, sizeof a->host) ? NULL : "its host is missing or too long";
}

static const char *read_socket(pg_address *a, pg_str path)
{
    return path.n && path.p[0] == '/' && copy(path, a->host, sizeof a->host)
               ? NULL
               : "its socket is no absolute path";
}

static const char *read_place(pg_address *a, pg_str place)
{
    pg_str scheme, rest = place;
    if (!copy(place, a->url, sizeof a->url))
        return "it is too long";
    if (!cut(&rest, ':', &scheme) || !scheme.n || !copy(scheme, a->scheme, sizeof a->scheme) ||
        strspn(a->scheme, "abcdefghijklmnopqrstuvwxyz0123456789+.-") != scheme.n)
        return "it has no scheme";
    if (strcmp(a->scheme, "crsh") == 0) {
        a->kind = PG_ADDRESS_HELPER_SOCKET;
        return read_socket(a, rest);
    }
    if (rest.n < 3 || memcmp(rest.p, "//", 2) != 0)
        return "it has no \"//\" behind its scheme";
    rest = (pg_str){rest.p + 2, rest.n - 2};
    if (strcmp(a->scheme, "redis") == 0) {
        a->kind = PG_ADDRESS_REDIS;
        return read_redis(a, rest);
    }
    if (strcmp(a->scheme, "redis+unix") == 0) {
        a->kind = PG_ADDRESS_REDIS_UNIX;
        return read_socket(a, rest);
    }
    a->kind = PG_ADDRESS_HELPER;
    return NULL;
}

static const char *read_word(pg_address *a, pg_str word)
{
    pg_str name;
    if (pg_str_is(word, "read-only")) {
        a->read_only = true;
        return NULL;
    }
    if (word.p[0] != '@' || a->kind < PG_ADDRESS_HELPER)
        return "the words behind the place are read-only and, for a helper that is started, "
               "@NAME=VALUE";
    word = (pg_str){word.p + 1, word.n - 1};
    if (a->attributes == PG_ADDRESS_ATTRIBUTES)
        return "it has more than 8 attributes";
    pg_str value = word;
    const bool has_value = cut(&value, '=', &name);
    if (!has_value) {
        name = word;
        value = pg_str_of("true");
    }
    return copy(name, a->attribute[a->attributes].name, sizeof a->attribute->name) &&
                   unescape(value, a->attribute[a->attributes++].value, sizeof a->attribute->value)
               ? NULL
               : "an attribute is too long";
}

ptxgen_status pg_address_read(const char *text, pg_address *out, ptxgen_error *err)
{
    *out = (pg_address){0};
    pg_str rest = pg_str_of(text), word = pg_str_word(&rest);
    const char *why = read_place(out, word);
    while (!why && (word = pg_str_word(&rest)).n)
        why = read_word(out, word);
    pg_address_show(text, out->shown);
    return why ? refuse(text, why, err) : PTXGEN_OK;
}

/* Puts "***" in the place of from .. to. */
static void hide(char *text, char *from, const char *to)
{
    char tail[PG_ADDRESS_TEXT];
    snprintf(tail, sizeof tail, "***%s", to);
    snprintf(from, PG_ADDRESS_TEXT - (size_t)(from - text), "%s", tail);
}

void pg_address_show(const char *text, char out[PG_ADDRESS_TEXT])
{
    snprintf(out, PG_ADDRESS_TEXT, "%s", text);
    char *place = strstr(out, "://");
    char *at = place ? strchr(place, '@') : NULL, *blank = strpbrk(out, " \t");
    if (at && (!blank || at < blank))
        hide(out, place + 3, at);
    for (char *word = out; (word = strstr(word, " @")) != NULL; word += 2) {
        char *value = strpbrk(word + 2, "= \t");
        if (value && *value == '=')
            hide(out, value + 1, value + 1 + strcspn(value + 1, " \t"));
    }
}
