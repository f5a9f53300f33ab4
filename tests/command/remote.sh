# cache_remote on the command line: refused with a sentence, shown by doctor, cache why and cache
# stats; two folders, a machine each, share a real Redis; cache_mac_key.
. tests/support/cli.sh

refused() { # TEXT PATTERN
    PTXGEN_CACHE_REMOTE=$1 t cache path
    [ "$code" != 0 ] || die "cache_remote=$1 was taken"
    expect_err "$2"
}
refused nowhere 'cache_remote=nowhere: it has no scheme'
refused redis://cache:none 'its port is no number'
refused redis://:secret@h:none 'redis://\*\*\*@h:none'
refused strange://x 'no storage helper ccache-storage-strange on PATH'
PTXGEN_CACHE_REMOTE_TIMEOUT_MS=0 t doctor
expect_err 'a number of milliseconds above 0'

PTXGEN_CACHE_REMOTE=redis://127.0.0.1:1 t doctor
if grep -q 'not in this build' .err; then skip "built without hiredis"; fi
expect_code 1
expect_out '^remote +broken +redis://127.0.0.1:1: .*refused'

if ! command -v redis-server >/dev/null; then skip "no redis-server here"; fi
port=$((20000 + $$ % 20000))
redis-server --port "$port" --bind 127.0.0.1 --save '' --requirepass secret --dir "$work" \
    >redis.log 2>&1 &
server=$!
trap 'kill -KILL $server 2>/dev/null || true; rm -rf "$work"' EXIT
export PTXGEN_CACHE_REMOTE=redis://:secret@127.0.0.1:$port
tries=0
until "$PTXGEN" doctor | grep -q '^remote *ok'; do
    tries=$((tries + 1))
    [ "$tries" -lt 100 ] || die "redis-server does not answer: $(cat redis.log)"
    sleep 0.1
done
ok doctor --require remote
expect_out "^remote +ok +redis://\*\*\*@127.0.0.1:$port answers in [0-9.]+ ms"
! grep -q secret .out || die "the password is shown"
ok doctor --json
tr -d '\n\t' <.out | grep -q '"topic":"remote","state":"ok"' || die "no remote in JSON"

# A configuration file says the same.
printf '{"cache_remote": "%s read-only"}\n' "$PTXGEN_CACHE_REMOTE" >config.json
PTXGEN_CACHE_REMOTE= PTXGEN_CONFIG=$work/config.json ok doctor
expect_out "cache_remote = redis://\*\*\*@127.0.0.1:$port read-only .*config.json"

have_assembler || skip "no assembler here"
ok compile scatter_add n=64 dtype=bf16 --cache-dir one
t cache why scatter_add n=64 dtype=bf16 --cache-dir two
[ "$code" != 0 ] || die "the second machine has a folder already"
mkdir two && chmod 700 two
ok cache why scatter_add n=64 dtype=bf16 --cache-dir two
expect_out "^it is there: in redis://\*\*\*@127.0.0.1:$port, made by "
t cache why scatter_add n=96 dtype=bf16 --cache-dir two
expect_code 1
expect_out 'no entry has its key; redis://.*: it has no entry of the key'
[ -z "$(ls two)" ] || die "looking brought an entry"
printf 'scatter_add n=64 dtype=bf16\n' >list
ok prewarm list --cache-dir two
ok cache stats --cache-dir two
expect_out '^ +1  entries that the remote store sent'
expect_out '^ +0  results of compiles handed'
expect_out 'answers in [0-9.]+ ms$'
ok cache stats --json --cache-dir two
expect_out '"remote_hits":	1'
expect_out '"answers":	true'
ok cache stats --prometheus --cache-dir two
expect_out '^ptxgen_cache_remote_hits_total\{path=.*\} 1$'
expect_out '^ptxgen_cache_remote_up\{path=.*\} 1$'

# Another's entry under a key: refused, counted, compiled.
name=$(redis-cli -p "$port" -a secret --no-auth-warning keys 'ptxgen:1:*' | head -1)
redis-cli -p "$port" -a secret --no-auth-warning set "$name" noise >/dev/null
ok prewarm list --cache-dir three
ok cache stats --json --cache-dir three
expect_out '"remote_damaged":	[12]'
expect_out '"misses":	1'

# Nobody there: everything works, and says so.
kill -KILL $server
wait $server 2>/dev/null || true
ok compile scatter_add n=128 dtype=bf16 --cache-dir two
ok cache stats --cache-dir two
expect_out 'does not answer: '
ok cache stats --prometheus --cache-dir two
expect_out '^ptxgen_cache_remote_up\{path=.*\} 0$'
t cache why scatter_add n=256 dtype=bf16 --cache-dir two
expect_out 'it did not answer'
unset PTXGEN_CACHE_REMOTE

# A code for the folder's own entries.
t cache keygen mac.key m1 mack
expect_code 2
t cache keygen mac.key m1 mac
if [ "$code" = 5 ] && grep -q 'need libsodium' .err; then skip "no libsodium here"; fi
expect_code 0
[ "$(stat -c %a mac.key)" = 600 ] || die "the key can be read by others"
export PTXGEN_CACHE_MAC_KEY=$work/mac.key
t cache why scatter_add n=128 dtype=bf16 --cache-dir two
expect_code 1
expect_out 'it has no code of this machine'
ok compile scatter_add n=128 dtype=bf16 --cache-dir two
ok cache why scatter_add n=128 dtype=bf16 --cache-dir two
chmod 644 mac.key
t cache path
expect_code 2
expect_err 'chmod 600'
