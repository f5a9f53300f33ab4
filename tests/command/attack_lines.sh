# Command lines of random words and options: no crash, no hang, an exit code that is documented, and
# one sentence about each refusal. PTXGEN_LINES: how many (4,000 in the slow run), PTXGEN_SEED:
# another start.
. tests/support/cli.sh
cat >words <<'END'
emit compile list inspect cache prewarm doctor array run bench scatter_add matmul_accumulate
matmul_scaled tcgen05_copy ls show why stats du path verify clear prune export import n=4 n=0 n=-1
n=99999999999999999999 dtype=f16 dtype= arch=sm_90a arch=sm_1 unused=1d bytes=0 entries=x --json
--help -o --dry-run --verbose -v --line-map --ptx --cubin --sass --recompile --arch --jobs --check
--repeat --seed --device --assembler --cache-dir --toolkit --log --grid --block --arg --result
--order --seeds --stats --budget --require --zero --prometheus --readable emulator auto nope -1 0 1
99999999999 "" - /dev/null draw diff swizzle banks fragment tmem mma.m16n8k16 wgmma.m64n256 span=64
rows=4 matrix=a bits=16 by=thread m=32 k=32 rank=1 /nowhere . zeros:4x4 random:2x2 index:4/2 x.npy
out=x.npy a=/dev/zero -- --= = sm_90a,sm_100a %s%n ../../../etc/passwd
END
awk -v seed="${PTXGEN_SEED:-1}" -v lines="${PTXGEN_LINES:-200}" '
    { for (i = 1; i <= NF; i++) word[n++] = $i }
    END { srand(seed); for (l = 0; l < lines; l++) { line = ""
        for (k = int(rand() * 6); k >= 0; k--) line = line " " word[int(rand() * n)]
        print line } }' words >lines
export PTXGEN_CACHE_DIR=$work/.cache HOME=$work PTXGEN_DEVICE=emulator
while read -r line; do
    last="ptxgen $line"
    code=0
    # shellcheck disable=SC2086
    timeout 60 "$PTXGEN" $line >.out 2>.err </dev/null || code=$?
    [ "$code" -le 5 ] || die "exit code $code"
    [ "$code" -lt 2 ] || grep -q '^ptxgen: ' .err || die "no word about a refusal"
done <lines
