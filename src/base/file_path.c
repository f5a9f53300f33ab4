/* The rest of the path is kept as text; the target of a link takes the link's place in it. */
#include "base/file_path.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { OPEN_STEP = O_PATH | O_DIRECTORY | O_NOFOLLOW, LINKS_MAX = 40 };

typedef struct state {
    const pg_file_walk *walk;
    int fd; /* the folder that was reached; -1: "/" */
    int links;
    char name[257]; /* the next step, without its '/' from name + 1 on */
    char rest[2 * PG_PATH_MAX + 2];
} state;

/* Takes the next step off the rest; 0, or -ENAMETOOLONG. false in *more: there is none. */
static int take_name(state *s, bool *more)
{
    const char *start = s->rest + strspn(s->rest, "/");
    const size_t n = strcspn(start, "/");
    *more = n > 0;
    if (n + 1 >= sizeof s->name)
        return -ENAMETOOLONG;
    s->name[0] = '/';
    memcpy(s->name + 1, start, n);
    s->name[n + 1] = 0;
    memmove(s->rest, start + n, strlen(start + n) + 1);
    return 0;
}

/* The next step as other calls take it. A step from "/" is a whole path: "/" itself may be
 * another folder for a program that is emulated (qemu-user looks for what is opened below a
 * prefix first). */
static int folder_of(const state *s)
{
    return s->fd < 0 ? AT_FDCWD : s->fd;
}

static const char *name_of(const state *s)
{
    return s->fd < 0 ? s->name : s->name + 1;
}

static int go_to(state *s, int fd)
{
    const pg_files *files = s->walk->files;
    if (fd < 0)
        return fd;
    if (s->fd >= 0)
        files->close(files->user, s->fd);
    s->fd = fd;
    return 0;
}

static int open_step(const state *s)
{
    const pg_files *files = s->walk->files;
    return files->open(files->user, folder_of(s), name_of(s), OPEN_STEP, 0);
}

/* The target of the link s->name goes in front of the rest. */
static int follow(state *s)
{
    const pg_files *files = s->walk->files;
    char target[PG_PATH_MAX + 1];
    uint32_t owner;
    const int n =
        files->read_link(files->user, folder_of(s), name_of(s), target, sizeof target, &owner);
    if (n < 0)
        return n == -EINVAL ? -ENOTDIR : n; /* no link: a file in the way */
    if (!s->walk->any_link && owner != geteuid() && owner != 0)
        return -EXDEV;
    const size_t rest = strlen(s->rest);
    if (++s->links > LINKS_MAX)
        return -ELOOP;
    if (n > PG_PATH_MAX || (size_t)n + rest + 2 > sizeof s->rest)
        return -ENAMETOOLONG;
    memmove(s->rest + n + 1, s->rest, rest + 1);
    memcpy(s->rest, target, (size_t)n);
    s->rest[n] = '/';
    if (target[0] == '/' && s->fd >= 0) {
        files->close(files->user, s->fd);
        s->fd = -1;
    }
    return 0;
}

static int make(const state *s)
{
    const pg_files *files = s->walk->files;
    int r = files->make_folder(files->user, folder_of(s), name_of(s), 0700);
    /* A umask of 0777 would leave a folder that even its owner cannot enter. */
    if (r == 0)
        r = files->set_mode(files->user, folder_of(s), name_of(s), 0700);
    return r == -EEXIST ? 0 : r;
}

static int step(state *s)
{
    int fd = open_step(s);
    if (fd == -ENOENT && s->walk->create) {
        const int made = make(s);
        fd = made < 0 ? made : open_step(s);
    }
    return fd == -ENOTDIR || fd == -ELOOP ? follow(s) : go_to(s, fd);
}

int pg_file_open_parent(const pg_file_walk *walk, char leaf[256])
{
    const pg_files *files = walk->files;
    state s = {.walk = walk, .fd = -1};
    if (walk->path[0] != '/')
        return -EINVAL;
    if (strlen(walk->path) > PG_PATH_MAX)
        return -ENAMETOOLONG;
    strcpy(s.rest, walk->path);
    strcpy(leaf, ".");
    bool more;
    int r = take_name(&s, &more);
    while (r == 0 && more) {
        if (s.rest[strspn(s.rest, "/")] ==
            0) { /* the last; a link there is the caller's to judge */
            strcpy(leaf, s.name + 1);
            break;
        }
        r = step(&s);
        if (r == 0)
            r = take_name(&s, &more);
    }
    if (r < 0 && s.fd >= 0)
        files->close(files->user, s.fd);
    if (r == 0 && s.fd < 0)
        return files->open(files->user, AT_FDCWD, "/", OPEN_STEP, 0);
    return r < 0 ? r : s.fd;
}
