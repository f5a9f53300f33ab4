/* A real redis-server for a test: started on a free port and a socket of its own folder, stopped by
 * it. And commands to it that need no library. */
#ifndef REDIS_SERVER_H
#define REDIS_SERVER_H

#include "test.h"

#include <sys/types.h>

typedef struct redis_server {
    char dir[64];
    char place[64]; /* redis://127.0.0.1:PORT */
    int port;
    pid_t pid; /* 0: it does not run */
} redis_server;

/* Whether there is one on this machine. */
bool redis_server_is_here(void);
/* `option` (may be NULL) and its value, as in redis.conf. */
void redis_server_make(redis_server *s, const char *option, const char *value);
/* The same port again, with nothing in it. */
void redis_server_start(redis_server *s, const char *option, const char *value);
void redis_server_kill(redis_server *s);
/* SIGSTOP, SIGCONT: connections are accepted by the kernel, nothing is answered. */
void redis_server_stall(const redis_server *s);
void redis_server_go_on(const redis_server *s);
void redis_server_remove(redis_server *s);

/* One command of `count` words; a word of a size has that many bytes, else it ends with its NUL.
 * The answer's bytes (of an array none), the caller's to free; NULL: nil or an error. */
typedef struct redis_word {
    const void *bytes;
    size_t size;
} redis_word;
char *redis_say(const redis_server *s, const redis_word *words, int count, size_t *size);
/* A number. */
long redis_count(const redis_server *s, const char *command, const char *word);
void redis_set(const redis_server *s, const char *key, const void *bytes, size_t n);
/* NULL: it is not there. */
char *redis_get(const redis_server *s, const char *key, size_t *size);
/* Names of keys that match, in rows of 128 bytes; how many. */
int redis_keys(const redis_server *s, const char *pattern, char (*names)[128], int most);

#endif
