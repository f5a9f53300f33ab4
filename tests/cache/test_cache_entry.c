/* The entry format: what is written comes back; whatever else the bytes are, it is refused. */
#include "cache_helpers.h"

#include "cache/entry.h"

/* In a block of exactly n bytes at the alignment of a file, so that a read past the end is seen. */
static pg_entry_fault decode_copy(const void *bytes, size_t n, pg_cache_entry *e, pg_str *key,
                                  void **block)
{
    *block = aligned_alloc(64, (n + 64) / 64 * 64);
    unsigned char *p = *block;
    memcpy(p, bytes, n);
    return pg_entry_decode(p, n, e, key);
}

static void what_is_written_comes_back(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 300; i++) {
        test_kernel k;
        test_kernel_make(&k, i * 7);
        pg_buf b;
        pg_buf_init(&b, &pg_alloc_libc);
        assert_true(pg_entry_encode(&b, (pg_str){k.key, k.key_size}, &k.entry));
        assert_int_equal(pg_entry_claimed_size(b.data, b.len), b.len);
        pg_cache_entry e;
        pg_str key;
        void *block;
        assert_int_equal(decode_copy(b.data, b.len, &e, &key, &block), PG_ENTRY_OK);
        assert_true(test_kernel_equal(&k, &e));
        assert_true(pg_str_eq(key, (pg_str){k.key, k.key_size}));
        free(block);
        pg_buf_fini(&b);
    }
}

static void a_failure_comes_back(void **state)
{
    (void)state;
    pg_cache_entry f = {.status = PTXGEN_EASSEMBLE,
                        .error_line = 41,
                        .message = "unknown opcode",
                        .error_file = "main.ptxc",
                        .log = "ptxas: line 41",
                        .family = "made_up",
                        .created = 99};
    pg_buf b;
    pg_buf_init(&b, &pg_alloc_libc);
    assert_true(pg_entry_encode(&b, pg_str_of("k=v\n"), &f));
    pg_cache_entry e;
    pg_str key;
    assert_int_equal(pg_entry_decode(b.data, b.len, &e, &key), PG_ENTRY_OK);
    assert_int_equal(e.status, PTXGEN_EASSEMBLE);
    assert_int_equal(e.error_line, 41);
    assert_string_equal(e.message, "unknown opcode");
    assert_string_equal(e.error_file, "main.ptxc");
    assert_string_equal(e.log, "ptxas: line 41");
    assert_string_equal(e.params, "");
    assert_int_equal(e.cubin_size, 0);
    pg_buf_fini(&b);
}

static void every_flip_and_every_length_is_refused(void **state)
{
    (void)state;
    test_kernel k;
    test_kernel_make(&k, 3);
    pg_buf b;
    pg_buf_init(&b, &pg_alloc_libc);
    assert_true(pg_entry_encode(&b, (pg_str){k.key, k.key_size}, &k.entry));
    pg_cache_entry e;
    pg_str key;
    for (size_t i = 0; i < b.len; i++)
        for (int bit = 0; bit < 8; bit += 7) {
            b.data[i] ^= (char)(1 << bit);
            assert_int_not_equal(pg_entry_decode(b.data, b.len, &e, &key), PG_ENTRY_OK);
            b.data[i] ^= (char)(1 << bit);
        }
    for (size_t n = 0; n < b.len; n++) {
        char *exact = malloc(n ? n : 1);
        memcpy(exact, b.data, n);
        assert_int_not_equal(pg_entry_decode(exact, n, &e, &key), PG_ENTRY_OK);
        free(exact);
    }
    pg_buf_putc(&b, 0);
    assert_int_not_equal(pg_entry_decode(b.data, b.len, &e, &key), PG_ENTRY_OK);
    pg_buf_fini(&b);
}

/* A writer who can make checksums: each 32-bit word of header and metadata set to hostile values.
 */
static void hostile_sizes_with_a_right_checksum_are_bounded(void **state)
{
    (void)state;
    const uint32_t values[] = {0,          1,          7,          127,        128,
                               0x7fffffff, 0x80000000, 0xfffffff8, 0xffffffff, 0x10000000};
    test_kernel k;
    test_kernel_make(&k, 1);
    pg_buf b;
    pg_buf_init(&b, &pg_alloc_libc);
    assert_true(pg_entry_encode(&b, (pg_str){k.key, k.key_size}, &k.entry));
    unsigned char *p = malloc(b.len);
    for (size_t at = 32; at + 4 <= b.len && at < 1024; at++)
        for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
            memcpy(p, b.data, b.len);
            memcpy(p + at, &values[v], 4);
            pg_hash128 h = pg_hash(p + 32, b.len - 32);
            memcpy(p + 16, &h.lo, 8);
            memcpy(p + 24, &h.hi, 8);
            pg_cache_entry e;
            pg_str key;
            if (pg_entry_decode(p, b.len, &e, &key) != PG_ENTRY_OK)
                continue;
            /* Accepted: then every text and block lies inside. Touch all of it. */
            size_t sum =
                key.n + strlen(e.family) + strlen(e.params) + strlen(e.log) + strlen(e.message);
            for (size_t i = 0; i < e.cubin_size; i++)
                sum += ((const unsigned char *)e.cubin)[i];
            assert_int_equal(e.ptx[e.ptx_size], 0);
            assert_true(sum > 0 || e.cubin_size > 0);
        }
    free(p);
    pg_buf_fini(&b);
}

static void no_memory_means_no_entry(void **state)
{
    (void)state;
    test_kernel k;
    test_kernel_make(&k, 5);
    for (size_t n = 1;; n++) {
        failing_alloc f = {.fail_at = n, .forever = true};
        pg_alloc hook = failing_alloc_hook(&f);
        pg_buf b;
        pg_buf_init(&b, &hook);
        bool done = pg_entry_encode(&b, (pg_str){k.key, k.key_size}, &k.entry);
        assert_int_equal(done, f.calls < n);
        pg_buf_fini(&b);
        assert_int_equal(f.live, 0);
        if (done)
            break;
    }
}

static void too_large_is_refused(void **state)
{
    (void)state;
    test_kernel k;
    test_kernel_make(&k, 5);
    pg_buf b;
    pg_buf_init(&b, &pg_alloc_libc);
    assert_false(pg_entry_encode(&b, (pg_str){k.key, PG_ENTRY_KEY_MAX + 1}, &k.entry));
    k.entry.cubin_size = (size_t)PG_ENTRY_FILE_MAX + 1;
    assert_false(pg_entry_encode(&b, (pg_str){k.key, k.key_size}, &k.entry));
    assert_int_equal(b.len, 0);
    pg_buf_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_comes_back),
        cmocka_unit_test(a_failure_comes_back),
        cmocka_unit_test(every_flip_and_every_length_is_refused),
        cmocka_unit_test(hostile_sizes_with_a_right_checksum_are_bounded),
        cmocka_unit_test(no_memory_means_no_entry),
        cmocka_unit_test(too_large_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
