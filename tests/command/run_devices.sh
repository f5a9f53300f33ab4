# run on a machine with a GPU that cannot run the kernel: refused, with what would run it; on the
# emulator it runs. The GPU is a stand-in for the driver with one sm_90 device, which accepts
# launches and computes nothing.
. tests/support/cli.sh

stub=$(dirname "$PTXGEN")/../tests/stub_libcuda.so
[ -e "$stub" ] || skip "no stand-in for the driver at $stub"
mkdir lib
ln -s "$(realpath "$stub")" lib/libcuda.so.1
export LD_LIBRARY_PATH=$PWD/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}

ok array random:128x32 -o in.npy
ok array random:20x32 dtype=e4m3 -o a8.npy
ok array random:20x1 dtype=e8m0 -o scales.npy
ok array random:20x32 dtype=f16 -o a.npy
scaled="run matmul_scaled a=a8.npy b=a8.npy a_scales=scales.npy b_scales=scales.npy"
refuse 3 'use arch=sm_100a.*\(Stub 0 is sm_90a; the emulator runs every architecture: --device emulator\)' \
    run tcgen05_copy in=in.npy -o out.npy
refuse 3 'sm_100a.*the emulator runs every architecture' $scaled
refuse 3 'built for sm_100a.*this device is sm_90a.*the emulator runs every architecture' \
    run matmul_accumulate a=a.npy bt=a.npy arch=sm_100a
for run in "run tcgen05_copy in=in.npy" "$scaled" \
    "run matmul_accumulate a=a.npy bt=a.npy arch=sm_100a"; do
    ok $run --check --device emulator
    expect_out '^device +emulator'
    expect_out '^check +right'
done
# A kernel that the GPU takes goes there, and --check sees that nothing was computed.
t run matmul_accumulate a=a.npy bt=a.npy -o d.npy --check --json
if [ "$code" = 5 ] && grep -q 'no assembler' .err; then
    skip "no assembler"
fi
expect_code 1
expect_out '"device":.*Stub 0'
expect_out '"right":.*false'
[ ! -e d.npy ] || die "a wrong result was written"
