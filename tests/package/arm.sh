# Hosts with Arm processors: the library is cross-compiled without a warning, a sample runs under qemu and prints what it
# prints here. Needs gcc-aarch64-linux-gnu and qemu-user.
set -eu
: "${PTXGEN_BUILD:?}" "${PTXGEN_SOURCE:?}"
command -v aarch64-linux-gnu-gcc >/dev/null && command -v qemu-aarch64 >/dev/null || {
    echo "skipped: no cross compiler or no qemu-user"
    exit 77
}
build=$PTXGEN_BUILD/arm
mkdir -p "$build/include"
for header in xxhash.h xxh3.h jsmn.h; do # headers only, the same for every processor
    [ ! -f "/usr/include/$header" ] || cp "/usr/include/$header" "$build/include/"
done
cat >"$build/toolchain.cmake" <<END
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64;-L;/usr/aarch64-linux-gnu)
END
cmake -S "$PTXGEN_SOURCE" -B "$build" -G Ninja -DCMAKE_TOOLCHAIN_FILE="$build/toolchain.cmake" \
    -DCMAKE_BUILD_TYPE=Release -DPTXGEN_WERROR=ON -DPTXGEN_NVPTXCOMPILER=OFF -DBUILD_TESTING=OFF \
    -DXXHASH_INCLUDE_DIR="$build/include" -DJSMN_INCLUDE_DIR="$build/include" \
    -DCJSON_INCLUDE_DIR=/nowhere -DCJSON_LIBRARY=/nowhere >"$build/log" 2>&1 &&
    cmake --build "$build" --target ptxgen_static >>"$build/log" 2>&1 || {
    tail -30 "$build/log"
    exit 1
}
sample=$PTXGEN_SOURCE/tests/package/arm_sample.c
aarch64-linux-gnu-gcc -std=c11 -Wall -Wextra -Werror -O1 -I"$PTXGEN_SOURCE/include" "$sample" "$build/libptxgen.a" \
    -o "$build/sample" -lm -ldl -lpthread
cc -std=c11 -Wall -Wextra -Werror -O1 -I"$PTXGEN_SOURCE/include" "$sample" "$PTXGEN_BUILD/libptxgen.a" \
    -o "$build/sample_here" -lm -ldl -lpthread
export PTXGEN_CONFIG=
"$build/sample_here" >"$build/here"
qemu-aarch64 -L /usr/aarch64-linux-gnu "$build/sample" >"$build/there"
diff "$build/here" "$build/there"
[ "$(wc -l <"$build/here")" -gt 3 ]
