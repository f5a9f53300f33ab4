# The plots of docs/benchmarks.md: their CSV files hold the figures of its tables and no others, the
# pictures are what plot.py makes of the CSV files, need no colour, are well formed and small, and
# the page shows each of them.
set -eu
: "${PTXGEN_SOURCE:?the source}"
command -v python3 >/dev/null || {
    echo "skipped: no python3"
    exit 77
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
die() {
    echo "FAILED: $*" >&2
    exit 1
}
plot=$PTXGEN_SOURCE/tests/bench/plot.py page=$PTXGEN_SOURCE/docs/benchmarks.md \
    plots=$PTXGEN_SOURCE/docs/plots
python3 "$plot" --tables "$page" "$work"
diff -r "$work" "$plots" || die "docs/plots is not what plot.py makes of docs/benchmarks.md"
python3 - "$plots" "$page" <<'END' || die "a picture is not as it should be"
import csv, glob, os, re, sys, xml.dom.minidom

page = open(sys.argv[2]).read()
pictures = sorted(glob.glob(sys.argv[1] + "/*.svg"))
assert len(pictures) >= 10, pictures
for svg in pictures:
    text, name = open(svg).read(), os.path.basename(svg)
    xml.dom.minidom.parseString(text)
    colours = set(re.findall(r'(?:fill|stroke)="(#[0-9a-f]+)"', text))
    assert colours <= {"#000", "#fff"}, f"{name} needs colour: {colours}"
    assert len(text) < 100000, f"{name} is too large"
    assert f"(plots/{name})" in page, f"docs/benchmarks.md does not show {name}"
    lines = open(svg[:-4] + ".csv").readlines()
    floor = next(line for line in lines if line.startswith("# floor: "))[9:].strip()
    head, *rows = csv.reader(line for line in lines if not line.startswith("# "))
    for row in rows:  # every figure of a row is written at a bar; the floor is a line
        for series, figure in zip(head[1:], row[1:]):
            said = series == floor or not figure or f">{figure}</text>" in text
            assert said, f"{name} does not say {figure}"
END

# Another figure is another picture; what is no table of figures is refused in one line.
python3 "$plot" "$plots/scatter_add.csv" "$work/again.svg"
cmp "$plots/scatter_add.svg" "$work/again.svg" || die "the picture of a CSV is another one"
sed 's/,0\.2/,0.3/' "$plots/scatter_add.csv" >"$work/other.csv"
python3 "$plot" "$work/other.csv" "$work/other.svg"
! cmp -s "$work/other.svg" "$plots/scatter_add.svg" || die "a figure is not in the picture"
for bad in /nonexistent.csv "$PTXGEN_SOURCE/README.md"; do
    ! python3 "$plot" "$bad" "$work/none.svg" 2>"$work/err" || die "$bad was drawn"
    [ "$(wc -l <"$work/err")" = 1 ] && [ ! -e "$work/none.svg" ] || die "$bad: $(cat "$work/err")"
done

# A page whose tables changed is refused by the plot's name, before a file that is there is touched.
sed 's/and compiled/and other/' "$page" >"$work/page.md"
mkdir "$work/kept"
cp "$plots"/* "$work/kept"
! python3 "$plot" --tables "$work/page.md" "$work/kept" 2>"$work/err" ||
    die "a table that changed was drawn"
grep -q epilogues "$work/err" || die "the plot is not named: $(cat "$work/err")"
diff -r "$work/kept" "$plots" || die "a table that changed left files broken"
