# What CONTRIBUTING.md promises of every file, and that a machine can see.
set -eu
: "${PTXGEN_SOURCE:=$(dirname "$0")/../..}" # so that it runs by hand, too
cd "$PTXGEN_SOURCE"
: "${PTXGEN_BUILD:=build/release}"
bad=0
complain() {
    echo "$*" >&2
    bad=1
}
# Ours: what git would track and is still there, or everything but build trees in a copy without
# git.
build=${PTXGEN_BUILD#"$PTXGEN_SOURCE"/}
files=$(git ls-files --cached --others --exclude-standard 2>/dev/null ||
    find . -type f ! -path './build/*' ! -path "./$build/*" ! -path './.git/*' | sed 's|^\./||')
files=$(echo "$files" | xargs ls -d 2>/dev/null || true)
sources=$(echo "$files" | grep -E '\.(c|h|def|ptxc|sh|cmake)$|CMakeLists.txt$')
[ "$(echo "$sources" | wc -l)" -gt 50 ] || complain "found only these sources: $sources"

for line in $(wc -l $sources | awk '$2 != "total" && $1 > 800 { print $2 ":" $1 }'); do
    complain "$line lines; 800 is the limit of a file"
done
lines=$(wc -l <tools/ptxt.c)
[ "$lines" -le 250 ] || complain \
    "tools/ptxt.c has $lines lines; the template language stays small: 250"
# A PTX line of a template is as long as the line that it writes.
for line in $(awk '/^ *\|/ && FILENAME ~ /ptxc$/ { if (length > 120) print FILENAME ":" FNR; next }
    length > 100 { print FILENAME ":" FNR }' $(echo "$sources" | grep -E '\.(c|h|ptxc)$')); do
    complain "$line is longer than 100 columns (PTX in a template: 120)"
done

# Data may be as wide as it has to be: here-documents, and a quoted text that without it leaves 60
# columns or fewer.
wide='
    FNR == 1 { end = "" }
    end != "" { if ($1 == end) end = ""; next }
    FILENAME ~ /sh$/ && !/^ *#/ && match($0, /<<-?["\047]?[A-Za-z_]+/) {
        end = substr($0, RSTART, RLENGTH); gsub(/[^A-Za-z_]/, "", end)
    }
    length > 100 {
        text = $0; gsub(/"[^"]*"/, "", text); gsub(/\047[^\047]*\047/, "", text)
        if (length(text) > 60) print FILENAME ":" FNR
    }'
for line in $(awk "$wide" $(echo "$files" | grep -E '\.(sh|py)$')); do
    complain "$line is longer than 100 columns"
done

# Each C file begins with a comment that says what it is, or with its header, which says it.
for line in $(awk 'FNR == 1 && !/^\/\*/ && !/^#include "/ { print FILENAME }' \
    $(echo "$sources" | grep -E '^(src|templates|include|tools)/.*\.[ch]$')); do
    complain "$line does not begin with a comment"
done

# A comment that names a file names one that is there.
names=$(echo "$files" | sed 's|.*/||' | sort -u | tr '\n' ' ')
for line in $(awk -v names="$names" '
    BEGIN { n = split(names, list, " "); for (i = 1; i <= n; i++) here[list[i]] = 1 }
    FNR == 1 { inside = 0 }
    {
        text = $0; comment = ""
        while (text != "")
            if (inside) {
                end = index(text, "*/")
                comment = comment " " (end ? substr(text, 1, end - 1) : text)
                text = end ? substr(text, end + 2) : ""
                if (end) inside = 0
            } else {
                start = index(text, "/*")
                text = start ? substr(text, start + 2) : ""
                if (start) inside = 1
            }
        n = split(comment, words, /[^A-Za-z0-9_.<]+/)
        for (i = 1; i <= n; i++) {
            word = words[i]; sub(/\.+$/, "", word)
            if (word ~ /^[a-z][a-z0-9_]*\.(c|h|def|ptxc|sh)$/ && !(word in here))
                print FILENAME ":" FNR ":" word
        }
    }' $(echo "$sources" | grep -E '^(src|templates|include|tools|tests)/.*\.(c|h|def|ptxc)$')); do
    complain "$line: there is no such file"
done

# The library never prints, exits, aborts or changes the locale, and reads the environment in one
# place.
calls='printf|puts|putchar|fprintf|vprintf|vfprintf|perror|exit|quick_exit|abort|setlocale|system|popen|atof|getenv|secure_getenv|signal'
found=$(awk -v calls="(^|[^A-Za-z0-9_.>])($calls) *\\\\(" '
    { text = $0; gsub(/"[^"]*"/, "", text); gsub(/\/\*.*\*\//, "", text); sub(/\/\*.*/, "", text) }
    text ~ /^ *(\*|\|)/ { next }
    FILENAME == "src/api/environment.c" { gsub(/secure_getenv/, "", text) }
    text ~ calls { print FILENAME ":" FNR ": " $0 }' \
    $(echo "$sources" | grep -E '^(src|templates)/.*\.(c|h|ptxc|def)$'))
[ -z "$found" ] || complain "the library may not do this: $found"

# No unfinished work, no folder of one machine, no package host.
words='\bTO[D]O\b|\bFIX[M]E\b|\bXX[X]\b|\bHA[C]K\b|unimplemen[t]ed'
places='/wor[k]/|/roo[t]/|py[p]i\.org|de[b]ian\.org|ubuntu\.co[m]'
found=$(grep -nIE "$words|$places" \
    $(echo "$files" | grep -vE '\.(npy|cubin|csv|bin)$|^tests/fuzz/corpus') || true)
[ -z "$found" ] || complain "left over: $found"
exit $bad
