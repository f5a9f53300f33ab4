/* Keys drawn from a family's parameter table: what no author thought of. */
#ifndef DRAW_KEY_H
#define DRAW_KEY_H

#include "test.h"

#include "generate/family.h"

/* Parameters of the family as text, from the seed alone; not every one has a kernel. User
 * functions are not drawn. */
void draw_key(const pg_family *f, uint64_t seed, char *params, size_t size);

#endif
