"""Cases of instructions that the lanes of a warp execute together."""

import random

import number as n
from case import Elementwise

FULL = 0xFFFFFFFF


class Warpwise(Elementwise):
    """Like Elementwise, for whole warps: the function sees the rows of its warp and its lane."""

    def op(self, text, size, function, declare=""):
        rows = self.rows
        position = {"i": 0}

        def rule(*_):
            i = position["i"]
            position["i"] += 1
            return function(rows[i // 32 * 32 : i // 32 * 32 + 32], i % 32)

        return super().op(text, size, rule, declare)


def rows(seed, operands=1, warps=2, small=False):
    rng = random.Random(seed)
    draw = (
        (lambda: rng.choice((0, 1, 7, 0xFFFFFFFF)))
        if small
        else (lambda: rng.choice((0, 0x80000000, FULL, rng.randrange(1 << 32))))
    )
    return [tuple(draw() for _ in range(operands)) for _ in range(32 * warps)]


def shuffle(mode, lane, b, c):
    """(source lane, valid)"""
    value, segment, limit = b & 31, c >> 8 & 31, c & 31
    most, least = (lane & segment) | (limit & ~segment & 31), lane & segment
    if mode == "up":
        j = lane - value
        valid = j >= most
    elif mode == "down":
        j = lane + value
        valid = j <= most
    elif mode == "bfly":
        j = lane ^ value
        valid = j <= most
    else:
        j = least | (value & ~segment & 31)
        valid = j <= most
    return (j if valid else lane), valid


def shfl_cases():
    for mode in ("up", "down", "bfly", "idx"):
        e = Warpwise(
            f"shfl_{mode}",
            f"shfl.sync.{mode}: distances, segments, the predicate",
            rows(mode),
            (4,),
        )
        clamps = (0, 0x1800, 0x1C00, 0x1E00) if mode == "up" else (31, 0x181F, 0x1C1F, 0x1E1F, 15)
        for b in (0, 1, 5, 16, 31, 33):
            for c in clamps:
                text = f"shfl.sync.{mode}.b32 $|%q, %0, {b}, {c}, -1;"
                e.op(
                    text + "\n@!%q xor.b32 $, $, 0x5a5a5a5a;",
                    4,
                    lambda w, l, k=(mode, b, c): w[shuffle(k[0], l, *k[1:])[0]][0]
                    ^ (0 if shuffle(k[0], l, *k[1:])[1] else 0x5A5A5A5A),
                )
        e.op(
            f"and.b32 %y, %t, 7;\nshfl.sync.{mode}.b32 $, %0, %y, {clamps[0]}, -1;",
            4,
            lambda w, l, m=mode, c=clamps[0]: w[shuffle(m, l, l & 7, c)[0]][0],
            ".reg .b32 %y;",
        )
        # the halves of a warp apart, with segments of 16 so that no lane reads from the other half
        segment = 0x1000 | (0 if mode == "up" else 31)
        e.op(
            f"and.b32 %y, %t, 16;\nsetp.eq.u32 %q, %y, 0;\n@%q bra low;\n"
            f"shfl.sync.{mode}.b32 $, %0, 1, {segment}, 0xffff0000;\nbra end;\n"
            f"low:\nshfl.sync.{mode}.b32 $, %0, 2, {segment}, 0x0000ffff;\nend:\nbar.warp.sync -1;",
            4,
            lambda w, l, m=mode, c=segment: w[shuffle(m, l, 1 if l >= 16 else 2, c)[0]][0],
            ".reg .b32 %y;",
        )
        e.write()


def vote_cases():
    e = Warpwise(
        "vote",
        "vote.sync: all, any, uni, ballot, with members and in divergent code",
        rows("vote", small=True),
        (4,),
    )
    flag = "setp.ne.u32 %q2, %0, 0;\n"
    for negated in ("", "!"):
        value = (
            (lambda w: [int(x[0] == 0) for x in w])
            if negated
            else (lambda w: [int(x[0] != 0) for x in w])
        )
        e.op(
            flag + f"vote.sync.all.pred %q, {negated}%q2, -1;\nselp.b32 $, 1, 0, %q;",
            4,
            lambda w, l, v=value: int(all(v(w))),
        )
        e.op(
            flag + f"vote.sync.any.pred %q, {negated}%q2, -1;\nselp.b32 $, 1, 0, %q;",
            4,
            lambda w, l, v=value: int(any(v(w))),
        )
        e.op(
            flag + f"vote.sync.uni.pred %q, {negated}%q2, -1;\nselp.b32 $, 1, 0, %q;",
            4,
            lambda w, l, v=value: int(len(set(v(w))) == 1),
        )
        e.op(
            flag + f"vote.sync.ballot.b32 $, {negated}%q2, -1;",
            4,
            lambda w, l, v=value: sum(b << i for i, b in enumerate(v(w))),
        )
    e.op(
        "setp.ge.u32 %q, %0, 0;\nvote.sync.all.pred %q, %q, -1;\nselp.b32 $, 1, 0, %q;",
        4,
        lambda w, l: 1,
    )
    e.op(
        "and.b32 %y, %t, 1;\nsetp.eq.u32 %q, %y, 0;\nmov.b32 $, 0;\n@%q activemask.b32 $;\nbar.warp.sync -1;",
        4,
        lambda w, l: 0x55555555 if l % 2 == 0 else 0,
        ".reg .b32 %y;",
    )
    e.op(
        flag
        + "and.b32 %y, %t, 3;\nsetp.eq.u32 %q, %y, 0;\nmov.b32 $, 0;\n@%q vote.sync.ballot.b32 $, %q2, 0x11111111;\nbar.warp.sync -1;",
        4,
        lambda w, l: sum(int(w[i][0] != 0) << i for i in range(0, 32, 4)) if l % 4 == 0 else 0,
        ".reg .b32 %y;",
    )
    e.op(
        "elect.sync %y|%q, -1;\nvote.sync.ballot.b32 $, %q, -1;\npopc.b32 $, $;",
        4,
        lambda w, l: 1,
        ".reg .b32 %y;",
    )
    e.op(
        "elect.sync %y|%q, -1;\nselp.b32 $, %t, 0, %q;\nand.b32 $, $, 31;\nredux.sync.or.b32 $, $, -1;\nxor.b32 $, $, %y;",
        4,
        lambda w, l: 0,
        ".reg .b32 %y;",
    )
    e.write()
    redux_float_case()


def redux_float_case():
    e = Warpwise("redux_float", "redux.sync of f32", rows("redux float"), (4,))
    e.case.version, e.case.target = "8.6", "sm_100a"

    def rule(highest, nan, absolute):
        def f(w, l):
            keep = 0x7FFFFFFF if absolute else FULL
            best = w[0][0] & keep
            for x in w:
                best = n.minmax(n.F32, best, x[0] & keep, highest, nan)
            return best

        return f

    for name, highest in (("min", False), ("max", True)):
        for a in ("", ".abs"):
            for q in ("", ".NaN"):
                text = f"redux.sync.{name}{a}{q}.f32 $, %0, -1;"
                e.op(text, 4, rule(highest, bool(q), bool(a)))
    e.write()


def match_cases():
    same = lambda w, l: sum(1 << i for i in range(32) if w[i][0] == w[l][0])
    for bits in (32, 64):
        rng = random.Random(f"match {bits}")
        data = [(rng.choice((0, 1, (1 << bits) - 1)),) for _ in range(32)] + [(5 << bits - 8,)] * 32
        e = Warpwise(
            f"match_b{bits}", f"match.any and match.all of {bits} bits", data, (bits // 8,)
        )
        e.op(f"match.any.sync.b{bits} $, %0, -1;", 4, same)
        e.op(f"match.all.sync.b{bits} $, %0, -1;", 4, lambda w, l: FULL if len(set(w)) == 1 else 0)
        e.op(
            f"match.all.sync.b{bits} $|%q, %0, -1;\nselp.b32 $, 1, 0, %q;",
            4,
            lambda w, l: int(len(set(w)) == 1),
        )
        e.write()


def redux_cases():
    e = Warpwise("redux", "redux.sync: every operation, with members", rows("redux"), (4,))
    signed = lambda w: [n.to_signed(x[0], 32) for x in w]
    plain = lambda w: [x[0] for x in w]

    def fold(f, start):
        def rule(w, l):
            r = start
            for x in plain(w):
                r = f(r, x)
            return r

        return rule

    e.op("redux.sync.add.u32 $, %0, -1;", 4, lambda w, l: sum(plain(w)) & FULL)
    e.op("redux.sync.add.s32 $, %0, -1;", 4, lambda w, l: sum(plain(w)) & FULL)
    e.op("redux.sync.min.u32 $, %0, -1;", 4, lambda w, l: min(plain(w)))
    e.op("redux.sync.max.u32 $, %0, -1;", 4, lambda w, l: max(plain(w)))
    e.op("redux.sync.min.s32 $, %0, -1;", 4, lambda w, l: min(signed(w)) & FULL)
    e.op("redux.sync.max.s32 $, %0, -1;", 4, lambda w, l: max(signed(w)) & FULL)
    e.op("redux.sync.and.b32 $, %0, -1;", 4, fold(int.__and__, FULL))
    e.op("redux.sync.or.b32 $, %0, -1;", 4, fold(int.__or__, 0))
    e.op("redux.sync.xor.b32 $, %0, -1;", 4, fold(int.__xor__, 0))
    e.op(
        "and.b32 %y, %t, 1;\nsetp.eq.u32 %q, %y, 0;\nmov.b32 $, 0;\n@%q redux.sync.add.u32 $, %0, 0x55555555;\nbar.warp.sync -1;",
        4,
        lambda w, l: sum(plain(w)[::2]) & FULL if l % 2 == 0 else 0,
        ".reg .b32 %y;",
    )
    e.write()


def generate():
    shfl_cases()
    vote_cases()
    match_cases()
    redux_cases()
