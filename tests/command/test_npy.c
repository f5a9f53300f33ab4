/* The .npy reader takes what NumPy writes and refuses everything else with a sentence. */
#include "test.h"

#include "npy/npy.h"

#include <unistd.h>

/* A file of version `major` with the dict text (padded as NumPy pads it) and n bytes of data. */
static size_t build(uint8_t *to, int major, const char *dict, const void *data, size_t n)
{
    const size_t fixed = major == 1 ? 10 : 12, used = strlen(dict);
    const size_t length = (fixed + used + 1 + 63) / 64 * 64 - fixed;
    memcpy(to, "\x93NUMPY", 6);
    to[6] = (uint8_t)major;
    to[7] = 0;
    for (size_t i = 8; i < fixed; i++)
        to[i] = (uint8_t)(length >> 8 * (i - 8));
    memset(to + fixed, ' ', length);
    memcpy(to + fixed, dict, used);
    to[fixed + length - 1] = '\n';
    if (n > 0)
        memcpy(to + fixed + length, data, n);
    return fixed + length + n;
}

/* npy_load of these bytes as a file. */
static ptxgen_status load_bytes(const uint8_t *bytes, size_t n, npy_array *out, ptxgen_error *err)
{
    char path[] = "/tmp/test_npy.XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, n), (ssize_t)n);
    close(fd);
    ptxgen_status status = npy_load(path, out, err);
    unlink(path);
    return status;
}

static void takes_every_version_and_spelling(void **state)
{
    (void)state;
    static const struct {
        const char *dict;
        ptxgen_dtype type;
        int rank;
        size_t bytes;
    } good[] = {
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", PTXGEN_F32, 2, 24},
        {"{'descr': '<f2', 'fortran_order': False, 'shape': (3,), }", PTXGEN_F16, 1, 6},
        {"{'descr': '<V2', 'fortran_order': False, 'shape': (2, 1, 3), }", PTXGEN_BF16, 3, 12},
        {"{'descr': 'bfloat16', 'fortran_order': False, 'shape': (2, 2), }", PTXGEN_BF16, 2, 8},
        {"{'descr': '|V2', 'fortran_order': False, 'shape': (1, 1), }", PTXGEN_U16, 2, 2},
        {"{'descr': '<i8', 'fortran_order': False, 'shape': (), }", PTXGEN_S64, 0, 8},
        {"{'shape':(4L,2L),'descr':\"<i4\",'fortran_order':False}", PTXGEN_S32, 2, 32},
        {"{'descr': '<f4', 'fortran_order': True, 'shape': (5,), }", PTXGEN_F32, 1, 20},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (0, 9223372036854775807), }",
         PTXGEN_F32, 2, 0},
    };
    uint8_t file[512], data[64];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(i * 37);
    for (int major = 1; major <= 3; major++) {
        for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
            ptxgen_error err = {0};
            npy_array a;
            size_t n = build(file, major, good[i].dict, data, good[i].bytes);
            if (load_bytes(file, n, &a, &err) != PTXGEN_OK)
                fail_msg("%s: %s", good[i].dict, err.message);
            assert_int_equal(a.header.type, good[i].type);
            assert_int_equal(a.header.rank, good[i].rank);
            assert_int_equal(a.header.data_bytes, good[i].bytes);
            assert_int_equal((uintptr_t)a.data % 64, 0);
            assert_memory_equal(a.data, data, good[i].bytes);
            npy_free(&a);
        }
    }
}

static void refuses_with_a_remedy(void **state)
{
    (void)state;
    static const struct {
        const char *dict, *says;
    } bad[] = {
        {"{'descr': '>f4', 'fortran_order': False, 'shape': (2, 2), }", "save a.astype('<f4')"},
        {"{'descr': '<f4', 'fortran_order': True, 'shape': (2, 2), }", "ascontiguousarray"},
        /* no detour through a type that is refused as well */
        {"{'descr': '>f8', 'fortran_order': False, 'shape': (2, 2), }", "a.astype('<f8')"},
        {"{'descr': '<c8', 'fortran_order': False, 'shape': (2, 2), }", "'<c8'"},
        {"{'descr': '<f1', 'fortran_order': False, 'shape': (2, 2), }", "a.view(numpy.uint8)"},
        {"{'descr': '|O', 'fortran_order': False, 'shape': (2, 2), }", "'|O'"},
        {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (4,), }", "named fields"},
        {"{'descr': '<f4', 'fortran_order': 0, 'shape': (2, 2), }", "fortran_order"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4), }", "tuple"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-4,), }", "shape"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4, 4", "tuple"},
        {"{'descr': '<f4', 'fortran_order': False, }", "missing"},
        {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (4,), }", "twice"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4,), 'x': 1}", "unknown"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4,), } x", "follows"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775808,), }", "63 bits"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296), }", "memory"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1), }", "reshape"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904,), }", "memory"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000,), }", "cut short"},
        {"hello", "no dict"},
        {"", "no dict"},
    };
    uint8_t file[512];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ptxgen_error err = {0};
        npy_array a;
        size_t n = build(file, 1, bad[i].dict, NULL, 0);
        assert_int_equal(load_bytes(file, n, &a, &err), PTXGEN_EINVAL);
        if (!strstr(err.message, bad[i].says))
            fail_msg("%s: says '%s', not '%s'", bad[i].dict, err.message, bad[i].says);
        assert_non_null(strstr(err.message, "/tmp/test_npy."));
        assert_null(a.data);
    }
}

static void refuses_what_is_no_npy_file(void **state)
{
    (void)state;
    ptxgen_error err = {0};
    npy_array a;
    uint8_t file[256];
    assert_int_equal(npy_load("/nonexistent/a.npy", &a, &err), PTXGEN_EIO);
    assert_int_equal(load_bytes((const uint8_t *)"", 0, &a, &err), PTXGEN_EINVAL);
    assert_int_equal(load_bytes((const uint8_t *)"PK\3\4 and so on", 13, &a, &err), PTXGEN_EINVAL);
    assert_non_null(strstr(err.message, ".npz"));
    size_t n = build(file, 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (0,), }", NULL, 0);
    file[6] = 4;
    assert_int_equal(load_bytes(file, n, &a, &err), PTXGEN_EINVAL);
    assert_non_null(strstr(err.message, "version 4.0"));
    file[6] = 2;
    file[10] = file[11] = 255; /* a header of 4 GiB */
    assert_int_equal(load_bytes(file, n, &a, &err), PTXGEN_EINVAL);
    assert_non_null(strstr(err.message, "at most 10000"));
}

static void refuses_every_other_length(void **state)
{
    (void)state;
    uint8_t file[256], data[17] = {0};
    size_t n =
        build(file, 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }", data, 17);
    for (size_t length = 0; length <= n; length++) {
        ptxgen_error err = {0};
        npy_array a;
        ptxgen_status status = load_bytes(file, length, &a, &err);
        assert_int_equal(status, length == n - 1 ? PTXGEN_OK : PTXGEN_EINVAL);
        npy_free(&a);
    }
}

/* Any change of any header byte is refused or still describes an array that adds up. */
static void survives_every_changed_byte(void **state)
{
    (void)state;
    uint8_t file[256];
    size_t n =
        build(file, 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (12, 34), }", NULL, 0);
    for (size_t at = 0; at < n; at++) {
        const uint8_t old = file[at];
        for (int value = 0; value < 256; value++) {
            file[at] = (uint8_t)value;
            ptxgen_error err = {0};
            npy_header h;
            if (npy_parse_header(file, n, &h, &err) != PTXGEN_OK) {
                assert_true(err.message[0] != '\0');
                continue;
            }
            assert_in_range(h.rank, 0, NPY_MAX_RANK);
            size_t count = 1;
            for (int i = 0; i < h.rank; i++)
                count *= (size_t)h.shape[i];
            assert_int_equal(h.count, count);
            assert_int_equal(h.data_bytes, count * h.elem_bytes);
        }
        file[at] = old;
    }
}

static void what_is_written_is_read_back(void **state)
{
    (void)state;
    static const ptxgen_dtype types[] = {PTXGEN_F32, PTXGEN_F16, PTXGEN_BF16,
                                         PTXGEN_U16, PTXGEN_S64, PTXGEN_S32};
    static const int64_t shapes[][3] = {{0, 4, 1}, {5, 0, 1}, {7, 9, 2}, {1, 1, 1}};
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        for (int rank = 0; rank <= 3; rank++) {
            for (size_t s = 0; s < 4; s++) {
                ptxgen_error err = {0};
                npy_array a, b;
                assert_int_equal(npy_create(types[t], rank, shapes[s], &a, &err), PTXGEN_OK);
                for (size_t i = 0; i < a.header.data_bytes; i++)
                    ((uint8_t *)a.data)[i] = (uint8_t)(i + t);
                char path[] = "/tmp/test_npy.XXXXXX";
                FILE *file = fdopen(mkstemp(path), "wb");
                npy_write(&a, file);
                const long size = ftell(file);
                fclose(file);
                assert_int_equal((size - (long)a.header.data_bytes) % 64, 0);
                assert_int_equal(npy_load(path, &b, &err), PTXGEN_OK);
                unlink(path);
                assert_memory_equal(&a.header, &b.header, sizeof a.header);
                assert_memory_equal(a.data, b.data, a.header.data_bytes);
                npy_free(&a);
                npy_free(&b);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_every_version_and_spelling),
        cmocka_unit_test(refuses_with_a_remedy),
        cmocka_unit_test(refuses_what_is_no_npy_file),
        cmocka_unit_test(refuses_every_other_length),
        cmocka_unit_test(survives_every_changed_byte),
        cmocka_unit_test(what_is_written_is_read_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
