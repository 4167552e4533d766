"""Runs programs written for ONNX Runtime, unchanged, on Tessera::

    python -m tessera.onnxruntime PROGRAM [ARGS...]
    python -m tessera.onnxruntime -m MODULE [ARGS...]
    PYTHONPATH=$(python -m tessera.onnxruntime --path) PROGRAM [ARGS...]

The program's ``import onnxruntime`` gets Tessera; where ONNX Runtime's package is installed, too, its parts that are
written in Python (quantization, transformers, tools) come from there. So do processes that the program starts.
"""

from __future__ import annotations

import os
import runpy
import shutil
import sys

STAND_IN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "stand_in")
"""The folder that goes before all others: it has a package named onnxruntime, and nothing else."""


def install() -> None:
    """From now on ``import onnxruntime`` gets Tessera, in this process and those that it starts."""
    if STAND_IN not in sys.path:
        sys.path.insert(0, STAND_IN)
    before = os.environ.get("PYTHONPATH", "")
    if STAND_IN not in before.split(os.pathsep):
        os.environ["PYTHONPATH"] = STAND_IN + (os.pathsep + before if before else "")


def main(arguments: list[str]) -> int:
    """The command line."""
    if arguments == ["--path"]:
        print(STAND_IN)
        return 0
    by_module = arguments[:1] == ["-m"]
    program = arguments[1:] if by_module else arguments
    if not program or program[0] in ("-h", "--help"):
        print(__doc__)
        return 0 if program else 2
    install()
    sys.argv = program
    if by_module:
        runpy.run_module(program[0], run_name="__main__", alter_sys=True)
        return 0
    path = program[0] if os.path.exists(program[0]) else shutil.which(program[0])
    if path is None:
        print(f"no program '{program[0]}' is here or in PATH", file=sys.stderr)
        return 2
    # As python itself does for a script; our own package comes first.
    sys.path.insert(1, os.path.dirname(os.path.abspath(path)))
    runpy.run_path(path, run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
