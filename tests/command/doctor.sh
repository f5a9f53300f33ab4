# doctor: every part and the cache folder with a state and a remedy.
. tests/support/cli.sh

mkdir empty .cache && chmod 700 .cache
t doctor --toolkit empty
expect_code 0
expect_out '^ptxas +missing .*not found in .*empty: install'
expect_out '^nvjitlink +missing .*install'
expect_out '^driver +(ok|missing) '
expect_out '^device +(ok|missing) '
expect_out '^emit +ok '
expect_out "^cache +ok +$work/.cache, owner $(id -un), mode 0700, [0-9.]+ GiB free"

chmod 777 .cache
t doctor
expect_code 1
expect_out '^cache +broken .*can be written by other users \(chmod go-w\) \(owner .*, mode 0777\)'
rm -r .cache
ok doctor
expect_out '^cache +ok .*/.cache, owner'
rm -r .cache
ok doctor --cache-dir relative/folder
expect_out "^cache +ok +$work/relative/folder, owner"
t doctor --cache-dir /proc/nowhere
expect_code 1
expect_out "^cache +broken .*'/proc/nowhere' cannot be made: No such file.*--cache-dir"
mkdir real && ln -s real link
t doctor --cache-dir link
expect_code 1
expect_out '^cache +broken .*link. is a symbolic link'
rm link
t doctor --cache-dir /dev/null
expect_code 1
expect_out '^cache +broken +/dev/null is no folder'
if grep -q remove .out; then die 'advises to remove /dev/null'; fi
: >.cache
t doctor
expect_code 1
expect_out '^cache +broken .*is no folder'
rm .cache
ok doctor --cache-dir ""
expect_out '^cache +missing +memory only.*--cache-dir ""'
PTXGEN_CACHE=off t doctor
expect_out '^cache +missing +memory only.*PTXGEN_CACHE=off'
PTXGEN_CACHE_DIR='' t doctor
expect_out '^cache +missing +memory only.*PTXGEN_CACHE_DIR is set and empty'

# Root's folder is read by everybody (docs/cache.md); an unwritable home has its true reason. Needs another user.
other() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }
if [ "$(id -u)" = 0 ] && chmod 755 . && other test -x "$PTXGEN" 2>/dev/null && other test -r .; then
    mkdir -p shared/v1 && chmod 755 shared shared/v1
    other "$PTXGEN" doctor --cache-dir "$work/shared" >.out 2>.err || die "root's folder is broken"
    expect_out '^cache +ok .*owner root.*entries are read; .*not kept'
    other "$PTXGEN" cache ls --cache-dir "$work/shared" >.out 2>.err || die "root's folder is not listed"
    other "$PTXGEN" doctor --cache-dir "$work/shared/home/.cache" >.out 2>.err || true
    expect_out '^cache +broken .*cannot be made: Permission denied.*PTXGEN_CACHE_DIR'
    mkdir shared/v1/ab && chmod 700 shared/v1/ab
    code=0
    other "$PTXGEN" cache ls --cache-dir "$work/shared" >.out 2>.err || code=$?
    expect_code 5
    expect_err "'$work/shared/v1/ab': Permission denied"
fi

ok doctor --json
expect_out '"version"'
expect_out '"topic":.*"ptxas"'
refuse 2 "'ptxas': doctor takes options only" doctor ptxas
