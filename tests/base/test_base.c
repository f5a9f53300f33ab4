/* Arena, buffer, strings, errors: the properties that the rest of the library leans on. */
#include "test.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/stock.h"
#include "base/str.h"

#include <pthread.h>

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

enum { SLOTS = 8, SLOT_BYTES = 64, TURNS = 20000 };

static void stock_gives_its_slots_then_the_allocators_memory(void **state)
{
    (void)state;
    pg_stock s;
    unsigned char *p[SLOTS + 2];
    pg_stock_init(&s, &pg_alloc_libc, SLOT_BYTES, SLOTS);
    p[0] = pg_stock_take(&s, SLOT_BYTES); /* not filled yet */
    assert_non_null(p[0]);
    pg_stock_fill(&s);
    pg_stock_fill(&s);
    pg_stock_give(&s, p[0], SLOT_BYTES);
    unsigned char *const memory = atomic_load(&s.memory);
    for (int i = 0; i <= SLOTS; i++) {
        p[i] = pg_stock_take(&s, SLOT_BYTES);
        const bool inside = p[i] >= memory && p[i] < memory + SLOTS * SLOT_BYTES;
        assert_int_equal(inside, i < SLOTS);
        memset(p[i], i, SLOT_BYTES);
    }
    for (int i = 0; i <= SLOTS; i++)
        for (int byte = 0; byte < SLOT_BYTES; byte++)
            assert_int_equal(p[i][byte], i); /* no two share a byte */
    for (int i = 0; i <= SLOTS; i++)
        pg_stock_give(&s, p[i], SLOT_BYTES);
    unsigned char *const large = pg_stock_take(&s, SLOT_BYTES + 1);
    assert_true(large < memory || large >= memory + SLOTS * SLOT_BYTES);
    pg_stock_give(&s, large, SLOT_BYTES + 1);
    p[0] = pg_stock_take(&s, 1);
    assert_true(p[0] >= memory && p[0] < memory + SLOTS * SLOT_BYTES);
    pg_stock_give(&s, p[0], 1);
    pg_stock_fini(&s);
}

/* Takes two slots, marks them as its own, and looks whether anybody else has them. */
static void *take_and_give(void *user)
{
    pg_stock *s = user;
    const pthread_t self = pthread_self();
    for (int i = 0; i < TURNS; i++) {
        pthread_t *mine[2];
        for (int k = 0; k < 2; k++) {
            mine[k] = pg_stock_take(s, SLOT_BYTES);
            *mine[k] = self;
        }
        for (int k = 0; k < 2; k++) {
            if (mine[0] == mine[1] || !pthread_equal(*mine[k], self))
                return s;
            pg_stock_give(s, mine[k], SLOT_BYTES);
        }
    }
    return NULL;
}

static void stock_gives_a_slot_to_one_thread_only(void **state)
{
    (void)state;
    pg_stock s;
    pthread_t thread[4];
    pg_stock_init(&s, &pg_alloc_libc, SLOT_BYTES, SLOTS);
    pg_stock_fill(&s);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, take_and_give, &s), 0);
    for (int i = 0; i < 4; i++) {
        void *fault;
        pthread_join(thread[i], &fault);
        assert_null(fault);
    }
    pg_stock_fini(&s);
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
        cmocka_unit_test(stock_gives_its_slots_then_the_allocators_memory),
        cmocka_unit_test(stock_gives_a_slot_to_one_thread_only),
        cmocka_unit_test(buffer_survives_every_allocation_failure),
        cmocka_unit_test(integers_print_and_parse_back),
        cmocka_unit_test(words_and_distance),
        cmocka_unit_test(error_may_quote_the_record_it_replaces),
        cmocka_unit_test(hash_is_xxh3),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
