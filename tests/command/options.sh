# Every option of every --help has an effect that is seen: a case below runs the command without and
# with the option, each in a fresh copy of the same folder, and names what only the run with it
# shows (`!`: what only the run without it shows) in the exit code, the output, the log or the
# files. An option without a case fails the test.
. tests/support/cli.sh
export PTXGEN_ASSEMBLER=ptxas
: >cases_done
mkdir start
cd start
ok array random:6x8 --seed 1 -o out.npy
ok array random:9x8 --seed 2 -o src.npy
ok array index:9/6 --seed 3 -o index.npy
ok array zeros:6x8 -o zeros.npy
ok emit scatter_add n=8 -o kernel.ptx
echo 'scatter_add n=4' >list.txt
cat >two.ptx <<'END'
.version 8.0
.target sm_90
.address_size 64
.extern .shared .align 16 .b8 dynamic[];
.visible .entry first(.param .u64 p)
{
    .reg .u64 %rd<3>;
    .reg .u32 %r<5>;
    ld.param.u64 %rd1, [p];
    mov.u32 %r1, %nctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %cluster_nctaid.x;
    mov.u32 %r4, %dynamic_smem_size;
    st.global.v4.u32 [%rd1], {%r1, %r2, %r3, %r4};
    ret;
}
.visible .entry second(.param .u64 p)
{
    .reg .u64 %rd<2>;
    ld.param.u64 %rd1, [p];
    st.global.u32 [%rd1], 99;
    ret;
}
.visible .entry racy(.param .u64 p)
{
    .reg .u64 %rd<2>;
    .reg .u32 %r<2>;
    ld.param.u64 %rd1, [p];
    mov.u32 %r1, %tid.x;
    st.global.u32 [%rd1], %r1;
    ret;
}
.visible .entry grid(.param .u64 p)
{
    .reg .u64 %rd<2>;
    .reg .u32 %r<2>;
    .reg .pred %none;
    ld.param.u64 %rd1, [p];
    mov.u32 %r1, %envreg2; // the pointer that grid.sync() uses, 0 in other launches
    setp.eq.u32 %none, %r1, 0;
    @%none trap;
    st.global.u32 [%rd1], %r1;
    ret;
}
.visible .entry pair(.param .u64 p, .param .u64 q)
{
    .reg .u64 %rd<3>;
    ld.param.u64 %rd1, [p];
    ld.param.u64 %rd2, [q];
    st.global.u32 [%rd1], 1;
    st.global.u32 [%rd2], 2;
    ret;
}
END
# Allocates as many columns of tensor memory as the launch and the argument say.
cat >tensor.ptx <<'END'
.version 8.6
.target sm_100a
.address_size 64
.visible .entry k(.param .u32 p)
{
    .reg .u32 %r<9>;
    .reg .pred %q;
    .shared .align 8 .b32 at;
    ld.param.u32 %r1, [p];
    mov.u32 %r2, %tid.x;
    setp.gt.u32 %q, %r2, 31;
    @%q exit;
    mov.u32 %r2, %nctaid.x;
    add.u32 %r1, %r1, %r2;
    mov.u32 %r2, %cluster_nctaid.x;
    add.u32 %r1, %r1, %r2;
    mov.u32 %r2, %ntid.x;
    shr.u32 %r2, %r2, 5;
    add.u32 %r1, %r1, %r2;
    mov.u32 %r2, %dynamic_smem_size;
    min.u32 %r2, %r2, 1;
    add.u32 %r1, %r1, %r2;
    mov.u32 %r2, %envreg2;
    min.u32 %r2, %r2, 1;
    add.u32 %r1, %r1, %r2;
    sub.u32 %r1, %r1, 3;
    mov.u32 %r2, 32;
    shl.b32 %r2, %r2, %r1;
    mov.u32 %r3, at;
    tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r3], %r2;
    ld.shared.u32 %r4, [%r3];
    tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r4, %r2;
    ret;
}
END
sed 's/entry k/entry other/; /^\.version/,/^\.address/d' tensor.ptx | cat tensor.ptx - >tensors.ptx
cat >f.ptx <<'END'
.version 8.0
.target sm_90
.address_size 64
.func (.reg .u32 r) twice(.reg .u32 a)
{
    add.u32 r, a, a;
    ret;
}
END
cat >calls.ptx <<'END'
.version 8.0
.target sm_90
.address_size 64
.extern .func (.reg .u32 r) twice(.reg .u32 a);
.visible .entry k(.param .u64 p)
{
    .reg .u64 %rd<2>;
    .reg .u32 %r<3>;
    ld.param.u64 %rd1, [p];
    mov.u32 %r1, %tid.x;
    call (%r2), twice, (%r1);
    st.global.u32 [%rd1], %r2;
    ret;
}
END
echo 'race-global' >quiet
assembles=no
! have_assembler || assembles=yes
if [ $assembles = yes ]; then
    for n in 4 12; do ok compile scatter_add n=$n --cache-dir kernels; done
    ok compile scatter_add n=4 arch=sm_100a --cache-dir kernels -o kernel.cubin
    ok cache export good.pack --cache-dir kernels
    entry=$("$PTXGEN" cache ls --json --cache-dir kernels |
        sed -n 's/.*"hash":[^"]*"\([0-9a-f]*\)".*/\1/p' | head -1)
fi
rm -f .out .err
cd ..

# seen ARGS...: what a run shows, in a fresh folder: its exit code, output, log, and the files with
# their modes and sizes.
seen() {
    rm -rf now
    cp -a start now
    (
        cd now
        code=0
        PTXGEN_CACHE_DIR=$work/now/own timeout 100 "$PTXGEN" "$@" >../.out 2>../.err </dev/null ||
            code=$?
        echo "exit $code"
        cat ../.out ../.err
        find . -newer ../.mark -printf 'file %P %m %s\n' | sort
    )
}

# count_before_dashes WORDS...: sets n to the number of words before --.
count_before_dashes() {
    n=0
    for word in "$@"; do
        [ "$word" != -- ] || return 0
        n=$((n + 1))
    done
}

# differs SUBCOMMAND OPTION FILE ARGS... -- OPTION'S ARGS...: the option changes what is in FILE.
differs() {
    subcommand=$1 option=$2 file=$3
    shift 3
    echo "$subcommand $option" >>cases_done
    count_before_dashes "$@"
    touch .mark
    seen "${@:1:n}" >without
    cp "now/$file" file_without || die "$option: no $file without it"
    seen "${@:1:n}" "${@:n+2}" >with
    [ -s "now/$file" ] || die "$option: no $file with it"
    ! cmp -s "now/$file" file_without || die "$option: $file is the same"
}

# effect SUBCOMMAND OPTION PATTERN ARGS... -- OPTION'S ARGS...
effect() {
    subcommand=$1 option=$2 pattern=$3
    shift 3
    echo "$subcommand $option" >>cases_done
    count_before_dashes "$@"
    touch .mark
    last="ptxgen ${*:1:n}"
    seen "${@:1:n}" >without
    last="ptxgen ${*:1:n} ${*:n+2}"
    seen "${@:1:n}" "${@:n+2}" >with
    case $pattern in
    !*) absent=with present=without ;;
    *) absent=without present=with ;;
    esac
    ! grep -qE -- "${pattern#!}" $absent ||
        die "$option: '$pattern' also in: $(head -c 1500 $absent)"
    grep -qE -- "${pattern#!}" $present || die "$option: no '$pattern' in: $(head -c 1500 $present)"
}
assembled() { [ $assembles = no ] && echo "$1 $2" >>cases_done || effect "$@"; }

effect emit --output 'file x.ptx' emit scatter_add n=4 -- -o x.ptx
effect emit --json '"ptx":' emit scatter_add n=4 -- --json
effect emit --arch 'target sm_100' emit scatter_add n=4 -- --arch sm_100a
effect emit --line-map 'templates/scatter_add' emit scatter_add n=4 -- --line-map
effect emit --log 'debug: ' emit scatter_add n=4 -- --log debug

compile="compile scatter_add n=20"
assembled compile --output 'file x.cubin' $compile -- -o x.cubin
assembled compile --json '"registers":' $compile -- --json
assembled compile --dry-run 'would compile' $compile -- --dry-run
assembled compile --verbose 'ptxas info|entry|log' $compile -- --verbose
assembled compile --arch 'arch +sm_100' $compile -- --arch sm_100a
assembled compile --assembler 'by nvjitlink|exit 5' $compile -- --assembler nvjitlink
assembled compile --cache-dir 'file elsewhere/v1' $compile -- --cache-dir elsewhere
assembled compile --toolkit 'exit 5' $compile -- --toolkit /nonexistent
assembled compile --log 'debug: ' $compile -- --log debug

run="run scatter_add out=out.npy index=index.npy src=src.npy --device emulator"
effect run --output 'file r.npy' $run -- -o r.npy
effect run --json '"family":' $run -- --json
effect run --check 'check +right' $run -- --check
effect run --repeat 'a launch over 3' $run -- --repeat 3
effect run --arch 'arch=sm_100' $run -- --arch sm_100a
effect run --device 'exit 5' $run -- --device cuda
effect run --assembler 'exit 2' $run -- --assembler ptxas
effect run --toolkit 'exit 2' $run -- --toolkit /usr
effect run --cache-dir 'file elsewhere/v1' $run -- --cache-dir elsewhere
effect run --check-races '0 defects in 1 run' $run -- --check-races
effect run --seeds '"runs":.*2' $run --json -- --seeds 1..2
effect run --stats 'warp_instructions' $run -- --stats
effect run --print-launch '^grid ' $run -- --print-launch
effect run --log 'debug: ' $run -- --log debug

# The kernels of two.ptx write what they see into 16 bytes, read back as JSON.
ptx="run two.ptx --arg zeros:4:u32 -o r.npy --entry"
first="$ptx first"
shows() { # OPTION VALUES ARGS...: what is in the result with it
    option=$1 values=$2
    shift 2
    echo "run $option" >>cases_done
    seen "$@" >with
    [ "$(tail -c 16 now/r.npy | od -An -tu4 | tr -s ' ')" = " $values" ] ||
        die "$option: $(tail -c 16 now/r.npy | od -An -tu4) in place of $values: $(cat with)"
}
shows --entry '99 0 0 0' $ptx second
shows --grid '2 1 1 0' $first --grid 2
shows --block '1 64 1 0' $first --block 64
shows --cluster '4 1 2 0' $first --grid 4 --cluster 2
shows --shared '1 1 1 512' $first --shared 512
effect run --grid 'race on global' $ptx racy --block 1 --check-races -- --grid 2
effect run --cluster 'exit 2' $first -- --cluster 3
effect run --cooperative 'exit 0' $ptx grid -- --cooperative
effect run --arg 'exit 0' run two.ptx --entry second -o r.npy -- --arg zeros:16
effect run --output 'file r.npy' run two.ptx --entry second --arg zeros:16 -- -o r.npy
differs run --result r.npy run two.ptx --entry pair --arg zeros:16 --arg zeros:16 -o r.npy \
    -- --result 2
effect run --expect 'exit 1' run two.ptx --entry second --arg zeros:6x8:f32 -- --expect out.npy
effect run --json '"defects":' $ptx second -- --json
effect run --check-races 'exit 1' $ptx racy --block 64 -- --check-races
effect run --ignore '!race on global' $ptx racy --block 64 --check-races -- --ignore race-global
effect run --suppress 'exit 0' $ptx racy --block 64 --check-races -- --suppress quiet
effect run --sarif 'file r.sarif' $ptx racy --block 64 --check-races -- --sarif r.sarif
effect run --order '"order":.*isa' $ptx second --json -- --order isa
effect run --seeds '3 runs' $ptx racy --block 64 --check-races -- --seeds 1..3
effect run --stats 'warp_instructions' $ptx second -- --stats
effect run --report 'file r.html' $ptx second -- --report r.html
effect run --trace 'file r.pftrace' $ptx second -- --trace r.pftrace
effect run --time 'us on an H200' run two.ptx --arg zeros:4:u32 --entry second -- --time sm_90
effect run --budget 'exit 1' $ptx second -- --budget 1

effect list --json '"families":|"name":' list -- --json
effect list --verbose 'schedule=' list -- --verbose
effect list --ptx '^executed .* add ' list -- --ptx

assembled inspect --json '"kernels":' inspect kernel.cubin -- --json
assembled inspect --cache-dir 'scatter_add' inspect "$entry" -- --cache-dir kernels
assembled inspect --verbose 'Compiling entry function|Used [0-9]+ registers' inspect "$entry" \
    --cache-dir kernels -- --verbose

kernels="--cache-dir kernels"
assembled cache --cache-dir 'scatter_add' cache ls -- --cache-dir kernels
assembled cache --json '"hash":' cache ls $kernels -- --json
assembled cache --arch '!sm_90 ' cache ls $kernels -- --arch sm_100
assembled cache --output 'file x.ptx' cache show "$entry" --ptx $kernels -- -o x.ptx
assembled cache --ptx '^\.version' cache show "$entry" $kernels -- --ptx
assembled cache --cubin 'file x' cache show "$entry" -o x $kernels -- --cubin
assembled cache --sass 'exit 5|/\*0000\*/' cache show "$entry" $kernels -- --sass
assembled cache --recompile 'different from a fresh build' cache verify $kernels -- --recompile
assembled cache --toolkit '3 not comparable' cache verify --recompile $kernels \
    -- --toolkit /nonexistent
assembled cache --prometheus '^# TYPE ptxgen' cache stats $kernels -- --prometheus
assembled cache --dry-run 'would remove' cache clear $kernels -- --dry-run
assembled cache --readable 'file new.pack 644' cache export new.pack $kernels -- --readable
assembled cache --force '!exists' cache export list.txt $kernels -- --force
echo 'cache --zero' >>cases_done # two commands are needed to see it
if [ $assembles = yes ]; then
    misses() { "$PTXGEN" cache stats --json --cache-dir "$work/start/kernels" | tr -d ' \t' |
        sed -n 's/^"misses":\([0-9]*\).*/\1/p'; }
    [ "$(misses)" = 3 ] || die "misses before --zero: $(misses)"
    ok cache stats --cache-dir "$work/start/kernels"
    [ "$(misses)" = 3 ] || die "stats without --zero set the counters to $(misses)"
    ok cache stats --zero --cache-dir "$work/start/kernels"
    [ "$(misses)" = 0 ] || die "misses after --zero: $(misses)"
fi

assembled prewarm --arch '2 assembled' prewarm list.txt -- --arch sm_90,sm_100a
echo 'prewarm --jobs' >>cases_done # an assembler of our own sees whether two of it run at once
if [ $assembles = yes ]; then
    mkdir -p slow/bin
    real=$(command -v ptxas || echo "${PTXGEN_TOOLKIT:-/usr/local/cuda}/bin/ptxas")
    cat >slow/bin/ptxas <<END
#!/bin/sh
case \$* in *version*) exec "$real" "\$@" ;; esac
echo start >>$work/starts
sleep 0.5
"$real" "\$@"
code=\$?
echo end >>$work/starts
exit \$code
END
    chmod +x slow/bin/ptxas
    echo 'scatter_add n=4,12,20' >three.txt
    at_once() { # JOBS: how many assemblers ran at once
        : >starts
        ok prewarm three.txt --toolkit slow --cache-dir "jobs$1" --jobs "$1"
        awk '$1 == "start" { if (++n > most) most = n } $1 == "end" { n-- } END { print most + 0 }' starts
    }
    most=$(at_once 1)
    [ "$most" = 1 ] || die "--jobs 1: $most assemblers at once"
    most=$(at_once 3)
    [ "$most" -gt 1 ] || die "--jobs 3: $most assembler at once"
fi
assembled prewarm --readable 'file own/v1 755' prewarm list.txt -- --readable
assembled prewarm --dry-run 'would be compiled' prewarm list.txt -- --dry-run
assembled prewarm --verbose 'scatter_add' prewarm list.txt -- --verbose
assembled prewarm --assembler 'by nvjitlink|exit 5' prewarm list.txt --log info \
    -- --assembler nvjitlink
assembled prewarm --toolkit 'exit 5' prewarm list.txt -- --toolkit /nonexistent
assembled prewarm --cache-dir 'file elsewhere/v1' prewarm list.txt -- --cache-dir elsewhere
assembled prewarm --json '"assembled":' prewarm list.txt -- --json
assembled prewarm --log 'info: ' prewarm list.txt -- --log info

bench="bench scatter_add rows=64 out_rows=16 n=8 --device emulator --repeat 1"
effect bench --output 'file x.csv' $bench -- -o x.csv
effect bench --json '"out_rows":' $bench -- --json
effect bench --repeat 'median of 2 rounds' $bench -- --repeat 2
effect bench --seed 'seed 7' $bench -- --seed 7
effect bench --device 'exit 5' $bench -- --device cuda
effect bench --toolkit 'exit 2' $bench -- --toolkit /nonexistent
effect bench --log 'debug: ' $bench -- --log debug

tune="tune matmul_accumulate m=16 n=16 k=16 --candidates 1"
export PTXGEN_DEVICE=emulator
effect tune --candidates '^candidates +2' $tune --verbose -- --candidates 2
effect tune --dry-run '^estimate ' $tune -- --dry-run
effect tune --json '"candidates":' $tune -- --json
effect tune --device 'exit 5' $tune -- --device cuda
effect tune --cache-dir 'file elsewhere/tuning' $tune -- --cache-dir elsewhere
effect tune --verbose '^candidates +1' $tune -- --verbose
effect tune --assembler 'exit 2' $tune -- --assembler nvjitlink
effect tune --toolkit 'exit 2' $tune -- --toolkit /nonexistent
effect tune --log 'debug: ' $tune -- --log debug
unset PTXGEN_DEVICE

effect doctor --require 'exit 1' doctor -- --require gpu
effect doctor --device 'exit 1' doctor -- --device cuda
assembled doctor --assembler 'by nvjitlink|exit 1' doctor -- --assembler nvjitlink
assembled doctor --toolkit 'exit 1' doctor -- --toolkit /nonexistent
effect doctor --cache-dir '[^ ]*elsewhere is not there' doctor -- --cache-dir elsewhere
effect doctor --json '"findings":' doctor -- --json
effect doctor --log 'debug: ' doctor -- --log debug

effect draw --output 'file x.svg' draw swizzle -- -o x.svg

tensor="draw tmem tensor.ptx --block 32 --arg 0"
effect draw --grid '^#1: 64 columns' $tensor -- --grid 2
effect draw --block '^#1: 64 columns' draw tmem tensor.ptx --arg 0 --block 32 -- --block 64
effect draw --cluster '^#1: 128 columns' $tensor --grid 2 -- --cluster 2
effect draw --shared '^#1: 64 columns' $tensor -- --shared 64
effect draw --cooperative '^#1: 64 columns' $tensor -- --cooperative
effect draw --arg 'exit 0' draw tmem tensor.ptx --block 32 -- --arg 1
effect draw --entry 'exit 0' draw tmem tensors.ptx --block 32 --arg 0 -- --entry other
effect draw --budget 'exit 1' $tensor -- --budget 3

effect diff --output 'file x.txt' diff kernel.ptx kernel.ptx -- -o x.txt
effect diff --json '"equal":' diff kernel.ptx kernel.ptx -- --json
effect diff --toolkit '^SASS not compared: .*nonexistent' diff kernel.ptx kernel.ptx \
    -- --toolkit /nonexistent
effect diff --cache-dir 'file elsewhere/' diff "scatter_add n=8" "scatter_add n=16" \
    -- --cache-dir elsewhere
effect diff --log 'debug: ' diff kernel.ptx kernel.ptx -- --log debug

effect array --output 'file x.npy' array random:2x2 -- -o x.npy
differs array --seed x.npy array random:2x2 -o x.npy -- --seed 7

effect inline --output 'file x.ptx' inline calls.ptx f.ptx -- -o x.ptx
effect inline --json '"inlined":|"calls":' inline calls.ptx f.ptx -o x.ptx -- --json
effect inline --line-map 'f.ptx:' inline calls.ptx f.ptx -- --line-map
effect inline --limit 'call ' inline calls.ptx f.ptx -- --limit 0

emulates=no
if ! grep -q '^PTXGEN_SANITIZE:STRING=.' "$PTXGEN_BUILD/CMakeCache.txt" &&
    command -v nvcc >/dev/null &&
    nvcc -arch=sm_90 "$PTXGEN_SOURCE/tests/command/emulated_options.cu" -o start/program \
    >nvcc.log 2>&1; then
    emulates=yes
fi
# The program comes last, so the option goes before it.
emulated() {
    option=$1 pattern=$2
    shift 2
    echo "emulate $option" >>cases_done
    [ $emulates = yes ] || return 0
    last="ptxgen emulate $* -- ./program"
    seen emulate ${base:-} -- ./program >without
    seen emulate ${base:-} "$@" -- ./program >with
    ! grep -qE -- "$pattern" without || die "$option: '$pattern' also in: $(head -c 1500 without)"
    grep -qE -- "$pattern" with || die "$option: no '$pattern' in: $(head -c 1500 with)"
}
emulated --arch '^sm_100' --arch sm_100
emulated --sms '7 multiprocessors' --sms 7
emulated --memory '100 MiB' --memory 100
emulated --fast 'sum 8,' --fast
emulated --check-races 'race on global memory' --check-races
emulated --order 'last [0-46-9][0-9]*,' --order isa
base=--check-races emulated --seeds 'in 3 runs' --seeds 1..3
emulated --budget 'launch timed out' --budget 10
emulated --time 'us on the H200 by the clock' --time sm_90
# how many run at once is chance: a short launch may be over before all have started
emulated --threads 'exit 2' --threads 0
emulated --json '"exit_code":' --json
emulated --verbose 'launch _Z4loopPi grid 2 1 1' --verbose

# Nothing is left out, and nothing here is an option no more.
subcommands=$("$PTXGEN" --help | sed -n '/^subcommands/,/^$/s/^  \([a-z]*\) .*/\1/p')
for subcommand in $subcommands; do
    for words in "$subcommand" "$subcommand scatter_add" "$subcommand x.ptx"; do
        # shellcheck disable=SC2086
        "$PTXGEN" $words --help | sed -n '/^options/,/^examples/p' | grep -oE '^ .*' |
            grep -oE -- '(^|[ ,])--[a-z-]+' |
            tr -d ' ,' | sed "s/^/$subcommand /"
    done
done | sort -u | grep -v -- ' --help$' >options
sort -u cases_done >cases
diff options cases >missing ||
    die "options without a case (<), cases without an option (>): $(cat missing)"
[ "$(wc -l <options)" -gt 90 ] || die "only $(wc -l <options) options"
