/* What cache_remote may say, and what is shown of it. */
#include "test.h"

#include "remote/address.h"

static const struct {
    const char *text, *host, *user, *password, *shown;
    pg_address_kind kind;
    int port, database;
} good[] = {
    {"redis://cache", "cache", "", "", "redis://cache", PG_ADDRESS_REDIS, 6379, 0},
    {"redis://10.0.0.1:7000/3", "10.0.0.1", "", "", "redis://10.0.0.1:7000/3", PG_ADDRESS_REDIS,
     7000, 3},
    {"redis://:p%40ss@[::1]:6380", "::1", "", "p@ss", "redis://***@[::1]:6380", PG_ADDRESS_REDIS,
     6380, 0},
    {"redis://reader:secret@h/1 read-only", "h", "reader", "secret", "redis://***@h/1 read-only",
     PG_ADDRESS_REDIS, 6379, 1},
    {"redis+unix:///run/redis.sock", "/run/redis.sock", "", "", "redis+unix:///run/redis.sock",
     PG_ADDRESS_REDIS_UNIX, 0, 0},
    {"crsh:/run/helper.sock", "/run/helper.sock", "", "", "crsh:/run/helper.sock",
     PG_ADDRESS_HELPER_SOCKET, 0, 0},
    {"https://u:p@h/x @bearer-token=abc @layout=bazel", "", "", "",
     "https://***@h/x @bearer-token=*** @layout=***", PG_ADDRESS_HELPER, 0, 0},
};

static void places_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        pg_address a;
        ptxgen_error err = {0};
        if (pg_address_read(good[i].text, &a, &err) != PTXGEN_OK)
            fail_msg("%s: %s", good[i].text, err.message);
        assert_int_equal(a.kind, good[i].kind);
        assert_string_equal(a.host, good[i].host);
        assert_string_equal(a.user, good[i].user);
        assert_string_equal(a.password, good[i].password);
        assert_string_equal(a.shown, good[i].shown);
        assert_int_equal(a.port, good[i].port);
        assert_int_equal(a.database, good[i].database);
        assert_int_equal(a.read_only, strstr(good[i].text, "read-only") != NULL);
    }
}

static void attributes_are_read(void **state)
{
    (void)state;
    pg_address a;
    assert_int_equal(pg_address_read("s3://b @key=a%20b @flag", &a, NULL), PTXGEN_OK);
    assert_string_equal(a.url, "s3://b");
    assert_string_equal(a.scheme, "s3");
    assert_int_equal(a.attributes, 2);
    assert_string_equal(a.attribute[0].name, "key");
    assert_string_equal(a.attribute[0].value, "a b");
    assert_string_equal(a.attribute[1].name, "flag");
    assert_string_equal(a.attribute[1].value, "true");
}

static void what_is_no_place_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"",
                                      "cache:6379x",
                                      "redis:",
                                      "redis://",
                                      "redis://h:0",
                                      "redis://h:99999",
                                      "redis://h:port",
                                      "redis://h/x",
                                      "redis://:%zz@h",
                                      "redis://[::1",
                                      "redis+unix://run/x",
                                      "crsh:run/x",
                                      "/an/absolute/path",
                                      "redis://h @dir=/x",
                                      "redis://h write-only",
                                      "s3://b @1 @2 @3 @4 @5 @6 @7 @8 @9"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        pg_address a;
        ptxgen_error err = {0};
        if (pg_address_read(bad[i], &a, &err) != PTXGEN_EINVAL)
            fail_msg("'%s' was taken", bad[i]);
        assert_non_null(strstr(err.message, "cache_remote="));
    }
}

static void a_refusal_shows_no_password(void **state)
{
    (void)state;
    pg_address a;
    ptxgen_error err = {0};
    assert_int_equal(pg_address_read("redis://:secret@h:none", &a, &err), PTXGEN_EINVAL);
    assert_null(strstr(err.message, "secret"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_are_read),
        cmocka_unit_test(attributes_are_read),
        cmocka_unit_test(what_is_no_place_is_refused),
        cmocka_unit_test(a_refusal_shows_no_password),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
