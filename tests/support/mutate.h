/* Hostile versions of a file: bytes changed the way that finds faults in readers. The same seed
 * makes the same bytes. */
#ifndef MUTATE_H
#define MUTATE_H

#include <stddef.h>
#include <stdint.h>

/* Changes the n bytes at `bytes` in one to four ways (a bit, a byte, a number of 2, 4 or 8 bytes
 * replaced by one that overflows something, a cut, a tail, a block left out, doubled or
 * exchanged) and returns their new number, at most `room`. */
size_t mutate(uint64_t *seed, uint8_t *bytes, size_t n, size_t room);

/* How many hostile files a test makes: the variable's number, else `usual`. */
size_t mutations_wanted(const char *variable, size_t usual);

#endif
