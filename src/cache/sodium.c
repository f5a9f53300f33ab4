/* Never closed: a library that has threads' state is left alone. */
#include "cache/sodium.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>

static pg_sodium sodium;
static bool found;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void open_it(void)
{
    static const char *const names[] = {"libsodium.so.23", "libsodium.so.26", "libsodium.so"};
    void *handle = NULL;
    for (size_t i = 0; !handle && i < sizeof names / sizeof *names; i++)
        handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return;
    int (*init)(void);
    const struct {
        const char *name;
        void *place;
    } calls[] = {{"sodium_init", &init},
                 {"crypto_sign_ed25519_keypair", &sodium.keypair},
                 {"crypto_sign_ed25519_detached", &sodium.sign},
                 {"crypto_sign_ed25519_verify_detached", &sodium.check},
                 {"crypto_generichash", &sodium.hash},
                 {"randombytes_buf", &sodium.random}};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (!(*(void **)calls[i].place = dlsym(handle, calls[i].name)))
            return;
    found = init() >= 0;
}

ptxgen_status pg_sodium_get(const pg_sodium **out, ptxgen_error *err)
{
    pthread_once(&once, open_it);
    *out = found ? &sodium : NULL;
    return found ? PTXGEN_OK
                 : pg_fail(err, PTXGEN_EMISSING,
                           "signatures need libsodium, which is not here: install the package "
                           "libsodium23 (or libsodium26)");
}
