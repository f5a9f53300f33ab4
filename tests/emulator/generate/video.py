"""Cases of video instructions: bytes and halves of registers (PTX ISA 9.0, section 9.7.17).

No GPU since Maxwell has most of them; ptxas writes other instructions instead, and those of ptxas
13.0 for sm_90 do in some forms what the ISA does not say (departs). Their cases hold the ISA's
values and are for the emulator alone."""

import number as n
from case import Elementwise

COUNT = 32
S, U = "s32", "u32"


def extend(x, bits, signed):
    x &= (1 << bits) - 1
    return x - (1 << bits) if signed and x >> bits - 1 else x


def clamp(x, bits, signed):
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    return min(max(x, low), high)


def width(part):
    return 32 if not part else 16 if part[0] == "h" else 8


def pick(x, part, signed):
    bits = width(part)
    return extend(x >> (bits * int(part[1]) if part else 0), bits, signed)


COMPARE = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}


def compute(op, a, b, mode=""):
    if op in COMPARE:
        return int(COMPARE[op](a, b))
    amount = b % 32 if mode == "wrap" else min(b, 32)
    return {
        "vadd": lambda: a + b,
        "vsub": lambda: a - b,
        "vabsdiff": lambda: abs(a - b),
        "vmin": lambda: min(a, b),
        "vmax": lambda: max(a, b),
        "vshl": lambda: a << amount,
        "vshr": lambda: a >> amount,
        "vavrg": lambda: (a + b + (a + b >= 0)) >> 1,
    }[op]()


def departs(op, types, sat=False, mode="", second="", d="", a="", b=""):
    """Forms that ptxas 13.0 compiles otherwise, as an H200 showed: a result that goes into the
    upper half is not shifted there; what is saturated for a part is taken as unsigned; .min and
    .max of an unsigned result take the third source as signed; sums of mixed signs and shifts are
    cut to 32 bits before them; saturation forgets the bits beyond 32 of unsigned sums and of
    shifts."""
    if op in COMPARE:
        return False
    if (
        d == "h1"
        or (sat and d and op != "vabsdiff")
        or (second in ("min", "max") and types[0] == U)
    ):
        return True
    if second in ("min",
                  "max") and (op == "vshl" or (op in ("vadd", "vsub") and types[1] != types[2])):
        return True
    return sat and (op == "vshl" or (op == "vadd" and types == (U, U, U)))


class Pair:
    """A case that GPUs agree with, and one of the forms in which ptxas departs."""

    def __init__(self, name, title, inputs):
        self.agrees = Elementwise(name, title, inputs, (4,) * 3)
        self.isa = Elementwise(name + "_isa", title + ", as the ISA has it", inputs, (4,) * 3)
        self.isa.case.emulator_only = True

    def op(self, form, text, model):
        (self.isa if form else self.agrees).op(text, 4, model)

    def write(self):
        for e in (self.agrees, self.isa):
            if e.outputs:
                e.write()


def one(op, types, sat=False, mode="", second="", d="", a="", b=""):
    """The text and the model of a scalar instruction of %0, %1 and %2."""
    compares = op in COMPARE
    td, ta, tb = (U,) + types if compares else types
    words = ["vset" if compares else op, *types]
    words += [op] if compares else []
    words += (["sat"] if sat else []) + ([mode] if mode else []) + ([second] if second else [])
    dot = lambda part: "." + part if part else ""
    text = f"{'.'.join(words)} ${dot(d)}, %0{dot(a)}, %1{dot(b)}{', %2' if second or d else ''};"

    def model(x, y, z):
        v = compute(op, pick(x, a, ta == S), pick(y, b, tb == S), mode)
        v = clamp(v, width(d), td == S) if sat else v
        if second == "add":
            v += z
        elif second:  # of a comparison the third source is as the first
            v = (min if second == "min" else max)(v, extend(z, 32, (ta if compares else td) == S))
        elif d:
            bits, at = width(d), width(d) * int(d[1])
            mask = (1 << bits) - 1 << at
            v = z & ~mask | v << at & mask
        return v & 0xFFFFFFFF

    return text, model


def rows(seed):
    out = n.int_inputs(32, 3, COUNT - 8, seed)
    edge = [0, 1, 0x7F80FF01, 0x80007FFF, 0xFFFFFFFF, 0x7FFFFFFF, 0x80000000, 0x01FE0280]
    return out + [(edge[i], edge[(i * 3 + 1) % 8], edge[(i * 5 + 2) % 8]) for i in range(8)]


def scalar_cases():
    parts = ["", "b0", "b1", "b2", "b3", "h0", "h1"]
    for op in ("vadd", "vsub", "vabsdiff", "vmin", "vmax"):
        e = Pair(f"video_{op}", f"{op}: types, parts, saturation, second operations", rows(op))
        for k, types in enumerate((d, a, b) for d in (S, U) for a in (S, U) for b in (S, U)):
            for form in (
                dict(),
                dict(sat=True, a=parts[k % 7], b=parts[(k + 3) % 7]),
                dict(second=("add", "min", "max")[k % 3], a=parts[(k + 1) % 7]),
                dict(
                    d=parts[1 + k % 6], sat=k % 2 == 0, a=parts[(k + 5) % 7], b=parts[(k + 2) % 7]
                ),
            ):
                e.op(departs(op, types, **form), *one(op, types, **form))
        e.write()


def shift_cases():
    for op in ("vshl", "vshr"):
        inputs = [(a, b % 48 if i % 4 else b, c) for i, (a, b, c) in enumerate(rows(op))]
        e = Pair(f"video_{op}", f"{op}: amounts clamped and wrapped", inputs)
        for k, (td, ta) in enumerate((d, a) for d in (S, U) for a in (S, U)):
            for mode in ("clamp", "wrap"):
                for form in (dict(), dict(sat=True), dict(second=("add", "min", "max")[k % 3]),
                             dict(d="h1", a="h0", sat=True)):
                    form["mode"] = mode
                    e.op(departs(op, (td, ta, U), **form), *one(op, (td, ta, U), **form))
        e.write()


def set_cases():
    e = Elementwise("video_vset", "vset: comparisons of parts", rows("vset"), (4,) * 3)
    for k, op in enumerate(COMPARE):
        for ta in (S, U):
            for form in (dict(a="b1", b="h0"), dict(second=("add", "min", "max")[k % 3]),
                         dict(d="b2", a="h1", b="h0")):
                text, model = one(op, (ta, (S, U)[k % 2]), **form)
                e.op(text, 4, model)
    e.write()


def mad_cases():
    for sat in (False, True):
        name = "video_vmad_sat" if sat else "video_vmad"
        e = Pair(name, "vmad: parts, scale, negation, plus one", rows("vmad"))
        for k, (ta, tb) in enumerate((a, b) for a in (S, U) for b in (S, U)):
            td = S if S in (ta, tb) else U
            for scale in ("", "shr7", "shr15"):
                for minus in ("", "a", "b", "c", "po"):
                    if minus in ("a", "b", "c") and td == U:
                        continue
                    part = ("h0", "h1") if k % 2 else ("b2", "h0")
                    words = ["vmad", td, ta,
                             tb] + (["po"] if minus == "po" else []) + (["sat"] if sat else [])
                    words += [scale] if scale else []
                    sign = lambda x: "-" if minus == x else ""
                    text = f"{'.'.join(words)} $, {sign('a')}%0.{part[0]}, {sign('b')}%1.{part[1]}, {sign('c')}%2;"

                    def model(x, y, z, minus=minus, scale=scale, sat=sat, part=part, ta=ta, tb=tb,
                              td=td):
                        v = pick(x, part[0], ta == S) * pick(y, part[1], tb == S)
                        z = extend(z, 32, td == S)
                        v = -v + z if minus in ("a", "b") else v - z if minus == "c" else v + z
                        v = v + (minus == "po") >> int(scale[3:] or 0)
                        return (clamp(v, 32, td == S) if sat else v) & 0xFFFFFFFF

                    e.op(td == U, text, model)  # ptxas 13.0 takes an unsigned addend as signed
        e.write()


def several(op, count, types, sat=False, add=False, mask=None, a=None, b=None):
    """The text and the model of a SIMD instruction."""
    compares = op in COMPARE
    td, ta, tb = (U,) + types if compares else types
    kind, bits = ("h", 16) if count == 2 else ("b", 8)
    words = [("vset" if compares else op) + str(count), *types] + ([op] if compares else [])
    words += (["sat"] if sat else []) + (["add"] if add else [])
    dot = lambda part: f".{kind}{part}" if part else ""
    text = f"{'.'.join(words)} ${dot(mask)}, %0{dot(a)}, %1{dot(b)}, %2;"
    chosen = [int(x) for x in mask] if mask else list(range(count))
    of_a = [int(x) for x in reversed(a)] if a else list(range(count))
    of_b = [int(x) for x in reversed(b)] if b else list(range(count, 2 * count))

    def model(x, y, z):
        both, total, merged = y << 32 | x, z, 0
        for i in range(count):
            v = compute(op, extend(both >> bits * of_a[i], bits, ta == S),
                        extend(both >> bits * of_b[i], bits, tb == S))
            v = clamp(v, bits, td == S) if sat else v
            total += v if i in chosen else 0
            part = v if i in chosen else z >> bits * i
            merged |= (part & (1 << bits) - 1) << bits * i
        return (total if add else merged) & 0xFFFFFFFF

    return text, model


def simd_cases():
    selections = {2: ("32", "01", "20", "13"), 4: ("7654", "0123", "5072", "6310")}
    masks = {2: ("0", "1", "10"), 4: ("3", "20", "321", "3210")}
    for count in (2, 4):
        for op in ("vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax"):
            e = Elementwise(f"video_{op}{count}", f"{op}{count}: types, masks, selections",
                            rows(op + str(count)), (4,) * 3)
            for k, types in enumerate((d, a, b) for d in (S, U) for a in (S, U) for b in (S, U)):
                for form in (
                    dict(),
                    dict(sat=True, mask=masks[count][k % len(masks[count])]),
                    dict(add=True, a=selections[count][k % 4]),
                    dict(
                        add=True,
                        mask=masks[count][(k + 1) % len(masks[count])],
                        b=selections[count][(k + 1) % 4],
                    ),
                ):
                    text, model = several(op, count, types, **form)
                    e.op(text, 4, model)
            e.write()
        e = Elementwise(f"video_vset{count}", f"vset{count}: comparisons of parts",
                        rows(f"vset{count}"), (4,) * 3)
        for k, op in enumerate(COMPARE):
            for ta in (S, U):
                for form in (dict(), dict(add=True),
                             dict(mask=masks[count][1], a=selections[count][k % 4])):
                    text, model = several(op, count, (ta, (S, U)[k % 2]), **form)
                    e.op(text, 4, model)
        e.write()


def generate():
    scalar_cases()
    shift_cases()
    set_cases()
    mad_cases()
    simd_cases()
