/* The families that a test for every family runs over: all, or the one that PTXGEN_FAMILY names. A
 * test that includes this has the ctest label "family". */
#ifndef FAMILIES_H
#define FAMILIES_H

#include "generate/family.h"

/* The n-th of them, helpers too; NULL past the last. Fails the test when PTXGEN_FAMILY names no
 * family. */
const pg_family *family_at(size_t n);
/* Helpers have no calls of their own, so no problems. */
bool family_is_helper(const pg_family *f);
/* Its place among all families, as ptxgen_family_name counts. */
size_t family_place(const pg_family *f);
/* PTXGEN_DRAWS, or as many as usual; fails the test when that is no number. */
size_t draws_wanted(size_t usual);

#endif
