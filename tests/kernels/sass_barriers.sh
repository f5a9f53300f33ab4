# Tensor-core kernels empty the L1 cache and fence the whole GPU where a cluster meets
# (barrier.cluster), and nowhere else: a wait or an arrival at cluster scope would do so at every
# stage. Counted in the SASS.
set -eu
disassembler=$(command -v nvdisasm ||
    ls "${PTXGEN_TOOLKIT:-/usr/local/cuda}/bin/nvdisasm" 2>/dev/null || true)
if [ -z "$disassembler" ]; then
    echo "no nvdisasm"
    exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

count() {
    grep -c -- "$1" "$2" || true
}

kernels=0
bad=0
# check FAMILY name=value...: compiles it and counts.
check() {
    "$PTXGEN" emit "$@" -o "$folder/k.ptx"
    status=0
    "$PTXGEN" compile "$@" --cache-dir "$folder/cache" -o "$folder/k.cubin" \
        >/dev/null 2>"$folder/error" || status=$?
    if [ $status = 5 ] && grep -q 'no .*assembler' "$folder/error"; then
        echo "no assembler"
        exit 77
    fi
    [ $status = 0 ] || { cat "$folder/error" >&2; exit 1; }
    "$disassembler" -c "$folder/k.cubin" >"$folder/k.sass"
    [ "$(count MMA "$folder/k.sass")" -gt 0 ] || { echo "$*: no MMA in the SASS" >&2; exit 1; }
    waits=$(count 'barrier.cluster.wait' "$folder/k.ptx")
    arrivals=$(count 'barrier.cluster.arrive' "$folder/k.ptx")
    empties=$(count 'CCTL.IVALL' "$folder/k.sass")
    fences=$(count 'MEMBAR.*\.GPU' "$folder/k.sass")
    kernels=$((kernels + 1))
    if [ "$empties" -gt "$waits" ] || [ "$fences" -gt "$arrivals" ]; then
        echo "$*: $empties CCTL.IVALL for $waits cluster waits, $fences MEMBAR for $arrivals cluster arrivals" >&2
        bad=1
    fi
}

for ctas in 1 2; do
    for block_n in 64 128 256; do
        check matmul_accumulate arch=sm_100a ctas=$ctas block_n=$block_n
        check matmul_accumulate arch=sm_100a ctas=$ctas block_n=$block_n ctas_n=2
        check matmul_accumulate arch=sm_90a ctas=$ctas block_n=$block_n
    done
    check matmul_accumulate arch=sm_90a ctas=$ctas schedule=pingpong block_n=128
    check matmul_accumulate arch=sm_90a ctas=1 splits=$((2 * ctas)) block_n=64
    check matmul_accumulate arch=sm_90a ctas=$ctas slices=4
    check matmul_accumulate arch=sm_100a ctas=$ctas block_n=128 d_store=tensor
    check matmul_accumulate arch=sm_100a ctas=$ctas block_n=64 ctas_n=4 d_store=tensor tiles=dynamic
    check matmul_accumulate arch=sm_100a ctas=$ctas block_n=128 splits=2
    check matmul_accumulate arch=sm_100a ctas=$ctas block_n=256 splits=4
done
for block_n in 128 256; do
    for ctas in 1 2; do
        check matmul_scaled arch=sm_100a block_n=$block_n ctas=$ctas
        check matmul_scaled arch=sm_100a block_n=$block_n ctas=$ctas ctas_n=2
        check matmul_scaled arch=sm_100a block_n=$block_n ctas=$ctas d_store=tensor tiles=dynamic
        check matmul_scaled arch=sm_100a block_n=$block_n ctas=$ctas splits=$((block_n / 64))
    done
done
echo "$kernels kernels"
exit $bad
