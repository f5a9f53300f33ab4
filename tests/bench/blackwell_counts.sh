# Instructions of the Blackwell matrix kernels, PTX and SASS, for each way of cutting a problem: a
# Markdown table on standard output. They are counted in the text, not as executed; no GPU is used,
# an assembler and nvdisasm are.
#
#     PTXGEN=build/release/tools/ptxgen sh tests/bench/blackwell_counts.sh
#
# The first row of each family is what it is compared with: the reference's schedule, and rows
# without clusters.
: "${PTXGEN:=build/release/tools/ptxgen}"
. "$(dirname "$0")/../support/sass.sh"

# of FAMILY name=value...: a row.
of() {
    disassemble "$@" arch=sm_100a
    shift
    printf '| `%s` | %d | %d | %d | %d | %d | %d | %d | %d | %d | %d | %d |\n' "$*" \
        "$(grep -vE '^ *\.(reg|param)' "$ptx" | grep -c ';$')" \
        "$(count '^ +/\*[0-9a-f]+\*/' "$sass")" \
        "$(count 'UTC[A-Z]*MMA' "$sass")" "$(count UTCCP "$sass")" "$(count UTMALDG "$sass")" \
        "$(count UTMASTG "$sass")" \
        "$(count ' STG' "$sass")" "$(count ' LDG' "$sass")" "$(count SYNCS.PHASECHK "$sass")" \
        "$(count 'MEMBAR.*\.GPU' "$sass")" \
        "$(count CCTL.IVALL "$sass")"
}

header() {
    echo "| $1 | PTX | SASS | mma | cp | TMA loads | TMA stores | STG | LDG | waits | GPU fences | L1 emptied |"
    echo "|---|---|---|---|---|---|---|---|---|---|---|---|"
}

header matmul_accumulate
for block_n in 64 128 256; do
    for ctas in 1 2; do
        of matmul_accumulate schedule=seed block_n=$block_n ctas=$ctas
        of matmul_accumulate schedule=fill block_n=$block_n ctas=$ctas
        of matmul_accumulate schedule=fill block_n=$block_n ctas=$ctas d_store=tensor
        of matmul_accumulate schedule=fill block_n=$block_n ctas=$ctas ctas_n=2 d_store=tensor \
            tiles=dynamic
    done
done
of matmul_accumulate block_n=256 ctas=2 ctas_n=4 d_store=tensor tiles=dynamic
of matmul_accumulate block_n=256 ctas=4 ctas_n=2 d_store=tensor tiles=dynamic
of matmul_accumulate block_n=128 splits=2 d_store=tensor
of matmul_accumulate block_n=256 ctas=2 splits=4 d_store=tensor
echo
header matmul_scaled
for format in mxfp8 mxfp4 nvfp4; do
    of matmul_scaled a=$format b=$format out=f16 block_n=256 ctas=1
    of matmul_scaled a=$format b=$format out=f16 block_n=256 ctas=2
    of matmul_scaled a=$format b=$format out=f16 block_n=256 ctas=2 d_store=tensor
    of matmul_scaled a=$format b=$format out=f16 block_n=256 ctas=2 ctas_n=2 d_store=tensor \
        tiles=dynamic
    of matmul_scaled a=$format b=$format out=f16 block_n=256 ctas=4 ctas_n=2 d_store=tensor \
        tiles=dynamic
done
of matmul_scaled a=nvfp4 b=nvfp4 out=f16 block_n=256 ctas=2 splits=4 d_store=tensor
