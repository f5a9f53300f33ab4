# kill -9 at random times: processes that compile into one folder, look into it and prune it.
# Afterwards every entry is sound, no lock is held and no process is left. PTXGEN_KILLS: how many
# (1,000 in the slow run).
. tests/support/cli.sh
have_assembler || skip "no assembler here"
export PATH="$PATH:$work/mark" # inherited by assemblers
kills=${PTXGEN_KILLS:-40}
i=0
while [ "$i" -lt "$kills" ]; do
    i=$((i + 1))
    case $((i % 5)) in
    0) set -- cache prune entries=20 ;;
    1) set -- cache verify ;;
    2) set -- cache export "$work/pack$((i % 3))" --force ;;
    *) set -- compile scatter_add n=$((i % 40 * 4 + 4)) ;;
    esac
    "$PTXGEN" "$@" >/dev/null 2>&1 &
    pid=$!
    sleep "0.0$((RANDOM % 90 + 10))"
    kill -9 "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
done
t cache verify
expect_code 0
ok compile scatter_add n=2000
[ -z "$(find . -name 'pack?' -size -128c)" ] || die "half a pack has its name"
for pack in pack?; do
    [ ! -e "$pack" ] || { t cache verify --cache-dir "$pack"; expect_code 0; }
done
# No assembler outlives the process that started it: whatever inherited the mark is one.
sleep 1
for environment in /proc/[0-9]*/environ; do
    ! { tr '\0' '\n' <"$environment"; } 2>/dev/null | grep -q "^PATH=.*:$work/mark" ||
        die "a process is left: $(tr '\0' ' ' <"${environment%environ}cmdline")"
done
