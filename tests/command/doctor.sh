# doctor in many states of a machine: each told by exit code, by words, and by JSON; nothing made
# while looking.
. tests/support/cli.sh
unset XDG_CONFIG_HOME XDG_DATA_HOME
export HOME=$work/home
mkdir "$HOME"

everything() { find . ! -name .out ! -name .err | sort; }

# state CODE "TOPIC STATE" PATTERN [OPTIONS...]: the exit code, the topic's line, the same state in
# the JSON, and no file made or removed.
state() {
    want=$1 topic=${2% *} word=${2#* } says=$3
    shift 3
    before=$(everything)
    t doctor "$@"
    expect_code "$want"
    expect_out "^$topic +$word +.*$says"
    t doctor --json "$@"
    expect_code "$want"
    tr -d '\n\t' <.out | grep -oE '\{[^{}]*\}' | grep -F "\"topic\":\"$topic\"" >.found ||
        die "no $topic in JSON"
    grep -qF "\"state\":\"$word\"" .found || die "JSON does not say $topic $word"
    if [ "$want" = 0 ]; then ready=true; else ready=false; fi
    expect_out "\"ready\":	$ready"
    rm .found
    [ "$(everything)" = "$before" ] || die "looking changed: $(everything)"
}

# 1. A folder that is not there yet; it is not made.
state 0 'cache ok' "$work/.cache is not there yet"
state 0 'cache ok' "$work/relative/folder is not there yet" --cache-dir relative/folder
# 2. One that is: stored, locked, read back, and left as it was.
mkdir empty .cache && chmod 700 .cache
state 0 'cache ok' "$work/.cache, owner $(id -un), mode 0700, [0-9.]+ GiB free; an entry was stored"
state 0 'locks ok' 'processes keep each other'
[ -z "$(ls -A .cache)" ] || die "the trial left $(ls -A .cache)"
# 3. No toolkit: a detail, unless it was asked for.
PATH=/usr/bin:/bin CUDA_HOME= state 0 'emit ok' 'written'
state 1 'compile missing' 'no assembler in' --toolkit empty
state 1 'required broken' 'assembler: does not work .toolkit is' --toolkit empty
export PTXGEN_TOOLKIT=$work/empty
state 1 'required broken' 'assembler: does not work'
expect_out '"origin":	"environment"'
unset PTXGEN_TOOLKIT
# 4. An assembler that was asked for and is not there.
state 1 'required broken' 'nvjitlink: does not work .assembler is nvjitlink' --toolkit empty \
    --assembler nvjitlink
# 5. A GPU that was asked for.
if ! "$PTXGEN" doctor --require gpu >/dev/null 2>&1; then
    state 1 'required broken' 'gpu: does not work .device is cuda' --device cuda
    state 1 'device missing' 'no CUDA driver|no GPU|CUDA' --device cuda
    state 1 'required broken' 'gpu: does not work .--require' --require gpu
    state 0 'required ok' 'device: works' --require device
fi
state 0 'required ok' 'emit: works' --require cache,locks,emit
# 6. Others may write to the folder.
chmod 777 .cache
state 1 'cache broken' 'can be written by other users \(chmod go-w\).*owner .*, mode 0777'
chmod 700 .cache
# 7. Something in the place of the cache's own files.
for name in lock usage stats; do
    mkdir ".cache/$name"
    state 1 'cache broken' "$work/.cache/$name is no file: remove it"
    rmdir ".cache/$name"
done
rm -r .cache
# 8. It cannot be made.
state 1 'cache broken' "'/proc/nowhere' cannot be made in /proc: .*--cache-dir" \
    --cache-dir /proc/nowhere
# 9. A link.
mkdir real && ln -s real link
state 1 'cache broken' 'link. is a symbolic link' --cache-dir link
rm link
# 10. A device.
state 1 'cache broken' '/dev/null is no folder' --cache-dir /dev/null
if grep -q remove .out; then die 'advises to remove /dev/null'; fi
# 11. A file.
: >.cache
state 1 'cache broken' 'is no folder'
rm .cache
# 12. None wanted.
state 0 'cache missing' 'memory only.*--cache-dir ""' --cache-dir ''
export PTXGEN_CACHE=off
state 0 'cache missing' 'memory only.*PTXGEN_CACHE=off'
state 1 'required broken' 'cache: does not work' --require cache
unset PTXGEN_CACHE
PTXGEN_CACHE_DIR='' t doctor
expect_out '^cache +missing +memory only.*PTXGEN_CACHE_DIR is set and empty'
# 13. A configuration file: shown, or the reason why nothing starts.
mkdir -p "$HOME/.config/ptxgen"
printf '{"cache_max_bytes": "1G", "dump_dir": "%s"}\n' "$work/dump" \
    >"$HOME/.config/ptxgen/config.json"
ok doctor
expect_out "^setting +cache_max_bytes = 1G \($HOME/.config/ptxgen/config.json\)"
expect_out '^setting +cache_dir = .*\(environment\)'
echo '{"cache_max_byte": 1}' >"$HOME/.config/ptxgen/config.json"
t doctor
expect_code 2
expect_err "no setting 'cache_max_byte'"
rm -r "$HOME/.config"
# 14. An assembler that does not work.
mkdir -p broken/bin
printf '#!/bin/sh\necho this machine is haunted\nexit 1\n' >broken/bin/ptxas &&
    chmod 755 broken/bin/ptxas
state 1 'compile broken' 'its last words: this machine is haunted' --toolkit broken \
    --assembler ptxas
# 15. No descriptors left: said, and not taken for absence.
code=0
(ulimit -n 4 && exec "$PTXGEN" doctor) >.out 2>.err || code=$?
[ "$code" != 0 ] || die "finds nothing wrong without descriptors"
grep -q 'not found in' .out && die "takes a lack of descriptors for a lack of ptxas"
# 16. The disk is full.
if [ "$(id -u)" = 0 ] && mkdir tiny && mount -t tmpfs -o size=64k none tiny 2>/dev/null; then
    code=0
    "$PTXGEN" doctor --cache-dir tiny/c >.out 2>.err || code=$?
    mkdir -m 700 tiny/c
    code=0
    "$PTXGEN" doctor --cache-dir tiny/c >.out 2>.err || code=$?
    umount tiny
    expect_code 1
    expect_out '^cache +broken .*could not be stored'
fi

# 17. Root's folder is read by everybody (docs/cache.md); an unwritable home has its true reason.
# Needs another user.
other() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }
if [ "$(id -u)" = 0 ] && chmod 755 . && other test -x "$PTXGEN" 2>/dev/null && other test -r .; then
    mkdir -p shared/v1 && chmod 755 shared shared/v1
    other "$PTXGEN" doctor --cache-dir "$work/shared" >.out 2>.err || die "root's folder is broken"
    expect_out '^cache +ok .*owner root.*entries are read; .*not kept'
    other "$PTXGEN" cache ls --cache-dir "$work/shared" >.out 2>.err ||
        die "root's folder is not listed"
    other "$PTXGEN" doctor --cache-dir "$work/shared/home/.cache" >.out 2>.err || true
    expect_out '^cache +broken .*cannot be made in .*: Permission denied.*PTXGEN_CACHE_DIR'
    mkdir shared/v1/ab && chmod 700 shared/v1/ab
    code=0
    other "$PTXGEN" cache ls --cache-dir "$work/shared" >.out 2>.err || code=$?
    expect_code 5
    expect_err "'$work/shared/v1/ab': Permission denied"
    # 18. A folder of one's own that is not writable.
    mkdir -p mine/v1 && chown -R 65534:65534 mine && chmod 500 mine
    code=0
    other "$PTXGEN" doctor --cache-dir "$work/mine" >.out 2>.err || code=$?
    expect_code 1
    expect_out '^cache +broken .*not writable, so nothing is kept. chmod u\+wx'
fi

ok doctor --json
expect_out '"version"'
expect_out '"path":'
expect_out '"cache_max_entries"'
refuse 2 "'ptxas': doctor takes options only" doctor ptxas
refuse 2 "knows no 'gpus', did you mean gpu" doctor --require gpus
