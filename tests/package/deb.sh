# Debian's packages: four, that lintian takes without an error, that name nothing of the build, and
# whose files are enough: the command, a C program by pkg-config, the Python package, from an
# unpacked root.
set -eu
die() {
    echo "FAILED: $*" >&2
    exit 1
}
for tool in dpkg-deb dpkg-shlibdeps cpack file; do
    command -v $tool >/dev/null || { echo "skipped: no $tool"; exit 77; }
done
if grep -q '^PTXGEN_SANITIZE:STRING=.' "$PTXGEN_BUILD/CMakeCache.txt"; then
    echo "skipped: a sanitizer build is not for installing"
    exit 77
fi
[ -f "$PTXGEN_BUILD/python/ptxgen/_core.abi3.so" ] ||
    { echo "skipped: no Python headers"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
quietly() { "$@" >"$work/log" 2>&1 || { tail -n 40 "$work/log" >&2; die "$*"; }; }
CMAKE_C_COMPILER_LAUNCHER=$(sed -n 's/^CMAKE_C_COMPILER_LAUNCHER:[A-Z]*=//p' \
    "$PTXGEN_BUILD/CMakeCache.txt")
export CMAKE_C_COMPILER_LAUNCHER
quietly sh "$PTXGEN_SOURCE/tools/deb.sh" "$PTXGEN_BUILD/deb"
debs=$(ls "$PTXGEN_BUILD"/deb/*.deb)
[ "$(echo "$debs" | wc -l)" = 4 ] || die "packages: $debs"
# shellcheck disable=SC2086
! command -v lintian >/dev/null ||
    lintian --allow-root --fail-on error $debs >"$work/lintian" 2>&1 ||
    die "lintian: $(cat "$work/lintian")"
for deb in $debs; do
    dpkg-deb -x "$deb" "$work/system"
done
! grep -rlF -e "$PTXGEN_BUILD" -e "$PTXGEN_SOURCE" "$work/system" ||
    die "a file of a package names the build"
lib=$(dirname "$(find "$work/system" -name libptxgen.a)")
export LD_LIBRARY_PATH=$lib PTXGEN_CACHE=off PTXGEN_CONFIG=''
quietly "$work/system/usr/bin/ptxgen" emit scatter_add n=512
[ -f "$work/system/usr/share/man/man1/ptxgen-run.1.gz" ] || die "no manual page"
[ -f "$work/system/usr/share/bash-completion/completions/ptxgen" ] || die "no completion"
export PKG_CONFIG_PATH=$lib/pkgconfig
# shellcheck disable=SC2046
quietly cc -std=c11 "$PTXGEN_SOURCE/tests/package/consumer/consumer.c" \
    -o "$work/consumer" $(pkg-config --cflags --libs ptxgen)
quietly "$work/consumer"
PYTHONPATH=$(dirname "$(dirname "$(find "$work/system" -name '_core.abi3.so')")") quietly python3 \
    -c 'import ptxgen; ptxgen.emit("scatter_add")'
# The archive may be unpacked anywhere.
(cd "$PTXGEN_BUILD" && quietly cpack -G TGZ -B "$work/archive")
mkdir "$work/there"
tar -xzf "$work"/archive/*.tar.gz -C "$work/there" --strip-components=1
unset LD_LIBRARY_PATH
quietly "$work/there/bin/ptxgen" --version
echo "deb: all right"
