# The cases are what their generators write: nobody edits one by hand, and no change of a generator
# stays without its files. GENERATORS names the modules to run (the quick ones; all: every one, and
# every case comes from one).
set -eu
command -v python3 >/dev/null || exit 77
into=$(mktemp -d)
trap 'rm -rf "$into"' EXIT
cases=$PTXGEN_SOURCE/tests/emulator/cases
quick="blackwell_copy bulk control im2col integer memory misc sync tensor_memory texture video warp"
modules=${GENERATORS:-$quick}
[ "$modules" != all ] || modules=
# shellcheck disable=SC2086
PYTHONDONTWRITEBYTECODE=1 python3 "$PTXGEN_SOURCE/tests/emulator/generate/generate.py" \
    --into "$into" $modules
[ "$(ls "$into" | wc -l)" -gt 50 ] || {
    echo "only these were written: $(ls "$into")" >&2
    exit 1
}
bad=0
for file in "$into"/*; do
    cmp "$file" "$cases/${file##*/}" >&2 || bad=1
done
if [ -z "$modules" ]; then
    for file in "$cases"/*; do
        [ -f "$into/${file##*/}" ] || {
            echo "no generator writes ${file##*/}" >&2
            bad=1
        }
    done
fi
[ $bad = 0 ] || echo "run python3 tests/emulator/generate/generate.py, and look at what changes" >&2
exit $bad
