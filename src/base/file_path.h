/* Reaching a folder by an absolute path, a step at a time from open descriptors, so that nobody
 * can exchange a step that was judged. A symbolic link is followed when this user or root made
 * it; another user's is not: it could lead anywhere, now or a moment later. */
#ifndef PG_FILE_PATH_H
#define PG_FILE_PATH_H

#include "base/file.h"

/* The longest path that is accepted, without its NUL. */
enum { PG_PATH_MAX = 4095 };

typedef struct pg_file_walk {
    const pg_files *files;
    const char *path; /* absolute */
    bool create;      /* make the folders that are missing, mode 0700 whatever the umask */
    bool any_link;    /* follow every link */
} pg_file_walk;

/* Opens the folder that holds the last part of the path, which goes into leaf[256] ("." for
 * "/"), for use as the folder of other calls only: a descriptor, or a negative errno. -EXDEV: a
 * link of another user is in the way. */
int pg_file_open_parent(const pg_file_walk *walk, char leaf[256]);

#endif
