#!/usr/bin/env python3
"""scatter_add on a GPU, against PyTorch, in one run.

    python3 tests/bench/bench_scatter_add.py LIBPTXGEN.so [--set anchors,skew,...] [--rows 3,7]
    [--torch none|fast|all]
                                             [--calls auto,plan,...] [--markdown FILE] [--sweep]
                                             [--random COUNT] [--seed SEED]

Prints one line per problem: milliseconds of PyTorch's fastest (of index_add_, scatter_add_ and
embedding_dense_backward), of schedule=seed and vector, of a call as it comes (auto), with a
prepared index (plan), and with deterministic=yes (exact, and exact with a plan); the memory floor:
src and the index read once, touched rows of out read and written once, at the copy bandwidth
measured in this run; and ratios. "slow" marks a call that took over 2% longer than the fastest of
PyTorch, seed and vector. Times are medians of CUDA event pairs that wait behind a sleeping kernel,
so that the host's speed does not count. Every result is compared with PyTorch in double. --torch
fast leaves out what takes over 50 ms or differs from the others by a constant; none leaves PyTorch
out. --calls leaves out other calls of ours. --set neighbours is a series in the number of rows of
out, of which the largest ratio between two neighbours is told. --sweep tries settings of
schedule=owner. Needs PyTorch; the library itself does not."""
import argparse
import itertools
import math
import random

import torch

from scatter_bench import (
    DTYPES,
    SEED,
    VECTOR,
    Args,
    Library,
    Problem,
    copy_bandwidth,
    machine,
    milliseconds,
)

BOTH = ("f32", "bf16")
M, K = 1 << 20, 1 << 18


def over(dtypes, *rows):
    return [row + (dtype,) for row in rows for dtype in dtypes]


def series(first, last, factor):
    """Whole numbers from first to last, each `factor` times the one before."""
    count = math.ceil(math.log(last / first) / math.log(factor))
    return [round(first * (last / first) ** (i / count)) for i in range(count + 1)]


# (index, rows of src, rows of out, n, dtype)
SETS = {
    "anchors": over(
        BOTH,
        ("uniform", M, K, 128),
        ("uniform", M, K, 512),
        ("permutation", M, M, 256),
        ("half on row 0", M, K, 128),
        ("uniform", M, 100, 256),
        ("uniform", 1 << 22, M, 32),
        ("uniform", 1 << 22, M, 8),
        ("uniform", 1 << 16, 1 << 14, 4096),
        ("uniform", 100, 200, 640000),
        ("uniform", 4096, 4096, 1024),
    ),
    "skew": over(
        BOTH,
        ("zipf 0.6", M, K, 128),
        ("zipf 0.8", M, K, 128),
        ("zipf 1.0", M, K, 128),
        ("zipf 1.2", M, K, 128),
        ("zipf 1.4", M, K, 128),
        ("zipf 1.0", 32768, 128256, 4096),
        ("moe 8", 32768, 4096, 7168),
        ("permutation", M, M, 128),
        ("sorted", M, K, 128),
        ("runs", M, K, 128),
        ("graph", 1200000, 170000, 128),
        ("zipf 1.0", 1 << 22, M, 256),
        ("uniform", 3000000, 3000000, 128),
    ),
    "groups": over(
        BOTH,
        *[
            ("uniform", 30600000, k, 4)
            for k in (1, 16, 64, 110, 128, 150, 256, 512, 1024, 2048, 3000, 4096, 6000, 8000, 12000,
                20000, 40000)
        ],
        *[("zipf 1.0", 30600000, k, 4) for k in (64, 1024, 4096)],
        *[(kind, 30600000, k, 4) for kind in ("sorted", "runs") for k in (1024, 8000)],
        *[("half on row 0", 30600000, k, 4) for k in (256, 4096)],
        ("uniform", 20000000, 1024, 1),
        ("uniform", 20000000, 40000, 2),
        ("uniform", 20000000, 1000, 3),
        ("uniform", 16000000, 1000, 8),
        ("uniform", 8000000, 64, 16),
        ("uniform", 8000000, 1000, 16),
        ("uniform", 8000000, 256, 32),
    ),
    "neighbours": [
        ("uniform", min(30600000, (1 << 29) // (n * DTYPES[dtype][2])), k, n, dtype)
        for n in (4, 8, 16, 32)
        for dtype in BOTH
        for k in series(64, 65536, 1.3)
    ],
    "narrow": [
        (kind, m, k, n, dtype)
        for n, dtype in (
            (1, "f32"),
            (1, "bf16"),
            (3, "f32"),
            (3, "bf16"),
            (8, "f32"),
            (8, "bf16"),
            (31, "bf16"),
            (16, "f32"),
            (80, "bf16"),
        )
        for m in (min(40000000, 800000000 // (n * DTYPES[dtype][2])), 1 << 21)
        for kind, k in (
            ("half on row 0", K),
            ("permutation", m),
            ("uniform", K),
            ("uniform", min(4 * M, 100000000 // n)),
            ("zipf 0.6", 9178),
            ("zipf 1.0", K),
            ("zipf 1.4", M),
            ("sorted", K),
            ("runs", K),
            ("uniform", 1000),
        )
    ],
    "small": over(
        ("f32",), *[("uniform", m, 4096, 256) for m in (1, 8, 64, 512, 2048, 8192, 32768)]
    ),
}


LENGTHS = (1, 2, 3, 4, 8, 16, 32, 64, 128, 256, 512, 768, 1024, 4096)
KINDS = ("uniform", "zipf", "half on row 0", "sorted", "runs", "permutation")


def drawn(count, seed):
    """Problems of 16 KB to 500 MB of src, of any row length and number of rows of out."""
    r, problems = random.Random(seed), []
    while len(problems) < count:
        dtype = r.choice(("f32", "f16", "bf16", "f64"))
        n = r.choice(LENGTHS) if r.random() < 0.4 else round(2 ** r.uniform(0, 12))
        rows = round(2 ** r.uniform(14, 29) / (n * DTYPES[dtype][2]))
        kind = r.choice(KINDS)
        out = rows if kind == "permutation" else round(2 ** r.uniform(0, 21))
        if kind == "zipf":
            kind += f" {r.uniform(0.4, 1.6):.2f}"
        if 16 <= rows <= 40000000 and out * n * DTYPES[dtype][2] < 1 << 30:
            problems.append((kind, rows, out, n, dtype))
    return problems


def sweep(lib, p, plan):
    """Settings of schedule=owner on the problem's plan: the eight fastest."""
    results = []
    for pieces, share in itertools.product((2, 4, 6, 8), (16, 32, 64, 128)):
        kernel = lib.get(f"dtype={p.dtype} schedule=owner pieces={pieces} share={share}")
        args = Args.from_buffer_copy(p.args)
        args.plan = plan
        if kernel is None:
            continue
        ms = milliseconds(lambda: lib.launch(kernel, args, p.stream), budget_ms=2.0, most=9)
        results.append((ms, pieces, share))
        lib.lib.ptxgen_kernel_unref(kernel)
    results.sort()
    print("    " + "  ".join(f"{ms:.4f} pieces={a} share={b}" for ms, a, b in results[:8]),
          flush=True)


def torch_calls(p, which):
    calls = p.torch_calls()
    hot = p.kind.startswith(("half", "zipf 1", "sorted", "runs")) or p.k < 5000
    if which == "none" or p.m * p.n < 1000:
        return {}
    # a loop of compare and swap on one row: seconds
    if which == "fast" and hot and p.dtype != "f32":
        del calls["scatter_add"]
    if which == "fast" and (p.n < 16 or p.m > 1 << 23 or p.m * p.n > 1 << 29):
        del calls["embedding"]
    if which == "fast" and p.k < 64 and p.n < 16:
        return {}
    return calls


def measure(lib, p, bandwidth, options):
    """Name -> milliseconds, in the order of the columns; and whether all results were right."""
    plan = lib.plan(p.args,
                    p.stream) if options.sweep or "plan" in " ".join(options.calls) else None
    reference = p.reference()
    # what the two schedules before take
    whole = p.n * p.bytes % 16 == 0 and p.dtype != "f64"
    others = {"seed": p.call(schedule=SEED), "vector": p.call(schedule=VECTOR)} if whole else {}
    ours = {**others, "auto": p.call(), "plan": p.call(plan=plan),
            "exact": p.call(deterministic=True),
            "exact plan": p.call(deterministic=True, plan=plan)}
    ours = {name: call for name, call in ours.items() if name in options.calls}
    short = p.n * p.bytes < 64
    # a prepared index has nothing to give there, and is slow
    if short and (p.k < 10000 or p.m > 1 << 22):
        ours = {name: call for name, call in ours.items() if name in ("seed", "vector", "auto")}
    good = all(p.agrees(call, reference) for call in ours.values())
    times = {name: milliseconds(call, budget_ms=15.0) for name, call in ours.items()}
    theirs = {
        name: milliseconds(call, budget_ms=8.0)
        for name, call in torch_calls(p, options.torch).items()
    }
    if theirs:
        times["PyTorch"] = min(theirs.values())
    times["floor"] = p.floor_ms(bandwidth)
    if options.sweep:
        sweep(lib, p, plan)
    torch.cuda.synchronize()
    lib.lib.ptxgen_scatter_plan_destroy(plan)
    return times, good


COLUMNS = ["PyTorch", "seed", "vector", "auto", "plan", "exact", "exact plan", "floor"]
RATIOS = ["auto/floor", "plan/floor", "seed/auto", "PyTorch/auto"]


def ratios_of(times):
    def ratio(a, b):
        return times[a] / times[b] if a in times and b in times else math.nan
    return [ratio(*name.split("/")) for name in RATIOS]


def steepest(times):
    """Of (row of a set, ms) in order: a line for each series of neighbours, which differ in the
    rows of out alone."""
    worst = {}
    for (p, a), (q, b) in zip(times, times[1:]):
        series = p[:2] + p[3:]
        if series == q[:2] + q[3:]:
            worst[series] = max(worst.get(series, (0,)), (max(a / b, b / a), p[2], q[2]))
    return [f"{s}: neighbours at most {ratio:.2f} apart, {a} and {b} rows of out" for s, (ratio, a, b) in worst.items()]


def mark(times, good):
    before = [times[n] for n in ("PyTorch", "seed", "vector") if n in times]
    slow = before and times["auto"] > 1.02 * min(before)
    return ("" if good else "  WRONG") + ("  slow" if slow else "")


def markdown(p, times, good):
    cells = [p.kind, p.m, p.k, p.n,
             p.dtype] + [f"{times[n]:.4f}" if n in times else "" for n in COLUMNS]
    cells += ["" if math.isnan(r) else f"{r:.2f}" for r in ratios_of(times)]
    return "| " + " | ".join(map(str, cells)) + " |" + mark(times, good)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("--set", default="anchors,skew,groups,small")
    parser.add_argument("--rows", help="comma-separated numbers of problems in the sets")
    parser.add_argument("--torch", default="all", choices=["none", "fast", "all"])
    parser.add_argument("--calls", default="seed,vector,auto,plan,exact,exact plan",
                        type=lambda s: s.split(","))
    parser.add_argument("--markdown", help="the table, for docs/benchmarks.md")
    parser.add_argument("--sweep", action="store_true")
    parser.add_argument("--random", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    lib = Library(options.library)
    SETS["random"] = drawn(options.random, options.seed)
    table = open(options.markdown, "w") if options.markdown else None
    bandwidth = copy_bandwidth()
    print(machine(bandwidth) + "; ms")
    print(f"{'index':13} {'rows':>8} {'out':>8} {'n':>7} type " + " ".join(f"{n:>10}" for n in COLUMNS) +
          "  " + " ".join(RATIOS))
    for name in options.set.split(","):
        gains, autos = [], []
        chosen = (
            range(len(SETS[name]))
            if not options.rows
            else [int(r) for r in options.rows.split(",")]
        )
        for i in chosen:
            p = Problem(lib, *SETS[name][i])
            times, good = measure(lib, p, bandwidth, options)
            gains += [times["seed"] / times["auto"]] if "seed" in times else []
            autos += [(SETS[name][i], times["auto"])]
            print(
                f"{p.text()} "
                + " ".join(f"{times[n]:10.4f}" if n in times else " " * 10 for n in COLUMNS)
                + "  "
                + " ".join(f"{r:9.3f}" for r in ratios_of(times))
                + mark(times, good),
                flush=True,
            )
            if table:
                print(markdown(p, times, good), file=table, flush=True)
            del p
            torch.cuda.empty_cache()
        if name == "neighbours":
            print("\n".join(steepest(autos)), flush=True)
        if gains:
            mean = math.exp(sum(map(math.log, gains)) / len(gains))
            print(f"{name}: geometric mean of seed/auto {mean:.3f}; SM clock {torch.cuda.clock_rate()} MHz", flush=True)


if __name__ == "__main__":
    main()
