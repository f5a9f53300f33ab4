#!/usr/bin/env python3
"""Writes tests/emulator/cases/*.ptx: inputs and expected outputs of every instruction form. The expected data come
from the models in this folder, never from running the emulator. Needs nothing but Python 3.9."""

import os
import sys

sys.path.insert(0, os.path.dirname(__file__))

import blackwell_copy  # noqa: E402
import bulk  # noqa: E402
import convert  # noqa: E402
import floating  # noqa: E402
import forms  # noqa: E402
import integer  # noqa: E402
import matrix  # noqa: E402
import memory  # noqa: E402
import misc  # noqa: E402
import sync  # noqa: E402
import tensor_memory  # noqa: E402
import tensor_mma  # noqa: E402
import video  # noqa: E402
import warp  # noqa: E402
import wmma  # noqa: E402


def main():
    for family in (
        blackwell_copy,
        bulk,
        convert,
        floating,
        forms,
        integer,
        matrix,
        memory,
        misc,
        sync,
        tensor_memory,
        tensor_mma,
        video,
        warp,
        wmma,
    ):
        family.generate()


if __name__ == "__main__":
    main()
