# An option that a subcommand, a way of `run` or an action of `cache` does not read is refused and
# named: every option that any --help lists is tried on each of them. (That those they do read have
# an effect is options.sh's to show.)
. tests/support/cli.sh

# The options that a --help lists, "name" or "name VALUE" a line.
listed() {
    sed -n '/^options:/,/^$/p' "$1" | sed -nE \
        -e 's/^ +(-[a-z], )?--([a-z-]+) ([A-Za-z].*)$/\2 VALUE/p' \
        -e 's/^ +(-[a-z], )?--([a-z-]+)(  .*)?$/\2/p'
}
: >k.ptx
"$PTXGEN" --help | sed -n '/^subcommands/,/^$/s/^  \([a-z]*\) .*/\1/p' >commands
[ "$(wc -l <commands)" -ge 12 ] || die "--help lists these subcommands only: $(cat commands)"
{
    grep -v '^run$' commands
    echo 'run scatter_add'
    echo 'run k.ptx'
} >ways
while read -r way; do
    "$PTXGEN" $way --help >help
    listed help >"own.$way"
    cat "own.$way"
done <ways | sort -u >options
[ "$(wc -l <options)" -gt 40 ] || die "the helps list only these options: $(cat options)"

tried=0
# try OWN WORDS...: each option that the list OWN has not is refused.
try() {
    own=$1
    shift
    while read -r name value; do
        if grep -qE "^$name( |\$)" "$own"; then continue; fi
        t "$@" "--$name${value:+=1}"
        expect_code 2
        expect_err "--$name"
        tried=$((tried + 1))
    done <options
}
while read -r way; do
    try "own.$way" $way
done <ways

# What each action of cache reads, beside json and cache-dir.
while read -r action word own; do
    for name in json cache-dir help $own; do echo "$name"; done >"own.cache-$action"
    # Those that the command does not take at all were tried above.
    grep -vxFf "own.cache-$action" "own.cache" | grep -v '^help' >rest || true
    while read -r name value; do
        if grep -qx "$name" "own.cache-$action"; then continue; fi
        t cache "$action" $(echo "$word" | tr -d -) "--$name${value:+=1}"
        expect_code 2
        expect_err "--$name|usage: ptxgen cache $action" # --arch is a word of it
        tried=$((tried + 1))
    done <rest
done <<"END_OF_ACTIONS"
ls - arch
show abcd output ptx cubin sass
why scatter_add arch toolkit
stats - prometheus zero
du -
path -
verify - recompile
clear - dry-run
prune unused=1d dry-run
export x.pack arch readable force
import x.pack readable
END_OF_ACTIONS
[ "$tried" -gt 300 ] || die "only $tried options were tried"
echo "foreign_options: ok"
