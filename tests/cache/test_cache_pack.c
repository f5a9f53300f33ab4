/* Packs: written, read as a layer, imported; damaged in every way. */
#include "cache_helpers.h"

#include "ptxgen/cache.h"
#include "cache/pack.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KERNELS = 40 };

typedef struct packed {
    test_folder folder;
    char dir[600], pack[600];
} packed;

/* A folder with `dir` (KERNELS kernels and a failure) and `pack` (their export). */
static void make_pack(packed *p)
{
    test_folder_make(&p->folder);
    snprintf(p->dir, sizeof p->dir, "%s/full", p->folder.path);
    snprintf(p->pack, sizeof p->pack, "%s/kernels.pack", p->folder.path);
    pg_cache *cache = test_cache_open(&(pg_cache_config){.dir = p->dir, .no_sync = true}, NULL);
    for (uint64_t i = 0; i < KERNELS; i++)
        test_store(cache, i);
    pg_cache_store(cache, "bad=1\n", 6,
                   &(pg_cache_entry){.status = PTXGEN_EASSEMBLE, .message = "no"});
    pg_cache_destroy(cache);
    ptxgen_cache *admin;
    ptxgen_cache_transfer t = {.size = sizeof t};
    ptxgen_error err = {0};
    assert_int_equal(ptxgen_cache_open(p->dir, NULL, &admin, &err), PTXGEN_OK);
    assert_int_equal(ptxgen_cache_export(admin, p->pack, NULL, NULL, &t, &err), PTXGEN_OK);
    assert_int_equal(t.copied, KERNELS);
    assert_int_equal(t.refused, 1);
    ptxgen_cache_close(admin);
}

/* How many of the kernels a cache over this layer finds; each is checked byte for byte. */
static size_t found_in_layer(const char *layer, test_log *log)
{
    const char *layers[] = {layer};
    pg_cache *cache = test_cache_open(&(pg_cache_config){.layers = layers, .layer_count = 1},
                                      log ? &log->log : NULL);
    size_t found = 0;
    for (uint64_t i = 0; i < KERNELS + 5; i++)
        found += test_lookup(cache, i) == PG_CACHE_HIT;
    assert_int_equal(test_counter(cache, "layer_hits"), found);
    pg_cache_destroy(cache);
    return found;
}

static void a_pack_is_a_layer(void **state)
{
    (void)state;
    packed p;
    make_pack(&p);
    assert_int_equal(found_in_layer(p.pack, NULL), KERNELS);
    assert_int_equal(found_in_layer(p.dir, NULL), KERNELS);
    /* Below a folder of one's own, which wins and is not filled from it. */
    char own[600];
    snprintf(own, sizeof own, "%s/own", p.folder.path);
    const char *layers[] = {"/nonexistent/layer", "relative", p.pack, p.dir};
    test_log log;
    test_log_init(&log);
    pg_cache *cache = test_cache_open(
        &(pg_cache_config){.dir = own, .no_sync = true, .layers = layers, .layer_count = 4},
        &log.log);
    assert_int_equal(log.warnings, 2);
    test_store(cache, 1);
    assert_int_equal(test_lookup(cache, 1), PG_CACHE_HIT);
    assert_int_equal(test_lookup(cache, 2), PG_CACHE_HIT);
    assert_int_equal(test_lookup(cache, KERNELS), PG_CACHE_MISS);
    assert_int_equal(test_counter(cache, "hits"), 1);
    assert_int_equal(test_counter(cache, "layer_hits"), 1);
    /* What a layer says has failed is tried again. */
    pg_cache_entry e;
    assert_int_equal(pg_cache_lookup(cache, "bad=1\n", 6, &e), PG_CACHE_MISS);
    assert_int_equal(pg_cache_clear(cache, NULL), PTXGEN_OK);
    assert_int_equal(test_lookup(cache, 3), PG_CACHE_HIT);
    pg_cache_destroy(cache);
    test_folder_remove(&p.folder);
}

static void import_adds_what_is_missing(void **state)
{
    (void)state;
    packed p;
    make_pack(&p);
    char own[600];
    snprintf(own, sizeof own, "%s/own", p.folder.path);
    pg_cache *cache = test_cache_open(&(pg_cache_config){.dir = own, .no_sync = true}, NULL);
    test_kernel k;
    test_kernel_make(&k, 7);
    k.entry.registers = 1000; /* ours differs: it must stay */
    pg_cache_store(cache, k.key, k.key_size, &k.entry);
    ptxgen_cache *admin;
    ptxgen_cache_transfer t = {.size = sizeof t};
    ptxgen_error err = {0};
    assert_int_equal(ptxgen_cache_open(own, NULL, &admin, &err), PTXGEN_OK);
    assert_int_equal(ptxgen_cache_import(admin, p.pack, &t, &err), PTXGEN_OK);
    assert_true(t.copied == KERNELS - 1 && t.present == 1 && t.damaged == 0 && t.refused == 0);
    assert_int_equal(ptxgen_cache_import(admin, p.pack, &t, &err), PTXGEN_OK);
    assert_true(t.copied == 0 && t.present == KERNELS);
    for (uint64_t i = 0; i < KERNELS; i++)
        if (i != 7)
            assert_int_equal(test_lookup(cache, i), PG_CACHE_HIT);
    pg_cache_entry e;
    assert_int_equal(pg_cache_lookup(cache, k.key, k.key_size, &e), PG_CACHE_HIT);
    assert_int_equal(e.registers, 1000);
    pg_cache_entry_release(cache, &e);
    /* The same entries make the same pack, but for its date. */
    ptxgen_cache_close(admin);
    assert_int_equal(ptxgen_cache_open(p.pack, NULL, &admin, &err), PTXGEN_OK);
    assert_true(ptxgen_cache_is_pack(admin));
    assert_int_equal(ptxgen_cache_import(admin, p.pack, &t, &err), PTXGEN_EINVAL);
    ptxgen_cache_close(admin);
    pg_cache_destroy(cache);
    test_folder_remove(&p.folder);
}

static bool never(void *user, const ptxgen_cache_record *record)
{
    (void)user;
    (void)record;
    fail_msg("an empty cache has an entry");
    return false;
}

static void an_empty_folder_is_an_empty_cache(void **state)
{
    (void)state;
    packed p;
    char empty[600];
    make_pack(&p);
    snprintf(empty, sizeof empty, "%s/empty", p.folder.path);
    assert_int_equal(mkdir(empty, 0700), 0);
    ptxgen_cache *admin;
    ptxgen_error err = {0};
    assert_int_equal(ptxgen_cache_open(empty, NULL, &admin, &err), PTXGEN_OK);
    ptxgen_cache_usage usage = {.size = sizeof usage};
    ptxgen_cache_check_result checked = {.size = sizeof checked};
    ptxgen_cache_prune_result pruned = {.size = sizeof pruned};
    const ptxgen_cache_check check = {.size = sizeof check};
    const ptxgen_cache_prune_rule all = {.size = sizeof all, .everything = true};
    assert_int_equal(ptxgen_cache_each(admin, never, NULL, &err), PTXGEN_OK);
    assert_int_equal(ptxgen_cache_measure(admin, &usage, &err), PTXGEN_OK);
    assert_int_equal(usage.entries + usage.temporary, 0);
    assert_int_equal(ptxgen_cache_verify(admin, NULL, &check, &checked, &err), PTXGEN_OK);
    assert_int_equal(ptxgen_cache_find(admin, "abcd", never, NULL, &err), PTXGEN_EINVAL);
    assert_int_equal(ptxgen_cache_prune(admin, &all, &pruned, &err), PTXGEN_OK);
    assert_int_equal(checked.checked + pruned.removed, 0);
    ptxgen_cache_close(admin);
    assert_int_equal(rmdir(empty), 0); /* nothing was made in it */
    /* As a layer it has nothing; a missing folder is made for an import. */
    const ptxgen_cache_options make = {.size = sizeof make, .create = true};
    ptxgen_cache_transfer t = {.size = sizeof t};
    assert_int_equal(ptxgen_cache_open(empty, &make, &admin, &err), PTXGEN_OK);
    assert_int_equal(ptxgen_cache_import(admin, p.pack, &t, &err), PTXGEN_OK);
    assert_int_equal(t.copied, KERNELS);
    assert_string_equal(t.pack_fault, "");
    ptxgen_cache_close(admin);
    test_folder_remove(&p.folder);
}

/* At every length the import says either that the pack is no pack, or that it is cut short, and
 * what it recovered is what is there. */
/* A program that was built when the struct was shorter. */
static void an_older_result_is_filled_as_far_as_it_goes(void **state)
{
    (void)state;
    test_folder folder;
    test_folder_make(&folder);
    pg_cache *inner = test_cache_open(&(pg_cache_config){.dir = folder.path}, NULL);
    test_store(inner, 1);
    pg_cache_destroy(inner);
    ptxgen_cache *cache;
    assert_int_equal(ptxgen_cache_open(folder.path, NULL, &cache, NULL), PTXGEN_OK);
    ptxgen_cache_usage usage;
    memset(&usage, 0x5a, sizeof usage);
    const ptxgen_cache_usage before = usage;
    usage.size = offsetof(ptxgen_cache_usage, bytes);
    assert_int_equal(ptxgen_cache_measure(cache, &usage, NULL), PTXGEN_OK);
    assert_int_equal(usage.size, offsetof(ptxgen_cache_usage, bytes));
    assert_int_equal(usage.entries, 1);
    assert_memory_equal(&usage.bytes, &before.bytes,
                        sizeof usage - offsetof(ptxgen_cache_usage, bytes));
    usage.size = 0; /* nothing is written at all */
    usage.entries = 77;
    assert_int_equal(ptxgen_cache_measure(cache, &usage, NULL), PTXGEN_OK);
    assert_int_equal(usage.entries, 77);
    ptxgen_cache_close(cache);
    test_folder_remove(&folder);
}

static void a_cut_pack_says_so(void **state)
{
    (void)state;
    packed p;
    make_pack(&p);
    struct stat st;
    assert_int_equal(stat(p.pack, &st), 0);
    const ptxgen_cache_options make = {.size = sizeof make, .create = true};
    const ptxgen_cache_check check = {.size = sizeof check};
    for (off_t size = st.st_size - 1; size > 0; size -= st.st_size / 23) {
        char own[600];
        snprintf(own, sizeof own, "%s/own%lld", p.folder.path, (long long)size);
        ptxgen_cache *admin;
        ptxgen_cache_transfer t = {.size = sizeof t};
        ptxgen_cache_check_result checked = {.size = sizeof checked};
        ptxgen_error err = {0};
        assert_int_equal(truncate(p.pack, size), 0);
        assert_int_equal(ptxgen_cache_open(own, &make, &admin, &err), PTXGEN_OK);
        const ptxgen_status status = ptxgen_cache_import(admin, p.pack, &t, &err);
        ptxgen_cache_usage usage = {.size = sizeof usage};
        assert_int_equal(ptxgen_cache_measure(admin, &usage, &err), PTXGEN_OK);
        assert_int_equal(usage.entries, t.copied);
        ptxgen_cache_close(admin);
        if (size < PG_PACK_FRAME) {
            assert_int_equal(status, PTXGEN_EPARSE);
            continue;
        }
        assert_int_equal(status, PTXGEN_OK);
        assert_non_null(strstr(t.pack_fault, "is cut short"));
        assert_int_equal(ptxgen_cache_open(p.pack, NULL, &admin, &err), PTXGEN_OK);
        assert_string_equal(ptxgen_cache_pack_fault(admin), t.pack_fault);
        assert_int_equal(ptxgen_cache_verify(admin, NULL, &check, &checked, &err), PTXGEN_OK);
        assert_int_equal(checked.checked - checked.damaged, t.copied);
        assert_int_equal(checked.damaged, t.damaged);
        ptxgen_cache_close(admin);
    }
    test_folder_remove(&p.folder);
}

static bool odd_only(void *user, const ptxgen_cache_record *record)
{
    ++*(size_t *)user;
    return record->registers % 2 == 1;
}

static void a_filter_chooses(void **state)
{
    (void)state;
    packed p;
    make_pack(&p);
    size_t asked = 0;
    ptxgen_cache *admin;
    ptxgen_cache_transfer t = {.size = sizeof t};
    ptxgen_error err = {0};
    assert_int_equal(ptxgen_cache_open(p.dir, NULL, &admin, &err), PTXGEN_OK);
    assert_int_equal(ptxgen_cache_export(admin, p.pack, odd_only, &asked, &t, &err), PTXGEN_OK);
    ptxgen_cache_close(admin);
    assert_true(asked == KERNELS && t.copied == KERNELS / 2 && t.refused == KERNELS / 2 + 1);
    assert_int_equal(found_in_layer(p.pack, NULL), KERNELS / 2);
    test_folder_remove(&p.folder);
}

/* Every cut: whatever is before it stays usable; with the index gone, by scanning. */
static void a_cut_pack_gives_what_is_left(void **state)
{
    (void)state;
    packed p;
    make_pack(&p);
    size_t n, before = 0;
    unsigned char *bytes = test_read_file(p.pack, &n);
    for (size_t cut = 0; cut <= n; cut += cut < 200 || cut + 3000 > n ? 61 : 4001) {
        test_log log;
        test_log_init(&log);
        test_write_file(p.pack, bytes, cut);
        size_t found = found_in_layer(p.pack, &log);
        assert_true(found >= before && (cut == n || log.warnings >= 1));
        before = found;
    }
    assert_int_equal(before, KERNELS);
    free(bytes);
    test_folder_remove(&p.folder);
}

static void a_flipped_bit_costs_at_most_one_entry_or_the_index(void **state)
{
    (void)state;
    packed p;
    make_pack(&p);
    size_t n;
    unsigned char *bytes = test_read_file(p.pack, &n);
    for (size_t at = 0; at<n; at += at + 2000> n ? 7 : 997) {
        bytes[at] ^= 0x10;
        test_write_file(p.pack, bytes, n);
        size_t found = found_in_layer(p.pack, NULL);
        if (at < 64)
            assert_true(found == 0 ||
                        found == KERNELS); /* the header: no pack; its zeros are checked as well */
        else
            assert_true(found >= KERNELS - 1);
        bytes[at] ^= 0x10;
    }
    free(bytes);
    test_folder_remove(&p.folder);
}

/* A pack whose index points to another entry: names and checksums right, key wrong. */
static void a_pack_cannot_give_one_kernel_for_another(void **state)
{
    (void)state;
    packed p;
    make_pack(&p);
    size_t n;
    unsigned char *b = test_read_file(p.pack, &n);
    uint64_t index, count, t[2];
    memcpy(&index, b + n - 64 + 8, 8);
    memcpy(&count, b + n - 64 + 16, 8);
    for (size_t i = 0; i + 1 < count; i++) { /* rotate offset and size by one */
        memcpy(t, b + index + i * 32 + 16, 16);
        memcpy(b + index + i * 32 + 16, b + index + (i + 1) * 32 + 16, 16);
        memcpy(b + index + (i + 1) * 32 + 16, t, 16);
    }
    pg_hash128 h = pg_hash(b + index, count * 32);
    memcpy(b + n - 64 + 24, &h, 16);
    uint64_t sum = pg_hash64(b + n - 64, 56);
    memcpy(b + n - 8, &sum, 8);
    test_write_file(p.pack, b, n);
    assert_int_equal(found_in_layer(p.pack, NULL), 0);
    char own[700];
    snprintf(own, sizeof own, "%s/own", p.folder.path);
    ptxgen_cache *admin;
    ptxgen_cache_transfer transfer = {.size = sizeof transfer};
    ptxgen_cache_options o = {.size = sizeof o, .create = true};
    assert_int_equal(ptxgen_cache_open(own, &o, &admin, NULL), PTXGEN_OK);
    assert_int_equal(ptxgen_cache_import(admin, p.pack, &transfer, NULL), PTXGEN_OK);
    assert_true(transfer.copied == 0 && transfer.damaged == KERNELS);
    ptxgen_cache_close(admin);
    free(b);
    test_folder_remove(&p.folder);
}

static void a_pack_that_others_may_write_is_not_used(void **state)
{
    (void)state;
    packed p;
    make_pack(&p);
    test_log log;
    test_log_init(&log);
    chmod(p.pack, 0666);
    assert_int_equal(found_in_layer(p.pack, &log), 0);
    assert_int_equal(log.warnings, 1);
    chmod(p.pack, 0644);
    assert_int_equal(found_in_layer(p.pack, NULL), KERNELS);
    char link[700];
    snprintf(link, sizeof link, "%s.link", p.pack);
    assert_int_equal(symlink(p.pack, link), 0);
    assert_int_equal(found_in_layer(link, NULL), 0);
    test_folder_remove(&p.folder);
}

static void export_failures_leave_nothing(void **state)
{
    (void)state;
    packed p;
    make_pack(&p);
    ptxgen_cache *admin;
    ptxgen_cache_transfer t = {.size = sizeof t};
    ptxgen_error err = {0};
    assert_int_equal(ptxgen_cache_open(p.dir, NULL, &admin, &err), PTXGEN_OK);
    assert_int_equal(ptxgen_cache_export(admin, "/nonexistent/x.pack", NULL, NULL, &t, &err),
                     PTXGEN_EIO);
    assert_non_null(strstr(err.message, "/nonexistent/x.pack"));
    ptxgen_cache_close(admin);
    faulty_files f;
    faulty_files_init(&f);
    for (uint64_t n = 1;; n++) {
        char path[700];
        snprintf(path, sizeof path, "%s.new", p.pack);
        pg_pack_writer w;
        faulty_files_set(&f, NULL, 28 /* ENOSPC */, n, 1);
        ptxgen_status status = pg_pack_begin(&w, &pg_alloc_libc, &f.files, path, &err);
        if (status == PTXGEN_OK) {
            pg_pack_add(&w, (pg_hash128){1, 2}, "bytes", 5);
            status = pg_pack_finish(&w, &err);
        }
        assert_int_equal(access(path, F_OK) == 0, status == PTXGEN_OK);
        if (f.calls < n)
            break;
        assert_int_equal(status, PTXGEN_EIO);
    }
    test_folder_remove(&p.folder);
}

static void a_pack_is_on_the_disk_before_it_has_its_name(void **state)
{
    (void)state;
    test_folder folder;
    char path[700];
    faulty_files f;
    pg_pack_writer w;
    test_folder_make(&folder);
    snprintf(path, sizeof path, "%s/new.pack", folder.path);
    faulty_files_init(&f);
    faulty_files_set(&f, "sync", EIO, 1, 1);
    assert_int_equal(pg_pack_begin(&w, &pg_alloc_libc, &f.files, path, NULL), PTXGEN_OK);
    pg_pack_add(&w, (pg_hash128){1, 2}, "bytes", 5);
    assert_int_equal(pg_pack_finish(&w, NULL), PTXGEN_EIO);
    assert_int_equal(f.calls, 1);
    assert_int_equal(access(path, F_OK), -1);
    test_folder_remove(&folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pack_is_a_layer),
        cmocka_unit_test(import_adds_what_is_missing),
        cmocka_unit_test(an_empty_folder_is_an_empty_cache),
        cmocka_unit_test(an_older_result_is_filled_as_far_as_it_goes),
        cmocka_unit_test(a_cut_pack_says_so),
        cmocka_unit_test(a_filter_chooses),
        cmocka_unit_test(a_cut_pack_gives_what_is_left),
        cmocka_unit_test(a_flipped_bit_costs_at_most_one_entry_or_the_index),
        cmocka_unit_test(a_pack_cannot_give_one_kernel_for_another),
        cmocka_unit_test(a_pack_that_others_may_write_is_not_used),
        cmocka_unit_test(export_failures_leave_nothing),
        cmocka_unit_test(a_pack_is_on_the_disk_before_it_has_its_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
