/* The emitted text of several hundred kernels of every family, drawn from the parameter tables: a
 * hash of each is kept, so that a change of a template shows which kernels it changes, and a
 * change of anything else that it changes none. tests/kernels/FAMILY/golden/hashes.txt has
 * "HASH PARAMETERS" a line.
 *
 * PTXGEN_UPDATE_GOLDEN=1 records the hashes of the listed kernels anew; where a family has no list
 * it draws one, of PTXGEN_DRAWS kernels (100). */
#include "test.h"

#include "base/hash.h"
#include "draw_key.h"
#include "families.h"
#include "ptxgen/ptxgen.h"

enum { MAX_KEYS = 1000, DRAWS = 100, MOST_SEEDS = 20000, HEX = 16 };

typedef struct kept {
    char hash[HEX + 1], params[600];
} kept;

typedef struct list {
    char path[512];
    size_t count;
    kept keys[MAX_KEYS];
} list;

static ptxgen *context;

static void hash_text(const char *family, const char *params, char out[HEX + 1])
{
    ptxgen_kernel *k;
    ptxgen_kernel_info info = {.size = sizeof info};
    ptxgen_error err;
    if (ptxgen_emit(context, family, params, &k, &err) != PTXGEN_OK)
        fail_msg("%s %s: %s\nIf the kernel is gone on purpose, take its line out of the list.",
                 family, params, err.message);
    ptxgen_kernel_describe(k, &info);
    snprintf(out, HEX + 1, "%016llx", (unsigned long long)pg_hash64(info.ptx, info.ptx_size));
    ptxgen_kernel_unref(k);
}

static bool read_list(const char *family, list *l)
{
    char line[700];
    snprintf(l->path, sizeof l->path, PTXGEN_SOURCE_DIR "/tests/kernels/%s/golden/hashes.txt",
             family);
    l->count = 0;
    FILE *f = fopen(l->path, "r");
    if (!f)
        return false;
    while (fgets(line, sizeof line, f)) {
        assert_true(l->count < MAX_KEYS);
        kept *k = &l->keys[l->count++];
        if (sscanf(line, "%16s %599[^\n]", k->hash, k->params) != 2)
            fail_msg("%s:%zu: '%s' is not 'HASH PARAMETERS'", l->path, l->count, line);
    }
    fclose(f);
    return true;
}

static bool has(const list *l, const char *params)
{
    for (size_t i = 0; i < l->count; i++)
        if (strcmp(l->keys[i].params, params) == 0)
            return true;
    return false;
}

/* Canonical text names all that makes the kernel, so that new defaults do not change what a line
 * means. */
static void draw_list(const pg_family *family, list *l)
{
    const size_t wanted = draws_wanted(DRAWS), most = wanted < MAX_KEYS ? wanted : MAX_KEYS;
    for (uint64_t seed = 1; l->count < most && seed < MOST_SEEDS; seed++) {
        char params[1024], canonical[1024];
        draw_key(family, seed, params, sizeof params);
        if (ptxgen_canonical(family->name, params, canonical, sizeof canonical, NULL) != PTXGEN_OK)
            continue;
        assert_true(strlen(canonical) < sizeof l->keys->params);
        if (!has(l, canonical))
            strcpy(l->keys[l->count++].params, canonical);
    }
}

static void record(const pg_family *family, list *l)
{
    if (!l->count)
        draw_list(family, l);
    FILE *f = fopen(l->path, "w");
    assert_non_null(f);
    for (size_t i = 0; i < l->count; i++) {
        hash_text(family->name, l->keys[i].params, l->keys[i].hash);
        fprintf(f, "%s %s\n", l->keys[i].hash, l->keys[i].params);
    }
    fclose(f);
}

/* How many of the kernels emit another text than was kept; says which. */
static size_t compare(const char *family, const list *l)
{
    size_t changed = 0;
    for (size_t i = 0; i < l->count; i++) {
        char now[HEX + 1];
        hash_text(family, l->keys[i].params, now);
        if (strcmp(now, l->keys[i].hash) == 0)
            continue;
        if (changed++ < 5)
            print_error("another text: ptxgen emit %s %s\n", family, l->keys[i].params);
    }
    if (changed)
        print_error("%s: %zu of %zu kernels emit another text than was kept\n", family, changed,
                    l->count);
    return changed;
}

static void emitted_text_has_the_kept_hash(void **state)
{
    (void)state;
    static list l;
    size_t changed = 0;
    for (size_t i = 0; family_at(i); i++) {
        const pg_family *f = family_at(i);
        const bool found = read_list(f->name, &l);
        if (getenv("PTXGEN_UPDATE_GOLDEN"))
            record(f, &l);
        else if (!found || !l.count)
            fail_msg("%s is missing: PTXGEN_UPDATE_GOLDEN=1 ctest --preset release -L golden "
                     "makes it",
                     l.path);
        else
            changed += compare(f->name, &l);
    }
    if (changed)
        fail_msg("%zu kernels changed. If that is meant, keep the new hashes and commit them with "
                 "the change: PTXGEN_UPDATE_GOLDEN=1 ctest --preset release -L golden",
                 changed);
}

int main(void)
{
    const ptxgen_config config = {.size = sizeof config, .cache_dir = ""};
    const struct CMUnitTest tests[] = {cmocka_unit_test(emitted_text_has_the_kept_hash)};
    if (ptxgen_create(&config, &context, NULL) != PTXGEN_OK)
        return 1;
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ptxgen_destroy(context);
    return failed;
}
