# run scatter_add: every file it must refuse, with a sentence that says what to do, and nothing
# written.
. tests/support/cli.sh
export PTXGEN_DEVICE=emulator

for a in "zeros:10x8 out" "index:20/10 index" "random:20x8 src"; do
    set -- $a
    ok array "$1" -o "$2.npy"
done
# Changes bytes of a file without changing its length.
mangle() { LC_ALL=C sed "$1" "$2" >"$3"; }
run() { # run CODE PATTERN [out index src] name=value...
    c=$1 p=$2
    shift 2
    refuse "$c" "$p" run scatter_add "$@" -o result.npy
}

run 2 'out=FILE.npy is missing' index=index.npy src=src.npy
run 2 'out= is given twice' out=out.npy out=out.npy index=index.npy src=src.npy
run 2 'only one of out and index can be standard input' out=- index=- src=src.npy
run 5 'absent.npy cannot be read: No such file' out=absent.npy index=index.npy src=src.npy
run 5 'cannot be read: Is a directory' out=/ index=index.npy src=src.npy

mangle "s/'<f4'/'>f4'/" src.npy big.npy
run 2 "big.npy: the array is big-endian .*save a.astype\('<f4'\)" out=out.npy index=index.npy \
    src=big.npy
mangle 's/False/True /' out.npy fortran.npy
run 2 'fortran.npy: the array is in Fortran order; save numpy.ascontiguousarray' out=fortran.npy \
    index=index.npy src=src.npy
mangle "s/'<f4'/'<f8'/" out.npy double.npy
run 2 "double.npy: the file is cut short: \(10, 8\) of '<f8'" out=double.npy index=index.npy \
    src=src.npy
mangle 's/NUMPY/NUMPX/' out.npy magic.npy
run 2 'magic.npy: this is no .npy file' out=magic.npy index=index.npy src=src.npy
mangle 's/fortran_order/fortran_xrder/' out.npy key.npy
run 2 'key.npy: the .npy header is damaged' out=key.npy index=index.npy src=src.npy
head -c 300 src.npy >short.npy
run 2 'short.npy: the file is cut short: \(20, 8\) of .<f4. needs 640 bytes of data, 172 are there' out=out.npy index=index.npy src=short.npy
head -c 50 src.npy >header.npy
run 2 'header.npy: the file ends inside its header' out=out.npy index=index.npy src=header.npy
: >nothing.npy
run 2 'nothing.npy: this is no .npy file' out=nothing.npy index=index.npy src=src.npy
{ cat src.npy; echo; } >long.npy
run 2 'long.npy: 1 bytes follow the array' out=out.npy index=index.npy src=long.npy

ok array zeros:80 -o flat.npy
run 2 'flat.npy: out has shape \(80,\); it must have 2 dimensions, \(out_rows, n\)' out=flat.npy \
    index=index.npy src=src.npy
ok array zeros:2x5x8 -o cube.npy
run 2 'cube.npy: out has shape \(2, 5, 8\)' out=cube.npy index=index.npy src=src.npy
run 2 'out.npy: index has shape \(10, 8\); it must have 1 dimension' out=out.npy index=out.npy \
    src=src.npy
ok array zeros:20 -o findex.npy
run 3 "findex.npy: index holds '<f4'; it takes s64 or s32. Convert with a.astype\(numpy.int64" \
    out=out.npy index=findex.npy src=src.npy
ok array index:160/5 -o isrc.npy
mangle "s/(160,)/(20,8)/" isrc.npy isrc2.npy
run 2 'src holds s64 and out f32: they must hold the same' out=out.npy index=index.npy src=isrc2.npy
ok array random:20x8 dtype=f16 -o half.npy
run 2 "src holds f16 and out f32: they must hold the same" out=out.npy index=index.npy src=half.npy
ok array random:19x8 -o rows.npy
run 2 'index has rows=20, but src has rows=19' out=out.npy index=index.npy src=rows.npy
ok array random:20x12 -o wide.npy
run 2 'src has n=12, but out has n=8: they must be equal' out=out.npy index=index.npy src=wide.npy
ok array zeros:20x0 -o empty.npy
ok array zeros:10x0 -o emptyout.npy
ok array zeros:0x8 -o none.npy
ok run scatter_add out=emptyout.npy index=index.npy src=empty.npy -o nothing.npy --check
cmp emptyout.npy nothing.npy
rm nothing.npy
ok array zeros:10x3 -o out3.npy
ok array random:20x3 -o src3.npy
run 3 'rows of n=3 f32 are 12 bytes, not a multiple of 16' out=out3.npy index=index.npy \
    src=src3.npy schedule=vector

mangle "s/'<f2'/'|V2'/" half.npy raw.npy
ok array zeros:10x8 dtype=f16 -o halfout.npy
mangle "s/'<f2'/'<u2'/" halfout.npy rawout.npy
run 2 "rawout.npy: the elements are bare 16-bit words \('<u2'\); say what they are: dtype=bf16" \
    out=rawout.npy index=index.npy src=raw.npy
run 2 "\('<u2'\), and dtype=f16 cannot name them" out=rawout.npy index=index.npy src=raw.npy \
    dtype=f16
run 2 "dtype=f16 is given, but the operands say dtype=f32: leave dtype out" out=out.npy \
    index=index.npy src=src.npy dtype=f16
run 2 "n=16 is given, but the operands say n=8: leave n out" out=out.npy index=index.npy \
    src=src.npy n=16
run 2 '"shedule".*did you mean schedule' out=out.npy index=index.npy src=src.npy shedule=seed
run 2 "'hello' is no parameter" out=out.npy index=index.npy src=src.npy hello
refuse 2 "cannot run 'scater_add'; did you mean 'scatter_add'\?" run scater_add out=out.npy
refuse 2 'run what\?' run

# A bad index is named for every way the kernel may treat it, before an unchecked one could write
# outside of out.
ok array index:20/10 -o bad.npy
printf '\377\377\377\177\0\0\0\0' |
    dd of=bad.npy bs=1 seek=$((128 + 8 * 17)) conv=notrunc 2>/dev/null
for oob in unchecked trap record; do
    for n in 8 dynamic; do
        run 1 'index\[17\] = 2147483647 is not a row of out, which has rows 0 to 9; nothing is written' \
            out=out.npy index=bad.npy src=src.npy oob=$oob n=$n
    done
done
run 1 'out has no rows.*nothing is written' out=none.npy index=index.npy src=src.npy oob=unchecked
ok run scatter_add out=out.npy index=index.npy src=src.npy oob=unchecked --check

# The index type is the file's.
for type in i32 i64; do
    run 2 "the index type is the file's: leave index=$type out" out=out.npy index=index.npy \
        src=src.npy index=$type
    run 2 "the index type is the file's" index=$type out=out.npy src=src.npy
done
# The NumPy call that converts has the type.
LC_ALL=C sed "s/'<f4'/'<c4'/" out.npy >other.npy
run 2 "'<c4'.*a.astype\(numpy.float32\)" out=other.npy index=index.npy src=src.npy
refuse 2 'the name of a file to write is empty' run scatter_add out=out.npy index=index.npy \
    src=src.npy -o ''
for option in '--grid 2' '--arg 1' '--budget 9' '--order hw' '--entry x'; do
    run 2 "--[a-z]+ does not apply to scatter_add" out=out.npy index=index.npy src=src.npy $option
done
# An option that the way it runs would not read is refused, whichever that is.
for option in '--repeat 2' '--assembler ptxas' '--toolkit /'; do
    run 2 'does not apply on the emulator' out=out.npy index=index.npy src=src.npy \
        --check-races $option
done
refuse 2 'launches nothing, so --output' run scatter_add out=out.npy index=index.npy src=src.npy \
    --print-launch -o x.npy
for option in --check '--repeat 2'; do
    refuse 2 'launches nothing, so' run scatter_add out=out.npy index=index.npy src=src.npy \
        --print-launch $option
done
run 2 "emulator's: leave --device" out=out.npy index=index.npy src=src.npy --stats --device cuda
run 2 'is not known' out=out.npy index=index.npy src=src.npy --arch sm_70
run 2 'give the architecture once' out=out.npy index=index.npy src=src.npy --arch sm_90 arch=sm_90
