# The plots of docs/benchmarks.md: their CSV files hold the figures of its tables and no others, the pictures are what
# plot.py makes of the CSV files, need no colour, are well formed and small, and the page shows each of them.
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
plot=$PTXGEN_SOURCE/tests/bench/plot.py page=$PTXGEN_SOURCE/docs/benchmarks.md
python3 "$plot" --tables "$page" "$work"
diff -r "$work" "$PTXGEN_SOURCE/docs/plots" || die "docs/plots is not what plot.py makes of docs/benchmarks.md"
shown=0
for svg in "$PTXGEN_SOURCE"/docs/plots/*.svg; do
    name=$(basename "$svg" .svg)
    python3 "$plot" "$PTXGEN_SOURCE/docs/plots/$name.csv" "$work/again.svg"
    cmp "$svg" "$work/again.svg" || die "$name.svg is not the picture of $name.csv"
    python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' "$svg" || die "$name.svg is not well formed"
    ! grep -oE '(fill|stroke)="#[0-9a-f]+"' "$svg" | grep -qvE '"#(000|fff)"' || die "$name.svg needs colour"
    [ "$(wc -c <"$svg")" -lt 100000 ] || die "$name.svg is too large"
    grep -q "(plots/$name.svg)" "$page" || die "docs/benchmarks.md does not show $name.svg"
    # Every figure of a row is written at a bar (the floor is a line).
    for figure in $(sed -n '7,$p' "$PTXGEN_SOURCE/docs/plots/$name.csv" | sed 's/.*",//; s/^[^,]*,//' | cut -d, -f1 | grep -v '^$'); do
        grep -q ">$figure</text>" "$svg" || die "$name.svg does not say $figure"
    done
    shown=$((shown + 1))
done
[ "$shown" -ge 10 ] || die "only $shown plots"

# Another figure is another picture; what is no table of figures is refused in one line.
sed 's/0\.2338/0.3338/' "$PTXGEN_SOURCE/docs/plots/scatter_add.csv" >"$work/other.csv"
python3 "$plot" "$work/other.csv" "$work/other.svg"
! cmp -s "$work/other.svg" "$PTXGEN_SOURCE/docs/plots/scatter_add.svg" || die "a figure is not in the picture"
for bad in /nonexistent.csv "$PTXGEN_SOURCE/README.md"; do
    ! python3 "$plot" "$bad" "$work/none.svg" 2>"$work/err" || die "$bad was drawn"
    [ "$(wc -l <"$work/err")" = 1 ] && [ ! -e "$work/none.svg" ] || die "$bad: $(cat "$work/err")"
done
