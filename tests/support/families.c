#include "families.h"

#include "test.h"

const pg_family *family_at(size_t n)
{
    const char *name = getenv("PTXGEN_FAMILY");
    const pg_family *only;
    ptxgen_error err = {0};
    if (!name || !name[0])
        return pg_family_at(n);
    if (pg_family_find(name, &only, &err) != PTXGEN_OK)
        fail_msg("PTXGEN_FAMILY=%s: %s", name, err.message);
    return n == 0 ? only : NULL;
}

bool family_is_helper(const pg_family *f)
{
    return f->operands.count == 0;
}

size_t family_place(const pg_family *f)
{
    size_t i = 0;
    while (pg_family_at(i) != f)
        i++;
    return i;
}

size_t draws_wanted(size_t usual)
{
    const char *text = getenv("PTXGEN_DRAWS");
    char *end;
    if (!text || !text[0])
        return usual;
    const unsigned long long n = strtoull(text, &end, 10);
    if (*end || n == 0)
        fail_msg("PTXGEN_DRAWS=%s: give how many, a number from 1", text);
    return (size_t)n;
}
