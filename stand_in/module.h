/* Modules (a program that was loaded), their functions and variables, and the runtime's
 * registered symbols. */
#ifndef PG_STAND_IN_MODULE_H
#define PG_STAND_IN_MODULE_H

#include "stand_in/device.h"

typedef struct pg_module pg_module;

/* A kernel, as CUfunction, cudaFunction_t, CUkernel and cudaKernel_t see it. */
typedef struct pg_function {
    pg_module *module;
    struct pg_function *next; /* in the module */
    char *name;
    ptxgen_emulator_entry *entry; /* NULL until first use */
    ptxgen_emulator_entry_info info;
    size_t parameter_count, parameter_bytes;
    int max_dynamic_shared;
    bool cluster_of_any_size;
    bool has_run; /* and report.c has said so */
} pg_function;

struct pg_module {
    pg_module *next;   /* all that live */
    const void *image; /* kept by the program until it unregisters; NULL: text is loaded */
    ptxgen_emulator_module *program; /* NULL until first use */
    pg_function *functions;
    char name[64]; /* for messages */
    bool failed;   /* was loaded in vain, and pg_complain has said why */
};

/* `image` as pg_ptx_from_image takes it. A module of a fat binary is read at its first use, so
 * that kernels that are never asked for cost nothing. */
pg_module *pg_module_new(const void *image, const char *name);
void pg_module_free(pg_module *module);
/* Parses it now. Errors: InvalidPtx, NoKernelImageForDevice, MemoryAllocation. */
pg_cuda_error pg_module_ready(pg_module *module);
/* A function by name: NULL with *error. The entry is decoded. */
pg_function *pg_module_function(pg_module *module, const char *name, pg_cuda_error *error);
/* A function that is only named so far: the runtime registers all of a program's at its start. */
pg_function *pg_module_declare(pg_module *module, const char *name);
pg_cuda_error pg_function_ready(pg_function *function);
/* A handle that a program gives back (CUfunction, cudaKernel_t); NULL: it is none. */
pg_function *pg_function_known(const void *handle);
/* False: there is no such variable. */
bool pg_module_variable(pg_module *module, const char *name, void **address, size_t *bytes);
/* The i-th entry's name, or NULL. */
const char *pg_module_entry_name(pg_module *module, size_t i);

/* ---- symbols of the runtime: host stubs and shadow variables ---- */

bool pg_symbol_add_function(const void *host, pg_function *function);
/* managed: *host_place receives the variable's address when the module is loaded. */
bool pg_symbol_add_variable(const void *host, pg_module *module, const char *name,
                            void **managed_place);
/* Of a host stub, or of a handle; NULL: neither. */
pg_function *pg_symbol_function(const void *host);
pg_cuda_error pg_symbol_variable(const void *host, void **address, size_t *bytes);
void pg_symbols_forget(const pg_module *module);
/* Gives managed variables of loaded and unloaded modules their addresses. */
void pg_symbols_place_managed(pg_module *module);

#endif
