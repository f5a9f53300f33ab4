# examples/: each is built as its head says and does what it says. Those in Python run where their
# library is installed.
set -eu
die() {
    echo "FAILED: $*" >&2
    exit 1
}
if grep -q '^PTXGEN_SANITIZE:STRING=.' "$PTXGEN_BUILD/CMakeCache.txt"; then
    echo "skipped: a sanitizer build wants sanitized programs"
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$PTXGEN_SOURCE/examples"
export LD_LIBRARY_PATH=$PTXGEN_BUILD PTXGEN_CACHE=off PTXGEN_CONFIG='' PTXGEN_DEVICE=emulator \
    PYTHONDONTWRITEBYTECODE=1
flags="-Wall -Wextra -Werror -I../include"
libraries="-L$PTXGEN_BUILD -lptxgen"

# shellcheck disable=SC2086
cc -std=c11 $flags c/dlpack.c -o "$work/dlpack" $libraries
[ "$("$work/dlpack" | head -n 1)" = "2 0 2" ] || die "c/dlpack.c: $("$work/dlpack")"
"$work/dlpack" | grep -q 'EINVAL: out is read-only' || die "c/dlpack.c: the refusal"
# shellcheck disable=SC2086
c++ -std=c++17 $flags cxx/scatter_add.cpp -o "$work/scatter_add" $libraries
[ "$("$work/scatter_add" | head -n 1)" = "2 5" ] ||
    die "cxx/scatter_add.cpp: $("$work/scatter_add")"
# shellcheck disable=SC2086
cc -std=gnu11 $flags -Wno-strict-prototypes c/launch_record.c -o "$work/launch_record" $libraries \
    -ldl
"$PTXGEN" emulate -- "$work/launch_record" >"$work/printed" || die "c/launch_record.c"
grep -q '1 launch, every row has 100' "$work/printed" ||
    die "c/launch_record.c: $(cat "$work/printed")"

tried=0
for example in python/*.py; do
    needs=$(sed -n 's/^# Needs: //p' "$example")
    for python in ${PTXGEN_TORCH_PYTHON:-} \
        "${XDG_CACHE_HOME:-${HOME:-/}/.cache}/ptxgen-tests/torch/bin/python" \
        "${XDG_CACHE_HOME:-${HOME:-/}/.cache}"/ptxgen-tests/*/bin/python python3; do
        "$python" -c "import $needs" 2>/dev/null || continue
        PYTHONPATH=$PTXGEN_BUILD/python "$python" "$example" >"$work/printed" || die "$example"
        want=$(sed -n 's/^ *print(.*# //p' "$example")
        [ "$(cat "$work/printed")" = "$want" ] ||
            die "$example printed '$(cat "$work/printed")', not '$want'"
        tried=$((tried + 1))
        break
    done
done
echo "examples: all right, $tried in Python"
