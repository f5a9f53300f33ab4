# run FAMILY: whatever a call can say, the command takes by the operand's name, or says why not.
. tests/support/cli.sh

# Each operand of each family: its name is known, whatever else is missing.
families=$("$PTXGEN" list | awk '/^[a-z]/ { print $1 }')
[ "$(echo "$families" | wc -l)" -ge 5 ] || die "the families were not found: $families"
seen=0
for family in $families; do
    "$PTXGEN" run "$family" --help >.help
    for name in $(sed -n '/^operands of/,/^parameters of/s/^  \([a-z][a-z0-9_]*\) .*/\1/p' .help); \
        do
        t run "$family" "$name=nowhere.npy"
        [ "$code" != 0 ] || die "$family took $name=nowhere.npy and nothing else"
        ! grep -q 'there is no parameter' .err || die "$family does not know its operand $name"
        seen=$((seen + 1))
    done
done
[ "$seen" -ge 50 ] || die "only $seen operands were seen"

ok array random:40x48 -o out.npy
ok array random:100x48 --seed 2 -o src.npy
ok array index:100/40 --seed 3 -o index.npy
ok array index:100/100 --seed 4 -o rows.npy
ok array random:100 --seed 5 -o weight.npy
ok array index:1/100 --seed 6 -o count.npy
t run scatter_add out=out.npy index=index.npy src=src.npy
[ "$code" = 0 ] || skip "kernels cannot run here: $(cat .err)"

# Every option of the typed call, on the device and on an emulator of its own, also with the kernels
# of the sort.
scatter="run scatter_add out=out.npy index=index.npy src=src.npy --device emulator --check"
for words in schedule=owner 'alpha=0.5 weight=weight.npy' 'src_index=rows.npy counts=counts.npy' \
    'device_rows=count.npy' 'padding_index=3' 'reduce=mean' 'exact=yes'; do
    ok $scatter $words -o a.npy
    expect_out '^params .*schedule=owner'
    expect_out '^check +right'
    ok $scatter $words --check-races --seeds 1..2 -o b.npy
    expect_out '^check +right'
done
ok $scatter schedule=owner --stats
ok $scatter src_index=rows.npy counts=counts.npy -o a.npy
[ "$(tail -c 160 counts.npy | od -An -v -td4 | tr -s ' ' '\n' | awk '{ n += $1 } END { print n }')" = 100 ] ||
    die "counts.npy does not count the index"
ok run scatter_add out=out.npy index=index.npy src=src.npy schedule=owner \
    --print-launch --device emulator
expect_out '^launch +index_sort'
expect_out '^launch +scatter_add_owner'

# A bad index is told wherever the kernel finds it.
ok array index:100/45 --seed 3 -o bad.npy
t run scatter_add out=out.npy index=bad.npy src=src.npy padding_index=2 --device emulator -o c.npy
expect_code 1
expect_err 'index\[[0-9]+\] = 4[0-4]'
[ ! -e c.npy ] || die "a result was written"

# Results besides D, and a workspace on an emulator of its own.
ok array random:64x64 dtype=f16 -o a.npy
ok array random:64x64 dtype=f16 --seed 2 -o b.npy
ok array zeros:1 -o zero.npy
product="run matmul_accumulate a=a.npy bt=b.npy --device emulator --check"
ok $product arch=sm_90a aux=aux.npy:bf16 epilogue=relu -o d.npy
expect_out '^check +right: 0 of 8192'
grep -q V2 aux.npy || die "aux.npy does not hold bf16"
ok $product arch=sm_90a slices=2 --check-races -o d.npy
expect_out '^check +right'

# Bytes of fp8 and bare words take the type that follows their file's name, or dtype=; D's bytes
# feed another product.
ok array random:32x64 dtype=e4m3 -o a8.npy
ok array random:24x64 dtype=e4m3 --seed 1 -o b8.npy
ok array random:40x24 dtype=e4m3 --seed 2 -o c8.npy
LC_ALL=C sed "s/'|u1'/'|V1'/" a8.npy >v8.npy
fp8="run matmul_accumulate --device emulator --check arch=sm_90a"
ok $fp8 a=a8.npy bt=b8.npy dtype=e4m3 -o d.npy
for words in 'a=a8.npy:e4m3 bt=b8.npy:e4m3' 'a=v8.npy:e4m3 bt=b8.npy dtype=e4m3'; do
    ok $fp8 $words -o d2.npy
    expect_out '^check +right: 0 of 768'
    cmp d.npy d2.npy || die "$words is another product"
done
ok $fp8 a=a8.npy:e4m3 bt=b8.npy:e4m3 d=e4m3 -o d8.npy
ok $fp8 a=d8.npy:e4m3 bt=c8.npy:e4m3 -o e.npy
expect_out '^check +right: 0 of 1280'
ok array random:64x64 dtype=bf16 --seed 3 -o r.npy
LC_ALL=C sed "s/'<V2'/'|V2'/" r.npy >r2.npy
ok $product arch=sm_90a residual=r.npy -o d.npy
ok $product arch=sm_90a residual=r2.npy:bf16 -o d2.npy
cmp d.npy d2.npy || die "a residual of bare words is another one"

# What is no file here.
refuse() {
    pattern=$1
    shift
    t "$@"
    expect_code 2
    expect_err "$pattern"
}
refuse 'memory that the command makes' $product arch=sm_90a workspace=w.npy
refuse 'd is the result: -o FILE.npy writes it' $product arch=sm_90a d=d.npy
refuse 'stall= has no use here' $scatter stall=never
refuse 'is given twice' $product arch=sm_90a aux=x.npy aux=y.npy
refuse 'names no file' $product arch=sm_90a aux=
refuse "r.npy: the file holds '<V2', which is no f16: leave :f16 out" $product arch=sm_90a \
    residual=r.npy:f16
t $fp8 a=a8.npy bt=b8.npy
expect_code 3
expect_err "bytes that do not say what they are; .*a=a8.npy:e4m3"

# Slips of a name are told, of operands as well; what a number cannot be is refused; one number in a
# list is a number.
refuse 'there is no parameter or file "alhpa"; did you mean alpha' $product arch=sm_90a alhpa=2
refuse 'a problem of matmul_accumulate needs k=' emit matmul_accumulate m=5 n=6
refuse 'alpha=1e\+50 is more than float32 holds' $product arch=sm_90a alpha=1e50
refuse 'low=3 is above high=1' $product arch=sm_90a epilogue=clamp low=3 high=1
t emit scatter_add schedule=owner share=9
expect_code 3
expect_err 'share=9 is no multiple of 8: take 16'
ok $product arch=sm_90a alpha=zero.npy -o d.npy
cp zero.npy amax.npy
ok $product arch=sm_90a amax=amax.npy -o d.npy
head -c 128 amax.npy | grep -aq "'shape': (1,)" || die "amax.npy is of another shape"
: >empty.cu
printf 'extern "C" __device__ float %s(float x) { return x; }\n' one two >two.cu
refuse '@ names no file: write @FILE.cu' $product arch=sm_90a epilogue=@
t $product arch=sm_90a epilogue=@two.cu
grep -q 'NVRTC' .err || expect_err \
    'two.cu defines 2 functions .*name one \(function.name, or @FILE:NAME\)'
refuse 'empty.cu is empty: it must hold the function to call' $product arch=sm_90a \
    epilogue=@empty.cu
