/* The model of a Hopper kernel's time. The figures below were fitted to some thousand measurements
 * on one H200 (docs/benchmarks.md says how well it chooses on problems that were not used for
 * that). */
#include "matmul_accumulate/hopper_model.h"

#include <math.h>
#include <string.h>

/* Clocks and bytes per clock of an SM, unless said. */
static const struct model {
    double launch, clock;              /* us; clocks per ns of a busy GPU */
    double l2, l2_all, requests;       /* from L2: an SM, all SMs; clocks per row of a box */
    double straddle;                   /* more bytes where rows begin off 128-byte lines */
    double latency;                    /* of loads: all stages' */
    double block, block_pingpong;      /* more per stage */
    double tile, out, out_swapped, in; /* end of a tile; rates of D out and C in */
    double pingpong, cluster_2, cluster_4, cluster_8, two, three, deep, swapped; /* us more */
    double times_pingpong, times_2, times_4, times_8, times_one,
        times_three;                        /* factors of the main loop */
    double exchange, exchange_rate;         /* splits: us; rate of parts */
    double slices, slices_rate, slices_out; /* second kernel: us, bytes per us; rate of parts */
    double memory_pingpong, memory_shared, memory_one; /* device memory, bytes per us */
    double tail, hidden, first, soft;
} f = {
    /* clang-format off */
    .launch = 0.685, .clock = 2, .l2 = 175.2, .l2_all = 2.545e+04, .requests = 2.307,
    .straddle = 0.1534, .latency = 695.1, .block = 12.43, .block_pingpong = 4.95, .tile = 481.1,
    .out = 9.926, .out_swapped = 11.74, .in = 70.4, .pingpong = 0.4126, .cluster_2 = 0.4302,
    .cluster_4 = 0.6685, .cluster_8 = 0.6434, .two = 0.05794, .three = 0.1003, .deep = 0.01757,
    .swapped = 0.02732, .times_pingpong = 0.953, .times_2 = 1.25, .times_4 = 1.087,
    .times_8 = 1.077, .times_one = 0.8537, .times_three = 0.85, .exchange = 2.312,
    .exchange_rate = 26.77, .slices = 1.424, .slices_rate = 1.240e+06, .slices_out = 75.21,
    .memory_pingpong = 4.341e+06, .memory_shared = 3.840e+06, .memory_one = 4.600e+06,
    .tail = 0.9361, .hidden = 1.955, .first = 199.8, .soft = 3.626,
    /* clang-format on */
};

static double at_least(double a, double b)
{
    return a > b ? a : b;
}

static double divide_up(int64_t a, int64_t b)
{
    return (double)((a + b - 1) / b);
}

/* Of an operand: a row of a box, as wide as the swizzle (hopper_plan.c). */
static int request_bytes(const pg_hopper_choice *c, const pg_matmul_problem *p, bool left)
{
    const bool k_major = left == c->swap ? p->b_k_major : p->a_k_major;
    const int row = 2 * (k_major ? c->block_k : left ? c->block_m : c->block_n);
    return row % 128 == 0 ? 128 : row % 64 == 0 ? 64 : 32;
}

/* Of the main loop, per stage of K. */
static double stage_clocks(const pg_hopper_choice *c, const pg_matmul_problem *p, int stages,
                           double ctas)
{
    const double m = c->block_m, n = c->block_n, k = c->block_k, bytes = 2 * k;
    const bool left = c->swap ? p->b_straddles : p->a_straddles,
               right = c->swap ? p->a_straddles : p->b_straddles;
    const double left_bytes = m / c->cluster_n * bytes, right_bytes = n / c->cluster_m * bytes;
    const double moved =
        left_bytes * (1 + f.straddle * left) + right_bytes * (1 + f.straddle * right);
    const double requests = left_bytes * (1 + left) / request_bytes(c, p, true) +
                            right_bytes * (1 + right) / request_bytes(c, p, false);
    const double tensor = m * n * k / 2048; /* wgmma m64nNk16: N / 2 clocks */
    const double shared = m / 64 * (k / 16) * (16 + n / 4) + (m + n) * bytes / 128;
    const double loads =
        at_least(at_least(moved / f.l2, requests * f.requests), moved * ctas / f.l2_all);
    const double clocks = at_least(at_least(tensor, shared), at_least(loads, f.latency / stages));
    const int sharers = c->cluster_m * c->cluster_n;
    const double times = (c->pingpong ? f.times_pingpong : 1) *
                         (c->warpgroups == 1   ? f.times_one
                          : c->warpgroups == 3 ? f.times_three
                                               : 1) *
                         (sharers == 8   ? f.times_8
                          : sharers == 4 ? f.times_4
                          : sharers == 2 ? f.times_2
                                         : 1);
    return (clocks + (c->pingpong ? f.block_pingpong : f.block)) * times;
}

/* The end of a tile: C in and D out, or a part of K to where it is summed. */
static double end_clocks(const pg_hopper_choice *c, const pg_matmul_problem *p)
{
    const double elements = (double)c->block_m * c->block_n, part = 4 * elements;
    if (c->slices > 1)
        return f.tile / 2 + part / f.slices_out;
    if (c->splits > 1)
        return f.exchange * 1000 * f.clock + 2 * part / f.exchange_rate;
    return f.tile + elements * p->d_bytes / (c->swap ? f.out_swapped : f.out) +
           (c->ring ? 0 : elements * p->c_bytes / f.in);
}

/* All tiles of an SM: in turns, C and D of one under the multiplications of another. */
static double all_clocks(const pg_hopper_choice *c, const pg_matmul_problem *p, double main_loop,
                         double units, double workers)
{
    const double end = end_clocks(c, p), waves = ceil(units / workers),
                 elements = (double)c->block_m * c->block_n;
    if (!c->pingpong)
        return waves * (main_loop + end) + f.first;
    double tile = main_loop;
    if (units > workers)
        tile = at_least(
            main_loop + 100 * f.hidden,
            (main_loop + f.tile + elements * p->d_bytes / f.out + elements * p->c_bytes / f.in) /
                c->warpgroups);
    return at_least(1, waves * f.tail + units / workers * (1 - f.tail)) * tile + end + f.first;
}

static double more_us(const pg_hopper_choice *c, const pg_matmul_problem *p)
{
    const int sharers = c->cluster_m * c->cluster_n * c->splits;
    double us = (c->pingpong ? f.pingpong : 0) + (c->swap ? f.swapped : 0) +
                (c->block_k == 128 ? f.deep : 0);
    us += sharers == 8 ? f.cluster_8 : sharers == 4 ? f.cluster_4 : sharers == 2 ? f.cluster_2 : 0;
    us += c->warpgroups == 3 ? f.three : c->warpgroups == 2 ? f.two : 0;
    if (c->slices > 1)
        us += f.slices + 4.0 * (c->slices + 2) * (double)pg_matmul_matrices(p) * (double)p->m *
                             (double)p->n / f.slices_rate;
    return us;
}

int pg_hopper_stages(const pg_hopper_choice *c)
{
    enum { MEMORY = 232448, MOST = 24, RING = 64 << 10, ROW = PG_C_CHUNK_BYTES };
    const int columns = c->chunk_columns ? c->chunk_columns : ROW / 4;
    const int chunks = c->block_n / columns, fit = RING / (c->block_m * ROW);
    const int ring = c->ring ? (chunks < fit ? chunks : fit) * c->block_m * ROW : 0;
    const int stages = (MEMORY - ring - 512) / (2 * c->block_k * (c->block_m + c->block_n));
    return stages < MOST ? stages : MOST;
}

double pg_hopper_time(const pg_hopper_choice *c, const pg_matmul_problem *p)
{
    const int64_t rows = c->swap ? p->n : p->m, columns = c->swap ? p->m : p->n;
    const int cluster = c->cluster_m * c->cluster_n * c->splits, stages = pg_hopper_stages(c);
    const double k_blocks = ceil(divide_up(p->k, c->block_k) / (c->splits * c->slices));
    const double tiles = divide_up(rows, c->block_m * c->cluster_m) *
                         divide_up(columns, c->block_n * c->cluster_n) *
                         (double)pg_matmul_matrices(p);
    const double units = tiles * c->slices, workers = pg_clusters_at_once(cluster, p->sm_count);
    const double ctas = (units < workers ? units : workers) * cluster;
    if (stages < 3 || (c->splits > 1 && 4 * c->block_m * c->block_n >
                                            stages * 2 * c->block_k * (c->block_m + c->block_n)))
        return HUGE_VAL;
    const double clocks =
        all_clocks(c, p, k_blocks * stage_clocks(c, p, stages, ctas), units, workers);
    const double us = clocks / (1000 * f.clock) + f.launch + more_us(c, p);
    const double m = (double)p->m, n = (double)p->n, k = (double)p->k;
    const double rate = c->pingpong          ? f.memory_pingpong
                        : c->warpgroups == 1 ? f.memory_one
                                             : f.memory_shared;
    const double memory = (double)pg_matmul_matrices(p) *
                              (2 * k * (m + n) + (p->c_bytes + p->d_bytes) * m * n) / rate +
                          f.launch;
    return pow(pow(us, f.soft) + pow(memory, f.soft), 1 / f.soft);
}

static bool k_major(const pg_hopper_choice *c, const pg_matmul_problem *p, bool left)
{
    return left == c->swap ? p->b_k_major : p->a_k_major;
}

/* In the order that the trees were grown with (tests/bench/cublaslt/fit_correction.py). */
void pg_hopper_facts(const pg_hopper_choice *c, const pg_matmul_problem *p,
                     double out[PG_HOPPER_FACTS])
{
    const int64_t rows = c->swap ? p->n : p->m, columns = c->swap ? p->m : p->n;
    const int cluster = c->cluster_m * c->cluster_n * c->splits;
    const double tiles_m = divide_up(rows, c->block_m * c->cluster_m) * c->cluster_m,
                 tiles_n = divide_up(columns, c->block_n * c->cluster_n) * c->cluster_n;
    const double k_blocks = ceil(divide_up(p->k, c->block_k) / (c->splits * c->slices));
    const double units = tiles_m * tiles_n / (c->cluster_m * c->cluster_n) * c->slices *
                         (double)pg_matmul_matrices(p),
                 workers = pg_clusters_at_once(cluster, p->sm_count), waves = units / workers;
    const double m = c->block_m, n = c->block_n, k = c->block_k;
    const double facts[] = {log(pg_hopper_time(c, p)),
                            m,
                            n,
                            k,
                            c->pingpong,
                            c->warpgroups,
                            c->cluster_m,
                            c->cluster_n,
                            c->splits,
                            c->slices,
                            c->swap,
                            c->ring || (c->pingpong && !p->c_bytes), /* no loads of C */
                            log(k_blocks),
                            log(waves),
                            ceil(waves) / waves,
                            (units < workers ? units : workers) * cluster,
                            pg_hopper_stages(c),
                            c->swap ? p->b_straddles : p->a_straddles,
                            c->swap ? p->a_straddles : p->b_straddles,
                            k_major(c, p, true),
                            k_major(c, p, false),
                            (double)rows / (tiles_m * m),
                            (double)columns / (tiles_n * n),
                            log((double)rows),
                            log((double)columns),
                            log((double)p->k),
                            waves * k_blocks,
                            (m / c->cluster_n + n / c->cluster_m) * k,
                            m * n,
                            request_bytes(c, p, true) + 1000 * request_bytes(c, p, false),
                            log((double)pg_matmul_matrices(p)),
                            p->c_bytes,
                            c->late};
    _Static_assert(sizeof facts / sizeof *facts == PG_HOPPER_FACTS, "each has its place");
    memcpy(out, facts, sizeof facts);
}
