# Sectors and wavefronts of kernels whose access patterns everybody knows, counted by hand: two CTAs of two warps each, so
# four requests a line; of all of them together the sectors of 32 bytes that they touch, the passes over 32 banks of 4 bytes,
# and the passes that their bytes would need.
. tests/support/cli.sh
warps=4
# check NAME LINE REQUESTS SECTORS WAVEFRONTS IDEAL: the counts of the line of NAME.ptx that contains LINE (a fixed text).
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
# kernel NAME BODY: runs it; %g is the buffer's address, 16-byte aligned to 128, %t the thread in its warp, %s the tile.
kernel() {
    cat >"$1.ptx" <<END
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p)
{
    .reg .u64 %g, %a;
    .reg .u32 %t, %s, %x, %r, %c, %v<5>;
    .reg .f64 %d;
    .shared .align 1024 .b8 tile[16384];
    ld.param.u64 %g, [p];
    mov.u32 %t, %laneid;
    mov.u32 %s, tile;
$2
    ret;
}
END
    ok run "$1.ptx" --grid 2 --block 64 --arg zeros:16384 --stats --json
    tr -d ' \t\n' <.out >flat
}

# 1. Stride 1: 32 lanes x 4 bytes side by side are 128 bytes, 4 sectors.
kernel stride1 '    mul.wide.u32 %a, %t, 4;
    add.u64 %a, %g, %a;
    ld.global.u32 %x, [%a];'
check stride1 'ld.global' $warps $((warps * 4)) 0 0

# 2. Stride 2: the same words spread over 256 bytes, 8 sectors.
kernel stride2 '    mul.wide.u32 %a, %t, 8;
    add.u64 %a, %g, %a;
    ld.global.u32 %x, [%a];'
check stride2 'ld.global' $warps $((warps * 8)) 0 0

# 3. Stride 32, a column of a row-major tile: a sector for every lane.
kernel stride32 '    mul.wide.u32 %a, %t, 128;
    add.u64 %a, %g, %a;
    ld.global.u32 %x, [%a];'
check stride32 'ld.global' $warps $((warps * 32)) 0 0

# 4. Misaligned by one word: 128 bytes that begin inside a sector touch 5; by 32 bytes: 4 again.
kernel misaligned '    mul.wide.u32 %a, %t, 4;
    add.u64 %a, %g, %a;
    ld.global.u32 %x, [%a+4];
    ld.global.u32 %r, [%a+32];'
check misaligned '[%a+4]' $warps $((warps * 5)) 0 0
check misaligned '[%a+32]' $warps $((warps * 4)) 0 0

# 5. Vector loads: 16 bytes a lane are 512 bytes, 16 sectors, in one request; 8 bytes 8. In shared memory 16 bytes a lane go
# in four quarters and 8 bytes in two halves, each one pass.
kernel vector '    mul.wide.u32 %a, %t, 16;
    add.u64 %a, %g, %a;
    ld.global.v4.u32 {%v0, %v1, %v2, %v3}, [%a];
    mul.wide.u32 %a, %t, 8;
    add.u64 %a, %g, %a;
    ld.global.f64 %d, [%a];
    shl.b32 %x, %t, 4;
    add.u32 %x, %s, %x;
    st.shared.v4.u32 [%x], {%v0, %v1, %v2, %v3};
    shl.b32 %x, %t, 3;
    add.u32 %x, %s, %x;
    st.shared.f64 [%x], %d;'
check vector 'ld.global.v4' $warps $((warps * 16)) 0 0
check vector 'ld.global.f64' $warps $((warps * 8)) 0 0
check vector 'st.shared.v4' 0 0 $((warps * 4)) $((warps * 4))
check vector 'st.shared.f64' 0 0 $((warps * 2)) $((warps * 2))

# 6. Broadcast: all lanes one word: one sector, one pass.
kernel broadcast '    ld.global.u32 %x, [%g];
    st.shared.u32 [%s], %x;
    ld.shared.u32 %x, [%s];'
check broadcast 'ld.global' $warps $warps 0 0
check broadcast 'ld.shared' 0 0 $warps $warps

# 7. Conflicts of N ways: lanes N words apart meet in 32 / N banks, N words in each; 33 words apart: in none.
for n in 2 4 8 16 32 33; do
    kernel "conflict$n" "    mad.lo.u32 %x, %t, $((4 * n)), %s;
    st.shared.u32 [%x], %t;"
    check "conflict$n" 'st.shared' 0 0 $((warps * (n == 33 ? 1 : n))) $warps
done

# 8. A tile of 32 x 32 words: its columns are 32 words of one bank; with the column exclusive-or the row as the place, rows
# and columns are free of conflicts. A row of the tile, then a column, of both.
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
    ld.shared.u32 %v2, [%x+8192];'
check swizzled '[%r+384]' 0 0 $warps $warps
check swizzled '[%x+20]' 0 0 $((warps * 32)) $warps
check swizzled '[%r+8576]' 0 0 $warps $warps
check swizzled '[%x+8192]' 0 0 $warps $warps
