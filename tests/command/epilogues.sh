# The examples of docs/epilogues.md are run as they stand, in order, in one folder.
. tests/support/cli.sh
guide=$PTXGEN_SOURCE/docs/epilogues.md
awk '/^```sh$/ { inside = 1; n++; next } /^```$/ { inside = 0 } inside { print > ("block" n) }' \
    "$guide"
[ "$(ls block* | wc -l)" -ge 4 ] || die "only these examples: $(ls block*)"
"$PTXGEN" doctor --json 2>/dev/null | tr -d '\n\t' | grep -qE '"topic":"nvrtc","state":"ok"' ||
    skip "no NVRTC here"
mkdir bin && ln -s "$PTXGEN" bin/ptxgen
PATH=$work/bin:$PATH
for block in block*; do
    code=0
    sh -eu "$block" >.out 2>.err || code=$?
    [ "$code" = 0 ] || die "example $block"
    ! grep -q WRONG .out || die "example $block is wrong"
done
