"""Where the parts of the installed package are: beside it in a wheel, in the system's folders in a
distribution's package."""

import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def include_dir():
    own = os.path.join(_HERE, "include")
    if os.path.isdir(own):
        return own
    for prefix in (sys.prefix, sys.base_prefix, "/usr"):
        if os.path.isfile(os.path.join(prefix, "include", "ptxgen", "ptxgen.h")):
            return os.path.join(prefix, "include")
    raise FileNotFoundError("ptxgen's headers are not installed (Debian: libptxgen-dev)")


def library():
    from . import _core  # has loaded it

    with open("/proc/self/maps") as maps:
        for line in maps:
            path = line.split(maxsplit=5)[-1].strip()
            if os.path.basename(path).startswith("libptxgen.so"):
                return path
    return _core.__file__  # linked in


def command():
    """The program; None when it is not part of this installation."""
    own = os.path.join(_HERE, "bin", "ptxgen")
    return own if os.path.isfile(own) else None
