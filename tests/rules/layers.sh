# The direction of dependence: the tables of ARCHITECTURE.md say which folder may include what, and
# the #include lines are held to them.
set -eu
: "${PTXGEN_SOURCE:=$(dirname "$0")/../..}" # so that it runs by hand, too
cd "$PTXGEN_SOURCE"
bad=0
complain() {
    echo "$*" >&2
    bad=1
}

# Lines "FOLDER WORD...": the rows of ARCHITECTURE.md whose first cell is a folder. A word is a file
# or folder as #include lines name it, or one beside the row's folder. "all above" are the table's
# earlier rows, "templates" every family.
rules=$(awk -F'|' -v families="$(ls templates | tr '\n' ' ')" '
    /^\|---/ { above = "" }
    $2 ~ /^ `[a-z_\/]*\/` $/ {
        folder = $2; gsub(/[ `]/, "", folder); sub(/\/$/, "", folder)
        words = $4; gsub(/,/, " ", words)
        sub(/all above/, above, words); sub(/templates/, families, words); sub(/ - /, "", words)
        print folder, words
        name = folder; sub(/.*\//, "", name); above = above " " name
    }' ARCHITECTURE.md)
[ "$(echo "$rules" | wc -l)" -gt 25 ] || complain "found only these rows in ARCHITECTURE.md: $rules"

# Lines "FILE INCLUDED", one with nothing included for each file.
includes=$(find include src templates tools stand_in -name '*.[ch]' -o -name '*.def' \
    -o -name '*.ptxc' | sort |
    xargs awk 'FNR == 1 { print FILENAME }
        /^ *# *include *"/ { split($0, part, "\""); print FILENAME, part[2] }')
wrong=$({ echo "$rules" && echo -- && echo "$includes"; } | awk '
    $1 == "--" { ready = 1; next }
    !ready { folder = $1; $1 = ""; allowed[folder] = $0; next }
    function row_of(folder) { # its own, or that of a folder above it
        while (!(folder in allowed) && sub(/\/[^\/]*$/, "", folder)) { }
        return folder
    }
    NF == 1 { exists[$1] = 1 }
    {
        own = $1; sub(/\/[^\/]*$/, "", own)
        row = row_of(own)
        if (!(row in allowed) && $1 != "tools/ptxt.c") print $1 " is in no row of ARCHITECTURE.md"
        used[row] = 1
    }
    NF == 2 && (own "/" $2) in exists { next }
    NF == 2 {
        room = own; sub(/^(src|include|templates|tools)\//, "", room)
        home = row; sub(/^(src|include|templates|tools)\//, "", home)
        parent = home; sub(/[^\/]*$/, "", parent)
        n = split(allowed[row] " ptxgen " room " " home, words, " ")
        for (i = 1; i <= n; i++)
            if (index($2 "/", words[i] "/") == 1 || index($2 "/", parent words[i] "/") == 1) next
        print $1 " includes \"" $2 "\"; " row " may include:" allowed[row]
    }
    END { for (row in allowed) if (!(row in used)) print "no source in " row ", which has a row" }')
[ -z "$wrong" ] || complain "$wrong"

# CUDA's headers are nowhere, and only the driver table names the driver's entry points.
for file in $(grep -rlE '# *include *[<"](cuda|nv)[A-Za-z_]*\.h' src include templates tools); do
    complain "$file includes a CUDA header"
done
for file in $(grep -rlE '"cu[A-Z][A-Za-z]*"|\bcuGetProcAddress *\(' src --include='*.[ch]'); do
    case $file in src/device/cuda/driver.[ch]) continue ;; esac
    complain "$file names CUDA driver entry points; only src/device/cuda/driver.[ch] do"
done
exit $bad
