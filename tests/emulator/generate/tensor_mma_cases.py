"""Cases of tcgen05.mma, for the emulator only: sm_100a. What they compute is tensor_mma.py's."""

from tensor_mma import Mma


def types():
    Mma("tcgen05_mma_f16_f32", "f16", "f16", flavour="finite").write()
    Mma("tcgen05_mma_f16_any", "f16", "f16", flavour="any", m=64, n=8).write()
    Mma("tcgen05_mma_f16_f16", "f16", "f16", td="f16", m=64, n=8, steps=2).write()
    Mma("tcgen05_mma_bf16", "f16", "bf16", m=64, lane=16, n=8, flavour="cancelling").write()
    Mma("tcgen05_mma_tf32", "tf32", "tf32", m=64, n=24, flavour="finite").write()
    Mma("tcgen05_mma_i8", "i8", "s8", "u8", td="s32", m=64, n=8).write()
    Mma(
        "tcgen05_mma_i8_saturate", "i8", "u8", "s8", td="s32", m=128, n=16, saturate=True, steps=2
    ).write()
    narrow = ["e4m3", "e5m2", "e2m3", "e3m2", "e2m1"]
    for i, ta in enumerate(narrow):
        tb = narrow[(i + 2) % 5]
        Mma(
            f"tcgen05_mma_{ta}_{tb}",
            "f8f6f4",
            ta,
            tb,
            m=64,
            n=8,
            flavour="any" if i < 2 else "finite",
        ).write()
        Mma(f"tcgen05_mma_mx_{tb}_{ta}", "mxf8f6f4", tb, ta, n=8, sfa=i % 4, sfb=(i + 1) % 4,
            scale_modifier=(".scale_vec::1X", ".block32", "")[i % 3],
            flavour="any" if i == 1 else "near_one").write()  # fmt: skip
    Mma("tcgen05_mma_mx_id_in_address", "mxf8f6f4", "e4m3", "e5m2", n=8, sfa=1, sfb=3,
        id_in_address=True).write()
    Mma("tcgen05_mma_e4m3_f16", "f8f6f4", "e4m3", td="f16", m=64, n=8, flavour="cancelling").write()
    Mma("tcgen05_mma_mxf4", "mxf4", "e2m1", n=8, sfb=2, scale_modifier=".scale_vec::2X").write()
    Mma(
        "tcgen05_mma_mxf4_block32",
        "mxf4",
        "e2m1",
        n=40,
        sfa=2,
        scale_modifier=".block32",
        flavour="any",
    ).write()
    Mma("tcgen05_mma_mxf4_plain", "mxf4", "e2m1", n=8).write()
    for name, block, scale_type, modifier in (
        ("4x_ue4m3", 16, "ue4m3", ".scale_vec::4X"), ("block16_ue8m0", 16, "ue8m0", ".block16"),
        ("2x_ue8m0", 32, "ue8m0", ".scale_vec::2X"), ("block32_ue8m0", 32, "ue8m0", ".block32"),
    ):  # fmt: skip
        Mma(f"tcgen05_mma_mxf4nvf4_{name}", "mxf4nvf4", "e2m1", n=8, block=block,
            scale_type=scale_type,
            # fmt: skip
            scale_modifier=modifier, flavour="any" if name == "4x_ue4m3" else "finite").write()


def layouts():
    for mode in ("none", "32B", "64B", "128B"):
        Mma(f"tcgen05_mma_layout_{mode}", "f16", "f16", m=64, n=24, a_mode=mode, b_mode=mode,
            gap=mode != "128B",
            add=False).write()  # fmt: skip
        Mma(f"tcgen05_mma_transposed_{mode}", "f16", "bf16", m=64, n=72, a_mode=mode, b_mode=mode,
            a_mn=True,
            b_mn=True, gap=True, add=False).write()  # fmt: skip
        Mma(f"tcgen05_mma_bytes_transposed_{mode}", "f8f6f4", "e5m2", m=64, n=48, a_mode=mode,
            b_mode=mode,
            a_mn=True, b_mn=True, add=False).write()  # fmt: skip
    Mma(
        "tcgen05_mma_layout_atoms_of_32",
        "tf32",
        "tf32",
        m=64,
        n=16,
        a_mode="128B_32B",
        b_mode="128B_32B",
    ).write()
    Mma("tcgen05_mma_transposed_words", "tf32", "tf32", m=64, n=40, a_mode="128B_32B",
        b_mode="128B_32B", a_mn=True,
        b_mn=True).write()  # fmt: skip
    Mma("tcgen05_mma_i8_transposed_b", "i8", "s8", td="s32", m=64, n=16, b_mn=True).write()
    Mma("tcgen05_mma_mx_transposed", "mxf8f6f4", "e4m3", n=16, a_mn=True, b_mn=True).write()


def operands():
    Mma("tcgen05_mma_a_tensor_f16", "f16", "f16", a_tensor=True, n=8).write()
    Mma("tcgen05_mma_a_tensor_m64", "f16", "bf16", a_tensor=True, m=64, lane=16, n=8).write()
    Mma("tcgen05_mma_a_tensor_tf32", "tf32", "tf32", a_tensor=True, m=64, n=8).write()
    Mma("tcgen05_mma_a_tensor_i8", "i8", "s8", td="s32", a_tensor=True, m=64, n=8).write()
    Mma("tcgen05_mma_a_tensor_e2m3", "f8f6f4", "e2m3", "e2m1", a_tensor=True, m=64, n=8).write()
    Mma(
        "tcgen05_mma_a_tensor_mx", "mxf8f6f4", "e2m1", "e4m3", a_tensor=True, n=8, sfa=1, sfb=3
    ).write()
    Mma("tcgen05_mma_a_tensor_mxf4", "mxf4", "e2m1", a_tensor=True, n=8).write()
    Mma("tcgen05_mma_a_tensor_nvf4", "mxf4nvf4", "e2m1", a_tensor=True, n=8, scale_type="ue4m3",
        scale_modifier=".block16").write()  # fmt: skip
    Mma("tcgen05_mma_ashift", "f16", "f16", a_tensor=True, ashift=True, n=8).write()
    Mma("tcgen05_mma_ashift_f8f6f4", "f8f6f4", "e4m3", a_tensor=True, ashift=True, n=8,
        modifier=".collector::a::lastuse").write()  # fmt: skip


def options():
    masks = [0x0000FFFF, 0xAAAAAAAA, 0xFFFFFFFF, 0x00000001]
    Mma("tcgen05_mma_masks", "f16", "f16", n=8, masks=masks).write()
    Mma("tcgen05_mma_masks_f8f6f4", "f8f6f4", "e4m3", m=64, n=8, masks=masks).write()
    for a, b in ((0, 1), (1, 0), (1, 1)):
        Mma(f"tcgen05_mma_negate_{a}{b}", "f16", "f16", m=64, n=8, negate=(a, b)).write()
    Mma("tcgen05_mma_negate_mxf4", "mxf4", "e2m1", n=8, negate=(1, 0)).write()
    Mma("tcgen05_mma_zero_d", "f16", "f16", m=64, n=8, add=False, flavour="any", steps=2).write()
    Mma("tcgen05_mma_immediate", "f16", "f16", m=64, n=8, add=False, immediate=True,
        modifier=".collector::a::fill").write()  # fmt: skip
    Mma("tcgen05_mma_scale_d", "f16", "f16", m=64, n=8, scale_d=3).write()
    Mma(
        "tcgen05_mma_scale_d_tf32",
        "tf32",
        "tf32",
        m=64,
        n=8,
        scale_d=15,
        flavour="finite",
        masks=masks,
    ).write()


def pairs():
    Mma("tcgen05_mma_pair_m256", "f16", "f16", group=2, m=256, n=16).write()
    Mma("tcgen05_mma_pair_m128", "f16", "f16", group=2, m=128, n=32, issuer=1).write()
    Mma(
        "tcgen05_mma_pair_transposed", "f16", "f16", group=2, m=128, n=32, a_mn=True, b_mn=True
    ).write()
    masks = [0x1, 0x2, 0x4, 0x8, 0xFFFFFFFF, 0xF0F0F0F0, 0, 0x80000000]
    Mma("tcgen05_mma_pair_masks", "f16", "bf16", group=2, m=256, n=16, masks=masks).write()
    Mma("tcgen05_mma_pair_a_tensor", "f16", "f16", group=2, m=128, n=32, a_tensor=True).write()
    Mma("tcgen05_mma_pair_i8", "i8", "s8", td="s32", group=2, m=128, n=32).write()
    Mma("tcgen05_mma_pair_e4m3", "f8f6f4", "e4m3", "e2m1", group=2, m=128, n=16, issuer=1).write()
    Mma("tcgen05_mma_pair_mx", "mxf8f6f4", "e4m3", group=2, m=256, n=16, sfa=2).write()
    Mma("tcgen05_mma_pair_mx_m128", "mxf8f6f4", "e5m2", group=2, m=128, n=96, sfb=1).write()
    Mma("tcgen05_mma_pair_nvf4", "mxf4nvf4", "e2m1", group=2, m=256, n=16, scale_type="ue4m3",
        scale_modifier=".block16").write()  # fmt: skip


def weight_stationary():
    Mma("tcgen05_mma_ws_m32", "f16", "f16", ws=True, m=32, n=64).write()
    Mma(
        "tcgen05_mma_ws_m64", "f16", "bf16", ws=True, m=64, n=64, modifier=".collector::b2::fill"
    ).write()
    Mma("tcgen05_mma_ws_m128", "f8f6f4", "e4m3", ws=True, m=128, n=64).write()
    Mma("tcgen05_mma_ws_tf32", "tf32", "tf32", ws=True, m=32, n=64, a_tensor=True).write()
    Mma("tcgen05_mma_ws_i8", "i8", "u8", td="s32", ws=True, m=64, n=64, add=False).write()
    on, skip2, use3 = 1 << 39, 2 << 40, 3 << 48
    Mma(
        "tcgen05_mma_ws_zero_columns",
        "f16",
        "f16",
        ws=True,
        m=128,
        n=64,
        zero_columns=on | skip2 | use3,
    ).write()
    Mma("tcgen05_mma_ws_zero_columns_m64", "f16", "f16", ws=True, m=64, n=64,
        zero_columns=on | skip2 | use3 | 1 << 32).write()  # fmt: skip
    shifted = on | skip2 | use3 | 3 << 32 | 0x01020100 | 2 << 56
    Mma(
        "tcgen05_mma_ws_zero_columns_m32",
        "f16",
        "f16",
        ws=True,
        m=32,
        n=64,
        zero_columns=shifted,
        max_shift=2,
    ).write()
    Mma("tcgen05_mma_ws_shifted_transposed", "f16", "f16", ws=True, m=64, n=64,
        zero_columns=5 << 56, max_shift=1,
        b_mn=True, add=False).write()  # fmt: skip


def refusals():
    def refuse(name, text, kind="f16", ta="f16", **options):
        Mma(f"tcgen05_mma_fails_{name}", kind, ta, fails=text, **{"n": 8, **options}).write()

    refuse("reserved", "bits 0x00800000 must be zero", bits=1 << 23)
    refuse("sparse", "bit 2 is set: A is sparse, the instruction is not .sp", bits=1 << 2)
    refuse("types", "type codes 6 of A", bits=6 << 7)
    refuse("shape", "M is 64 or 128, N a multiple of 8 up to 256", n=8, bits=256 >> 3 << 17)
    refuse("lane", "this shape needs lane 0", lane=16)
    refuse("columns", "columns 0 to 39 are not all allocated", n=40, columns=32)
    refuse("replicas", "not the same in lanes 0 and 32", "mxf8f6f4", "e4m3", replicate=False)
    refuse("scale_id", "must be multiples of 2", "mxf4", "e2m1", sfa=1)
    refuse("shift", "a shift of 9 columns", ws=True, n=64, zero_columns=9 << 56, max_shift=1)
    refuse(
        "ashift", ".ashift needs A in tensor memory and M of 128", a_tensor=True, ashift=True, m=64
    )


def generate():
    types()
    layouts()
    operands()
    options()
    pairs()
    weight_stationary()
    refusals()
