#!/usr/bin/env python3
"""No call with null handles ends a process that ONNX Runtime's library would have let live.

usage: null_calls_test.py NULL_CALLS OUR_LIBRARY ENTRIES

NULL_CALLS calls each entry of both libraries with nothing; ENTRIES has their names. Skipped where ONNX Runtime's library cannot
be had."""

import subprocess
import sys
import tempfile
from pathlib import Path

from calls_test import SKIPPED, VERSION, genuine_library


def ends(program, library):
    run = subprocess.run([program, library], capture_output=True, text=True, timeout=800, check=True)
    return dict(line.split(": ") for line in run.stdout.splitlines())


def compare(program, ours, describe):
    """Exit status of a test whose program calls each entry of a library; `describe` says in words what a line of it names."""
    with tempfile.TemporaryDirectory() as folder:
        theirs = genuine_library(Path(folder))
        if theirs is None:
            print(f"skipped: ONNX Runtime {VERSION} cannot be had from the package index")
            return SKIPPED
        their_ends = ends(program, theirs)
    our_ends = ends(program, ours)
    wrong = [call for call, end in our_ends.items() if end == "ends" and their_ends[call] == "survives"]
    for call in wrong:
        print(f"{describe(*call.split())}: ends the process, theirs lets it live")
    survived = sum(end == "survives" for end in our_ends.values())
    theirs_survived = sum(end == "survives" for end in their_ends.values())
    print(f"{len(our_ends)} calls, {survived} survived, {theirs_survived} of ONNX Runtime's; {len(wrong)} wrong")
    return 1 if wrong or len(our_ends) < 1000 or len(our_ends) != len(their_ends) else 0


def main():
    program, ours, entries = sys.argv[1:]
    names = {}
    for line in Path(entries).read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            table, place, name, _ = line.split("\t")
            names[f"{table} {place}"] = name
    return compare(program, ours, lambda table, place, kind: f"{table}::{names[f'{table} {place}']} with {kind}")


if __name__ == "__main__":
    sys.exit(main())
