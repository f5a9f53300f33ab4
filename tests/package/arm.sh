# Hosts with Arm processors: the library is cross-compiled without a warning, a sample runs under
# qemu and prints what it prints here. Needs gcc-aarch64-linux-gnu and qemu-user; where
# libcmocka-dev:arm64 and libcjson-dev:arm64 are installed too, tests of what depends on a processor
# (number formats, vector code, signed char, memory order) are built and run.
set -eu
: "${PTXGEN_BUILD:?}" "${PTXGEN_SOURCE:?}"
command -v aarch64-linux-gnu-gcc >/dev/null && command -v qemu-aarch64 >/dev/null || {
    echo "skipped: no cross compiler or no qemu-user"
    exit 77
}
build=$PTXGEN_BUILD/arm
libraries=/usr/lib/aarch64-linux-gnu
mkdir -p "$build/include"
for header in xxhash.h xxh3.h jsmn.h cmocka.h cmocka_pbc.h; do # the same for every processor
    [ ! -f "/usr/include/$header" ] || cp "/usr/include/$header" "$build/include/"
done
cat >"$build/toolchain.cmake" <<END
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64;-L;/usr/aarch64-linux-gnu)
END
testing=OFF cmocka= cjson="-DCJSON_INCLUDE_DIR=/nowhere -DCJSON_LIBRARY=/nowhere"
if [ -f $libraries/libcmocka.so ] && [ -f $libraries/libcjson.so ] &&
    [ -f "$build/include/cmocka.h" ]; then
    testing=ON cmocka="-DCMOCKA_INCLUDE_DIR=$build/include -DCMOCKA_LIBRARY=$libraries/libcmocka.so"
    cjson="-DCJSON_INCLUDE_DIR=/usr/include -DCJSON_LIBRARY=$libraries/libcjson.so"
fi
logged() {
    "$@" >>"$build/log" 2>&1 || {
        tail -30 "$build/log"
        exit 1
    }
}
: >"$build/log"
# shellcheck disable=SC2086
logged cmake -S "$PTXGEN_SOURCE" -B "$build" -G Ninja \
    -DCMAKE_TOOLCHAIN_FILE="$build/toolchain.cmake" \
    -DCMAKE_BUILD_TYPE=Release -DPTXGEN_WERROR=ON -DPTXGEN_NVPTXCOMPILER=OFF \
    -DBUILD_TESTING=$testing $cmocka $cjson \
    -DXXHASH_INCLUDE_DIR="$build/include" -DJSMN_INCLUDE_DIR="$build/include"
logged cmake --build "$build" --target ptxgen_static
sample=$PTXGEN_SOURCE/tests/package/arm_sample.c
aarch64-linux-gnu-gcc -std=c11 -Wall -Wextra -Werror -O1 -I"$PTXGEN_SOURCE/include" "$sample" \
    "$build/libptxgen.a" \
    -o "$build/sample" -lm -ldl -lpthread
cc -std=c11 -Wall -Wextra -Werror -O1 -I"$PTXGEN_SOURCE/include" "$sample" \
    "$PTXGEN_BUILD/libptxgen.a" \
    -o "$build/sample_here" -lm -ldl -lpthread
export PTXGEN_CONFIG=
"$build/sample_here" >"$build/here"
qemu-aarch64 -L /usr/aarch64-linux-gnu "$build/sample" >"$build/there"
diff "$build/here" "$build/there"
[ "$(wc -l <"$build/here")" -gt 3 ]
[ $testing = ON ] || {
    echo "the sample is right; no tests: libcmocka-dev:arm64 is not installed"
    exit 0
}

tests="base/test_base base/test_half emulator/test_float_ops emulator/test_formats
    emulator/test_instructions emulator/test_mma_sync emulator/test_wgmma
    emulator/test_tcgen05_arithmetic emulator/test_tensor_map ptx/test_ptx_parse kernels/test_params
    cache/test_cache_entry cache/test_cache_pack cache/test_cache_space engine/test_engine_prefetch
    device/test_cubin_inspect"
cd "$PTXGEN_SOURCE"
for test in $tests; do
    logged cmake --build "$build" --target "$(basename "$test")"
    code=0 # Not here: tests that fork and change their user, which hangs in qemu-user.
    timeout 200 qemu-aarch64 -L /usr/aarch64-linux-gnu -E "LD_LIBRARY_PATH=$libraries" \
        "$build/tests/$(basename "$test")" \
        >"$build/test.log" 2>&1 || code=$?
    [ $code = 0 ] || [ $code = 77 ] || {
        tail -30 "$build/test.log"
        echo "FAILED on Arm: $test, exit code $code"
        exit 1
    }
    echo "right on Arm: $test"
done
