/* Puts functions of one parsed module into the kernels of another that call them: what the files of
 * this folder share.
 *
 *   inline.c   the public calls, and the order of what follows
 *   rules.c    what may not stand in a function that is inlined
 *   plan.c     which functions are needed, how large they are, which are inlined; their new names
 *   calls.c    which calls of a function can be inlined, and the parameter variables they have
 *   bridge.c   a parameter as registers: loads and stores of it become moves
 *   block.c    a call as a block with the callee's body
 *   merge.c    the kernel's text with its calls replaced
 *   out.c      text whose lines know where they come from
 *
 * The kernel is edited as text: what is not a call stays byte for byte. The function is printed
 * from its parsed form, in a scope of its own, with names that occur in neither text; so no name
 * can hide another. */
#ifndef PG_PTX_INLINE_H
#define PG_PTX_INLINE_H

#include "ptx/inline/out.h"
#include "ptx/ptx.h"
#include "ptxgen/inline.h"

enum { PG_INLINE_NONE = 0xFFFFFFFFu, PG_INLINE_DEPTH = 32 };

typedef struct pg_inline_text {
    const char *text, *file;
    size_t length;
    pg_ptx_module *module;
} pg_inline_text;

/* A function of the user's module, by its number. */
typedef struct pg_inline_function {
    bool reached;       /* the kernel calls it, or something that it calls */
    bool busy;          /* on the path of calls under walk */
    bool kept;          /* its calls stay calls */
    bool needed;        /* some call of it is left: the merged module defines it */
    bool inlined;       /* stands in the kernel function under edit */
    uint64_t size;      /* instructions with all that it calls; 0: not known yet */
    uint64_t sites;     /* calls in the kernel */
    const char *called; /* its name there */
    const char *name;   /* in the user's text */
    const char *prefix;
} pg_inline_function;

/* Part of a parameter that is a register: .b16 for 1 and 2 bytes, .b32, .b64. A single byte is
 * zero-extended. */
typedef struct pg_piece {
    uint32_t offset, size;
    const char *name;
} pg_piece;

/* A parameter as registers; see bridge.c. */
typedef struct pg_bridge {
    pg_piece *pieces; /* ascending */
    uint32_t n_pieces;
} pg_bridge;

/* A place in a kernel that takes any function of one signature: the kernel calls `kernel_name`,
 * the function is `user_name`, and may leave out trailing parameters. */
typedef struct pg_inline_seam {
    const char *kernel_name, *user_name;
    const char *signature; /* for messages: "float f(float value, int row)" */
    /* The function was put into a kernel of this template before, which was verified, and the
     * result read again: this time neither is. */
    bool proven;
} pg_inline_seam;

typedef struct pg_inliner {
    pg_arena *arena;
    const pg_alloc *alloc;
    pg_inline_text kernel, user; /* user.module: with new names, see plan.c */
    int64_t budget;
    const pg_inline_seam *seam;    /* NULL: names are names */
    pg_inline_function *functions; /* by function of user.module */
    /* by function of kernel.module: of user.module, or PG_INLINE_NONE */
    uint32_t *callee_of_kernel;
    uint32_t *callee_of_user;   /* the same with aliases followed */
    pg_bridge **kernel_bridges; /* by variable: NULL where it stays memory */
    pg_bridge **user_bridges;
    bool *copied;       /* by variable of user.module: goes to the merged module */
    const char *unique; /* prefix of the inliner's own registers */
    pg_out out;
    ptxgen_inlined_call *calls;
    size_t n_calls;
    size_t local_bytes;
    uint32_t depth;
    ptxgen_error *err;
} pg_inliner;

/* One function that calls others: of the kernel (its operands are taken from the text), or of
 * the user's module. */
typedef struct pg_caller {
    pg_inliner *in;
    const pg_ptx_module *module;
    const pg_ptx_function *f;
    const uint32_t *callee_of;
    pg_bridge **bridges;
    const char *text;   /* NULL: operands are printed from the parsed form */
    const char *prefix; /* of the names of bridges */
} pg_caller;

/* ptxgen_inline with an allocator, which outlives the result, and perhaps a seam. */
ptxgen_status pg_inline(const pg_alloc *alloc, const ptxgen_inline_args *args,
                        const pg_inline_seam *seam, ptxgen_inlined **out, ptxgen_error *err);

/* ---- rules.c ---- */
/* Refuses function `index` of the user's module with file and line. */
ptxgen_status pg_inline_check(const pg_inliner *in, uint32_t index);
/* Whether a kernel for `kernel` runs code for `user`; refuses. */
ptxgen_status pg_inline_check_target(const pg_inliner *in);

/* ---- plan.c ---- */
/* Some call of this function is left. */
void pg_inline_need(pg_inliner *in, uint32_t index);
/* Fills callee_of_*, functions; chooses names. */
ptxgen_status pg_inline_plan(pg_inliner *in);

/* ---- calls.c ---- */
/* The function of the user's module that an instruction calls, or PG_INLINE_NONE. */
uint32_t pg_callee_of(const pg_caller *c, const pg_ptx_insn *insn);
/* Makes bridges for the parameter variables of the calls that can be inlined. */
bool pg_inline_bridges(const pg_caller *c);
/* NULL: this call is inlined; else why it is not. */
const char *pg_inline_why_not(const pg_caller *c, const pg_ptx_insn *insn);

/* ---- bridge.c ---- */
/* What ld.param and st.param do. */
typedef struct pg_param_access {
    bool is_store;
    uint32_t var, offset, size, n; /* n elements of `size` bytes */
    pg_ptx_type type;
    const pg_ptx_operand *data; /* a vector if n > 1 */
} pg_param_access;
/* False: the instruction is no load or store of a parameter variable by its name. */
bool pg_param_access_of(const pg_ptx_module *module, const pg_ptx_insn *insn, pg_param_access *out);
typedef struct pg_touch { /* bytes that an instruction reads or writes */
    uint32_t offset, size;
    bool is_store;
} pg_touch;
typedef struct pg_touches {
    pg_touch *items;
    uint32_t count, cap;
} pg_touches;
/* false: out of memory */
bool pg_touch_add(pg_inliner *in, pg_touches *list, pg_touch touch);
/* The touches of a parameter by the body of its function. */
bool pg_touch_body(pg_inliner *in, const pg_ptx_module *module, const pg_ptx_function *f,
                   uint32_t var, pg_touches *list);
pg_bridge *pg_bridge_make(pg_inliner *in, uint64_t bytes, const pg_touches *touches,
                          const char *name);
void pg_bridge_declare(pg_inliner *in, const pg_bridge *bridge);

/* A register or a constant as text, with its width. */
typedef struct pg_value {
    const char *text;
    unsigned bits;
    bool is_constant;
    uint64_t constant;
} pg_value;
/* Where a move goes or comes from, and the guard ("@%p ", or "") that all its instructions get. */
typedef struct pg_move {
    const pg_bridge *bridge;
    uint32_t offset, size;
    bool is_signed; /* a load into a wider register extends the sign */
    const char *guard;
} pg_move;
void pg_bridge_store(pg_inliner *in, const pg_move *move, const pg_value *value);
void pg_bridge_load(pg_inliner *in, const pg_move *move, const pg_value *value);

/* ---- block.c ---- */
/* Writes a load or store of a bridged parameter, or an inlined call; false: the instruction is
 * neither. */
bool pg_inline_instruction(const pg_caller *c, const pg_ptx_insn *insn);

/* ---- operand.c ---- */
/* Operand `slot` of an instruction, or its element (element < 0: all of it), as text that is
 * good in the merged module; NULL when out of memory. */
const char *pg_inline_operand(const pg_caller *c, const pg_ptx_insn *insn, uint32_t slot,
                              int element);
/* "@!%p ", or "". */
const char *pg_inline_guard(const pg_caller *c, const pg_ptx_insn *insn);

/* ---- merge.c ---- */
ptxgen_status pg_inline_merge(pg_inliner *in);

#endif
