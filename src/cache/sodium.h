/* libsodium, opened when signatures are asked for: ed25519 and BLAKE2b. */
#ifndef PG_SODIUM_H
#define PG_SODIUM_H

#include "base/error.h"

#include <stddef.h>

enum { PG_PUBLIC_BYTES = 32, PG_SECRET_BYTES = 64, PG_SIGNATURE_BYTES = 64, PG_DIGEST_BYTES = 32 };

/* The calls that are used, as libsodium 1.0.18 declares them. */
typedef struct pg_sodium {
    int (*keypair)(unsigned char *public_key, unsigned char *secret_key);
    int (*sign)(unsigned char *signature, unsigned long long *size, const unsigned char *message,
                unsigned long long n, const unsigned char *secret_key);
    int (*check)(const unsigned char *signature, const unsigned char *message, unsigned long long n,
                 const unsigned char *public_key);
    int (*hash)(unsigned char *out, size_t out_size, const unsigned char *in, unsigned long long n,
                const unsigned char *key, size_t key_size);
    void (*random)(void *out, size_t size);
} pg_sodium;

/* Opened once for the process. EMISSING names the package. */
ptxgen_status pg_sodium_get(const pg_sodium **out, ptxgen_error *err);

#endif
