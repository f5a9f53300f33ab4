/* A lock that is held for moments only, on the way of calls: who finds it taken looks again for a
 * moment before it sleeps, since sleeping costs a call more than any holder needs. */
#ifndef PG_LOCK_H
#define PG_LOCK_H

#include <pthread.h>

static inline void pg_lock_init(pthread_mutex_t *lock)
{
#ifdef PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP
    pthread_mutexattr_t adaptive;
    pthread_mutexattr_init(&adaptive);
    pthread_mutexattr_settype(&adaptive, PTHREAD_MUTEX_ADAPTIVE_NP);
    pthread_mutex_init(lock, &adaptive);
    pthread_mutexattr_destroy(&adaptive);
#else
    pthread_mutex_init(lock, NULL);
#endif
}

#endif
