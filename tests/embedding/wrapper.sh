# ptxgen.hpp: strict C++17 and C++20, with and without exceptions, under each compiler that is
# there.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if grep -q '^PTXGEN_SANITIZE:STRING=.' "$PTXGEN_BUILD/CMakeCache.txt"; then
    echo "skipped: a sanitizer build wants a sanitized program"
    exit 77
fi
export LD_LIBRARY_PATH=$PTXGEN_BUILD PTXGEN_CACHE=off PTXGEN_CONFIG=''
tried=0
for compiler in c++ clang++; do
    command -v $compiler >/dev/null || continue
    for options in "-std=c++17" "-std=c++17 -fno-exceptions" "-std=c++20"; do
        # shellcheck disable=SC2086
        $compiler $options -pedantic -Wall -Wextra -Wshadow -Werror -I"$PTXGEN_SOURCE/include" \
            "$PTXGEN_SOURCE/tests/embedding/wrapper.cpp" \
            -o "$work/wrapper" -L"$PTXGEN_BUILD" -lptxgen
        "$work/wrapper"
        tried=$((tried + 1))
    done
done
[ "$tried" -gt 0 ] || { echo "skipped: no C++ compiler"; exit 77; }
