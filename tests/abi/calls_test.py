#!/usr/bin/env python3
"""Makes the calls of calls.cpp on this build's library and on ONNX Runtime's own, and compares what they answer.

usage: calls_test.py CALLS OUR_LIBRARY DIFFERENCES

Where they differ, a line of DIFFERENCES says so and why. ONNX Runtime's library comes out of its Python package; where that
cannot be had, the test is skipped."""

import os
import re
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # which the genuine library reads in the programs that run on it

VERSION = "1.31.1"
SKIPPED = 77


def genuine_library(folder):
    """The path of ONNX Runtime's library: that of the environment, else out of the package."""
    given = os.environ.get("TESSERA_GENUINE_ONNXRUNTIME")
    if given:
        return given
    venv.create(folder, with_pip=True)
    pip = [folder / "bin" / "pip", "--quiet", "download", "--no-deps", "--dest", folder, f"onnxruntime=={VERSION}"]
    if subprocess.run(pip, stderr=subprocess.DEVNULL, check=False).returncode != 0:
        return None
    wheel = next(folder.glob("onnxruntime-*.whl"))
    subprocess.run([folder / "bin" / "python", "-m", "zipfile", "-e", wheel, folder / "wheel"], check=True)
    return str(next((folder / "wheel" / "onnxruntime" / "capi").glob("libonnxruntime.so*")))


def answers(program, library):
    """What each call answers, by its name, and the program's code."""
    run = subprocess.run([program, library], capture_output=True, text=True, timeout=120, check=False)
    calls = {}
    name = ""
    for line in run.stdout.splitlines():
        if line.startswith(" "):  # more of the call before
            calls[name] += line
        else:
            name, _, answer = line.partition(": ")
            while name in calls:
                name += "'"
            calls[name] = answer
    return calls, run.returncode


def main():
    program, ours, differences = sys.argv[1:]
    known = {}
    for line in Path(differences).read_text(encoding="utf-8").splitlines():
        match = re.match(r"([^#:]+): (.*?) instead of (.*?): (.+)", line)
        if match:
            known[match[1]] = (match[2], match[3])
    with tempfile.TemporaryDirectory() as folder:
        theirs = genuine_library(Path(folder))
        if theirs is None:
            print(f"skipped: ONNX Runtime {VERSION} cannot be had from the package index")
            return SKIPPED
        our_answers, our_code = answers(program, ours)
        their_answers, their_code = answers(program, theirs)
    wrong = 0
    for name in dict.fromkeys([*their_answers, *our_answers]):
        pair = (our_answers.get(name, "nothing"), their_answers.get(name, "nothing"))
        if pair[0] == pair[1]:
            if name in known:
                print(f"{name}: both answer {pair[0]}, so that it is no difference any more")
                wrong += 1
        elif known.get(name) != pair:
            print(f"{name}: {pair[0]} instead of {pair[1]}")
            wrong += 1
    print(f"{len(their_answers)} answers, {len(known)} known differences, {wrong} unexpected; codes {our_code}, {their_code}")
    return 1 if wrong or our_code else 0


if __name__ == "__main__":
    sys.exit(main())
