/* Calls without what they need are refused with a message, and successful ones leave the error
 * record alone. */
#include "test.h"

#include "ptxgen/cache.h"
#include "ptxgen/ptxgen.h"

#include <sys/stat.h>
#include <unistd.h>

static void layers_that_are_null(void **state)
{
    (void)state;
    const char *const none[] = {NULL};
    ptxgen *ctx = NULL;
    ptxgen_error err = {0};
    ptxgen_config c = {.size = sizeof c, .cache_dir = "", .cache_layer_count = 1};
    assert_int_equal(ptxgen_create(&c, &ctx, &err), PTXGEN_EINVAL);
    assert_non_null(strstr(err.message, "cache_layers[0]"));
    c.cache_layers = none;
    assert_int_equal(ptxgen_create(&c, &ctx, &err), PTXGEN_EINVAL);
    assert_null(ctx);
}

static void copies_without_memory(void **state)
{
    (void)state;
    ptxgen *ctx;
    void *device;
    char host[4] = "";
    ptxgen_error err = {.status = PTXGEN_OK, .message = "mine"};
    const ptxgen_config c = {.size = sizeof c, .cache_dir = ""};
    assert_int_equal(ptxgen_create(&c, &ctx, &err), PTXGEN_OK);
    assert_int_equal(ptxgen_device_alloc(ctx, sizeof host, &device, &err), PTXGEN_OK);
    assert_string_equal(err.message, "mine"); /* also when the emulator had to take a GPU's place */
    assert_int_equal(ptxgen_device_upload(ctx, NULL, host, 4, &err), PTXGEN_EINVAL);
    assert_int_equal(ptxgen_device_upload(ctx, device, NULL, 4, &err), PTXGEN_EINVAL);
    assert_int_equal(ptxgen_device_download(ctx, NULL, device, 4, &err), PTXGEN_EINVAL);
    assert_int_equal(ptxgen_device_download(ctx, host, NULL, 4, &err), PTXGEN_EINVAL);
    assert_int_equal(ptxgen_device_upload(ctx, NULL, NULL, 0, &err), PTXGEN_OK);
    ptxgen_device_free(ctx, device);
    ptxgen_destroy(ctx);
}

static void administration_without_arguments(void **state)
{
    (void)state;
    char folder[] = "/tmp/ptxgen_null_XXXXXX", command[64];
    const ptxgen_cache_options options = {.size = sizeof options, .create = true};
    ptxgen_cache_transfer t = {.size = sizeof t};
    ptxgen_cache_nearest_result nearest = {.size = sizeof nearest};
    ptxgen_cache *cache;
    ptxgen_error err;
    assert_non_null(mkdtemp(folder));
    assert_int_equal(ptxgen_cache_open(folder, &options, &cache, &err), PTXGEN_OK);
    assert_int_equal(ptxgen_cache_each(cache, NULL, NULL, &err), PTXGEN_EINVAL);
    assert_int_equal(ptxgen_cache_find(cache, NULL, NULL, NULL, &err), PTXGEN_EINVAL);
    assert_int_equal(ptxgen_cache_find(cache, "abcd", NULL, NULL, &err), PTXGEN_EINVAL);
    assert_int_equal(ptxgen_cache_verify(cache, NULL, NULL, NULL, &err), PTXGEN_EINVAL);
    assert_int_equal(ptxgen_cache_nearest(cache, NULL, &nearest, &err), PTXGEN_EINVAL);
    assert_int_equal(ptxgen_cache_nearest(cache, "a=b\n", NULL, &err), PTXGEN_EINVAL);
    assert_int_equal(ptxgen_cache_export(cache, NULL, NULL, NULL, &t, &err), PTXGEN_EINVAL);
    assert_int_equal(ptxgen_cache_export(cache, "x", NULL, NULL, NULL, &err), PTXGEN_EINVAL);
    assert_int_equal(ptxgen_cache_import(cache, NULL, &t, &err), PTXGEN_EINVAL);
    assert_int_equal(ptxgen_cache_import(cache, "x", NULL, &err), PTXGEN_EINVAL);
    ptxgen_cache_close(cache);
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

/* What is no regular file is not replaced: neither by a pack nor by a manifest. */
static void links_are_not_replaced(void **state)
{
    (void)state;
    char folder[] = "/tmp/ptxgen_link_XXXXXX", path[64], command[64];
    const ptxgen_cache_options options = {.size = sizeof options, .create = true};
    const ptxgen_config c = {.size = sizeof c, .cache_dir = ""};
    ptxgen_cache_transfer t = {.size = sizeof t};
    ptxgen_cache *cache;
    ptxgen *ctx;
    ptxgen_error err;
    struct stat s;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/link", folder);
    assert_int_equal(symlink("target", path), 0);
    assert_int_equal(ptxgen_cache_open(folder, &options, &cache, &err), PTXGEN_OK);
    assert_int_equal(ptxgen_cache_export(cache, path, NULL, NULL, &t, &err), PTXGEN_EINVAL);
    ptxgen_cache_close(cache);
    assert_int_equal(ptxgen_create(&c, &ctx, &err), PTXGEN_OK);
    assert_int_equal(ptxgen_manifest_write(ctx, path, &err), PTXGEN_EINVAL);
    ptxgen_destroy(ctx);
    assert_int_equal(lstat(path, &s), 0);
    assert_true(S_ISLNK(s.st_mode));
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_that_are_null),
        cmocka_unit_test(copies_without_memory),
        cmocka_unit_test(administration_without_arguments),
        cmocka_unit_test(links_are_not_replaced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
