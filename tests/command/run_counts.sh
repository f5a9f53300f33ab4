# --stats and --report: lanes, sectors and banks by line, bytes by asynchronous unit, for accesses
# whose counts follow from their addresses. A line of the kernel below says in its comment what must
# be counted for it.
. tests/support/cli.sh
cat >counts.ptx <<'END'
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p)
{
    .reg .u64 %rd<9>;
    .reg .u32 %r<20>;
    .reg .f32 %f<9>;
    .reg .pred %few, %none;
    .shared .align 1024 .b8 tile[8192];
    .shared .align 8 .b64 bar;
    ld.param.u64 %rd1, [p];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, tile;
    setp.lt.u32 %few, %r1, 8;
    setp.gt.u32 %none, %r1, 99;
    mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd2, %rd1, %rd2;
    ld.global.u32 %r3, [%rd2]; // lanes 32 sectors 4
    ld.global.u32 %r3, [%rd2+4]; // sectors 5
    @%few ld.global.u32 %r3, [%rd2]; // lanes 8 sectors 1
    @%none ld.global.u32 %r3, [%rd2]; // lanes 0 sectors 0
    ld.global.u32 %r3, [%rd1+128]; // sectors 1
    mul.wide.u32 %rd3, %r1, 8;
    add.u64 %rd3, %rd1, %rd3;
    ld.global.u32 %r3, [%rd3]; // sectors 8
    mul.wide.u32 %rd4, %r1, 32;
    add.u64 %rd4, %rd1, %rd4;
    st.global.u32 [%rd4], %r1; // sectors 32
    mul.wide.u32 %rd5, %r1, 16;
    add.u64 %rd5, %rd1, %rd5;
    ld.global.v4.u32 {%r3, %r4, %r5, %r6}, [%rd5]; // sectors 16
    red.global.add.u32 [%rd1], 1; // sectors 1
    shl.b32 %r7, %r1, 2;
    add.u32 %r7, %r2, %r7;
    st.shared.u32 [%r7], %r1; // wavefronts 1 ideal 1
    ld.shared.u32 %r3, [%r2+64]; // wavefronts 1 ideal 1
    shl.b32 %r8, %r1, 3;
    add.u32 %r8, %r2, %r8;
    st.shared.u32 [%r8], %r1; // wavefronts 2 ideal 1
    st.shared.v2.u32 [%r8], {%r1, %r1}; // wavefronts 2 ideal 2
    shl.b32 %r9, %r1, 4;
    add.u32 %r9, %r2, %r9;
    st.shared.v4.u32 [%r9], {%r1, %r1, %r1, %r1}; // wavefronts 4 ideal 4
    shl.b32 %r10, %r1, 7;
    add.u32 %r10, %r2, %r10;
    st.shared.u32 [%r10], %r1; // wavefronts 32 ideal 1
    mad.lo.u32 %r11, %r1, 132, %r2;
    st.shared.u32 [%r11], %r1; // wavefronts 1 ideal 1
    shl.b32 %r12, %r1, 1;
    add.u32 %r12, %r2, %r12;
    st.shared.u16 [%r12], %r1; // wavefronts 1 ideal 1
    cvta.shared.u64 %rd6, tile;
    mul.wide.u32 %rd7, %r1, 64;
    add.u64 %rd6, %rd6, %rd7;
    st.u32 [%rd6], %r1; // wavefronts 16 ideal 1
    mov.u32 %r13, bar;
    setp.eq.u32 %few, %r1, 0;
    @%few mbarrier.init.shared.b64 [%r13], 1;
    @%few fence.mbarrier_init.release.cluster;
    @%few mbarrier.arrive.expect_tx.shared.b64 _, [%r13], 256;
    @%few cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd1], 256, [%r13]; // bytes 256
WAIT:
    mbarrier.try_wait.parity.shared.b64 %none, [%r13], 0;
    @!%none bra WAIT;
    fence.proxy.async;
    @%few cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r2], 128; // bytes 128
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group 0;
    cp.async.ca.shared.global [%r9], [%rd5], 16; // bytes 512
    cp.async.wait_all;
    ret;
}
END
run="run counts.ptx --block 32 --arg zeros:2048"
ok $run --stats --json
tr -d ' \t\n' <.out >flat
# field LINE NAME: of the line's object.
field() { grep -oE "\{\"line\":$1,[^}]*\}" flat | sed -n "s/.*\"$2\":\([0-9]*\).*/\1/p"; }
expect_count() { [ "$(field "$1" "$2")" = "$3" ] ||
    die "line $1: $2 is '$(field "$1" "$2")', expected $3"; }
# expect_comments FILE: what the comments of its lines say is what has been counted.
expect_comments() {
    checked=0
    grep -n ' // ' "$1" >wanted
    while IFS= read -r row; do
        number=${row%%:*}
        set -- ${row##* // }
        while [ $# -gt 0 ]; do
            case $1 in
            lanes) expect_count "$number" active_lanes "$2" ;;
            sectors) expect_count "$number" global_sectors "$2" ;;
            wavefronts) expect_count "$number" shared_wavefronts "$2" ;;
            ideal) expect_count "$number" shared_wavefronts_ideal "$2" ;;
            bytes) expect_count "$number" async_bytes "$2" ;;
            live) expect_count "$number" live_registers "$2" ;;
            *) die "what is $1?" ;;
            esac
            checked=$((checked + 1))
            shift 2
        done
    done <wanted
}
expect_comments counts.ptx
[ $checked -gt 30 ] || die "only $checked counts"
grep -q '"cp.async.bulk":{"operations":2,"global_read":256,"global_written":128,"shared_read":128,"shared_written":256,"tensor_read":0,"tensor_written":0}' flat ||
    die "units: $(grep -oE '"units":.*"opcodes"' flat)"
grep -q '"cp.async":{"operations":1,"global_read":512,"global_written":0,"shared_read":0,"shared_written":512,"tensor_read":0,"tensor_written":0}' flat ||
    die "units: $(grep -oE '"units":.*"opcodes"' flat)"
grep -q '"mbarrier.init":1' flat || die "mnemonics are not those of PTX"

# The table has the busiest lines; the reports have every line of the PTX, the same at every run.
ok $run --stats
expect_out '^ +47 +1  32.0 +31 +[0-9]+ +st.shared.u32 \[%r10\]'
ok $run --report a.txt
[ "$(grep -cE '^ +[0-9]+ ' a.txt)" -ge "$(wc -l <counts.ptx)" ] || die "lines are missing in a.txt"
ok $run --report a.html
ok $run --report b.html
cmp a.html b.html || die "two reports of one run differ"
grep -q '<td class=p>    st.shared.u32 \[%r10\], %r1; // wavefronts 32 ideal 1</td>' a.html ||
    die "the page lacks a line"
grep -q 'fence.proxy.async' a.html || die "the page lacks a line"
[ "$(wc -c <a.html)" -lt 2000000 ] || die "the page is too large"
refuse 2 'one of them at a time' $run --report a.html --check-races

# A family's lines name their template.
ok array random:6x8 --seed 1 -o out.npy
ok array random:9x8 --seed 2 -o src.npy
ok array index:9/6 --seed 3 -o index.npy
ok run scatter_add out=out.npy index=index.npy src=src.npy --report family.html
grep -qE '<td class=o>[a-z_]+\.ptxc:[0-9]+</td>' family.html || die "no template line"

# One CTA with four tcgen05.mma of 128 x 64 x 16: A and B from shared memory, D written by all and
# read by three; then loaded once.
ok array random:128x64 dtype=f16 --seed 1 -o a.npy
ok array random:64x64 dtype=f16 --seed 2 -o b.npy
ok run matmul_accumulate a=a.npy b=b.npy arch=sm_100a block_m=128 block_n=64 ctas=1 ctas_n=1 \
    splits=1 schedule=fill --stats
expect_out "^tcgen05 +6 +0 +0 +$((4 * (128 + 64) * 16 * 2)) +0 +$((3 * 128 * 64 * 4)) +$((4 * 128 * 64 * 4))$"
expect_out "^tcgen05.ld +4 +0 +0 +0 +0 +$((128 * 64 * 4)) +0$"

# Live registers: of 32 bits; around a loop, of a write that nobody reads, under a guard.
cat >live.ptx <<'END'
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p)
{
    .reg .u64 %rd<3>;
    .reg .u32 %r<5>;
    .reg .u16 %h;
    .reg .pred %p1;
    ld.param.u64 %rd1, [p]; // live 2
    mov.u32 %r1, 0; // live 3
    mov.u32 %r2, 5; // live 4
    mov.u16 %h, 3; // live 5
LOOP:
    add.u32 %r1, %r1, %r2; // live 5
    sub.u32 %r2, %r2, 1; // live 5
    setp.ne.u32 %p1, %r2, 0; // live 5
    @%p1 bra LOOP; // live 5
    cvt.u32.u16 %r4, %h; // live 5
    mul.wide.u32 %rd2, %r1, 8; // live 6
    mov.u32 %r3, 7; // live 7
    add.u64 %rd2, %rd1, %rd2; // live 6
    @%p1 mov.u32 %r1, 9; // live 4
    st.global.v2.u32 [%rd2], {%r1, %r4}; // live 4
    ret; // live 0
}
END
ok run live.ptx --block 32 --arg zeros:2048 --stats --json
tr -d ' \t\n' <.out >flat
expect_comments live.ptx
[ $checked = 15 ] || die "only $checked counts"
