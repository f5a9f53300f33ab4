"""What ptxgen.torch costs and gains on a GPU: the host's time for a call, a GNN training step,
embedding's backward.

    PYTHONPATH=build/release/python python3 tests/bench/bench_torch.py [--quick] [calls] [gnn]
    [embedding] [products]

Every comparison runs in turns in this process; times are medians. Prints Markdown tables, nothing
else."""

import contextlib
import copy
import statistics
import sys
import time

import torch

import ptxgen
import ptxgen.torch as pt

QUICK = "--quick" in sys.argv
DEVICE = "cuda"


def host_microseconds(calls, repeats=7, count=400):
    """Median host time of each call, in turns; the queue is emptied before it is full."""
    times = {name: [] for name in calls}
    for _ in range(repeats):
        for name, call in calls.items():
            call()
            torch.cuda.synchronize()
            begin = time.perf_counter()
            for _ in range(count):
                call()
            times[name].append((time.perf_counter() - begin) / count * 1e6)
            torch.cuda.synchronize()
    return {name: statistics.median(t) for name, t in times.items()}


def device_milliseconds(step, repeats=15):
    """Median device time of a step, stock and with enable(), in turns, from events behind a kernel
    that keeps the device busy until the host has caught up."""
    times = {"stock": [], "ours": []}
    contexts = {"stock": contextlib.nullcontext, "ours": pt.enabled}
    for turn in range(3 if QUICK else 2 + repeats):
        for name, context in contexts.items():
            with context():
                torch.cuda.synchronize()
                begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(
                    enable_timing=True
                )
                torch.cuda._sleep(8_000_000)
                begin.record()
                step()
                end.record()
                end.synchronize()
            if turn >= 2 or QUICK:
                times[name].append(begin.elapsed_time(end))
    return {name: statistics.median(t) for name, t in times.items()}


def call_costs():
    out, src = torch.zeros(64, 32, device=DEVICE), torch.ones(32, 32, device=DEVICE)
    index = torch.randint(0, 64, (32,), device=DEVICE)
    empty, nothing = src[:0], index[:0]
    packet, overload = torch.ops.ptxgen.scatter_add_, torch.ops.ptxgen.scatter_add_.default
    for title, i, s in (("32 rows of 32 floats", index, src),
                        ("nothing to launch", nothing, empty)):
        costs = host_microseconds({
            "aten index_add_": lambda: out.index_add_(0, i, s),
            "ptxgen.scatter_add_": lambda: ptxgen.scatter_add_(out, i, s),
            "torch.ops.ptxgen.scatter_add_.default": lambda: overload(out, i, s),
            "torch.ops.ptxgen.scatter_add_": lambda: packet(out, i, s),
            "ptxgen.gather_rows, out given": lambda: ptxgen.gather_rows(out, i, s),
            "aten index_select": lambda: torch.index_select(out, 0, i),
        })
        print(f"\n| one call, {title} | host, us | over index_add_ |\n|---|---|---|")
        for name, value in costs.items():
            print(f"| {name} | {value:.2f} | {value - costs['aten index_add_']:+.2f} |")
    plain = host_microseconds({"aten": lambda: out.index_add_(0, index, src)})["aten"]
    with pt.enabled(least_bytes=1 << 20):
        declined = host_microseconds({"aten": lambda: out.index_add_(0, index, src)})["aten"]
    with pt.enabled(measure=False, least_bytes=0):
        served = host_microseconds({"aten": lambda: out.index_add_(0, index, src)})["aten"]
    print(f"\nindex_add_ with enable(): {plain:.2f} us stock, {declined:.2f} us handed on to aten, {served:.2f} us served", flush=True)


class Layer(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = torch.nn.Linear(width, width)

    def forward(self, x, source, target):
        messages = self.linear(x).index_select(0, source)
        return torch.relu(x + torch.zeros_like(x).index_add(0, target, messages))


def graph(nodes, edges, skewed):
    """Edges between random nodes; skewed: targets by a power law of exponent 1 over all nodes."""
    source = torch.randint(0, nodes, (edges,), device=DEVICE)
    if not skewed:
        return source, torch.randint(0, nodes, (edges,), device=DEVICE)
    rank = (
        torch.exp(
            torch.rand(edges, device=DEVICE, dtype=torch.float64)
            * torch.log(torch.tensor(float(nodes)))
        ).long()
        - 1
    )
    return source, torch.randperm(nodes, device=DEVICE)[rank.clamp(0, nodes - 1)]


def gradient_errors(layers, x, source, target, *steps):
    """How far the gradients of each step are from those in double, relative to these; at most a
    tenth over the first's."""
    exact = copy.deepcopy(layers).double()
    hidden = x.double()
    for layer in exact:
        hidden = layer(hidden, source, target)
    hidden.square().mean().backward()
    errors = []
    for step in steps:
        step()
        off = sum(
            (p.grad.double() - e.grad).square().sum()
            for p, e in zip(layers.parameters(), exact.parameters())
        )
        errors.append((off / sum(e.grad.square().sum() for e in exact.parameters())).sqrt().item())
    assert errors[1] <= 1.1 * errors[0] + 1e-6, f"errors of the gradients: stock {errors[0]}, ours {errors[1]}"
    return errors


def gnn():
    nodes, edges, width = 170_000, 1_200_000, 128
    print(f"\n| GNN training step, 2 layers, {edges} edges x {width}, {nodes} nodes | error, stock | error, ours | stock, ms | enable(), ms | times | host, ms | served |\n|---|---|---|---|---|---|---|---|")
    for skewed in (False, True):
        for dtype in (torch.float32, torch.bfloat16):
            torch.manual_seed(1)
            source, target = graph(nodes, edges, skewed)
            layers = torch.nn.ModuleList([Layer(width), Layer(width)]).to(DEVICE, dtype)
            x = torch.randn(nodes, width, device=DEVICE, dtype=dtype)

            def step():
                layers.zero_grad(set_to_none=True)
                hidden = x
                for layer in layers:
                    hidden = layer(hidden, source, target)
                hidden.float().square().mean().backward()

            def ours():
                with pt.enabled():
                    step()

            ours()
            pt.reset_stats()
            errors = gradient_errors(layers, x, source, target, step, ours)
            served = sum(row["served"] for row in pt.stats().values())
            times = device_milliseconds(step)
            host = host_microseconds({"ours": step}, 1, 3)["ours"] / 1000
            print(f"| {'power law' if skewed else 'uniform'}, {str(dtype)[6:]} | {errors[0]:.1e} | {errors[1]:.1e} | {times['stock']:.3f} | {times['ours']:.3f} | "
                  f"{times['stock'] / times['ours']:.2f} | {host:.2f} | {served} |", flush=True)
            if not QUICK:
                print(f"<!-- {str(pt.stats())!r} -->")
            del source, target, layers, x
    print("\n| kind of call | aten, ms | ours, ms |\n|---|---|---|")
    for kind, (aten, mine) in pt.measurements().items():
        print(f"| {' '.join(str(k) for k in kind)} | {aten:.4f} | {mine:.4f} |")


def embedding():
    print("\n| embedding's forward and backward | stock, ms | enable(), ms | times |\n|---|---|---|---|")
    for vocabulary, tokens, width in ((128_000, 65_536, 1024), (50_257, 32_768, 768),
                                      (1_000_000, 262_144, 128)):
        for dtype in (torch.float32, torch.bfloat16):
            torch.manual_seed(2)
            table = torch.nn.Embedding(vocabulary, width, device=DEVICE, dtype=dtype)
            rank = (
                torch.exp(
                    torch.rand(tokens, device=DEVICE, dtype=torch.float64)
                    * torch.log(torch.tensor(float(vocabulary)))
                ).long()
                - 1
            )
            words = rank.clamp(0, vocabulary - 1)
            grad = torch.randn(tokens, width, device=DEVICE, dtype=dtype)

            def step():
                table.weight.grad = None
                table(words).backward(grad)

            def ours():
                with pt.enabled():
                    step()

            exact = torch.zeros(vocabulary, width, device=DEVICE, dtype=torch.float64).index_add_(0,
                words, grad.double())
            errors = []
            for run in (step, ours):
                run()
                errors.append(((table.weight.grad.double() - exact).norm() / exact.norm()).item())
            assert (
                errors[1] <= 1.1 * errors[0] + 1e-6
            ), f"errors: stock {errors[0]}, ours {errors[1]}"
            del exact
            times = device_milliseconds(step)
            print(f"| {vocabulary} words, {tokens} tokens (Zipf) x {width} {str(dtype)[6:]} | {times['stock']:.3f} | {times['ours']:.3f} | "
                  f"{times['stock'] / times['ours']:.2f} |", flush=True)
            del table, words, grad


def products():
    print("\n| addmm, f32 result of bf16 | stock, ms | enable(), ms | times | served |\n|---|---|---|---|---|")
    for m, n, k in ((1024, 1024, 2048), (4096, 4096, 4096), (8192, 8192, 1024), (1000, 1000, 1000),
                    (4095, 4097, 4099)):
        a, b = torch.randn(m, k, device=DEVICE, dtype=torch.bfloat16), torch.randn(k, n,
            device=DEVICE, dtype=torch.bfloat16)
        c = torch.randn(m, n, device=DEVICE)

        def step():
            return torch.addmm(c, a, b, out_dtype=torch.float32)

        def ours():
            with pt.enabled():
                return step()

        want = step()
        pt.reset_stats()
        error = (ours() - want).abs().max() / want.abs().max()
        assert error < 1e-3, f"results differ by {error}"
        served = pt.stats()["addmm.dtype"]["served"]
        times = device_milliseconds(step)
        print(f"| {m} x {n} x {k} | {times['stock']:.4f} | {times['ours']:.4f} | {times['stock'] / times['ours']:.2f} | "
              f"{'yes' if served else 'no'} |", flush=True)


if __name__ == "__main__":
    parts = {"calls": call_costs, "gnn": gnn, "embedding": embedding, "products": products}
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, ptxgen {ptxgen.__version__}")
    for part in [p for p in sys.argv[1:] if p in parts] or parts:
        parts[part]()
    print(f"\n{pt.stats()}")
