/* A cache folder that was found worthy of trust and is held open: everything in it is reached from
 * its descriptors, by names that never follow a link. */
#ifndef PG_CACHE_FOLDER_H
#define PG_CACHE_FOLDER_H

#include "base/file.h"
#include "base/hash.h"
#include "cache/cache.h"

/* "ab/cdef...": where a key's entry lies below v1/. */
typedef struct pg_entry_name {
    char shard[3], leaf[31];
} pg_entry_name;

typedef struct pg_folder {
    const pg_files *files;
    const char *path; /* borrowed */
    pg_cache_trust trust;
    bool readable; /* what is made can be read by everybody */
    /* Descriptors of the folder and of its v1/; -1: not open. Opened without `create`, a folder
     * that has no v1/ yet is an empty cache: entries stays -1. */
    int root, entries;
} pg_folder;

/* Why a folder or file is not used. */
typedef enum pg_folder_fault {
    PG_FOLDER_OK,
    PG_FOLDER_IO,       /* an I/O error; fault_errno says which */
    PG_FOLDER_FOREIGN,  /* of another user */
    PG_FOLDER_WRITABLE, /* by group or others */
    PG_FOLDER_LINK,     /* a symbolic link */
    PG_FOLDER_ON_LINK,  /* its path goes through a link of another user */
    PG_FOLDER_TYPE      /* not a folder, not a regular file */
} pg_folder_fault;

const char *pg_folder_fault_text(pg_folder_fault fault);

pg_entry_name pg_entry_name_of(pg_hash128 hash);

/* What was wrong when a folder was opened. */
typedef struct pg_folder_problem {
    pg_folder_fault fault;
    int error;          /* errno of PG_FOLDER_IO */
    const char *action; /* "opened" or "made" */
    const char *below;  /* "" or "/v1": behind folder->path */
} pg_folder_problem;

/* Opens folder->path; with `create`, makes what is missing. On failure both descriptors are -1. */
pg_folder_fault pg_folder_open(pg_folder *folder, bool create, pg_folder_problem *problem);
/* The sentence about a problem. */
void pg_folder_describe(const pg_folder *folder, const pg_folder_problem *problem, char *out,
                        size_t size);
/* The same into the numbers that are open already: threads that use them see old or new. */
pg_folder_fault pg_folder_reopen(pg_folder *folder, int *fault_errno);
void pg_folder_close(pg_folder *folder);

/* Makes a folder in `at` that can be entered whatever the umask; 0 also when it exists. */
int pg_folder_make(const pg_folder *folder, int at, const char *name);
/* The mode of a new file in it. */
unsigned pg_folder_file_mode(const pg_folder *folder);

/* Whether a file or folder with this stat is believed. */
pg_folder_fault pg_folder_judge(const pg_file_stat *stat, pg_file_type wanted,
                                pg_cache_trust trust);

/* Names in v1/, none when it is not there: 0, or a negative errno. */
int pg_folder_list(const pg_folder *folder, bool (*visit)(void *arg, const char *name), void *arg);
/* The shard folder, or a negative errno. */
int pg_folder_open_shard(const pg_folder *folder, const char *shard);
/* Whether this negative errno of it says that there are no entries, being gone or not a folder. */
bool pg_folder_has_none(int error);
/* The same, made if it is missing. */
int pg_folder_make_shard(const pg_folder *folder, const char *shard);

#endif
