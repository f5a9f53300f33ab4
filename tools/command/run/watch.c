#include "command/run/watch.h"
#include "command/run/profile.h"

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

typedef struct mnemonic {
    const char *name;
    uint64_t count;
} mnemonic;

static int more_often(const void *a, const void *b)
{
    const mnemonic *x = a, *y = b;
    return x->count != y->count ? (x->count < y->count) - (x->count > y->count)
                                : strcmp(x->name, y->name);
}

/* The forms of an instruction are one row here: its mnemonic, as in PTX. */
static void print_opcodes(const ptxgen_emulator *emu, cJSON *into, FILE *to)
{
    enum { MOST = 512 };
    mnemonic all[MOST];
    ptxgen_emulator_instruction form;
    const char *row;
    uint64_t n;
    size_t count = 0;
    for (size_t i = 0; ptxgen_emulator_opcode_count(emu, i, &row, &n); i++) {
        size_t k = 0;
        if (n == 0 || !ptxgen_emulator_get_instruction(i, &form))
            continue;
        while (k < count && strcmp(all[k].name, form.mnemonic) != 0)
            k++;
        if (k == count && count == MOST)
            break;
        if (k == count)
            all[count++] = (mnemonic){form.mnemonic, 0};
        all[k].count += n;
    }
    qsort(all, count, sizeof *all, more_often);
    for (size_t k = 0; k < count; k++) {
        if (into)
            cli_json_integer(into, all[k].name, (int64_t)all[k].count);
        else
            fprintf(to, "%14llu  %s\n", (unsigned long long)all[k].count, all[k].name);
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
    run_print_units(emu, o, to);
    print_opcodes(emu, o ? cJSON_AddObjectToObject(o, "opcodes") : NULL, to);
}
