#!/usr/bin/env python3
"""Groups of rows (mixture of experts) of matmul_accumulate on a GPU, bf16: one call with the row
counts on the device, against PyTorch's grouped product and against a call for each group whose
counts the host knows.

    python3 tests/bench/bench_groups.py LIBPTXGEN.so [--csv FILE]

Sides take turns; medians of CUDA event pairs on random data. Every result is compared with the
calls for each group. Needs PyTorch; the library does not."""
import argparse
import csv
import random
import sys

import torch

from bench_epilogues import DTYPES, Library

DTYPES.update({torch.int32: 4, torch.int64: 6})
# rows, n, k, groups
SHAPES = [(16384, 4096, 2048, 8), (8192, 1536, 2048, 64), (4096, 2048, 7168, 32),
          (1024, 2048, 2048, 128),
          (256, 4096, 4096, 16)]


def counts_of(rows, groups, how):
    if how == "even":
        return [rows // groups] * groups
    weights = (
        [1 / (g + 1) for g in range(groups)]
        if how == "zipf"
        else [random.random() for _ in range(groups)]
    )
    ends, total, seen = [], sum(weights), 0.0
    for w in weights:
        seen += w
        ends.append(round(rows * seen / total))
    return [b - a for a, b in zip([0] + ends[:-1], ends)]


def interleaved(calls, rounds=15):
    times = {name: [] for name in calls}
    for call in calls.values():
        call()
        call()
    torch.cuda.synchronize()
    for _ in range(rounds):
        torch.cuda._sleep(400_000)
        order = list(calls.items())
        random.shuffle(order)
        order[0][1]()
        events = {}
        for name, call in order:
            events[name] = torch.cuda.Event(enable_timing=True), torch.cuda.Event(
                enable_timing=True
            )
            events[name][0].record()
            call()
            events[name][1].record()
        torch.cuda.synchronize()
        for name, (begin, end) in events.items():
            times[name].append(begin.elapsed_time(end) * 1e3)
    return {name: sorted(t)[len(t) // 2] for name, t in times.items()}


def bench(library, shape, how, transposed):
    rows, n, k, groups = shape
    a = torch.randn(rows, k, device="cuda").to(torch.bfloat16)
    w = (torch.randn(groups, n, k, device="cuda") / k ** 0.5).to(torch.bfloat16)
    b = w.transpose(1, 2) if transposed else w.transpose(1, 2).contiguous()
    counts = counts_of(rows, groups, how)
    device = torch.tensor(counts, device="cuda", dtype=torch.int32)
    offsets = device.cumsum(0).to(torch.int32)
    d, each = torch.zeros(rows, n, device="cuda", dtype=torch.bfloat16), torch.zeros(
        rows, n, device="cuda", dtype=torch.bfloat16
    )
    stream = torch.cuda.current_stream().cuda_stream
    tensors = library.tensors({"a": a, "b": b, "d": d, "group_rows": device})
    kernel, params = library.kernel("", tensors)
    starts = [sum(counts[:g]) for g in range(groups)]

    def loop():
        for g in range(groups):
            if counts[g]:
                torch.mm(a[starts[g]:starts[g] + counts[g]], b[g],
                         out=each[starts[g]:starts[g] + counts[g]])

    calls = {"ours": lambda: library.run(kernel, tensors, stream), "loop": loop}
    try:
        torch._grouped_mm(a, b, offs=offsets)
        calls["torch"] = lambda: torch._grouped_mm(a, b, offs=offsets)
    except Exception as e:  # what this PyTorch does not take
        print("# torch._grouped_mm:", str(e).splitlines()[0][:100])
    us = interleaved(calls)
    off = (d.float() - each.float()).abs().max().item()
    return us, off, params


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("--csv")
    options = parser.parse_args()
    library = Library(options.library)
    out = csv.writer(open(options.csv, "w")) if options.csv else None
    wrong = 0
    print("   rows     n     k groups counts  B     ours us   TFLOP/s  of torch's grouped  of a call for each group")
    for shape in SHAPES:
        for how in ("even", "zipf"):
            for transposed in (True, False):
                us, off, params = bench(library, shape, how, transposed)
                wrong += not off <= 0.05
                rows, n, k, groups = shape
                flop = 2e-6 * rows * n * k
                grouped = us.get("torch", float("nan"))
                print(f"{rows:7} {n:5} {k:5} {groups:6} {how:6} {'t' if transposed else 'r'} {us['ours']:11.1f} "
                      f"{flop / us['ours']:9.0f} {grouped / us['ours']:19.2f} {us['loop'] / us['ours']:25.2f}"
                      f"{'  WRONG by ' + str(off) if not off <= 0.05 else ''}")
                if out:
                    out.writerow(
                        [*shape, how, transposed, us["ours"], grouped, us["loop"], off, params]
                    )
    sys.exit(wrong != 0)


if __name__ == "__main__":
    main()
