/* What the parts that a matrix kernel is made of cost on Hopper, each alone and beside the others:
 *
 *     nvcc -arch=sm_90a -O3 -std=c++17 -o hopper_mechanisms hopper_mechanisms.cu -lcuda
 *     ./hopper_mechanisms [OUT.csv [MEGABYTES]]
 *
 * stores: a result written as an epilogue does, four warps a CTA and a tile of 128 rows at a time:
 *   rows       a thread its row, 16 bytes at a time (the accumulators of tcgen05)
 *   fragments  a lane two columns of a row (those of wgmma)
 *   tensor     sub-tiles of 128 bytes a row through swizzled shared memory, stored by a tensor map
 *   warps      each warp its own sub-tiles of 32 rows, 128 or 64 bytes each, two slots a warp
 * with hints for L2 and without, to DRAM and to L2, alone and while a fifth warp loads tiles.
 * read: the same tiles read, a thread its row or by sub-tiles.
 * multicast: stages of A and B into shared memory, loaded by each CTA or once for those of its
 * cluster that read the same.
 * chain: kernels in a row, launched as the one before ends, or early (griddepcontrol).
 *
 * Every variant of a table runs in every round; medians. What is written is checked. */
#include <cuda.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

namespace {

constexpr int TILE_ROWS = 128, STORE_THREADS = 128, SUB_TILE_BYTES = 128 * 128, LINE = 128;
constexpr int ROUNDS = 9;

void check(bool right, const char *what)
{
    if (!right) {
        fprintf(stderr, "%s failed\n", what);
        exit(1);
    }
}
#define CUDA(call) check((call) == cudaSuccess, #call)

/* ---- mbarriers and copies ---- */

__device__ uint32_t shared_address(const void *p)
{
    return (uint32_t)__cvta_generic_to_shared(p);
}

__device__ void barrier_init(uint32_t barrier, int arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals));
}

__device__ void barrier_wait(uint32_t barrier, uint32_t parity)
{
    asm volatile("{.reg .pred p;\nW: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
                 "@!p bra W;}" ::"r"(barrier), "r"(parity) : "memory");
}

__device__ void barrier_expect(uint32_t barrier, uint32_t bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
                 : "memory");
}

/* At the same barrier of CTA `rank`. */
__device__ void barrier_arrive(uint32_t barrier, uint32_t rank)
{
    asm volatile("{.reg .b32 there; mapa.shared::cluster.u32 there, %0, %1;\n"
                 "mbarrier.arrive.shared::cluster.b64 _, [there];}" ::"r"(barrier), "r"(rank)
                 : "memory");
}

__device__ void load_box(uint32_t to, const CUtensorMap *map, int x, int y, uint32_t barrier,
                         uint16_t mask)
{
    if (mask)
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
                     ".multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(to), "l"(map),
                     "r"(x), "r"(y), "r"(barrier), "h"(mask) : "memory");
    else
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
                     " [%0], [%1, {%2, %3}], [%4];" ::"r"(to), "l"(map), "r"(x), "r"(y),
                     "r"(barrier) : "memory");
}

/* ---- stores ---- */

enum Way { ROWS, FRAGMENTS, TENSOR, WARPS, WARPS_64, NO_STORES };
enum Hint { PLAIN, STREAM, EVICT_FIRST };

struct StoreJob {
    uint32_t *d;
    int words, tile_words; /* of a row of D and of a tile */
    int tiles, tiles_across, times;
    int load_stages; /* of 16 KB for each tile; 0: nothing is loaded */
    int load_rows;
};

__device__ uint32_t value_of(int row, int word)
{
    return (uint32_t)row * 0x9e3779b1u + (uint32_t)word;
}

template <Hint hint> __device__ void store4(uint32_t *p, uint4 v, uint64_t policy)
{
    if (hint == PLAIN)
        asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(p), "r"(v.x), "r"(v.y),
                     "r"(v.z), "r"(v.w) : "memory");
    else if (hint == STREAM)
        asm volatile("st.global.cs.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(p), "r"(v.x), "r"(v.y),
                     "r"(v.z), "r"(v.w) : "memory");
    else
        asm volatile("st.global.L2::cache_hint.v4.b32 [%0], {%1, %2, %3, %4}, %5;" ::"l"(p),
                     "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w), "l"(policy) : "memory");
}

template <Hint hint>
__device__ void store_rows(const StoreJob &j, int row, int word, uint64_t policy)
{
    const int r = row + (int)threadIdx.x;
    uint32_t *p = j.d + (size_t)r * j.words + word;
    for (int i = 0; i < j.tile_words; i += 64)
#pragma unroll
        for (int k = 0; k < 64; k += 4)
            store4<hint>(p + i + k,
                         make_uint4(value_of(r, word + i + k), value_of(r, word + i + k + 1),
                                    value_of(r, word + i + k + 2), value_of(r, word + i + k + 3)),
                         policy);
}

/* PER words of a lane side by side: 2 of f32, 1 of 16-bit elements. */
template <Hint hint, int PER>
__device__ void store_fragments(const StoreJob &j, int row, int word, uint64_t policy)
{
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (int half = 0; half < 2; half++)
        for (int i = 0; i < j.tile_words; i += 4 * PER * 8)
#pragma unroll
            for (int k = 0; k < 16; k++) {
                const int r = row + 64 * half + 16 * warp + lane / 4 + 8 * (k & 1);
                const int w = word + i + 4 * PER * (k / 2) + PER * (lane % 4);
                uint32_t *p = j.d + (size_t)r * j.words + w;
                const uint32_t a = value_of(r, w), b = value_of(r, w + 1);
                if (PER == 2 && hint == EVICT_FIRST)
                    asm volatile("st.global.L2::cache_hint.v2.b32 [%0], {%1, %2}, %3;" ::"l"(p),
                                 "r"(a), "r"(b), "l"(policy) : "memory");
                else if (PER == 2)
                    asm volatile("st.global.v2.b32 [%0], {%1, %2};" ::"l"(p), "r"(a), "r"(b)
                                 : "memory");
                else
                    asm volatile("st.global.b32 [%0], %1;" ::"l"(p), "r"(a) : "memory");
            }
}

__device__ void meet_storers()
{
    asm volatile("bar.sync 1, 128;" ::: "memory");
}

/* The ring has RING sub-tiles; `turn` is which comes next. */
template <Hint hint, int RING>
__device__ void store_tensor(const StoreJob &j, int row, int word, uint64_t policy, uint32_t ring,
                             const CUtensorMap *map, int &turn)
{
    for (int i = 0; i < j.tile_words; i += 32, turn++) {
        const uint32_t tile = ring + (uint32_t)(turn % RING) * SUB_TILE_BYTES;
        const int r = row + (int)threadIdx.x;
        if (threadIdx.x == 0)
            asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(RING - 1) : "memory");
        meet_storers();
#pragma unroll
        for (int k = 0; k < 8; k++) {
            const uint32_t at = tile + threadIdx.x * LINE + (((uint32_t)k ^ (threadIdx.x & 7)) << 4);
            const int w = word + i + 4 * k;
            asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(at), "r"(value_of(r, w)),
                         "r"(value_of(r, w + 1)), "r"(value_of(r, w + 2)), "r"(value_of(r, w + 3))
                         : "memory");
        }
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        meet_storers();
        if (threadIdx.x != 0)
            continue;
        if (hint == EVICT_FIRST)
            asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group.L2::cache_hint"
                         " [%0, {%1, %2}], [%3], %4;" ::"l"(map), "r"(word + i), "r"(row), "r"(tile),
                         "l"(policy) : "memory");
        else
            asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];"
                         ::"l"(map), "r"(word + i), "r"(row), "r"(tile) : "memory");
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    }
}

/* A warp's slots are two; `turn` is which comes next. */
template <int ROW>
__device__ void store_warps(const StoreJob &j, int row, int word, uint32_t ring,
                            const CUtensorMap *map, int &turn)
{
    constexpr int PIECES = ROW / 16, SLOTS = 2, SLOT = 32 * ROW;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const uint32_t swizzle = (uint32_t)(lane / (LINE / ROW) % PIECES);
    for (int i = 0; i < j.tile_words; i += ROW / 4, turn++) {
        const uint32_t slot = ring + (uint32_t)(warp * SLOTS + turn % SLOTS) * SLOT;
        if (lane == 0)
            asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(SLOTS - 1) : "memory");
        __syncwarp();
#pragma unroll
        for (int k = 0; k < PIECES; k++) {
            const uint32_t at = slot + lane * ROW + (((uint32_t)k ^ swizzle) << 4);
            const int r = row + (int)threadIdx.x, w = word + i + 4 * k;
            asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(at), "r"(value_of(r, w)),
                         "r"(value_of(r, w + 1)), "r"(value_of(r, w + 2)), "r"(value_of(r, w + 3))
                         : "memory");
        }
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncwarp();
        if (lane != 0)
            continue;
        asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];"
                     ::"l"(map), "r"(word + i), "r"(row + 32 * warp), "r"(slot) : "memory");
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    }
}

constexpr int LOAD_RING = 4;

/* The fifth warp: stages of A as a matrix kernel loads them, one after another. */
__device__ void load_stages(const StoreJob &j, const CUtensorMap *map, uint32_t stages,
                            uint32_t barriers)
{
    int n = 0;
    const int across = 8192 / 64;
    for (int t = 0; t < j.times; t++)
        for (int tile = blockIdx.x; tile < j.tiles; tile += gridDim.x)
            for (int s = 0; s < j.load_stages; s++, n++) {
                const uint32_t at = (uint32_t)(n % LOAD_RING), bar = barriers + 8 * at;
                if (n >= LOAD_RING)
                    barrier_wait(bar, (uint32_t)(n / LOAD_RING - 1) & 1);
                barrier_expect(bar, SUB_TILE_BYTES);
                const int place = tile * j.load_stages + s;
                load_box(stages + at * SUB_TILE_BYTES, map, place % across * 64,
                         place / across * TILE_ROWS % j.load_rows, bar, 0);
            }
    for (int i = n < LOAD_RING ? 0 : n - LOAD_RING; i < n; i++)
        barrier_wait(barriers + 8 * (uint32_t)(i % LOAD_RING), (uint32_t)(i / LOAD_RING) & 1);
}

template <Way way, Hint hint, int PER>
__global__ void __launch_bounds__(160, 1)
    store_kernel(const StoreJob j, const __grid_constant__ CUtensorMap d_map,
                 const __grid_constant__ CUtensorMap a_map)
{
    constexpr int RING = 4;
    extern __shared__ __align__(1024) unsigned char memory[];
    __shared__ __align__(8) uint64_t barriers[LOAD_RING];
    const uint32_t base = (shared_address(memory) + 1023) & ~1023u;
    if (threadIdx.x == 0)
        for (int i = 0; i < LOAD_RING; i++)
            barrier_init(shared_address(&barriers[i]), 1);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    __syncthreads();
    if (threadIdx.x >= STORE_THREADS) {
        if (threadIdx.x == STORE_THREADS && j.load_stages)
            load_stages(j, &a_map, base + RING * SUB_TILE_BYTES, shared_address(barriers));
        return;
    }
    uint64_t policy;
    asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    int turn = 0;
    for (int t = 0; t < j.times; t++)
        for (int tile = blockIdx.x; tile < j.tiles; tile += gridDim.x) {
            const int row = tile / j.tiles_across * TILE_ROWS,
                      word = tile % j.tiles_across * j.tile_words;
            if (way == ROWS)
                store_rows<hint>(j, row, word, policy);
            else if (way == FRAGMENTS)
                store_fragments<hint, PER>(j, row, word, policy);
            else if (way == TENSOR)
                store_tensor<hint, RING>(j, row, word, policy, base, &d_map, turn);
            else if (way == WARPS || way == WARPS_64)
                store_warps<way == WARPS ? LINE : LINE / 2>(j, row, word, base, &d_map, turn);
        }
    if (threadIdx.x % 32 == 0)
        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

__global__ void count_wrong(const uint32_t *d, int rows, int words, unsigned long long *wrong)
{
    unsigned long long mine = 0;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < (size_t)rows * words;
         i += (size_t)gridDim.x * blockDim.x)
        mine += d[i] != value_of((int)(i / words), (int)(i % words));
    if (mine)
        atomicAdd(wrong, mine);
}

/* ---- loads of C ---- */

struct ReadJob {
    const uint32_t *c;
    int words, tile_words, tiles, tiles_across, times;
    uint32_t *sum; /* of all words, so that none is left out */
};

__device__ uint32_t read_rows(const ReadJob &j, int row, int word)
{
    const uint32_t *p = j.c + (size_t)(row + (int)threadIdx.x) * j.words + word;
    uint32_t sum = 0;
    for (int i = 0; i < j.tile_words; i += 64) {
        uint4 v[16];
#pragma unroll
        for (int k = 0; k < 16; k++)
            asm volatile("ld.global.v4.b32 {%0, %1, %2, %3}, [%4];" : "=r"(v[k].x), "=r"(v[k].y),
                         "=r"(v[k].z), "=r"(v[k].w) : "l"(p + i + 4 * k));
#pragma unroll
        for (int k = 0; k < 16; k++)
            sum += v[k].x + v[k].y + v[k].z + v[k].w;
    }
    return sum;
}

/* Sub-tiles of 32 words of each row, a warp's 32 rows each, as many ahead as the ring has. */
template <int RING>
__device__ uint32_t read_tensor(const ReadJob &j, uint32_t ring, uint32_t barriers,
                                const CUtensorMap *map)
{
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, pieces = j.tile_words / 32;
    const int mine = (j.tiles - (int)blockIdx.x + (int)gridDim.x - 1) / (int)gridDim.x;
    const int all = j.times * mine * pieces;
    const uint32_t slots = ring + (uint32_t)(warp * RING) * 32 * LINE;
    const uint32_t full = barriers + 8u * (uint32_t)(warp * RING);
    uint32_t sum = 0;
    const auto load = [&](int n) {
        const int tile = (int)blockIdx.x + n / pieces % mine * (int)gridDim.x;
        const uint32_t at = (uint32_t)(n % RING);
        barrier_expect(full + 8 * at, 32 * LINE);
        load_box(slots + at * 32 * LINE, map, tile % j.tiles_across * j.tile_words + n % pieces * 32,
                 tile / j.tiles_across * TILE_ROWS + 32 * warp, full + 8 * at, 0);
    };
    for (int n = 0; n < RING && n < all && lane == 0; n++)
        load(n);
    for (int n = 0; n < all; n++) {
        const uint32_t at = (uint32_t)(n % RING), slot = slots + at * 32 * LINE;
        barrier_wait(full + 8 * at, (uint32_t)(n / RING) & 1);
#pragma unroll
        for (int k = 0; k < 8; k++) {
            uint4 v;
            asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y),
                         "=r"(v.z), "=r"(v.w)
                         : "r"(slot + (uint32_t)lane * LINE + (uint32_t)((k ^ (lane & 7)) << 4)));
            sum += v.x + v.y + v.z + v.w;
        }
        __syncwarp();
        if (lane == 0 && n + RING < all)
            load(n + RING);
    }
    return sum;
}

template <Way way>
__global__ void __launch_bounds__(128, 1)
    read_kernel(const ReadJob j, const __grid_constant__ CUtensorMap map)
{
    constexpr int RING = 8;
    extern __shared__ __align__(1024) unsigned char memory[];
    __shared__ __align__(8) uint64_t barriers[4 * RING];
    if (threadIdx.x < 4 * RING)
        barrier_init(shared_address(&barriers[threadIdx.x]), 1);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    __syncthreads();
    uint32_t sum = 0;
    if (way == TENSOR)
        sum = read_tensor<RING>(j, (shared_address(memory) + 1023) & ~1023u,
                                shared_address(barriers), &map);
    for (int t = 0; way == ROWS && t < j.times; t++)
        for (int tile = blockIdx.x; tile < j.tiles; tile += gridDim.x)
            sum += read_rows(j, tile / j.tiles_across * TILE_ROWS,
                             tile % j.tiles_across * j.tile_words);
    atomicAdd(j.sum, sum);
}

/* ---- multicast ---- */

struct LoadJob {
    int stages, a_tiles, b_tiles; /* stages of 64 of K, for each CTA */
    int b_boxes;                  /* of 128 rows of B in a stage */
    int across, down;             /* CTAs of a cluster that lie so */
    bool share_a, share_b;        /* among those of a row, of a column */
};
constexpr int FILL_RING = 3, FILL_STAGE = 3 * SUB_TILE_BYTES;

__global__ void __launch_bounds__(64, 1)
    fill_kernel(const LoadJob j, const __grid_constant__ CUtensorMap a_map,
                const __grid_constant__ CUtensorMap b_map)
{
    extern __shared__ __align__(1024) unsigned char memory[];
    __shared__ __align__(8) uint64_t full[FILL_RING], empty[FILL_RING];
    uint32_t rank, cluster;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    asm("mov.u32 %0, %%clusterid.x;" : "=r"(cluster));
    const uint32_t base = (shared_address(memory) + 1023) & ~1023u;
    const int right = (int)rank % j.across, below = (int)rank / j.across;
    const int a_shares = j.share_a ? j.across : 1, b_shares = j.share_b ? j.down : 1;
    const int readers = a_shares + b_shares - 1;
    if (threadIdx.x == 0)
        for (int i = 0; i < FILL_RING; i++) {
            barrier_init(shared_address(&full[i]), 1);
            barrier_init(shared_address(&empty[i]), readers);
        }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
    const int a_clusters = j.a_tiles / j.down;
    const int a_row = ((int)cluster % a_clusters * j.down + below) * TILE_ROWS;
    const int b_row = ((int)cluster / a_clusters * j.across + right) % j.b_tiles * TILE_ROWS *
                      j.b_boxes;
    const int a_share = TILE_ROWS / a_shares, b_share = TILE_ROWS / b_shares;
    const int a_piece = j.share_a ? right * a_share : 0, b_piece = j.share_b ? below * b_share : 0;
    uint32_t row = 1u << rank, column = 1u << rank; /* of the cluster: who reads what this loads */
    for (int i = 0; j.share_a && i < j.across; i++)
        row |= 1u << (below * j.across + i);
    for (int i = 0; j.share_b && i < j.down; i++)
        column |= 1u << (i * j.across + right);
    for (int n = 0; n < j.stages; n++) {
        const uint32_t at = (uint32_t)(n % FILL_RING), parity = (uint32_t)(n / FILL_RING) & 1;
        const uint32_t stage = base + at * FILL_STAGE, is_full = shared_address(&full[at]);
        if (threadIdx.x == 0) { /* loads */
            barrier_wait(shared_address(&empty[at]), parity ^ 1);
            barrier_expect(is_full, (uint32_t)(1 + j.b_boxes) * SUB_TILE_BYTES);
            load_box(stage + (uint32_t)(a_piece * LINE), &a_map, n * 64, a_row + a_piece, is_full,
                     j.share_a ? (uint16_t)row : (uint16_t)0);
            for (int b = 0; b < j.b_boxes; b++)
                load_box(stage + (uint32_t)((1 + b) * SUB_TILE_BYTES + b_piece * LINE), &b_map,
                         n * 64, b_row + b * TILE_ROWS + b_piece, is_full,
                         j.share_b ? (uint16_t)column : (uint16_t)0);
        } else if (threadIdx.x == 32) { /* reads nothing, says that it has */
            barrier_wait(is_full, parity);
            for (uint32_t r = 0; r < (uint32_t)(j.across * j.down); r++)
                if ((row | column) >> r & 1)
                    barrier_arrive(shared_address(&empty[at]), r);
        }
    }
    __syncwarp();
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}

/* ---- a chain of kernels ---- */

template <bool waits, bool early>
__global__ void chain_kernel(const uint4 *from, uint4 *to, size_t count)
{
    if (early)
        asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
    if (waits)
        asm volatile("griddepcontrol.wait;" ::: "memory");
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count;
         i += (size_t)gridDim.x * blockDim.x)
        to[i] = from[i];
}

/* ---- measuring ---- */

struct Variant {
    std::string table, name;
    double bytes; /* that count; 0: launches are counted */
    int launches;
    std::function<void()> call;
    std::vector<float> times;
};

FILE *csv;
int sms;

__global__ void hold(long long clocks)
{
    for (const long long start = clock64(); clock64() - start < clocks;)
        ;
}

void measure(std::vector<Variant> &all)
{
    cudaEvent_t begin, end;
    CUDA(cudaEventCreate(&begin));
    CUDA(cudaEventCreate(&end));
    for (int round = -1; round < ROUNDS; round++)
        for (Variant &v : all) {
            float ms;
            hold<<<1, 1>>>(400000); /* the launches are queued when the first begins */
            CUDA(cudaEventRecord(begin));
            v.call();
            CUDA(cudaEventRecord(end));
            CUDA(cudaEventSynchronize(end));
            CUDA(cudaEventElapsedTime(&ms, begin, end));
            if (round >= 0)
                v.times.push_back(1000 * ms);
        }
    for (Variant &v : all) {
        std::sort(v.times.begin(), v.times.end());
        const double us = v.times[v.times.size() / 2] / v.launches;
        printf("%-14s %-52s %9.2f us", v.table.c_str(), v.name.c_str(), us);
        if (v.bytes > 0)
            printf(" %8.3f TB/s", v.bytes / us / 1e6);
        printf("\n");
        if (csv)
            fprintf(csv, "%s,%s,%.2f,%.3f\n", v.table.c_str(), v.name.c_str(), us,
                    v.bytes / us / 1e6);
    }
    fflush(stdout);
    if (csv)
        fflush(csv);
    all.clear();
}

CUtensorMap map_of(void *data, CUtensorMapDataType type, int element_bytes, int columns, int rows,
                   int box_columns, int box_rows,
                   CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_128B)
{
    CUtensorMap map;
    const cuuint64_t dims[2] = {(cuuint64_t)columns, (cuuint64_t)rows},
                     strides[1] = {(cuuint64_t)columns * (cuuint64_t)element_bytes};
    const cuuint32_t box[2] = {(cuuint32_t)box_columns, (cuuint32_t)box_rows}, steps[2] = {1, 1};
    check(cuTensorMapEncodeTiled(&map, type, 2, data, dims, strides, box, steps,
                                 CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
                                 CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
                                 CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS,
          "cuTensorMapEncodeTiled");
    return map;
}

unsigned long long *wrong_count;

void check_result(const StoreJob &j, const std::string &name)
{
    unsigned long long wrong = 0;
    const int rows = j.tiles / j.tiles_across * TILE_ROWS;
    CUDA(cudaMemset(wrong_count, 0, sizeof wrong));
    count_wrong<<<4 * sms, 256>>>(j.d, rows, j.words, wrong_count);
    CUDA(cudaMemcpy(&wrong, wrong_count, sizeof wrong, cudaMemcpyDeviceToHost));
    CUDA(cudaMemset(j.d, 0, (size_t)rows * j.words * 4));
    if (wrong) {
        fprintf(stderr, "%s: %llu words are wrong\n", name.c_str(), wrong);
        exit(1);
    }
}

template <Way way, Hint hint, int PER>
void add_store(std::vector<Variant> &all, const std::string &table, const char *name,
               const StoreJob &j, const CUtensorMap &d_map, const CUtensorMap &a_map)
{
    constexpr int shared = 8 * SUB_TILE_BYTES + 1024;
    const auto kernel = store_kernel<way, hint, PER>;
    CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
    const auto call = [=] { kernel<<<sms, 160, shared>>>(j, d_map, a_map); };
    call();
    CUDA(cudaGetLastError());
    if (way != NO_STORES)
        check_result(j, name);
    const double tile = 4.0 * TILE_ROWS * j.tile_words * (way != NO_STORES);
    all.push_back({table, name, j.times * (double)j.tiles * tile, 1, call, {}});
}

/* PER: words that a lane of a fragment has side by side. */
template <int PER>
void store_table(const std::string &table, const StoreJob &j, void *a)
{
    std::vector<Variant> all;
    const int rows = j.tiles / j.tiles_across * TILE_ROWS;
    const CUtensorMap d_map = map_of(j.d, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, j.words, rows, 32,
                                     TILE_ROWS),
                      a_map = map_of(a, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, 8192, j.load_rows, 64,
                                     TILE_ROWS);
    add_store<ROWS, PLAIN, PER>(all, table, "rows", j, d_map, a_map);
    add_store<ROWS, STREAM, PER>(all, table, "rows .cs", j, d_map, a_map);
    add_store<ROWS, EVICT_FIRST, PER>(all, table, "rows evict_first", j, d_map, a_map);
    add_store<FRAGMENTS, PLAIN, PER>(all, table, "fragments", j, d_map, a_map);
    if (PER == 2)
        add_store<FRAGMENTS, EVICT_FIRST, PER>(all, table, "fragments evict_first", j, d_map, a_map);
    add_store<TENSOR, PLAIN, PER>(all, table, "tensor", j, d_map, a_map);
    add_store<TENSOR, EVICT_FIRST, PER>(all, table, "tensor evict_first", j, d_map, a_map);
    const CUtensorMap warp_map = map_of(j.d, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, j.words, rows, 32,
                                        32),
                      narrow_map = map_of(j.d, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, j.words, rows,
                                          16, 32, CU_TENSOR_MAP_SWIZZLE_64B);
    add_store<WARPS, PLAIN, PER>(all, table, "warps, 128 bytes", j, warp_map, a_map);
    add_store<WARPS_64, PLAIN, PER>(all, table, "warps, 64 bytes", j, narrow_map, a_map);
    if (j.load_stages)
        add_store<NO_STORES, PLAIN, PER>(all, table, "loads alone", j, d_map, a_map);
    else
        all.push_back({table, "cudaMemset", 4.0 * rows * j.words, j.times, [=] {
                           for (int i = 0; i < j.times; i++)
                               cudaMemsetAsync(j.d, 0, (size_t)rows * j.words * 4);
                       }, {}});
    measure(all);
}

void stores(size_t megabytes, void *a, int a_rows)
{
    const int words = 16384, rows = (int)(megabytes * (1 << 20) / 4 / words / TILE_ROWS) * TILE_ROWS;
    uint32_t *d;
    CUDA(cudaMalloc(&d, std::max((size_t)rows * words, (size_t)sms * TILE_ROWS * 512) * 4));
    StoreJob dram = {d, words, 256, rows / TILE_ROWS * (words / 256), words / 256, 1, 0, a_rows};
    store_table<2>("f32 DRAM", dram, a);
    dram.load_stages = 48; /* K = 1024 of a tile of 128 x 256 */
    store_table<2>("f32 loading", dram, a);
    StoreJob half = {d, words, 128, rows / TILE_ROWS * (words / 128), words / 128, 1, 0, a_rows};
    store_table<1>("f16 DRAM", half, a);
    half.load_stages = 48;
    store_table<1>("f16 loading", half, a);
    const int times = megabytes >= 512 ? 8 : 1;
    store_table<2>("f32 L2", {d, 512, 256, 2 * sms, 2, times, 0, a_rows}, a);
    store_table<1>("f16 L2", {d, 512, 128, 4 * sms, 4, times, 0, a_rows}, a);
    CUDA(cudaFree(d));
}

template <Way way>
void add_read(std::vector<Variant> &all, const std::string &table, const char *name, ReadJob j,
              uint32_t expected)
{
    constexpr int shared = 8 * SUB_TILE_BYTES + 1024;
    uint32_t sum;
    const CUtensorMap map = map_of((void *)j.c, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, j.words,
                                   j.tiles / j.tiles_across * TILE_ROWS, 32, 32);
    const auto kernel = read_kernel<way>;
    CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
    const auto call = [=] { kernel<<<sms, 128, shared>>>(j, map); };
    CUDA(cudaMemset(j.sum, 0, sizeof sum));
    call();
    CUDA(cudaMemcpy(&sum, j.sum, sizeof sum, cudaMemcpyDeviceToHost));
    check(sum == expected * (uint32_t)j.times, name);
    all.push_back({table, name, 4.0 * j.times * j.tiles * TILE_ROWS * j.tile_words, 1, call, {}});
}

void reads(size_t megabytes)
{
    const int words = 16384, rows = (int)(megabytes * (1 << 20) / 4 / words / TILE_ROWS) * TILE_ROWS;
    const size_t count = std::max((size_t)rows * words, (size_t)sms * TILE_ROWS * 512);
    std::vector<uint32_t> host(count);
    std::vector<Variant> all;
    uint32_t *c, *sum;
    for (size_t i = 0; i < count; i++)
        host[i] = (uint32_t)(i * 2654435761u);
    CUDA(cudaMalloc(&c, count * 4));
    CUDA(cudaMalloc(&sum, sizeof *sum));
    CUDA(cudaMemcpy(c, host.data(), count * 4, cudaMemcpyHostToDevice));
    const ReadJob jobs[] = {{c, words, 256, rows / TILE_ROWS * (words / 256), words / 256, 1, sum},
                            {c, 512, 256, 2 * sms, 2, megabytes >= 512 ? 8 : 1, sum}};
    for (const ReadJob &j : jobs) {
        const size_t used = (size_t)j.tiles * TILE_ROWS * (size_t)j.tile_words;
        uint32_t expected = 0;
        for (size_t i = 0; i < used; i++)
            expected += host[i];
        const char *table = &j == jobs ? "read DRAM" : "read L2";
        add_read<ROWS>(all, table, "rows", j, expected);
        add_read<TENSOR>(all, table, "tensor", j, expected);
        measure(all);
    }
    CUDA(cudaFree(c));
}

cudaLaunchConfig_t clusters_of(int ctas, cudaLaunchAttribute &attribute)
{
    cudaLaunchConfig_t config = {};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {(unsigned)ctas, 1, 1};
    config.gridDim = dim3((unsigned)(sms / ctas * ctas));
    config.blockDim = dim3(64);
    config.dynamicSmemBytes = FILL_RING * FILL_STAGE + 1024;
    config.attrs = &attribute;
    config.numAttrs = 1;
    return config;
}

void launch_clusters(const LoadJob &j, int ctas, const CUtensorMap &a, const CUtensorMap &b)
{
    cudaLaunchAttribute attribute = {};
    const cudaLaunchConfig_t config = clusters_of(ctas, attribute);
    CUDA(cudaLaunchKernelEx(&config, fill_kernel, j, a, b));
}

/* A cluster lies in one part of the chip, so fewer may run at a time than the SMs would hold. */
void count_clusters()
{
    for (int ctas = 1; ctas <= 8; ctas *= 2) {
        int count = 0;
        cudaLaunchAttribute attribute = {};
        const cudaLaunchConfig_t config = clusters_of(ctas, attribute);
        CUDA(cudaOccupancyMaxActiveClusters(&count, fill_kernel, &config));
        printf("%d CTAs a cluster, one an SM: %d clusters at a time, the SMs would hold %d\n", ctas,
               count, sms / ctas);
        if (csv)
            fprintf(csv, "clusters,%d CTAs,%d,%d\n", ctas, count, sms / ctas);
    }
}

void multicast(void *a, int a_rows, bool whole)
{
    std::vector<Variant> all;
    CUDA(cudaFuncSetAttribute(fill_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                              FILL_RING * FILL_STAGE + 1024));
    static const struct {
        int across, down;
        bool a, b;
        const char *how;
    } ways[] = {{1, 1, false, false, "by each CTA"},  {2, 1, false, false, "by each CTA"},
                {2, 1, true, false, "A multicast"},   {4, 1, false, false, "by each CTA"},
                {4, 1, true, false, "A multicast"},   {2, 2, false, false, "by each CTA"},
                {2, 2, true, true, "both multicast"}, {8, 1, false, false, "by each CTA"},
                {8, 1, true, false, "A multicast"},   {4, 2, true, true, "both multicast"}};
    for (int boxes = 1; boxes <= 2; boxes++)
        for (const auto &way : ways) {
            const int ctas = way.across * way.down;
            const CUtensorMap a_map = map_of(a, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, 8192, a_rows, 64,
                                             way.a ? TILE_ROWS / way.across : TILE_ROWS),
                              b_map = map_of(a, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, 8192, a_rows, 64,
                                             way.b ? TILE_ROWS / way.down : TILE_ROWS);
            const LoadJob j = {whole ? 128 : 4, 8, a_rows / TILE_ROWS / boxes, boxes, way.across,
                               way.down, way.a, way.b};
            char name[80];
            snprintf(name, sizeof name, "tile 128 x %d, clusters of %d x %d, %s", 128 * boxes,
                     way.down, way.across, way.how);
            const double bytes = (double)(sms / ctas * ctas) * j.stages * (1 + boxes) *
                                 SUB_TILE_BYTES;
            all.push_back({"fill", name, bytes, 1, [=] { launch_clusters(j, ctas, a_map, b_map); },
                           {}});
        }
    measure(all);
}

template <bool waits, bool early>
void add_chain(std::vector<Variant> &all, const char *name, bool attribute, size_t bytes, void *a)
{
    constexpr int LINKS = 40;
    const auto call = [=] {
        cudaLaunchConfig_t config = {};
        cudaLaunchAttribute early_start = {};
        early_start.id = cudaLaunchAttributeProgrammaticStreamSerialization;
        early_start.val.programmaticStreamSerializationAllowed = 1;
        config.gridDim = dim3((unsigned)(2 * sms));
        config.blockDim = dim3(512);
        config.attrs = &early_start;
        config.numAttrs = attribute ? 1 : 0;
        uint4 *half[2] = {(uint4 *)a, (uint4 *)((char *)a + bytes)};
        for (int i = 0; i < LINKS; i++)
            CUDA(cudaLaunchKernelEx(&config, chain_kernel<waits, early>,
                                    (const uint4 *)half[i & 1], half[~i & 1], bytes / 16));
    };
    char text[80];
    snprintf(text, sizeof text, "%zu KB copied, %s", bytes >> 10, name);
    all.push_back({"chain", text, 0, LINKS, call, {}});
}

void chains(void *a, size_t most)
{
    std::vector<Variant> all;
    for (size_t bytes = 64 << 10; bytes <= most; bytes <<= 3) {
        add_chain<false, false>(all, "one after another", false, bytes, a);
        add_chain<true, false>(all, "launched early, begun at the end", true, bytes, a);
        add_chain<true, true>(all, "launched early, begun early", true, bytes, a);
    }
    measure(all);
}

} // namespace

int main(int argc, char **argv)
{
    const size_t megabytes = argc > 2 ? strtoul(argv[2], NULL, 10) : 512;
    const int a_rows = megabytes >= 512 ? 2048 : 1024; /* of 8192 f16: 32 MB, which L2 holds */
    void *a;
    if (argc > 1 && !(csv = fopen(argv[1], "w"))) {
        fprintf(stderr, "%s cannot be written\n", argv[1]);
        return 1;
    }
    CUDA(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
    CUDA(cudaMalloc(&a, (size_t)a_rows * 8192 * 2));
    CUDA(cudaMemset(a, 0, (size_t)a_rows * 8192 * 2));
    CUDA(cudaMalloc(&wrong_count, sizeof *wrong_count));
    stores(megabytes, a, a_rows);
    reads(megabytes);
    multicast(a, a_rows, megabytes >= 512);
    count_clusters();
    chains(a, megabytes >= 512 ? 4 << 20 : 64 << 10);
    CUDA(cudaDeviceSynchronize());
    return 0;
}
