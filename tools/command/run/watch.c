#include "command/run/watch.h"

#include "command/fail.h"

#include <stdlib.h>
#include <string.h>

ptxgen_status run_parse_seeds(const char *text, run_seeds *out, ptxgen_error *err)
{
    *out = (run_seeds){0, 0};
    if (!text)
        return PTXGEN_OK;
    char *end, *last;
    out->from = out->to = strtoull(text, &end, 10);
    bool good = end != text && *text >= '0' && *text <= '9';
    if (good && strncmp(end, "..", 2) == 0) {
        out->to = strtoull(end + 2, &last, 10);
        good = last != end + 2 && *last == '\0' && out->to >= out->from &&
               out->to - out->from < 1000000;
    } else {
        good = good && *end == '\0';
    }
    return good ? PTXGEN_OK
                : cli_fail(err, PTXGEN_EINVAL,
                           "--seeds is '%s'; write one seed or a range, like 1..100", text);
}

static void print_opcodes(const ptxgen_emulator *emu, cJSON *into, FILE *to)
{
    const char *name;
    uint64_t count;
    for (size_t i = 0; ptxgen_emulator_opcode_count(emu, i, &name, &count); i++) {
        if (count > 0 && into)
            cli_json_integer(into, name, (int64_t)count);
        else if (count > 0)
            fprintf(to, "%14llu  %s\n", (unsigned long long)count, name);
    }
}

void run_print_stats(const ptxgen_emulator *emu, cJSON *json, FILE *to)
{
    ptxgen_emulator_stats s;
    ptxgen_emulator_get_stats(emu, &s);
    const struct {
        const char *name;
        uint64_t value;
    } rows[] = {{"warp_instructions", s.warp_instructions}, {"global_read_bytes", s.global_read},
                {"global_written_bytes", s.global_written}, {"shared_read_bytes", s.shared_read},
                {"shared_written_bytes", s.shared_written}, {"local_read_bytes", s.local_read},
                {"local_written_bytes", s.local_written}};
    cJSON *o = json ? cJSON_AddObjectToObject(json, "stats") : NULL;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (o)
            cli_json_integer(o, rows[i].name, (int64_t)rows[i].value);
        else
            fprintf(to, "%14llu  %s\n", (unsigned long long)rows[i].value, rows[i].name);
    }
    print_opcodes(emu, o ? cJSON_AddObjectToObject(o, "opcodes") : NULL, to);
}
