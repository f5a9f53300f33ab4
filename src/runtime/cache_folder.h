/* A cache folder that was found worthy of trust and is held open: everything in it is reached from
 * its descriptors, by names that never follow a link. */
#ifndef PG_CACHE_FOLDER_H
#define PG_CACHE_FOLDER_H

#include "base/file.h"
#include "base/hash.h"
#include "runtime/cache.h"

/* "ab/cdef...": where a key's entry lies below v1/. */
typedef struct pg_entry_name {
    char shard[3], leaf[31];
} pg_entry_name;

typedef struct pg_folder {
    const pg_files *files;
    const char *path; /* borrowed */
    pg_cache_trust trust;
    int root, entries; /* descriptors of the folder and of its v1/; -1: not open */
} pg_folder;

/* Why a folder or file is not used. */
typedef enum pg_folder_fault {
    PG_FOLDER_OK,
    PG_FOLDER_IO,       /* an I/O error; fault_errno says which */
    PG_FOLDER_FOREIGN,  /* of another user */
    PG_FOLDER_WRITABLE, /* by group or others */
    PG_FOLDER_TYPE      /* a link, not a folder, not a regular file */
} pg_folder_fault;

const char *pg_folder_fault_text(pg_folder_fault fault);

pg_entry_name pg_entry_name_of(pg_hash128 hash);

/* Opens folder->path; with `create`, makes what is missing. On failure both descriptors are -1. */
pg_folder_fault pg_folder_open(pg_folder *folder, bool create, int *fault_errno);
/* The same into the numbers that are open already: threads that use them see old or new. */
pg_folder_fault pg_folder_reopen(pg_folder *folder, int *fault_errno);
void pg_folder_close(pg_folder *folder);

/* Whether a file or folder with this stat is believed. */
pg_folder_fault pg_folder_judge(const pg_file_stat *stat, pg_file_type wanted,
                                pg_cache_trust trust);

/* The shard folder, or a negative errno. */
int pg_folder_open_shard(const pg_folder *folder, const char *shard);
/* The same, made if it is missing. */
int pg_folder_make_shard(const pg_folder *folder, const char *shard);

#endif
