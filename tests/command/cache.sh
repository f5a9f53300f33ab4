# cache and inspect: what is in the folder, why a kernel is not, checking, removing, packing.
. tests/support/cli.sh

refuse 2 'do what\?' cache
refuse 2 "has no 'lst'; did you mean 'ls'\?" cache lst
refuse 2 'usage: ptxgen cache show ENTRY' cache show
refuse 2 'usage: ptxgen cache stats ' cache stats now
refuse 2 "'ptxgen cache import' has no --dry-run; usage" cache import q --dry-run
refuse 2 "'ptxgen cache ls' has no --output" cache ls -o q
refuse 2 "'ptxgen cache verify' has no --ptx" cache verify --ptx
refuse 2 "'ptxgen cache stats' has no --recompile" cache stats --recompile
t cache show abcd --json --ptx --cache-dir .
expect_code 2
expect_err 'json describes the entry'
refuse 2 'export writes a file, not standard output' cache export - --cache-dir .
refuse 5 'absent does not exist' cache ls --cache-dir absent
refuse 2 'memory only; there is nothing to look at' cache ls --cache-dir ""
PTXGEN_CACHE=off t cache ls
expect_code 5
expect_err 'there is no cache folder: PTXGEN_CACHE=off'
PTXGEN_CACHE_DIR='' t cache path
expect_code 5
expect_err 'PTXGEN_CACHE_DIR is set and empty'
for word in auto yes 0 OFF; do
    PTXGEN_CACHE=$word t cache path
    expect_code 2
    expect_err "PTXGEN_CACHE=$word is not one of: on, off"
done
for command in 'cache path' doctor 'list'; do
    PTXGEN_CACHE_DIR=relative/folder t $command
    [ "$command" = list ] || { expect_code 2
    expect_err 'PTXGEN_CACHE_DIR=relative/folder is not an absolute path'; }
done
PTXGEN_CACHE_DIR=relative PTXGEN_CACHE=off t cache path
expect_code 5

# A folder that is not yet a cache is an empty one, and stays as it is.
mkdir bare
for action in ls stats verify du; do
    t cache $action --cache-dir bare
    expect_code 0
    expect_err '^ptxgen: empty cache$'
done
ok cache clear --cache-dir bare
rmdir bare || die "looking made something in an empty folder"
ln -s . link
refuse 5 'link. is a symbolic link' cache ls --cache-dir link
rm link
refuse 5 "'/dev/null' is no folder" cache ls --cache-dir /dev/null
ok cache path
expect_out "^$work/.cache$"
have_assembler || skip "no assembler here"

for n in 8 16 512; do ok compile scatter_add n=$n dtype=bf16 arch=sm_90; done
t cache ls sort=size
expect_code 0
expect_err '^ptxgen: 3 entries, [0-9]+ bytes$'
[ "$(grep -c 'sm_90  *scatter_add ' .out)" = 3 ] || die "ls does not show three kernels"
awk 'NR > 1 { if (NR > 2 && $4 > last) exit 1; last = $4 }' .out || die "not sorted by size"
t cache ls arch=sm_100a
expect_err '^ptxgen: 0 entries'
t cache ls family=scatter_add newer=1h
expect_err '^ptxgen: 3 entries'
t cache ls older=1h
expect_err '^ptxgen: 0 entries'
refuse 2 "'sort=x' is not understood" cache ls sort=x
refuse 2 "'older=1y' is not understood" cache ls older=1y
ok cache ls --json
[ "$(grep -c '"hash"' .out)" = 3 ] || die "ls --json does not list three"

"$PTXGEN" cache ls >.ls 2>/dev/null
entry=$(sed -n '/ n=512 /s/ .*//p' .ls)
rm .ls
ok cache show "$entry"
cp .out shown
expect_out "^entry +$entry"
expect_out '^arch +sm_90$'
expect_out '^tool +[a-zA-Z]'
expect_out '^  registers +[1-9]'
expect_out '^  n=512$'
file=$(sed -n 's/^file  *\([^,]*\),.*/\1/p' .out)
ok inspect "$entry"
cmp .out shown || die "inspect ENTRY and cache show differ"
ok inspect "$file"
cmp .out shown || die "inspect FILE and cache show differ"
ok emit scatter_add n=512 dtype=bf16 arch=sm_90a -o want.ptx
ok cache show "$entry" --ptx -o got.ptx
cmp want.ptx got.ptx
ok compile scatter_add n=512 dtype=bf16 arch=sm_90a -o want.cubin
ok cache show "$entry" --cubin -o got.cubin
cmp want.cubin got.cubin
ok inspect got.cubin
expect_out '^arch +sm_90$'
expect_out '^kernel +scatter_add_'
ok inspect got.cubin --json
expect_out '"registers":.*[1-9]'
refuse 2 'not more' cache show "$entry" --ptx --cubin
refuse 2 '-o needs' cache show "$entry" -o x

# SASS: nvdisasm, else cuobjdump, is given the cubin; what is missing is said; a failing one leaves
# no file.
mkdir -p tk/bin
refuse 5 'no disassembler: no nvdisasm or cuobjdump in .*tk: .*pip package' cache show "$entry" \
    --sass --toolkit tk
for tool in cuobjdump nvdisasm; do
    printf '#!/bin/sh\n[ "$1" = --version ] || { echo "%s $1"; cat "$2"; }\n' $tool >tk/bin/$tool
    chmod +x tk/bin/$tool
    [ $tool = nvdisasm ] && echo 'nvdisasm -c' >want || echo 'cuobjdump -sass' >want
    cat got.cubin >>want
    ok cache show "$entry" --sass --toolkit tk -o got.sass
    cmp want got.sass
    ok cache show "$entry" --sass --toolkit tk
    cmp want .out
done
rm want got.sass
printf '#!/bin/sh\n[ "$1" = --version ] && exit\necho half\nexit 3\n' >tk/bin/nvdisasm
refuse 5 'nvdisasm failed with exit code 3' cache show "$entry" --sass --toolkit tk -o got.sass
rm -r tk
refuse 2 'cache: .*zzzz|zzzz' inspect zzzz
refuse 2 'absent.cubin does not exist' inspect absent.cubin
refuse 2 'want.ptx: ' inspect want.ptx
head -c 500 got.cubin >cut.cubin
refuse 2 'cut.cubin: ' inspect cut.cubin
rm -f ./*.ptx ./*.cubin shown

ok cache why scatter_add n=512 dtype=bf16 arch=sm_90a
expect_out '^it is there: in .*, made by [a-z]+ [0-9]'
t cache why scatter_add n=512 dtype=f16 arch=sm_90a
expect_code 1
expect_out '^  dtype +wanted f16, found bf16$'
refuse 2 'n=x' cache why scatter_add n=x
ok cache verify --recompile
expect_out '^3 entries checked, 0 damaged, 0 different'
for other in ptxas nvptxcompiler nvjitlink; do
    PTXGEN_ASSEMBLER=$other t cache verify --recompile
    if [ "$code" = 1 ]; then
        expect_out ' 0 different from a fresh build, [1-9][0-9]* not comparable'
        expect_err 'could not be compared: that is no proof'
    else
        [ "$code" = 0 ] || [ "$code" = 5 ] || die "another assembler's entries are called different"
    fi
    [ "$code" = 5 ] || expect_out ' 0 damaged, 0 different from a fresh build, [03] not comparable$'
done
ok cache du
expect_out '^ +[0-9]+ bytes +3 entries +sm_90 +scatter_add$'
ok cache du --json
expect_out '"family":.*"scatter_add"'
ok cache stats
expect_out ' 3  entries$'

ok cache export p
expect_out '^exported 3 entries'
long=$(printf '%0255d' 0)
ok cache export "$long"
t cache ls --cache-dir "$long"
expect_err "^ptxgen: 3 entries"
mkdir sub
ok cache export "sub/$long"
rm -r "$long" sub
refuse 5 'File name too long' cache export "0$long"
t cache ls --cache-dir p
expect_err '^ptxgen: 3 entries'
t cache ls --cache-dir p/x
expect_code 5
expect_err 'p/x cannot be used: Not a directory'

# Every action has a report for machines: one JSON value and nothing else.
while read -r wanted action; do
    # shellcheck disable=SC2086
    t cache $action --json
    [ "$code" -le 1 ] || die "exit code $code"
    expect_out "\"$wanted\":"
    case $(head -c 1 .out)$(tail -c 2 .out) in
    '{}' | '[]') ;;
    *) die "no JSON value" ;;
    esac
    ! command -v python3 >/dev/null || python3 -m json.tool .out >/dev/null || die "no JSON"
done <<END
hash ls
key show $entry
counters stats
bytes du
pack path
hit why scatter_add n=512 dtype=bf16 arch=sm_90a
nearest why scatter_add n=512 dtype=f16 arch=sm_90a
damaged verify
different verify --recompile
removed prune entries=9
removed clear --dry-run
copied export q
present import q
END
rm q

# A pack that is cut short or has a flipped byte: said, what is sound is taken, exit code 1.
size=$(stat -c %s p)
head -c $((size - 100)) p >cut
t cache import cut --cache-dir fresh/folder
expect_code 1
expect_err 'cut is cut short .*: recovered [1-9] entr(y|ies)$'
for action in ls verify; do
    t cache $action --cache-dir cut
    expect_code 1
    expect_err 'cut is cut short .*: recovered [1-9] entr(y|ies)$'
done
cp p flipped
printf 'X' | dd of=flipped bs=1 seek=3000 conv=notrunc 2>/dev/null
t cache import flipped --cache-dir fresh2
expect_code 1
expect_out '^imported 2 entries.* 1 damaged'
for action in ls verify; do
    t cache $action --cache-dir flipped
    expect_code 1
done
ln -s p linked
ok cache import linked --cache-dir fresh2
expect_out '^imported 1 entry.* 2 there already'
rm -r cut flipped linked fresh fresh2

# A dry run names what the run itself removes: entries have different sizes and the same date.
find .cache/v1 -type f -exec touch -d '2 days ago' {} +
for rule in entries=2 bytes=30000 unused=1h; do
    cp -a .cache copy
    ok cache prune $rule --dry-run --cache-dir copy
    sed 's/would remove/removed/' .out >said
    ok cache prune $rule --cache-dir copy
    cmp said .out || die "prune $rule did something else than its dry run said"
    rm -r copy said
done
find .cache/v1 -type f -exec touch {} +
t cache prune entries=1 --dry-run
expect_out '^would remove 2 entries'
[ "$(find .cache/v1 -type f -path '*/v1/??/*' | wc -l)" = 3 ] || die "a dry run removed something"
ok cache prune entries=1
expect_out '^removed 2 entries'
refuse 2 "'entries=0' is not understood" cache prune entries=0
refuse 2 'usage: ptxgen cache prune' cache prune
ok cache import p
expect_out '^imported 2 entries.* 1 there already'

# A damaged entry: named by verify and ls, a miss for compile, which puts a sound one in its place.
printf 'X' | dd of="$file" bs=1 seek=3000 conv=notrunc 2>/dev/null
t cache verify
expect_code 1
expect_out '^3 entries checked, 1 damaged'
expect_out "^$entry  "
t cache ls
expect_out "^$entry .*damaged: "
t inspect "$entry"
expect_code 1
expect_out '^damaged '
ok compile scatter_add n=512 dtype=bf16 arch=sm_90a
expect_out '^origin +assembled$'
ok cache verify

ok cache clear --dry-run
expect_out '^would remove 3 entries'
ok cache clear
expect_out '^removed 3 entries'
t cache ls
expect_err '^ptxgen: 0 entries, 0 bytes$'
t cache why scatter_add n=4
expect_code 1
expect_out 'the cache is empty'

# A file that is no pack is a wrong input.
head -c 5000 /dev/urandom >noise
refuse 2 'is not a pack' cache import noise
refuse 2 'is not a pack' cache ls --cache-dir noise
refuse 2 "no family is named 'scater_add'; did you mean 'scatter_add'" cache export q \
    family=scater_add
refuse 2 'arch "sm_1" is not known' cache export q arch=sm_1

# A key needs no assembler, and neither does the answer.
mkdir bare none
t cache why scatter_add n=512 --cache-dir bare --toolkit none
expect_code 1
expect_out '^it is not used: no entry has its key$'
ok compile scatter_add n=512 dtype=bf16
ok cache why scatter_add n=512 dtype=bf16 --toolkit none
ok compile scatter_add n=512 dtype=bf16 --toolkit none
expect_out '^origin +disk$'
PTXGEN_CACHE_ASSEMBLER=exact t cache why scatter_add n=512 dtype=bf16 --toolkit none
expect_code 1
expect_out '^it is not used: its entry was made by [a-z]+ .*, not by none '

# One is not "1 entries".
one=$work/one
ok compile scatter_add n=4 --cache-dir "$one"
t cache ls --cache-dir "$one"
expect_err '^ptxgen: 1 entry, '
t cache du --cache-dir "$one"
expect_out ' 1 entry  in all$'
t cache verify --cache-dir "$one"
expect_out '^1 entry checked'
