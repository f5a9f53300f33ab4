"""Cases of multimem: the emulated device is the only one of its team, so a reduction over the team
is a plain access. For the emulator only: a GPU has no multimem address without its driver's
multicast objects."""

import random

from case import Case
from memory import atomic, pointer, size_of, values

REGISTER = {1: "%h", 2: "%h", 4: "%r", 8: "%d"}
COUNT = 64


def write(name, title, t, vector, instruction, expect, old, given=None, target="sm_90a"):
    """instruction: text with $ for the value (a register or a vector of them); %p is the thread's
    element."""
    case = Case(name, title, block=COUNT)
    case.emulator_only = True
    case.target, case.version = target, "8.8"
    size, n = size_of(t), max(vector, 1)
    case.buffer("inout", "m", size, old, expect if given else old)
    if given:
        case.buffer("in", "v", size, given)
    else:
        case.buffer("out", "v", size, expect)
    registers = [f"{REGISTER[size]}{i}" for i in range(n)]
    value = "{" + ", ".join(registers) + "}" if vector else registers[0]
    access = f".v{n}" if vector else ""
    other = [*pointer("v", n * size, "%t", "%q")]
    plain = f"global{access}.b{8 * size}"
    body = ["    .reg .b32 %t, %r<8>;", "    .reg .b64 %p, %q, %d<8>;", "    .reg .b16 %h<8>;",
            "    mov.u32 %t, %tid.x;"]
    body += [*pointer("m", n * size), *other]
    if given:
        body.append(f"    ld.{plain} {value}, [%q];")
    body.append("    " + instruction.replace("$", value))
    if not given:
        body.append(f"    st.{plain} [%q], {value};")
    case.body = "\n".join(body) + "\n    ret;\n"
    case.write()


def generate():
    rng = random.Random("multimem")
    for op, t, vector, more in (
        ("add", "u32", 0, ".relaxed.gpu"), ("add", "s32", 0, ""), ("add", "u64", 0,
            ".acquire.sys"), ("min", "s64", 0, ".weak"),
        ("max", "u32", 0, ""), ("and", "b32", 0, ""), ("xor", "b64", 0, ".relaxed.sys"), ("add",
            "f32", 4, ".relaxed.sys"),
        ("add", "f64", 0, ""), ("min", "f16x2", 4, ""), ("add", "bf16x2", 2, ".acquire.gpu"),
    ):  # fmt: skip
        old = values(t, COUNT * max(vector, 1), f"ld {op}")
        v = f".v{vector}" if vector else ""
        acc = ".acc::f32" if t in ("bf16x2",) else ""
        write(f"multimem_ld_{op}_{t}", f"multimem.ld_reduce.{op}.{t}", t, vector,
              f"multimem.ld_reduce{more}.global.{op}{acc}{v}.{t} $, [%p];", old, old)
    for t, vector, more in (("u32", 0, ""), ("s64", 0, ".release.sys"), ("b64", 0, ".weak"),
                            ("f32", 2, ".relaxed.gpu"), ("f16x2", 4, "")):
        old, given = (values(t, COUNT * max(vector, 1), f"st {i}") for i in range(2))
        v = f".v{vector}" if vector else ""
        write(f"multimem_st_{t}", f"multimem.st.{t}", t, vector,
              f"multimem.st{more}.global{v}.{t} [%p], $;", given, old, given)
    for op, t, vector, more in (
        ("add", "u32", 0, ""), ("add", "u64", 0, ".relaxed.gpu"), ("min", "s32", 0, ""), ("max",
            "u64", 0, ".release.sys"),
        ("or", "b32", 0, ""), ("and", "b64", 0, ""), ("add", "f32", 4, ".relaxed.sys"), ("add",
            "bf16x2", 2, ""),
    ):  # fmt: skip
        n = COUNT * max(vector, 1)
        old, given = (values(t, n, f"red {op} {i}") for i in range(2))
        v = f".v{vector}" if vector else ""
        expect = [atomic(op, t, a, b) for a, b in zip(old, given)]
        write(f"multimem_red_{op}_{t}", f"multimem.red.{op}.{t}", t, vector,
              f"multimem.red{more}.global.{op}{v}.{t} [%p], $;", expect, old, given)
    for name, text in (("ld", "multimem.ld_reduce.global.add.acc::f16.v4.e4m3x4 $, [%p];"),
                       ("st", "multimem.st.global.v4.e5m2x4 [%p], $;")):
        words = [rng.randrange(1 << 32) for _ in range(4 * COUNT)]
        other = [rng.randrange(1 << 32) for _ in range(4 * COUNT)]
        write(f"multimem_{name}_bytes", text.split()[0], "b32", 4, text, words,
              words if name == "ld" else other, None if name == "ld" else words, "sm_100a")
