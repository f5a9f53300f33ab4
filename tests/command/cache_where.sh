# Where the cache folder is: PTXGEN_CACHE_DIR, XDG_CACHE_HOME, HOME, the password entry, else memory
# only.
. tests/support/cli.sh
unset PTXGEN_CACHE_DIR XDG_CACHE_HOME
home=$work/home xdg=$work/xdg
mkdir "$home" "$xdg"

# where WANTED [NAME=VALUE ...]: `cache path` in that environment; the folder is made if need be.
where() {
    want=$1
    shift
    last="ptxgen cache path with $*"
    code=0
    env "$@" "$PTXGEN" cache path >.out 2>.err || code=$?
    expect_code 0
    [ "$(cat .out)" = "$want" ] || die "not $want"
}
where "$work/own" PTXGEN_CACHE_DIR="$work/own" XDG_CACHE_HOME="$xdg" HOME="$home"
where "$xdg/ptxgen" XDG_CACHE_HOME="$xdg" HOME="$home"
where "$home/.cache/ptxgen" HOME="$home"
# a relative one is ignored, as XDG says
where "$home/.cache/ptxgen" XDG_CACHE_HOME=relative/xdg HOME="$home"
where "$home/.cache/ptxgen" XDG_CACHE_HOME= HOME="$home"
[ ! -e relative ] || die "a relative XDG_CACHE_HOME was used"

# A folder that cannot be used: the command goes on without it, and says so in one line.
have_assembler || skip "no assembler here"
echo "no folder" >taken
ok array random:9x8 -o src.npy
ok array index:5/9 -o index.npy
said="^ptxgen: the cache is not used: '$work/taken' is no folder; kernels are not kept$"
for command in 'compile gather_rows arch=sm_90' 'compile gather_rows arch=sm_90 -o x.cubin' \
    'run gather_rows src=src.npy index=index.npy --check --device emulator'; do
    t $command --cache-dir taken
    expect_code 0
    expect_err "$said"
    [ "$(wc -l <.err)" = 1 ] || die "not one line"
    ok $command --json --cache-dir "$work/kept"
    ! grep -q cache_off .out || die "cache_off of a folder that is used"
    t $command --json --cache-dir taken
    expect_code 0
    expect_out "\"cache_off\":.*'$work/taken' is no folder\""
    ok $command --cache-dir ""
done
PTXGEN_CACHE_DIR=$work/taken t compile gather_rows arch=sm_90
expect_err "$said"
t compile gather_rows arch=sm_90 --cache-dir taken --log warning # then the log says it
[ "$(grep -c 'is no folder' .err)" = 1 ] || die "not said once"
echo 'gather_rows arch=sm_90' >kernels.txt
refuse 5 'name a folder with --cache-dir' prewarm kernels.txt --cache-dir taken

# No HOME and no password entry: memory only, and everything but the disk works.
as_nobody_known() { setpriv --reuid 54321 --regid 54321 --clear-groups env -u HOME "$@"; }
if [ "$(id -u)" = 0 ] && chmod 755 . && as_nobody_known test -x "$PTXGEN" 2>/dev/null; then
    as_nobody_known "$PTXGEN" compile scatter_add n=4 >.out 2>.err || die "nobody cannot compile"
    expect_out '^origin +assembled$'
    code=0
    as_nobody_known "$PTXGEN" cache path >.out 2>.err || code=$?
    expect_code 5
    expect_err 'neither XDG_CACHE_HOME nor HOME is an absolute path'
    # HOME=/ of a user who may not write there.
    [ -e /.cache ] || nothing_before=1
    as_nobody_known HOME=/ "$PTXGEN" compile scatter_add n=4 >.out 2>.err ||
        die "HOME=/ cannot compile"
    expect_out '^origin +assembled$'
    [ -z "${nothing_before-}" ] || [ ! -e /.cache ] || die "made a folder in /"
fi
