/* ptxgen cache keygen, sign, verify keys=FILE: who made the entries of a pack. */
#include "command/cache/cache.h"
#include "command/file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int cache_keygen(const cache_action *a)
{
    ptxgen_error err = {0};
    char **const words = a->args->words;
    const bool mac = a->args->count > 3;
    if (mac && strcmp(words[3], "mac") != 0)
        return cli_usage_error(&a->args->set,
                               "'%s' is not understood; keygen takes FILE, NAME and the word mac",
                               words[3]);
    if ((mac ? ptxgen_cache_keygen_mac : ptxgen_cache_keygen)(words[1], words[2], &err) !=
        PTXGEN_OK)
        return cli_report(&a->args->set, &err);
    if (mac) {
        cli_say("set cache_mac_key to %s, for every process that uses the folder", words[1]);
        return CLI_OK;
    }
    cli_say("%s signs, and stays here; %s.pub is what others trust", words[1], words[1]);
    return CLI_OK;
}

int cache_sign(const cache_action *a)
{
    enum { DAY = 24 * 60 * 60, MOST_DAYS = 36500 };
    const cli_settings *set = &a->args->set;
    ptxgen_error err = {0};
    ptxgen_cache_transfer t = {.size = sizeof t};
    ptxgen_cache_signing signing = {.size = sizeof signing, .secret_key = a->args->words[2]};
    if (a->args->count > 3) {
        const char *days = cache_word_value(a->args->words[3], "days");
        char *end;
        const long n = days ? strtol(days, &end, 10) : 0;
        if (!days || *end || n < 1 || n > MOST_DAYS)
            return cli_usage_error(set,
                                   "'%s' is not understood; sign takes FILE, KEY and days=N, "
                                   "1 to 36500",
                                   a->args->words[3]);
        signing.expires = (int64_t)time(NULL) + (int64_t)n * DAY;
    }
    const char *pack = a->args->words[1];
    const int code = cache_may_write(a, pack);
    if (code != CLI_OK)
        return code;
    if (ptxgen_cache_sign(a->cache, pack, &signing, &t, &err) != PTXGEN_OK)
        return cli_report(set, &err);
    if (set->json) {
        cJSON *root = cJSON_CreateObject();
        cli_json_integer(root, "signed", (int64_t)t.copied);
        cli_json_integer(root, "bytes", (int64_t)t.bytes);
        cli_json_print(root);
    } else {
        printf("signed %s\n", cli_count(t.copied, "entry", "entries"));
    }
    return CLI_OK;
}

static bool report(void *user, const ptxgen_cache_record *r)
{
    (void)user;
    cli_say("%.12s  %s", r->hash, r->fault);
    return true;
}

int cache_check_signatures(const cache_action *a, const char *keys)
{
    const cli_settings *set = &a->args->set;
    ptxgen_error err = {0};
    ptxgen_cache_signatures result = {.size = sizeof result};
    if (ptxgen_cache_check_signatures(a->cache, keys, report, NULL, &result, &err) != PTXGEN_OK)
        return cli_report(set, &err);
    if (set->json) {
        cJSON *root = cJSON_CreateObject();
        cli_json_integer(root, "checked", (int64_t)result.checked);
        cli_json_integer(root, "refused", (int64_t)result.refused);
        cli_json_print(root);
    } else {
        printf("%s checked, %llu refused\n", cli_count(result.checked, "entry", "entries"),
               (unsigned long long)result.refused);
    }
    return result.refused ? CLI_NO : CLI_OK;
}
