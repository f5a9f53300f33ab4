# Fingerprints of families: another family, or an edit in one, leaves the entries of all others
# valid; an edit of what they share leaves none.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/src" && cp -r templates tools "$work" && cp -r src/generate "$work/src"

prints() { # FILE
    families=$(sed -n 's/^PG_[A-Z]*(\([a-z0-9_]*\)).*/\1/p' "$work/templates/families.def" |
        tr '\n' ';')
    files=$(find "$work/templates" "$work/src" -name '*.[ch]' -o -name '*.ptxc' | tr '\n' ';')
    cmake "-DROOT=$work" "-DFILES=${files%;}" "-DFAMILIES=${families%;}" "-DOUTPUT=$work/$1" \
        -P cmake/fingerprint.cmake
    sed -i 's/[, \\]*$//' "$work/$1"
}

die() {
    echo "FAILED: $*"
    exit 1
}

prints before
grep -q '"scatter_add", "[0-9a-f]\{32\}"' "$work/before" || die "no fingerprint of scatter_add"
(cd "$work" && sh tools/new_family.sh of_this_test >/dev/null)
prints added
[ "$(diff "$work/before" "$work/added" | grep -c '^[<>] *{')" = 1 ] ||
    die "a new family changed another's"
grep -q '"of_this_test"' "$work/added" || die "the new family has none"

echo '/* edited */' >>"$work/templates/of_this_test/main.ptxc"
prints edited
diff "$work/added" "$work/edited" | grep '^[<>] *{' | grep -v of_this_test &&
    die "an edit changed another family's"
! cmp -s "$work/added" "$work/edited" || die "an edit of a template changed nothing"

echo '/* edited */' >>"$work/src/generate/emit.c"
prints shared
grep '{' "$work/edited" | while read -r line; do
    ! grep -qF "$line" "$work/shared" || die "an edit of what is shared left $line"
done
