#!/usr/bin/env python3
"""No call with a handle that was released, is of another type or was never made ends a process that ONNX Runtime's library would
have let live.

usage: handle_calls_test.py HANDLE_CALLS OUR_LIBRARY

HANDLE_CALLS calls each entry of both libraries. Skipped where ONNX Runtime's library cannot be had."""

import sys
import tempfile
from pathlib import Path

from calls_test import SKIPPED, VERSION, genuine_library
from null_calls_test import ends


def main():
    program, ours = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        theirs = genuine_library(Path(folder))
        if theirs is None:
            print(f"skipped: ONNX Runtime {VERSION} cannot be had from the package index")
            return SKIPPED
        their_ends = ends(program, theirs)
    our_ends = ends(program, ours)
    wrong = [call for call, end in our_ends.items() if end == "ends" and their_ends[call] == "survives"]
    for call in wrong:
        entry, place, kind = call.split()
        print(f"{entry} with argument {place} {kind}: ends the process, theirs lets it live")
    survived = sum(end == "survives" for end in our_ends.values())
    theirs_survived = sum(end == "survives" for end in their_ends.values())
    print(f"{len(our_ends)} calls, {survived} survived, {theirs_survived} of ONNX Runtime's; {len(wrong)} wrong")
    return 1 if wrong or len(our_ends) < 1000 or len(our_ends) != len(their_ends) else 0


if __name__ == "__main__":
    sys.exit(main())
