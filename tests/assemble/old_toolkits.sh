# What `ptxgen list` says of older CUDA toolkits, against their assemblers: NVIDIA's wheels, fetched
# into the build folder at the first run. A kernel assembles with what is said to take it, and is
# refused in our own words by what is older; `auto` takes the newest that is there.
. tests/support/cli.sh
wheels=$PTXGEN_BUILD/old_toolkits
fetched=
for version in 12.3 12.4 12.6 12.8 12.9; do
    folder=$wheels/$version
    if [ ! -x "$folder/nvidia/cuda_nvcc/bin/ptxas" ]; then
        rm -rf "$folder"
        python3 -m pip install -q --no-deps --target "$folder" "nvidia-cuda-nvcc-cu12==$version.*" \
            >/dev/null 2>&1 ||
            continue
    fi
    fetched="$fetched $version"
done
[ -n "$fetched" ] || skip "no wheels can be fetched here"

number() { echo "$1" | awk -F. '{ print $1 * 100 + $2 }'; }
kernels='scatter_add|sm_90
scatter_add|sm_100a
matmul_accumulate|sm_90a
matmul_accumulate|sm_100a
matmul_scaled|sm_100a
tcgen05_copy|sm_100a
tcgen05_copy|sm_100f'
ok list --json
cp .out list.json
for version in $fetched; do
    for kernel in $kernels; do
        family=${kernel%|*} arch=${kernel#*|}
        needed=$(awk -v family="\"$family\"" -v arch="\"$arch\":" '
            /"name":/ && index($0, family) { inside = 1 }
            inside && index($0, arch) { gsub(/[",]/, "", $2); print $2; exit }' list.json)
        [ -n "$needed" ] || die "list says nothing of $family on $arch"
        t compile "$family" "arch=$arch" --toolkit "$wheels/$version" --cache-dir ''
        if [ "$(number "$version")" -ge "$(number "$needed")" ]; then
            [ "$code" = 0 ] || die "$family on $arch does not assemble with $version, but $needed should do"
        else
            expect_code 5
            expect_err "needs an assembler of CUDA $needed or later, and ptxas .* is of $version"
        fi
    done
done

# The newest of several places, unless one is named.
set -- $fetched
oldest=$1
for newest; do :; done
home=$work/home
mkdir -p "$home/.local/share/ptxgen"
ln -s "$wheels/$newest" "$home/.local/share/ptxgen/cuda"
if [ ! -d /usr/local/cuda ]; then
    HOME=$home CUDA_HOME= PATH=$wheels/$oldest/nvidia/cuda_nvcc/bin:/usr/bin:/bin t doctor
    expect_out "^ptxas +ok +$newest"
fi
# CUDA_HOME's is taken if it takes every kernel, else the newest there; a toolkit that was named is
# the only one.
HOME=$home CUDA_HOME=$wheels/$oldest PATH=/usr/bin:/bin t doctor
grep -qE "^ptxas +ok +$oldest" .out && die "keeps the oldest of CUDA_HOME although $newest is there"
HOME=$home CUDA_HOME=$wheels/$oldest PATH=/usr/bin:/bin ok compile matmul_scaled arch=sm_100a \
    --cache-dir ''
if [ "$newest" = 12.9 ]; then
    CUDA_HOME=$wheels/$newest t doctor
    expect_out "^ptxas +ok +$newest"
fi
PTXGEN_TOOLKIT=$wheels/$oldest t doctor
expect_out "^ptxas +ok +$oldest"
