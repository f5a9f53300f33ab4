# Signed packs: keygen, sign, verify keys=FILE, and a context that trusts signatures alone.
. tests/support/cli.sh
t cache keygen key first
if [ "$code" = 5 ] && grep -q 'need libsodium' .err; then skip "no libsodium here"; fi
expect_code 0
[ "$(stat -c %a key)" = 600 ] || die "the secret key can be read by others"
grep -q '^ptxgen-public first [0-9a-f]\{64\}$' key.pub || die "the public key: $(cat key.pub)"
t cache keygen key again
expect_code 2
t cache keygen other second
expect_code 0
have_assembler || skip "no assembler here"

ok compile scatter_add n=64 dtype=bf16
ok compile gather_rows vector=4
ok cache export plain
ok cache sign signed key
expect_out '^signed 2 entries$'
ok cache sign short key days=1
# A file that is there is replaced only with --force, and then as a whole; what is no file, never.
ln -s plain link
ln -s nowhere dangling
mkdir folder
for write in 'export %s' 'sign %s key'; do
    for there in plain link dangling; do
        refuse 2 "$there exists: .*--force" cache $(printf "$write" $there)
    done
    refuse 2 'folder is no file' cache $(printf "$write" folder) --force
    refuse 2 '/dev/null is no file' cache $(printf "$write" /dev/null) --force
    ok cache $(printf "$write" plain) --force
    ok cache verify --cache-dir plain
done
refuse 2 'key.*File exists' cache keygen key somebody
ok cache export plain --force
t cache ls --cache-dir plain
[ "$(grep -c sm_ .out)" = 2 ] || die "not the entries that it had"
ok cache sign from_pack key --cache-dir plain
expect_out '^signed 2 entries$'
t cache sign bad key days=0
expect_code 2

ok cache verify keys=key.pub --cache-dir signed
expect_out '^2 entries checked, 0 refused$'
t cache verify keys=other.pub --cache-dir signed
expect_code 1
expect_out '^2 entries checked, 2 refused$'
expect_err 'signed by a key that is not trusted'
t cache verify keys=key.pub --cache-dir plain
expect_code 1
expect_err 'it is not signed'
t cache verify plain
expect_code 2
expect_err "plain is a file, and verify takes an entry.*verify --cache-dir plain"
t cache verify keys=absent --cache-dir plain
expect_code 5

# A machine that trusts one key, then both, then only the new one.
mkdir none
here=$PWD
use() { # KEYS PACK
    rm -rf own
    PTXGEN_CACHE_TRUST=signed PTXGEN_CACHE_KEYS=$here/$1 PTXGEN_CACHE_LAYERS=$here/$2 \
        t compile scatter_add n=64 dtype=bf16 --toolkit none --cache-dir own
}
use key.pub signed
expect_code 0
expect_out '^origin +disk$'
use key.pub plain
expect_code 5
expect_err 'the cache was asked first: it is not signed'
use other.pub signed
expect_code 5
expect_err 'signed by a key that is not trusted'
cat key.pub other.pub >both
ok cache sign renewed other
for pack in signed renewed; do
    use both $pack
    expect_code 0
done
use other.pub renewed
expect_code 0
PTXGEN_CACHE_TRUST=signed t compile scatter_add n=64 --cache-dir own
expect_code 2
expect_err 'cache_trust=signed needs cache_keys'
