/* Where each setting of a context comes from: the program's ptxgen_config, else the environment,
 * else the user's configuration file, else the machine's, else the library's rule. One table
 * (settings.c) names them all. */
#ifndef PG_SETTINGS_H
#define PG_SETTINGS_H

#include "api/config_file.h"
#include "base/file_path.h"
#include "ptxgen/ptxgen.h"

enum { PG_SETTINGS_MAX = 32, PG_LAYERS_MAX = 32 };

typedef struct pg_settings {
    pg_config_file files[2]; /* the user's, the machine's */
    char file_paths[2][PG_PATH_MAX + 1];
    char shipped[PG_PATH_MAX + 1];      /* the pack beside the library; "": none, or not wanted */
    char cache_dir[PG_PATH_MAX + 1];    /* by rule; "" when there is none */
    char tuning_file[PG_PATH_MAX + 32]; /* likewise */
    pg_buf texts;                       /* for what follows, each with a NUL */
    struct {
        const char *origin; /* "default", "program", "environment" or a file's path */
        size_t value;       /* offset in texts */
    } of[PG_SETTINGS_MAX];
    const char
        *layers[PG_LAYERS_MAX +
                1]; /* named by the environment or a file, or by all; the shipped pack last */
    char *layers_text;
    size_t layers_size;
} pg_settings;

/* Fills what *config leaves open; its texts may then point into *settings. EINVAL names the
 * place, the value and what it takes. */
ptxgen_status pg_settings_fill(pg_settings *settings, const pg_alloc *, ptxgen_config *config,
                               ptxgen_error *err);
void pg_settings_free(pg_settings *);
bool pg_setting_at(const pg_settings *, size_t i, ptxgen_setting *out);

#endif
