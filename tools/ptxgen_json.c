#include "ptxgen_json.h"

#include "ptxgen_command.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

void cli_json_integer(cJSON *object, const char *name, int64_t value)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRId64, value);
    cJSON_AddRawToObject(object, name, digits);
}

void cli_json_print(cJSON *root)
{
    char *text = cJSON_Print(root);
    cJSON_Delete(root);
    if (!text) {
        cli_say("out of memory");
        exit(CLI_SYSTEM);
    }
    puts(text);
    cJSON_free(text);
}
