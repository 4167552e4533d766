#!/usr/bin/env python3
"""Lists operators that the CPU provider has a kernel for and that no generated case runs; fails when one has no excuse.

    coverage.py CASES TESSERA_INSPECT
"""

import pathlib
import re
import subprocess
import sys

import onnx

# Where no independent implementation gives an expectation.
EXCUSED = {
    "Bernoulli": "random", "Multinomial": "random", "RandomNormal": "random", "RandomNormalLike": "random", "RandomUniform": "random",
    "RandomUniformLike": "random",
    "ImageDecoder": "decoders may differ in the last bits of lossy formats; the published cases compare them",
    "Gradient": "neither peer runs it",
}


def kernels(inspect):
    """Operators of ai.onnx, its kin and com.microsoft in the table that tessera_inspect prints."""
    table = subprocess.run([inspect, "--operators"], capture_output=True, text=True, check=True).stdout
    section, found = "", set()
    for line in table.splitlines():
        if line.startswith("## "):
            section = line[3:].strip()
        row = re.match(r"\| (\w+) \| (ai\.onnx\S*|com\.microsoft) \|", line)
        if row and section == "CPUExecutionProvider":
            found.add((row[2], row[1]))
    return found


def operators(graph):
    for node in graph.node:
        yield node.domain or "ai.onnx", node.op_type
        for attribute in node.attribute:
            for nested in [attribute.g, *attribute.graphs]:
                yield from operators(nested)


def main():
    cases, inspect = pathlib.Path(sys.argv[1]), sys.argv[2]
    seen = set()
    for path in cases.glob("*/model.onnx"):
        seen.update(operators(onnx.load(path).graph))
    missing = sorted(kernels(inspect) - seen)
    bare = [(domain, op) for domain, op in missing if op not in EXCUSED]
    for domain, op in missing:
        print(f"{domain} {op}: {EXCUSED.get(op, 'NO RECIPE')}")
    print(f"{len(seen)} operators in the cases; {len(bare)} without a recipe")
    sys.exit(1 if bare else 0)


if __name__ == "__main__":
    main()
