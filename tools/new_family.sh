# sh tools/new_family.sh NAME: writes a kernel family to start from, templates/NAME/, and names it
# in templates/families.def. What it writes works: out[i, :] = factor * src[i, :] in f32, f16 and
# bf16. CONTRIBUTING.md ("A new kernel family") is the walk through it.
set -eu
cd "$(dirname "$0")/.."
name=${1:-}
fail() {
    echo "new_family: $*" >&2
    exit 2
}
[ $# = 1 ] || fail "give one name: sh tools/new_family.sh row_scale"
case $name in
*[!a-z0-9_]* | [!a-z]* | '') fail \
    "'$name' is no name: lower-case letters, digits and _, a letter first" ;;
esac
[ ${#name} -le 24 ] || fail "'$name' is longer than 24 characters"
[ ! -e "templates/$name" ] || fail "templates/$name is there already"
[ "$name" != common ] || fail "templates/common is what families share"
upper=$(echo "$name" | tr a-z A-Z)
write() { # write FILE: standard input with the family's name in it
    sed -e "s/@name@/$name/g" -e "s/@NAME@/$upper/g" >"$1"
}
mkdir -p "templates/$name" "tests/kernels/$name/golden"

write "templates/$name/$name.h" <<'END'
/* @name@, `out[i, :] = factor * src[i, :]`: key, plan, kernel. */
#ifndef PG_@NAME@_H
#define PG_@NAME@_H

#include "generate/family.h"

/* What makes a kernel another kernel; all int64_t: see generate/params.h. */
typedef struct pg_@name@_key {
    int64_t arch;
    int64_t dtype;   /* place in the list of out's types (family.c) */
    int64_t threads; /* of a CTA; 0: automatic */
} pg_@name@_key;

/* Operands in the order of ptxgen_call, and their extents. */
enum { PG_@NAME@_OUT, PG_@NAME@_SRC, PG_@NAME@_FACTOR };
enum { PG_@NAME@_ROWS, PG_@NAME@_N };

/* The kernel's numbers, all that the template and the launch need to know. */
typedef struct pg_@name@_plan {
    pg_plan_head head;
    const pg_arch *arch;
    const char *type, *bits; /* in PTX: "f16", and "b16" to move one */
    int element_shift;       /* log2 of an element's bytes */
    int threads;
} pg_@name@_plan;

extern const pg_family pg_family_@name@;

/* The kernel's parameters, in order: X(name in the PTX, kind). Strides in bytes; factor_ is the
 * bits of an f32. */
#define PG_@NAME@_PARAMS(X)                                                                        \
    X(out_, POINTER)                                                                               \
    X(src_, POINTER)                                                                               \
    X(out_stride_, U64)                                                                            \
    X(src_stride_, U64)                                                                            \
    X(rows_, U64)                                                                                  \
    X(n_, U64)                                                                                     \
    X(factor_, U32)
pg_param_list pg_@name@_params(const void *plan, uint32_t part);

ptxgen_status pg_@name@_resolve(void *key, const pg_arch *, ptxgen_error *err);
void pg_@name@_plan_from(const void *key, const pg_arch *, void *plan);
void pg_@name@_emit(pg_emit *E, const void *plan);
void pg_@name@_launch(const pg_problem *, pg_launch *);
ptxgen_status pg_@name@_oracle(const pg_problem *, ptxgen_error *);

#endif
END

write "templates/$name/family.c" <<'END'
/* The @name@ family: parameters, operands and contract. */
#include "@name@/@name@.h"

#define FIELD(name) offsetof(pg_@name@_key, name)

static const char *const dtype_words[] = {"f32", "f16", "bf16", NULL};

static const pg_param params[] = {
    {"arch", PG_PARAM_ARCH, FIELD(arch), .doc = "target architecture, sm_90 and up"},
    {"dtype", PG_PARAM_CHOICE, FIELD(dtype), dtype_words, .doc = "type of out and src",
     .from = PG_FROM_DTYPE, .source = PG_@NAME@_OUT},
    {"threads", PG_PARAM_INTEGER, FIELD(threads), .zero_words = {"auto"}, .min = 32, .max = 1024,
     .doc = "threads of a CTA; auto: 256"},
};

/* In the order of dtype_words. */
static const ptxgen_dtype dtypes[] = {PTXGEN_F32, PTXGEN_F16, PTXGEN_BF16, PTXGEN_DTYPE_NONE};
static const ptxgen_dtype f32[] = {PTXGEN_F32, PTXGEN_DTYPE_NONE};

static const pg_symbol symbols[] = {
    [PG_@NAME@_ROWS] = {"rows", 0, INT64_MAX, "rows of out and src"},
    [PG_@NAME@_N] = {"n", 0, INT32_MAX, "elements of a row"},
};

static const pg_operand operands[] = {
    [PG_@NAME@_OUT] = {"out", PG_OUT, .rank = 2, .extents = {PG_@NAME@_ROWS, PG_@NAME@_N},
                       .dtypes = dtypes, .same_as = 1 + PG_@NAME@_SRC,
                       .doc = "the scaled rows; may be in place of src"},
    [PG_@NAME@_SRC] = {"src", PG_IN, .rank = 2, .extents = {PG_@NAME@_ROWS, PG_@NAME@_N},
                       .dtypes = dtypes, .same_dtype_as = 1 + PG_@NAME@_OUT, .broadcast = true,
                       .doc = "the rows to scale"},
    [PG_@NAME@_FACTOR] = {"factor", PG_SCALAR, .optional = true, .dtypes = f32, .scalar = 2,
                          .doc = "what they are multiplied by; left out: 2"},
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* The kernel for stall=never, one that serves every extent: here each does. */
static void generic(const pg_problem *p, void *key)
{
    (void)p;
    ((pg_@name@_key *)key)->threads = 0;
}

PG_DEFINE_FAMILY(@name@, .summary = "out[i, :] = factor * src[i, :]",
                 .params = {params, COUNT(params), sizeof(pg_@name@_key)},
                 .plan_size = sizeof(pg_@name@_plan), .default_arch = 900,
                 .operands = {operands, COUNT(operands), symbols, COUNT(symbols)},
                 .generic = generic);
END

write "templates/$name/plan.c" <<'END'
/* Numbers of the @name@ kernel. */
#include "@name@/@name@.h"

#include "base/error.h"

#include <stdio.h>
#include <string.h>

enum { AUTO_THREADS = 256, WARP = 32, OLDEST = 90 };

/* By the key's dtype. */
static const struct {
    const char *type, *bits;
    int shift;
} types[] = {{"f32", "b32", 2}, {"f16", "b16", 1}, {"bf16", "b16", 1}};

/* Refuses what no kernel does, with the value and what to do; leaves no automatic value. */
ptxgen_status pg_@name@_resolve(void *key, const pg_arch *arch, ptxgen_error *err)
{
    pg_@name@_key *k = key;
    if (arch->sm < OLDEST)
        return pg_fail(err, PTXGEN_EUNSUPPORTED, "@name@ needs sm_%d or later, not %s", OLDEST,
                       arch->name);
    if (!k->threads)
        k->threads = AUTO_THREADS;
    if (k->threads % WARP)
        return pg_fail(err, PTXGEN_EUNSUPPORTED, "threads=%lld is no multiple of %d: use %lld",
                       (long long)k->threads, WARP, (long long)(k->threads / WARP * WARP));
    return PTXGEN_OK;
}

void pg_@name@_plan_from(const void *key, const pg_arch *arch, void *plan)
{
    const pg_@name@_key *k = key;
    pg_@name@_plan *p = plan;
    memset(p, 0, sizeof *p);
    p->arch = arch;
    p->threads = (int)k->threads;
    p->type = types[k->dtype].type;
    p->bits = types[k->dtype].bits;
    p->element_shift = types[k->dtype].shift;
    snprintf(p->head.entry, sizeof p->head.entry, "@name@_%s_t%d", p->type, p->threads);
}
END

write "templates/$name/launch.c" <<'END'
/* From one call's operands, which were checked, to a launch record. */
#include "@name@/@name@.h"

#include <string.h>

enum { CTAS_PER_SM = 8 };

pg_param_list pg_@name@_params(const void *plan, uint32_t part)
{
    static const pg_kernel_param rows[] = {PG_@NAME@_PARAMS(PG_PARAM_ROW){NULL, 0}};
    (void)plan; /* all kernels of this family have all parameters, */
    (void)part; /* and a module has one entry */
    return (pg_param_list){.rows = rows};
}

void pg_@name@_launch(const pg_problem *problem, pg_launch *l)
{
    enum { PG_@NAME@_PARAMS(PG_PARAM_PLACE) COUNT };
    const pg_@name@_plan *p = problem->plan;
    const pg_view *out = &problem->operand[PG_@NAME@_OUT], *src = &problem->operand[PG_@NAME@_SRC];
    const int64_t rows = problem->symbol[PG_@NAME@_ROWS];
    const int64_t most = (int64_t)problem->device->sm_count * CTAS_PER_SM;
    const float factor = (float)pg_problem_scalar(problem, PG_@NAME@_FACTOR);
    const int64_t bytes = INT64_C(1) << p->element_shift;
    uint32_t factor_bits;
    memcpy(&factor_bits, &factor, sizeof factor_bits);
    pg_launch_line(l, rows < most ? rows : most, p->threads, COUNT, 0);
    pg_set_pointer(l, at_out_, out->data);
    pg_set_pointer(l, at_src_, src->data);
    pg_set_u64(l, at_out_stride_, (uint64_t)(out->stride[0] * bytes));
    pg_set_u64(l, at_src_stride_, (uint64_t)(src->stride[0] * bytes));
    pg_set_u64(l, at_rows_, (uint64_t)rows);
    pg_set_u64(l, at_n_, (uint64_t)problem->symbol[PG_@NAME@_N]);
    pg_set_u32(l, at_factor_, factor_bits);
}
END

write "templates/$name/oracle.c" <<'END'
/* The plain C answer of @name@. */
#include "@name@/@name@.h"

#include "common/elements.h"

ptxgen_status pg_@name@_oracle(const pg_problem *p, ptxgen_error *err)
{
    const pg_view *out = &p->operand[PG_@NAME@_OUT], *src = &p->operand[PG_@NAME@_SRC];
    const double factor = pg_problem_scalar(p, PG_@NAME@_FACTOR);
    (void)err;
    for (int64_t i = 0; i < p->symbol[PG_@NAME@_ROWS]; i++)
        for (int64_t j = 0; j < p->symbol[PG_@NAME@_N]; j++)
            pg_element_set(out, i * out->stride[0] + j,
                           factor * pg_element(src, i * src->stride[0] + j));
    return PTXGEN_OK;
}
END

write "templates/$name/main.ptxc" <<'END'
/* The @name@ module: CTAs take rows in turn, the threads of a CTA their elements. Products are
 * formed in f64, which holds them exactly, so that results are rounded once. */
#include "@name@/@name@.h"

#include "common/common.h"

static void set_up(pg_emit *E)
{
    |   ld.param.u64 %out, [out_];
    |   ld.param.u64 %src, [src_];
    |   ld.param.u64 %out_stride, [out_stride_];
    |   ld.param.u64 %src_stride, [src_stride_];
    |   ld.param.u64 %rows, [rows_];
    |   ld.param.u64 %n, [n_];
    |   ld.param.f32 %factor32, [factor_];
    |   cvt.f64.f32 %factor, %factor32;
    |   mov.u32 %thread, %tid.x;
    |   cvt.u64.u32 %first, %thread;
    |   mov.u32 %cta, %ctaid.x;
    |   cvt.u64.u32 %row, %cta;
    |   mov.u32 %cta, %nctaid.x;
    |   cvt.u64.u32 %ctas, %cta;
}

static void scale_row(pg_emit *E, const pg_@name@_plan *p)
{
    |   mad.lo.u64 %from, %row, %src_stride, %src;
    |   mad.lo.u64 %to, %row, %out_stride, %out;
    |   mov.u64 %column, %first;
    |ELEMENT:
    |   setp.ge.u64 %done, %column, %n;
    |   @%done bra NEXT;
    |   shl.b64 %offset, %column, $(p->element_shift);
    |   add.u64 %address, %from, %offset;
    |   ld.global.$(p->bits) %element, [%address];    // not .nc: out may be in place of src
    |   cvt.f64.$(p->type) %value, %element;
    |   mul.rn.f64 %value, %value, %factor;
    |   cvt.rn.$(p->type).f64 %element, %value;
    |   add.u64 %address, %to, %offset;
    |   st.global.$(p->bits) [%address], %element;
    |   add.u64 %column, %column, $(p->threads);
    |   bra ELEMENT;
    |NEXT:
}

void pg_@name@_emit(pg_emit *E, const void *plan)
{
    const pg_@name@_plan *p = plan;
    pg_module_header(E, p->arch, "8.0");
    |.visible .entry $(p->head.entry)(
    pg_entry_params(E, pg_@name@_params(p, 0));
    |)
    |.maxntid $(p->threads)
    |{
    |   .reg .pred %done;
    |   .reg .b32 %thread, %cta;
    |   .reg .f32 %factor32;
    |   .reg .f64 %factor, %value;
    |   .reg .$(p->bits) %element;
    |   .reg .b64 %out, %src, %out_stride, %src_stride, %rows, %n, %first, %row, %ctas;
    |   .reg .b64 %from, %to, %column, %offset, %address;
    set_up(E);
    |ROW:
    |   setp.ge.u64 %done, %row, %rows;
    |   @%done bra END;
    scale_row(E, p);
    |   add.u64 %row, %row, %ctas;
    |   bra ROW;
    |END:
    |   ret;
    |}
}
END

# The rule that lays out C (tests/rules/format.sh) breaks lines by the length of the name.
for tool in clang-format-14 clang-format; do
    case $("$tool" --version 2>/dev/null) in
    *"version 14."*)
        "$tool" -i "templates/$name/"*.[ch]
        break
        ;;
    esac
done
cat >"tests/kernels/$name/golden/kernels.txt" <<END
t128: threads=128
bf16: dtype=bf16
END
write "templates/$name/generic.manifest" <<'END'
# A kernel serves rows of every length; all of them.
@name@ dtype=f32,f16,bf16 arch=sm_90,sm_100,sm_103
END
echo "PG_FAMILY($name)" >>templates/families.def
cat <<END
templates/$name is written and named in templates/families.def. See it work:
  cmake --preset release && cmake --build --preset release
  sh tools/family_tests.sh --golden $name        # keeps the text of its kernels, and runs every test of this family
  build/release/tools/ptxgen run $name --help
While you change it, "PTXGEN_FAMILY=$name build/release/tests/test_families" is the quick test, and "cmake --build
--preset release --target test_families" builds no more than that. When its kernels are final, and not before:
  name the variants whose text shall be kept in tests/kernels/$name/golden/kernels.txt, a line for each
  list the kernels that stall=never begins with in templates/$name/generic.manifest
  sh tools/family_tests.sh --golden $name        # keeps their text anew; commit it
CONTRIBUTING.md, "A new kernel family", says what each file is for.
END
