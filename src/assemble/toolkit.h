/* The inside of pg_toolkit (assembler.h): the parts of a CUDA toolkit, found when first asked
 * for, and the table of assemblers. One file per assembler (assemble_*.c). */
#ifndef PG_TOOLKIT_H
#define PG_TOOLKIT_H

#include "assemble/assembler.h"

#include <pthread.h>
#include <stdatomic.h>

typedef struct pg_tool {
    bool found;
    int error; /* errno of a failed call that may succeed the next time; 0: none */
    char path[1024];
    char version[40];
    char identity[128]; /* "ptxas 13.0.88 1f2e..." */
    char note[320];
    void *handle; /* of a library that only the dynamic linker could find; else NULL */
} pg_tool;

/* The assemblers are numbered as in ptxgen_assembler. */
enum { PG_TOOL_NVRTC = PTXGEN_ASSEMBLER_DRIVER + 1, PG_TOOL_DISASSEMBLER, PG_TOOL_END };

struct pg_toolkit {
    pg_alloc alloc;
    pg_log log;
    ptxgen_assembler wanted;
    char *dir, *cuda_home, *user_dir, *path, *driver_library; /* our copies; NULL: not given */
    uint32_t timeout_ms;
    pthread_mutex_t lock; /* of searching and opening */
    pg_tool tools[PG_TOOL_END];
    atomic_bool searched[PG_TOOL_END]; /* then that tool does not change any more */
    void *opened[PG_TOOL_END];         /* what an assembler keeps open, made at its first use */
    void (*close_nvrtc)(pg_toolkit *); /* NULL: not opened */
};

typedef struct pg_assembly_job {
    const pg_assembly_request *request;
    pg_buf *cubin, *log;
    bool refused; /* the assembler refused the text; the log says why */
} pg_assembly_job;

typedef struct pg_assembler_backend {
    const char *name;
    bool keeps_setmaxnreg;
    bool in_process;     /* run under a C locale and held off from fork() */
    const char *ability; /* note for doctor when found */
    /* Fills path, version and identity, or leaves found false and says in `note` what to
     * install. Under the toolkit's lock. */
    void (*find)(pg_toolkit *, pg_tool *);
    /* Fills cubin, log and refused. A failure that is not the text's fault is the returned
     * status. */
    ptxgen_status (*assemble)(pg_toolkit *, pg_assembly_job *, ptxgen_error *);
    void (*close)(pg_toolkit *); /* frees opened[]; NULL: nothing to free */
} pg_assembler_backend;

extern const pg_assembler_backend pg_backend_ptxas;         /* ptxas.c */
extern const pg_assembler_backend pg_backend_nvptxcompiler; /* nvptxcompiler.c */
extern const pg_assembler_backend pg_backend_nvjitlink;     /* nvjitlink.c */
extern const pg_assembler_backend pg_backend_driver;        /* driver.c */

/* toolkit.c: the part of this number, searched for at its first use. Only what was found, or is
 * not there, is remembered in t->tools. After a failure that may pass, the answer is *passing,
 * and the next question searches again. */
const pg_tool *pg_toolkit_find(pg_toolkit *, int kind, pg_tool *passing);

/* toolkit_search.c: where parts lie. Both fill tool->path, version, identity and found. */
void pg_search_program(pg_toolkit *, pg_tool *, const char *name);
/* `names`: file names, best first, NULL-terminated ("libnvJitLink.so.13"). `wheel`: the folder
 * of NVIDIA's CUDA 12 wheel ("nvjitlink"). */
typedef struct pg_library_query {
    const char *name; /* of the part */
    const char *const *names;
    const char *wheel;
} pg_library_query;
void pg_search_library(pg_toolkit *, pg_tool *, const pg_library_query *);
/* Notes a failed system call of a search; what only says that nothing is there is no failure. */
void pg_note_search_error(pg_tool *, int error);
/* Takes build and, unless it is set already, version from the file at tool->path. */
void pg_identify_tool(pg_toolkit *, pg_tool *, const char *name);

#endif
