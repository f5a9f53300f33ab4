/* A storage helper as ccache's specification describes one, over a folder: the attribute "dir". A
 * process per client; a file per key. It stands alone: nothing of ptxgen is in it. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static const char *folder;

static void take(int fd, void *bytes, size_t n)
{
    for (char *p = bytes; n;) {
        const ssize_t r = read(fd, p, n);
        if (r <= 0)
            _exit(0);
        p += r;
        n -= (size_t)r;
    }
}

static void give(int fd, const void *bytes, size_t n)
{
    if (write(fd, bytes, n) != (ssize_t)n)
        _exit(1);
}

static void give_byte(int fd, unsigned char byte)
{
    give(fd, &byte, 1);
}

static void take_path(int fd, char path[512])
{
    unsigned char n, key[255];
    take(fd, &n, 1);
    take(fd, key, n);
    size_t at = (size_t)snprintf(path, 512, "%.200s/", folder);
    for (int i = 0; i < n && at < 500; i++)
        at += (size_t)snprintf(path + at, 512 - at, "%02x", key[i]);
}

static void get(int fd)
{
    char path[512];
    struct stat st;
    take_path(fd, path);
    const int file = open(path, O_RDONLY);
    if (file < 0 || fstat(file, &st) < 0) {
        give_byte(fd, 1);
        return;
    }
    const uint64_t n = (uint64_t)st.st_size;
    char *bytes = malloc(n + 1);
    take(file, bytes, n);
    close(file);
    give_byte(fd, 0);
    give(fd, &n, sizeof n);
    give(fd, bytes, n);
    free(bytes);
}

static void put(int fd)
{
    static const char full[] = "the store is full";
    char path[512];
    unsigned char flags;
    uint64_t n;
    take_path(fd, path);
    take(fd, &flags, 1);
    take(fd, &n, sizeof n);
    char *bytes = malloc(n + 1);
    take(fd, bytes, n);
    const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    const int good = file >= 0 && write(file, bytes, n) == (ssize_t)n;
    if (file >= 0)
        close(file);
    free(bytes);
    give_byte(fd, good ? 0 : 2);
    if (!good) {
        give_byte(fd, sizeof full - 1);
        give(fd, full, sizeof full - 1);
    }
}

static void serve(int fd, pid_t server)
{
    static const unsigned char greeting[] = {1, 1, 0};
    give(fd, greeting, sizeof greeting);
    for (;;) {
        unsigned char what;
        take(fd, &what, 1);
        if (what == 0) {
            get(fd);
        } else if (what == 1) {
            put(fd);
        } else if (what == 3) {
            give_byte(fd, 0);
            kill(server, SIGTERM);
            _exit(0);
        } else {
            _exit(1);
        }
    }
}

int main(void)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    const char *endpoint = getenv("CRSH_IPC_ENDPOINT"), *idle = getenv("CRSH_IDLE_TIMEOUT");
    const char *count = getenv("CRSH_NUM_ATTR"), *name = getenv("CRSH_ATTR_KEY_0");
    folder = getenv("CRSH_ATTR_VALUE_0");
    if (!endpoint || !getenv("CRSH_URL") || !idle || !count || atoi(count) != 1 || !name ||
        strcmp(name, "dir") != 0 || !folder || strlen(endpoint) >= sizeof at.sun_path)
        return 2;
    strcpy(at.sun_path, endpoint);
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof at) < 0 || listen(fd, 64) < 0)
        return 1;
    signal(SIGCHLD, SIG_IGN);
    alarm(60); /* none outlives a test for long */
    for (;;) {
        const int client = accept(fd, NULL, NULL);
        if (client >= 0 && fork() == 0)
            serve(client, getppid());
        if (client >= 0)
            close(client);
    }
}
