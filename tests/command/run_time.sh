# --time: a model's time for PTX and for a family, as text and JSON; what does not go with it is
# refused.
. tests/support/cli.sh
cat >copy.ptx <<'EOF'
.version 8.0
.target sm_90
.address_size 64
.visible .entry copy(.param .u64 to, .param .u64 from)
{
    .reg .u64 %rd<6>;
    .reg .u32 %r<9>;
    ld.param.u64 %rd1, [to];
    ld.param.u64 %rd2, [from];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    mad.lo.u32 %r1, %r2, 256, %r1;
    mul.wide.u32 %rd3, %r1, 16;
    add.u64 %rd4, %rd1, %rd3;
    add.u64 %rd5, %rd2, %rd3;
    ld.global.v4.u32 {%r3, %r4, %r5, %r6}, [%rd5];
    st.global.v4.u32 [%rd4], {%r3, %r4, %r5, %r6};
    ret;
}
EOF
set -- run copy.ptx --grid 8192 --block 256 --arg zeros:33554432 --arg zeros:33554432
ok "$@" --time sm_90
expect_out 'limited by DRAM'
expect_out "a model's estimate, not a measurement; mean error of known kernels [1-9]"
us() { tr -d '\n\t ' <.out | sed 's/.*"gpu":"[A-Z0-9]*","us":\([0-9.]*\).*/\1/'; }
ok "$@" --time sm_90 --json
h200=$(us)
ok "$@" --time sm_100a --json
b200=$(us)
awk -v h="$h200" -v b="$b200" 'BEGIN { exit !(h > 15 && h < 21 && b > 5 && b < h) }' ||
    die "67 MB in $h200 and $b200 us"
if command -v python3 >/dev/null; then
    ok "$@" --time sm_90 --trace r.pftrace
    python3 "$PTXGEN_SOURCE/tests/command/read_trace.py" r.pftrace >.out ||
        die "the trace cannot be read"
    grep -q . .out || die "the trace is empty"
fi
refuse 2 'leave --output out' "$@" --time sm_90 -o x.npy
refuse 2 'leave --check-races out' "$@" --time sm_90 --check-races
refuse 2 'leave --stats out' "$@" --time sm_90 --stats
refuse 2 'leave --seeds out' "$@" --time sm_90 --seeds 1..2
refuse 2 'leave --report out' "$@" --time sm_90 --report r.txt
refuse 2 "knows sm_90 and sm_100, not 'sm_70'" "$@" --time sm_70
