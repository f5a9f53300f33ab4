# Help, versions, exit codes and suggestions of the command line itself.
. tests/support/cli.sh

t
expect_code 2
expect_silent_out
expect_err '^usage: ptxgen SUBCOMMAND'

ok --version
expect_out '^ptxgen [0-9]+\.[0-9]+\.[0-9]+$'

ok --help
cp .out help
for word in 'exit codes' 'PTXGEN_CACHE_DIR'; do expect_out "$word"; done
subcommands=$(sed -n '/^subcommands/,/^$/s/^  \([a-z]*\) .*/\1/p' help)
[ "$(echo $subcommands | wc -w)" -ge 7 ] || die "help lists only: $subcommands"

# Each subcommand has help on one screen that names every option with a word of explanation.
for s in $subcommands; do
    ok "$s" --help
    expect_out "^usage: ptxgen $s"
    expect_out '^examples:$'
    [ "$(wc -l <.out)" -le 40 ] || die "help of $s is $(wc -l <.out) lines"
    [ "$(awk 'length > m { m = length } END { print m }' .out)" -le 80 ] ||
        die "help of $s is too wide"
    cp .out direct
    ok help "$s"
    cmp -s .out direct || die "help $s and $s --help differ"
    ok "$s" -h
    cmp -s .out direct || die "$s -h and $s --help differ"
done

# A family's help lists every parameter that `list` does.
ok list scatter_add
params=$(sed -n 's/^  \([a-z_0-9]*\)=.*/\1/p' .out)
[ "$(echo $params | wc -w)" -ge 5 ] || die "parameters: $params"
ok emit scatter_add --help
for p in $params; do expect_out "^  $p="; done

refuse 2 "unknown subcommand 'emti'; did you mean 'emit'\?" emti scatter_add
refuse 2 "unknown subcommand 'xyzzy'; .ptxgen --help. lists them" xyzzy
refuse 2 "the subcommand comes before its options; '--json' is none" --json list
refuse 2 "unknown option '--outptu'; did you mean --output\?" emit scatter_add --outptu x
refuse 2 "unknown option '-z'" emit scatter_add -z
refuse 2 "'ptxgen emit' does not take --check" emit scatter_add --check
refuse 2 '--output needs a value after it' emit scatter_add -o
refuse 2 "--json takes no value, but '--json=1' gives one" list --json=1
refuse 2 "--log is 'loud'; it takes error, warning, info, debug" emit scatter_add --log loud
refuse 2 "--device is 'emulatr'.*Did you mean emulator\?" doctor --device emulatr
refuse 2 "--repeat is '0'; it takes an integer from 1 to" run scatter_add --repeat 0
refuse 2 "--repeat is '1x'" run scatter_add --repeat=1x
refuse 2 "--repeat is '99999999999999999999'" run scatter_add --repeat 99999999999999999999

# What cannot be written is no success.
code=0
"$PTXGEN" list >/dev/full 2>.err || code=$?
expect_code 5
expect_err 'cannot write standard output: No space left'

# An option that what is asked for would not read is refused.
refuse 2 '--repeat would have no effect here' bench latency --repeat 3
refuse 2 '--seed would have no effect here' bench latency --seed 3
refuse 2 '--output would have no effect here' compile scatter_add --dry-run -o x.cubin
refuse 2 '--assembler would have no effect here' compile scatter_add --dry-run --assembler ptxas
echo 'scatter_add n=64' >manifest
refuse 2 '--cache-dir would have no effect here' prewarm manifest --dry-run --cache-dir /tmp/x
ok prewarm manifest --dry-run --json
ok compile scatter_add --dry-run --json
