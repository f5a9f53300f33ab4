/* CUDA releases as numbers, 12.9 as 1209, and which one first took which PTX (PTX ISA, release
 * notes). */
#ifndef PG_RELEASE_H
#define PG_RELEASE_H

#include <stddef.h>

/* The first that takes every kernel that there is now. */
enum { PG_RELEASE_FOR_ALL = 1209 };

/* Of a tool's version, "12.9.86"; 0 when it says none. */
int pg_release_of(const char *version);
/* The first that takes PTX of this ISA version, "8.8"; 0 for a text that is no version, or for a
 * version later than those that are known. */
int pg_release_for_ptx(const char *ptx_version);
/* That of a PTX text, by its .version; 0 when it has none. */
int pg_release_for_text(const char *ptx, size_t size);

#endif
