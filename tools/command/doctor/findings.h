/* What doctor has found, and how it is shown. */
#ifndef PTXGEN_DOCTOR_FINDINGS_H
#define PTXGEN_DOCTOR_FINDINGS_H

#include "command/command.h"
#include "command/json.h"

/* One answer: what was looked at, whether it works, what there is to know or to do, and the same
 * as facts. */
typedef struct finding {
    const char *topic;
    enum { WORKS, MISSING, BROKEN } state;
    char *text;   /* owned */
    cJSON *facts; /* owned; an object */
} finding;

enum { MAX_FINDINGS = 40 };

typedef struct findings {
    finding all[MAX_FINDINGS];
    size_t count;
} findings;

finding *finding_add(findings *, const char *topic, int state, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void finding_text(finding *, const char *name, const char *value);
void finding_number(finding *, const char *name, int64_t value);
/* Whether a finding has this fact. */
bool findings_text_is(const findings *, const char *topic, const char *name, const char *value);

/* The cache folder: its state, and a trial (doctor/cache_folder.c). */
void findings_look_at_cache(findings *, const cli_settings *, ptxgen *ctx);

/* The remote store, if one is configured. */
void findings_look_at_remote(findings *, ptxgen *ctx);

/* With the context's settings; the exit code. */
int findings_print(const cli_settings *, const findings *, ptxgen *ctx);
void findings_free(findings *);

#endif
