# prewarm: a manifest of kernels into the cache, in parallel; one bad line does not stop the others.
. tests/support/cli.sh

refuse 2 'which kernels\?' prewarm
refuse 5 'cannot read absent: No such file' prewarm absent
: >none
refuse 2 'none names no kernel' prewarm none
head -c 100 /dev/zero >binary
refuse 2 'binary: .' prewarm binary

cat >m <<END
# kernels of the service
scatter_add n=4 dtype=f32

scatter_add n=8 dtype=bf16   # two
scatter_add n=8 dtype=bf17
scatter_add	dtype=bf16 n=512
END
t prewarm m --dry-run
expect_code 2
expect_out '^3 kernels would be compiled, 1 refused$'
[ ! -e .cache ] || die "a dry run made the cache folder"

# A folder that keeps nothing is no success, and nothing is compiled for it.
mkdir open
chmod 777 open
for where in open:'can be written by other users' /dev/null:'/dev/null' :'no cache folder' \
    m:'m is a file'; do
    refuse 5 "${where#*:}" prewarm m --cache-dir "${where%%:*}"
done
PTXGEN_CACHE=off refuse 5 'no cache folder' prewarm m

have_assembler || skip "no assembler here"

t prewarm m -j 3
expect_code 2
expect_out '^4 kernels: 3 assembled, 0 in the cache already, 1 failed$'
expect_err '^ptxgen: m:5: scatter_add n=8 dtype=bf17: .*bf17'
[ "$(wc -l <.err)" = 1 ] || die "standard error has more than the one failure"
t prewarm m --json
expect_code 2
expect_out '"line":.*5'
expect_out '"params":.*"n=8 dtype=bf17"'
expect_out '"status":.*"EINVAL"'
expect_out '"message":.*bf17'
sed -i /bf17/d m
ok prewarm m --json
expect_out '"cached":.*3'
expect_out '"failures":.*\[\]'
# Another process finds each of them.
ok compile scatter_add n=8 dtype=bf16
expect_out '^origin +disk$'

# One spelling of an architecture: scatter_add needs no `a`, so these are those that are there, and
# three more.
ok prewarm m --arch sm_90a,sm_100
expect_out '^6 kernels: 3 assembled, 3 in the cache already, 0 failed$'
ok compile scatter_add n=8 dtype=bf16 arch=sm_100a
expect_out '^origin +disk$'
"$PTXGEN" prewarm - -v <m >.out 2>.err
expect_out '^3 kernels: 0 assembled, 3 in the cache already, 0 failed$'
expect_err 'n=512 .*: was there$'

# On a terminal a bar shows how far it is, and is gone in the end.
if command -v script >/dev/null; then
    script -qec "'$PTXGEN' prewarm m --cache-dir bar" /dev/null </dev/null >.out ||
        die "prewarm on a terminal"
    expect_out 'compiling \[\.{24}\] 0/3'
    expect_out 'compiling \[#{24}\] 3/3 '
    expect_out "$(printf '\033')"'\[K3 kernels: 3 assembled, 0 in the cache already, 0 failed'
    rm -r bar
fi

# Nothing to assemble with: every line says so, and the exit code is the system's.
mkdir empty
t prewarm m --toolkit empty --assembler ptxas --cache-dir other
expect_code 5
expect_out '^3 kernels: 0 assembled, 0 in the cache already, 3 failed$'

ok cache export pack
refuse 5 'pack is a file' prewarm m --cache-dir pack

# Lines that are written differently name one kernel.
printf 'scatter_add n=32\nscatter_add n=32 dtype=f32\nscatter_add dtype=f32 n=32 # again\nscatter_add n=64\n' >same
ok prewarm same --dry-run
expect_out '^2 kernels would be compiled, 0 refused$'
expect_out '^2 lines of the manifest named a kernel again$'
ok prewarm same
expect_out '^2 kernels: 2 assembled, 0 in the cache already, 0 failed$'
ok prewarm same --json
expect_out '"lines":	4'
expect_out '"kernels":	2'
expect_out '"cached":	2'
# Problems stand for the kernel that a call takes; lists for a line each. One kernel has one key,
# however it is written.
cat >problems <<END
matmul_accumulate m=4096 n=14336 k=4096 dtype=bf16 arch=sm_90
scatter_add rows=100000 out_rows=5000 n=640 dtype=f32,bf16
gather_rows rows=10 src_rows=20 n=8,12 # rows of 32 and of 48 bytes: one kernel
END
ok prewarm problems --dry-run
expect_out '^4 kernels would be compiled, 0 refused$'
"$PTXGEN" prewarm problems -v >.out 2>.err
expect_out '^4 kernels: 4 assembled, 0 in the cache already, 0 failed$'
expect_err 'matmul_accumulate arch=sm_90a dtype=bf16 .*block_n='
sed -i 's/sm_90$/sm_90a/' problems
ok prewarm problems
expect_out '^4 kernels: 0 assembled, 4 in the cache already, 0 failed$'
for line in 'matmul_accumulate m=4 k=4:needs n=: columns of B' \
    'scatter_add rows=4 out_rows=2:needs n=' \
    'gather_rows rows=-1 src_rows=1 n=1:rows=-1' 'matmul_accumulate m=1 n=1 k=1 dtype=f64:f64'; do
    echo "${line%%:*}" >bad
    t prewarm bad --dry-run
    expect_code 2
    expect_err "${line#*:}"
done

# What has no end is not read.
for device in /dev/zero /dev/urandom; do
    refuse 2 "$device is a device" prewarm $device
    refuse 2 "$device is a device" inspect $device
    refuse 2 "cannot run" run $device
done
# (Not in a sanitized build, which takes its shadow memory first.)
(ulimit -v 4000000; "$PTXGEN" --version >.out 2>&1) || exit 0
(ulimit -v 4000000; yes 'scatter_add n=4' | head -c 400000000 | "$PTXGEN" prewarm - --dry-run) \
    >.out 2>.err && die 'read 400 MB'
expect_err 'more than 256 MiB, the limit'

# compile and why take a problem's extents as a line of the list does.
refuse 2 'a problem of matmul_accumulate needs k=' compile matmul_accumulate m=64 n=64
if have_assembler; then
    problem='gather_rows rows=9 src_rows=7 n=40'
    echo "$problem" >problem.txt
    ok prewarm problem.txt --cache-dir asked
    # shellcheck disable=SC2086
    ok cache why $problem --cache-dir asked
    # shellcheck disable=SC2086
    ok compile $problem --cache-dir asked --json
    expect_out '"origin":.*"disk"'
fi
