/* Names of a module under parse: which declaration a name means in the scopes that are open, and
 * which unique name a declaration gets in the parsed module, where a function has one flat scope.
 *
 * Depth 0 is the module, 1 a function's parameters and the outermost scope of its body, 2 and
 * more nested scopes. A range of registers (`%r<10>`) and a plain name (`%r`) are different
 * names. All memory is in an arena; when it runs out, arena->failed is set, and look-ups find
 * nothing. Names borrow from the text. */
#ifndef PG_PTX_NAMES_H
#define PG_PTX_NAMES_H

#include "base/arena.h"
#include "base/str.h"

typedef enum pg_binding_kind {
    PG_BIND_REG,   /* index: its (first) register number */
    PG_BIND_VAR,   /* index: variable */
    PG_BIND_FUNC,  /* index: function */
    PG_BIND_LABEL, /* index: label */
    PG_BIND_TABLE, /* index: branch or call targets */
    PG_BIND_PROTO  /* index: call prototype */
} pg_binding_kind;

typedef struct pg_binding {
    pg_binding_kind kind;
    uint32_t index;
    bool is_range;    /* REG: `name<count>` */
    uint32_t count;   /* names of a range */
    uint32_t vector;  /* REG: registers of one name: 1, 2 or 4 */
    uint32_t line;    /* of the declaration */
    uint32_t depth;   /* set by pg_names_declare, as what follows */
    uint32_t key;     /* which name */
    uint32_t shadows; /* the binding of the same name in an outer scope */
} pg_binding;

typedef struct pg_name_key pg_name_key;

typedef struct pg_names {
    pg_arena *arena;
    pg_name_key *keys;
    uint32_t n_keys, cap_keys;
    uint32_t *slots; /* open-addressed hash table of key numbers + 1 */
    uint32_t n_slots;
    pg_binding *bindings; /* a stack: the innermost scope is last */
    uint32_t n_bindings, cap_bindings;
    uint32_t depth;
    uint32_t function; /* serial number of the function whose names are made unique */
    bool digit_ranges; /* a range such as x1<5> exists: look-ups try every split of the digits */
} pg_names;

enum { PG_NAME_NONE = 0xFFFFFFFFu };

void pg_names_init(pg_names *names, pg_arena *arena);
/* From here on pg_names_unique makes names unique among those of a new function. */
void pg_names_begin_function(pg_names *names);
void pg_names_open_scope(pg_names *names);
/* Forgets what the innermost scope declared. */
void pg_names_close_scope(pg_names *names);

/* What `name` means here, or NULL. *index: the register (of a range: the one meant) or the
 * binding's index. The pointer is good until the next declaration. */
const pg_binding *pg_names_find(const pg_names *names, pg_str name, uint32_t *index);

/* Declares a name in the innermost scope. Returns the binding that this scope already has for
 * it, if it has one (and declares nothing), else NULL. */
const pg_binding *pg_names_declare(pg_names *names, pg_str name, const pg_binding *binding);

typedef struct pg_unique_name {
    bool is_range;
    uint32_t count; /* of a range */
    /* may have the name of something of the module: it is declared before all uses */
    bool is_parameter;
} pg_unique_name;

/* The name that a declaration of this function has in the module: `name`, or `name$n` when
 * another declaration of the function, or of the module, has it. A copy in `out`; NULL when out
 * of memory. */
const char *pg_names_unique(pg_names *names, pg_arena *out, pg_str name,
                            const pg_unique_name *what);

/* Number of the key of a plain name, for tables beside this one; PG_NAME_NONE when out of
 * memory. */
uint32_t pg_names_intern(pg_names *names, pg_str name);

#endif
