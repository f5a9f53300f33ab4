# sh tools/family_tests.sh [--golden] [-B FOLDER] NAME: builds, and runs every test of one kernel
# family: those of its folder tests/kernels/NAME/, those that run over all families (label "family")
# for this one alone, and what another family changes elsewhere (the command's list, the parameters,
# the rules of the source). --golden first keeps the text of its kernels anew
# (PTXGEN_UPDATE_GOLDEN=1). -B: the build folder, else build/release. PTXGEN_DRAWS=N draws N
# problems.
set -eu
cd "$(dirname "$0")/.."
fail() {
    echo "family_tests: $*" >&2
    exit 2
}
golden=
build=build/release
while [ $# -gt 1 ]; do
    case $1 in
    --golden) golden=yes ;;
    -B) build=$2 && shift ;;
    *) fail "'$1' is no option; use: sh tools/family_tests.sh [--golden] [-B FOLDER] NAME" ;;
    esac
    shift
done
name=${1:-}
families=$(sed -n 's/^PG_[A-Z]*(\([a-z0-9_]*\)).*/\1/p' templates/families.def)
case $name in
'' | -*) fail "which family? One of: $(echo $families)" ;;
esac
echo "$families" | grep -qx "$name" ||
    fail "there is no family '$name'; there are: $(echo $families)"
[ -f "$build/CMakeCache.txt" ] || fail "$build is no build folder: cmake --preset release"
cmake --build "$build"
export PTXGEN_FAMILY="$name"
run() { # run WHAT...: ctest with these; no test is a failure
    ctest --test-dir "$build" --output-on-failure --no-tests=error -j 2 "$@"
}
if [ -n "$golden" ]; then
    PTXGEN_UPDATE_GOLDEN=1 run -L golden
fi
failed=0
run -L '^family$' || failed=1
if ctest --test-dir "$build" -N -R "^kernels/$name/" | grep -q 'Test *#'; then
    run -R "^kernels/$name/" || failed=1
fi
run -R '^(command/list|engine/fingerprints|kernels/test_params|kernels/test_problem_params|kernels/test_oracle_arguments|rules/.*)$' || failed=1
[ "$failed" = 0 ] || fail "some tests of $name failed; ctest says which, above"
echo "family_tests: all tests of $name passed"
