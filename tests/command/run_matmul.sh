# run of the tensor-core families: right answers for files of every kind, and refusals that say what
# to do. Where there is no GPU that can run them, and for the Blackwell ones anyway, on the
# emulator.
. tests/support/cli.sh

floats() { tail -c "$2" "$1" | od -An -v -tf4 -w4; }

# ---- matmul_accumulate ----

# By hand: 3 x 16 times 16 x 5 plus C, exact in float16.
printf '1\n' | awk '{ for (i = 0; i < 48; i++) printf "%d\n", (i * 7) % 9 - 4 }' >a.txt
# half FILE ROWS COLUMNS: whole numbers from -4 to 4 of a text as float16 behind a header of zeros
half() {
    ok array zeros:$2x$3 dtype=f16 -o "$1"
    head -c 128 "$1" >head
    awk 'BEGIN { split("C400 C200 C000 BC00 0000 3C00 4000 4200 4400", code) }
         { c = code[$1 + 5]; printf "\\x%s\\x%s", substr(c, 3, 2), substr(c, 1, 2) }' "$4" >codes
    { cat head; printf "$(cat codes)"; } >"$1"
}
half a.npy 3 16 a.txt
awk 'BEGIN { for (i = 0; i < 80; i++) printf "%d\n", (i * 5) % 7 - 3 }' >b.txt
half b.npy 16 5 b.txt
ok array random:3x5 -o c.npy
t run matmul_accumulate a=a.npy b=b.npy c=c.npy -o d.npy --check --device emulator
[ "$code" = 0 ] || die "does not run"
expect_out '^device +emulator'
expect_out '^problem +m=3 n=5 k=16'
expect_out '^kernel +matmul_accumulate_'
expect_out '^check +right: 0 of 15 elements'
expect_out '^wrote +d.npy'
{ sed 's/^/a /' a.txt; sed 's/^/b /' b.txt; floats c.npy 60 | sed 's/^/c /'; floats d.npy 60 |
    sed 's/^/d /'; } |
    awk '{ v[$1, n[$1]++] = $2 }
         END { for (i = 0; i < 3; i++) for (j = 0; j < 5; j++) {
                   s = v["c", i * 5 + j]
                   for (k = 0; k < 16; k++) s += v["a", i * 16 + k] * v["b", k * 5 + j]
                   e = s - v["d", i * 5 + j]
                   if (e * e > 1e-8) { print i, j, s, v["d", i * 5 + j]; exit 1 } } }' ||
        die "the product is wrong"

# Both types, both layouts of B, odd sizes, with C and without, chosen and given tiles.
for dtype in f16 bf16; do
    ok array random:150x72 dtype=$dtype -o a.npy
    ok array random:72x67 dtype=$dtype --seed 1 -o b.npy
    ok array random:67x72 dtype=$dtype --seed 1 -o bt.npy
    ok array random:150x67 --seed 2 -o c.npy
    ok run matmul_accumulate a=a.npy b=b.npy c=c.npy -o d.npy --check --device emulator
    expect_out '^check +right: 0 of 10050 elements'
    ok run matmul_accumulate a=a.npy bt=bt.npy block_n=64 stages=2 --check --json --device emulator
    expect_out '"right":.*true'
    expect_out '"params":.*b=transposed .*block_n=64 .*stages=2'
done
head -c 128 d.npy | grep -aq "'<f4', 'fortran_order': False, 'shape': (150, 67)" ||
    die "D is no float32 150 x 67"
LC_ALL=C sed "s/'<V2'/'<u2'/" a.npy >raw.npy
ok run matmul_accumulate a=raw.npy b=b.npy dtype=bf16 --check --device emulator
ok run matmul_accumulate a=a.npy b=b.npy --repeat 1 --device emulator
expect_out '^time +[0-9.]+ us a launch over 1, .* TFLOP/s'
# A result that goes nowhere is said to.
t run matmul_accumulate a=a.npy b=b.npy --device emulator
expect_code 0
expect_err 'the result is not kept: -o FILE.npy writes it'
# The problem's size decides what the user leaves open, and naming what was decided changes nothing.
ok run matmul_accumulate a=a.npy b=b.npy --json --device emulator
params=$(grep -oE '"params":[^,]*' .out)
words=$(sed 's/^"params":\t*"//; s/"$//' <<<"$params")
grep -q 'arch=sm_90a .*block_n=' <<<"$words" || die "no kernel is named: $params"
for word in $words block_n=auto ctas=auto splits=auto; do
    case $word in a=* | b=* | c=*) continue ;; esac # files, here
    ok run matmul_accumulate a=a.npy b=b.npy $word --json --device emulator
    [ "$(grep -oE '"params":[^,]*' .out)" = "$params" ] || die "$word changes the kernel"
done
ok run matmul_accumulate a=a.npy b=b.npy slices=3 --json --device emulator
grep -q ' slices=3 ' .out || die "slices=3 is not taken"
ok run matmul_accumulate a=a.npy b=b.npy --arch sm_90a --json --device emulator
[ "$(grep -oE '"params":[^,]*' .out)" = "$params" ] || die "--arch changes the kernel"
# The Blackwell kernels, by one CTA and by pairs.
ok run matmul_accumulate a=a.npy b=b.npy c=c.npy --arch sm_100a --check --device emulator
expect_out '^params +arch=sm_100a .*ctas=2'
expect_out '^check +right: 0 of 10050 elements'
ok run matmul_accumulate a=a.npy bt=bt.npy c=c.npy arch=sm_100f ctas=2 block_n=128 \
    --check --device emulator
expect_out '^params +arch=sm_100f .*ctas=2'
expect_out '^check +right: 0 of 10050 elements'
# One file on standard input, the result on standard output.
"$PTXGEN" run matmul_accumulate a=- b=b.npy c=c.npy -o - --device emulator <a.npy >piped.npy 2>.err
ok run matmul_accumulate a=a.npy b=b.npy c=c.npy -o d.npy --device emulator
cmp piped.npy d.npy

# K = 0 gives C, no rows give nothing.
ok array zeros:150x0 dtype=bf16 -o empty_a.npy
ok array zeros:0x67 dtype=bf16 -o empty_b.npy
ok run matmul_accumulate a=empty_a.npy b=empty_b.npy c=c.npy -o d.npy --check --device emulator
cmp <(tail -c 40200 c.npy) <(tail -c 40200 d.npy) || die "K = 0 does not give C"
ok array zeros:0x72 dtype=bf16 -o no_rows.npy
ok run matmul_accumulate a=no_rows.npy b=b.npy -o d.npy --check --device emulator
expect_out '^kernel +none'

ok array zeros:150x67 dtype=e4m3 -o e4m3.npy
m="run matmul_accumulate"
ok array random:150x72 -o f32.npy
refuse 2 'b=FILE.npy is missing \(or bt=FILE.npy\)' $m a=a.npy
refuse 2 'a=FILE.npy is missing' $m b=b.npy
refuse 2 'two ways to give the same matrix' $m a=a.npy b=b.npy bt=bt.npy
refuse 2 'b= is given twice' $m a=a.npy b=b.npy b=b.npy
refuse 2 'b has k=67, but a has k=72: .* named bt=' $m a=a.npy b=bt.npy
refuse 2 'b has k=67, but a has k=72: .* named bt=' $m a=a.npy bt=b.npy
refuse 2 'c has n=72, but b has n=67' $m a=a.npy b=b.npy c=f32.npy
refuse 2 'they must be equal$' $m a=a.npy b=b.npy c=f32.npy # no word of bt=
refuse 3 'aux=aux.npy:f64: aux cannot hold f64; leave :f64 out' $m a=a.npy b=b.npy aux=aux.npy:f64 \
    -o d.npy
refuse 3 'c holds .*; it takes f32, f16 or bf16' $m a=a.npy b=b.npy c=e4m3.npy
refuse 2 'b holds bf16 and a f32: they must hold the same' $m a=f32.npy b=b.npy
refuse 2 "dtype=bf16" $m a=raw.npy b=b.npy
refuse 2 'dtype=f16 cannot name them. Save float16 as a.view\(numpy.float16\)' $m a=raw.npy \
    b=b.npy dtype=f16
refuse 2 'dtype=f16 is given, but the operands say dtype=bf16' $m a=a.npy b=b.npy dtype=f16
refuse 2 'a file that holds it transposed is named bt=' $m a=a.npy b=transposed
# One step converts: not to float32, which A and B are not.
for type in u4 i4; do
    LC_ALL=C sed "s/'<f4'/'<$type'/" f32.npy >other.npy
    refuse 3 "'<$type'.*a.astype\(numpy.float16\)" $m a=other.npy b=b.npy
done
refuse 2 'did you mean block_n' $m a=a.npy b=b.npy blok_n=64
refuse 3 'block_n=65' $m a=a.npy b=b.npy block_n=65
refuse 2 'give the architecture once' $m a=a.npy b=b.npy arch=sm_90a --arch sm_100a
refuse 2 'is not known' $m a=a.npy b=b.npy --arch sm_95
# The plain name is the device's: the kernel's target is sm_90a either way.
ok run matmul_accumulate a=a.npy b=b.npy --arch sm_90 --device emulator -o plain.npy
expect_out '^params +arch=sm_90a '
ok run matmul_accumulate a=a.npy b=b.npy --arch sm_110a --device emulator --check
refuse 2 'does not apply to matmul_accumulate' $m a=a.npy b=b.npy --grid 4
ok array index:72/5 -o vector.npy
refuse 2 'b has shape \(72,\); it must have 2 dimensions, \(k, n\)' $m a=a.npy b=vector.npy
refuse 2 'only one of a and b can be standard input' $m a=- b=-

# ---- tcgen05_copy ----

ok array random:256x64 -o in.npy
ok run tcgen05_copy in=in.npy -o out.npy --check --device emulator
expect_out '^params +arch=sm_100a m=256 n=64 block=64 dtype=f32'
expect_out '^check +right: 0 of 16384 elements differ'
cmp in.npy out.npy
LC_ALL=C sed "s/'<f4'/'<u4'/" in.npy >u32.npy
ok run tcgen05_copy in=u32.npy block=16 swizzle=32 arch=sm_103a -o out.npy --check --device emulator
cmp u32.npy out.npy
expect_out '^params +arch=sm_103a .*block=16 dtype=u32 swizzle=32'
refuse 3 'm must be 128' run tcgen05_copy in=f32.npy --device emulator
refuse 3 'it takes f32, s32 or u32' run tcgen05_copy in=a.npy
refuse 2 'm=512 is given, but the operands say m=256' run tcgen05_copy in=in.npy m=512
refuse 3 'not built for sm_90a: it needs tensor memory .*sm_100a, .*sm_103f$' run tcgen05_copy \
    in=in.npy arch=sm_90a

# Scalars are numbers of the command line (or files of one).
ok array random:16x32 dtype=f16 -o sa.npy
ok array random:32x24 dtype=f16 --seed 2 -o sb.npy
ok array random:16x24 --seed 3 -o sc.npy
before=none
for factors in 'alpha=0.5' 'alpha=0.5 beta=2' 'alpha=-1 beta=0' 'beta=1e-3'; do
    t run matmul_accumulate a=sa.npy b=sb.npy c=sc.npy arch=sm_90a $factors -o sd.npy \
        --check --device emulator
    [ "$code" = 0 ] || die "$factors: does not run"
    expect_out '^check +right: 0 of 384'
    if cmp -s sd.npy "sd.$before.npy"; then die "$factors changed nothing"; fi
    before=$factors
    cp sd.npy "sd.$before.npy"
done
refuse 2 'alpha=half: write a number, or a .npy file' run matmul_accumulate a=sa.npy b=sb.npy \
    alpha=half
refuse 2 'alpha= is given twice' run matmul_accumulate a=sa.npy b=sb.npy alpha=1 alpha=2

# ---- matmul_scaled ----

ok array random:40x256 dtype=e4m3 -o a8.npy
ok array random:30x256 dtype=e4m3 --seed 1 -o b8.npy
ok array random:40x8 dtype=e8m0 -o sa.npy
ok array random:30x8 dtype=e8m0 --seed 1 -o sb.npy
ok array random:30x128 dtype=e2m1x2 -o b4.npy
ok array random:40x128 dtype=e2m1x2 --seed 4 -o a4.npy
ok array random:40x16 dtype=ue4m3 -o nsa.npy
ok array random:30x16 dtype=ue4m3 --seed 5 -o nsb.npy
# scaled A B A_SCALES B_SCALES FORMATS ARGS...: right, and of these formats without being told
scaled() {
    ok run matmul_scaled a=$1 b=$2 a_scales=$3 b_scales=$4 -o d.npy --check --device emulator \
        "${@:6}"
    expect_out "^params +arch=sm_100a $5 "
    expect_out '^check +right: 0 of 1200 elements'
    expect_out '^problem +m=40 n=30 k=256'
}
scaled a8.npy b8.npy sa.npy sb.npy 'a=mxfp8 b=mxfp8 out=f32'
head -c 128 d.npy | grep -aq "'<f4', 'fortran_order': False, 'shape': (40, 30)" ||
    die "D is no float32 40 x 30"
scaled a4.npy b4.npy sa.npy sb.npy 'a=mxfp4 b=mxfp4 out=f16' out=f16
scaled a8.npy b4.npy sa.npy sb.npy 'a=mxfp8 b=mxfp4 out=f32'
scaled a4.npy b8.npy sa.npy sb.npy 'a=mxfp4 b=mxfp8 out=f32'
scaled a4.npy b4.npy nsa.npy nsb.npy 'a=nvfp4 b=nvfp4 out=bf16' out=bf16 format=nvfp4
head -c 128 d.npy | grep -aq "'<V2'" || die "D is no bfloat16"
LC_ALL=C sed "s/'|u1'/'|V1'/" a8.npy >v1.npy
scaled v1.npy b8.npy sa.npy sb.npy 'a=mxfp8 b=mxfp8 out=f32' block_n=128 stages=2
# Rows of 36 bytes are padded on the way; K = 72 has three scales of 32.
ok array random:40x36 dtype=e2m1x2 -o odd.npy
ok array random:40x3 dtype=e8m0 -o odd_scales.npy
ok run matmul_scaled a=odd.npy b=odd.npy a_scales=odd_scales.npy b_scales=odd_scales.npy \
    --check --device emulator --json
expect_out '"k":.*72'
expect_out '"right":.*true'
s="run matmul_scaled a=a8.npy a_scales=sa.npy b_scales=sb.npy"
refuse 2 'b_scales=FILE.npy is missing' run matmul_scaled a=a8.npy b=b8.npy a_scales=sa.npy
refuse 2 'B has 128 bytes and 8 scales a row; .* 16 as nvfp4' $s b=b4.npy b_format=nvfp4
ok array random:30x200 dtype=e4m3 -o short.npy
ok array random:30x7 dtype=e8m0 -o short_scales.npy
refuse 2 'A has rows of 256 elements \(mxfp8\) and B of 200 \(mxfp8\)' \
    run matmul_scaled a=a8.npy a_scales=sa.npy b=short.npy b_scales=short_scales.npy
refuse 2 'A has 40 rows and its scales 30' run matmul_scaled a=a8.npy b=b8.npy a_scales=sb.npy \
    b_scales=sb.npy
refuse 2 'B has 256 bytes and 128 scales a row; 256 bytes need 8 scales as mxfp8, 16 as mxfp4 and 32 as nvfp4' \
    run matmul_scaled a=a8.npy b=b8.npy a_scales=sa.npy b_scales=b4.npy
ok array random:30x100 dtype=e2m1x2 -o short4.npy
ok array random:40x200 dtype=e4m3 -o short8.npy
ok array random:40x7 dtype=e8m0 -o short8_scales.npy
refuse 3 'k must be a multiple of 128' run matmul_scaled a=short8.npy a_scales=short8_scales.npy \
    b=short4.npy b_scales=short_scales.npy --device emulator
# No bare bytes of wider elements: rounding first, in the type that each file needs.
refuse 2 "b holds '<f4'; elements and scales come as bytes. .*astype\(ml_dtypes.float8_e4m3fn\).view\(numpy.uint8\)" \
    $s b=f32.npy
refuse 2 "b_scales holds '<f4'; .*astype\(ml_dtypes.float8_e8m0fnu\).view\(numpy.uint8\) \(nvfp4: float8_e4m3fn\)" \
    run matmul_scaled a=a8.npy b=b8.npy a_scales=sa.npy b_scales=f32.npy
# Few bytes fit several formats; K = 0 is refused before them.
ok array random:40x16 dtype=e4m3 -o narrow.npy
ok array random:40x1 dtype=e8m0 -o narrow_scales.npy
refuse 2 'A fits mxfp8, mxfp4: say a_format=' run matmul_scaled a=narrow.npy b=narrow.npy \
    a_scales=narrow_scales.npy b_scales=narrow_scales.npy
LC_ALL=C sed "s/(40, 16)/(640, 0)/" narrow.npy | head -c 128 >k0.npy
refuse 3 'A has rows of no bytes \(K = 0\).*without a kernel' run matmul_scaled a=k0.npy b=k0.npy \
    a_scales=narrow_scales.npy b_scales=narrow_scales.npy
refuse 2 "b_format is 'mxfp9'.*Did you mean mxfp" $s b=b8.npy b_format=mxfp9
refuse 2 "out=f64 is not one of: f32, f16, bf16" $s b=b8.npy out=f64
refuse 2 'b= names the file here' $s b=mxfp8
