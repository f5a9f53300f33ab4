"""python -m ptxgen and the wheel's command `ptxgen`: hands over to the program in the package."""

import os
import shutil
import sys

from ._place import command


def main():
    program = command() or shutil.which("ptxgen")
    if not program:
        sys.exit("ptxgen: the command is not part of this installation")
    os.execv(program, ["ptxgen", *sys.argv[1:]])


if __name__ == "__main__":
    main()
