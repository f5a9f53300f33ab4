# tune: candidates, the tuning file, and that calls go by it; on the emulator, whose times mean
# nothing but differ.
. tests/support/cli.sh
export PTXGEN_DEVICE=emulator
m="matmul_accumulate m=70 n=72 k=64"

# A dry run lists and leaves nothing.
ok tune $m --dry-run --candidates 5
[ "$(grep -c '^estimate ' .out)" = 5 ] || die "five candidates are not listed"
[ ! -e .cache/tuning ] || die "a dry run wrote a file"
ok tune $m --dry-run --json --candidates 2
expect_out '"dry_run":.*true'
expect_out '"estimate_us":'

ok tune $m --candidates 3
expect_out '^ *[0-9.]+ us arch=sm_90a .*schedule='
expect_out '^kept in +.*/.cache/tuning'
[ "$(wc -l <.cache/tuning)" = 2 ] || die "the file has not one entry"
[ "$(stat -c %a .cache/tuning)" = 644 ] || die "the file's mode"
grep -q ' c=add ' .cache/tuning || die "C is left out"
# Another problem adds an entry, the same again replaces its own.
ok tune matmul_accumulate m=16 n=40 k=64 b=transposed dtype=bf16 c=none --candidates 2
ok tune $m --candidates 3
[ "$(wc -l <.cache/tuning)" = 3 ] || die "the file has not two entries"
ls .cache | grep -q 'tuning.new' && die "a temporary file is left"
t doctor
expect_out '^tuning +ok +.*2 of 2 entries'

# Calls go by it: an entry is edited to something that no model would choose.
ok array random:70x64 dtype=f16 -o a.npy
ok array random:64x72 dtype=f16 --seed 1 -o b.npy
sed -i 's/ block_n=[0-9]* / block_n=32 /; s/ stages=[0-9]* / stages=2 /; s/ swap=[a-z]* / swap=no /' .cache/tuning
ok array random:70x72 --seed 2 -o c.npy
run="run matmul_accumulate a=a.npy b=b.npy c=c.npy"
ok $run --check
expect_out '^params .*block_n=32 .*stages=2 '
# What the caller fixes goes before it; then the entry as a whole is left.
ok $run block_n=48 --check
expect_out '^params .*block_n=48 '
grep -q 'stages=2 ' .out && die "half of an entry is used"
# Another file, none, and none by an empty name.
PTXGEN_TUNING_FILE=$work/other ok $run --check
grep -q 'stages=2 ' .out && die "the wrong file is used"
PTXGEN_TUNING_FILE= ok $run --check
grep -q 'stages=2 ' .out && die "a file is used"
# An entry of another generator is not used.
cp .cache/tuning kept
sed -i 's/matmul_accumulate [0-9a-f]*|/matmul_accumulate 0|/' .cache/tuning
ok $run --check
grep -q 'stages=2 ' .out && die "an old entry is used"
t doctor
expect_out '^tuning +ok +.*0 of 2 entries'

# A bad file is refused as a whole, named, and never written over.
refuse() { # WHAT: the file as it is now
    t $run --check
    expect_code 0
    grep -q 'stages=2 ' .out && die "a bad file is used: $1"
    t doctor
    expect_out "^tuning +broken +.*$1"
    t tune $m --candidates 1
    expect_code 4
    expect_err "$1"
}
{ cat kept; printf 'half a line'; } >.cache/tuning
refuse 'line 4: the line does not end'
sed 's/\t/ /' kept >.cache/tuning
refuse 'line 2: not a key, parameters'
sed 's/\t[0-9.]*$/\tsoon/' kept >.cache/tuning
refuse 'line 2: the last field is no time'
sed 1d kept >.cache/tuning
refuse 'line 1: it does not begin'
cp kept .cache/tuning
chmod g+w .cache/tuning
refuse 'can be written by others'
rm .cache/tuning
ln -s "$work/kept" .cache/tuning
refuse 'it is a link'
rm .cache/tuning
mkdir .cache/tuning
refuse 'is no regular file'
rmdir .cache/tuning
# An entry whose parameters are none is as no entry.
sed 's/schedule=[a-z]*/schedule=never/' kept >.cache/tuning
ok $run --check

t tune matmul_accumulate m=70 n=72
expect_code 2
expect_err 'k=NUMBER is missing'
t tune matmul_accumulate m=4294967296 n=72 k=64
expect_code 2
expect_err "m is more than 2147483648"
t tune matmul_accumulate m=70 n=72 k=x
expect_code 2
t tune $m block_n=7
expect_code 3
t tune index_sort rows=5 m=5 n=5 k=5 entries=5
[ "$code" != 0 ] || die "a family without a choice is tuned"
PTXGEN_TUNING_FILE= t tune $m
expect_code 5
expect_err 'there is no tuning file'
PTXGEN_TUNING_FILE=relative t tune $m
expect_code 2
