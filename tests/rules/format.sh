# C is laid out as .clang-format says, by release 14 (releases differ); public headers are laid out
# by hand. Without that release the test is skipped.
set -eu
: "${PTXGEN_SOURCE:=$(dirname "$0")/../..}" # so that it runs by hand, too
cd "$PTXGEN_SOURCE"
for tool in clang-format-14 clang-format; do
    case $("$tool" --version 2>/dev/null) in
    *"version 14."*) break ;;
    *) tool= ;;
    esac
done
if [ -z "$tool" ]; then
    echo "clang-format 14 is not installed"
    exit 77
fi
files=$(git ls-files --cached --others --exclude-standard 'src/*.[ch]' 'templates/*.[ch]' \
    'tools/*.[ch]' 'python/*.[ch]' \
    'tests/*.[ch]' 'stand_in/*.[ch]' 2>/dev/null ||
    find src templates tools tests stand_in python -name '*.[ch]')
files=$(ls -d $files 2>/dev/null || true)
[ "$(echo "$files" | wc -l)" -gt 50 ] || {
    echo "found only these sources: $files" >&2
    exit 1
}
"$tool" --dry-run -Werror $files >/dev/null 2>&1 && exit 0
for file in $files; do
    "$tool" --dry-run -Werror "$file" 2>/dev/null || echo "$file: run $tool -i $file" >&2
done
exit 1
