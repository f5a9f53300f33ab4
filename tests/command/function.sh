# function=@FILE: user functions as PTX, and as CUDA C++ where NVRTC is installed; what each mistake
# is answered with.
. tests/support/cli.sh

cat >scale.ptx <<'EOF'
.version 8.0
.target sm_80
.address_size 64
.visible .func (.param .b32 r) scale(.param .b32 x, .param .b64 row)
{
    .reg .b64 %rd1;
    .reg .f32 %f<4>;
    ld.param.f32 %f1, [x];
    ld.param.u64 %rd1, [row];
    cvt.rn.f32.s64 %f2, %rd1;
    mul.f32 %f3, %f1, %f2;
    st.param.f32 [r], %f3;
    ret;
}
EOF
for dtype in f32 f16 bf16; do
    ok array zeros:10x64 dtype=$dtype -o out.npy
    ok array random:200x64 dtype=$dtype -o src.npy
    ok array index:200/10 -o index.npy
    ok run scatter_add out=out.npy index=index.npy src=src.npy function=@scale.ptx \
        --check -o result.npy
    expect_out '^check +right: 0 of 640'
done
# A wrong expectation is seen: without the function the sums are others.
ok run scatter_add out=out.npy index=index.npy src=src.npy -o plain.npy
cmp -s plain.npy result.npy && die "the function changed nothing"

# The line map names the user's lines; the same file elsewhere gives the same kernel.
ok emit scatter_add n=64 function=@scale.ptx --line-map
expect_out '	scale.ptx:11	.*mul.f32'
ok emit scatter_add n=64 function=@scale.ptx -o a.ptx
mkdir sub && cp scale.ptx sub
ok emit scatter_add n=64 function=@sub/scale.ptx:scale
ok emit scatter_add n=64 function=@sub/scale.ptx -o b.ptx
cmp a.ptx b.ptx || die "the folder of the function changed the kernel"
grep -q 'call' a.ptx && die "a call is left"

refuse 5 'missing.ptx' emit scatter_add function=@missing.ptx
refuse 2 'is not a whole number or the word none' emit scatter_add function=scale.ptx
refuse 2 "scale.ptx defines no function 'other'" emit scatter_add function=@scale.ptx:other
refuse 3 'needs schedule=vector' emit scatter_add function=@scale.ptx schedule=bulk
refuse 3 'reduce=add and without weight' emit scatter_add function=@scale.ptx reduce=max
refuse 3 'rows must be a multiple of 16 bytes: pad n' emit scatter_add dtype=f32 \
    function=@scale.ptx n=5
sed 's/mul.f32 %f3, %f1, %f2/bar.sync 0/' scale.ptx >barrier.ptx
refuse 4 "barrier.ptx:11:5: 'bar.sync' cannot stand in a function" emit scatter_add \
    function=@barrier.ptx
printf '\n#include <cuda_fp16.h>\nfloat f(float x) { return x; }\n' >a.cu
refuse 2 'a.cu:2: #include cuda_fp16.h: only headers that are given as text' emit scatter_add \
    function=@a.cu

# Without NVRTC: a sentence, and PTX goes on working.
printf 'extern "C" float f(float x) { return x / 3; }\n' >third.cu
refuse 5 'NVRTC, which compiles CUDA C\+\+, is not in .*give the function as PTX' \
    compile scatter_add function=@third.cu --toolkit "$work/sub"
"$PTXGEN" emit scatter_add n=64 function=@scale.ptx | cmp - a.ptx

"$PTXGEN" doctor --json 2>/dev/null | tr -d "\n\t" |
    grep -qE "\"topic\":\"nvrtc\",\"state\":\"ok\"" || {
    echo "no NVRTC here: CUDA functions are not tried"
    exit 0
}
ok run scatter_add out=out.npy index=index.npy src=src.npy function=@third.cu --check
expect_out '^check +right'
try() { printf '%s\n' "$1" >bad.cu; }
try 'extern "C" float f(float x) { return x +; }'
t emit scatter_add function=@bad.cu
expect_code 4
expect_err '^ptxgen: NVRTC: bad.cu\(1\): error: expected an expression'
try 'extern "C" int f(int x) { return x; }'
t emit scatter_add function=@bad.cu
expect_err "'f' must be float f\(float value, long long row, int column\); trailing parameters may be left out"
try 'extern "C" float f(float x) { __syncthreads(); return x; }'
t emit scatter_add function=@bad.cu
expect_err "\(bad.cu:1\): 'bar.sync' cannot stand in a function that is inlined: it is a barrier"
try 'extern "C" float f(float x) { printf("%f", x); return x; }'
t emit scatter_add function=@bad.cu
expect_err 'printf cannot stand in a function that is inlined'
try 'extern "C" float f(float x) { return __shfl_xor_sync(-1, x, 1); }'
t emit scatter_add function=@bad.cu
expect_err "\(bad.cu:1\): 'shfl' cannot stand in a function that is inlined: it works on a whole warp"
try 'extern "C" float f(float x) { __shared__ float s[9]; s[threadIdx.x] = x; return s[1]; }'
t emit scatter_add function=@bad.cu
expect_err 'shared memory, which is the kernel'

# A loop without an end compiles; on the emulator the budget ends it.
try 'extern "C" float f(float x) { while (x < 1e30f) x = fminf(x, 1); return x; }'
ok emit scatter_add n=64 function=@bad.cu
expect_out '^\.version'

# What division costs is said: a call at every place where the result is f32, none where it has 16
# bits.
have_assembler || exit 0
ok compile scatter_add n=64 function=@third.cu --json
[ "$(sed -n 's/.*"calls":	\([0-9]*\).*/\1/p' .out)" -ge 16 ] || die "calls of exact division"
ok compile scatter_add n=64 dtype=f16 function=@third.cu
expect_out '^calls +0 places'

# The function is an entry of the cache of its own, with PTX and no cubin.
t cache verify --recompile
expect_code 1 # none is different, but none could be compared
expect_out '0 damaged, 0 different from a fresh build'
expect_out 'the source of its user function is not here'
hash=$("$PTXGEN" cache ls 2>/dev/null | awk '$NF == "third.cu" { print $1; exit }')
ok inspect "$hash"
expect_out '^function +third.cu, compiled by nvrtc'
ok cache show "$hash" --ptx
expect_out 'func .* f\('
t cache show "$hash" --cubin
expect_code 2
expect_err 'it has PTX only'
