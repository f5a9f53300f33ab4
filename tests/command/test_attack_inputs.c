/* Hostile .npy files and cubins, given to the command as a user would: it ends by itself within
 * its time and memory, with a documented exit code and a sentence; what it says in JSON can be
 * parsed; what it writes is whole. PTXGEN_HOSTILE: how many of each. */
#include "cache_helpers.h"
#include "draw.h"
#include "mutate.h"

#include <cjson/cJSON.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROOM = 1 << 20, USUAL = 60, SECONDS = 60 };

static test_folder folder;
static uint8_t bytes[ROOM];

static const char *in_folder(const char *name)
{
    static char path[4][700];
    static int next;
    next = (next + 1) % 4;
    snprintf(path[next], sizeof path[next], "%s/%s", folder.path, name);
    return path[next];
}

static void redirect(const char *name, int to)
{
    const int fd = open(in_folder(name), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || dup2(fd, to) < 0)
        _exit(99);
}

/* The exit code of the command with these words (ended by a NULL); its output goes to "out" and
 * "err". */
static int run_command(const char *const *words)
{
    const char *argv[16] = {PTXGEN_BINARY_DIR "/tools/ptxgen"};
    for (size_t i = 0; words[i]; i++)
        argv[i + 1] = words[i];
    const pid_t pid = fork();
    if (pid == 0) {
        alarm(SECONDS);
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        redirect("out", 1);
        redirect("err", 2);
        setenv("PTXGEN_CACHE", "off", 1);
        execv(argv[0], (char **)(uintptr_t)argv);
        _exit(99);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

static char *text_of(const char *name)
{
    size_t n;
    char *text = (char *)test_read_file(in_folder(name), &n);
    assert_non_null(text);
    text = realloc(text, n + 1);
    text[n] = '\0';
    return text;
}

/* Runs it; the exit code is one of the documented ones, and a refusal has its sentence. */
static int must_end_well(const char *what, uint64_t number, const char *const *words)
{
    const int code = run_command(words);
    char *err = text_of("err");
    if (code > 6 || (code >= 2 && strncmp(err, "ptxgen: ", 8) != 0))
        fail_msg("%s number %llu: exit code %d: %s", what, (unsigned long long)number, code, err);
    free(err);
    return code;
}

static void must_be_json(const char *what, uint64_t number)
{
    char *out = text_of("out");
    cJSON *json = cJSON_Parse(out);
    if (!json)
        fail_msg("%s number %llu: no JSON: %.300s", what, (unsigned long long)number, out);
    cJSON_Delete(json);
    free(out);
}

/* A header made of words that headers have, in the wrong places as well; values that overflow. */
static size_t drawn_npy(uint64_t *seed, uint8_t *to)
{
    static const char *const descr[] = {"<f4", "<f2",  "<i8",      "|V2", "|u1",   "<f8",
                                        ">f4", "<i99", "bfloat16", "|O",  "<f4'}", "%s%n%n"};
    static const char *const shape[] = {"(4, 3)",
                                        "(9223372036854775807, 9223372036854775807)",
                                        "(0, 99999999999999999999)",
                                        "(-1, 4)",
                                        "(4,)",
                                        "()",
                                        "(1, 1, 1, 1, 1, 1, 1, 1, 1)",
                                        "(4611686018427387904, 4)",
                                        "(4 3)",
                                        "((4, 3))",
                                        "(1e2, 3)",
                                        "(4, 3"};
    static const char *const order[] = {"False", "True", "0", "None", "'False'"};
#define ANY(list) list[draw_random(seed) % (sizeof list / sizeof *list)]
    char text[400];
    snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }", ANY(descr),
             ANY(order), ANY(shape));
#undef ANY
    const size_t n = strlen(text), length = (10 + n + 1 + 63) / 64 * 64 - 10;
    memcpy(to, "\x93NUMPY\1\0", 8);
    to[8] = (uint8_t)length;
    to[9] = (uint8_t)(length >> 8);
    memset(to + 10, ' ', length);
    memcpy(to + 10, text, n);
    to[10 + length - 1] = '\n';
    memset(to + 10 + length, 0x3f, 48);
    return 10 + length + 48;
}

static void make_array(const char *kind, const char *name)
{
    const char *const words[] = {"array", kind, "-o", in_folder(name), NULL};
    assert_int_equal(must_end_well("array", 0, words), 0);
}

static void hostile_arrays(void **state)
{
    (void)state;
    test_folder_make(&folder);
    make_array("random:4x3", "out.npy");
    make_array("random:5x3", "src.npy");
    make_array("index:5/4", "index.npy");
    static const char *const names[] = {"out.npy", "src.npy", "index.npy"};
    static const char *const roles[] = {"out", "src", "index"};
    const size_t wanted = mutations_wanted("PTXGEN_HOSTILE", USUAL);
    size_t taken = 0, refused = 0;
    for (uint64_t i = 0; i < wanted; i++) {
        uint64_t seed = i * 31 + 3;
        const size_t which = i % 3;
        size_t n;
        unsigned char *sound = test_read_file(in_folder(names[which]), &n);
        memcpy(bytes, sound, n);
        n = i % 5 == 0 ? drawn_npy(&seed, bytes) : mutate(&seed, bytes, n, ROOM);
        free(sound);
        test_write_file(in_folder("bad.npy"), bytes, n);
        char operand[3][800];
        for (size_t k = 0; k < 3; k++)
            snprintf(operand[k], sizeof operand[k], "%s=%s", roles[k],
                     in_folder(k == which ? "bad.npy" : names[k]));
        unlink(in_folder("result.npy"));
        const char *const words[] = {"run",      "scatter_add", operand[0],
                                     operand[1], operand[2],    "--device",
                                     "emulator", "-o",          in_folder("result.npy"),
                                     NULL};
        const int code = must_end_well(".npy", i, words);
        taken += code == 0;
        refused += code >= 2;
        /* A bad index (1) and a refusal leave nothing. */
        if ((access(in_folder("result.npy"), F_OK) == 0) != (code == 0))
            fail_msg(".npy number %llu: exit code %d and the result is %s", (unsigned long long)i,
                     code, code == 0 ? "missing" : "there");
    }
    assert_true(wanted < 50 || (taken > 0 && refused > wanted / 4));
    test_folder_remove(&folder);
}

static void hostile_cubins(void **state)
{
    (void)state;
    test_folder_make(&folder);
    static const char *const sound_files[] = {"ptxas_sm_90a", "ptxas_sm_100f", "nvjitlink_sm_120"};
    const size_t wanted = mutations_wanted("PTXGEN_HOSTILE", USUAL);
    size_t refused = 0;
    for (uint64_t i = 0; i < wanted; i++) {
        uint64_t seed = i * 37 + 5;
        char path[700];
        size_t n;
        snprintf(path, sizeof path, "%s/tests/fuzz/corpus/cubin/%s", PTXGEN_SOURCE_DIR,
                 sound_files[i % 3]);
        unsigned char *sound = test_read_file(path, &n);
        assert_true(sound && n < ROOM / 2);
        memcpy(bytes, sound, n);
        free(sound);
        n = mutate(&seed, bytes, n, ROOM);
        test_write_file(in_folder("bad.cubin"), bytes, n);
        const char *const words[] = {"inspect", "--json", in_folder("bad.cubin"), NULL};
        refused += must_end_well("cubin", i, words) != 0;
        must_be_json("cubin", i);
        const char *const text[] = {"inspect", in_folder("bad.cubin"), NULL};
        if (i % 4 == 0)
            must_end_well("cubin", i, text);
    }
    assert_true(wanted < 50 || (refused > 0 && refused < wanted));
    test_folder_remove(&folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hostile_arrays),
        cmocka_unit_test(hostile_cubins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
