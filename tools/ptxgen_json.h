/* JSON reports, through cJSON. */
#ifndef PTXGEN_JSON_H
#define PTXGEN_JSON_H

#include <cjson/cJSON.h>

#include <stdint.h>

/* An integer printed whole (cJSON's numbers are doubles: past 2^53 they would be rounded). */
void cli_json_integer(cJSON *object, const char *name, int64_t value);
/* Writes root and a newline to standard output and frees root. */
void cli_json_print(cJSON *root);

#endif
