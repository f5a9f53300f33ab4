# emit: the product, where it goes, and every refusal of a bad problem.
. tests/support/cli.sh

ok emit scatter_add dtype=bf16 n=512
cp .out a.ptx
expect_out '^\.version [0-9]'
expect_out '^\.target sm_90$'
expect_out '\.visible \.entry scatter_add_'

# The same problem gives the same bytes: other order, defaults written out, another locale and
# folder.
(mkdir -p elsewhere && cd elsewhere &&
    LC_ALL=C.UTF-8 "$PTXGEN" emit scatter_add n=512 dtype=bf16 index=i64 >b.ptx)
cmp a.ptx elsewhere/b.ptx || die "the same problem gave other bytes"
rm -r elsewhere

# A problem's extents stand for the kernel that a call of them takes.
problem='matmul_accumulate m=300 n=500 k=64 dtype=bf16 --arch sm_90a'
# shellcheck disable=SC2086
ok compile $problem --dry-run
kernel=$(sed -n 's/^would compile //p' .out)
case $kernel in *block_m=[1-9]*) ;; *) die "no kernel is chosen: $kernel" ;; esac
# shellcheck disable=SC2086
ok emit $kernel -o kernel.ptx
# shellcheck disable=SC2086
ok emit $problem -o problem.ptx
cmp kernel.ptx problem.ptx || die "extents gave another kernel than they stand for"
rm kernel.ptx problem.ptx

# -o: the same bytes, silent; - is standard output; an existing file keeps its mode, a link its
# target.
ok emit scatter_add dtype=bf16 n=512 -o b.ptx
expect_silent_out
cmp a.ptx b.ptx
ok emit scatter_add dtype=bf16 n=512 -o -
cmp a.ptx .out
echo old >target && chmod 640 target && ln -s target link
ok emit scatter_add dtype=bf16 n=512 --output=link
cmp a.ptx target
[ -L link ] && [ "$(stat -c %a target)" = 640 ] || die "link or mode was lost"
ok emit scatter_add -o /dev/null
(umask 027 && "$PTXGEN" emit scatter_add -o masked)
[ "$(stat -c %a masked)" = 640 ] || die "mode $(stat -c %a masked) under umask 027"

ok emit scatter_add n=512 --json
expect_out '"entry":.*"scatter_add_'
expect_out '"ptx":.*\.version'

# -o names the product's place, --json reports on it.
ok emit scatter_add n=512 -o plain.ptx
ok emit scatter_add n=512 --json -o product.ptx
cmp plain.ptx product.ptx || die "--json changes what -o writes"
expect_out '"ptx":.*\.version'
expect_out '"entry":	"scatter_add'
rm product.ptx plain.ptx

# The line map: every line of the PTX, with the template line that wrote it.
ok emit scatter_add dtype=bf16 n=512 --line-map
cut -f 3- .out | cmp - a.ptx || die "the third column is not the PTX"
cut -f 2 .out | sort -u >origins
grep -qE '^templates/scatter_add/[a-z]+\.ptxc:[0-9]+$' origins || die "no template line is named"
while IFS=: read -r file line; do
    sed -n "${line}p" "$PTXGEN_SOURCE/$file" | grep -q '^ *|' || die "$file:$line is no PTX line"
done <origins
t emit scatter_add --json --line-map
expect_code 2
expect_err 'not both'
rm origins

# Never half a file.
echo precious >kept
refuse 5 'cannot write /dev/full: No space left on device' emit scatter_add -o /dev/full
refuse 5 'cannot write nowhere/x.ptx: No such file or directory' emit scatter_add -o nowhere/x.ptx
mkdir folder
refuse 5 'cannot write folder: it is a folder' emit scatter_add -o folder
refuse 2 'n=7x' emit scatter_add n=7x -o kept
[ "$(cat kept)" = precious ] || die "a refused command changed its -o file"

# Bad problems.
refuse 2 'which kernel\?' emit
refuse 2 'scater_add.*did you mean scatter_add' emit scater_add
refuse 2 '"shedule".*did you mean schedule' emit scatter_add shedule=seed
refuse 2 'dtype=fp16 is not one of: f32, f16, bf16' emit scatter_add dtype=fp16
refuse 2 'n=0 is out of range' emit scatter_add n=0
refuse 2 'n=-4' emit scatter_add n=-4
refuse 2 'n=99999999999999999999' emit scatter_add n=99999999999999999999
refuse 2 'n is given twice' emit scatter_add n=4 n=8
refuse 2 "'512' is no parameter; parameters are written name=value" emit scatter_add 512
refuse 2 "'n=4 dtype=f16' is no parameter" emit scatter_add 'n=4 dtype=f16'
refuse 3 '12 bytes, not a multiple of 16' emit scatter_add schedule=vector n=3
refuse 2 'sm_70' emit scatter_add arch=sm_70

# Under --json the error is an object on standard output too.
t emit scatter_add schedule=vector n=3 --json
expect_code 3
expect_out '"status":.*"EUNSUPPORTED"'
expect_out '"exit_code":.*3'
expect_err '12 bytes'

# A link stands for its target, also where nothing is there yet.
mkdir -p deep && ln -s deep/target link1 && ln -s link1 second
ok emit scatter_add n=512 -o second
[ -L second ] && [ -L link1 ] && [ -s deep/target ] || die "-o replaced a link"
rm -r deep link1 second
# A limit on file sizes is an error like others, and leaves nothing.
before=$(ls -A)
code=0
(ulimit -f 1; exec "$PTXGEN" emit scatter_add n=512 -o limited.ptx) >.out 2>.err || code=$?
expect_code 5
expect_err 'cannot write limited.ptx: File too large'
[ "$(ls -A)" = "$before" ] || die "left: $(ls -A)"
