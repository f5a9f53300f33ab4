# Installs into a temporary prefix, moves the tree, and builds and runs consumers in C and C++ with
# CMake and with pkg-config, shared and static. Looks at what the libraries export and need.
set -eu
die() {
    echo "FAILED: $*" >&2
    exit 1
}
if grep -q '^PTXGEN_SANITIZE:STRING=.' "$PTXGEN_BUILD/CMakeCache.txt"; then
    echo "skipped: a sanitizer build is not for installing"
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
quietly() { "$@" >"$work/log" 2>&1 || { cat "$work/log" >&2; die "$*"; }; }

quietly cmake --install "$PTXGEN_BUILD" --prefix "$work/first"
mv "$work/first" "$work/prefix"
prefix=$work/prefix
lib=$(dirname "$(find "$prefix" -name libptxgen.a)")

# Only text that is the user's: no path of the build tree in what consumers read.
! grep -rlF -e "$PTXGEN_BUILD" -e "$PTXGEN_SOURCE" "$prefix/include" "$lib/cmake" \
    "$lib/pkgconfig" ||
    die "an installed file names the build"

# Headers: each alone, as strict C11 and as C++11.
for header in "$prefix"/include/ptxgen/*.h; do
    echo "#include <ptxgen/$(basename "$header")>" >"$work/alone.c"
    quietly cc -std=c11 -pedantic -Wall -Wextra -Werror -I"$prefix/include" -fsyntax-only \
        "$work/alone.c"
    quietly c++ -std=c++11 -pedantic -Wall -Wextra -Werror -x c++ \
        -I"$prefix/include" -fsyntax-only "$work/alone.c"
done

# The shared library: names, exports, needs.
[ -L "$lib/libptxgen.so" ] && [ -L "$lib/libptxgen.so.0" ] && [ -f "$lib/libptxgen.so.0.1.0" ] ||
    die "links: $(ls "$lib")"
readelf -d "$lib/libptxgen.so" >"$work/dynamic"
grep -q 'SONAME.*\[libptxgen.so.0\]' "$work/dynamic" || die "SONAME: $(grep SONAME "$work/dynamic")"
! grep -E 'RPATH|RUNPATH' "$work/dynamic" || die "the library has a run path"
foreign=$(sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' "$work/dynamic" |
    grep -vE '^(libc|libm|libdl|libpthread|ld-linux.*)\.so' || true)
[ -z "$foreign" ] || die "the library needs $foreign"
strangers=$(nm -D --defined-only "$lib/libptxgen.so" | awk '{ print $NF }' | grep -v '^ptxgen_' ||
    true)
[ -z "$strangers" ] || die "exported beside ptxgen_*: $strangers"
# Every function that a header declares is there.
declared=$(sed -n 's/^.*PTXGEN_API .*[ *]\(ptxgen_[a-z0-9_]*\)(.*/\1/p' \
    "$prefix"/include/ptxgen/*.h | sort -u)
[ "$(echo "$declared" | wc -l)" -gt 30 ] || die "found too few declarations: $declared"
nm -D --defined-only "$lib/libptxgen.so" | awk '{ print $NF }' | sort -u >"$work/exports"
missing=$(echo "$declared" | comm -23 - "$work/exports")
[ -z "$missing" ] || die "declared, not exported: $missing"

# CMake.
quietly cmake -S "$PTXGEN_SOURCE/tests/package/consumer" -B "$work/cmake" \
    -DCMAKE_PREFIX_PATH="$prefix"
quietly cmake --build "$work/cmake"
export PTXGEN_CACHE=off
for program in c_ptxgen c_static cxx_ptxgen cxx_static; do
    quietly "$work/cmake/$program"
    grep -q '^ptxgen 0.1.0 wrote scatter_add_' "$work/log" || die "$program: $(cat "$work/log")"
done

# pkg-config.
export PKG_CONFIG_PATH=$lib/pkgconfig
[ "$(pkg-config --modversion ptxgen)" = 0.1.0 ] || die "pkg-config version"
cp "$PTXGEN_SOURCE/tests/package/consumer/consumer.c" "$work/"
for compiler in "cc -std=c11" "c++ -std=c++11 -x c++"; do
    # shellcheck disable=SC2046
    quietly $compiler "$work/consumer.c" -x none \
        -o "$work/shared" $(pkg-config --cflags --libs ptxgen)
    LD_LIBRARY_PATH=$lib quietly "$work/shared"
    # shellcheck disable=SC2046
    quietly $compiler "$work/consumer.c" -x none -o "$work/static" \
        $(pkg-config --static --cflags --libs ptxgen | sed 's/-lptxgen/-l:libptxgen.a/')
    quietly "$work/static"
done

# The command stands alone.
quietly "$prefix/bin/ptxgen" --version
! readelf -d "$prefix/bin/ptxgen" | grep -E 'RPATH|RUNPATH|libptxgen' ||
    die "the command needs the build tree"
echo "install: all right"
