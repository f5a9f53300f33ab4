# What `run --check-races` says about what it finds: classes and exit codes, one report per root
# cause, JSON, SARIF, --ignore and --suppress, source lines, seeds.
. tests/support/cli.sh

# Two lines read what one has written, without a barrier; both races are one cause. Lines 12 and 14
# are loop bodies.
cat >race.ptx <<'END'
.version 8.3
.target sm_90
.address_size 64
.visible .entry race(.param .u64 out)
{
    .reg .b32 %t, %a, %b, %c;
    .reg .b64 %out;
    .shared .align 4 .b8 tile[256];
    .loc 1 30 0
    mov.u32 %t, %tid.x;
    shl.b32 %a, %t, 2;
    mov.u32 %b, tile;
    add.u32 %a, %a, %b;
    st.shared.u32 [%a], %t;
    .loc 1 31 0
    xor.b32 %c, %a, 4;
    ld.shared.u32 %b, [%c];
    xor.b32 %c, %a, 8;
    ld.shared.u32 %a, [%c];
    ret;
}
.file 1 "source.cu"
END
t run race.ptx --block 64 --arg zeros:64 --check-races
expect_code 1
expect_out '^race.ptx:17: race on shared memory: nothing orders .*; conflicts with line 14 \(st\), warp [01] lane [0-9]+ of CTA \(0,0,0\) \[ld, CTA 0,0,0 warp [01] lane [0-9]+; tile \+ [0-9]+, shared offset [0-9]+; met [0-9]+ times; also lines 19/14; source source.cu:31 and source.cu:30\]$'
expect_out '^race.ptx: 1 defect in 1 run$'
t run race.ptx --block 64 --arg zeros:64 --check-races --seeds 3..9
expect_code 1
expect_out 'seed 3\]$'
expect_out '^race.ptx: 1 defect in 7 runs$'

# JSON has everything.
t run race.ptx --block 64 --arg zeros:64 --check-races --seeds 1..2 --json
expect_code 1
tr -d ' \n\t' <.out >flat
for want in '"id":"RACE_SHARED"' '"class":"undefined"' '"line":17' '"other_line":14' \
    '"object":"tile"' '"seed":1' \
    '"other":{"line":14,"op":"st","thread":{"cta":\[0,0,0\]' \
    '"source":{"file":"source.cu","line":31}' \
    '"pairs":\[{"line":17,"other_line":14,"count":[0-9]*,"seed":1},{"line":19,"other_line":14' \
    '"reliances":\[\],"advice":\[\],"suppressed":0,"left_out":0,"runs":2'; do
    grep -q "$want" flat || die "JSON lacks $want"
done

# SARIF: its structure, and the same facts.
t run race.ptx --block 64 --arg zeros:64 --check-races --sarif log.sarif
expect_code 1
tr -d ' \n\t' <log.sarif >flat
for want in '^{"$schema":"https://json.schemastore.org/sarif-2.1.0.json","version":"2.1.0","runs":\[{"tool":{"driver":{"name":"ptxgen"' \
    '"rules":\[{"id":"RACE_SHARED","shortDescription":{"text":' \
    '"results":\[{"ruleId":"RACE_SHARED","ruleIndex":0,"level":"error"' \
    '"locations":\[{"physicalLocation":{"artifactLocation":{"uri":"race.ptx"},"region":{"startLine":17}}}\]' \
    '"relatedLocations":\[{"physicalLocation":{"artifactLocation":{"uri":"race.ptx"},"region":{"startLine":14}}' \
    '"uri":"source.cu"},"region":{"startLine":31}'; do
    grep -q "$want" flat || die "SARIF lacks $want"
done
t run race.ptx --block 64 --arg zeros:64 --sarif log2.sarif
expect_code 2
expect_err 'check-races, which is not given'

# --ignore and --suppress.
ok run race.ptx --block 64 --arg zeros:64 --check-races --ignore race-shared
expect_out '^race.ptx: 0 defects in 1 run; suppressed: 2$'
refuse 2 "'race-share' is no kind of report; did you mean 'race-shared'\?" run race.ptx --block 64 \
    --arg zeros:64 --check-races --ignore race-share
printf '# known\nrace_shared object=tile source=source.cu:31 # the reader\nRACE-GLOBAL\n' >known
ok run race.ptx --block 64 --arg zeros:64 --check-races --suppress known
expect_out '^race.ptx: 0 defects in 1 run; suppressed: 2$'
expect_out 'line 3 of its file suppressed nothing$'
printf 'race-shared line=17 other=14\n' >known
t run race.ptx --block 64 --arg zeros:64 --check-races --suppress known
expect_code 1
expect_out '^race.ptx:19: '
for line in 'race-shared object=other' 'race-shared source=source.cu:99' 'race-shared entry=none' \
    'race-global'; do
    echo "$line" >known
    t run race.ptx --block 64 --arg zeros:64 --check-races --suppress known
    expect_code 1
done
echo 'race-shared colour=red' >known
refuse 2 "known:1: 'colour=red' is no condition" run race.ptx --block 64 --arg zeros:64 \
    --check-races --suppress known

# The second class: an arrival at another CTA's mbarrier without a scope. Exit code 6, and a warning
# in SARIF.
cat >scope.ptx <<'END'
.version 8.3
.target sm_90
.address_size 64
.visible .entry scope() .reqnctapercluster 2, 1, 1
{
    .reg .b32 %r, %bar;
    .reg .pred %p;
    .shared .align 8 .b64 bar;
    mbarrier.init.shared::cta.b64 [bar], 1;
    barrier.cluster.arrive.release.aligned;
    barrier.cluster.wait.acquire.aligned;
    mov.u32 %r, %cluster_ctarank;
    xor.b32 %r, %r, 1;
    mov.u32 %bar, bar;
    mapa.shared::cluster.u32 %r, %bar, %r;
    mbarrier.arrive.shared::cluster.b64 _, [%r];
WAIT:
    mbarrier.try_wait.parity.shared::cta.b64 %p, [%bar], 0;
    @!%p bra WAIT;
    barrier.cluster.arrive.release.aligned;
    barrier.cluster.wait.acquire.aligned;
    ret;
}
END
t run scope.ptx --grid 2 --check-races --sarif log.sarif
expect_code 6
expect_out "^scope.ptx:16: relies on ptxas or the hardware: mbarrier of another CTA used at the default scope .cta: "
expect_out '^scope.ptx: 0 defects in 1 run; relies on ptxas or the hardware: 1$'
grep -q '"level":.*"warning"' log.sarif || die "no warning"

# A wrong expect_tx names the expecting line and the copy; an order=isa failure its seed.
cat >bytes.ptx <<'END'
.version 8.6
.target sm_90
.address_size 64
.visible .entry bytes(.param .u64 in)
{
    .reg .b64 %in;
    .reg .pred %p;
    .shared .align 16 .b8 buf[256];
    .shared .align 8 .b64 bar;
    ld.param.u64 %in, [in];
    mbarrier.init.shared::cta.b64 [bar], 1;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 256;
    cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [buf], [%in], 128, [bar];
WAIT:
    mbarrier.try_wait.parity.shared::cta.b64 %p, [bar], 0;
    @!%p bra WAIT;
    ret;
}
END
t run bytes.ptx --arg zeros:256 --check-races --order isa --seeds 4
expect_code 1
expect_out '^bytes.ptx:12: byte count .*128 more bytes are expected .*; conflicts with line 13 \(cp.async.bulk\)'
expect_err 'deadlock.*order=isa, seed 4'

# A family's kernel is watched with the same options: a log of SARIF, --ignore, a file of
# suppressions.
ok array random:4x8 -o src.npy
ok array index:5/4 -o index.npy
echo 'race-shared' >quiet
t run gather_rows src=src.npy index=index.npy --check-races --sarif family.sarif \
    --ignore race-global --suppress quiet
expect_code 0
expect_out '^gather_rows: 0 defects in 1 run'
tr -d ' \n\t' <family.sarif | grep -q '"results":\[\]' || die "no log of a family's run"
refuse 2 'is no kind of report' run gather_rows src=src.npy index=index.npy \
    --check-races --ignore nothing
refuse 2 'ignore is about the reports of --check-races' run gather_rows src=src.npy \
    index=index.npy --ignore race-global

# No kind hides another: 2,100 loads race with one store, then a word is read that nothing has
# written. Of a kind 2,000 are kept.
{
    sed '/mov.u32 %t, %tid.x/,$d; s/race(/many(/; /\.loc/d' race.ptx
    echo '.shared .align 4 .b8 untouched[4]; mov.u32 %t, %tid.x; shl.b32 %a, %t, 2; mov.u32 %b, tile; add.u32 %a, %a, %b;'
    echo 'st.shared.u32 [%a], %t; xor.b32 %c, %a, 128;'
    i=0
    while [ $i -lt 2100 ]; do echo 'ld.shared.u32 %b, [%c];' && i=$((i + 1)); done
    echo 'ld.shared.u32 %b, [untouched]; ret; }'
} >many.ptx
t run many.ptx --block 64 --arg zeros:64 --check-races
expect_code 1
expect_out 'race on shared memory: .* and 1995 more pairs'
expect_out 'read of memory that nothing has written: .*untouched'
expect_out '^many.ptx: others of the kinds with most reports were met [0-9]+ times and are not kept$'

# Of a kind that is no defect eight are shown, and all are in the JSON.
{
    sed '/mov.u32 %t, %tid.x/,$d; s/race(/fences(/; /\.loc/d' race.ptx
    i=0
    while [ $i -lt 11 ]; do echo 'fence.proxy.async;' && i=$((i + 1)); done
    echo 'ret; }'
} >fences.ptx
ok run fences.ptx --block 64 --arg zeros:64 --check-races
[ "$(grep -c 'no asynchronous access' .out)" = 8 ] || die "not eight are shown"
expect_out '^fences.ptx: advice: .*: 3 more at other lines, which --json names$'
expect_out 'advice: 11$'
ok run fences.ptx --block 64 --arg zeros:64 --check-races --json
[ "$(grep -c 'no asynchronous access' .out)" = 11 ] || die "not all are in the JSON"

# The other thread is named to its lane: lane 9 of warp 1 writes, lane 20 of warp 0 of the other CTA
# reads.
cat >lane.ptx <<'EOF'
.version 8.3
.target sm_90
.address_size 64
.visible .entry lane(.param .u64 out)
{
    .reg .b32 %t, %c, %a;
    .reg .b64 %out;
    .reg .pred %p, %q;
    ld.param.u64 %out, [out];
    mov.u32 %t, %tid.x;
    mov.u32 %c, %ctaid.x;
    mad.lo.u32 %a, %c, 64, %t;
    setp.eq.u32 %p, %a, 41;
    setp.eq.u32 %q, %a, 84;
    @%p st.global.u32 [%out], %t;
    @%q ld.global.u32 %a, [%out];
    ret;
}
EOF
t run lane.ptx --grid 2 --block 64 --arg zeros:64 --check-races
expect_code 1
expect_out '^lane.ptx:16: race on global .*; conflicts with line 15 \(st\), warp 1 lane 9 of CTA \(0,0,0\) \[ld, CTA 1,0,0 warp 0 lane 20; '
echo "run_findings: ok"
