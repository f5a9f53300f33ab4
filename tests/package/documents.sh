# Manual pages and completions, which the build writes from the tables that print --help: groff
# takes the pages without a word, every subcommand and option is in them, and bash, driven as a key
# press drives it, completes what there is.
set -eu
die() {
    echo "FAILED: $*" >&2
    exit 1
}
documents=$PTXGEN_BUILD/documents
[ -f "$documents/written" ] || { echo "skipped: no documents in this build"; exit 77; }
subcommands=$("$PTXGEN" --help | sed -n '/^subcommands/,/^$/s/^  \([a-z]*\) .*/\1/p')
[ "$(echo "$subcommands" | wc -l)" -gt 8 ] || die "subcommands: $subcommands"

for page in ptxgen $(echo "$subcommands" | sed 's/^/ptxgen-/'); do
    [ -f "$documents/$page.1" ] || die "no page $page"
    sed -n '/^\.SH NAME/{n;p;}' "$documents/$page.1" | tr -d '\\' | grep -q "^$page - ." ||
        die "$page: no name line"
    if command -v groff >/dev/null; then
        said=$(groff -man -Tutf8 -ww "$documents/$page.1" 2>&1 >/dev/null)
        [ -z "$said" ] || die "groff on $page: $said"
    fi
done
for s in $subcommands; do
    for option in $("$PTXGEN" "$s" --help | sed -n 's/^ *\(-[a-z], \)*--\([a-z-]*\) .*/\2/p' |
        sort -u); do
        grep -q -- "\\\\-\\\\-$(echo "$option" | sed 's/-/\\\\-/g')\\\\fR" \
            "$documents/ptxgen-$s.1" || die "ptxgen-$s.1 lacks --$option"
    done
done

# complete WORD...: what bash offers with the cursor at the end of the last word.
complete_words() {
    COMP_WORDS=("$@")
    COMP_CWORD=$(($# - 1))
    COMPREPLY=()
    _ptxgen
    echo "${COMPREPLY[*]}"
}
. "$documents/ptxgen.bash"
complete -p ptxgen | grep -q _ptxgen || die "bash knows no completion of ptxgen"
cd /
is() { # is WANTED WORD...
    want=$1
    shift
    got=$(complete_words "$@")
    [ "$got" = "$want" ] || die "$*: '$got', not '$want'"
}
is "emit emulate" ptxgen em
is "--require" ptxgen doctor --r
is "cuda" ptxgen run --device c
is "scatter_add" ptxgen compile sca
case $(complete_words ptxgen emit scatter_add s) in
"schedule= stages="*"share="*) ;;
*) die "names of parameters" ;;
esac
is "seed" ptxgen emit scatter_add schedule = se
case $(complete_words ptxgen emit scatter_add schedule =) in
"auto seed bulk vector owner"*) ;;
*) die "the words of schedule" ;;
esac
is "" ptxgen doctor --no-such
case $(complete_words ptxgen "") in
*run*cache*doctor*--version*) ;;
*) die "an empty word: $(complete_words ptxgen "")" ;;
esac
! command -v zsh >/dev/null || zsh -n "$documents/_ptxgen" || die "zsh does not take _ptxgen"
! command -v fish >/dev/null || fish -n "$documents/ptxgen.fish" ||
    die "fish does not take ptxgen.fish"
! grep -lF -e "$PTXGEN_BUILD" -e "$PTXGEN_SOURCE" -r "$documents" ||
    die "a document names the build"
echo "documents: all right"
