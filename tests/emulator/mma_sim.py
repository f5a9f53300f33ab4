#!/usr/bin/env python3
"""Compares the emulator's exact tensor-core arithmetic with the public model of the MMA-Sim
project, on random and adversarial operands: instruction cases as tests/emulator/generate writes
them, with that model's results as what must come out, run by `ptxgen run`. Prints a line a
configuration; exit code 1 when anything differs. mma_sim.py [SEED (1)]"""

import os
import re
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "generate"), os.environ["PTXGEN_MMA_SIM"]]

import numpy as np  # noqa: E402
import torch  # noqa: E402
from mmasim.simulator import arithmetic as model  # noqa: E402

import case  # noqa: E402
import matrix  # noqa: E402
import product  # noqa: E402
import tensor_mma  # noqa: E402
import wgmma  # noqa: E402

TYPES = {
    "f16": (torch.int16, torch.float16, 16),
    "bf16": (torch.int16, torch.bfloat16, 16),
    "e4m3": (torch.int8, torch.float8_e4m3fn, 8),
    "e5m2": (torch.int8, torch.float8_e5m2, 8),
    "ue8m0": (torch.uint8, torch.float8_e8m0fnu, 8),
    "ue4m3": (torch.int8, torch.float8_e4m3fn, 8),
    "f32": (torch.int32, torch.float32, 32),
    "f64": (torch.int64, torch.float64, 64),
}


def tensor(t, codes):
    if t == "tf32":
        t, codes = "f32", [c << 13 for c in codes]
    if t == "e2m1":
        magnitude = [0, 0.5, 1, 1.5, 2, 3, 4, 6]
        return torch.tensor([-magnitude[c & 7] if c & 8 else magnitude[c] for c in codes],
                            dtype=torch.float32)
    whole, kind, bits = TYPES[t]
    if not whole.is_signed:
        return torch.tensor(codes, dtype=whole).view(kind)
    return torch.tensor([c - (1 << bits) if c >> bits - 1 else c for c in codes],
                        dtype=whole).view(kind)


def code(t, value):
    whole, _, bits = TYPES[t]
    return int(value.view(whole).item()) & ((1 << bits) - 1)


def dot(ta, tb, td, a, b, c, fraction, low):
    c = tensor(td, [c])[0]
    if ta == "f64":
        for x, y in zip(tensor(ta, a), tensor(tb, b)):
            c = model.fma(x, y, c)
        return code(td, c)
    kind = "f16" if td == "f16" else "f32_e8m13" if low else "f32"
    return code(td, model.nv_fused_dot_add(tensor(ta, a), tensor(tb, b), c, fraction, kind))


class Product(product.Product):
    def output(self, row, col, c, k0=0, k1=None):
        a, b = self.operands(row, col, k0, k1)
        low = self.options.get("low_precision", False)
        return dot(self.ta, self.tb, self.td, a, b, c, 13 if low else 25, low)


class Mma(tensor_mma.Mma):
    def output(self, row, column, d):
        a, b = self.a[row], self.b[column]
        if not self.block:
            return dot(self.ta, self.tb, self.td, a, b, d, 25, False)
        sa, sb = tensor(self.scale_type, self.sa[row]), tensor(self.scale_type, self.sb[column])
        c = tensor("f32", [d])[0]
        if self.kind == "mxf8f6f4":
            return code(
                "f32",
                model.nv_fused_dot_add(
                    tensor(self.ta, a), tensor(self.tb, b), c, 25, "f32", sa[0], sb[0]
                ),
            )
        return code(
            "f32",
            model.nv_fused_dot_add_with_block_scale(
                tensor("e2m1", a), tensor("e2m1", b), c, sa, sb, 35
            ),
        )


# ---- running ----


def buffers(path):
    """(kind, name, bytes of a word, words, expected) of a case file's parameters."""
    found = []
    for line in open(path):
        m = re.match(r"//: (in|out|inout) (\S+) (\d)", line)
        if m:
            found.append([m[1], m[2], int(m[3]), [], []])
        elif line.startswith("//: expect"):
            found[-1][0] = "expect"
        elif line.startswith("//="):
            kind = found[-1][0]
            found[-1][4 if kind in ("out", "expect") else 3].extend(
                int(w, 16) for w in line[3:].split()
            )
    return found


def differences(path, folder):
    """Words that differ, and words."""
    text = open(path).read()
    launch = dict(w.split("=") for w in re.search(r"//: launch (.*)", text)[1].split())
    command = [os.environ["PTXGEN"], "run", path, "--grid", launch["grid"], "--block",
               launch["block"]]
    command += ["--shared", launch["shared"]] if "shared" in launch else []
    wrong = total = 0
    parameters = buffers(path)
    for i, (_, name, size, words, _) in enumerate(parameters):
        array = np.array(words or [0] * len(parameters[i][4]), dtype=f"<u{size}")
        np.save(os.path.join(folder, name + ".npy"), array)
        command += ["--arg", "buf:" + os.path.join(folder, name + ".npy")]
    for i, (_, _, _, _, expected) in enumerate(parameters):
        if not expected:
            continue
        out = os.path.join(folder, "result.npy")
        subprocess.run(command + ["--result", str(i + 1), "-o", out], check=True,
                       stdout=subprocess.DEVNULL)
        wrong += int((np.load(out) != np.array(expected, dtype=np.load(out).dtype)).sum())
        total += len(expected)
    return wrong, total


def configurations(seed):
    """Names, after the case of each was written."""
    flavours = ("near_one", "finite", "any", "cancelling", "subnormal")
    shapes = [((16, 8, 8), "f16", "f32"), ((16, 8, 16), "f16", "f32"), ((16, 8, 8), "f16", "f16"),
              ((16, 8, 16), "f16", "f16")]
    shapes += [((16, 8, 8), "bf16", "f32"), ((16, 8, 16), "bf16", "f32"),
               ((16, 8, 4), "tf32", "f32"), ((16, 8, 8), "tf32", "f32")]
    shapes += [(s, "f64", "f64") for s in ((8, 8, 4), (16, 8, 4), (16, 8, 8), (16, 8, 16))]
    for (m, n, k), t, td in shapes:
        name = f"mma_m{m}n{n}k{k}_{td}_{t}"
        products = [
            Product((m, n, k), t, t, td, f, seed)
            for f in (flavours if t != "f64" else ("near_one", "finite"))
        ]
        matrix.mma_case(name, f"mma.sync.aligned.m{m}n{n}k{k}.row.col.{td}.{t}.{t}.{td}", products)
        yield name
    pairs = [("f16", "f16", "f32"), ("f16", "f16", "f16"), ("bf16", "bf16", "f32"),
             ("tf32", "tf32", "f32")]
    pairs += [(x, y, d) for x in ("e4m3", "e5m2") for y in ("e4m3", "e5m2") for d in ("f32", "f16")]
    for ta, tb, td in pairs:
        for registers in (False, True):
            name = f"wgmma_{td}_{ta}_{tb}{'_registers' * registers}"
            low = product.BITS[ta] == 8
            shape = (64, 8, wgmma.wgmma_k(ta))
            products = [Product(shape, ta, tb, td, f, seed, low_precision=low) for f in flavours]
            wgmma.Wgmma(name, products, a_regs=registers).write()
            yield name
    for ta, tb, td in pairs:
        name, kind = f"tcgen05_{td}_{ta}_{tb}", (
            "f8f6f4" if product.BITS[ta] == 8 else "tf32" if ta == "tf32" else "f16"
        )
        Mma(name, kind, ta, tb, td=td, m=64, n=8, flavour=("finite", "any")[seed % 2]).write()
        yield name
    for ta, tb in [(x, y) for x in ("e4m3", "e5m2") for y in ("e4m3", "e5m2")]:
        name = f"tcgen05_mx_{ta}_{tb}"
        Mma(name, "mxf8f6f4", ta, tb, n=8, flavour="near_one").write()
        yield name
    for block, scale in ((16, "ue4m3"), (16, "ue8m0"), (32, "ue8m0")):
        name = f"tcgen05_mxf4nvf4_{block}_{scale}"
        modifier = f".block{block}" if scale == "ue8m0" else ".scale_vec::4X"
        Mma(name, "mxf4nvf4", "e2m1", n=8, block=block, scale_type=scale, scale_modifier=modifier,
            flavour="near_one").write()
        yield name


def main():
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    count = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        case.CASES = folder
        for name in configurations(seed):
            wrong, total = differences(os.path.join(folder, name + ".ptx"), folder)
            print(f"{name}: {wrong} of {total} words differ", flush=True)
            count, failed = count + 1, failed + (wrong > 0)
    print(f"{count} configurations, {failed} with differences")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
