# Sourced by the tests of the command: runs it and looks at standard output, standard error, the
# exit code and the files it leaves. A failed expectation says which and ends the test. Works in a
# folder of its own, with a cache of its own, removed at the end.
set -eu
: "${PTXGEN:?the command under test}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export PTXGEN_CACHE_DIR=$work/.cache
unset PTXGEN_CACHE PTXGEN_ASSEMBLER PTXGEN_DEVICE PTXGEN_LOG

die() {
    echo "FAILED: $*" >&2
    echo "--- command: ${last:-none}" >&2
    echo "--- exit code ${code:-none}; standard output:" >&2
    head -c 2000 .out >&2 || true
    echo "--- standard error:" >&2
    head -c 2000 .err >&2 || true
    exit 1
}

# t ARGS...: runs ptxgen into .out, .err and $code.
t() {
    last="ptxgen $*"
    code=0
    "$PTXGEN" "$@" >.out 2>.err </dev/null || code=$?
    sed -i '/^ptxgen: waiting for /d' .err # what a busy machine has to say
}

expect_code() { [ "$code" = "$1" ] || die "exit code $code, expected $1"; }
expect_out() { grep -qE -- "$1" .out || die "standard output lacks: $1"; }
expect_err() { grep -qE -- "$1" .err || die "standard error lacks: $1"; }
# defects_are PATTERN: checking mode reported no defect but such as the pattern names.
defects_are() {
    others=$(grep 'PTX line' .err | grep -vE "relies on ptxas|advice:|$1" | head -c 600) || true
    [ -z "$others" ] || die "other defects: $others"
}
expect_silent_out() { [ ! -s .out ] || die "standard output is not empty"; }
expect_silent_err() { [ ! -s .err ] || die "standard error is not empty"; }

# ok ARGS...: exit code 0 and nothing on standard error.
ok() {
    t "$@"
    expect_code 0
    expect_silent_err
}

# refuse CODE PATTERN ARGS...: that exit code, one sentence on standard error that matches, no
# product, and no file made or changed.
refuse() {
    want=$1 says=$2
    shift 2
    before=$(listing)
    t "$@"
    expect_code "$want"
    expect_silent_out
    expect_err "$says"
    [ "$(wc -l <.err)" = 1 ] || die "standard error is not one line"
    grep -q '^ptxgen: ' .err || die "the message does not begin with ptxgen:"
    [ "$(listing)" = "$before" ] || die "files changed: before [$before] after [$(listing)]"
}

# Every file here but our own, with a checksum.
listing() {
    find . -type f ! -path './.cache/*' ! -name .out ! -name .err -exec cksum {} + | sort
}

# Does this machine have an assembler? Needed by the tests of cubins.
have_assembler() {
    "$PTXGEN" compile scatter_add n=4 --cache-dir "" >/dev/null 2>&1
}
# Can kernels run here, on a GPU or the emulator?
skip() {
    echo "skipped: $*"
    exit 77
}
