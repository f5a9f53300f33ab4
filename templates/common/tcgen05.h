/* What the fifth-generation tensor core (tcgen05) families share: descriptors, tensor-memory
 * sizes, and the PTX around an allocation. Descriptors are worked out here, field by field, from
 * PTX ISA 9.0, sections 9.7.16.4.1 (matrix) and 9.7.16.4.2 (instruction); kernels only add
 * addresses to them.
 *
 * No assembler checks a descriptor's fields or a column count in a register: what is out of
 * range is refused by a family's `resolve`. */
#ifndef PG_TEMPLATES_TCGEN05_H
#define PG_TEMPLATES_TCGEN05_H

#include "base/arch.h"
#include "generate/emit.h"

#include "device/launch.h"

enum { PG_TMEM_LANES = 128, PG_TMEM_COLUMNS = 512, PG_TMEM_MIN_COLUMNS = 32 };

/* EUNSUPPORTED unless the target is sm_100a, sm_100f, sm_103a or sm_103f; the message lists them
 * and `also`, what else the family is built for ("" or " or sm_90a (wgmma)"). */
ptxgen_status pg_require_tcgen05(const pg_arch *arch, const char *family, const char *also,
                                 ptxgen_error *err);

/* The columns to allocate for `used` ones: a power of two, 32 at least; 0 when it is more than
 * there are. */
int pg_tmem_allocation(int used);

/* ---- matrix descriptors ---- */

/* A matrix in shared memory: all of a descriptor but the address. Offsets in bytes, multiples of
 * 16. */
typedef struct pg_smem_matrix {
    int leading_offset; /* K-major, swizzled: not used by the hardware, written as 16 */
    int stride_offset; /* K-major: from 8 rows to the next 8; MN-major: from 8 of K to the next 8 */
    pg_swizzle swizzle;
} pg_smem_matrix;

/* Bits 32..63: constant of a kernel. */
uint32_t pg_smem_descriptor_high(pg_smem_matrix m);
/* Bits 0..31 for a matrix at shared address `address`; with address 0, what address >> 4 is
 * added to. */
uint32_t pg_smem_descriptor_low(pg_smem_matrix m, uint32_t address);
/* The swizzle of 32, 64 or 128 bytes. */
pg_swizzle pg_swizzle_of(int bytes);

/* ---- instruction descriptors ---- */

typedef enum pg_mma_kind {
    PG_MMA_F16,
    PG_MMA_MXF8F6F4,
    PG_MMA_MXF4,
    PG_MMA_MXF4NVF4,
    PG_MMA_F8F6F4,
    PG_MMA_TF32
} pg_mma_kind;

/* Codes of the type fields: those of the kind (16-bit, 8-bit and smaller, 4-bit kinds). */
enum { PG_MMA_TYPE_F16 = 0, PG_MMA_TYPE_BF16 = 1 };
enum { PG_MMA_TYPE_E4M3 = 0, PG_MMA_TYPE_E5M2 = 1, PG_MMA_TYPE_E2M1 = 5 };
enum { PG_MMA_TYPE_TF32 = 2 };
enum { PG_MMA_TYPE_MXF4_E2M1 = 1 };
enum { PG_MMA_SCALE_UE4M3 = 0, PG_MMA_SCALE_UE8M0 = 1 };

typedef struct pg_mma_shape {
    pg_mma_kind kind;
    int m, n; /* of the instruction: the pair's m with cta_group::2 */
    int a_type, b_type;
    bool a_mn_major, b_mn_major; /* kinds without scales */
    int scale_type;              /* the others */
    int sfa_id, sfb_id;          /* which byte of a column's scales the instruction begins with */
} pg_mma_shape;

/* The accumulator is f32 always. */
uint32_t pg_instruction_descriptor(const pg_mma_shape *s);
/* K of one instruction: 32 bytes of an operand as it lies in shared memory. */
int pg_mma_k(pg_mma_kind kind);

/* ---- PTX ---- */

/* out = the address field of a descriptor for shared address `address`; what
 * pg_smem_descriptor_low gives is added to it. Only 18 bits of the address count: above them
 * stands the CTA's rank in its cluster. */
void pg_descriptor_address(pg_emit *E, const char *out, const char *address);

/* One warp: allocates `columns` and writes the address to shared address `slot`; others read it
 * after a barrier (pg_tmem_address). Nothing is allocated later, so the permit is given back at
 * once. */
void pg_tmem_alloc(pg_emit *E, int cta_group, const char *slot, int columns);
/* The warp that allocated, when no tensor-core work is in flight in the CTA (or the pair). */
void pg_tmem_dealloc(pg_emit *E, int cta_group, const char *address, int columns);
/* Completes an arrival on `barrier` when all earlier copies and multiplications of this thread
 * are done; with a mask (a .b16 register) on the barrier at the same offset in each CTA of it,
 * NULL otherwise. */
void pg_tcgen05_commit(pg_emit *E, int cta_group, const char *barrier, const char *mask);

#endif
