/* Interned keys in a hash table; each key heads a stack of bindings, innermost first. Closing a
 * scope pops its bindings, so scopes cost nothing but what they declare. */
#include "ptx/text/names.h"

#include "base/hash.h"

#include <stdio.h>
#include <string.h>

enum { FIRST_CAPACITY = 256, LONGEST_NUMBER = 7 };

struct pg_name_key {
    const char *p;
    uint32_t n;
    bool is_range;
    bool in_module;          /* depth 0 declares it */
    bool followed_in_module; /* depth 0 declares a name that is this one and some digits */
    uint32_t hash;
    uint32_t head;        /* innermost binding */
    uint32_t used_in;     /* serial of the function in which this is somebody's unique name */
    uint32_t range_count; /* there, if it is a range */
    uint32_t followed_in; /* serial of the function in which a name is this one and some digits */
    uint32_t suffix_in, suffix; /* serial, and the last "$n" tried there */
};

void pg_names_init(pg_names *names, pg_arena *arena)
{
    memset(names, 0, sizeof *names);
    names->arena = arena;
}

void pg_names_begin_function(pg_names *names)
{
    names->function++;
}

void pg_names_open_scope(pg_names *names)
{
    names->depth++;
}

void pg_names_close_scope(pg_names *names)
{
    while (names->n_bindings && names->bindings[names->n_bindings - 1].depth == names->depth) {
        const pg_binding *b = &names->bindings[--names->n_bindings];
        names->keys[b->key].head = b->shadows;
    }
    names->depth--;
}

/* ---- keys ---- */

static uint32_t hash_name(pg_str name, bool is_range)
{
    uint64_t h = pg_hash64(name.p, name.n);
    return (uint32_t)(h ^ h >> 32) + is_range;
}

static uint32_t find_key(const pg_names *names, pg_str name, bool is_range)
{
    if (!names->n_slots)
        return PG_NAME_NONE;
    uint32_t hash = hash_name(name, is_range), mask = names->n_slots - 1;
    for (uint32_t i = hash & mask; names->slots[i]; i = (i + 1) & mask) {
        const pg_name_key *k = &names->keys[names->slots[i] - 1];
        if (k->hash == hash && k->n == name.n && k->is_range == is_range &&
            !memcmp(k->p, name.p, name.n))
            return names->slots[i] - 1;
    }
    return PG_NAME_NONE;
}

static void insert_slot(pg_names *names, uint32_t key)
{
    uint32_t mask = names->n_slots - 1, i = names->keys[key].hash & mask;
    while (names->slots[i])
        i = (i + 1) & mask;
    names->slots[i] = key + 1;
}

/* A copy of an array in twice the room; the old one stays in the arena until the parse ends. */
static void *grow(pg_arena *arena, const void *items, uint32_t *cap, size_t size)
{
    uint32_t wider = *cap ? *cap * 2 : FIRST_CAPACITY;
    void *p = pg_arena_array(arena, wider, size);
    if (p) {
        if (*cap)
            memcpy(p, items, *cap * size);
        *cap = wider;
    }
    return p;
}

static bool grow_keys(pg_names *names)
{
    uint32_t *slots =
        PG_NEW_ARRAY(names->arena, uint32_t, names->cap_keys * 4 + FIRST_CAPACITY * 4);
    pg_name_key *keys = slots ? grow(names->arena, names->keys, &names->cap_keys, sizeof *keys) : 0;
    if (!keys)
        return false;
    names->keys = keys;
    names->slots = slots;
    names->n_slots = names->cap_keys * 2;
    for (uint32_t i = 0; i < names->n_keys; i++)
        insert_slot(names, i);
    return true;
}

static uint32_t intern(pg_names *names, pg_str name, bool is_range)
{
    uint32_t key = find_key(names, name, is_range);
    if (key != PG_NAME_NONE)
        return key;
    if (names->n_keys == names->cap_keys && !grow_keys(names))
        return PG_NAME_NONE;
    key = names->n_keys++;
    names->keys[key] = (pg_name_key){.p = name.p,
                                     .n = (uint32_t)name.n,
                                     .is_range = is_range,
                                     .hash = hash_name(name, is_range),
                                     .head = PG_NAME_NONE};
    insert_slot(names, key);
    return key;
}

uint32_t pg_names_intern(pg_names *names, pg_str name)
{
    return intern(names, name, false);
}

/* ---- splitting names into a range and a number ---- */

static size_t trailing_digits(pg_str name)
{
    size_t n = 0;
    while (n + 1 < name.n && n < LONGEST_NUMBER && name.p[name.n - 1 - n] >= '0' &&
           name.p[name.n - 1 - n] <= '9')
        n++;
    return n;
}

/* The number that the last n characters write; false when it has a leading zero. */
static bool read_number(pg_str name, size_t n, uint32_t *number)
{
    const char *p = name.p + name.n - n;
    if (n > 1 && *p == '0')
        return false;
    *number = 0;
    for (size_t i = 0; i < n; i++)
        *number = *number * 10 + (uint32_t)(p[i] - '0');
    return true;
}

static const pg_binding *head_of(const pg_names *names, uint32_t key)
{
    if (key == PG_NAME_NONE || names->keys[key].head == PG_NAME_NONE)
        return NULL;
    return &names->bindings[names->keys[key].head];
}

/* The innermost of the range `name without its last n characters` and `best`. */
static const pg_binding *try_range(const pg_names *names, pg_str name, size_t n,
                                   const pg_binding *best, uint32_t *index)
{
    uint32_t number;
    if (!read_number(name, n, &number))
        return best;
    const pg_binding *b = head_of(names, find_key(names, (pg_str){name.p, name.n - n}, true));
    if (!b || number >= b->count || (best && best->depth >= b->depth))
        return best;
    *index = b->index + number * b->vector;
    return b;
}

const pg_binding *pg_names_find(const pg_names *names, pg_str name, uint32_t *index)
{
    const pg_binding *best = head_of(names, find_key(names, name, false));
    if (best)
        *index = best->index;
    size_t digits = trailing_digits(name);
    if (digits)
        best = try_range(names, name, digits, best, index);
    for (size_t n = 1; names->digit_ranges && n < digits; n++)
        best = try_range(names, name, n, best, index);
    return best;
}

static void note_module_name(pg_names *names, pg_str name, uint32_t key)
{
    names->keys[key].in_module = true;
    for (size_t digits = trailing_digits(name); digits > 0; digits--) {
        uint32_t shorter = intern(names, (pg_str){name.p, name.n - digits}, false);
        if (shorter != PG_NAME_NONE)
            names->keys[shorter].followed_in_module = true;
    }
}

const pg_binding *pg_names_declare(pg_names *names, pg_str name, const pg_binding *binding)
{
    uint32_t key = intern(names, name, binding->is_range);
    if (key == PG_NAME_NONE)
        return NULL;
    const pg_binding *present = head_of(names, key);
    if (present && present->depth == names->depth)
        return present;
    if (names->n_bindings == names->cap_bindings) {
        pg_binding *b = grow(names->arena, names->bindings, &names->cap_bindings, sizeof *b);
        if (!b)
            return NULL;
        names->bindings = b;
    }
    pg_binding *b = &names->bindings[names->n_bindings];
    *b = *binding;
    b->depth = names->depth;
    b->key = key;
    b->shadows = names->keys[key].head;
    names->keys[key].head = names->n_bindings++;
    if (names->depth == 0)
        note_module_name(names, name, key);
    names->digit_ranges |= binding->is_range && trailing_digits(name) > 0;
    return NULL;
}

/* ---- unique names ---- */

static bool range_in_use(const pg_names *names, pg_str name, size_t digits, bool any_number)
{
    uint32_t key = find_key(names, (pg_str){name.p, name.n - digits}, true), number;
    if (key == PG_NAME_NONE || names->keys[key].used_in != names->function)
        return false;
    return any_number ||
           (read_number(name, digits, &number) && number < names->keys[key].range_count);
}

/* Whether the function has a name that this one would be or contain. For ranges the answer errs
 * towards yes. */
static bool is_taken(const pg_names *names, pg_str name, const pg_unique_name *what)
{
    uint32_t key = find_key(names, name, what->is_range);
    if (key != PG_NAME_NONE && names->keys[key].used_in == names->function)
        return true;
    uint32_t plain = what->is_range ? find_key(names, name, false) : key;
    if (plain != PG_NAME_NONE) {
        const pg_name_key *k = &names->keys[plain];
        if (what->is_range ? k->followed_in == names->function || k->followed_in_module
                           : k->in_module && !what->is_parameter)
            return true;
    }
    for (size_t digits = trailing_digits(name); digits > 0; digits--)
        if (range_in_use(names, name, digits, what->is_range))
            return true;
    return false;
}

static void take(pg_names *names, pg_str name, const pg_unique_name *what)
{
    uint32_t key = intern(names, name, what->is_range);
    if (key == PG_NAME_NONE)
        return;
    names->keys[key].used_in = names->function;
    names->keys[key].range_count = what->count;
    for (size_t digits = trailing_digits(name); digits > 0; digits--) {
        uint32_t shorter = intern(names, (pg_str){name.p, name.n - digits}, false);
        if (shorter == PG_NAME_NONE)
            return;
        names->keys[shorter].followed_in = names->function;
    }
}

const char *pg_names_unique(pg_names *names, pg_arena *out, pg_str name, const pg_unique_name *what)
{
    if (!is_taken(names, name, what)) {
        take(names, name, what);
        return pg_arena_strndup(out, name.p, name.n);
    }
    uint32_t base = intern(names, name, what->is_range);
    if (base == PG_NAME_NONE)
        return NULL;
    if (names->keys[base].suffix_in != names->function) {
        names->keys[base].suffix_in = names->function;
        names->keys[base].suffix = 0;
    }
    enum { SUFFIX = 16 };
    char *p = pg_arena_alloc(out, name.n + SUFFIX);
    if (!p)
        return NULL;
    memcpy(p, name.p, name.n);
    pg_str candidate = {p, 0};
    do {
        uint32_t n = ++names->keys[base].suffix;
        candidate.n =
            name.n + (size_t)snprintf(p + name.n, SUFFIX, what->is_range ? "$%u_" : "$%u", n);
    } while (is_taken(names, candidate, what));
    take(names, candidate, what);
    return p;
}
