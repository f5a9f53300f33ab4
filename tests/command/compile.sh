# compile: the cubin, the report, and what happens without an assembler.
. tests/support/cli.sh

ok compile scatter_add n=4 --dry-run
expect_out '^would compile scatter_add arch=sm_90 dtype=f32 n=4 '
[ ! -e .cache ] || die "a dry run made the cache folder"

# Without an assembler: what is missing and what to install, exit code 5, nothing written.
mkdir empty
refuse 5 'ptxas.*not found in .*empty: install' compile scatter_add n=4 --toolkit empty \
    --assembler ptxas -o x.cubin
ok doctor
if grep -q '^nvptxcompiler *missing' .out; then
    refuse 5 'no assembler in .*empty: install' compile scatter_add n=4 --toolkit empty -o x.cubin
fi
refuse 2 'which kernel\?' compile
rm -r empty

have_assembler || skip "no assembler here"

ok compile scatter_add dtype=bf16 n=512 -o k.cubin
expect_out '^origin +assembled$'
expect_out '^registers +[1-9][0-9]*$'
expect_out '^spills +0 bytes$'
expect_out '^local +0 bytes$'
expect_out '^shared +[0-9]+ bytes$'
[ "$(head -c 4 k.cubin | od -An -c | tr -d ' \n')" = '177ELF' ] || die "k.cubin is no ELF file"

# A second process finds it on disk, and the same bytes.
ok compile scatter_add dtype=bf16 n=512 -o again.cubin --json
expect_out '"origin":.*"disk"'
cmp k.cubin again.cubin
# The cubin on standard output, the report on standard error.
t compile scatter_add dtype=bf16 n=512 -o -
expect_code 0
cmp .out k.cubin
expect_err '^origin'
t compile scatter_add dtype=bf16 n=512 -o - --json
expect_code 0
cmp .out k.cubin
expect_err '"origin":.*"disk"'

# What a launch must ask for is said, and with it the emulator runs the same text.
ok emit tcgen05_copy n=32 -o copy.ptx
ok compile tcgen05_copy n=32 --json
shared=$(sed -n 's/.*"dynamic_shared_bytes":[^0-9]*\([0-9]*\).*/\1/p' .out)
ok run copy.ptx --block 128 --shared "$shared" --arg zeros:16384 --arg zeros:16384 --arg 128 \
    --arg 128
t run copy.ptx --block 128 --shared "$((shared / 2))" --arg zeros:16384 --arg zeros:16384 \
    --arg 128 --arg 128
expect_code 1

# What a launch fills, by name and offset.
if have_assembler; then
    ok compile gather_rows vector=4 --json
    expect_out '"name":.*"row_pieces_"'
    expect_out '"kind":.*"bad-index record"'
fi
