# --trace: a reader of the format finds every slice closed and every flow begun; a missing proxy
# fence is a missing flow.
. tests/support/cli.sh
command -v python3 >/dev/null || skip "no python3"
reader=$PTXGEN_SOURCE/tests/command/read_trace.py
cat >pipe.ptx <<'END'
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p)
{
    .reg .u64 %rd<9>;
    .reg .u32 %r<9>;
    .reg .pred %one, %done;
    .shared .align 1024 .b8 tile[1024];
    .shared .align 8 .b64 bar;
    ld.param.u64 %rd1, [p];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, tile;
    mov.u32 %r3, bar;
    setp.eq.u32 %one, %r1, 0;
    @%one mbarrier.init.shared.b64 [%r3], 1;
    @%one fence.mbarrier_init.release.cluster;
    bar.sync 0;
    @%one mbarrier.arrive.expect_tx.shared.b64 _, [%r3], 256;
    @%one cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd1], 256, [%r3];
WAIT:
    mbarrier.try_wait.parity.shared.b64 %done, [%r3], 0;
    @!%done bra WAIT;
    shl.b32 %r4, %r1, 2;
    add.u32 %r4, %r2, %r4;
    ld.shared.u32 %r5, [%r4];
    add.u32 %r5, %r5, 1;
    st.shared.u32 [%r4], %r5;
    fence.proxy.async.shared::cta;
    bar.sync 0;
    @%one cp.async.bulk.global.shared::cta.bulk_group [%rd1+256], [%r2], 256;
    @%one cp.async.bulk.commit_group;
    @%one cp.async.bulk.wait_group 0;
    ret;
}
END
run="run pipe.ptx --block 64 --arg zeros:512"
# flows FILE FROM TO: how many flows lead from a slice of that name to the other.
flows() { grep -cE "^flow	$2	$3	" "$1" || true; }
trace() { # NAME ARGS...
    name=$1
    shift
    t "$@" --trace "$name.pftrace"
    python3 "$reader" "$name.pftrace" >"$name.txt" 2>.err || die "$name.pftrace: $(cat .err)"
}
trace good $run
[ "$(flows good.txt cp.async.bulk 'first reader')" = 1 ] ||
    die "from the load to its first reader: $(cat good.txt)"
[ "$(flows good.txt cp.async.bulk 'waited for groups')" = 1 ] ||
    die "from the store to its wait: $(cat good.txt)"
grep -q "^counter	.* / shared memory bytes	$((1024 + 8))	0$" good.txt ||
    die "shared memory in use: $(grep counter good.txt)"
[ "$(flows good.txt 'writes shared memory' fence.proxy.async)" = 2 ] ||
    die "each warp writes and fences: $(cat good.txt)"
[ "$(flows good.txt fence.proxy.async cp.async.bulk)" = 2 ] ||
    die "both fences lead to the store: $(cat good.txt)"
[ "$(grep -c '^slice.*waits for an mbarrier' good.txt)" = 2 ] ||
    die "two warps wait: $(cat good.txt)"
[ "$(grep -c '^slice	.* / cp.async.bulk 0	cp.async.bulk$' good.txt)" = 2 ] ||
    die "two operations run: $(cat good.txt)"
trace again $run
cmp good.pftrace again.pftrace || die "two traces of one run differ"

# Without the fence, or with the fence of one warp alone, no flow reaches the store.
grep -v fence.proxy pipe.ptx >pipe2.ptx
trace unfenced run pipe2.ptx --block 64 --arg zeros:512
[ "$(flows unfenced.txt fence.proxy.async cp.async.bulk)" = 0 ] || die "a flow without a fence"
[ "$(grep -c '^slice.*writes shared memory' unfenced.txt)" = 2 ] || die "the writes are not shown"
sed 's/^    fence.proxy/    @%one fence.proxy/' pipe.ptx >pipe3.ptx
trace one run pipe3.ptx --block 64 --arg zeros:512
[ "$(flows one.txt fence.proxy.async cp.async.bulk)" = 0 ] ||
    die "the fence of one warp orders what another wrote"

# A run that fails leaves its trace, closed.
sed 's/expect_tx.shared.b64 _, \[%r3\], 256/expect_tx.shared.b64 _, [%r3], 512/' pipe.ptx >stuck.ptx
trace stuck run stuck.ptx --block 64 --arg zeros:512
expect_code 1
grep -q 'waits for an mbarrier' stuck.txt || die "the wait of the deadlock is not shown"

# Families with many warps and units, over several CTAs.
ok array random:64x64 dtype=f16 --seed 1 -o a.npy
ok array random:64x96 dtype=f16 --seed 2 -o b.npy
trace matmul run matmul_accumulate a=a.npy b=b.npy arch=sm_90a
expect_code 0
grep -q '^slice.* / cp.async.bulk.tensor 0	' matmul.txt &&
    grep -q '^slice.* / wgmma 0	' matmul.txt ||
    die "no units: $(cut -f 2,3 matmul.txt | sort | uniq -c | head -30)"
[ "$(flows matmul.txt cp.async.bulk.tensor 'first reader')" -gt 0 ] || die "no tile is read"
[ "$(flows matmul.txt wgmma 'waited for groups')" -gt 0 ] || die "no wgmma is waited for"
trace blackwell run matmul_accumulate a=a.npy b=b.npy arch=sm_100a
expect_code 0
grep -qE '^counter	.* / tensor memory columns	[1-9][0-9]*	0$' blackwell.txt ||
    die "columns: $(grep counter blackwell.txt)"
[ "$(flows blackwell.txt tcgen05 'first reader')" -gt 0 ] ||
    die "no tcgen05 operation is waited for"
refuse 2 'one of them at a time' $run --trace x.pftrace --check-races
