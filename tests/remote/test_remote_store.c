/* The client against a real redis-server and a storage helper: what is sent comes back, one gets a
 * claim, and a store that is dead, silent, full, wrong or new again costs its timeout once. */
#include "cache_helpers.h"
#include "redis_server.h"

#include "base/clock.h"
#include "remote/remote.h"
#include "remote/transport.h"

#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TIMEOUT_MS = 300 };

typedef struct events {
    _Atomic int count[PG_REMOTE_OPENED + 1];
    char why[256];
} events;

static void note(void *user, pg_remote_event event, const char *why)
{
    events *e = user;
    e->count[event]++;
    if (why)
        snprintf(e->why, sizeof e->why, "%s", why);
}

static pg_remote *create(const char *place, const char *run_dir, events *e)
{
    pg_remote *m = NULL;
    ptxgen_error err = {0};
    memset(e, 0, sizeof *e);
    const pg_remote_config config = {.place = place,
                                     .run_dir = run_dir,
                                     .path = getenv("PATH"),
                                     .timeout_ms = TIMEOUT_MS,
                                     .note = note,
                                     .user = e};
    const pg_log silent = {0};
    if (pg_remote_create(&pg_alloc_libc, &silent, &config, &m, &err) != PTXGEN_OK)
        fail_msg("%s", err.message);
    return m;
}

static void put(pg_remote *m, uint64_t id, const char *text)
{
    pg_buf bytes;
    pg_buf_init(&bytes, &pg_alloc_libc);
    pg_buf_puts(&bytes, text);
    pg_remote_put(m, (pg_hash128){id, 0}, &bytes);
}

static void await(const events *e, pg_remote_event event, int count)
{
    for (int i = 0; i < 2000 && e->count[event] < count; i++)
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    assert_int_equal(e->count[event], count);
}

static pg_remote_answer get(pg_remote *m, uint64_t id, char text[64])
{
    pg_buf out;
    pg_buf_init(&out, &pg_alloc_libc);
    const pg_remote_answer a = pg_remote_get(m, (pg_hash128){id, 0}, 0, &out);
    snprintf(text, 64, "%s", pg_buf_text(&out));
    pg_buf_fini(&out);
    return a;
}

static void check_store(pg_remote *m, const events *e)
{
    char text[64];
    double us = 0;
    assert_int_equal(get(m, 1, text), PG_REMOTE_NO);
    put(m, 1, "one");
    await(e, PG_REMOTE_STORED, 1);
    assert_int_equal(get(m, 1, text), PG_REMOTE_YES);
    assert_string_equal(text, "one");
    put(m, 1, "another");
    await(e, PG_REMOTE_STORED, 2);
    assert_int_equal(get(m, 1, text), PG_REMOTE_YES);
    assert_string_equal(text, "another");
    assert_int_equal(pg_remote_ping(m, &us, NULL), PTXGEN_OK);
    assert_true(us > 0);
    assert_int_equal(e->count[PG_REMOTE_ERROR], 0);
}

/* ---- Redis ---- */

static void redis_keeps_what_is_sent(void **state)
{
    (void)state;
    redis_server s;
    events e;
    char place[96];
    redis_server_make(&s, NULL, NULL);
    pg_remote *m = create(s.place, "", &e);
    check_store(m, &e);
    pg_remote_destroy(m);
    snprintf(place, sizeof place, "redis+unix://%s/socket", s.dir);
    m = create(place, "", &e);
    char text[64];
    assert_int_equal(get(m, 1, text), PG_REMOTE_YES);
    assert_string_equal(text, "another");
    pg_remote_destroy(m);
    redis_server_remove(&s);
}

static void a_password_lets_in(void **state)
{
    (void)state;
    redis_server s;
    events e;
    char place[96], text[64];
    redis_server_make(&s, "requirepass", "open sesame");
    snprintf(place, sizeof place, "redis://:open%%20sesame@127.0.0.1:%d/2", s.port);
    pg_remote *m = create(place, "", &e);
    check_store(m, &e);
    pg_remote_destroy(m);
    m = create(s.place, "", &e); /* without it: an answer, and no entry */
    assert_int_equal(get(m, 1, text), PG_REMOTE_SILENT);
    assert_non_null(strstr(e.why, "NOAUTH"));
    pg_remote_destroy(m);
    redis_server_remove(&s);
}

static void one_of_many_has_the_claim(void **state)
{
    (void)state;
    redis_server s;
    events e[2];
    const pg_hash128 id = {7, 7};
    redis_server_make(&s, NULL, NULL);
    pg_remote *a = create(s.place, "", &e[0]), *b = create(s.place, "", &e[1]);
    assert_int_equal(pg_remote_claim(a, id), PG_REMOTE_YES);
    assert_int_equal(pg_remote_claim(b, id), PG_REMOTE_NO);
    assert_int_equal(pg_remote_claim(a, id), PG_REMOTE_NO); /* another thread of the same */
    pg_remote_release(b, id);                               /* not b's to release */
    assert_int_equal(pg_remote_claim(b, id), PG_REMOTE_NO);
    pg_remote_release(a, id);
    for (int i = 0; i < 1000 && pg_remote_claim(b, id) != PG_REMOTE_YES; i++)
        assert_true(i < 999);
    /* The server forgets a claim by itself: its owner may be dead. */
    char names[4][128];
    assert_int_equal(redis_keys(&s, "*:claim", names, 4), 1);
    const long left = redis_count(&s, "PTTL", names[0]);
    assert_in_range(left, 1, PG_REMOTE_LEASE_MS);
    pg_remote_destroy(a);
    pg_remote_destroy(b);
    redis_server_remove(&s);
}

/* ---- trouble ---- */

static double time_of_get(pg_remote *m, uint32_t wait_us, pg_remote_answer expected)
{
    pg_buf out;
    pg_buf_init(&out, &pg_alloc_libc);
    const double start = pg_clock_us();
    assert_int_equal(pg_remote_get(m, (pg_hash128){1, 0}, wait_us, &out), expected);
    pg_buf_fini(&out);
    return pg_clock_us() - start;
}

/* One request waits for the timeout, the next hundred for nothing; and whoever says how long waits
 * no longer than that. */
static void check_silence(pg_remote *m, events *e, const char *what)
{
    const double quick = time_of_get(m, 1000, PG_REMOTE_SILENT);
    double slow = time_of_get(m, 0, PG_REMOTE_SILENT), rest = 0;
    await(e, PG_REMOTE_OPENED, 1);
    assert_int_equal(pg_remote_breaker(m), PG_BREAKER_OPEN);
    for (int i = 0; i < 100; i++)
        rest += time_of_get(m, 0, PG_REMOTE_SILENT);
    put(m, 1, "lost");
    await(e, PG_REMOTE_DROPPED, 1);
    assert_int_equal(e->count[PG_REMOTE_ERROR], 1);
    print_message("%s: a caller's wait %.0f us (limit 1000), the first other one %.0f ms, then "
                  "%.2f us each\n",
                  what, quick, slow / 1000, rest / 100);
    assert_true(slow < 10 * 1000 * TIMEOUT_MS && rest / 100 < 1000);
}

static void a_dead_server_costs_nothing(void **state)
{
    (void)state;
    redis_server s;
    events e;
    redis_server_make(&s, NULL, NULL);
    redis_server_kill(&s);
    pg_remote *m = create(s.place, "", &e);
    check_silence(m, &e, "dead");
    pg_remote_destroy(m);
    redis_server_remove(&s);
}

static void a_stopped_server_costs_one_timeout(void **state)
{
    (void)state;
    redis_server s;
    events e;
    char text[64];
    redis_server_make(&s, NULL, NULL);
    pg_remote *m = create(s.place, "", &e);
    put(m, 1, "one");
    await(&e, PG_REMOTE_STORED, 1);
    redis_server_stall(&s);
    check_silence(m, &e, "stopped");
    redis_server_go_on(&s);
    for (int i = 0; i < 3000 && get(m, 1, text) != PG_REMOTE_YES; i++)
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    assert_string_equal(text, "one");
    assert_int_equal(pg_remote_breaker(m), PG_BREAKER_CLOSED);
    pg_remote_destroy(m);
    redis_server_remove(&s);
}

/* Takes connections and bytes, and never says a word. */
static int open_hole(char place[64])
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof at;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof at) == 0 &&
                listen(fd, 64) == 0 && getsockname(fd, (struct sockaddr *)&at, &n) == 0);
    snprintf(place, 64, "redis://127.0.0.1:%d", ntohs(at.sin_port));
    return fd;
}

static void a_black_hole_costs_one_timeout(void **state)
{
    (void)state;
    events e;
    char place[64];
    const int fd = open_hole(place);
    pg_remote *m = create(place, "", &e);
    check_silence(m, &e, "black hole");
    pg_remote_destroy(m);
    close(fd);
}

/* 192.0.2.0/24 is kept for documentation: nobody answers there, or the network says so at once. */
static void an_address_without_a_machine_costs_one_timeout(void **state)
{
    (void)state;
    events e;
    pg_remote *m = create("redis://192.0.2.1", "", &e);
    check_silence(m, &e, "no machine");
    pg_remote_destroy(m);
}

/* A server that goes on for ever, a byte at a time, has the same time as any. */
static void a_dribble_ends_at_the_timeout(void **state)
{
    (void)state;
    events e;
    char place[64];
    const int fd = open_hole(place);
    const pid_t child = fork();
    if (child == 0) {
        signal(SIGPIPE, SIG_DFL);
        const int client = accept(fd, NULL, NULL);
        for (size_t i = 0; write(client, i ? "x" : "$9000\r\n", i ? 1 : 7) > 0; i++)
            nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
        _exit(0);
    }
    pg_remote *m = create(place, "", &e);
    const double us = time_of_get(m, 0, PG_REMOTE_SILENT);
    assert_true(us > 1000.0 * TIMEOUT_MS / 2 && us < 10 * 1000.0 * TIMEOUT_MS);
    pg_remote_destroy(m);
    close(fd);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

static void what_is_no_redis_is_left(void **state)
{
    (void)state;
    static const char *const answers[] = {"HTTP/1.1 400 Bad Request\r\n\r\n", "*1\r\n$1\r\nx\r\n",
                                          "$99999999999\r\n", ":7\r\n", "\r\n\r\n"};
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        events e;
        char place[64], request[256];
        const int fd = open_hole(place);
        const pid_t child = fork();
        if (child == 0) {
            const int client = accept(fd, NULL, NULL);
            const bool sent = read(client, request, sizeof request) > 0 &&
                              write(client, answers[i], strlen(answers[i])) > 0;
            pause();
            _exit(!sent);
        }
        pg_remote *m = create(place, "", &e);
        time_of_get(m, 0, PG_REMOTE_SILENT);
        assert_int_equal(e.count[PG_REMOTE_ERROR], 1);
        pg_remote_destroy(m);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        close(fd);
    }
}

static void a_full_server_still_answers(void **state)
{
    (void)state;
    redis_server s;
    events e;
    char text[64];
    redis_server_make(&s, "maxmemory", "1"); /* noeviction is Redis' rule */
    pg_remote *m = create(s.place, "", &e);
    put(m, 1, "one");
    await(&e, PG_REMOTE_ERROR, 1);
    assert_non_null(strstr(e.why, "OOM"));
    assert_int_equal(get(m, 1, text), PG_REMOTE_NO);
    assert_int_equal(pg_remote_breaker(m), PG_BREAKER_CLOSED);
    pg_remote_destroy(m);
    redis_server_remove(&s);
}

static void a_server_that_comes_again_is_found(void **state)
{
    (void)state;
    redis_server s;
    events e;
    char text[64];
    redis_server_make(&s, NULL, NULL);
    pg_remote *m = create(s.place, "", &e);
    put(m, 1, "one");
    await(&e, PG_REMOTE_STORED, 1);
    redis_server_kill(&s);
    redis_server_start(&s, NULL, NULL);
    /* The old connection is gone, which costs a new one and no pause. */
    assert_int_equal(get(m, 1, text), PG_REMOTE_NO);
    assert_int_equal(e.count[PG_REMOTE_ERROR], 0);
    assert_int_equal(pg_remote_breaker(m), PG_BREAKER_CLOSED);
    pg_remote_destroy(m);
    redis_server_remove(&s);
}

static void a_child_has_its_own_connection(void **state)
{
    (void)state;
    redis_server s;
    events e;
    char text[64];
    redis_server_make(&s, NULL, NULL);
    pg_remote *m = create(s.place, "", &e);
    put(m, 1, "one");
    await(&e, PG_REMOTE_STORED, 1);
    const pid_t child = fork();
    if (child == 0) {
        int wrong = 0;
        for (int i = 0; i < 200; i++)
            wrong += get(m, 1, text) != PG_REMOTE_YES || strcmp(text, "one") != 0;
        pg_remote_destroy(m);
        _exit(wrong != 0);
    }
    for (int i = 0; i < 200; i++) {
        assert_int_equal(get(m, 1, text), PG_REMOTE_YES);
        assert_string_equal(text, "one");
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    pg_remote_destroy(m);
    redis_server_remove(&s);
}

/* ---- storage helpers ---- */

static void stop_helper(const char *run_dir)
{
    char command[700];
    snprintf(command, sizeof command,
             "for s in %s/ptxgen-*; do case $s in *.lock) ;; *) "
             "python3 -c 'import socket, sys; s = socket.socket(socket.AF_UNIX); "
             "s.connect(sys.argv[1]); s.send(b\"\\3\")' \"$s\";; esac; done",
             run_dir);
    assert_int_equal(system(command), 0);
}

static void a_helper_is_started_once(void **state)
{
    (void)state;
    events e[2];
    test_folder folder;
    char place[700], text[64], path[4096];
    test_folder_make(&folder);
    snprintf(path, sizeof path, "%s/tests/storage_helper:%s", PTXGEN_BINARY_DIR, getenv("PATH"));
    setenv("PATH", path, 1);
    snprintf(place, sizeof place, "test://anywhere @dir=%s", folder.path);
    pg_remote *m = create(place, folder.path, &e[0]), *other = create(place, folder.path, &e[1]);
    check_store(m, &e[0]);
    assert_int_equal(get(other, 1, text), PG_REMOTE_YES);
    assert_string_equal(text, "another");
    assert_int_equal(pg_remote_claim(m, (pg_hash128){1, 0}), PG_REMOTE_CANNOT);
    /* One that ended is started again. */
    stop_helper(folder.path);
    for (int i = 0; i < 2000 && get(m, 1, text) != PG_REMOTE_YES; i++)
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    assert_string_equal(text, "another");
    pg_remote_destroy(m);
    pg_remote_destroy(other);
    stop_helper(folder.path);
    test_folder_remove(&folder);
}

static void a_helper_that_is_not_here_is_named(void **state)
{
    (void)state;
    pg_remote *m = NULL;
    ptxgen_error err = {0};
    const pg_remote_config config = {.place = "nowhere://x", .path = "/bin", .note = note};
    const pg_log silent = {0};
    assert_int_equal(pg_remote_create(&pg_alloc_libc, &silent, &config, &m, &err), PTXGEN_EMISSING);
    assert_non_null(strstr(err.message, "ccache-storage-nowhere"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(redis_keeps_what_is_sent),
        cmocka_unit_test(a_password_lets_in),
        cmocka_unit_test(one_of_many_has_the_claim),
        cmocka_unit_test(a_dead_server_costs_nothing),
        cmocka_unit_test(a_stopped_server_costs_one_timeout),
        cmocka_unit_test(a_black_hole_costs_one_timeout),
        cmocka_unit_test(an_address_without_a_machine_costs_one_timeout),
        cmocka_unit_test(a_dribble_ends_at_the_timeout),
        cmocka_unit_test(what_is_no_redis_is_left),
        cmocka_unit_test(a_full_server_still_answers),
        cmocka_unit_test(a_server_that_comes_again_is_found),
        cmocka_unit_test(a_child_has_its_own_connection),
        cmocka_unit_test(a_helper_is_started_once),
        cmocka_unit_test(a_helper_that_is_not_here_is_named),
    };
    const pg_transport *redis;
    if (!redis_server_is_here() || pg_transport_redis(&redis, NULL) != PTXGEN_OK)
        return TEST_SKIPPED;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
