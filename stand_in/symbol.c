/* The runtime's symbols: what __cudaRegisterFunction and __cudaRegisterVar tie to addresses of
 * the program. */
#include "stand_in/module.h"

#include <stdlib.h>
#include <string.h>

typedef struct pg_symbol {
    const void *host;
    pg_module *module;
    pg_function *function; /* NULL: a variable */
    char *name;
    void **managed_place;
    size_t order;
} pg_symbol;

static pg_symbol *symbols; /* under the device's lock */
static size_t count, capacity;
static bool sorted = true;

/* By address; of equal ones the newest is last. `order` is the place in which it was added. */
static int compare(const void *a, const void *b)
{
    const pg_symbol *x = a, *y = b;
    if (x->host != y->host)
        return (uintptr_t)x->host < (uintptr_t)y->host ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static bool add(const pg_symbol *symbol)
{
    pg_device *d = pg_device_get();
    if (!d)
        return false;
    pthread_mutex_lock(&d->lock);
    bool ok = count < capacity;
    if (!ok) {
        const size_t grown = capacity ? 2 * capacity : 64;
        pg_symbol *more = realloc(symbols, grown * sizeof *more);
        if (more) {
            symbols = more;
            capacity = grown;
            ok = true;
        }
    }
    if (ok) {
        static size_t order;
        symbols[count] = *symbol;
        symbols[count++].order = order++;
        sorted = false;
    }
    pthread_mutex_unlock(&d->lock);
    return ok;
}

bool pg_symbol_add_function(const void *host, pg_function *function)
{
    return function &&
           add(&(pg_symbol){.host = host, .module = function->module, .function = function});
}

bool pg_symbol_add_variable(const void *host, pg_module *module, const char *name,
                            void **managed_place)
{
    const pg_symbol symbol = {
        .host = host, .module = module, .name = strdup(name), .managed_place = managed_place};
    return symbol.name && add(&symbol);
}

/* A copy of the symbol, since the table may move. */
static bool find(const void *host, bool function, pg_symbol *out)
{
    pg_device *d = pg_device_get();
    bool found = false;
    if (!d)
        return false;
    pthread_mutex_lock(&d->lock);
    if (!sorted)
        qsort(symbols, count, sizeof *symbols, compare);
    sorted = true;
    size_t end = 0, limit = count; /* end: how many addresses are at most `host` */
    while (end < limit) {
        const size_t middle = end + (limit - end) / 2;
        if ((uintptr_t)symbols[middle].host <= (uintptr_t)host)
            end = middle + 1;
        else
            limit = middle;
    }
    while (end-- && symbols[end].host == host && !found)
        if (!symbols[end].function == !function) {
            *out = symbols[end];
            found = true;
        }
    pthread_mutex_unlock(&d->lock);
    return found;
}

pg_function *pg_symbol_function(const void *host)
{
    pg_symbol symbol;
    if (host && find(host, true, &symbol))
        return symbol.function;
    return pg_function_known(host);
}

pg_cuda_error pg_symbol_variable(const void *host, void **address, size_t *bytes)
{
    pg_symbol symbol;
    if (!host || !find(host, false, &symbol))
        return PG_CUDA_InvalidSymbol;
    const pg_cuda_error error = pg_module_ready(symbol.module);
    if (error)
        return error;
    return pg_module_variable(symbol.module, symbol.name, address, bytes) ? PG_CUDA_Success
                                                                          : PG_CUDA_InvalidSymbol;
}

void pg_symbols_place_managed(pg_module *module)
{
    for (size_t i = 0; i < count; i++) {
        size_t bytes;
        if (symbols[i].module == module && symbols[i].managed_place)
            ptxgen_emulator_variable(module->program, symbols[i].name, symbols[i].managed_place,
                                     &bytes);
    }
}

void pg_symbols_forget(const pg_module *module)
{
    size_t kept = 0;
    pg_device *d = pg_device_get();
    if (!d)
        return;
    pthread_mutex_lock(&d->lock);
    for (size_t i = 0; i < count; i++)
        if (symbols[i].module == module)
            free(symbols[i].name);
        else
            symbols[kept++] = symbols[i];
    count = kept;
    pthread_mutex_unlock(&d->lock);
}
