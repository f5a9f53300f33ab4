#!/usr/bin/env python3
"""Writes tests/emulator/cases/*.ptx: inputs and expected outputs of every instruction form. The
expected data come from the models in this folder, never from running the emulator. Needs nothing
but Python 3.9; all take minutes.

    generate.py [--into FOLDER] [MODULE ...]      a module is a file beside this one; without one:
    all
"""

import argparse
import importlib
import os
import sys

sys.path.insert(0, os.path.dirname(__file__))

import case  # noqa: E402


def modules():
    """The modules beside this one that have cases to write, by name."""
    here = os.path.dirname(os.path.abspath(__file__))
    names = sorted(f[:-3] for f in os.listdir(here) if f.endswith(".py") and f != "generate.py")
    found = {name: importlib.import_module(name) for name in names}
    return {name: module for name, module in found.items() if hasattr(module, "generate")}


def main():
    known = modules()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--into", default=case.CASES, help="folder of the files (%(default)s)")
    parser.add_argument("module", nargs="*", help="of: " + " ".join(known))
    options = parser.parse_args()
    unknown = set(options.module) - set(known)
    if unknown:
        parser.error("no module " + ", ".join(sorted(unknown)))
    case.CASES = options.into
    for name in options.module or known:
        known[name].generate()


if __name__ == "__main__":
    main()
