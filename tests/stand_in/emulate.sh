# ptxgen emulate: programs that nvcc builds here, of the runtime (shared and static) and of the
# driver with NVRTC, give what a GPU gives; failures have the errors of a GPU and name the place.
# Skipped where nvcc is not installed.
command -v nvcc >/dev/null || { echo "no nvcc here: skipped"; exit 77; }
. "$PTXGEN_SOURCE/tests/support/cli.sh"
here=$PTXGEN_SOURCE/tests/stand_in
cuda=$(dirname "$(dirname "$(readlink -f "$(command -v nvcc)")")")

build() { # OUTPUT OPTIONS...
    out=$1
    shift
    nvcc -std=c++17 -arch=sm_90 "$@" "$here/runtime.cu" -o "$out" 2>build.log ||
        die "nvcc: $(cat build.log)"
}
nvcc -std=c++17 -I "$PTXGEN_SOURCE" -c "$here/abi.cu" -o abi.o 2>build.log ||
    die "layouts: $(cat build.log)"
build program
build shared -cudart shared
# gives WORD LINES: both ways to link the runtime print these lines.
gives() {
    for program in ./program ./shared; do
        t emulate -- $program "$1"
        expect_code 0
        [ "$(cat .out)" = "$2" ] || die "$program $1 printed other than: $2"
    done
}

gives memory '6.5 1998.5 1024
11111111 11111111 1
1
cudaErrorInvalidValue
cudaErrorInvalidValue
5 6'
expect_err 'a copy of 5000 bytes: its destination has 4000 left'
gives graphs '0 3 21
44'
gives launches '189 0
cudaErrorInvalidValue cudaSuccess
1 cudaErrorInvalidConfiguration
101 100 101 100
8 1
256 2
thread 0 of 3, 0.75 ok
thread 1 of 3, 0.75 ok'
expect_err 'cudaFuncSetAttribute'
gives threads '400'

gives device '9.0 132 132 16384 32 1
cudaErrorInvalidDevice'
t emulate --arch sm_80 --sms 20 --memory 100 -- ./program device
expect_out '^8\.0 20 20 100 32 0$'

# By the clock: a line for each launch; its name is checked, and that nothing else watches.
t emulate --time sm_90 -- ./program launches
expect_err ': [0-9.]+ us on the H200 by the clock, limited by .* \(known error [0-9]+%\)'
t emulate --time sm_12 -- ./program launches
expect_err "the clock knows sm_90 and sm_100, not 'sm_12'"
for option in --check-races '--seeds 1..2' '--order isa'; do
    refuse 2 'leave --check-races, --seeds and --order isa out' \
        emulate --time sm_90 $option -- ./program launches
done
# The program runs on the GPU whose time is asked for.
t emulate --time sm_100 -- ./program device
expect_out '^10\.0 148 148 '
refuse 2 "--arch sm_90 with --time sm_100: the time would be another GPU's" \
    emulate --arch sm_90 --time sm_100 -- ./program launches

# What a GPU calls a lost context stays so; the place is named.
gives far 'cudaErrorIllegalAddress
cudaErrorIllegalAddress'
expect_err '_Z9write_farPi: .*out of bounds|_Z9write_farPi: .*outside'
gives between 'cudaErrorMisalignedAddress
cudaErrorMisalignedAddress'
gives vote 'cudaErrorIllegalInstruction
cudaErrorIllegalInstruction'
expect_err 'lane 0: its member mask 0x00000002 does not name it'
gives trap 'cudaErrorLaunchFailure
cudaErrorLaunchFailure'
gives race 'cudaSuccess
cudaSuccess'

# Arrays, textures, surfaces.
nvcc -std=c++17 -arch=sm_90 "$here/textures.cu" -o textures -lcuda 2>build.log ||
    die "nvcc: $(cat build.log)"
t emulate -- ./textures
expect_code 0
[ "$(cat .out)" = "linear 0.5 12.5 57
surface 102 507
info 8 6 0 32 2 2
outside 1
volume 0
layers 0
fetch 0 1 16 4 0
pitched 0
cube 1 2 3 4 5 6
driver 0 51" ] || die "textures printed something else"

# Tensor maps, made by the driver's function that the runtime finds.
nvcc -std=c++17 -arch=sm_90a "$here/tensor_map.cu" -o tensor_map 2>build.log ||
    die "nvcc: $(cat build.log)"
t emulate --check-races -- ./tensor_map
expect_code 0
expect_out '^0 0$'
expect_err 'box dimension 0 is 257'

# Races: exit code 1, line and kernel on standard error; JSON on request; a program without one is
# clean.
t emulate --check-races -- ./program race
expect_code 1
expect_err '_Z6racingPi: PTX line [0-9]+: race on shared memory'
if grep -q '^ptxgen emulate: line' .err; then die "a report is said twice: $(cat .err)"; fi
t emulate --check-races --seeds 1..3 -- ./program race
expect_code 1
expect_err 'program: 2 defects, .* in 3 runs'
expect_err '_Z6racingPi: PTX line [0-9]+: race on shared memory.*met [0-9]+ times.*seed [0-9]+'
t emulate --check-races --json --seeds 1..2 -- ./program race
expect_code 1
python3 -m json.tool .err >/dev/null || die "standard error is no JSON: $(cat .err)"
grep -q '"kernel":.*"_Z6racingPi"' .err || die "no kernel in the JSON"
grep -qE '"runs":[[:space:]]*2' .err || die "not two runs in the JSON"
t emulate --check-races -- ./shared launches
expect_code 0
expect_err 'shared: 0 defects, .* in 1 run of [0-9]+ kernels$'

# A kernel that stops is no clean one, whatever the program makes of it; without checking mode the
# exit code is the program's. Where no kernel ran nothing is said to be right.
t emulate --check-races -- ./program far
expect_code 1
expect_err 'program: 1 stop, 0 defects, .* in 1 run of 1 kernel$'
t emulate --check-races --seeds 4..5 -- ./program far
expect_code 1
expect_err '_Z9write_farPi stopped with seed 4: .*out of bounds'
t emulate --check-races --budget 10 -- ./program race
expect_code 1
expect_err "program: 1 stop, [0-9]+ defects?"
t emulate --json -- ./program far
expect_code 0
python3 -c 'import json
found = json.loads(open(".err").read().split("\n", 1)[1])
stop, = found["stops"]
assert stop["kernel"] == "_Z9write_farPi" and "out of bounds" in stop["text"], found
assert found["kernels"] == 1 and found["reports"] == [] and found["exit_code"] == 0, found' ||
    die "the JSON has no stop: $(cat .err)"
for nothing in "./program device" /bin/true; do
    t emulate --check-races -- $nothing
    expect_code 0
    expect_err ': no kernel ran on the emulator, so nothing was checked$'
done
nvcc -arch=sm_90 -DKERNEL=left -DLAUNCH=first -DNEXT=second -DMAIN -c "$here/one_of_two.cu" \
    -o first.o &&
    nvcc -arch=sm_90 -DKERNEL=right -DLAUNCH=second -DNEXT=first -c "$here/one_of_two.cu" \
    -o second.o &&
    nvcc first.o second.o -o two || die "nvcc failed"
t emulate --check-races -- ./two
expect_code 1
expect_err '_Z4leftPi: PTX line [0-9]+: race on shared memory'
expect_err '_Z5rightPi: PTX line [0-9]+: race on shared memory'

# What is lacking is refused by name; the program's own exit code comes through.
t emulate -- ./program unknown
expect_code 9
expect_out cudaErrorNotSupported
expect_err 'cudaIpcOpenMemHandle is not provided'
refuse 2 'which program' emulate
refuse 2 'the clock knows sm_90' emulate --time sm_91 -- /bin/true
refuse 2 'like sm_90' emulate --arch hopper -- ./program
refuse 127 'cannot be started' emulate -- ./no-such-program

# Fat binaries: every way to compress, no PTX, PTX that is too new.
for mode in none speed; do
    build packed -compress-mode $mode
    t emulate -- ./packed threads
    expect_out '^400$'
done
nvcc -std=c++17 -gencode arch=compute_90,code=sm_90 "$here/runtime.cu" -o cubin 2>build.log ||
    die "nvcc failed"
t emulate -- ./cubin memory
expect_code 3
expect_err 'no PTX: build it with nvcc -gencode arch=compute_90,code=compute_90'
t emulate --arch sm_80 -- ./program memory
expect_code 3
expect_err 'say --arch sm_90'

# Separate compilation: the files' PTX is linked; a kernel that launches kernels is refused by name.
nvcc -arch=sm_90 -rdc=true -DPART=1 -c "$here/parts.cu" -o part1.o 2>build.log &&
    nvcc -arch=sm_90 -rdc=true -DPART=2 -c "$here/parts.cu" -o part2.o 2>build.log &&
    nvcc -arch=sm_90 part1.o part2.o -o parts 2>build.log || die "nvcc: $(cat build.log)"
t emulate --check-races --seeds 1..2 -- ./parts
expect_code 0
[ "$(head -3 .out | sort)" = "11 324 32 cudaSuccess
first file 1
second file 10" ] || die "parts printed something else"
printf '__global__ void in() {}\n__global__ void out() { in<<<1, 1>>>(); }\n%s\n' \
    'int main() { out<<<1, 1>>>(); return cudaGetLastError() != cudaErrorNotSupported; }' >nested.cu
nvcc -arch=sm_90 -rdc=true nested.cu -o nested -lcudadevrt 2>build.log ||
    die "nvcc: $(cat build.log)"
t emulate -- ./nested
expect_code 0
expect_err 'no kernel launches kernels here'

strip -o stripped ./program
t emulate -- ./stripped memory
expect_code 1
expect_err 'link it with nvcc -cudart shared'

# A library that hides its runtime, as cuBLAS: named, and the program's own kernels run.
nvcc -std=c++17 -arch=sm_90 "$here/textures.cu" \
    -shared -Xcompiler -fPIC -Xlinker --exclude-libs=ALL \
    -o hidden.so && strip hidden.so &&
    nvcc first.o second.o -o beside -Xlinker --no-as-needed,./hidden.so -lcuda || die "nvcc failed"
t emulate -- ./beside
expect_code 0
expect_err 'hidden.so has a CUDA runtime of its own'

# The driver API and NVRTC.
cc "$here/driver.c" -I "$cuda/include" -L "$cuda/lib64" -L "$cuda/lib64/stubs" -lcuda -lnvrtc \
    -Wl,-rpath,"$cuda/lib64" -o driver || die "cc failed"
for image in ptx cubin apart linked; do
    t emulate -- ./driver $image
    expect_code 0
    [ "$(cat .out)" = "25 25 300
1
CUDA_ERROR_NOT_FOUND
1
1 1
0 719 719" ] || die "the driver program printed something else"
done
for define in SAME_DEFAULT_STREAM CUDA_API_PER_THREAD_DEFAULT_STREAM; do
    cc -D$define "$here/driver_graph.c" -I "$cuda/include" -L "$cuda/lib64/stubs" \
        -lcuda -o driver_graph || die "cc failed"
    t emulate -- ./driver_graph
    expect_code 0
    [ "$(cat .out)" = "105 105 4 1 1
207 2
200 3 1
9" ] || die "the driver's graphs printed something else"
done
