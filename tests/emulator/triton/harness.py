"""Compiles Triton and Gluon kernels without a GPU, runs their PTX with `ptxgen run`, compares with
numpy.

A case with `defects` is one in which checking mode must find one of them: the compiler put it
there.

A case is a kernel, the values of its parameters and what its outputs must be. Tensor descriptors
stand in the kernel's signature after the pointers that they describe: the command wants a buffer
before the tensor map over it."""

import os
import shutil
import subprocess
import tempfile
import time

import numpy as np
import triton
from triton.backends.compiler import GPUTarget

TYPES = {
    "float32": "fp32",
    "float16": "fp16",
    "int32": "i32",
    "int64": "i64",
    "uint8": "u8",
    "int8": "i8",
}


class Descriptor:
    """A tensor map over parameter `over` (by name) with the block that the kernel loads or
    stores."""

    def __init__(self, over, block, layout=None):
        self.over, self.block, self.layout = over, block, layout


class Failure(Exception):
    pass


def signature_of(values, names):
    signature = {}
    for name in names:
        v = values[name]
        if isinstance(v, np.ndarray):
            signature[name] = "*" + TYPES[str(v.dtype)]
        elif isinstance(v, Descriptor):
            block = ",".join(map(str, v.block))
            text = f"tensordesc<{TYPES[str(values[v.over].dtype)]}[{block}]"
            signature[name] = text + (f",{v.layout!r}>" if v.layout is not None else ">")
        elif isinstance(v, int) and name not in values.get("constants", ()):
            signature[name] = "i32"
        else:
            signature[name] = "constexpr"
    return signature


def compile_kernel(kernel, values, arch, options):
    names = kernel.arg_names
    signature = signature_of(values, names)
    constants = {n: values[n] for n in names if signature[n] == "constexpr"}
    gluon = "gluon" in type(kernel).__module__
    if gluon:
        from triton.experimental.gluon._runtime import GluonASTSource as Source
    else:
        from triton.compiler import ASTSource as Source
    # buffers are 256-byte aligned: the usual specialization
    attributes = {
        (i,): [["tt.divisibility", 16]] for i, n in enumerate(names) if isinstance(values[n],
            np.ndarray)
    }
    source = Source(fn=kernel, signature=signature, constexprs=constants, attrs=attributes)
    return triton.compile(source, target=GPUTarget("cuda", arch, 32), options=options)


MAP_TYPES = {"float32": "f32", "float16": "f16", "int32": "s32", "uint8": "u8", "int8": "u8"}


def map_argument(values, names, name, meta, places):
    v = values[name]
    over = values[v.over]
    sizes = "x".join(str(d) for d in reversed(over.shape))
    box = "x".join(str(d) for d in reversed(meta["block_size"]))
    swizzle = {0: 0, 1: 32, 2: 64, 3: 128}[meta["swizzle"]]
    return f"map:{places[v.over]}:{MAP_TYPES[str(over.dtype)]}:{sizes}:{box}" + (
        f":{swizzle}" if swizzle else ""
    )


def arguments(kernel, values, compiled, folder, ctas):
    """The --arg values; and the place of every buffer among the parameters, from 1."""
    names, args, places = kernel.arg_names, [], {}
    metas = iter(compiled.metadata.tensordesc_meta or [])
    for name in names:
        v = values[name]
        if isinstance(v, np.ndarray):
            path = os.path.join(folder, name + ".npy")
            np.save(path, v)
            places[name] = len(args)
            args.append("buf:" + path)
        elif isinstance(v, Descriptor):
            args.append(map_argument(values, names, name, next(metas), places))
            shape = values[v.over].shape
            strides = [int(np.prod(shape[i + 1 :])) for i in range(len(shape))]
            args += [str(x) for x in shape] + [str(x) for x in strides]
        elif isinstance(v, int) and name not in values.get("constants", ()):
            args.append(str(v))
    scratch = compiled.metadata.global_scratch_size * ctas
    args += [f"zeros:{scratch}" if scratch else "0", "0"]  # global scratch memory, profile memory
    return args, places


def run(case, arch, check):
    kernel, values, grid, options, expected = case()
    compiled = compile_kernel(kernel, values, arch, options)
    with tempfile.TemporaryDirectory() as folder:
        ptx = os.path.join(folder, "kernel.ptx")
        with open(ptx, "w") as f:
            f.write(compiled.asm["ptx"])
        args, places = arguments(kernel, values, compiled, folder, int(np.prod(grid)))
        threads = 32 * compiled.metadata.num_warps
        for line in compiled.asm["ptx"].splitlines():
            if line.startswith(".reqntid"):  # warp specialization adds warps
                threads = int(line.split()[1].rstrip(","))
        command = [os.environ["PTXGEN"], "run", ptx]
        command += ["--grid", ",".join(map(str, grid)), "--block", str(threads)]
        command += ["--shared", str(compiled.metadata.shared), "--budget", "2000000000"]
        if compiled.metadata.num_ctas > 1:
            command += ["--cluster", str(compiled.metadata.num_ctas)]
        if check:
            command += ["--check-races", "--order", "isa", "--seeds", "1..2"]
        for a in args:
            command += ["--arg", a]
        for name, (wanted, tolerance) in expected.items():
            out = os.path.join(folder, "out.npy")
            got = subprocess.run(
                command + ["--result", str(places[name] + 1), "-o", out],
                capture_output=True,
                text=True,
            )
            if check and any(
                text in got.stdout + got.stderr for text in getattr(case, "defects", ())
            ):
                return
            if got.returncode not in (0, 6):  # 6: relies on ptxas or the hardware
                if os.environ.get("KEEP_PTX"):  # for a look at what failed
                    shutil.copy(ptx, os.environ["KEEP_PTX"])
                raise Failure((got.stdout + got.stderr)[-1500:] + "\n" + " ".join(command))
            compare(np.load(out), wanted, tolerance, name)


def compare(got, wanted, tolerance, name):
    if tolerance == 0:
        if not np.array_equal(got, wanted):
            bad = np.argwhere(got != wanted)
            raise Failure(
                f"{name}: {len(bad)} of {got.size} differ, first at {bad[0]}: {got[tuple(bad[0])]}, not {wanted[tuple(bad[0])]}"
            )
        return
    error = np.abs(got.astype(np.float64) - wanted) / (np.abs(wanted) + 1)
    if not np.all(error <= tolerance):
        at = np.unravel_index(np.nanargmax(error), error.shape)
        raise Failure(f"{name}: off by {error[at]:g} at {at}: {got[at]}, not {wanted[at]}")


def main(cases, arch, modes=(False, True)):
    """Runs every case plainly and in checking mode; the exit code."""
    only = os.environ.get("TRITON_CASE", "")
    failed = 0
    for case in cases:
        if only not in case.__name__:
            continue
        for check in modes:
            start = time.time()
            what = f"{case.__name__}{', checked' if check else ''}"
            try:
                run(case, arch, check)
                print(f"ok: {what} ({time.time() - start:.1f} s)", flush=True)
            except Failure as e:
                print(f"FAILED: {what}: {e}", flush=True)
                failed += 1
    return 1 if failed else 0
