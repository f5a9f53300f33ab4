/* JSON reports, through cJSON. */
#ifndef PTXGEN_JSON_H
#define PTXGEN_JSON_H

#include <cjson/cJSON.h>

#include <stdint.h>
#include <stdio.h>

/* An integer printed whole (cJSON's numbers are doubles: past 2^53 they would be rounded). */
void cli_json_integer(cJSON *object, const char *name, int64_t value);
/* Writes root and a newline to `to` and frees root. Bytes of its strings that are no UTF-8 (a
 * file's name, a word of the command line) become U+FFFD, so the text is always valid JSON. */
void cli_json_write(cJSON *root, FILE *to);
/* The same to standard output. */
void cli_json_print(cJSON *root);

#endif
