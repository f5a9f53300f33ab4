/* The only reader of the environment. Nothing is read in a setuid or setgid process, whose
 * environment belongs to somebody else. */
#ifndef PG_ENVIRONMENT_H
#define PG_ENVIRONMENT_H

#include "base/file_path.h"

/* NULL when it is not set. */
const char *pg_environment(const char *variable);
/* The cache folder by rule: XDG_CACHE_HOME/ptxgen, HOME/.cache/ptxgen, the password entry's
 * home; "" when there is none, or it is longer than paths may be. */
void pg_default_cache_dir(char out[PG_PATH_MAX + 1]);
/* The user's configuration, in XDG_CONFIG_HOME or HOME/.config, and the toolkit that
 * tools/demo.sh fetches for a user, in XDG_DATA_HOME or HOME/.local/share. Likewise. */
void pg_user_config_path(char out[PG_PATH_MAX + 1]);
void pg_user_toolkit_dir(char out[PG_PATH_MAX + 1]);

#endif
