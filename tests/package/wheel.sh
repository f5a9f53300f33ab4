# The wheel: built without a network by an interpreter that has scikit-build-core, then installed
# into an empty environment of every CPython from 3.10 on that is found. There the package imports
# alone, the command runs, the headers and the library serve a C program, and the Python lines of
# both README.md do what they say. What glibc has since 2.28 is called where it has a substitute,
# and nowhere else: tools/wheel.sh links against the symbols of 2.28.
set -eu
die() {
    echo "FAILED: $*" >&2
    exit 1
}
if grep -q '^PTXGEN_SANITIZE:STRING=.' "$PTXGEN_BUILD/CMakeCache.txt"; then
    echo "skipped: a sanitizer build is not for installing"
    exit 77
fi
. "$PTXGEN_SOURCE/tests/support/venv.sh"
python_with wheel build scikit-build-core
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
quietly() { "$@" >"$work/log" 2>&1 || { cat "$work/log" >&2; die "$*"; }; }

newer=$(grep -rlE '(sigdescr|sigabbrev|strerrorname|strerrordesc)_np|closefrom\(|pthread_cond_clockwait' \
    "$PTXGEN_SOURCE/src" "$PTXGEN_SOURCE/tools" "$PTXGEN_SOURCE/python/src" |
    grep -vE '/system_words\.c$' || true)
[ -z "$newer" ] || die "newer than glibc 2.28: $newer"

launcher=${CMAKE_C_COMPILER_LAUNCHER:-}
quietly "$python" -m build --wheel --no-isolation -o "$work/dist" "$PTXGEN_SOURCE" \
    -Cbuild-dir="$PTXGEN_BUILD/wheel" \
    ${launcher:+-Ccmake.define.CMAKE_C_COMPILER_LAUNCHER="$launcher"}
wheel=$(ls "$work"/dist/*.whl)
case $(basename "$wheel") in
ptxgen-0.1.0-cp310-abi3-linux_*.whl) ;;
*) die "the wheel is named $(basename "$wheel")" ;;
esac
"$python" -m zipfile -e "$wheel" "$work/files"
[ "$(find "$work/files" -name 'libptxgen.*' | wc -l)" = 1 ] ||
    die "libraries: $(find "$work/files" -name 'libptxgen*')"
[ -z "$(find "$work/files" -name '*.a' -o -name '*.cmake')" ] ||
    die "what is not for Python users is in the wheel"
for folder in "$PTXGEN_SOURCE" "$PTXGEN_BUILD"; do
    ! grep -rlF "$folder" "$work/files" || die "a file of the wheel names the build"
done

tried=0
for candidate in python3 python3.10 python3.11 python3.12 python3.13 python3.14 \
    "${HOME:-/}"/.pyenv/versions/3.1[0-9].*/bin/python3; do
    "$candidate" -c 'import sys, venv; sys.exit(sys.version_info < (3, 10))' 2>/dev/null || continue
    version=$("$candidate" -c 'import platform; print(platform.python_version())')
    [ ! -e "$work/$version" ] || continue
    "$candidate" -m venv "$work/$version" 2>/dev/null || continue
    quietly "$work/$version/bin/python" -m pip install \
        -q --no-index --no-deps --disable-pip-version-check "$wheel"
    cd "$work"
    PTXGEN_CACHE=off quietly "$work/$version/bin/python" -c '
import sys, ptxgen, ptxgen.emulator
assert not {"numpy", "torch", "jax"} & set(sys.modules)
kernel = ptxgen.emit("scatter_add", "n=24")
assert kernel["entry"] in ptxgen.emulator.entries(kernel["ptx"])
try: ptxgen.scatter_add_(1, 2, 3)
except TypeError as error: assert "no __dlpack__" in str(error), error
else: raise AssertionError("numbers are no arrays")'
    quietly "$work/$version/bin/ptxgen" --version
    tried=$((tried + 1))
    echo "wheel: CPython $version"
done
[ "$tried" -gt 0 ] || { echo "skipped: no CPython that makes virtual environments"; exit 77; }

# A C program against the wheel's headers and library.
cp "$PTXGEN_SOURCE/tests/package/consumer/consumer.c" "$work/"
bin=$(ls -d "$work"/3.*/bin | head -n 1)
library=$("$bin/python" -c 'import ptxgen; print(ptxgen.get_library())')
quietly cc -std=c11 -I"$("$bin/python" -c 'import ptxgen; print(ptxgen.get_include())')" \
    "$work/consumer.c" "$library" \
    -Wl,-rpath,"$(dirname "$library")" -o "$work/consumer"
PTXGEN_CACHE=off quietly "$work/consumer"

# README's lines as they stand, in an environment that has NumPy.
python_with arrays numpy pytest
for readme in README.md python/README.md; do
    sed -n '/^```python$/,/^```$/p' "$PTXGEN_SOURCE/$readme" | grep -v '^```' >"$work/readme.py"
    PYTHONPATH=$work/files PTXGEN_CACHE=off "$python" "$work/readme.py" >"$work/printed"
    sed -n 's/^print.*# //p' "$work/readme.py" | diff - "$work/printed" ||
        die "$readme prints something else"
done
echo "wheel: all right, under $tried versions"
