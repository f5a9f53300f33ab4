/* Arena, buffer, strings, errors: the properties that the rest of the library leans on. */
#include "test.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/str.h"

static void arena_gives_zeroed_aligned_memory(void **state)
{
    (void)state;
    pg_arena a;
    pg_arena_init(&a, &pg_alloc_libc);
    for (size_t size = 0; size < 70000; size = size * 2 + 3) {
        unsigned char *p = pg_arena_alloc(&a, size);
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % 16, 0);
        for (size_t i = 0; i < size; i++)
            assert_int_equal(p[i], 0);
        memset(p, 0xa5, size);
    }
    pg_arena_fini(&a);
}

static void arena_refuses_overflow_and_budget(void **state)
{
    (void)state;
    pg_arena a;
    pg_arena_init(&a, &pg_alloc_libc);
    assert_null(pg_arena_array(&a, SIZE_MAX / 2, 4));
    assert_true(a.failed);
    pg_arena_fini(&a);
    a.budget = 10000;
    assert_non_null(pg_arena_alloc(&a, 1000));
    assert_null(pg_arena_alloc(&a, 9000));
    assert_true(a.failed && a.total <= 10000);
    pg_arena_fini(&a);
}

static void buffer_survives_every_allocation_failure(void **state)
{
    (void)state;
    for (size_t n = 1;; n++) {
        failing_alloc f = {.fail_at = n};
        pg_alloc hook = failing_alloc_hook(&f);
        pg_buf b;
        pg_buf_init(&b, &hook);
        for (int i = 0; i < 1000; i++)
            pg_buf_printf(&b, "%d,", i);
        bool failed = b.failed;
        if (!failed)
            assert_int_equal(b.len, 10 * 2 + 90 * 3 + 900 * 4);
        pg_buf_fini(&b);
        assert_int_equal(f.live, 0);
        if (!failed)
            break;
    }
}

static void integers_print_and_parse_back(void **state)
{
    (void)state;
    const int64_t values[] = {0, 1, -1, 10, 99, INT64_MAX, INT64_MIN, 1234567890123};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        pg_buf b;
        pg_buf_init(&b, &pg_alloc_libc);
        pg_buf_put_i64(&b, values[i]);
        int64_t back = 7;
        assert_true(pg_str_i64(pg_str_of(pg_buf_text(&b)), &back));
        assert_int_equal(back, values[i]);
        pg_buf_fini(&b);
    }
    const char *bad[] = {
        "", "-", "+1", " 1", "1 ", "0x10", "9223372036854775808", "-9223372036854775809", "1e3"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int64_t v;
        assert_false(pg_str_i64(pg_str_of(bad[i]), &v));
    }
}

static void words_and_distance(void **state)
{
    (void)state;
    pg_str rest = pg_str_of("  dtype=bf16\tn=512 \n");
    assert_true(pg_str_is(pg_str_word(&rest), "dtype=bf16"));
    assert_true(pg_str_is(pg_str_word(&rest), "n=512"));
    assert_int_equal(pg_str_word(&rest).n, 0);
    assert_int_equal(pg_str_distance(pg_str_of("schedule"), pg_str_of("shedule")), 1);
    assert_int_equal(pg_str_distance(pg_str_of(""), pg_str_of("abc")), 3);
}

static void error_may_quote_the_record_it_replaces(void **state)
{
    (void)state;
    ptxgen_error err = {0};
    assert_int_equal(pg_fail(&err, PTXGEN_EINVAL, "inner"), PTXGEN_EINVAL);
    pg_fail_at(&err, PTXGEN_EIO, "file.c", 7, "outer: %s", err.message);
    assert_string_equal(err.message, "outer: inner");
    assert_int_equal(err.line, 7);
    assert_int_equal(pg_fail(NULL, PTXGEN_EIO, "no record"), PTXGEN_EIO);
    assert_string_equal(ptxgen_status_name(PTXGEN_EINDEX), "EINDEX");
    assert_string_equal(ptxgen_status_name((ptxgen_status)999), "UNKNOWN");
}

static void hash_is_xxh3(void **state)
{
    (void)state;
    char hex[33];
    pg_hash_hex(pg_hash("", 0), hex);
    assert_string_equal(hex,
                        "99aa06d3014798d86001c324468d497f"); /* published XXH3-128 of nothing */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arena_gives_zeroed_aligned_memory),
        cmocka_unit_test(arena_refuses_overflow_and_budget),
        cmocka_unit_test(buffer_survives_every_allocation_failure),
        cmocka_unit_test(integers_print_and_parse_back),
        cmocka_unit_test(words_and_distance),
        cmocka_unit_test(error_may_quote_the_record_it_replaces),
        cmocka_unit_test(hash_is_xxh3),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
