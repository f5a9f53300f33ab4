/* What the dynamic linker's words mean: it keeps no errno. */
#ifndef PG_DYNAMIC_H
#define PG_DYNAMIC_H

/* The errno behind a dlerror() text (NULL is allowed): ENOENT when it says that there is no such
 * file, EINVAL when the file is not one that can be loaded here, else the number whose text it
 * ends with, or EAGAIN: not known. */
int pg_dlopen_errno(const char *text);

#endif
