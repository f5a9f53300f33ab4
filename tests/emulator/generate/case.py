"""Case files: a PTX module whose comments say how to launch it, what goes in and what must come
out.

    //: launch grid=1,1,1 block=64,1,1        also cluster=2,1,1 and shared=BYTES (dynamic)
    //: in a 4                                 a buffer of 4-byte words that the kernel reads
    //= 00000000 80000000 ...                  its words, hexadecimal
    //: out d 4                                a buffer that the kernel writes (0xcd bytes before
    the launch) //= 00000001 ...                           what it must hold afterwards //: inout x
    4                              first what goes in, then after a line "//: expect" what comes out
    //: map m over=a type=float32 dims=64,32 strides=256 box=32,8 element_strides=1,1 swizzle=128B
    fill=zero //: exact                                  matrix arithmetic is compared bit for bit

Buffers and maps are the kernel's parameters in the order of their lines: a pointer each, a tensor
map each.
"""

import itertools
import os

CASES = os.path.join(os.path.dirname(__file__), "..", "cases")
BLOCK = 64


_labels = itertools.count(1)


def new_label():
    """A label that the case being made has not used yet."""
    return f"L{next(_labels)}"


class Case:
    def __init__(self, name, title, block=BLOCK, grid=1, cluster=1, shared=0):
        self.name, self.title = name, title
        self.block, self.grid, self.cluster, self.shared = block, grid, cluster, shared
        self.lines, self.params, self.body, self.exact = [], [], "", False
        self.emulator_only = False
        self.preamble = ""  # module variables
        self.version, self.target, self.directives = "8.4", "sm_90a", ""

    def _data(self, words, size):
        per_line = 96 // (2 * size + 1)
        for i in range(0, len(words), per_line):
            text = " ".join(
                f"{w & ((1 << 8 * size) - 1):0{2 * size}x}" for w in words[i : i + per_line]
            )
            self.lines.append("//= " + text)

    def buffer(self, kind, name, size, words, expect=None):
        self.lines.append(f"//: {kind} {name} {size}")
        self._data(words, size)
        if expect is not None:
            self.lines.append("//: expect")
            self._data(expect, size)
        self.params.append(f".param .u64 {name}")

    def tensor_map(self, name, **fields):
        self.lines.append(f"//: map {name} " + " ".join(f"{k}={v}" for k, v in fields.items()))
        self.params.append(f".param .align 64 .b8 {name}[128]")

    def write(self):
        grid = self.grid if "," in str(self.grid) else f"{self.grid},1,1"
        launch = f"//: launch grid={grid} block={self.block},1,1"
        if self.cluster > 1:
            launch += f" cluster={self.cluster},1,1"
        if self.shared:
            launch += f" shared={self.shared}"
        text = f"// {self.title}\n{launch}\n" + ("//: exact\n" if self.exact else "")
        if self.target != "sm_90a" or self.emulator_only:  # no such GPU at hand
            text += "//: emulator\n"
        text += "\n".join(self.lines) + "\n"
        text += (
            f".version {self.version}\n.target {self.target}\n.address_size 64\n\n{self.preamble}"
        )
        text += (
            ".visible .entry kernel(\n    "
            + ",\n    ".join(self.params)
            + f")\n{self.directives}{{\n"
            + self.body
            + "}\n"
        )
        with open(os.path.join(CASES, self.name + ".ptx"), "w") as f:
            f.write(text)
        global _labels
        _labels = itertools.count(1)


REGISTER = {1: ".b16", 2: ".b16", 4: ".b32", 8: ".b64"}
PREFIX = {1: "h", 2: "h", 4: "r", 8: "d"}


class Elementwise:
    """One thread an element: loads the inputs, runs instructions, stores one output per
    instruction."""

    def __init__(self, name, title, rows, sizes):
        """rows: tuples of input words; sizes: bytes of each operand."""
        self.case = Case(name, title, block=len(rows))
        self.rows, self.sizes, self.outputs = rows, sizes, []
        for i, size in enumerate(sizes):
            self.case.buffer("in", f"in{i}", size, [row[i] for row in rows])

    def op(self, text, size, function, declare=""):
        """text: the instruction, with %0, %1 for inputs and $ for the output register. A register
        of `size`."""
        self.outputs.append((text, size, declare))
        words = [function(*row) for row in self.rows]
        self.case.buffer("out", f"out{len(self.outputs) - 1}", size, words)
        return self

    def write(self):
        lines = ["    .reg .b32 %t;", "    .reg .b64 %p, %o;", "    .reg .pred %q, %q2;"]
        for i, size in enumerate(self.sizes):
            lines.append(f"    .reg {REGISTER[size]} %i{i};")
        lines.append("    mov.u32 %t, %tid.x;")
        for i, size in enumerate(self.sizes):
            lines += [f"    ld.param.u64 %p, [in{i}];", f"    mad.wide.u32 %p, %t, {size}, %p;"]
            kind = "u8" if size == 1 else f"b{8 * size}"
            lines.append(f"    ld.global.{kind} %i{i}, [%p];")
        for n, (text, size, declare) in enumerate(self.outputs):
            for i in range(len(self.sizes)):
                text = text.replace(f"%{i}", f"%i{i}")
            lines += ["    {", f"    .reg {REGISTER[size]} %x;"]
            lines += [f"    {d}" for d in declare.splitlines()]
            lines += ["    " + t for t in text.replace("$", "%x").splitlines()]
            lines += [f"    ld.param.u64 %p, [out{n}];", f"    mad.wide.u32 %p, %t, {size}, %p;"]
            lines += [
                f"    st.global.{'b8' if size == 1 else 'b' + str(8 * size)} [%p], %x;",
                "    }",
            ]
        self.case.body = "\n".join(lines) + "\n    ret;\n"
        self.case.write()
