# run scatter_add: right answers for every element type, index type and schedule, and what happens
# to a bad index. On a GPU where there is one, else on the emulator.
. tests/support/cli.sh

ok array zeros:4x8 -o out.npy
ok array random:6x8 -o src.npy
ok array index:6/4 -o index.npy
t run scatter_add out=out.npy index=index.npy src=src.npy
[ "$code" = 0 ] || skip "kernels cannot run here: $(cat .err)"
expect_out '^device +.'
expect_out '^kernel +scatter_add_'

values() { tail -c "$2" "$1" | od -An -v -t"$3" -w"$4" | tr -d ' '; }

# By hand: one index permutes, so the sum is exact.
ok run scatter_add out=out.npy index=index.npy src=src.npy -o result.npy --check
expect_out '^check +right: 0 of 32 elements'
{ values index.npy 48 d8 8 | sed 's/^/i /'; values src.npy 192 f4 4 |
    sed 's/^/s /'; values result.npy 128 f4 4 | sed 's/^/r /'; } |
    awk '$1 == "i" { index_[ni++] = $2 } $1 == "s" { src[ns++] = $2 } $1 == "r" { r[nr++] = $2 }
         END { for (i = 0; i < 6; i++)
                   for (j = 0; j < 8; j++) want[index_[i] * 8 + j] += src[i * 8 + j]
               for (k = 0; k < 32; k++) { d = want[k] - r[k]; if (d * d > 1e-10) exit 1 } }' ||
    die "the sums are wrong"
head -c 128 result.npy | cmp - <(head -c 128 out.npy) ||
    die "the result's header differs from out's"

# Every type and schedule, sizes that do not divide anything, against the oracle.
for dtype in f32 f16 bf16; do
    for index in i64 i32; do
        for n in 8 136 520; do
            ok array random:37x$n dtype=$dtype --seed 1 -o o.npy
            ok array random:101x$n dtype=$dtype --seed 2 -o s.npy
            ok array index:101/37 dtype=$index --seed 3 -o i.npy
            ok run scatter_add out=o.npy index=i.npy src=s.npy -o r.npy --check
            expect_out '^check +right: 0 of [0-9]+ elements'
            ! cmp -s o.npy r.npy || die "the result is the input"
        done
    done
done
for schedule in seed bulk vector; do
    ok run scatter_add out=o.npy index=i.npy src=s.npy schedule=$schedule -o r.npy --check
    expect_out "^params .*schedule=$schedule"
    expect_out '^check +right'
done
ok run scatter_add out=o.npy index=i.npy src=s.npy n=dynamic --check --json
expect_out '"right":.*true'
# The same by standard input and output; the report then goes to standard error.
"$PTXGEN" run scatter_add out=o.npy index=- src=s.npy -o - <i.npy >piped.npy 2>.err
cmp -n 128 piped.npy o.npy
[ "$(stat -c %s piped.npy)" = "$(stat -c %s o.npy)" ] || die "standard output holds another array"
expect_err '^kernel '
# bfloat16 as bare words.
LC_ALL=C sed "s/'<V2'/'<u2'/" o.npy >raw.npy
ok run scatter_add out=raw.npy index=i.npy src=s.npy dtype=bf16 -o rawresult.npy --check
head -c 128 rawresult.npy | grep -aq "'<u2'" || die "the result is not saved as its input was"
ok run scatter_add out=o.npy index=i.npy src=s.npy --repeat 2
expect_out '^time +[0-9.]+ us a launch'

# Nothing to add.
ok array zeros:0x520 dtype=bf16 -o none.npy
ok array index:0/1 -o noindex.npy
ok run scatter_add out=o.npy index=noindex.npy src=none.npy -o same.npy --check
cmp o.npy same.npy
expect_out '^kernel +none'

# A bad index: first, last and in the middle; too large, negative; named, exit code 1, nothing
# written.
bad_index() { # bad_index POSITION BYTES VALUE
    ok array index:101/37 --seed 3 -o b.npy
    printf "$2" | dd of=b.npy bs=1 seek=$((128 + 8 * $1)) conv=notrunc 2>/dev/null
    refuse 1 "index\[$1\] = $3 " run scatter_add out=o.npy index=b.npy src=s.npy -o bad.npy
}
bad_index 0 '\045\0\0\0\0\0\0\0' 37
bad_index 50 '\377\377\377\377\377\377\377\377' -1
bad_index 100 '\0\0\0\0\1\0\0\0' 4294967296
bad_index 7 '\0\0\0\0\0\0\0\200' -9223372036854775808
refuse 1 'out has no rows' run scatter_add out=none.npy index=b.npy src=s.npy -o bad.npy

# On an emulator that watches it: over seeds, with its counts.
ok array random:37x136 --seed 1 -o o.npy
ok array random:101x136 --seed 2 -o s.npy
ok array index:101/37 --seed 3 -o i.npy
ok run scatter_add out=o.npy index=i.npy src=s.npy --check --check-races --seeds 1..5 -o r.npy
expect_out '^scatter_add: 0 defects in 5 runs'
expect_out '^check +right: 0 of 5032 elements'
expect_out '^wrote +r.npy'
ok run scatter_add out=o.npy index=i.npy src=s.npy --stats --json schedule=bulk
expect_out '"warp_instructions":'
expect_out '"runs":.*1'
expect_out '"defects":.*\[\]'

# What would be launched, in words and as data; nothing is.
ok run scatter_add out=o.npy index=i.npy src=s.npy --print-launch schedule=seed
expect_out '^grid +101 x [0-9]+ x 1'
expect_out '^block +32 x 1 x 1'
expect_out 'tensor map +src: f32, 136 x 101, strides 544 bytes, box 128 x 1, swizzle 0'
expect_out 'bad-index record 16 bytes'
# Strides are those of arrays like the files, not of the command's own padded copies.
ok array random:40x33 dtype=bf16 -o odd_a.npy
ok array random:33x21 dtype=bf16 -o odd_b.npy
ok run matmul_accumulate a=odd_a.npy b=odd_b.npy arch=sm_90a --print-launch
expect_out 'a_stride_ +u64 +66$'
expect_out 'b_stride_ +u64 +42$'
ok run scatter_add out=o.npy index=i.npy src=s.npy --print-launch --json
expect_out '"grid":'
expect_out '"operand":.*"out"'
expect_out '"offset":.*8'
