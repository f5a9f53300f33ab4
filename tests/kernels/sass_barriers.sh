# Tensor-core kernels empty the L1 cache and fence the whole GPU where a cluster meets
# (barrier.cluster), and nowhere else: a wait or an arrival at cluster scope would do so at every
# stage. Counted in the SASS.
. "$(dirname "$0")/../support/sass.sh"

kernels=0
bad=0
# check FAMILY name=value...: compiles it and counts.
check() {
    disassemble "$@"
    [ "$(count MMA "$sass")" -gt 0 ] || { echo "$*: no MMA in the SASS" >&2; exit 1; }
    waits=$(count 'barrier.cluster.wait' "$ptx")
    arrivals=$(count 'barrier.cluster.arrive' "$ptx")
    empties=$(count 'CCTL.IVALL' "$sass")
    fences=$(count 'MEMBAR.*\.GPU' "$sass")
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
    check matmul_accumulate arch=sm_100a ctas=4 block_n=128 ctas_n=$ctas d_store=tensor
    check matmul_accumulate arch=sm_100a ctas=$ctas block_n=128 splits=2
    check matmul_accumulate arch=sm_100a ctas=$ctas block_n=256 splits=4
done
for block_n in 128 256; do
    check matmul_scaled arch=sm_100a block_n=$block_n ctas=4 ctas_n=2 tiles=dynamic
    for ctas in 1 2; do
        check matmul_scaled arch=sm_100a block_n=$block_n ctas=$ctas
        check matmul_scaled arch=sm_100a block_n=$block_n ctas=$ctas ctas_n=2
        check matmul_scaled arch=sm_100a block_n=$block_n ctas=$ctas d_store=tensor tiles=dynamic
        check matmul_scaled arch=sm_100a block_n=$block_n ctas=$ctas splits=$((block_n / 64))
    done
done
echo "$kernels kernels"
exit $bad
