# run FILE.ptx: any PTX on the emulator: results, arguments, reports of races, refusals.
. tests/support/cli.sh

cat >scale.ptx <<'END'
.version 8.3
.target sm_90
.address_size 64
// x[i] *= f for i < n
.visible .entry scale(.param .u64 x_, .param .u32 n_, .param .f32 f_)
{
    .reg .pred %p;
    .reg .b32 %r<8>;
    .reg .b64 %rd<4>;
    .reg .f32 %f<4>;
    ld.param.u64 %rd0, [x_];
    ld.param.u32 %r0, [n_];
    ld.param.f32 %f0, [f_];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.s32 %r4, %r1, %r2, %r3;
    setp.ge.u32 %p, %r4, %r0;
    @%p bra DONE;
    mul.wide.u32 %rd1, %r4, 4;
    add.s64 %rd2, %rd0, %rd1;
    ld.global.f32 %f1, [%rd2];
    mul.rn.f32 %f2, %f1, %f0;
    st.global.f32 [%rd2], %f2;
DONE:
    ret;
}
END
# Each thread writes its slot of shared memory and reads its mirror's, with or without a barrier
# between.
mirror() {
    cat <<END
.version 8.3
.target sm_90
.address_size 64
.visible .entry mirror(.param .u64 out_)
{
    .reg .b32 %r<8>;
    .reg .b64 %rd<4>;
    .shared .align 4 .b8 slots[256];
    ld.param.u64 %rd0, [out_];
    mov.u32 %r0, %tid.x;
    mov.u32 %r1, slots;
    shl.b32 %r2, %r0, 2;
    add.u32 %r3, %r1, %r2;
    st.shared.u32 [%r3], %r0;
    $1
    sub.u32 %r4, 63, %r0;
    shl.b32 %r5, %r4, 2;
    add.u32 %r6, %r1, %r5;
    ld.shared.u32 %r7, [%r6];
    mul.wide.u32 %rd1, %r0, 4;
    add.s64 %rd2, %rd0, %rd1;
    st.global.u32 [%rd2], %r7;
    ret;
}
END
}
mirror 'bar.sync 0;' >safe.ptx
mirror '' >racy.ptx
values() { tail -c "$2" "$1" | od -An -v -t"$3" -w4 | tr -d ' '; }

# A buffer from a file, a number, a float; the file that was read does not change.
ok array random:100 -o x.npy
cp x.npy kept.npy
ok run scale.ptx --grid 4 --block 32 --arg buf:x.npy --arg 90 --arg f32:-2 -o y.npy
expect_silent_out
cmp x.npy kept.npy
values x.npy 400 f4 >x
values y.npy 400 f4 >y
paste x y | awk '{ want = NR <= 90 ? -2 * $1 : $1; d = $2 - want } d * d > 1e-9 { exit 1 }' ||
    die "not scaled"
"$PTXGEN" run - --grid 4 --block 32 --arg buf:x.npy --arg 90 --arg f32:-2 -o - <scale.ptx |
    cmp - y.npy
rm x y

# A new buffer.
ok run safe.ptx --block 64 --arg zeros:256 -o m.npy

# What it reads is not written over, also through a link, and two files do not share a name.
ln -s safe.ptx link
cp safe.ptx before.ptx
for option in '--report safe.ptx' '--trace ./safe.ptx' '-o safe.ptx' '--report link'; do
    refuse 2 'is what this command reads: name another file' run safe.ptx --block 64 \
        --arg zeros:256 $option
done
cmp safe.ptx before.ptx
t run safe.ptx --block 64 --arg zeros:256 --report same --trace same
expect_code 2
expect_err 'same is named for two files'
rm link before.ptx same
ok run safe.ptx --block 64 --arg zeros:256 --report /dev/null --trace /dev/null
[ "$(values m.npy 256 d4 | head -1)" = 63 ] && [ "$(values m.npy 256 d4 | tail -1)" = 0 ] ||
    die "not mirrored"

# Checking: the safe one has no defect with any seed, the racy one names the line and both accesses.
ok run safe.ptx --block 64 --arg zeros:256 --check-races --seeds 1..20
expect_out '^safe.ptx: 0 defects in 20 runs$'
t run racy.ptx --block 64 --arg zeros:256 --check-races
expect_code 1
expect_out '^racy.ptx:19: race on shared memory: .*conflicts with line 14'
t run racy.ptx --block 64 --arg zeros:256 --check-races --json
expect_code 1
expect_out '"kind":.*"race on shared memory"'

# Without --shared a barrier in dynamic shared memory is nowhere, and the message says why.
cat >dynamic.ptx <<'END'
.version 8.3
.target sm_90
.address_size 64
.extern .shared .align 16 .b8 smem[];
.visible .entry dynamic()
{
    .reg .b32 %r<2>;
    mov.u32 %r1, smem;
    mbarrier.init.shared.b64 [%r1], 1;
    ret;
}
END
refuse 1 'whose dynamic part has 0 bytes \(--shared\)' run dynamic.ptx --block 1
ok run dynamic.ptx --block 1 --shared 16
sed 's/mbarrier.init.shared.b64/st.shared.u32/; s/, 1;/, %r1;/' dynamic.ptx >store.ptx
refuse 1 'dynamic part of shared memory has 0 bytes \(--shared\)' run store.ptx --block 1
# One text for the columns of tensor memory.
cat >columns.ptx <<'END'
.version 8.6
.target sm_100a
.address_size 64
.visible .entry columns()
{
    .shared .align 4 .b8 slot[4];
    tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 96;
    ret;
}
END
refuse 4 'takes a power of two in 32 .. 512 here, not 96' run columns.ptx --block 32
# Advice is no defect: it is apart from them, and the exit code is 0.
sed 's/bar.sync 0;/&\n    fence.proxy.async;/' safe.ptx >fenced.ptx
grep -q fence.proxy fenced.ptx || die "no fence was added"
ok run fenced.ptx --block 64 --arg zeros:256 --check-races
expect_out '^fenced.ptx:[0-9]+: advice: fence that was not needed'
expect_out '^fenced.ptx: 0 defects in 1 run; advice: 1$'
ok run fenced.ptx --block 64 --arg zeros:256 --check-races --json
tr -d ' \n\t' <.out >flat
grep -q '"defects":\[\],"reliances":\[\],"advice":\[{"id":"UNNEEDED_FENCE","kind":"fencethatwasnotneeded' flat ||
    die "advice is not apart"
ok run scale.ptx --grid 4 --block 32 --arg buf:x.npy --arg 90 --arg f32:1 --stats
expect_out ' 360  global_read_bytes$'
expect_out ' 360  global_written_bytes$'
ok run scale.ptx --grid 4 --block 32 --arg buf:x.npy --arg 90 --arg f32:1 --stats --json
expect_out '"global_read_bytes":.*360'

# What is wrong, where, and how to write it.
refuse 1 '^ptxgen: scale.ptx:22: ' run scale.ptx --grid 4 --block 32 --arg buf:x.npy --arg 128 \
    --arg f32:1 -o y2.npy
refuse 1 'endless loop: the budget is 3; --budget N allows more$' run scale.ptx --grid 4 \
    --block 32 --arg buf:x.npy --arg 9 --arg f32:1 --budget 3
sed 's/mul\.rn/mul.rx/' scale.ptx >bad.ptx
refuse 4 'bad.ptx:23:.*\.rx' run bad.ptx --arg 0 --arg 0 --arg 0
refuse 5 'cannot read absent.ptx: No such file' run absent.ptx
refuse 2 'the kernel has 3 parameters and 1 --arg' run scale.ptx --arg 1
refuse 2 '--arg 3.5x: that is no number. Write a number' run scale.ptx --arg 1 --arg 2 --arg 3.5x
refuse 2 '--arg 4294967296: the number does not fit' run scale.ptx --arg 1 --arg 4294967296 \
    --arg f32:1
refuse 2 '--arg zeros:16: the parameter is no pointer' run scale.ptx --arg 1 --arg zeros:16 \
    --arg f32:1
refuse 2 '--arg zeros:0: the size' run scale.ptx --arg zeros:0 --arg 1 --arg f32:1
refuse 2 'map:0:u8:4:4: the parameter is no tensor map' run scale.ptx --arg map:0:u8:4:4 --arg 1 \
    --arg f32:1
refuse 5 'nothere.npy cannot be read' run scale.ptx --arg buf:nothere.npy --arg 1 --arg f32:1
refuse 2 "--grid is '0'" run scale.ptx --grid 0
refuse 2 "--block is '1,2,3,4'" run scale.ptx --block 1,2,3,4
refuse 2 "--seeds is '5..1'" run scale.ptx --seeds 5..1
refuse 2 'scale.ptx has no kernel named nope; it has scale' run scale.ptx --entry nope
refuse 2 "'x=1': arguments of a kernel are written --arg" run scale.ptx x=1
refuse 2 '-o writes a buffer, and no --arg is one' run scale.ptx --arg 0 --arg 0 --arg f32:1 \
    -o n.npy
refuse 2 '--result says which buffer -o writes' run scale.ptx --result 1
for option in '--device cuda' '--device auto' --check '--repeat 2' '--assembler ptxas' \
    '--toolkit x' '--cache-dir x'; do
    refuse 2 'does not apply to a PTX file' run scale.ptx $option
done
head -3 scale.ptx >none.ptx
refuse 2 'none.ptx has no kernel' run none.ptx
{ cat scale.ptx && sed 1,3d safe.ptx; } >two.ptx
refuse 2 'two.ptx has 2 kernels: scale, mirror; choose one with --entry NAME' run two.ptx

# Past a limit of the parser the PTX is refused; nothing has run, so the answer is not "no".
head -c 67108864 /dev/zero | tr '\0' '\n' | cat scale.ptx - >big.ptx
refuse 4 'big.ptx:1:1: .*over the limit of 67108864' run big.ptx
rm big.ptx
{ cat none.ptx && echo '.entry a() {' && printf '{%.0s' $(seq 300); } >deep.ptx
refuse 4 'deep.ptx:5:.*nested deeper than 256' run deep.ptx
{ cat none.ptx && echo '.entry a() { .reg .b32 %r<2000000>; ret; }'; } >registers.ptx
refuse 4 'registers.ptx:4:.*more than [0-9]+ registers' run registers.ptx

# With -o - standard output holds the product alone.
ok run safe.ptx --block 64 --arg zeros:256 -o m.npy
for report in '' --json; do
    t run safe.ptx --block 64 --arg zeros:256 -o - --stats --check-races $report
    expect_code 0
    cmp .out m.npy || die "standard output holds more than the array"
    expect_err 'warp_instructions'
done
t run racy.ptx --block 64 --arg zeros:256 -o - --check-races
expect_code 1
expect_err '^racy.ptx:19: race on shared memory'
[ "$(stat -c %s .out)" = "$(stat -c %s m.npy)" ] || die "standard output holds more than the array"

# A defect and a deadlock are said once.
t run racy.ptx --block 64 --arg zeros:256 --check-races
expect_code 1
expect_silent_err
[ "$(grep -c 'race on shared' .out)" = "$(sort -u .out | grep -c 'race on shared')" ] ||
    die "a defect is there twice"
{
    cat none.ptx
    echo '.entry stuck() { .reg .pred %p; .reg .b32 %r; mov.u32 %r, %tid.x; setp.eq.u32 %p, %r, 0;'
    echo '@%p bar.sync 1, 64;'
    echo 'ret; }'
} >stuck.ptx
refuse 1 '^ptxgen: stuck.ptx:5: deadlock in cluster 0: .* barrier 1: 32 of 64 threads' run \
    stuck.ptx --block 32

# Words that are no UTF-8 leave JSON valid; words that are stay as they are.
t run "$(printf 'gr\303\274n\377\303.ptx')" --json
expect_code 5
iconv -f utf-8 -t utf-8 .out >/dev/null || die "the JSON is no UTF-8"
grep -q "$(printf 'gr\303\274n\357\277\275\357\277\275.ptx')" .out || die "the name is not there"

# A name may be as long as the file system allows.
long=$(printf 'x%.0s' $(seq 251)).npy
ok run safe.ptx --block 64 --arg zeros:256 -o "$long"
cmp "$long" m.npy
[ -z "$(find . -name '*.ptxgen.*')" ] || die "a temporary was left"

# Values with a point, structs by value, results with type and shape, and what they should be.
cat >values.ptx <<'END'
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out, .param .f32 x, .param .align 8 .b8 s[16])
{
    .reg .b64 %p;
    .reg .f32 %f, %g;
    ld.param.u64 %p, [out];
    ld.param.f32 %f, [x];
    ld.param.f32 %g, [s + 12];
    st.global.f32 [%p], %f;
    st.global.f32 [%p + 4], %g;
    ret;
}
END
printf '............\0\0\200?' >struct.bin # its last word is 1.0f
ok run values.ptx --arg zeros:1x2:f32 --arg 0.5 --arg bytes:struct.bin -o values.npy
grep -qa "'descr': '<f4', 'fortran_order': False, 'shape': (1, 2)" values.npy ||
    die "type and shape are lost"
[ "$(tail -c 8 values.npy | od -An -tx4 | tr -d ' \n')" = 3f0000003f800000 ] || die "not 0.5 and 1"
ok run values.ptx --arg zeros:1x2:f32 --arg 0.5 --arg bytes:struct.bin --expect values.npy
t run values.ptx --arg zeros:1x2:f32 --arg -2.5e-1 --arg bytes:struct.bin --expect values.npy
expect_code 1
expect_err '1 of 2 elements differ from values.npy, the first at 0'
refuse 2 'another type or shape' run values.ptx --arg zeros:8 --arg 0.5 --arg bytes:struct.bin \
    --expect values.npy
printf abc >short.bin
refuse 2 "the file has 3 bytes, the parameter 16" run values.ptx --arg zeros:8 --arg 1.5 \
    --arg bytes:short.bin

# A surface and a texture over earlier buffers: words go through the one, means of neighbours come
# from the other.
cat >texture.ptx <<'END'
.version 8.4
.target sm_90
.address_size 64
.visible .entry k(.param .u64 words, .param .u64 surface, .param .u64 image, .param .u64 texture, .param .u64 out)
{
    .reg .b32 %t, %x;
    .reg .b64 %s, %i, %p;
    .reg .f32 %f<5>;
    mov.u32 %t, %tid.x;
    ld.param.u64 %s, [surface];
    ld.param.u64 %i, [texture];
    ld.param.u64 %p, [out];
    shl.b32 %x, %t, 2;
    sust.b.1d.b32.trap [%s, {%x}], %t;
    cvt.rn.f32.u32 %f0, %t;
    tex.1d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%i, {%f0}];
    mad.wide.u32 %p, %t, 4, %p;
    st.global.f32 [%p], %f1;
    ret;
}
END
ok run values.ptx --arg zeros:2:f32 --arg 4 --arg bytes:struct.bin -o image.npy # 4, 1
set -- --block 3 --arg zeros:12 --arg texture:0:u32:1x3 --arg buf:image.npy
ok run texture.ptx "$@" --arg texture:2:f32:1x2:linear --arg zeros:3:f32 --result 5 -o out.npy
[ "$(tail -c 12 out.npy | od -An -tx4 | tr -d ' \n')" = 40800000402000003f800000 ] ||
    die "not 4, 2.5 and 1"
ok run texture.ptx "$@" --arg texture:2:f32:1x2:linear --arg zeros:3:f32 --result 1 -o out.npy
[ "$(tail -c 12 out.npy | od -An -tx4 | tr -d ' \n')" = 000000000000000100000002 ] ||
    die "not 0, 1 and 2"
refuse 2 'reach past' run texture.ptx "$@" --arg texture:2:f32:1x3 --arg zeros:12
refuse 2 'TYPE is' run texture.ptx "$@" --arg texture:2:f64:1x1 --arg zeros:12
refuse 2 'earlier buffer' run texture.ptx "$@" --arg texture:4:f32:1x2 --arg zeros:12
refuse 2 'behind the sizes' run texture.ptx "$@" --arg texture:2:f32:1x2:lineal --arg zeros:12

# What ptxas refuses and has a meaning all the same is warned of, once for all seeds.
cat >odd.ptx <<'END'
.version 8.8
.target sm_100a
.address_size 64
.visible .entry odd(.param .u64 out)
{
    .reg .b32 %a;
    .reg .b64 %out;
    ld.param.u64 %out, [out];
    ld.global.L2::evict_first.u32 %a, [%out];
    st.global.u32 [%out], %a;
    ret;
}
END
t run odd.ptx --arg zeros:64 --seeds 1..3
expect_code 0
expect_err "^odd.ptx:9:5: warning: ptxas refuses 'ld.global.L2::evict_first.u32' as it is: a priority of eviction from L2 needs"
[ "$(grep -c 'warning:' .err)" = 1 ] || die "the warning is not said once"
