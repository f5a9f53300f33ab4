# System calls that fail: each scenario is run under strace once to list the calls that it makes
# after main has begun, then again and again with one of them failing (strace --inject). Whatever
# fails, the command ends by itself with a documented exit code; exit code 0 means that the product
# is right, another one that what was there before is still whole, with a sentence that says why;
# the cache and a pack that is written over stay sound. PTXGEN_FAULTS: how many in all.
. tests/support/cli.sh
# else a failing look at ptxas makes another one, whose cubin differs, do it
export PTXGEN_ASSEMBLER=ptxas
! grep -q '^PTXGEN_SANITIZE:STRING=.' "$PTXGEN_BUILD/CMakeCache.txt" ||
    skip "LeakSanitizer does not work under strace"
command -v strace >/dev/null || skip "no strace here"
strace -o /dev/null true 2>/dev/null || skip "strace may trace nothing here"
faults=${PTXGEN_FAULTS:-60}

# What a call may fail with. Not listed: what no kernel fails (brk that gives back), and where libc
# ends the program (futex).
cat >errors <<'END_OF_ERRORS'
openat EMFILE ENFILE EACCES EIO ENOMEM ESTALE EINTR
open EMFILE EACCES EIO
close EIO
read EIO EINTR EISDIR
pread64 EIO EINTR ESTALE
write ENOSPC EIO EDQUOT
pwrite64 ENOSPC EIO EDQUOT EFBIG
fsync EIO ENOSPC
fdatasync EIO ENOSPC
rename EIO ENOSPC EACCES
renameat EIO ENOSPC ESTALE
renameat2 EIO ENOSPC
newfstatat EIO ESTALE ENOMEM EACCES
fstat EIO ESTALE
statx EIO ENOSYS
lseek EIO
fstatfs EIO ENOSYS
getdents64 EIO ENOTDIR
fcntl ENOLCK EIO EINTR
mkdir ENOSPC EROFS
mkdirat ENOSPC EROFS EACCES
fchmod EPERM EIO
chmod EPERM EIO
utimensat EPERM EIO
unlink EIO EBUSY
unlinkat EIO EBUSY
readlink EIO
readlinkat EIO
getrandom ENOSYS EINTR
memfd_create EMFILE ENOSYS ENOMEM
pipe2 EMFILE
dup3 EBUSY
clone EAGAIN ENOMEM
clone3 EAGAIN ENOMEM
vfork EAGAIN
pidfd_open ENOSYS EMFILE
poll EINTR ENOMEM
wait4 EINTR
waitid EINTR
mmap ENOMEM
mremap ENOMEM
fallocate ENOSPC EOPNOTSUPP
ftruncate EIO
END_OF_ERRORS

assembles=no
! have_assembler || assembles=yes
mkdir start
cd start
ok array random:6x4 --seed 1 -o out.npy
ok array random:9x4 --seed 2 -o src.npy
ok array index:9/6 --seed 3 -o index.npy
ok emit scatter_add n=12 -o old.ptx
if [ $assembles = yes ]; then
    for n in 4 12 20; do ok compile scatter_add n=$n --cache-dir kernels -o n$n.cubin; done
    ok cache export good.pack --cache-dir kernels
fi
rm -f .out .err
cd ..

scenarios() {
    cat <<'END_OF_SCENARIOS'
any product emit scatter_add n=8 -o product
any product array random:40x8 --seed 4 -o product
any product run scatter_add out=out.npy index=index.npy src=src.npy --device emulator -o product --check
any - doctor --cache-dir kernels
any - list --json
assembler product compile scatter_add n=28 --cache-dir kernels -o product
assembler product compile scatter_add n=4 --cache-dir kernels -o product
assembler - inspect n4.cubin
assembler - cache ls --cache-dir kernels
assembler - cache verify --cache-dir kernels
assembler - cache stats --zero --cache-dir kernels
assembler - cache prune entries=1 --cache-dir kernels
assembler - cache clear --cache-dir kernels
assembler good.pack cache export good.pack --force --cache-dir kernels
assembler - cache import good.pack --cache-dir other
END_OF_SCENARIOS
}

# fresh: the state in which each run begins.
fresh() {
    rm -rf now
    cp -a start now
    cp now/old.ptx now/product
}

# The calls of a trace after the first that main makes, as "NAME NUMBER", and only those that may
# fail.
calls_of() {
    awk 'NR == FNR { may[$1] = 1; next }
         { split($0, part, "("); name = part[1]; count[name]++ }
         /^rt_sigaction\(SIGXFSZ/ { inside = 1 }
         inside && name in may { print name, count[name] }' errors "$1"
}

# The pack's date and the cache's own times differ from run to run: packs are compared by their
# list.
same_product() {
    case $1 in
    good.pack) "$PTXGEN" cache ls --cache-dir "now/$1" 2>/dev/null | sort | cmp -s - "$2" ;;
    *) cmp -s "now/$1" "$2" ;;
    esac
}

# whole FILE: it is what it was before, or what a run without faults makes.
whole() {
    same_product "$1" wanted && return 0
    case $1 in
    good.pack) "$PTXGEN" cache verify --cache-dir "now/$1" >.out 2>.err ;;
    *) cmp -s "now/$1" start/old.ptx ;;
    esac
}

try_fault() { # CALL NUMBER ERROR PRODUCT ARGS...
    call=$1 number=$2 error=$3 product=$4
    shift 4
    fresh
    last="ptxgen $* (with call $number of $call failing: $error)"
    code=0
    (cd now && timeout -s KILL 100 strace -o /dev/null -e trace="$call" \
        -e inject="$call:error=$error:when=$number" "$PTXGEN" "$@" >../.out 2>../.err </dev/null) \
        || code=$?
    [ "$code" -le 6 ] || die "ended by exit code $code"
    [ "$code" = 0 ] || [ "$call" = write ] || grep -q '^ptxgen: ' .err || [ -s .out ] ||
        die "no word about the failure"
    if [ "$product" != - ]; then
        [ "$code" != 0 ] || same_product "$product" wanted || die "success, and another product"
        whole "$product" || die "a part of a product was left"
    fi
    for cache in kernels other; do
        [ ! -d "now/$cache" ] || "$PTXGEN" cache verify --cache-dir "$PWD/now/$cache" \
            >.out 2>.err || die "the cache is damaged"
    done
}

scenarios | while read -r needs product args; do
    [ $needs = any ] || [ $assembles = yes ] || continue
    echo "$product $args"
done >chosen
each=$(((faults + $(wc -l <chosen) - 1) / $(wc -l <chosen)))
done_so_far=0 ended_well=0
while read -r product args; do
    fresh
    # shellcheck disable=SC2086
    (cd now && strace -o ../trace "$PTXGEN" $args >../.out 2>../.err) </dev/null ||
        die "ptxgen $args"
    # What gets its name by renaming is on the disk before: an entry, a pack, a file of -o; an
    # import can be repeated.
    if [ "${args#cache import}" = "$args" ] &&
        grep -qE '^rename.*(/v1/|"[0-9a-f]{30}"|product|pack)' trace; then
        awk '/^f(data)?sync\(/ { synced = 1 } /^rename.*(\/v1\/|"[0-9a-f]+"|product|pack)/ && !synced { exit 1 }' trace ||
            die "a name before the bytes are on the disk: $(grep -E '^rename|sync\(' trace)"
    fi
    case $product in
    -) ;;
    good.pack) "$PTXGEN" cache ls --cache-dir "now/$product" 2>/dev/null | sort >wanted ;;
    *) cp "now/$product" wanted ;;
    esac
    calls_of trace >calls
    # As many of them as are wanted of each scenario, spread over the run, each with another error.
    awk -v each="$each" 'NR == FNR { errors[$1] = $0; next } { call[n++] = $0 }
        END {
            for (i = 0; i < each; i++) {
                at = call[int((i + 0.5) * n / each) % n]
                split(at, c, " ")
                m = split(errors[c[1]], e, " ")
                print at, e[2 + (i + int(i * n / each)) % (m - 1)]
            }
        }' errors calls | sort -u >faults
    while read -r call number error; do
        # shellcheck disable=SC2086
        try_fault "$call" "$number" "$error" "$product" $args
        done_so_far=$((done_so_far + 1))
        [ "$code" != 0 ] || ended_well=$((ended_well + 1))
    done <faults
done <chosen
echo "$done_so_far failing calls; $ended_well of the runs ended well all the same"
[ "$done_so_far" -ge $((faults / 2)) ]
