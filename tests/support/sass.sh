# Sourced by scripts that count instructions of kernels: the PTX and the SASS of one at a time, in a
# folder that is removed at the end. Exit code 77 where there is no assembler or no nvdisasm.
set -eu
: "${PTXGEN:?the command}"
disassembler=$(command -v nvdisasm || echo "${PTXGEN_TOOLKIT:-/usr/local/cuda}/bin/nvdisasm")
[ -x "$disassembler" ] || {
    echo "skipped: no nvdisasm in PATH or the toolkit's bin" >&2
    exit 77
}
sass_folder=$(mktemp -d)
trap 'rm -rf "$sass_folder"' EXIT
ptx=$sass_folder/k.ptx
sass=$sass_folder/k.sass

# disassemble FAMILY name=value...: to $ptx and $sass.
disassemble() {
    "$PTXGEN" emit "$@" -o "$ptx"
    status=0
    "$PTXGEN" compile "$@" --cache-dir "$sass_folder/cache" -o "$sass_folder/k.cubin" \
        >/dev/null 2>"$sass_folder/error" || status=$?
    if [ $status = 5 ] && grep -q 'no .*assembler' "$sass_folder/error"; then
        echo "skipped: no assembler" >&2
        exit 77
    fi
    [ $status = 0 ] || { cat "$sass_folder/error" >&2; exit 1; }
    "$disassembler" -c "$sass_folder/k.cubin" >"$sass"
}

# count PATTERN FILE: lines with it.
count() {
    grep -cE -- "$1" "$2" || true
}
