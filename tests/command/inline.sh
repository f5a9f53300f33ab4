# inline: the merged text, what is said of calls, and refusals.
. tests/support/cli.sh

cat >kernel.ptx <<'EOF'
.version 8.3
.target sm_90a
.address_size 64
.extern .func (.param .b32 r) f(.param .b32 x);
// the kernel
.visible .entry k(.param .u64 out)
{
    .reg .b32 %a<4>; /* registers */
    .reg .b64 %p;
    mov.u32 %a1, %tid.x;
    call (%a2), f, (%a1);
    ld.param.u64 %p, [out];
    st.global.b32 [%p], %a2;
    ret;
}
EOF
cat >function.ptx <<'EOF'
.version 8.3
.target sm_80
.address_size 64
.visible .func (.param .b32 r) f(.param .b32 x)
{
    .reg .b32 %r<9>;
    ld.param.b32 %r1, [x];
    mad.lo.s32 %r2, %r1, 3, 1;
    st.param.b32 [r], %r2;
    ret;
}
EOF

ok inline kernel.ptx function.ptx
cp .out merged.ptx
expect_out 'mad.lo.s32'
expect_out '^// the kernel$'
expect_out '/\* registers \*/'
! grep -q call .out || die "a call is left"
ok inline kernel.ptx function.ptx -o product.ptx
expect_silent_out
cmp merged.ptx product.ptx

# It runs: thread 0 stores 3 * 0 + 1.
ok array zeros:1 -o x.npy
t run merged.ptx --arg buf:x.npy -o y.npy
expect_code 0
cmp -s x.npy y.npy && die "nothing was written"
"$PTXGEN" inline - function.ptx <kernel.ptx | cmp - merged.ptx

# The line map names the file and line of every line.
ok inline kernel.ptx function.ptx --line-map
cut -f 3- .out | cmp - merged.ptx || die "the third column is not the PTX"
expect_out '	function.ptx:8	.*mad.lo.s32'
expect_out '	kernel.ptx:5	// the kernel'
expect_out '	kernel.ptx:14	    ret;'

ok inline kernel.ptx function.ptx --json
expect_out '"inlined":	true'
expect_out '"instructions":	4'
expect_out '"ptx":.*mad.lo.s32'

# What stays a call is said.
t inline kernel.ptx function.ptx --limit 3 -o kept.ptx
expect_code 0
expect_err 'kernel.ptx:11: k still calls f \(4 instructions\): its copies would pass the budget'
grep -q 'call (%a2), f, (%a1);' kept.ptx || die "the call is gone"
grep -q '^.func (.param .b32' kept.ptx || die "the function is missing"
t inline kernel.ptx function.ptx --limit 0
expect_err 'nothing is to be inlined'

sed 's/mad.lo.s32 %r2, %r1, 3, 1/bar.sync 0/' function.ptx >barrier.ptx
refuse 4 "barrier.ptx:8:5: 'bar.sync' cannot stand in a function that is inlined" inline \
    kernel.ptx barrier.ptx
sed 's/ f(/ g(/' function.ptx >other.ptx
refuse 2 'kernel.ptx calls no function that other.ptx defines \(it defines .g.\)' inline \
    kernel.ptx other.ptx
sed 's/sm_80/sm_100a/; s/8.3/8.6/' function.ptx >later.ptx
refuse 4 'later.ptx: this text is for sm_100a, the kernel' inline kernel.ptx later.ptx
refuse 2 'two files' inline kernel.ptx
refuse 5 'missing.ptx' inline kernel.ptx missing.ptx
t inline kernel.ptx function.ptx --json --line-map
expect_code 2
expect_err 'not both'
