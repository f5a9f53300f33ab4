/* The C library's words for error and signal numbers, untranslated, from any thread. */
#ifndef PG_SYSTEM_WORDS_H
#define PG_SYSTEM_WORDS_H

/* "No such file or directory"; never NULL. Static storage, or the thread's until its next call. */
const char *pg_error_words(int number);
/* "Segmentation fault"; "unknown" for a number that is none. Static storage. */
const char *pg_signal_words(int number);

#endif
