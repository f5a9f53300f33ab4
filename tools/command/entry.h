/* How a cache entry and a cubin are shown, as text and as JSON; for `cache` and `inspect`. */
#ifndef PTXGEN_ENTRY_H
#define PTXGEN_ENTRY_H

#include "command/command.h"
#include "command/json.h"

#include "ptxgen/cache.h"

#include <time.h>

/* Opens the folder (or pack) of --cache-dir, else the one that the library would use. */
ptxgen_status cli_open_cache(const cli_settings *, bool make, ptxgen_cache **out,
                             ptxgen_error *err);

/* "2026-11-29 16:40" in local time. */
const char *cli_time_text(int64_t seconds, char *text, size_t size);
/* One entry in full. */
void cli_entry_text(const ptxgen_cache_record *, bool log);
cJSON *cli_entry_json(const ptxgen_cache_record *);
/* What a cubin says about itself; EPARSE when it is none. */
ptxgen_status cli_cubin_text(const void *bytes, size_t size, ptxgen_error *err);
ptxgen_status cli_cubin_json(const void *bytes, size_t size, cJSON *into, ptxgen_error *err);
/* Shows the entry that `text` names. Exit code 1 when it is damaged or doubtful. */
int cli_show_entry(const cli_settings *, ptxgen_cache *, const char *text);
/* What is odd about an entry whose checksum is right: its cubin is for another architecture or
 * lacks its kernel. "" when nothing is. */
void cli_entry_doubt(const ptxgen_cache_record *, char *text, size_t size);

/* A user function: PTX, and no cubin. */
bool cli_entry_is_function(const ptxgen_cache_record *);

#endif
