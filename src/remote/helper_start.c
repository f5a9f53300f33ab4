/* The socket's name follows from the user, the machine and the address, so that processes with one
 * configuration share a helper. A lock file sees to it that one of them starts it. The helper
 * belongs to nobody: a shell starts it in the background and ends, so init reaps it. */
#include "remote/helper_start.h"

#include "base/clock.h"
#include "base/system_words.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SOCKET_PATH = 108, PAUSE_NS = 2000000, VARIABLES = 5 + 2 * PG_ADDRESS_ATTRIBUTES };
#define IDLE_SECONDS "600"

bool pg_helper_find(const char *scheme, const char *path, char *out, size_t size)
{
    while (path && *path) {
        const size_t n = strcspn(path, ":");
        const int length = snprintf(out, size, "%.*s/ccache-storage-%s", (int)n, path, scheme);
        if (*path == '/' && length > 0 && (size_t)length < size && access(out, X_OK) == 0)
            return true;
        path += n + (path[n] != 0);
    }
    return false;
}

/* Nobody else can put a socket there. */
static bool is_private(const char *folder)
{
    struct stat st;
    return stat(folder, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == getuid() &&
           !(st.st_mode & (S_IWGRP | S_IWOTH));
}

/* false: it is too long for a socket, or others may write to the folder. */
static bool socket_path(const pg_connection *c, char out[SOCKET_PATH])
{
    struct utsname host;
    char text[4 * PG_ADDRESS_TEXT];
    const pg_address *a = c->address;
    uname(&host);
    size_t n =
        (size_t)snprintf(text, sizeof text, "%u %s %s", (unsigned)getuid(), host.nodename, a->url);
    for (int i = 0; i < a->attributes; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, " %s=%s", a->attribute[i].name,
                              a->attribute[i].value);
    const int length = snprintf(out, SOCKET_PATH, "%s/ptxgen-%016llx", c->run_dir,
                                (unsigned long long)pg_hash64(text, n));
    return length < SOCKET_PATH && is_private(c->run_dir);
}

/* ---- starting ---- */

static bool is_helpers(const char *variable)
{
    return strncmp(variable, "CRSH_", 5) == 0;
}

/* The environment with the helper's variables in front; freed with free_environment. */
static char **make_environment(const pg_connection *c, const char *socket)
{
    const pg_address *a = c->address;
    size_t count = 0, n = 0;
    while (environ && environ[count])
        count++;
    char **all = calloc(count + VARIABLES + 1, sizeof *all);
    if (!all)
        return NULL;
    bool good = asprintf(&all[n++], "CRSH_IPC_ENDPOINT=%s", socket) >= 0 &&
                asprintf(&all[n++], "CRSH_URL=%s", a->url) >= 0 &&
                asprintf(&all[n++], "CRSH_IDLE_TIMEOUT=" IDLE_SECONDS) >= 0 &&
                asprintf(&all[n++], "CRSH_NUM_ATTR=%d", a->attributes) >= 0;
    for (int i = 0; good && i < a->attributes; i++)
        good = asprintf(&all[n++], "CRSH_ATTR_KEY_%d=%s", i, a->attribute[i].name) >= 0 &&
               asprintf(&all[n++], "CRSH_ATTR_VALUE_%d=%s", i, a->attribute[i].value) >= 0;
    for (size_t i = 0; good && i < count; i++)
        if (!is_helpers(environ[i]))
            good = (all[n++] = strdup(environ[i])) != NULL;
    all[good ? n : n - 1] = NULL;
    return all;
}

static void free_environment(char **all)
{
    for (size_t i = 0; all && all[i]; i++)
        free(all[i]);
    free(all);
}

/* What this process has open is none of the helper's business. */
static void close_others(posix_spawn_file_actions_t *actions)
{
    DIR *open_ones = opendir("/proc/self/fd");
    for (struct dirent *e; open_ones && (e = readdir(open_ones));)
        if (atoi(e->d_name) > STDERR_FILENO)
            posix_spawn_file_actions_addclose(actions, atoi(e->d_name));
    if (open_ones)
        closedir(open_ones);
    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        posix_spawn_file_actions_addopen(actions, fd, "/dev/null", O_RDWR, 0);
}

static pg_wire start(pg_connection *c, const char *socket)
{
    char program[4096], script[] = "umask 077; \"$0\" &";
    if (!pg_helper_find(c->address->scheme, c->path, program, sizeof program))
        return pg_wire_lost(c, "there is no ccache-storage-%s on PATH", c->address->scheme);
    char *words[] = {(char[]){"sh"}, (char[]){"-c"}, script, program, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    pid_t shell;
    char **environment = make_environment(c, socket);
    sigemptyset(&none);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
    close_others(&actions);
    const int r = environment
                      ? posix_spawn(&shell, "/bin/sh", &actions, &attributes, words, environment)
                      : ENOMEM;
    if (r == 0)
        while (waitpid(shell, NULL, 0) < 0 && errno == EINTR)
            ;
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    free_environment(environment);
    return r == 0 ? PG_WIRE_OK : pg_wire_lost(c, "%s: %s", program, pg_error_words(r));
}

/* Under the lock: another may have started it meanwhile. */
static pg_wire start_and_connect(pg_connection *c, const char *socket)
{
    if (pg_wire_connect(c, socket) == PG_WIRE_OK)
        return PG_WIRE_OK;
    unlink(socket); /* of one that has ended */
    pg_wire w = start(c, socket);
    if (w != PG_WIRE_OK)
        return w;
    do {
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
        w = pg_wire_connect(c, socket);
    } while (w != PG_WIRE_OK && pg_clock_ms() < c->deadline_ms);
    return w;
}

pg_wire pg_helper_connect(pg_connection *c)
{
    char socket[SOCKET_PATH], lock[SOCKET_PATH + 8];
    if (!socket_path(c, socket))
        return pg_wire_lost(c, "there is no private folder with a short path for the helper's "
                               "socket: set XDG_RUNTIME_DIR");
    if (pg_wire_connect(c, socket) == PG_WIRE_OK)
        return PG_WIRE_OK;
    snprintf(lock, sizeof lock, "%s.lock", socket);
    const int fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return pg_wire_lost(c, "%s: %s", lock, pg_error_words(errno));
    pg_wire w = PG_WIRE_LOST;
    bool mine;
    while (!(mine = flock(fd, LOCK_EX | LOCK_NB) == 0) && pg_clock_ms() < c->deadline_ms) {
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
        if ((w = pg_wire_connect(c, socket)) == PG_WIRE_OK)
            break;
    }
    if (mine)
        w = start_and_connect(c, socket);
    close(fd);
    return w;
}
