/* The actions of `ptxgen cache`, one function each. words[0] is the action. */
#ifndef PTXGEN_CACHE_ACTIONS_H
#define PTXGEN_CACHE_ACTIONS_H

#include "command/entry.h"

typedef struct cache_action {
    const cli_args *args;
    ptxgen_cache *cache;
} cache_action;

int cache_ls(const cache_action *);
int cache_show(const cache_action *);
int cache_stats(const cache_action *);
int cache_du(const cache_action *);
int cache_path(const cache_action *);
int cache_why(const cache_action *);
int cache_verify(const cache_action *);
int cache_clear(const cache_action *);
int cache_prune(const cache_action *);
int cache_export(const cache_action *);
int cache_import(const cache_action *);
int cache_keygen(const cache_action *);
int cache_sign(const cache_action *);
/* verify keys=FILE */
int cache_check_signatures(const cache_action *, const char *keys);

/* Says on stderr what the numbers do not: that the cache is empty, or that a pack is cut short and
 * how many entries were recovered; the latter gives false. */
bool cache_say_state(ptxgen_cache *cache, uint64_t entries);
/* Why there is no cache folder, with the remedy. */
const char *cache_why_none(const cli_settings *set);
/* "name=" at the front of a word; its value or NULL. */
const char *cache_word_value(const char *word, const char *name);
/* CLI_OK, or a refusal that was said: a pack replaces none without --force, and never what is no
 * file. */
int cache_may_write(const cache_action *, const char *pack);
/* "90s", "5m", "12h", "30d" -> seconds; "64K", "10M", "2G" -> bytes; plain numbers too. */
bool cache_parse_age(const char *text, int64_t *seconds);
bool cache_parse_bytes(const char *text, uint64_t *bytes);

#endif
