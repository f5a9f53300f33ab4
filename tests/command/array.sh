# array: .npy files of a known shape and content, the same for a seed everywhere.
. tests/support/cli.sh

ok array zeros:3x4 -o z.npy
[ "$(stat -c %s z.npy)" = $((128 + 48)) ] || die "size $(stat -c %s z.npy)"
tail -c 48 z.npy | cmp -n 48 - /dev/zero || die "not zero"
head -c 128 z.npy | grep -aq "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }" ||
    die "header"

ok array random:16x16 dtype=f16 --seed 7 -o a.npy
ok array random:16x16 dtype=f16 --seed 7 -o b.npy
ok array random:16x16 dtype=f16 --seed 8 -o c.npy
cmp a.npy b.npy
! cmp -s a.npy c.npy || die "the seed changes nothing"
ok array random:5000 dtype=bf16 -o d.npy
# Uniform in [-1, 1): the sign bit is set about half the time, no exponent reaches 1.0's but -1
# itself.
negative=$(tail -c 10000 d.npy | od -An -v -tu2 -w2 | awk '$1 >= 32768 { n++ } END { print n }')
[ "$negative" -gt 2300 ] && [ "$negative" -lt 2700 ] || die "$negative of 5000 are negative"
tail -c 10000 d.npy | od -An -v -tu2 -w2 | awk '$1 % 32768 > 16256 { exit 1 }' ||
    die "a value beyond 1"

ok array index:1000/7 dtype=i32 -o i.npy
tail -c 4000 i.npy | od -An -v -td4 -w4 | awk '$1 < 0 || $1 > 6 { bad = 1 } { seen[$1] = 1 }
    END { n = 0; for (k in seen) n++; exit bad || n != 7 }' || die "indices are not 0..6"
ok array index:3/1 -o i.npy
[ "$(tail -c 24 i.npy | od -An -v -td8 -w8 | sort -u | tr -d ' ')" = 0 ] ||
    die "indices below 1 are not 0"

for bad in zeros zeros: zeros:3x zeros:x3 zeros:-1x4 noise:3x4 index:3 index:3/0 index:3x3/4 \
    random:4x4y \
    zeros:1x1x1x1x1x1x1x1x1; do
    refuse 2 "'$bad' is no array" array "$bad" -o x.npy
done
refuse 2 'which array\?' array
refuse 2 'dtype=i64.*values take' array zeros:4x4 dtype=i64 -o x.npy
refuse 2 'dtype=f32.*an index takes' array index:4/4 dtype=f32 -o x.npy
refuse 2 'do not fit dtype=i32' array index:4/3000000000 dtype=i32 -o x.npy
refuse 2 'more elements than any memory' array zeros:9000000000x9000000000 -o x.npy
