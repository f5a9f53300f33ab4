# diff: exit code 0 for the same and 1 for different kernels, as diff has it; resources,
# instructions by class, counts of runs, texts; what cannot be had is said in its place.
. tests/support/cli.sh
cat >a.ptx <<'END'
.version 8.0
.target sm_90
.address_size 64
.global .align 4 .b8 words[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
.visible .entry k(.param .u64 p)
.maxntid 128, 1, 1
{
    .reg .u64 %rd<4>;
    .reg .u32 %r<5>;
    .reg .f32 %f<4>;
    .reg .pred %p1;
    .shared .align 16 .b8 tile[512];
    ld.param.u64 %rd1, [p];
    mov.u32 %r1, %tid.x; // ld.global.u32 in a comment; /* is not counted
    mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd2, %rd1, %rd2;
    ld.global.f32 %f1, [%rd2];
    setp.lt.f32 %p1, %f1, 0f00000000;
    @%p1 bra DONE;
    shl.b32 %r2, %r1, 2;
    mov.u32 %r3, tile;
    add.u32 %r3, %r3, %r2;
    st.shared.f32 [%r3], %f1;
    bar.sync 0;
    ld.shared.v2.f32 {%f1, %f2}, [tile]; /* two
    lines */ add.f32 %f1, %f1, %f2;
    { st.global.f32 [%rd2], %f1; }
DONE:
    cp.async.bulk.commit_group;
    ret;
}
END
sed 's/add.f32 %f1, %f1, %f2;/fma.rn.f32 %f1, %f1, %f2, %f2;\n    ld.global.f32 %f3, [%rd2+4];\n    add.f32 %f1, %f1, %f3;/' a.ptx >b.ptx
# row NAME: the two numbers of the table's row.
row() { sed -n "s/^  $1  *\([0-9a-z]*\)  *\([0-9a-z]*\).*/\1 \2/p" .out | head -1; }
expect_row() { [ "$(row "$1")" = "$2" ] || die "$1 is '$(row "$1")', expected '$2'"; }
mkdir none
no_tools="--toolkit $work/none"

ok diff a.ptx a.ptx $no_tools
expect_out '^PTX: the same$'
expect_out '^SASS not compared: A: no '
t diff a.ptx b.ptx $no_tools
expect_code 1
expect_silent_err
expect_row all '17 19'
expect_row 'global memory' '2 3'
expect_row 'shared memory' '2 2'
expect_row 'other memory' '1 1'
expect_row 'floating point' '2 3'
expect_row 'integers and bits' '4 4'
expect_row 'asynchronous copies' '1 1'
expect_row 'barriers and fences' '1 1'
expect_row 'control flow' '2 2'
expect_row 'moves and conversions' '2 2'
expect_row ld.global '1 2'
expect_out '^  fma +0 +1 +\+1$'
expect_out '^PTX: 1 line of A, 3 lines of B$'
expect_out '^\+    ld.global.f32 %f3, \[%rd2\+4\];$'
expect_out '^not run: A: a.ptx is a file'
cp .out first
t diff a.ptx b.ptx $no_tools
cmp .out first || die "two comparisons of the same files differ"
t diff a.ptx b.ptx $no_tools --json
expect_code 1
expect_out '"equal":	false'
expect_out '"cp.async.bulk.commit_group":	\[1, 1\]'
ok diff a.ptx a.ptx $no_tools --json -o same.json
grep -q '"equal":	true' same.json || die "same.json: $(head -c 300 same.json)"

# Families; problems are run on random data, the same for both.
t diff "scatter_add n=512" "scatter_add n=512 schedule=seed" --cache-dir ""
expect_code 1
expect_out '^  cp.async.bulk.tensor +0 +1'
expect_out "^not run: A: 'scatter_add' names a kernel, not a problem"
m="matmul_accumulate m=64 n=64 k=64"
t diff "$m" "$m swizzle=64" --cache-dir ""
expect_code 1
expect_row launches '1 1'
expect_row 'cp.async.bulk.tensor operations' '12 24'
expect_row 'cp.async.bulk.tensor global bytes' '81920 81920'
expect_row 'wgmma operations' '32 32'
ok diff "$m" "$m" --cache-dir ""
t diff "scatter_add rows=40 out_rows=7 n=64" "scatter_add rows=40 out_rows=7 n=64 schedule=seed" \
    --cache-dir ""
expect_code 1
expect_row 'cp.async.bulk operations' '0 40'

# With an assembler: registers and code; SASS by a disassembler, here one that prints what it is
# told to.
if have_assembler; then
    t diff a.ptx b.ptx
    expect_code 1
    expect_row 'static shared bytes' '512 512'
    expect_row 'spill bytes' '0 0'
    row registers | grep -qE '^[1-9][0-9]* [1-9][0-9]*$' || die "registers: $(row registers)"
    ok compile scatter_add n=64 -o x.cubin
    ok compile scatter_add n=128 -o y.cubin
    t diff x.cubin y.cubin $no_tools
    expect_code 1
    expect_out '^PTX not compared: A: x.cubin is a cubin$'
    ok diff x.cubin x.cubin
    mkdir -p tk/bin
    cat >tk/bin/nvdisasm <<'END'
#!/bin/sh
[ "$1" != --version ] || exit 0
line='/*0010*/ @!P0 HGMMA.64x8x16.F32 R24, gdesc[UR4], R24 ;'
! cmp -s "$2" x.cubin || line='/*0010*/ LDG.E R2, desc[UR4][R2.64] ;'
printf '.text.k:\n  /*0000*/ LDC R1, c[0x0][0x28] ;\n  %s\n  /*0020*/ EXIT ;\n  /*0030*/ NOP;\n' "$line"
END
    chmod +x tk/bin/nvdisasm
    t diff x.cubin y.cubin --toolkit tk
    expect_code 1
    expect_row 'tensor cores' '0 1'
    expect_row LDG '1 0'
    expect_out '^SASS: 1 line of A, 1 line of B$'
    expect_out '^\+ +@!P0 HGMMA'
    ok diff x.cubin x.cubin --toolkit tk
    expect_out '^SASS: the same$'
    head -c 300 y.cubin >cut.cubin
    refuse 4 'cut.cubin: ' diff cut.cubin y.cubin
    sed 's/ld.global.f32 %f1/ld.global.f32 %zz/' a.ptx >bad.ptx
    t diff bad.ptx a.ptx
    expect_code 1
    expect_out '^   no cubin: not assembled: line 17; error'
    refuse 5 'one is a cubin and of the other there is only PTX' diff y.cubin bad.ptx
fi

refuse 2 'Two words' diff a.ptx
refuse 2 'Two words' diff a.ptx b.ptx first
refuse 5 'cannot read nowhere.ptx: No such file' diff nowhere.ptx a.ptx
printf 'not a kernel\n' >notes.txt
refuse 2 'notes.txt is neither a cubin nor PTX' diff a.ptx notes.txt
printf 'a\0b' >nul.bin
refuse 2 'nul.bin is neither a cubin nor PTX' diff nul.bin a.ptx
refuse 2 'n=-4 is out of range' diff "scatter_add n=-4" a.ptx
refuse 2 'did you mean scatter_add' diff "scater_add n=4" a.ptx
refuse 2 'k=NUMBER is missing' diff "matmul_accumulate m=64 n=64" a.ptx
refuse 2 'more than 2147483648 elements' diff "matmul_accumulate m=100000000 n=64 k=100000" a.ptx
refuse 5 'cannot write /nonexistent/x' diff a.ptx b.ptx -o /nonexistent/x
refuse 2 '--cache-dir would have no effect here' diff a.ptx b.ptx --cache-dir x
