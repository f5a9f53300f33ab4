# Sectors and wavefronts of kernels whose access patterns everybody knows, counted by hand: two CTAs
# of two warps each, so four requests a line; of all of them together the sectors of 32 bytes that
# they touch, the passes over 32 banks of 4 bytes, and the passes that their bytes would need. An
# H200's own counters gave the same numbers (tests/bench/nsight_counts.py, which takes the kernels
# from the folder that PTXGEN_PATTERNS names).
. tests/support/cli.sh
warps=4
# check NAME LINE REQUESTS SECTORS WAVEFRONTS IDEAL: the counts of the line of NAME.ptx that
# contains LINE (a fixed text).
check() {
    number=$(grep -nF "$2" "$1.ptx" | cut -d: -f1)
    object=$(grep -oE "\{\"line\":$number,[^}]*\}" flat) || die "$1: nothing was counted for '$2'"
    shift 2
    for field in global_requests global_sectors shared_wavefronts shared_wavefronts_ideal; do
        got=$(echo "$object" | sed -n "s/.*\"$field\":\([0-9]*\).*/\1/p")
        [ "$got" = "$1" ] || die "$field is $got, expected $1: $object"
        shift
    done
}
# kernel NAME BODY: runs it; %g is the buffer's address, %t the thread in its warp, %s the tile.
# `keep R;` uses a register, so that no assembler leaves its load out.
kernel() {
    cat >"$1.ptx" <<END
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p)
{
    .reg .u64 %g, %a, %d;
    .reg .u32 %t, %s, %x, %r, %c, %v<5>;
    .reg .pred %p;
    .shared .align 1024 .b8 tile[16384];
    ld.param.u64 %g, [p];
    mov.u32 %t, %laneid;
    mov.u32 %s, tile;
$(echo "$2" | sed -E 's/keep (%d);/setp.eq.u64 %p, \1, 0x7eadbeef;\n    @%p trap;/; s/keep (%[a-z0-9]+);/setp.eq.u32 %p, \1, 0x7eadbeef;\n    @%p trap;/')
    ret;
}
END
    [ -z "${PTXGEN_PATTERNS:-}" ] || cp "$1.ptx" "$PTXGEN_PATTERNS"
    ok run "$1.ptx" --grid 2 --block 64 --arg zeros:16384 --stats --json
    tr -d ' \t\n' <.out >flat
}

# strided NAME BYTES SECTORS: each lane loads a word, BYTES after the one before it.
strided() {
    kernel "$1" "    mul.wide.u32 %a, %t, $2;
    add.u64 %a, %g, %a;
    ld.global.u32 %x, [%a];
    keep %x;"
    check "$1" 'ld.global' $warps $((warps * $3)) 0 0
}
# 1. Stride 1: 32 lanes x 4 bytes side by side are 128 bytes, 4 sectors.
strided stride1 4 4
# 2. Stride 2: the same words spread over 256 bytes, 8 sectors.
strided stride2 8 8
# 3. Stride 32, a column of a row-major tile: a sector for every lane.
strided stride32 128 32

# 4. Misaligned by one word: 128 bytes that begin inside a sector touch 5; by 32 bytes: 4 again.
kernel misaligned '    mul.wide.u32 %a, %t, 4;
    add.u64 %a, %g, %a;
    ld.global.u32 %x, [%a+4];
    ld.global.u32 %r, [%a+32];
    keep %x;
    keep %r;'
check misaligned '[%a+4]' $warps $((warps * 5)) 0 0
check misaligned '[%a+32]' $warps $((warps * 4)) 0 0

# 5. Vector loads: 16 bytes a lane are 512 bytes, 16 sectors, in one request; 8 bytes 8. In shared
# memory 16 bytes a lane go in four quarters and 8 bytes in two halves, each one pass.
kernel vector '    mul.wide.u32 %a, %t, 16;
    add.u64 %a, %g, %a;
    ld.global.v4.u32 {%v0, %v1, %v2, %v3}, [%a];
    mul.wide.u32 %a, %t, 8;
    add.u64 %a, %g, %a;
    ld.global.u64 %d, [%a];
    shl.b32 %x, %t, 4;
    add.u32 %x, %s, %x;
    st.shared.v4.u32 [%x], {%v0, %v1, %v2, %v3};
    shl.b32 %x, %t, 3;
    add.u32 %x, %s, %x;
    st.shared.u64 [%x], %d;'
check vector 'ld.global.v4' $warps $((warps * 16)) 0 0
check vector 'ld.global.u64' $warps $((warps * 8)) 0 0
check vector 'st.shared.v4' 0 0 $((warps * 4)) $((warps * 4))
check vector 'st.shared.u64' 0 0 $((warps * 2)) $((warps * 2))

# 6. Broadcast: all lanes one word: one sector, one pass.
kernel broadcast '    ld.global.u32 %x, [%g];
    st.shared.u32 [%s], %x;
    ld.shared.u32 %x, [%s+128];
    keep %x;'
check broadcast 'ld.global' $warps $warps 0 0
check broadcast 'ld.shared' 0 0 $warps $warps

# 7. Conflicts of N ways: lanes N words apart meet in 32 / N banks, N words in each; 33 words apart:
# in none.
for n in 2 4 8 16 32 33; do
    kernel "conflict$n" "    mad.lo.u32 %x, %t, $((4 * n)), %s;
    st.shared.u32 [%x], %t;"
    check "conflict$n" 'st.shared' 0 0 $((warps * (n == 33 ? 1 : n))) $warps
done

# 8. A tile of 32 x 32 words: its columns are 32 words of one bank; with the column exclusive-or the
# row as the place, rows and columns are free of conflicts. A row of the tile, then a column, of
# both.
kernel swizzled '    shl.b32 %c, %t, 2;
    mad.lo.u32 %x, %t, 128, %s;
    add.u32 %r, %s, %c;
    st.shared.u32 [%r+384], %t;
    ld.shared.u32 %v0, [%x+20];
    xor.b32 %v1, %t, 3;
    mad.lo.u32 %r, %v1, 4, %s;
    st.shared.u32 [%r+8576], %t;
    xor.b32 %v1, %t, 5;
    shl.b32 %v1, %v1, 2;
    add.u32 %x, %x, %v1;
    ld.shared.u32 %v2, [%x+8192];
    keep %v0;
    keep %v2;'
check swizzled '[%r+384]' 0 0 $warps $warps
check swizzled '[%x+20]' 0 0 $((warps * 32)) $warps
check swizzled '[%r+8576]' 0 0 $warps $warps
check swizzled '[%x+8192]' 0 0 $warps $warps

# 9. Wide lanes that meet: of 8 bytes, 16 bytes apart; of 16 bytes, 32 bytes apart; all lanes at one
# place; the halves of a warp at the same words; neighbours at the same words, which loads take two
# parts of a warp at a time for, if all lanes are so, and stores do not.
kernel wide8 '    shl.b32 %x, %t, 4;
    add.u32 %x, %s, %x;
    ld.shared.u64 %d, [%x];
    keep %d;'
check wide8 'ld.shared.u64' 0 0 $((warps * 4)) $((warps * 2))
kernel wide16 '    shl.b32 %x, %t, 5;
    add.u32 %x, %s, %x;
    ld.shared.v4.u32 {%v0, %v1, %v2, %v3}, [%x];
    keep %v0;
    keep %v1;
    keep %v2;
    keep %v3;'
check wide16 'ld.shared.v4' 0 0 $((warps * 8)) $((warps * 4))
kernel same8 '    ld.shared.u64 %d, [%s];
    keep %d;'
check same8 'ld.shared.u64' 0 0 $warps $warps
kernel same16 '    ld.shared.v4.u32 {%v0, %v1, %v2, %v3}, [%s];
    keep %v0;
    keep %v1;
    keep %v2;
    keep %v3;'
check same16 'ld.shared.v4' 0 0 $((warps * 2)) $((warps * 2))
kernel halves8 '    and.b32 %x, %t, 15;
    shl.b32 %x, %x, 3;
    add.u32 %x, %s, %x;
    ld.shared.u64 %d, [%x];
    keep %d;'
check halves8 'ld.shared.u64' 0 0 $((warps * 2)) $((warps * 2))
kernel pairs8 '    shr.b32 %x, %t, 1;
    shl.b32 %x, %x, 3;
    add.u32 %x, %s, %x;
    ld.shared.u64 %d, [%x];
    keep %d;'
check pairs8 'ld.shared.u64' 0 0 $warps $warps
kernel store_pairs8 '    shr.b32 %x, %t, 1;
    shl.b32 %x, %x, 3;
    add.u32 %x, %s, %x;
    st.shared.u64 [%x], %g;'
check store_pairs8 'st.shared.u64' 0 0 $((warps * 2)) $((warps * 2))
kernel mixed8 '    setp.lt.u32 %p, %t, 16;
    shr.b32 %x, %t, 1;
    shr.b32 %r, %t, 2;
    and.b32 %c, %t, 1;
    mad.lo.u32 %r, %r, 2, %c;
    selp.u32 %x, %x, %r, %p;
    shl.b32 %x, %x, 3;
    add.u32 %x, %s, %x;
    ld.shared.u64 %d, [%x];
    keep %d;'
check mixed8 'ld.shared.u64' 0 0 $((warps * 2)) $((warps * 2))
kernel pairs16 '    shr.b32 %x, %t, 1;
    shl.b32 %x, %x, 4;
    add.u32 %x, %s, %x;
    ld.shared.v4.u32 {%v0, %v1, %v2, %v3}, [%x];
    keep %v0;
    keep %v1;
    keep %v2;
    keep %v3;'
check pairs16 'ld.shared.v4' 0 0 $((warps * 2)) $((warps * 2))
kernel few8 '    setp.lt.u32 %p, %t, 8;
    shl.b32 %x, %t, 3;
    add.u32 %x, %s, %x;
    @%p st.shared.u64 [%x], %g;'
check few8 'st.shared.u64' 0 0 $warps $warps
kernel across8 '    and.b32 %x, %t, 7;
    and.b32 %r, %t, 24;
    shl.b32 %r, %r, 5;
    mad.lo.u32 %x, %x, 8, %r;
    add.u32 %x, %s, %x;
    st.shared.u64 [%x], %g;'
check across8 'st.shared.u64' 0 0 $((warps * 4)) $((warps * 2))
kernel across16 '    and.b32 %x, %t, 3;
    and.b32 %r, %t, 28;
    shl.b32 %r, %r, 5;
    mad.lo.u32 %x, %x, 16, %r;
    add.u32 %x, %s, %x;
    st.shared.v4.u32 [%x], {%t, %t, %t, %t};'
check across16 'st.shared.v4' 0 0 $((warps * 8)) $((warps * 4))

# 10. Lanes of a byte, and a matrix row a lane.
kernel bytes '    add.u32 %x, %s, %t;
    ld.shared.u8 %r, [%x];
    mad.lo.u32 %r, %r, 16843009, %x;
    keep %r;'
check bytes 'ld.shared.u8' 0 0 $warps $warps
for n in 16 32 128 144; do
    kernel "matrix$n" "    mad.lo.u32 %x, %t, $n, %s;
    ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%v0, %v1, %v2, %v3}, [%x];
    keep %v0;
    keep %v3;"
done

# 11. Stores and atomics in global memory; wide lanes in one sector, 32 bytes apart, in the halves
# of a warp.
kernel store2 '    mul.wide.u32 %a, %t, 8;
    add.u64 %a, %g, %a;
    st.global.u32 [%a], %t;'
check store2 'st.global' $warps $((warps * 8)) 0 0
kernel global16 '    mul.wide.u32 %a, %t, 32;
    add.u64 %a, %g, %a;
    ld.global.v4.u32 {%v0, %v1, %v2, %v3}, [%a];
    keep %v0;
    keep %v1;
    keep %v2;
    keep %v3;'
check global16 'ld.global.v4' $warps $((warps * 32)) 0 0
kernel same_global16 '    ld.global.v4.u32 {%v0, %v1, %v2, %v3}, [%g];
    keep %v0;
    keep %v1;
    keep %v2;
    keep %v3;'
check same_global16 'ld.global.v4' $warps $warps 0 0
kernel halves_global8 '    and.b32 %x, %t, 15;
    mul.wide.u32 %a, %x, 8;
    add.u64 %a, %g, %a;
    ld.global.u64 %d, [%a];
    keep %d;'
check halves_global8 'ld.global.u64' $warps $((warps * 4)) 0 0
kernel add2 '    mul.wide.u32 %a, %t, 8;
    add.u64 %a, %g, %a;
    red.global.add.u32 [%a], %t;'
check add2 'red.global' $warps $((warps * 8)) 0 0
kernel add_same '    red.global.add.u32 [%g], %t;'
check add_same 'red.global' $warps $warps 0 0
kernel shared_add '    red.shared.add.u32 [%s], %t;'
