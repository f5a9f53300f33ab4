# Real file systems that are too small, full, out of inodes or read only: every kernel is compiled,
# what is stored is found, nothing fails. In a mount namespace of its own; skipped where that is not
# permitted.
if [ "${1-}" != inside ]; then
    unshare -rm mount -t tmpfs none /mnt 2>/dev/null ||
        { echo "skipped: no mount namespaces here"; exit 77; }
    exec unshare -rm sh "$0" inside
fi
. tests/support/cli.sh
have_assembler || skip "no assembler here"
mkdir disk
export PTXGEN_CACHE_DIR=$work/disk/cache

# mounted OPTIONS: a new file system below the cache folder.
mounted() {
    umount disk 2>/dev/null || true
    mount -t tmpfs -o "mode=700,$1" none disk
}
# compiled N ORIGIN: the kernel for n=N, with exit code 0 whatever the disk does.
compiled() {
    t compile scatter_add n="$1" dtype=bf16
    expect_code 0
    expect_out "^origin +$2\$"
}

# Smaller than what is always left free (docs/cache.md): nothing is stored.
mounted size=2m
compiled 8 assembled
compiled 8 assembled

# Inodes run out: what came before is there, what comes after is compiled each time.
mounted size=100m,nr_inodes=300
for n in 8 16 24 32 40 48 56 64 72 80 88 96 104 112 120 128 136 144 152 160; do
    compiled $n assembled; done
compiled 8 disk
compiled 160 assembled
[ "$(find disk/cache/v1 -type f | wc -l)" -ge 5 ] || die "nothing was stored"

# The disk fills up behind our back, then becomes read only.
mounted size=100m
compiled 8 assembled
dd if=/dev/zero of=disk/ballast bs=1M 2>/dev/null && die "the disk is not full"
compiled 8 disk
compiled 16 assembled
compiled 16 assembled
[ -z "$(find disk -name '.tmp-*')" ] || die "a temporary file was left"
rm disk/ballast
mount -o remount,ro disk
compiled 8 disk
compiled 24 assembled
compiled 24 assembled
mount -o remount,rw disk
compiled 24 assembled
compiled 24 disk
umount disk
