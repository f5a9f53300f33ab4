"""Grows the trees of templates/matmul_accumulate/hopper_correction.c from measurements.

    bench_matmul_cublaslt --plan PLAN --csv sweep.csv
    bench_matmul_facts <sweep.csv >facts.csv
    python3 fit_correction.py facts.csv... >templates/matmul_accumulate/hopper_correction.c

Of all problems 200 are held out; what the choice loses on them, and on the others, goes to standard error.
Needs numpy and scikit-learn.
"""
import math
import sys

import numpy
from sklearn.ensemble import HistGradientBoostingRegressor

HELD_OUT, TREES, LEAVES, RATE = 200, 150, 12, 0.12
NEAR = 4  # how much more a kernel near the best weighs

HEAD = """/* What measurements on an H200 say of the model (hopper_model.c): boosted regression trees, grown by
 * tests/bench/cublaslt/fit_correction.py on %d problems with %d kernels; docs/benchmarks.md says how well they
 * choose on others. Generated: grow it anew instead of editing it. */
#include "matmul_accumulate/hopper_model.h"

/* A fact that is not above the limit goes on at `next`, else at the node after that; of a leaf, which
 * has no fact (-1), the limit is the value. */
typedef struct node {
    float limit;
    uint16_t next; /* counted from the tree's first node */
    int8_t fact;
} node;
"""

TAIL = """
double pg_hopper_correction(const double facts[PG_HOPPER_FACTS])
{
    double sum = 0;
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
        const node *tree = &nodes[roots[i]], *at = tree;
        while (at->fact >= 0)
            at = &tree[at->next + (facts[at->fact] > (double)at->limit)];
        sum += (double)at->limit;
    }
    return sum;
}
"""


def read(paths):
    names, numbers = [], []
    for path in paths:
        for line in open(path):
            name, *rest = line.split(",")
            names.append(name)
            numbers.append([float(x) for x in rest])
    table = numpy.array(numbers)
    return numpy.array(names), table[:, 0], table[:, 1], table[:, 2:]


def loss(problems, us, rating, best):
    """The time of what is rated best over the best time, for each problem."""
    return numpy.array([us[i][numpy.argmin(rating[i])] / best[p] for p, i in problems.items()])


def say(what, x):
    print(f"{what}: geometric mean {math.exp(numpy.log(x).mean()):.4f}, median {numpy.median(x):.4f}, "
          f"90% {numpy.percentile(x, 90):.3f}, worst {x.max():.2f} ({len(x)} problems)", file=sys.stderr)


def flat(tree):
    """Nodes in the order of a walk that puts the two nodes below one side by side."""
    order, rows = [0], {}
    for i in order:
        if not tree[i]["is_leaf"]:
            rows[i] = len(order)
            order += [tree[i]["left"], tree[i]["right"]]
    return [(tree[i]["value"], 0, -1) if tree[i]["is_leaf"]
            else (tree[i]["num_threshold"], rows[i], tree[i]["feature_idx"]) for i in order]


def text(value):
    digits = f"{value:.5g}"
    return digits + ("F" if "." in digits or "e" in digits else ".F")


def write(model, problems, kernels):
    nodes, roots = [], []
    for [tree] in model._predictors:
        roots.append(len(nodes))
        nodes += flat(tree.nodes)
    print(HEAD % (problems, kernels), end="")
    print("/* clang-format off */\nstatic const node nodes[] = {")
    cells = [f"{{{text(limit)},{next_},{fact}}}," for limit, next_, fact in nodes]
    line = "   "
    for cell in cells:
        if len(line) + len(cell) > 97:
            print(line)
            line = "   "
        line += " " + cell
    print(line + "\n};\nstatic const uint16_t roots[] = {")
    for i in range(0, len(roots), 16):
        print("    " + " ".join(f"{r}," for r in roots[i:i + 16]))
    print("};\n/* clang-format on */")
    print(TAIL, end="")


def main():
    names, us, model_us, facts = read(sys.argv[1:])
    where = {p: numpy.where(names == p)[0] for p in sorted(set(names))}
    best = {p: us[i].min() for p, i in where.items()}
    error = numpy.log(us / model_us)
    for i in where.values():
        error[i] -= error[i].mean()
    weight = numpy.array([(best[p] / t) ** NEAR for p, t in zip(names, us)])
    shuffled = numpy.random.RandomState(7).permutation(sorted(where))
    held = {p: where[p] for p in shuffled[:HELD_OUT]}
    used = {p: where[p] for p in shuffled[HELD_OUT:]}
    rows = numpy.concatenate(list(used.values()))
    trees = HistGradientBoostingRegressor(max_iter=TREES, max_leaf_nodes=LEAVES, learning_rate=RATE,
                                          min_samples_leaf=20, l2_regularization=1, early_stopping=False)
    trees.fit(facts[rows], error[rows], sample_weight=weight[rows])
    rating = numpy.log(model_us) + trees.predict(facts)
    say("model alone, held out", loss(held, us, numpy.log(model_us), best))
    say("corrected, held out", loss(held, us, rating, best))
    say("corrected, fitted", loss(used, us, rating, best))
    write(trees, len(used), len(rows))


main()
