/* Hostile entries and packs, hundreds of them, with wrong and with repaired checksums (a
 * checksum tells damage, not malice). Whatever the bytes are: no call crashes, a lookup under a
 * key gives an entry of that key or none, other entries stay readable, a damaged one is made
 * again, and verify, export and import end with a count that adds up. PTXGEN_HOSTILE: how many
 * of each. */
#include "cache_helpers.h"
#include "mutate.h"

#include "base/bytes.h"
#include "cache/entry.h"
#include "cache/pack.h"
#include "ptxgen/cache.h"

#include <unistd.h>

enum { KERNELS = 6, ROOM = 1 << 20, USUAL = 440 };

static test_folder folder;
static char dir[600], pack[600], own[600];
static uint8_t bytes[ROOM];

static int set_up(void **state)
{
    (void)state;
    test_folder_make(&folder);
    snprintf(dir, sizeof dir, "%s/full", folder.path);
    snprintf(own, sizeof own, "%s/own", folder.path);
    snprintf(pack, sizeof pack, "%s/kernels.pack", folder.path);
    pg_cache *cache = test_cache_open(&(pg_cache_config){.dir = dir, .no_sync = true}, NULL);
    for (uint64_t i = 0; i < KERNELS; i++)
        test_store(cache, i);
    pg_cache_destroy(cache);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    test_folder_remove(&folder);
    return 0;
}

static void reseal_entry(uint8_t *entry, size_t n)
{
    if (n < PG_ENTRY_HEADER_SIZE)
        return;
    memcpy(entry, "ptxgen\r\n\1\0\0\0\0\0\0\0", 16);
    pg_put_le(entry + 32, n, 8);
    const pg_hash128 h = pg_hash(entry + 32, n - 32);
    pg_put_le(entry + 16, h.lo, 8);
    pg_put_le(entry + 24, h.hi, 8);
}

static void reseal_frame(uint8_t *frame, const char *magic)
{
    memcpy(frame, magic, 8);
    pg_put_le(frame + 56, pg_hash64(frame, 56), 8);
}

static void reseal_pack(uint8_t *file, size_t n)
{
    if (n < 2 * PG_PACK_FRAME)
        return;
    uint8_t *footer = file + n - PG_PACK_FRAME;
    reseal_frame(file, PG_PACK_HEADER_MAGIC);
    const uint64_t start = pg_get_le(footer + 8, 8), count = pg_get_le(footer + 16, 8);
    if (start <= n - PG_PACK_FRAME && count <= (n - PG_PACK_FRAME - start) / PG_PACK_ITEM) {
        const pg_hash128 h = pg_hash(file + start, count * PG_PACK_ITEM);
        pg_put_le(footer + 24, h.lo, 8);
        pg_put_le(footer + 32, h.hi, 8);
    }
    pg_put_le(footer + 40, n, 8);
    reseal_frame(footer, PG_PACK_FOOTER_MAGIC);
}

/* Reads every byte that the entry names, so that a sanitizer sees one that is not there. */
static uint64_t sum_of(const pg_cache_entry *e)
{
    uint64_t sum = strlen(e->ptx) + strlen(e->log) + strlen(e->params) + strlen(e->family) +
                   strlen(e->entry_name) + strlen(e->message);
    for (size_t i = 0; i < e->cubin_size; i++)
        sum += ((const uint8_t *)e->cubin)[i];
    return sum;
}

/* What operators do to a folder or pack: each ends, and the counts add up. */
static void look_at(const char *path)
{
    ptxgen_cache *admin;
    ptxgen_error err = {0};
    const ptxgen_cache_check check = {.size = sizeof check};
    ptxgen_cache_check_result checked = {.size = sizeof checked};
    ptxgen_cache_usage usage = {.size = sizeof usage};
    if (ptxgen_cache_open(path, NULL, &admin, &err) != PTXGEN_OK) {
        assert_true(err.message[0] != '\0');
        return;
    }
    assert_int_equal(ptxgen_cache_measure(admin, &usage, &err), PTXGEN_OK);
    assert_int_equal(ptxgen_cache_verify(admin, NULL, &check, &checked, &err), PTXGEN_OK);
    assert_true(checked.damaged <= checked.checked);
    ptxgen_cache_close(admin);
}

static void hostile_entries(void **state)
{
    (void)state;
    test_kernel k;
    test_kernel_make(&k, 1);
    char path[1024];
    test_entry_path(dir, k.key, path);
    size_t n, kept = 0;
    unsigned char *sound = test_read_file(path, &n);
    assert_non_null(sound);
    const size_t wanted = mutations_wanted("PTXGEN_HOSTILE", USUAL);
    for (uint64_t i = 0; i < wanted; i++) {
        uint64_t seed = i * 977 + 1;
        memcpy(bytes, sound, n);
        const size_t size = mutate(&seed, bytes, n, ROOM);
        const bool resealed = i % 4 != 0;
        if (resealed)
            reseal_entry(bytes, size);
        test_write_file(path, bytes, size);
        look_at(dir);
        pg_cache *cache = test_cache_open(&(pg_cache_config){.dir = dir, .no_sync = true}, NULL);
        pg_cache_entry e;
        const pg_cache_found found = pg_cache_lookup(cache, k.key, k.key_size, &e);
        if (found != PG_CACHE_MISS) {
            kept += sum_of(&e) > 0;
            assert_true(resealed || test_kernel_equal(&k, &e));
            pg_cache_entry_release(cache, &e);
        } else { /* what was refused is out of the way: it is made again and then served */
            assert_int_equal(test_counter(cache, "corrupt") + test_counter(cache, "other_key") +
                                 test_counter(cache, "untrusted"),
                             1);
            test_store(cache, 1);
            assert_int_equal(test_lookup(cache, 1), PG_CACHE_HIT);
        }
        assert_int_equal(test_lookup(cache, i % (KERNELS - 2) + 2), PG_CACHE_HIT);
        pg_cache_destroy(cache);
    }
    assert_true(wanted < 100 || (kept > wanted / 20 && kept < wanted)); /* both kinds were met */
    free(sound);
}

/* Every kernel that a layer gives has the key that was asked for; import copies what verify
 * calls sound. */
static void use_pack(bool resealed)
{
    const char *layers[] = {pack};
    pg_cache *cache = test_cache_open(&(pg_cache_config){.layers = layers, .layer_count = 1}, NULL);
    for (uint64_t i = 0; i < KERNELS; i++) {
        test_kernel k;
        test_kernel_make(&k, i);
        pg_cache_entry e;
        if (pg_cache_lookup(cache, k.key, k.key_size, &e) == PG_CACHE_MISS)
            continue;
        assert_true(sum_of(&e) > 0);
        assert_true(resealed || test_kernel_equal(&k, &e));
        pg_cache_entry_release(cache, &e);
    }
    pg_cache_destroy(cache);
    ptxgen_cache *admin;
    ptxgen_error err = {0};
    const ptxgen_cache_options make = {.size = sizeof make, .create = true};
    const ptxgen_cache_prune_rule all = {.size = sizeof all, .everything = true};
    ptxgen_cache_prune_result pruned = {.size = sizeof pruned};
    ptxgen_cache_transfer t = {.size = sizeof t};
    ptxgen_cache_usage usage = {.size = sizeof usage};
    assert_int_equal(ptxgen_cache_open(own, &make, &admin, &err), PTXGEN_OK);
    if (ptxgen_cache_import(admin, pack, &t, &err) != PTXGEN_OK)
        assert_true(err.message[0] != '\0' && t.copied == 0);
    assert_int_equal(ptxgen_cache_measure(admin, &usage, &err), PTXGEN_OK);
    assert_int_equal(usage.entries, t.copied);
    assert_int_equal(ptxgen_cache_prune(admin, &all, &pruned, &err), PTXGEN_OK);
    ptxgen_cache_close(admin);
}

static void hostile_packs(void **state)
{
    (void)state;
    ptxgen_cache *admin;
    ptxgen_error err = {0};
    ptxgen_cache_transfer t = {.size = sizeof t};
    assert_int_equal(ptxgen_cache_open(dir, NULL, &admin, &err), PTXGEN_OK);
    assert_int_equal(ptxgen_cache_export(admin, pack, NULL, NULL, &t, &err), PTXGEN_OK);
    ptxgen_cache_close(admin);
    assert_int_equal(t.copied, KERNELS);
    size_t n;
    unsigned char *sound = test_read_file(pack, &n);
    assert_true(sound && n < ROOM / 2);
    const size_t wanted = mutations_wanted("PTXGEN_HOSTILE", USUAL);
    for (uint64_t i = 0; i < wanted; i++) {
        uint64_t seed = i * 1009 + 2;
        memcpy(bytes, sound, n);
        size_t size = n;
        if (i % 3 == 0) { /* an entry in it, at a place that the index names */
            const uint64_t index = pg_get_le(sound + n - 56, 8);
            const uint64_t at = pg_get_le(sound + index + i % KERNELS * 32 + 16, 8);
            const uint64_t room = pg_get_le(sound + index + i % KERNELS * 32 + 24, 8);
            mutate(&seed, bytes + at, room, room);
            reseal_entry(bytes + at, room);
        } else if (i % 3 == 1) { /* the index and the footer */
            const uint64_t index = pg_get_le(sound + n - 56, 8);
            size = index + mutate(&seed, bytes + index, n - index, ROOM - index);
        } else {
            size = mutate(&seed, bytes, n, ROOM);
        }
        if (i % 4 != 0)
            reseal_pack(bytes, size);
        test_write_file(pack, bytes, size);
        look_at(pack);
        use_pack(i % 4 != 0 || i % 3 == 0);
    }
    free(sound);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(hostile_entries, set_up, tear_down),
        cmocka_unit_test_setup_teardown(hostile_packs, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
