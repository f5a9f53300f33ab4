/* What the assembler, cubin and device tests have in common: small PTX texts and a toolkit to
 * assemble them with. The tests that need an assembler skip, with a message, where it is not
 * installed. */
#ifndef PG_TEST_RUNTIME_KERNELS_H
#define PG_TEST_RUNTIME_KERNELS_H

#include "test.h"

#include "assemble/assembler.h"

/* nvJitLink 13.0 leaks a few KiB for each link for sm_100 and up; glibc the parsed LOCPATH. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libnvJitLink.so\nleak:__argz_add_sep\n";
}

/* Stores a decimal double (which a comma locale would cut at the point) and threadIdx.x. */
#define KERNEL_STORE                                                                               \
    ".version 8.0\n.target sm_90\n.address_size 64\n"                                              \
    ".visible .entry store(.param .u64 out)\n{\n"                                                  \
    "    .reg .b32 %r<2>; .reg .b64 %rd<2>; .reg .f64 %d<2>;\n"                                    \
    "    ld.param.u64 %rd1, [out];\n"                                                              \
    "    mov.f64 %d1, 1234.5678;\n"                                                                \
    "    mov.u32 %r1, %tid.x;\n"                                                                   \
    "    st.global.f64 [%rd1], %d1;\n"                                                             \
    "    st.global.u32 [%rd1+8], %r1;\n"                                                           \
    "    ret;\n}\n"

/* Line 8 is wrong: a 32-bit register stored as f64. */
#define KERNEL_WRONG                                                                               \
    ".version 8.0\n.target sm_90\n.address_size 64\n"                                              \
    ".visible .entry wrong(.param .u64 out)\n{\n"                                                  \
    "    .reg .b32 %r<2>; .reg .b64 %rd<2>;\n"                                                     \
    "    ld.param.u64 %rd1, [out];\n"                                                              \
    "    st.global.f64 [%rd1], %r1;\n"                                                             \
    "    ret;\n}\n"

/* Needs whole-program assembly: relocatable code loses setmaxnreg. */
#define KERNEL_SETMAXNREG                                                                          \
    ".version 8.0\n.target sm_90a\n.address_size 64\n"                                             \
    ".visible .entry registers(.param .u64 out) .reqntid 128 .minnctapersm 1\n{\n"                 \
    "    .reg .b32 %r<2>; .reg .b64 %rd<2>;\n"                                                     \
    "    ld.param.u64 %rd1, [out];\n"                                                              \
    "    setmaxnreg.dec.sync.aligned.u32 40;\n"                                                    \
    "    mov.u32 %r1, %tid.x;\n"                                                                   \
    "    st.global.u32 [%rd1], %r1;\n"                                                             \
    "    ret;\n}\n"

/* Crashes ptxas and nvJitLink 13.0; line 9. */
#define KERNEL_CRASHING                                                                            \
    ".version 8.8\n.target sm_100a\n.address_size 64\n"                                            \
    ".visible .entry crashing(.param .u64 in)\n{\n"                                                \
    "    .reg .b64 %rd<2>;\n"                                                                      \
    "    ld.param.u64 %rd1, [in];\n"                                                               \
    "    // tcgen05.cp.cta_group::1.128x256b [%r1], %rd1;\n"                                       \
    "    tcgen05.cp.cta_group::1.128x256b [ 64 ], %rd1;\n"                                         \
    "    ret;\n}\n"

/* A toolkit found as the library finds it, with only `wanted`; NULL and a message when it is not
 * there. */
static inline pg_toolkit *open_toolkit(ptxgen_assembler wanted)
{
    static const pg_log silent;
    pg_toolkit_config config = {.cuda_home = getenv("CUDA_HOME"),
                                .path = getenv("PATH"),
                                .toolkit_dir = getenv("PTXGEN_TOOLKIT"),
                                .wanted = wanted};
    pg_toolkit *t = NULL;
    ptxgen_error err = {0};
    ptxgen_assembler kind;
    const char *identity;
    if (pg_toolkit_create(&pg_alloc_libc, &silent, &config, &t, &err) == PTXGEN_OK &&
        pg_toolkit_choose(t, (pg_assembly_need){0}, &kind, &identity, &err) == PTXGEN_OK)
        return t;
    print_message("skipped: %s\n", err.message);
    pg_toolkit_destroy(t);
    return NULL;
}

static inline void assembly_init(pg_assembly *a)
{
    memset(a, 0, sizeof *a);
    pg_buf_init(&a->cubin, &pg_alloc_libc);
    pg_buf_init(&a->log, &pg_alloc_libc);
}

static inline void assembly_fini(pg_assembly *a)
{
    pg_buf_fini(&a->cubin);
    pg_buf_fini(&a->log);
}

static inline pg_assembly_request request_for(const char *ptx, ptxgen_arch arch)
{
    return (pg_assembly_request){.ptx = ptx, .ptx_size = strlen(ptx), .arch = arch};
}

#endif
