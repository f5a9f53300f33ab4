/* Signatures of entries: what is signed is served; key, content, date and name cannot be exchanged;
 * every flipped byte is refused. */
#include "cache_helpers.h"

#include "cache/pack.h"
#include "cache/signature.h"

#include <unistd.h>

static test_folder folder;
static char secret_path[600], public_path[610];
static pg_secret_key secret;
static pg_trusted_keys trusted;

enum { NOW = 1000000 };

static int set_up(void **state)
{
    (void)state;
    ptxgen_error err;
    test_folder_make(&folder);
    snprintf(secret_path, sizeof secret_path, "%s.key", folder.path);
    snprintf(public_path, sizeof public_path, "%s.pub", secret_path);
    if (pg_key_pair_write(secret_path, "ci-1", &err) != PTXGEN_OK)
        return err.status == PTXGEN_EMISSING ? 0 : -1;
    assert_int_equal(pg_secret_key_read(secret_path, &secret, &err), PTXGEN_OK);
    assert_int_equal(pg_trusted_keys_read(public_path, &trusted, &err), PTXGEN_OK);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(secret_path);
    unlink(public_path);
    test_folder_remove(&folder);
    return 0;
}

/* The entry of kernel n, signed; its file. */
static void sign(int n, int64_t expires, pg_buf *out)
{
    test_kernel k;
    if (!secret.sodium)
        skip();
    test_kernel_make(&k, (uint64_t)n);
    pg_buf_init(out, &pg_alloc_libc);
    assert_true(pg_signature_encode(&secret, (pg_str){k.key, k.key_size}, &k.entry, expires, out));
}

static const char *fault_of(const pg_buf *file, int64_t now)
{
    pg_cache_entry entry;
    pg_str key;
    assert_int_equal(pg_entry_decode(file->data, file->len, &entry, &key), PG_ENTRY_OK);
    return pg_signature_fault_text(pg_signature_check(&trusted, &pg_alloc_libc, key, &entry, now));
}

static void a_signed_entry_is_good_until_it_expires(void **state)
{
    (void)state;
    pg_buf file;
    sign(1, 0, &file);
    assert_null(fault_of(&file, INT64_MAX));
    pg_buf_fini(&file);
    sign(1, NOW, &file);
    assert_null(fault_of(&file, NOW));
    assert_string_equal(fault_of(&file, NOW + 1), "its signature has expired");
    pg_buf_fini(&file);
}

/* An entry of one field changed, with the signature of the unchanged one. */
static void expect_refused(const pg_buf *file, void (*change)(pg_cache_entry *, pg_str *key),
                           const char *what)
{
    pg_cache_entry entry;
    pg_str key;
    pg_buf changed;
    assert_int_equal(pg_entry_decode(file->data, file->len, &entry, &key), PG_ENTRY_OK);
    change(&entry, &key);
    pg_buf_init(&changed, &pg_alloc_libc);
    assert_true(pg_entry_encode(&changed, key, &entry));
    const char *fault = fault_of(&changed, NOW);
    if (!fault)
        fail_msg("%s was exchanged, and the signature holds", what);
    pg_buf_fini(&changed);
}

static void other_key(pg_cache_entry *e, pg_str *key)
{
    (void)e;
    *key = pg_str_of("family=other\n");
}

static void other_cubin(pg_cache_entry *e, pg_str *key)
{
    (void)key;
    e->cubin = "another cubin";
    e->cubin_size = 13;
}

static void other_ptx(pg_cache_entry *e, pg_str *key)
{
    (void)key;
    e->ptx = "// other";
    e->ptx_size = 8;
}

static void other_assembler(pg_cache_entry *e, pg_str *key)
{
    (void)key;
    e->assembler = "ptxas 99";
}

static void later_date(pg_cache_entry *e, pg_str *key)
{
    static char text[300];
    (void)key;
    const char *date = strchr(e->signature, ' ') + 1, *hex = strchr(date, ' ') + 1;
    snprintf(text, sizeof text, "ci-1 %d %s", 2 * NOW, hex);
    e->signature = text;
}

static void no_signature(pg_cache_entry *e, pg_str *key)
{
    (void)key;
    e->signature = "";
}

static void junk(pg_cache_entry *e, pg_str *key)
{
    (void)key;
    e->signature = "ci-1 0 zz";
}

static void nothing_can_be_exchanged(void **state)
{
    (void)state;
    static const struct {
        void (*change)(pg_cache_entry *, pg_str *);
        const char *what;
    } cases[] = {{other_key, "the key"},         {other_cubin, "the cubin"},
                 {other_ptx, "the PTX"},         {other_assembler, "the assembler"},
                 {later_date, "the date"},       {no_signature, "the signature"},
                 {junk, "the signature by junk"}};
    pg_buf file;
    sign(2, NOW + 5, &file);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_refused(&file, cases[i].change, cases[i].what);
    pg_buf_fini(&file);
}

/* A pack with a signed entry, an unsigned one, one by a stranger and one that has expired,
 * through a cache that trusts signatures. */
static void a_cache_takes_signed_entries_of_layers_only(void **state)
{
    (void)state;
    char pack[600];
    pg_pack_writer w;
    test_kernel k[4];
    pg_secret_key stranger;
    ptxgen_error err;
    if (!secret.sodium)
        skip();
    stranger = secret;
    stranger.bytes[0] ^= 1; /* another key under a trusted name */
    stranger.bytes[40] ^= 1;
    snprintf(pack, sizeof pack, "%s.pack", folder.path);
    assert_int_equal(pg_pack_begin(&w, &pg_alloc_libc, &pg_files_libc, pack, &err), PTXGEN_OK);
    for (int i = 0; i < 4; i++) {
        pg_buf file;
        pg_buf_init(&file, &pg_alloc_libc);
        test_kernel_make(&k[i], (uint64_t)i + 10);
        const pg_str key = {k[i].key, k[i].key_size};
        if (i == 1)
            assert_true(pg_entry_encode(&file, key, &k[i].entry));
        else
            assert_true(pg_signature_encode(i == 2 ? &stranger : &secret, key, &k[i].entry,
                                            i == 3 ? 1 : 0, &file));
        pg_pack_add(&w, pg_hash(key.p, key.n), file.data, file.len);
        pg_buf_fini(&file);
    }
    assert_int_equal(pg_pack_finish(&w, &err), PTXGEN_OK);
    const char *layer = pack;
    const pg_cache_config config = {.dir = folder.path,
                                    .trust = PG_CACHE_TRUST_SIGNED,
                                    .trusted_keys = public_path,
                                    .no_sync = true,
                                    .layers = &layer,
                                    .layer_count = 1};
    pg_cache *cache = test_cache_open(&config, NULL);
    for (int i = 0; i < 4; i++) {
        pg_cache_entry e;
        assert_int_equal(pg_cache_lookup(cache, k[i].key, k[i].key_size, &e),
                         i == 0 ? PG_CACHE_HIT : PG_CACHE_MISS);
        pg_cache_entry_release(cache, &e);
    }
    assert_int_equal(test_counter(cache, "signatures_refused"), 3);
    /* What this process makes itself is its own. */
    test_store(cache, 11);
    assert_int_equal(test_lookup(cache, 11), PG_CACHE_HIT);
    pg_cache_destroy(cache);
    unlink(pack);
}

static void a_key_file_is_read_or_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"", "# nothing\n", "ptxgen-public a 12\n",
                                      "ptxgen-secret a b\n", "junk\n"};
    ptxgen_error err;
    pg_trusted_keys keys;
    if (!secret.sodium)
        skip();
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char path[620];
        snprintf(path, sizeof path, "%s.bad", folder.path);
        test_write_file(path, bad[i], strlen(bad[i]));
        assert_int_equal(pg_trusted_keys_read(path, &keys, &err), PTXGEN_EINVAL);
        unlink(path);
    }
    assert_int_equal(pg_trusted_keys_read("/absent", &keys, &err), PTXGEN_EIO);
    assert_int_equal(pg_key_pair_write(secret_path, "again", &err), PTXGEN_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_signed_entry_is_good_until_it_expires, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nothing_can_be_exchanged, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_cache_takes_signed_entries_of_layers_only, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_key_file_is_read_or_refused, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("cache_signature", tests, NULL, NULL);
}
