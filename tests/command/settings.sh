# Settings from the environment and from configuration files: which goes first, what is refused,
# what they do.
. tests/support/cli.sh
unset XDG_CONFIG_HOME
export HOME=$work/home
mkdir -p "$HOME/.config/ptxgen"
file=$HOME/.config/ptxgen/config.json

# write TEXT: the user's file, 0600.
write() { printf '%s\n' "$1" >"$file" && chmod 600 "$file"; }
# refused PATTERN: the command says so and stops.
refused() { t list; t cache path; expect_code 2; expect_err "$1"; }

write "{\"cache_dir\": \"$work/from-file\", \"cache_max_entries\": 7, \"log\": \"debug\"}"
unset PTXGEN_CACHE_DIR
t cache path
[ "$(cat .out)" = "$work/from-file" ] || die "the file is not read"
PTXGEN_CACHE_DIR=$work/from-environment t cache path
[ "$(cat .out)" = "$work/from-environment" ] || die "the environment does not go before the file"
t cache ls --cache-dir from-file
expect_code 0
PTXGEN_CONFIG='' XDG_CACHE_HOME=$work/xdg t cache path
[ "$(cat .out)" = "$work/xdg/ptxgen" ] || die "an empty PTXGEN_CONFIG still reads a file"
printf '{"cache_dir": "%s"}' "$work/other" >other.json
PTXGEN_CONFIG=$work/other.json t cache path
[ "$(cat .out)" = "$work/other" ] || die "PTXGEN_CONFIG is not read"
PTXGEN_CONFIG=other.json t cache path
expect_code 2
expect_err 'PTXGEN_CONFIG=other.json is not an absolute path'
PTXGEN_CONFIG=$work/none.json t cache path
expect_err "there is no configuration '$work/none.json'"

# What is not understood is said with its place.
write '{"cach_dir": "/x"}'
refused "config.json: there is no setting 'cach_dir'; did you mean cache_dir"
write '{
  "cache_max_bytes": "2X"
}'
refused 'config.json: cache_max_bytes=2X is not a size'
write '{"cache_dir": "relative"}'
refused 'cache_dir=relative is not an absolute path'
write '{"cache_dir": {"a": 1}}'
refused 'config.json:1: a value is a text'
write '{
  "log": "debug"
  # a comment
}'
refused 'config.json:3: '
write '[1]'
refused 'one JSON object'
write '{"log": "debug"}'
chmod 666 "$file"
refused 'can be written by other users'
rm "$file"
mkdir "$file"
refused 'is no file'
rmdir "$file"
: >"$file"
refused 'one JSON object'
head -c 70000 /dev/zero | tr '\0' ' ' >"$file"
refused 'over 65536 bytes'
rm "$file"

for bad in PTXGEN_CACHE_MAX_BYTES=0 PTXGEN_CACHE_MAX_BYTES=-1 PTXGEN_CACHE_MAX_BYTES=99999999999G \
    PTXGEN_CACHE_MAX_ENTRIES=2K PTXGEN_CACHE_TRUST=all PTXGEN_CACHE_READABLE=yes \
    PTXGEN_CACHE_WAIT=x \
    PTXGEN_CACHE_LAYERS=/a:b PTXGEN_ASSEMBLER_TIMEOUT=9999999999 PTXGEN_DUMP_DIR=x \
    PTXGEN_TOOLKIT=x; do
    code=0
    last="$bad ptxgen cache path"
    env "$bad" "$PTXGEN" cache path >.out 2>.err || code=$?
    expect_code 2
    expect_err "${bad%%=*}=.* is not "
done
long=/$(head -c 5000 /dev/zero | tr '\0' a)
PTXGEN_CACHE_DIR=$long t cache path
expect_code 2
expect_err 'has 5001 bytes; a path has at most 4095'
t cache path --cache-dir "$long"
expect_code 2
expect_err 'too long'

# A relative CUDA_HOME would run what lies in the working directory.
mkdir -p planted/bin
printf '#!/bin/sh\ntouch %s/was-run\n' "$work" >planted/bin/ptxas
chmod 755 planted/bin/ptxas
CUDA_HOME=planted PATH=/usr/bin:/bin PTXGEN_CACHE_DIR=$work/c t compile scatter_add n=4
[ ! -e was-run ] || die "ran a ptxas below the working directory"
# The toolkit that tools/demo.sh leaves for a user.
mkdir -p "$HOME/.local/share/ptxgen/cuda/bin"
cp planted/bin/ptxas "$HOME/.local/share/ptxgen/cuda/bin/"
if [ ! -d /usr/local/cuda ]; then # the newest is taken, and a script has no version
    CUDA_HOME= PATH=/usr/bin:/bin t compile scatter_add n=4
    [ -e was-run ] || die "the user's toolkit is not found"
fi
rm -r "$HOME/.local"

have_assembler || exit 0
# What they do.
export PTXGEN_CACHE_DIR=$work/small
PTXGEN_CACHE_READABLE=on t compile scatter_add n=4
expect_code 0
[ "$(stat -c %a small)" = 755 ] && [ "$(stat -c %a small/v1/*/* | sort -u)" = 644 ] ||
    die "not readable"
PTXGEN_CACHE_DIR=$work/layered PTXGEN_CACHE_LAYERS=$work/small t compile scatter_add n=4 --log debug
expect_out '^origin +disk'
expect_err 'debug: scatter_add .*: from the cache folder or a layer'
PTXGEN_CACHE_MAX_BYTES=1K PTXGEN_CACHE_DIR=$work/tiny t compile scatter_add n=4 --log info
expect_err 'info: scatter_add .*: assembled in [0-9]+\.[0-9] ms by .*; no entry has its key'
expect_err "warning: cache: no room in"
PTXGEN_DUMP_DIR=$work/dump/deep t compile scatter_add n=8
[ -s dump/deep/scatter_add-*.ptx ] && [ -s dump/deep/scatter_add-*.cubin ] ||
    die "nothing is dumped"
PTXGEN_CACHE=off t compile scatter_add n=12 --log info
expect_err 'there is no cache folder in use'
