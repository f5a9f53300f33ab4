"""python -m ptxgen.triton PROGRAM.py: a Triton program, unchanged, on the emulator."""

import argparse
import atexit
import os
import runpy
import sys
import traceback

_ABOUT = """Runs a program that uses Triton or Gluon, unchanged, without a GPU: device="cuda" means the CPU, and kernels run
on the emulator. Exit code: the program's; 1 when checking found a defect."""


def _options():
    parser = argparse.ArgumentParser(prog="python -m ptxgen.triton", description=_ABOUT)
    parser.add_argument("--arch", default="sm_90",
        help="what kernels are compiled for: sm_80 to sm_90, sm_100 (default sm_90)")
    parser.add_argument("--sms", type=int, default=132,
                        help="multiprocessors that the program is told (default 132)")
    parser.add_argument("--check-races", action="store_true",
                        help="find races, missing fences and misuse")
    parser.add_argument("--order", choices=("hw", "isa"), default="hw",
                        help="isa: draw what the ISA does not order")
    parser.add_argument("--seed", type=int, default=0, help="what --order isa draws from")
    parser.add_argument("--threads", type=int, default=0, help="host threads, 0: one a processor")
    parser.add_argument("--trust-pointers", action="store_true",
                        help="let kernels use any address of the process")
    parser.add_argument("--benchmarks", action="store_true",
                        help="run triton.testing's reports too (their times mean nothing)")
    parser.add_argument("-m", dest="module", action="store_true",
                        help="PROGRAM is a module, as python -m has it: pytest")
    parser.add_argument("program", metavar="PROGRAM")
    parser.add_argument("args", nargs=argparse.REMAINDER, metavar="ARGS")
    return parser


def _skip_benchmarks():
    import triton.testing

    def run(self, *args, **kwargs):
        print("ptxgen: a benchmark is left out (--benchmarks runs it)", file=sys.stderr)

    triton.testing.Mark.run = run


_kept = []  # the program's globals, or the exception that holds them: see _leave


def _run(options):
    """The program's exit code."""
    sys.argv = [options.program, *options.args]
    try:
        if options.module:
            sys.path.insert(0, "")
            _kept.append(runpy.run_module(options.program, run_name="__main__", alter_sys=True))
        else:
            sys.path.insert(0, os.path.dirname(os.path.abspath(options.program)))
            _kept.append(runpy.run_path(options.program, run_name="__main__"))
    except SystemExit as e:
        _kept.append(e)
        if isinstance(e.code, str):
            print(e.code, file=sys.stderr)
        return e.code if isinstance(e.code, int) else int(e.code is not None)
    except BaseException as e:
        _kept.append(e)
        traceback.print_exc()
        return 1
    return 0


def _leave(code):
    """Ends the process. Libraries that the program made for a GPU (cuBLAS) crash when they are torn
    down without one, so they are not: not here, and not with the program's globals when its last
    line is done."""
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def main():
    options = _options().parse_args()
    from . import enable, reports
    from ._torch_cuda import install

    enable(options.arch, sms=options.sms, check=options.check_races, order=options.order,
           seed=options.seed,
           threads=options.threads, trust_pointers=options.trust_pointers)
    install()
    if not options.benchmarks:
        _skip_benchmarks()
    code = _run(options)
    if not code and any(r.severity != "advice" for _, r in reports()):
        code = 1
    _leave(code)


if __name__ == "__main__":
    main()
