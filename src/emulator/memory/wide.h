/* 16 aligned bytes of memory in one piece, whatever other host threads do there: hardware does
 * not tear such accesses, and programs rely on it (a value beside its flag). The processor's own
 * 16-byte accesses do it on x86-64 (atomic on every processor with AVX) and on AArch64, the
 * compiler's library elsewhere; under ThreadSanitizer the builtins, which it knows. Loads
 * acquire and stores release. */
#ifndef PG_EMULATOR_WIDE_H
#define PG_EMULATOR_WIDE_H

#include <stdbool.h>
#include <stdint.h>

typedef unsigned __int128 pg_wide;

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define PG_WIDE_BUILTINS
#endif
#endif
#if defined(__SANITIZE_THREAD__) || !(defined(__x86_64__) || defined(__aarch64__))
#define PG_WIDE_BUILTINS
#endif

#if defined(PG_WIDE_BUILTINS)

static inline pg_wide pg_wide_load(const pg_wide *p)
{
    return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

static inline void pg_wide_store(pg_wide *p, pg_wide value)
{
    __atomic_store_n(p, value, __ATOMIC_RELEASE);
}

/* Stores `next` if *p is *old; else *old becomes *p. */
static inline bool pg_wide_exchange(pg_wide *p, pg_wide *old, pg_wide next)
{
    return __atomic_compare_exchange_n(p, old, next, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

#elif defined(__x86_64__)
#include <emmintrin.h>
#include <string.h>

static inline pg_wide pg_wide_load(const pg_wide *p)
{
    __m128i x;
    pg_wide value;
    __asm__ volatile("movdqa %1, %0" : "=x"(x) : "m"(*p) : "memory");
    memcpy(&value, &x, sizeof value);
    return value;
}

static inline void pg_wide_store(pg_wide *p, pg_wide value)
{
    __m128i x;
    memcpy(&x, &value, sizeof x);
    __asm__ volatile("movdqa %1, %0" : "=m"(*p) : "x"(x) : "memory");
}

static inline bool pg_wide_exchange(pg_wide *p, pg_wide *old, pg_wide next)
{
    uint64_t low = (uint64_t)*old, high = (uint64_t)(*old >> 64);
    bool done;
    __asm__ volatile("lock cmpxchg16b %0"
                     : "+m"(*p), "=@ccz"(done), "+a"(low), "+d"(high)
                     : "b"((uint64_t)next), "c"((uint64_t)(next >> 64))
                     : "memory");
    *old = (pg_wide)high << 64 | low;
    return done;
}

#else /* AArch64 */

/* One try: *old receives what was there, `next` goes in if that was `wanted` (or `always`). */
static inline bool pg_wide_try(pg_wide *p, pg_wide *old, pg_wide next, bool always)
{
    const pg_wide wanted = *old;
    uint64_t low, high;
    uint32_t failed;
    __asm__ volatile("ldaxp %0, %1, %2" : "=&r"(low), "=&r"(high) : "Q"(*p) : "memory");
    *old = (pg_wide)high << 64 | low;
    const pg_wide put = always || *old == wanted ? next : *old;
    __asm__ volatile("stlxp %w0, %2, %3, %1"
                     : "=&r"(failed), "=Q"(*p)
                     : "r"((uint64_t)put), "r"((uint64_t)(put >> 64))
                     : "memory");
    return !failed;
}

static inline bool pg_wide_exchange(pg_wide *p, pg_wide *old, pg_wide next)
{
    const pg_wide wanted = *old;
    do
        *old = wanted;
    while (!pg_wide_try(p, old, next, false));
    return *old == wanted;
}

static inline pg_wide pg_wide_load(const pg_wide *p)
{
    pg_wide value = 0;
    pg_wide_exchange((pg_wide *)(uintptr_t)p, &value, 0);
    return value;
}

static inline void pg_wide_store(pg_wide *p, pg_wide value)
{
    pg_wide old = 0;
    while (!pg_wide_try(p, &old, value, true))
        ;
}

#endif
#undef PG_WIDE_BUILTINS
#endif
