# Shipped kernels: a pack lies beside an installed library and is found without configuration; with
# the toolkit hidden its kernels are there, `cache why` answers, nothing is assembled. The pack here
# is small; what the whole one holds is said by templates/*/generic.manifest and held by
# kernels/test_generic_manifest.
set -eu
die() {
    echo "FAILED: $*" >&2
    exit 1
}
if grep -q '^PTXGEN_SANITIZE:STRING=.' "$PTXGEN_BUILD/CMakeCache.txt"; then
    echo "skipped: a sanitizer build is not for installing"
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export HOME=$work/home XDG_CACHE_HOME=$work/cache
unset PTXGEN_CACHE_DIR PTXGEN_CACHE PTXGEN_CACHE_LAYERS
mkdir "$HOME"
"$PTXGEN" doctor --require compile >/dev/null 2>&1 ||
    { echo "skipped: no assembler here"; exit 77; }

cat >"$work/manifest" <<END
scatter_add n=dynamic contig=no dtype=f32,bf16 schedule=vector arch=sm_90
index_sort arch=sm_90
gather_rows vector=4,16 arch=sm_90
matmul_accumulate dtype=bf16 arch=sm_90 # has setmaxnreg
END
sh "$PTXGEN_SOURCE/tools/make_pack.sh" "$PTXGEN" "$work/made" "$work/generic.pack" \
    "$work/manifest" >"$work/log" 2>&1 ||
    { cat "$work/log" >&2; die "make_pack.sh"; }
grep -q '^exported 6 entries' "$work/log" || die "$(cat "$work/log")"

cmake --install "$PTXGEN_BUILD" --prefix "$work/first" >"$work/log" 2>&1 ||
    { cat "$work/log" >&2; die install; }
mv "$work/first" "$work/prefix" # a tree that was moved
lib=$(dirname "$(find "$work/prefix" -name libptxgen.a)")
mkdir -p "$lib/ptxgen" "$work/none"
cp "$work/generic.pack" "$lib/ptxgen/generic.pack"
chmod 644 "$lib/ptxgen/generic.pack"

export PTXGEN_TOOLKIT=$work/none
installed=$work/prefix/bin/ptxgen
while read -r line; do
    # shellcheck disable=SC2086
    "$installed" compile $line >"$work/out" 2>"$work/err" || die "$line: $(cat "$work/err")"
    grep -q '^origin  *disk$' "$work/out" || die "$line: not from the pack: $(cat "$work/out")"
    # shellcheck disable=SC2086
    "$installed" cache why $line >"$work/out" || die "why $line: $(cat "$work/out")"
    grep -q "^it is there: in $lib/ptxgen/generic.pack, made by ptxas" "$work/out" ||
        die "why: $(cat "$work/out")"
done <<END
scatter_add n=dynamic contig=no dtype=bf16 schedule=vector arch=sm_90a
index_sort
gather_rows vector=16
matmul_accumulate dtype=bf16 arch=sm_90
END
! "$installed" compile scatter_add n=dynamic dtype=f16 >"$work/out" 2>"$work/err" ||
    die "compiled without an assembler"
grep -q 'the cache was asked first: no entry has its key' "$work/err" || die "$(cat "$work/err")"
! PTXGEN_SHIPPED_PACK=off "$installed" compile index_sort >/dev/null 2>&1 ||
    die "the pack was used, though it is off"

# A program that links the library, and one that links it in, find it as well.
cat >"$work/use.c" <<'END'
#include <ptxgen/ptxgen.h>
#include <stdio.h>
int main(void)
{
    ptxgen *ctx;
    ptxgen_kernel *k;
    ptxgen_error err;
    ptxgen_cache_info info = {.size = sizeof info};
    if (ptxgen_create(NULL, &ctx, &err) || ptxgen_compile(ctx, "gather_rows", "vector=4 arch=sm_90", &k, &err))
        return puts(err.message), 1;
    ptxgen_kernel_unref(k);
    ptxgen_cache_get_info(ctx, &info);
    ptxgen_destroy(ctx);
    return info.misses == 0 && info.layer_hits == 1 ? 0 : 2;
}
END
cc "$work/use.c" -I"$work/prefix/include" "$lib/libptxgen.so" -Wl,-rpath,"$lib" -o "$work/use" ||
    die "cannot link"
"$work/use" || die "a program does not find the pack of its library"
