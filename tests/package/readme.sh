# What README.md shows exists and works: the program in it is compiled and run, its commands are
# there, its exit codes are those of the command's help.
set -eu
cd "$PTXGEN_SOURCE"
die() {
    echo "FAILED: $*" >&2
    exit 1
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Every subcommand named anywhere in the documents, and every script.
for word in $(grep -ohE '`?ptxgen [a-z]+' README.md CONTRIBUTING.md CHANGELOG.md | sed 's/.* //' |
    sort -u); do
    "$PTXGEN" "$word" --help >"$work/help" 2>&1 ||
        die "the documents name 'ptxgen $word', which the command does not have"
done
for file in $(grep -ohE '(tools|tests|include|templates|docs|cmake)/[A-Za-z0-9_./]*\.[a-z]+' \
    README.md CONTRIBUTING.md | sort -u); do
    [ -e "$file" ] || die "the documents name $file, which is not there"
done
# Options that README names, in some subcommand's help.
for s in $("$PTXGEN" --help | sed -n '/^subcommands/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
    "$PTXGEN" "$s" --help; done >"$work/helps"
for option in $(grep -ohE '`[^`]*--[a-z-]+' README.md | grep -oE -- '--[a-z-]+' | sort -u); do
    case $option in --help | --prefix | --cflags | --libs | --install | --preset | --build | \
        --target) continue ;; esac
    grep -q -- "$option" "$work/helps" || die "README names $option, which no subcommand takes"
done

# Exit codes: the same sentences in the table and in --help.
"$PTXGEN" --help >"$work/help"
for code in 0 1 2 3 4 5; do
    text=$(sed -n "s/^| $code | \(.*\) |\$/\1/p" README.md)
    grep -qF "  $code  $text" "$work/help" ||
        die "exit code $code: README says '$text', --help does not"
done

if grep -q '^PTXGEN_SANITIZE:STRING=.' "$PTXGEN_BUILD/CMakeCache.txt"; then
    exit 0
fi
# The program, as it stands.
sed -n '/^```c$/,/^```$/p' README.md | grep -v '^```' >"$work/program.c"
cc -std=c11 -Wall -Wextra -Werror -Iinclude "$work/program.c" -o "$work/program" \
    -L"$PTXGEN_BUILD" -lptxgen ||
    die "the program in README.md does not compile"
export LD_LIBRARY_PATH=$PTXGEN_BUILD PTXGEN_CACHE=off
code=0
"$work/program" >"$work/out" 2>"$work/err" || code=$?
if [ $code != 0 ] && grep -q 'PTXGEN_DEVICE\|device=' "$work/err"; then
    echo "skipped: no device here: $(cat "$work/err")"
    exit 77
fi
[ "$(cat "$work/out")" = "2 5" ] ||
    die "the program printed '$(cat "$work/out")' and '$(cat "$work/err")', not 2 5"
