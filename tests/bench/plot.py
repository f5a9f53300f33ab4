#!/usr/bin/env python3
"""Plots of the tables of docs/benchmarks.md: bars of ours and of our peers, a line where the floor
is.

    python3 tests/bench/plot.py docs/plots/scatter_add.csv scatter_add.svg    # one picture of one
    CSV python3 tests/bench/plot.py --tables docs/benchmarks.md docs/plots        # every CSV and
    SVG again, from the tables

A CSV says in lines that begin with # what it shows: title, axis, ours, peers and floor (names of
columns). Its first column names the rows. Pictures need no colour (each series has its own
hatching, each bar its number) and are the same at every run."""
import csv
import math
import os
import re
import sys
from xml.sax.saxutils import escape

# Name of the CSV; words of the table's head; how a row is named; columns as series of ours, of
# peers, and the floor.
TABLES = {
    "scatter_add": dict(
        title="scatter_add on one H200", axis="milliseconds", after="## scatter_add on a GPU",
        table=0,
        label=["index", "rows", "out rows", "n", "dtype"], ours=["auto", "plan"],
        peers=["PyTorch", "seed"], floor="floor"),
    "scatter_add_distributions": dict(
        title="scatter_add on one H200, other distributions", axis="milliseconds",
        after="## scatter_add on a GPU", table=1,
        label=["index", "rows", "out rows", "n", "dtype"], ours=["auto", "plan"],
        peers=["PyTorch", "seed"], floor="floor"),
    "scatter_add_small": dict(
        title="scatter_add on one H200, small calls", axis="milliseconds",
        after="## scatter_add on a GPU", table=3,
        label=["index", "rows", "out rows", "n", "dtype"], ours=["auto", "plan"],
        peers=["PyTorch", "seed"], floor="floor"),
    "scatter_add_groups": dict(
        title="scatter_add on one H200, few groups", axis="milliseconds",
        after="## scatter_add on a GPU", table=4,
        label=["index", "rows", "out rows", "n", "dtype"], ours=["auto"], peers=["seed", "vector"],
        floor="floor"),
    "scatter_add_uses": dict(
        title="scatter_add fused with a gather and a weight, one H200", axis="milliseconds",
        after="### Uses", table=0,
        label=[0, "dtype"], ours=["one call", "prepared"],
        peers=["index_select, multiply, index_add_"]),
    "matmul_row_major": dict(
        title="matmul_accumulate beside cuBLASLt on one H200, B row-major", axis="TFLOP/s",
        after="## matmul_accumulate on a GPU", table=0, label=[0],
        split=("row-major: first / best / ours", ["first heuristic", "best algorithm", "ours"]),
        ours=["ours"], peers=["first heuristic", "best algorithm"]),
    "matmul_transposed": dict(
        title="matmul_accumulate beside cuBLASLt on one H200, B transposed", axis="TFLOP/s",
        after="## matmul_accumulate on a GPU", table=0, label=[0],
        split=("transposed: first / best / ours", ["first heuristic", "best algorithm", "ours"]),
        ours=["ours"], peers=["first heuristic", "best algorithm"]),
    "stall": dict(
        title="calls of new shapes with stall=never, one H200", axis="microseconds of host time",
        after="## Calls that do not stall", table=0, label=["family"],
        ours=["median", "99th percentile", "slowest", "the very first call"], peers=[]),
    "epilogues": dict(
        title="one kernel beside a product and a pointwise kernel, one H200", axis="microseconds",
        after="## Epilogues of matmul_accumulate", table=2, label=[0], ours=["ours"],
        peers=["and eager", "and compiled"], floor="product alone"),
    "blackwell_model": dict(
        title="matmul_accumulate on Blackwell by the model (not measured)", axis="TFLOP/s",
        after="## Blackwell by a model",
        table=0, label=[0],
        ours=["`schedule=fill`, tile by the model", "`schedule=seed`, 128x128, 5 stages"],
        peers=[]),
}

# ---- from the tables to CSV ----


def tables_after(text, heading):
    """The tables between a heading and the next of its level, each a list of rows of cells."""
    level = heading.split()[0]
    lines = text[text.index(f"\n{heading}\n") + 1:].splitlines()[1:]
    found, table = [], []
    for line in lines + [""]:
        if line.startswith(level + " "):
            break
        if line.startswith("|"):
            table.append([cell.strip() for cell in line.strip("|").split("|")])
        elif table:
            found.append(table)
            table = []
    return found + ([table] if table else [])


def number(cell):
    """The figure at the begin of a cell; "" where there is none."""
    match = re.match(r"[0-9][0-9,]*(\.[0-9]+)?", cell)
    return match.group(0).replace(",", "") if match else ""


def table_csv(text, plot):
    head, _, *rows = tables_after(text, plot["after"])[plot["table"]]
    column = lambda name: name if isinstance(name, int) else head.index(name)
    series = plot["ours"] + plot["peers"] + ([plot["floor"]] if "floor" in plot else [])
    lines = [f"# {key}: {value}" for key, value in
             [("title", plot["title"]), ("axis", plot["axis"]), ("ours", "; ".join(plot["ours"])),
              ("peers", "; ".join(plot["peers"])), ("floor", plot.get("floor", ""))]]
    quoted = lambda cells: ",".join(f'"{c}"' if "," in c else c for c in cells)
    lines.append(quoted(["row"] + series))
    above = []
    for row in rows:
        row = [above[i] if cell == "the same" else cell for i, cell in enumerate(row)]
        above = row
        label = " ".join(row[column(c)] for c in plot["label"])
        if "split" in plot:
            parts = dict(zip(plot["split"][1], row[column(plot["split"][0])].split(" / ")))
            cells = [number(parts[s]) for s in series]
        else:
            cells = [number(row[column(s)]) for s in series]
        lines.append(quoted([label] + cells))
    return "\n".join(lines) + "\n"


def sheet(text, name, plot):
    """The CSV of a plot, or which plot no longer fits its table."""
    try:
        return table_csv(text, plot)
    except (ValueError, IndexError, KeyError) as error:
        raise ValueError(f"{name}: table {plot['table']} after '{plot['after']}' does not fit it ({error})") from error


# ---- from CSV to SVG ----

BAR, GAP, LETTER, PLOT = 13, 12, 8, 620
HATCHES = {  # of 6 by 6 pixels: told apart in grey and on paper
    "solid": '<rect width="6" height="6" fill="#000"/>',
    "dense": '<path d="M0 6L6 0M-1 1L1 -1M5 7L7 5" stroke="#000" stroke-width="2.4"/>',
    "dots": '<circle cx="2" cy="2" r="1.2" fill="#000"/>',
    "lines": '<path d="M0 3H6" stroke="#000"/>',
    "empty": "",
}


def read(path):
    about, body = {}, []
    with open(path, encoding="utf-8") as file:
        for line in file:
            key = re.match(r"# (\w+): *(.*)", line)
            if key:
                about[key.group(1)] = key.group(2)
            else:
                body.append(line)
    head, *rows = csv.reader(body)
    names = lambda key: [name for name in about.get(key, "").split("; ") if name]
    value = lambda text: float(text) if text else None
    data = [
        (row[0], {name: (value(text), text) for name, text in zip(head[1:], row[1:])})
        for row in rows
    ]
    return about, names, data


def axis_of(data, names):
    """A logarithmic axis where the values spread over more than a decade, else one from zero: a
    scale and its marks."""
    values = [data_row[1][n][0] for data_row in data for n in names if data_row[1][n][0]]
    low, high = min(values), max(values)
    if high / low > 10:
        first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
        scale = lambda v: PLOT * (math.log10(v) - first) / (last - first)
        return scale, [(scale(10.0**e), f"{10.0**e:g}") for e in range(first, last + 1)]
    step = next(s for s in (m * 10.0**e for e in range(-6, 9) for m in (1, 2, 5)) if high / s <= 6)
    top = step * math.ceil(high / step)
    return lambda v: PLOT * v / top, [
        (PLOT * i * step / top, f"{i * step:g}") for i in range(round(top / step) + 1)
    ]


def legend(series, floor, x, y):
    out = []
    for name, hatch in series:
        out.append(f'<rect x="{x}" y="{y - 10}" width="24" height="{BAR - 2}" fill="url(#{hatch})" stroke="#000"/>')
        out.append(f'<text x="{x + 30}" y="{y}">{escape(name)}</text>')
        x += 50 + LETTER * len(name)
    if floor:
        out.append(f'<path d="M{x + 4} {y - 12}v{BAR + 2}" stroke="#000" stroke-width="3"/>')
        out.append(f'<text x="{x + 14}" y="{y}">{escape(floor)}</text>')
    return out


def draw(path):
    about, names, data = read(path)
    ours, peers, floor = names("ours"), names("peers"), about.get("floor", "")
    hatches = ["solid", "dense", "dots", "lines"] if len(ours) > 2 else ["solid", "dense"]
    series = list(zip(ours, hatches)) + list(zip(peers, ["empty", "dots", "lines"]))
    scale, marks = axis_of(data, [name for name, _ in series] + ([floor] if floor else []))
    left = 12 + LETTER * max(len(label) for label, _ in data)
    group = BAR * len(series) + GAP
    top, width = 70, left + PLOT + 90
    bottom = top + group * len(data)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{bottom + 44}" font-family="monospace" '
           'font-size="12">', '<rect width="100%" height="100%" fill="#fff"/>', "<defs>"]
    for name, shape in HATCHES.items():
        out.append(f'<pattern id="{name}" width="6" height="6" patternUnits="userSpaceOnUse">'
                   f'<rect width="6" height="6" fill="#fff"/>{shape}</pattern>')
    out.append("</defs>")
    out.append(f'<text x="12" y="22" font-weight="bold">{escape(about["title"])}: {escape(about["axis"])}</text>')
    out += legend(series, floor, 12, 46)
    for x, mark in marks:
        out.append(f'<path d="M{left + x:.1f} {top}V{bottom}" stroke="#000" stroke-width="0.3"/>'
                   f'<text x="{left + x:.1f}" y="{bottom + 18}" text-anchor="middle">{mark}</text>')
    y = top + GAP // 2
    for label, values in data:
        middle = y + BAR * len(series) // 2
        out.append(f'<text x="{left - 6}" y="{middle + 4}" text-anchor="end">{escape(label)}</text>')
        for i, (name, hatch) in enumerate(series):
            value, text = values[name]
            if value is None:
                continue
            length = max(scale(value), 1)
            out.append(f'<rect x="{left}" y="{y + i * BAR}" width="{length:.1f}" height="{BAR - 2}" fill="url(#{hatch})" '
                       f'stroke="#000"/><text x="{left + length + 5:.1f}" y="{y + i * BAR + 10}">{text}</text>')
        if floor and values[floor][0]:
            line = f'<path d="M{left + scale(values[floor][0]):.1f} {y - 3}v{BAR * len(series) + 4}"'
            out += [f'{line} stroke="#fff" stroke-width="7"/>',
                    f'{line} stroke="#000" stroke-width="3"/>']
        y += group
    out.append(f'<path d="M{left} {top}V{bottom}H{left + PLOT}" fill="none" stroke="#000"/>')
    kind = "logarithmic" if len(marks) > 1 and marks[0][1] != "0" else "from zero"
    out.append(f'<text x="{left}" y="{bottom + 36}">{escape(about["axis"])}, {kind}</text></svg>')
    return "\n".join(out) + "\n"


def main(arguments):
    if len(arguments) == 3 and arguments[0] == "--tables":
        with open(arguments[1], encoding="utf-8") as file:
            text = file.read()
        # all, before a file is opened
        sheets = {name: sheet(text, name, plot) for name, plot in TABLES.items()}
        for name, rows in sheets.items():
            with open(os.path.join(arguments[2], name + ".csv"), "w", encoding="utf-8") as file:
                file.write(rows)
            picture = draw(os.path.join(arguments[2], name + ".csv"))
            with open(os.path.join(arguments[2], name + ".svg"), "w", encoding="utf-8") as file:
                file.write(picture)
    elif len(arguments) == 2:
        picture = draw(arguments[0])
        with open(arguments[1], "w", encoding="utf-8") as file:
            file.write(picture)
    else:
        sys.exit(__doc__)


try:
    main(sys.argv[1:])
except (OSError, ValueError, KeyError, IndexError) as error:
    sys.exit(f"plot.py: {error}")
