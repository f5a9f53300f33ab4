# No source files need each other in a circle: the symbols of the library's objects say which file
# calls which.
set -eu
: "${PTXGEN_SOURCE:=$(dirname "$0")/../..}" # so that it runs by hand, too
cd "$PTXGEN_SOURCE"
: "${PTXGEN_BUILD:=build/release}"
command -v nm >/dev/null || exit 77
objects=$(find "$PTXGEN_BUILD/CMakeFiles/ptxgen_objects.dir" -name '*.c.o' | sort)
[ "$(echo "$objects" | wc -l)" -gt 200 ] || {
    echo "found only these objects: $objects" >&2
    exit 1
}

# Lines "FILE KIND SYMBOL" of the objects whose source is still there; of a compiled template that
# is the template.
current=$(for object in $objects; do
    file=${object##*ptxgen_objects.dir/}
    file=${file%.o}
    case $file in
    generated/templates/*.ptxc.c)
        file=${file#generated/}
        file=${file%.c}
        ;;
    esac
    [ ! -f "$file" ] || echo "$object"
done)
echo "$current" | grep -q '\.ptxc\.c\.o$' || {
    echo "found no compiled template" >&2
    exit 1
}
symbols=$(nm -A -P $current |
    sed 's|^.*ptxgen_objects\.dir/||; s|^generated/\(.*\.ptxc\)\.c\.o: *|\1 |; s|\.o: *| |' |
    awk '{ print $1, $3, $2 }')

# "A needs B" for each edge of a circle: B needs A too, perhaps by way of others.
circles=$(echo "$symbols" | awk '
    $2 == "U" { needs[$1 " " $3] = 1; next }
    $2 ~ /^[TDBRVWC]$/ { home[$3] = $1 }
    function reaches(from, to,    i, n, next_files) {
        if (from == to) return 1
        if (from in seen) return 0
        seen[from] = 1
        n = split(out[from], next_files, " ")
        for (i = 1; i <= n; i++) if (reaches(next_files[i], to)) return 1
        return 0
    }
    END {
        for (need in needs) {
            split(need, part, " ")
            to = home[part[2]]
            if (to == "" || to == part[1] || (part[1] " " to) in edge) continue
            edge[part[1] " " to] = 1
            out[part[1]] = out[part[1]] " " to
        }
        for (e in edge) {
            split(e, part, " ")
            split("", seen)
            if (reaches(part[2], part[1])) print part[1] " needs " part[2]
        }
    }' | sort)
[ -z "$circles" ] || {
    echo "these files need each other in a circle:" >&2
    echo "$circles" >&2
    exit 1
}
