/* Every kernel of the pack that the build tree has (`--target pack`; PTXGEN_TEST_PACK names
 * another) is loaded on this device, from the pack alone: no assembler, no cache folder. Kernels
 * for another architecture must be refused. Without a pack or a device it skips itself. */
#include "test.h"

#include "ptxgen/cache.h"
#include "ptxgen/ptxgen.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct tally {
    ptxgen *ctx;
    ptxgen_arch device;
    int loaded, other;
} tally;

static bool load(void *user, const ptxgen_cache_record *r)
{
    tally *t = user;
    ptxgen_kernel *k;
    ptxgen_error err = {0};
    const ptxgen_status status = ptxgen_get(t->ctx, r->family, r->params, NULL, &k, &err);
    if (r->arch / 10 != t->device / 10) {
        assert_int_equal(status, PTXGEN_EUNSUPPORTED);
        t->other++;
        return true;
    }
    if (status != PTXGEN_OK)
        fail_msg("%s %s: %s", r->family, r->params, err.message);
    ptxgen_kernel_unref(k);
    t->loaded++;
    return true;
}

static void every_packed_kernel_loads(void **state)
{
    (void)state;
    const char *named = getenv("PTXGEN_TEST_PACK");
    const char *pack = named ? named : PTXGEN_BINARY_DIR "/ptxgen/generic.pack";
    char none[] = "/tmp/ptxgen-none-XXXXXX";
    ptxgen_cache *cache;
    ptxgen_device_info info = {.size = sizeof info};
    ptxgen_error err = {0};
    tally t = {0};
    if (access(pack, R_OK) != 0)
        skip();
    assert_non_null(mkdtemp(none));
    const ptxgen_config config = {.size = sizeof config,
                                  .device = PTXGEN_DEVICE_CUDA,
                                  .toolkit_dir = none,
                                  .cache_dir = "",
                                  .cache_layers = &pack,
                                  .cache_layer_count = 1};
    assert_int_equal(ptxgen_create(&config, &t.ctx, NULL), PTXGEN_OK);
    if (ptxgen_device_get_info(t.ctx, &info, &err) != PTXGEN_OK) {
        ptxgen_destroy(t.ctx);
        rmdir(none);
        skip();
    }
    t.device = info.arch;
    assert_int_equal(ptxgen_cache_open(pack, NULL, &cache, &err), PTXGEN_OK);
    assert_int_equal(ptxgen_cache_each(cache, load, &t, &err), PTXGEN_OK);
    ptxgen_cache_info used = {.size = sizeof used};
    ptxgen_cache_get_info(t.ctx, &used);
    assert_int_equal(used.misses, 0);
    assert_true(t.loaded > 0);
    printf("%d kernels of %s loaded, %d of other architectures refused, nothing assembled\n",
           t.loaded, info.name, t.other);
    ptxgen_cache_close(cache);
    ptxgen_destroy(t.ctx);
    rmdir(none);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_packed_kernel_loads)};
    return cmocka_run_group_tests_name("gpu_pack", tests, NULL, NULL);
}
