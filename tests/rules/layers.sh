# The direction of dependence, read from the #include lines: which layer may include which.
set -eu
cd "$PTXGEN_SOURCE"
bad=0
complain() {
    echo "$*" >&2
    bad=1
}

# check FOLDER "ALLOWED...": every #include "..." of the folder's sources begins with one of the words, or is
# one of them. An include without a folder is a file of the same folder.
check() {
    folder=$1 allowed=$2 seen=0
    for file in $(find "$folder" -name '*.[ch]' -o -name '*.def' -o -name '*.ptxc' | sort); do
        seen=$((seen + 1))
        for include in $(sed -n 's/^ *# *include *"\([^"]*\)".*/\1/p' "$file"); do
            ok=no
            for word in $allowed; do
                case $include in "$word" | "$word"/*) ok=yes ;; esac
            done
            case $include in */*) ;; *) [ -f "$(dirname "$file")/$include" ] && ok=yes ;; esac
            [ $ok = yes ] || complain "$file includes \"$include\"; $folder may include: $allowed"
        done
    done
    [ "$seen" -gt 0 ] || complain "no sources in $folder: the check looks in the wrong place"
}

check src/base "base ptxgen/status.h ptxgen/ptxgen.h"
check src/ptx "base ptx ptxgen"
check src/emulator "base ptx emulator ptxgen"
check src/generate "base device/launch.h generate ptxgen families.def"
check src/cubin "base cubin ptxgen"
check src/device "base cubin device ptxgen"
check src/assemble "base cubin device/cuda assemble ptxgen"
check src/cache "base cache ptxgen"
check src/engine "base generate device assemble cache engine ptxgen generator_fingerprint.h"
check src/api "base generate device engine api ptxgen $(ls templates)"
for family in templates/*/; do
    family=${family%/}
    check "$family" "base device/launch.h device/record.h generate ptxgen common $(basename "$family")"
done
check include/ptxgen "ptxgen"
check tools "ptxgen command npy"

# The checker hears through observer.h: only what starts a launch knows it.
for file in $(grep -rl '"emulator/check/' src/emulator --include='*.[ch]'); do
    case $file in src/emulator/check/* | src/emulator/run/*) continue ;; esac
    complain "$file includes a header of emulator/check; the events of machine/observer.h reach it"
done

# CUDA's headers are nowhere, and only the driver table names the driver's entry points.
for file in $(grep -rlE '# *include *[<"](cuda|nv)[A-Za-z_]*\.h' src include templates tools); do
    complain "$file includes a CUDA header"
done
for file in $(grep -rlE '"cu[A-Z][A-Za-z]*"|\bcuGetProcAddress *\(' src --include='*.[ch]'); do
    case $file in src/device/cuda/driver.[ch]) continue ;; esac
complain "$file names CUDA driver entry points; only src/device/cuda/driver.[ch] do"
done
exit $bad
