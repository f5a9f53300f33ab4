# CUB's device algorithms, from the toolkit's own headers, against the host: right in hardware's
# order and in three seeds of the ISA's, without a report but one (docs/emulate.md).
# PTXGEN_CUB_GROUPS: some of 0 (reduce, scan), 1 (sort), 2 (select, runs, partition), 3 (histogram,
# segments), 4 (by key, differences, transform, merge, batched copies).
command -v nvcc >/dev/null || { echo "no nvcc here: skipped"; exit 77; }
cuda=$(dirname "$(dirname "$(readlink -f "$(command -v nvcc)")")")
[ -f "$cuda/include/cccl/cub/cub.cuh" ] ||
    { echo "this toolkit has no CUB in include/cccl: skipped"; exit 77; }
. "$PTXGEN_SOURCE/tests/support/cli.sh"
for group in ${PTXGEN_CUB_GROUPS:-0 1 2 3 4}; do
    nvcc -std=c++17 --extended-lambda -w -DGROUP="$group" -gencode arch=compute_90,code=compute_90 \
        "$PTXGEN_SOURCE/tests/stand_in/cub.cu" -o cub 2>build.log ||
        die "nvcc: $(tail -3 build.log)"
    t emulate -- ./cub
    expect_code 0
    expect_out '^all right$'
    t emulate --check-races --seeds 1..3 -- ./cub 5003
    # the merge of merge sort and segmented sort reads one key past those that it has written, and
    # does not use it
    defects_are '(SegmentedSort|MergeSort).*read of memory that nothing has written'
    ! grep -q WRONG .out || die "wrong in seeds: $(cat .out)"
    echo "right: group $group"
done
