"""ptxgen.emulator: any PTX on arrays, and what checking finds."""

import numpy as np
import pytest

import ptxgen
from ptxgen import emulator

SCALE = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry scale(.param .u64 x, .param .u32 n, .param .f32 factor)
{
    .reg .u64 %p, %o;
    .reg .u32 %i, %b, %t, %n;
    .reg .f32 %v, %f;
    .reg .pred %q;
    ld.param.u64 %p, [x];
    ld.param.u32 %n, [n];
    ld.param.f32 %f, [factor];
    mov.u32 %b, %ctaid.x;
    mov.u32 %t, %tid.x;
    mad.lo.u32 %i, %b, 32, %t;
    setp.ge.u32 %q, %i, %n;
    @%q ret;
    mul.wide.u32 %o, %i, 4;
    add.u64 %p, %p, %o;
    ld.global.f32 %v, [%p];
    mul.f32 %v, %v, %f;
    st.global.f32 [%p], %v;
    ret;
}
"""

# every thread stores its number to the same word
RACE = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry race(.param .u64 x)
{
    .reg .u64 %p;
    .reg .u32 %t;
    ld.param.u64 %p, [x];
    mov.u32 %t, %tid.x;
    st.global.u32 [%p], %t;
    ret;
}
"""


def test_run():
    x = np.arange(70, dtype="f4")
    result = emulator.run(SCALE, [x, 50, 2.5], grid=2, block=32)
    np.testing.assert_array_equal(x, np.where(np.arange(70) < 50, 2.5, 1) * np.arange(70))
    assert (
        result.global_read == 200 and result.global_written == 200 and result.warp_instructions > 0
    )
    assert result.reports == ()


def test_entries():
    assert emulator.entries(SCALE) == {"scale": [("x", 8), ("n", 4), ("factor", 4)]}
    with pytest.raises(ptxgen.ParseError) as caught:
        emulator.entries(SCALE.replace("mul.f32", "mul.f33"))
    assert caught.value.line == 22


def test_a_race_is_found():
    x = np.zeros(4, "u4")
    result = emulator.run(RACE, [x], block=64, check=True)
    assert [r.kind for r in result.defects] == ["RACE_GLOBAL"]
    assert (
        result.defects[0].line == 11
        and "x" in result.defects[0].where
        and "line 11" in str(result.defects[0])
    )
    assert emulator.run(RACE, [x], block=1, check=True).defects == []


def test_out_of_bounds():
    x = np.ones(10, "f4")
    with pytest.raises(ptxgen.EmulatorError, match="x") as caught:
        emulator.run(SCALE, [x, 11, 2.0], block=32)
    assert caught.value.line == 21


def test_refusals():
    x = np.ones(10, "f4")
    with pytest.raises(ptxgen.InvalidArgument):
        emulator.run(SCALE, [x, 10], block=32)
    with pytest.raises(ValueError, match="3 parameters"):
        emulator.run(SCALE, [x, 10, 2.0, 3], block=32)
    with pytest.raises(ValueError, match="contiguous"):
        emulator.run(SCALE, [np.ones(20, "f4")[::2], 10, 2.0], block=32)
    with pytest.raises(ptxgen.InvalidArgument, match="scael"):
        emulator.run(SCALE, [x, 10, 2.0], block=32, entry="scael")
    with pytest.raises(ValueError, match="order"):
        emulator.run(SCALE, [x, 10, 2.0], order="best")
    with pytest.raises(ptxgen.BudgetError):
        emulator.run(SCALE, [x, 10, 2.0], block=32, instruction_budget=3)
    x.flags.writeable = False
    with pytest.raises(ptxgen.EmulatorError):
        emulator.run(SCALE, [x, 10, 2.0], block=32)


def test_our_own_kernel():
    """The PTX of a family, launched by hand, with every order that the ISA allows."""
    kernel = ptxgen.emit("gather_rows")
    assert kernel["entry"] in emulator.entries(kernel["ptx"])
