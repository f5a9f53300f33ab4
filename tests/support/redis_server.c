#include "redis_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void nap(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
}

bool redis_server_is_here(void)
{
    return system("command -v redis-server >/dev/null 2>&1") == 0;
}

static int free_port(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof at;
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof at) == 0 &&
                getsockname(fd, (struct sockaddr *)&at, &n) == 0);
    close(fd);
    return ntohs(at.sin_port);
}

static int connect_to(const redis_server *s)
{
    const struct sockaddr_in at = {.sin_family = AF_INET,
                                   .sin_port = htons((uint16_t)s->port),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    if (connect(fd, (const struct sockaddr *)&at, sizeof at) == 0)
        return fd;
    close(fd);
    return -1;
}

void redis_server_start(redis_server *s, const char *option, const char *value)
{
    char port[16], name[64], log[96];
    snprintf(port, sizeof port, "%d", s->port);
    snprintf(name, sizeof name, "--%s", option ? option : "daemonize");
    snprintf(log, sizeof log, "%s/log", s->dir);
    s->pid = fork();
    assert_true(s->pid >= 0);
    if (s->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails leaves none behind */
        const int fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
        dup2(fd, 1);
        dup2(fd, 2);
        execlp("redis-server", "redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "",
               "--appendonly", "no", "--dir", s->dir, "--unixsocket", "socket", name,
               option ? value : "no", (char *)NULL);
        _exit(127);
    }
    int fd;
    for (int i = 0; (fd = connect_to(s)) < 0; i++) {
        assert_true(i < 2000 && waitpid(s->pid, NULL, WNOHANG) == 0);
        nap();
    }
    close(fd);
}

void redis_server_make(redis_server *s, const char *option, const char *value)
{
    *s = (redis_server){.port = free_port()};
    snprintf(s->dir, sizeof s->dir, "/tmp/ptxgen-redis-XXXXXX");
    assert_non_null(mkdtemp(s->dir));
    snprintf(s->place, sizeof s->place, "redis://127.0.0.1:%d", s->port);
    redis_server_start(s, option, value);
}

void redis_server_kill(redis_server *s)
{
    if (s->pid && kill(s->pid, SIGKILL) == 0)
        waitpid(s->pid, NULL, 0);
    s->pid = 0;
}

void redis_server_stall(const redis_server *s)
{
    int status;
    assert_int_equal(kill(s->pid, SIGSTOP), 0);
    assert_int_equal(waitpid(s->pid, &status, WUNTRACED), s->pid);
}

void redis_server_go_on(const redis_server *s)
{
    assert_int_equal(kill(s->pid, SIGCONT), 0);
}

void redis_server_remove(redis_server *s)
{
    char command[128];
    redis_server_kill(s);
    snprintf(command, sizeof command, "rm -rf %s", s->dir);
    assert_int_equal(system(command), 0);
}

/* ---- commands ---- */

static void send_all(int fd, const void *bytes, size_t n)
{
    for (const char *p = bytes; n;) {
        const ssize_t r = send(fd, p, n, MSG_NOSIGNAL);
        assert_true(r > 0);
        p += r;
        n -= (size_t)r;
    }
}

static void receive(int fd, char *bytes, size_t n)
{
    while (n) {
        const ssize_t r = recv(fd, bytes, n, 0);
        assert_true(r > 0);
        bytes += r;
        n -= (size_t)r;
    }
}

static void read_line(int fd, char line[256])
{
    size_t n = 0;
    do {
        assert_true(n < 255);
        receive(fd, line + n, 1);
    } while (line[n++] != '\n');
    line[n - 2] = 0;
}

static char *read_bulk(int fd, long n, size_t *size)
{
    char end[2], *bytes = n < 0 ? NULL : malloc((size_t)n + 1);
    if (!bytes)
        return NULL;
    receive(fd, bytes, (size_t)n);
    receive(fd, end, 2);
    bytes[n] = 0;
    *size = (size_t)n;
    return bytes;
}

static void send_command(int fd, const redis_word *words, int count)
{
    char head[32];
    send_all(fd, head, (size_t)snprintf(head, sizeof head, "*%d\r\n", count));
    for (int i = 0; i < count; i++) {
        const size_t n = words[i].size ? words[i].size : strlen(words[i].bytes);
        send_all(fd, head, (size_t)snprintf(head, sizeof head, "$%zu\r\n", n));
        send_all(fd, words[i].bytes, n);
        send_all(fd, "\r\n", 2);
    }
}

char *redis_say(const redis_server *s, const redis_word *words, int count, size_t *size)
{
    char line[256], *answer = NULL;
    const int fd = connect_to(s);
    assert_true(fd >= 0);
    send_command(fd, words, count);
    read_line(fd, line);
    *size = 0;
    if (line[0] == '$') {
        answer = read_bulk(fd, atol(line + 1), size);
    } else if (line[0] != '-') {
        answer = strdup(line + 1);
        *size = strlen(answer);
    }
    close(fd);
    return answer;
}

long redis_count(const redis_server *s, const char *command, const char *word)
{
    size_t n;
    char *answer = redis_say(s, (redis_word[]){{command, 0}, {word, 0}}, word ? 2 : 1, &n);
    const long count = answer ? atol(answer) : -1;
    free(answer);
    return count;
}

void redis_set(const redis_server *s, const char *key, const void *bytes, size_t n)
{
    size_t size;
    char *answer = redis_say(s, (redis_word[]){{"SET", 0}, {key, 0}, {bytes, n}}, 3, &size);
    assert_non_null(answer);
    free(answer);
}

char *redis_get(const redis_server *s, const char *key, size_t *size)
{
    return redis_say(s, (redis_word[]){{"GET", 0}, {key, 0}}, 2, size);
}

int redis_keys(const redis_server *s, const char *pattern, char (*names)[128], int most)
{
    char line[256];
    size_t n;
    const int fd = connect_to(s);
    assert_true(fd >= 0);
    send_command(fd, (redis_word[]){{"KEYS", 0}, {pattern, 0}}, 2);
    read_line(fd, line);
    const int count = atoi(line + 1);
    for (int i = 0; i < count; i++) {
        read_line(fd, line);
        char *name = read_bulk(fd, atol(line + 1), &n);
        if (i < most)
            snprintf(names[i], 128, "%s", name);
        free(name);
    }
    close(fd);
    return count < most ? count : most;
}
