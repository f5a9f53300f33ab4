/* A socket that does not block, and waits that end by the connection's deadline. */
#include "base/clock.h"
#include "base/system_words.h"
#include "remote/transport.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

pg_wire pg_wire_lost(pg_connection *c, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(c->why, sizeof c->why, format, args);
    va_end(args);
    return PG_WIRE_LOST;
}

bool pg_wire_wait(pg_connection *c, short events)
{
    struct pollfd p = {.fd = atomic_load(&c->fd), .events = events};
    for (;;) {
        const int64_t left = c->deadline_ms - pg_clock_ms();
        if (left <= 0)
            break;
        const int r = poll(&p, 1, (int)left);
        if (r > 0)
            return true;
        if (r < 0 && errno != EINTR)
            break;
    }
    pg_wire_lost(c, "no answer in time");
    return false;
}

pg_wire pg_wire_connect(pg_connection *c, const char *socket_path)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    if (strlen(socket_path) >= sizeof to.sun_path)
        return pg_wire_lost(c, "the socket's path is longer than %zu bytes",
                            sizeof to.sun_path - 1);
    strcpy(to.sun_path, socket_path);
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return pg_wire_lost(c, "%s", pg_error_words(errno));
    if (connect(fd, (const struct sockaddr *)&to, sizeof to) < 0) {
        const int error = errno;
        close(fd);
        return pg_wire_lost(c, "%s: %s", socket_path, pg_error_words(error));
    }
    atomic_store(&c->fd, fd);
    return PG_WIRE_OK;
}

pg_wire pg_wire_send(pg_connection *c, const void *bytes, size_t n)
{
    for (const char *p = bytes; n;) {
        const ssize_t r = send(atomic_load(&c->fd), p, n, MSG_NOSIGNAL);
        if (r < 0 && errno == EAGAIN) {
            if (!pg_wire_wait(c, POLLOUT))
                return PG_WIRE_LOST;
        } else if (r < 0 && errno != EINTR) {
            return pg_wire_lost(c, "%s", pg_error_words(errno));
        } else if (r > 0) {
            p += r;
            n -= (size_t)r;
        }
    }
    return PG_WIRE_OK;
}

pg_wire pg_wire_receive(pg_connection *c, void *bytes, size_t n)
{
    for (char *p = bytes; n;) {
        if (!pg_wire_wait(c, POLLIN))
            return PG_WIRE_LOST;
        const ssize_t r = recv(atomic_load(&c->fd), p, n, 0);
        if (r == 0)
            return pg_wire_lost(c, "the other side has closed the connection");
        if (r < 0 && errno != EAGAIN && errno != EINTR)
            return pg_wire_lost(c, "%s", pg_error_words(errno));
        if (r > 0) {
            p += r;
            n -= (size_t)r;
        }
    }
    return PG_WIRE_OK;
}
