/* ccache's protocol for storage helpers: a program on this machine that keeps the connection to
 * whatever store it knows and serves every process of the user over a socket. Source:
 * ccache's doc/remote_storage_helper_spec.md, version 1 of the protocol. It knows no claims. */
#include "remote/helper_start.h"
#include "remote/remote.h"
#include "remote/transport.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { VERSION = 1, CAN_GET_AND_PUT = 0 };
enum { REQUEST_GET = 0, REQUEST_PUT = 1 };
enum { ANSWER_OK = 0, ANSWER_NONE = 1, ANSWER_ERROR = 2 };
enum { KEY_BYTES = 16, FLAG_OVERWRITE = 1 };

static void close_it(pg_connection *c)
{
    const int fd = atomic_exchange(&c->fd, -1);
    if (fd >= 0)
        close(fd);
}

static pg_wire greet(pg_connection *c)
{
    unsigned char head[2], can[255];
    pg_wire w = pg_wire_receive(c, head, sizeof head);
    if (w == PG_WIRE_OK && head[0] != VERSION)
        return pg_wire_lost(c, "the helper speaks version %d of the protocol, not 1", head[0]);
    if (w == PG_WIRE_OK)
        w = pg_wire_receive(c, can, head[1]);
    if (w == PG_WIRE_OK && !memchr(can, CAN_GET_AND_PUT, head[1]))
        return pg_wire_lost(c, "the helper can neither get nor put");
    return w;
}

static pg_wire open_connection(pg_connection *c)
{
    const pg_wire w = c->address->kind == PG_ADDRESS_HELPER ? pg_helper_connect(c)
                                                            : pg_wire_connect(c, c->address->host);
    return w == PG_WIRE_OK ? greet(c) : w;
}

static size_t put_key(unsigned char *at, pg_hash128 id)
{
    char hex[33];
    pg_hash_hex(id, hex);
    *at++ = KEY_BYTES;
    for (int i = 0; i < KEY_BYTES; i++) {
        unsigned byte;
        sscanf(hex + 2 * i, "%2x", &byte);
        *at++ = (unsigned char)byte;
    }
    return 1 + KEY_BYTES;
}

static pg_wire read_answer(pg_connection *c)
{
    unsigned char code, n;
    char words[256];
    pg_wire w = pg_wire_receive(c, &code, 1);
    if (w != PG_WIRE_OK || code == ANSWER_OK)
        return w;
    if (code == ANSWER_NONE)
        return PG_WIRE_NONE;
    if (code != ANSWER_ERROR)
        return pg_wire_lost(c, "the helper's answer begins with %d", code);
    w = pg_wire_receive(c, &n, 1);
    if (w == PG_WIRE_OK)
        w = pg_wire_receive(c, words, n);
    if (w != PG_WIRE_OK)
        return w;
    snprintf(c->why, sizeof c->why, "%.*s", n, words);
    return PG_WIRE_REFUSED;
}

static pg_wire get(pg_connection *c, pg_hash128 id, pg_buf *out)
{
    unsigned char request[2 + KEY_BYTES] = {REQUEST_GET};
    uint64_t n = 0;
    pg_wire w = pg_wire_send(c, request, 1 + put_key(request + 1, id));
    if (w == PG_WIRE_OK)
        w = read_answer(c);
    if (w == PG_WIRE_OK)
        w = pg_wire_receive(c, &n, sizeof n);
    if (w != PG_WIRE_OK)
        return w;
    if (n > PG_REMOTE_ENTRY_MAX || !pg_buf_reserve(out, n))
        return pg_wire_lost(c, "the answer is larger than an entry may be, or there is no memory");
    w = pg_wire_receive(c, out->data, n);
    if (w == PG_WIRE_OK) {
        out->len = n;
        out->data[n] = 0;
    }
    return w;
}

static pg_wire put(pg_connection *c, pg_hash128 id, pg_str bytes)
{
    unsigned char request[2 + KEY_BYTES + 1 + sizeof(uint64_t)] = {REQUEST_PUT};
    const uint64_t n = bytes.n;
    size_t at = 1 + put_key(request + 1, id);
    request[at++] = FLAG_OVERWRITE;
    memcpy(request + at, &n, sizeof n);
    pg_wire w = pg_wire_send(c, request, at + sizeof n);
    if (w == PG_WIRE_OK)
        w = pg_wire_send(c, bytes.p, bytes.n);
    return w == PG_WIRE_OK ? read_answer(c) : w;
}

/* A question that any store answers: for a key that nobody has. */
static pg_wire ping(pg_connection *c)
{
    static const char nobody[] = "ptxgen: is anybody there?";
    pg_buf out;
    pg_buf_init(&out, &pg_alloc_libc);
    const pg_wire w = get(c, pg_hash(nobody, sizeof nobody), &out);
    pg_buf_fini(&out);
    return w == PG_WIRE_NONE ? PG_WIRE_OK : w;
}

ptxgen_status pg_transport_helper(const pg_transport **out, ptxgen_error *err)
{
    static const pg_transport helper = {open_connection, close_it, ping, get, put, NULL, NULL};
    (void)err;
    *out = &helper;
    return PTXGEN_OK;
}
