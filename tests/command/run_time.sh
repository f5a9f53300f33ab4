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

# What the GPU does not run has no time there; PTX for older ones has.
for pair in 80:sm_90 80:sm_100 90:sm_100 90a:sm_90 100f:sm_100; do
    sed "s/sm_90/sm_${pair%:*}/" copy.ptx >other.ptx
    sed -i 's/version 8.0/version 8.8/' other.ptx
    ok run other.ptx --grid 1 --block 256 --arg zeros:4096 --arg zeros:4096 --time "${pair#*:}"
done
for pair in 90a:sm_100 100:sm_90 100a:sm_90 120:sm_100 103f:sm_100 90a:sm_100a; do
    sed "s/sm_90/sm_${pair%:*}/" copy.ptx >other.ptx
    sed -i 's/version 8.0/version 8.8/' other.ptx
    refuse 2 "other.ptx: its .target is sm_${pair%:*}, which the (H200|B200) of the clock" \
        run other.ptx --grid 1 --block 256 --arg zeros:4096 --arg zeros:4096 --time "${pair#*:}"
done
python3 - <<'END' || exit 77
import struct
def save(name, rows):
    head = "{'descr': '<f2', 'fortran_order': False, 'shape': (%d, 64), }" % rows
    head += " " * (117 - len(head)) + "\n"
    data = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + bytes(128 * rows)
    open(name, "wb").write(data)
save("a.npy", 64)
save("b.npy", 64)
END
ok run matmul_accumulate a=a.npy b=b.npy arch=sm_100a --time sm_100
refuse 2 'its .target is sm_100a, which the H200 of the clock' \
    run matmul_accumulate a=a.npy b=b.npy arch=sm_100a --time sm_90
