# One word for one thing: what the last column of docs/words.md lists is in no document, public
# header, help or message.
set -eu
: "${PTXGEN_SOURCE:=$(dirname "$0")/../..}" # so that it runs by hand, too
cd "$PTXGEN_SOURCE"
# A row is "| word | meaning | not, not |".
sed -n 's/^| [^|]* | [^|]* | \(.*\) |$/\1/p' docs/words.md | grep -v '^not$' | tr ',' '\n' |
    sed 's/^ *//; s/ *$//' | grep . >"${TMPDIR:-/tmp}/words.$$"
trap 'rm -f "${TMPDIR:-/tmp}/words.$$"' EXIT
[ "$(wc -l <"${TMPDIR:-/tmp}/words.$$")" -gt 20 ] || {
    echo "docs/words.md: the table was not understood"
    exit 1
}
# Documents and headers as they are; of the command's sources and the library's messages what is in
# quotes.
{
    grep -nH '' README.md docs/*.md include/ptxgen/* | grep -v '^docs/words.md:'
    grep -rnHoE '"[^"]*"' tools src --include='*.[ch]'
} | grep -iwFf "${TMPDIR:-/tmp}/words.$$" && {
    echo "docs/words.md has another word for each of these"
    exit 1
}
exit 0
