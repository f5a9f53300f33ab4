/* /proc/PID/fdinfo/N of an open file names its locks:
 *     lock:   1: OFDLCK  ADVISORY  WRITE -1 fe:01:131 2048 2048 */
#include "cache/holder.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HOLDERS_SHOWN = 3 };

typedef struct search {
    const struct stat *file;
    uint64_t first, last;
    char *out;
    size_t size, found;
} search;

static bool read_text(const char *path, char *out, size_t size)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const ssize_t n = fd < 0 ? -1 : read(fd, out, size - 1);
    if (fd >= 0)
        close(fd);
    out[n > 0 ? n : 0] = 0;
    return n > 0;
}

static bool holds(const search *s, const char *process, const char *number)
{
    char path[128], text[2048];
    struct stat st;
    snprintf(path, sizeof path, "/proc/%.20s/fd/%.20s", process, number);
    if (stat(path, &st) != 0 || st.st_ino != s->file->st_ino || st.st_dev != s->file->st_dev)
        return false;
    snprintf(path, sizeof path, "/proc/%.20s/fdinfo/%.20s", process, number);
    if (!read_text(path, text, sizeof text))
        return false;
    for (const char *p = text; (p = strstr(p, "lock:")); p++) {
        char line[160];
        unsigned long long start, end;
        snprintf(line, sizeof line, "%.*s", (int)strcspn(p, "\n"), p);
        const char *space = strrchr(line, ' ');
        while (space && space > line && space[-1] != ' ')
            space--;
        if (space && sscanf(space, "%llu %llu", &start, &end) == 2 && start <= s->last &&
            end >= s->first && strstr(line, "WRITE"))
            return true;
    }
    return false;
}

static void note(search *s, const char *process)
{
    char path[64], name[32];
    snprintf(path, sizeof path, "/proc/%.20s/comm", process);
    read_text(path, name, sizeof name);
    name[strcspn(name, "\n")] = 0;
    const size_t used = strlen(s->out);
    if (++s->found > HOLDERS_SHOWN)
        return;
    if (atoi(process) == (int)getpid())
        snprintf(s->out + used, s->size - used, "%sanother thread of this process",
                 used ? ", " : "");
    else
        snprintf(s->out + used, s->size - used, "%sprocess %s (%s)", used ? ", " : "", process,
                 name);
}

static void look_at_process(search *s, const char *process)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%.20s/fd", process);
    DIR *d = opendir(path);
    for (const struct dirent *e; d && (e = readdir(d));) {
        if (e->d_name[0] == '.' || !holds(s, process, e->d_name))
            continue;
        note(s, process);
        break;
    }
    if (d)
        closedir(d);
}

void pg_lock_holders(int fd, uint64_t first, uint64_t last, char *out, size_t size)
{
    struct stat file;
    search s = {.file = &file, .first = first, .last = last, .out = out, .size = size};
    out[0] = 0;
    DIR *d = fstat(fd, &file) == 0 ? opendir("/proc") : NULL;
    for (const struct dirent *e; d && (e = readdir(d));)
        if (e->d_name[0] >= '1' && e->d_name[0] <= '9')
            look_at_process(&s, e->d_name);
    if (d)
        closedir(d);
    if (s.found > HOLDERS_SHOWN)
        snprintf(out + strlen(out), size - strlen(out), " and %zu more", s.found - HOLDERS_SHOWN);
    if (s.found == 0)
        snprintf(out, size, "a process that cannot be seen from here");
}
