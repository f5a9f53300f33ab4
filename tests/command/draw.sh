# draw: the swizzle is where a tensor copy of the emulator puts each element, the wavefronts are
# those that --stats counts; pictures are the same at every run, well formed and small.
. tests/support/cli.sh
cat >tile.ptx <<'END'
.version 8.3
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 src, .param .u64 out, .param .align 64 .b8 map[128])
{
    .reg .u64 %rd<9>;
    .reg .u32 %r<9>;
    .reg .pred %one, %done;
    .shared .align 1024 .b8 tile[1024];
    .shared .align 8 .b64 bar;
    ld.param.u64 %rd1, [src];
    ld.param.u64 %rd2, [out];
    mov.u64 %rd3, map;
    cvta.param.u64 %rd3, %rd3;
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, tile;
    mov.u32 %r3, bar;
    mul.wide.u32 %rd4, %r1, 4;
    add.u64 %rd5, %rd1, %rd4;
    add.u64 %rd6, %rd2, %rd4;
    st.global.u32 [%rd5], %r1; // word i of the source is i
    fence.proxy.async;
    setp.eq.u32 %one, %r1, 0;
    @%one mbarrier.init.shared.b64 [%r3], 1;
    @%one fence.mbarrier_init.release.cluster;
    bar.sync 0;
    @%one mbarrier.arrive.expect_tx.shared.b64 _, [%r3], 1024;
    @%one cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd3, {%r4, %r4}], [%r3];
WAIT:
    mbarrier.try_wait.parity.shared.b64 %done, [%r3], 0;
    @!%done bra WAIT;
    shl.b32 %r5, %r1, 2;
    add.u32 %r5, %r2, %r5;
    ld.shared.u32 %r6, [%r5];
    st.global.u32 [%rd6], %r6;
    ret;
}
END
for span in 128 64 32; do
    words=$((span / 4)) rows=$((1024 / span))
    ok run tile.ptx --block 256 --arg zeros:1024 --arg zeros:1024 --result 2 -o out.npy \
        --arg "map:0:u32:${words}x$rows:${words}x$rows:${span}"
    # The word in each 4 bytes of shared memory, as row:column of the tile.
    tail -c 1024 out.npy | od -An -v -w4 -tu4 |
        awk -v w=$words '{ print int($1 / w) ":" $1 % w }' >copied
    ok draw swizzle span=$span bits=32 rows=$rows
    # Rows of the drawing: an address, then eight cells row:first-last (with * where the swizzle
    # moved it).
    awk '/^ *[0-9]+ +[0-9]+:/ {
        for (i = 2; i <= NF; i++) {
            gsub(/\*/, "", $i)
            split($i, part, /[:-]/)
            for (c = part[2]; c <= part[3]; c++) print part[1] ":" c
        }
    }' .out >drawn
    [ "$(wc -l <drawn)" = 256 ] || die "the drawing has $(wc -l <drawn) words"
    cmp copied drawn || die "span=$span: the drawing is not what the copy did"
done
ok draw swizzle
expect_out '^128 +1:8-15\* +1:0-7\*'
ok draw swizzle span=0
! grep -q '[0-9]\*' .out || die "something moved without a swizzle"

counts() { expect_out "the emulator counts $1 wavefronts; the bytes need $2"; }
ok draw banks
counts 1 1
ok draw banks stride=8
counts 2 1
ok draw banks stride=0
counts 1 1
expect_out '^lanes 0-31 +0\+ *$'
ok draw banks stride=128
counts 32 1
ok draw banks stride=132
counts 1 1
ok draw banks stride=128 bytes=16
counts 32 4
ok draw banks stride=128 bytes=16 swizzle=128
counts 4 4
ok draw banks stride=1 bytes=1
counts 1 1
# As many rows as wavefronts.
ok draw banks stride=24 bytes=8
rows=$(grep -c '^ *lanes ' .out)
counts "$rows" 2

# Fragments (test_fragments holds the maps to what instructions do): as the ISA's figure of
# mma.m16n8k16 has them.
ok draw fragment mma.m16n8k16 matrix=a bits=16
expect_out '^ 9 +T4:a1\.0 +T4:a1\.1 +T5:a1\.0 .* T7:a3\.1$'
ok draw fragment mma.m16n8k16 matrix=a bits=16 by=thread
expect_out '^ T4 +1,0-1 +9,0-1 +1,8-9 +9,8-9$'
ok draw fragment tcgen05.ld.16x256b.x1
expect_out '^ 8 +T0:d2 +T0:d3 +T1:d2'
ok draw fragment wmma.m16n16k16 matrix=c bits=32
expect_out "the ISA leaves wmma's layout open"
ok draw fragment
for name in mma.m16n8k16 mma.sp.m16n8k32 wgmma.m64n256 ldmatrix.x4.trans stmatrix.x2 \
    movmatrix.trans tcgen05.st.32x32b.x128; do
    grep -q "^ *$name " .out || die "the list lacks $name"
done
refuse 2 "did you mean 'ldmatrix.x4'" draw fragment ldmatrx.x4
refuse 2 'no instruction keeps a fragment' draw fragment "$(printf '%0500d' 7)"
refuse 2 'mma.m16n8k16 has a/16 .* choose one with matrix= and bits=' draw fragment mma.m16n8k16
refuse 2 'mma.m16n8k16 has ' draw fragment mma.m16n8k16 matrix=b bits=4
refuse 2 'matrix=q; there are' draw fragment mma.m16n8k16 matrix=q
refuse 2 'by=lane; there are element and thread' draw fragment mma.m16n8k16 matrix=a bits=16 by=lane
refuse 2 "'again' is not known here" draw fragment mma.m16n8k16 again
refuse 2 "'span=' is given twice" draw swizzle span=64 rows=8 span=128
refuse 5 'cannot (create|open|write)' draw swizzle -o /nonexistent/x.svg

# Tensor memory: of a problem, and of PTX that shows what it should: an allocation of 64 columns of
# which 8 are stored by warp 1 and loaded by warp 0 (other lanes), then one of 32 columns that
# nothing touches.
ok draw tmem matmul_accumulate m=128 n=64 k=64 arch=sm_100a block_m=128 block_n=64 schedule=fill
expect_out '^#1: [0-9]+ columns from 0, from time [0-9]+ to [0-9]+$'
expect_out '^   columns 0-63: accumulators that begin as C, stored \(tcgen05.st\), loaded \(tcgen05.ld\)$'
expect_out '^lanes 0-127 +D st ld '
ok draw tmem matmul_accumulate m=128 n=64 k=64 arch=sm_100a block_m=128 block_n=64 schedule=fill \
    c=none
expect_out '^   columns 0-63: accumulators, loaded'
ok draw tmem matmul_accumulate m=256 n=64 k=64 arch=sm_100a ctas=2 rank=1
expect_out 'CTA 1 of the first cluster$'
ok draw tmem matmul_scaled m=128 n=128 k=128 arch=sm_100a a_scale_bytes=512 b_scale_bytes=512
expect_out '^   columns [0-9]+-[0-9]+: scales of B, copied in \(tcgen05.cp\)$'
cat >tensor.ptx <<'END'
.version 8.6
.target sm_100a
.address_size 64
.visible .entry k()
{
    .reg .u32 %r<20>;
    .reg .pred %q;
    .shared .align 8 .b32 at[2];
    mov.u32 %r1, at;
    mov.u32 %r2, %tid.x;
    setp.gt.u32 %q, %r2, 31;
    @%q bra STORE;
    tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r1], 64;
    bar.sync 0;
    bar.sync 0;
    ld.shared.u32 %r3, [%r1];
    tcgen05.ld.sync.aligned.32x32b.x4.b32 {%r4, %r5, %r6, %r7}, [%r3];
    tcgen05.wait::ld.sync.aligned;
    tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r3, 64;
    tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r1+4], 32;
    ld.shared.u32 %r3, [%r1+4];
    tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r3, 32;
    ret;
STORE:
    bar.sync 0;
    ld.shared.u32 %r3, [%r1];
    add.u32 %r3, %r3, 0x200010; // lane 32, column 16
    tcgen05.st.sync.aligned.32x32b.x8.b32 [%r3], {%r4, %r5, %r6, %r7, %r8, %r9, %r10, %r11};
    tcgen05.wait::st.sync.aligned;
    bar.sync 0;
    ret;
}
END
ok draw tmem tensor.ptx --block 64
expect_out '^ +0-3 +4-15 +16-23 +24-31 +32-63 +64-511 *$'
expect_out '^ +allocation +#1,#2 +#1,#2 +#1,#2 +#1,#2 +#1 *$'
expect_out '^ +lanes 0-31 +ld +\* +\* +\* +\* *$'
expect_out '^ +lanes 32-63 +\* +\* +st +\* +\* *$'
expect_out '^lanes 64-127 +\* +\* +\* +\* +\* *$'
expect_out '^#1: 64 columns from 0, from time [0-9]+ to [0-9]+$'
expect_out '^#2: 32 columns from 0, '
expect_out '^   columns 0-31: nothing$'
refuse 2 'of which kernel' draw tmem
refuse 2 'there is no kernel family "nope"' draw tmem nope m=3
refuse 2 'k=NUMBER is missing' draw tmem matmul_accumulate m=128 n=64 arch=sm_100a
refuse 2 'uses no tensor memory in CTA 0' draw tmem matmul_accumulate m=64 n=64 k=64
refuse 2 'more than 2147483648 elements' draw tmem matmul_accumulate m=1000000000 n=64 k=64 \
    arch=sm_100a
refuse 2 'a smaller one shows the same' draw tmem matmul_accumulate m=40000 n=40000 k=64 \
    arch=sm_100a
refuse 2 'rank=99 takes a number' draw tmem tensor.ptx rank=99 --block 64
refuse 2 '--block would have no effect here' draw tmem matmul_accumulate m=128 n=64 k=64 --block 64
refuse 5 'cannot read nowhere.ptx' draw tmem nowhere.ptx --block 64

for kind in "tmem matmul_accumulate m=128 n=64 k=64 arch=sm_100a" "swizzle span=64" \
    "banks stride=128 bytes=16" "fragment mma.m16n8k16 matrix=b bits=16" \
    "fragment wgmma.m64n256 bits=32" \
    "fragment wgmma.m64k256"; do
    # shellcheck disable=SC2086
    ok draw $kind -o a.svg
    # shellcheck disable=SC2086
    ok draw $kind -o b.svg
    cmp a.svg b.svg || die "two pictures of one layout differ"
    grep -q '^<svg xmlns' a.svg && grep -q '^</svg>' a.svg || die "no picture"
    [ "$(wc -c <a.svg)" -lt 2000000 ] || die "the picture is too large"
    ! grep -oE '(fill|stroke)="#[0-9a-f]+"' a.svg | grep -qvE '#000|#fff' ||
        die "the picture needs colour"
    ! command -v python3 >/dev/null ||
        python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' a.svg ||
        die "the picture is not well formed"
done
refuse 2 "cannot draw 'swizle'; did you mean 'swizzle'" draw swizle
refuse 2 'span=48; there are 0, 32, 64 and 128' draw swizzle span=48
refuse 2 "'stride=4' is not known here; swizzle takes" draw swizzle stride=4
refuse 2 'each address is a multiple' draw banks stride=6 bytes=4
refuse 2 'stride=x takes a number' draw banks stride=x

# The pictures of docs/emulate.md are what the commands beside them draw (of tensor memory but for
# times).
mkdir -p docs/pictures
grep '^    ptxgen draw ' "$PTXGEN_SOURCE/docs/emulate.md" >commands
[ "$(wc -l <commands)" = 4 ] || die "docs/emulate.md has $(wc -l <commands) pictures"
while read -r _ words; do
    # shellcheck disable=SC2086
    ok $words
done <commands
for svg in "$PTXGEN_SOURCE"/docs/pictures/*.svg; do
    name=$(basename "$svg")
    grep -v ' from time ' "$svg" >want
    grep -v ' from time ' "docs/pictures/$name" | cmp - want ||
        die "docs/pictures/$name is not what is drawn"
done
