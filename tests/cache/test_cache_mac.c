/* Codes of the own folder's entries: what was written here is taken, what somebody else put there
 * or changed is not, though its checksum is right. */
#include "cache_helpers.h"

#include "cache/mac.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct place {
    test_folder folder;
    char key[600], other_key[600], dir[600];
} place;

static void place_make(place *p)
{
    const pg_sodium *sodium;
    if (pg_sodium_get(&sodium, NULL) != PTXGEN_OK)
        skip();
    test_folder_make(&p->folder);
    snprintf(p->key, sizeof p->key, "%s/key", p->folder.path);
    snprintf(p->other_key, sizeof p->other_key, "%s/other", p->folder.path);
    snprintf(p->dir, sizeof p->dir, "%s/kernels", p->folder.path);
    assert_int_equal(pg_mac_write_key(p->key, "machine-1", NULL), PTXGEN_OK);
    assert_int_equal(pg_mac_write_key(p->other_key, "machine-2", NULL), PTXGEN_OK);
}

static pg_cache *open_with(const place *p, const char *key)
{
    const pg_cache_config config = {.dir = p->dir, .mac_key = key};
    return test_cache_open(&config, NULL);
}

static void check(const place *p, const char *key, pg_cache_found expected, uint64_t refused)
{
    pg_cache *cache = open_with(p, key);
    assert_int_equal(test_lookup(cache, 1), expected);
    assert_int_equal(test_counter(cache, "macs_refused"), refused);
    pg_cache_destroy(cache);
}

static void store(const place *p, const char *key)
{
    pg_cache *cache = open_with(p, key);
    test_store(cache, 1);
    pg_cache_destroy(cache);
}

static void an_entry_is_taken_where_it_was_written(void **state)
{
    (void)state;
    place p;
    place_make(&p);
    store(&p, p.key);
    check(&p, p.key, PG_CACHE_HIT, 0);
    check(&p, p.other_key, PG_CACHE_MISS, 1);
    check(&p, NULL, PG_CACHE_HIT, 0); /* a code hinders nobody who asks for none */
    store(&p, NULL);
    check(&p, p.key, PG_CACHE_MISS, 1);
    store(&p, p.key); /* the compile after the miss replaces it */
    check(&p, p.key, PG_CACHE_HIT, 0);
    test_folder_remove(&p.folder);
}

/* The file's bytes, encoded anew with another field, keep a right checksum and the old code. */
static void a_changed_entry_is_not_taken(void **state)
{
    (void)state;
    place p;
    test_kernel k;
    char path[1024];
    size_t n;
    place_make(&p);
    test_kernel_make(&k, 1);
    store(&p, p.key);
    test_entry_path(p.dir, k.key, path);
    for (int what = 0; what < 4; what++) {
        pg_cache_entry e;
        pg_str key;
        pg_buf changed;
        unsigned char *bytes = test_read_file(path, &n);
        assert_int_equal(pg_entry_decode(bytes, n, &e, &key), PG_ENTRY_OK);
        assert_int_equal(strlen(e.mac), 64);
        unsigned char *cubin = (unsigned char *)e.cubin;
        cubin[7] ^= what == 0;
        e.ptx_size -= what == 1;
        e.registers += what == 2;
        e.assembler = what == 3 ? "another 1.0" : e.assembler;
        pg_buf_init(&changed, &pg_alloc_libc);
        assert_true(pg_entry_encode(&changed, key, &e));
        test_write_file(path, changed.data, changed.len);
        check(&p, p.key, PG_CACHE_MISS, 1);
        pg_buf_fini(&changed);
        free(bytes);
        store(&p, p.key);
    }
    check(&p, p.key, PG_CACHE_HIT, 0);
    test_folder_remove(&p.folder);
}

static void a_key_that_others_may_read_is_refused(void **state)
{
    (void)state;
    place p;
    pg_mac mac;
    ptxgen_error err = {0};
    place_make(&p);
    assert_int_equal(chmod(p.key, 0640), 0);
    assert_int_equal(pg_mac_read(p.key, &mac, &err), PTXGEN_EINVAL);
    assert_non_null(strstr(err.message, "chmod 600"));
    assert_int_equal(chmod(p.key, 0600), 0);
    assert_int_equal(pg_mac_read(p.key, &mac, &err), PTXGEN_OK);
    assert_int_equal(pg_mac_write_key(p.key, "again", &err), PTXGEN_EINVAL);
    assert_int_equal(pg_mac_read("/nowhere/key", &mac, &err), PTXGEN_EIO);
    test_write_file(p.other_key, "ptxgen-public x 00\n", 19);
    assert_int_equal(pg_mac_read(p.other_key, &mac, &err), PTXGEN_EINVAL);
    test_folder_remove(&p.folder);
}

static void no_memory_is_a_miss(void **state)
{
    (void)state;
    place p;
    place_make(&p);
    store(&p, p.key);
    for (size_t at = 1; at < 60; at++) {
        failing_alloc f = {0};
        pg_cache *cache = NULL;
        pg_cache_entry e;
        test_kernel k;
        const pg_alloc alloc = failing_alloc_hook(&f);
        const pg_cache_config config = {.dir = p.dir, .mac_key = p.key};
        test_kernel_make(&k, 1);
        f.fail_at = at;
        if (pg_cache_create(&alloc, NULL, &config, &cache, NULL) == PTXGEN_OK) {
            if (pg_cache_lookup(cache, k.key, k.key_size, &e) != PG_CACHE_MISS)
                assert_true(test_kernel_equal(&k, &e));
            pg_cache_entry_release(cache, &e);
            pg_cache_store(cache, k.key, k.key_size, &k.entry);
            pg_cache_destroy(cache);
        }
        assert_int_equal(f.live, 0);
    }
    test_folder_remove(&p.folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_entry_is_taken_where_it_was_written),
        cmocka_unit_test(a_changed_entry_is_not_taken),
        cmocka_unit_test(a_key_that_others_may_read_is_refused),
        cmocka_unit_test(no_memory_is_a_miss),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
