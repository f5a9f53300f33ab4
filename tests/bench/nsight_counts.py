"""The emulator's counts of memory accesses beside those of Nsight Compute, kernel by kernel, on the
GPU of this machine.

    PTXGEN_PATTERNS=folder PTXGEN=ptxgen bash tests/command/run_patterns.sh
    python3 tests/bench/nsight_counts.py ptxgen folder/*.ptx

Each file has one entry "k" with the address of 16 KiB; it runs as two CTAs of 64 threads. Exit code
1 when a count differs.
"""
import csv
import ctypes
import io
import json
import subprocess
import sys

GRID, BLOCK, BYTES = 2, 64, 16384
LSU = "l1tex__{}_pipe_lsu_mem_{}.sum"
# What is compared: its name, Nsight's metric, the instructions that count (first words of the
# opcode), the emulator's field.
COUNTS = [
    ("ld requests", LSU.format("t_requests", "global_op_ld"), ("ld.global",), "global_requests"),
    ("ld sectors", LSU.format("t_sectors", "global_op_ld"), ("ld.global",), "global_sectors"),
    ("st requests", LSU.format("t_requests", "global_op_st"), ("st.global",), "global_requests"),
    ("st sectors", LSU.format("t_sectors", "global_op_st"), ("st.global",), "global_sectors"),
    ("red requests", LSU.format("t_requests", "global_op_red"), ("red.global",), "global_requests"),
    ("red sectors", LSU.format("t_sectors", "global_op_red"), ("red.global",), "global_sectors"),
    ("shared ld", LSU.format("data", "").replace("_mem_", "_wavefronts_mem_shared_op_ld"),
     ("ld.shared", "ldmatrix"),
     "shared_wavefronts"),
    ("shared st", LSU.format("data", "").replace("_mem_", "_wavefronts_mem_shared_op_st"),
     ("st.shared",), "shared_wavefronts"),
    ("shared excess", "derived", ("ld.shared", "ldmatrix", "st.shared"), None),
]
EXCESS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{}.sum"


def emulated(ptxgen, path):
    """Of one file: the counts by name."""
    command = [ptxgen, "run", path, "--grid", str(GRID), "--block", str(BLOCK), "--arg",
               f"zeros:{BYTES}", "--stats", "--json"]
    stats = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    with open(path) as file:
        text = file.read().split("\n")
    lines = [(text[row["line"] - 1], row) for row in lines_of(stats)]
    counts = {}
    for name, _, opcodes, field in COUNTS:
        rows = [
            row for line, row in lines if any(word.startswith(opcodes) for word in line.split())
        ]
        counts[name] = sum(
            row[field] if field else row["shared_wavefronts"] - row["shared_wavefronts_ideal"]
            for row in rows
        )
    return counts


def lines_of(value):
    """Every object of the JSON that has counts of a line."""
    if isinstance(value, dict):
        if "global_sectors" in value and "line" in value:
            yield value
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from lines_of(item)


def launch(paths):
    """Runs every file's kernel once, in this order."""
    driver = ctypes.CDLL("libcuda.so.1")

    def call(name, *arguments):
        status = getattr(driver, name)(*arguments)
        if status:
            sys.exit(f"{name}: error {status}")

    device, context, memory = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_uint64()
    call("cuInit", 0)
    call("cuDeviceGet", ctypes.byref(device), 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    call("cuCtxSetCurrent", context)
    call("cuMemAlloc_v2", ctypes.byref(memory), ctypes.c_size_t(BYTES))
    call("cuMemsetD8_v2", memory, ctypes.c_ubyte(0), ctypes.c_size_t(BYTES))
    parameters = (ctypes.c_void_p * 1)(ctypes.cast(ctypes.byref(memory), ctypes.c_void_p))
    for path in paths:
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        with open(path, "rb") as file:
            call("cuModuleLoadData", ctypes.byref(module), ctypes.c_char_p(file.read() + b"\0"))
        call("cuModuleGetFunction", ctypes.byref(function), module, b"k")
        call("cuLaunchKernel", function, GRID, 1, 1, BLOCK, 1, 1, 0, None, parameters, None)
        call("cuCtxSynchronize")


def measured(paths):
    """Of every file: Nsight's metrics by name."""
    metrics = [metric for _, metric, _, _ in COUNTS if metric != "derived"] + [EXCESS.format("ld"),
        EXCESS.format("st")]
    command = ["ncu", "--clock-control", "none", "--csv", "--page", "raw", "--print-units", "base",
               "--metrics", ",".join(metrics),
               sys.executable, __file__, "--launch", *paths]
    done = subprocess.run(command, capture_output=True, text=True)
    rows = done.stdout[done.stdout.find('"ID"'):]
    if done.returncode or not rows.startswith('"ID"'):
        sys.exit(f"ncu failed: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    result = []
    for row in csv.DictReader(io.StringIO(rows)):
        if row["ID"]:
            counts = {
                name: number(row.get(metric))
                for name, metric, _, _ in COUNTS
                if metric != "derived"
            }
            counts["shared excess"] = number(row.get(EXCESS.format("ld"))) + number(
                row.get(EXCESS.format("st"))
            )
            result.append(counts)
    return result


def number(text):
    return round(float(text.replace(",", ""))) if text else 0


def main():
    if sys.argv[1] == "--launch":
        return launch(sys.argv[2:])
    ptxgen, paths = sys.argv[1], sys.argv[2:]
    differ = 0
    print(f"{'kernel':18} {'count':14} {'emulator':>8} {'nsight':>8}")
    for path, of_gpu in zip(paths, measured(paths)):
        ours = emulated(ptxgen, path)
        for name in ours:
            if ours[name] or of_gpu[name]:
                same = ours[name] == of_gpu[name]
                differ += not same
                print(f"{path.split('/')[-1][:-4]:18} {name:14} {ours[name]:8} {of_gpu[name]:8} {'' if same else 'DIFFERS'}")
    print(f"{len(paths)} kernels, {differ} counts differ")
    return differ != 0


if __name__ == "__main__":
    sys.exit(main())
