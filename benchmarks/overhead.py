#!/usr/bin/env python3
"""Measures what the executor itself costs: a chain of scalar Adds, where kernels have next to nothing to do.

    benchmarks/overhead.py [--threads 1,4] [--nodes 1000] [--rounds N] [--build build]

Prints microseconds a node and heap allocations a run beside ONNX Runtime's time; exit code 1 when a node costs more than
--limit microseconds on one thread, or when a steady-state run allocates.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

from onnx import TensorProto, helper

from operators import SECONDS, run_ort


def chain(nodes):
    names = ["x"] + [f"v{i}" for i in range(1, nodes)] + ["y"]
    adds = [helper.make_node("Add", [names[i], "x"], [names[i + 1]]) for i in range(nodes)]
    graph = helper.make_graph(adds, "chain", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [])])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def run_tessera(build, path, threads):
    out = subprocess.run([build / "bin/tessera_perf", path, "-t", str(threads), "--seconds", str(SECONDS), "--json"],
                         capture_output=True, text=True, check=True)
    result = json.loads(out.stdout)
    return result["latency_ms"]["median"], result["allocations_per_run"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", default=f"1,{os.cpu_count()}")
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--limit", type=float, default=0.3)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path(__file__).parents[1] / "build")
    arguments = parser.parse_args()
    failed = False
    print("| threads | Tessera (us a node) | allocations a run | ONNX Runtime (us a node) | ratio |\n|---:|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "chain.onnx")
        pathlib.Path(path).write_bytes(chain(arguments.nodes).SerializeToString())
        for threads in [int(t) for t in arguments.threads.split(",")]:
            rounds = [(*run_tessera(arguments.build, path, threads), run_ort(path, threads)) for _ in range(arguments.rounds)]
            ours, allocations, theirs = (statistics.median(column) for column in zip(*rounds))
            scale = 1e3 / arguments.nodes
            print(f"| {threads} | {ours * scale:.4f} | {allocations:g} | {theirs * scale:.4f} | {theirs / ours:.1f} |", flush=True)
            failed |= allocations != 0 or (threads == 1 and ours * scale > arguments.limit)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
