#!/usr/bin/env python3
"""Measures what a service with little to do costs: a model that runs a few times a second, in Tessera and in ONNX Runtime.

    benchmarks/idle.py [MODEL] [--rate 6] [--seconds 10] [--busy N] [--rounds 3] [--build build]

Both run with their defaults, a thread a core. Prints what each process takes of one core, and its median latency; with --rate 0 runs
follow each other. --busy N: so many other processes compute meanwhile. Without MODEL: a small convolutional network. Each measurement
is a process of its own, the two take turns, and the median over the rounds counts.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from operators import bound_run

BUSY = "while True: pass"


def network():
    """Eight 3x3 convolutions of 32 channels on a picture of 56 x 56."""
    random, nodes, weights, last = np.random.default_rng(0), [], [], "x"
    for i in range(8):
        weights.append(numpy_helper.from_array(random.standard_normal((32, 32, 3, 3), np.float32) * np.float32(0.05), f"w{i}"))
        nodes += [helper.make_node("Conv", [last, f"w{i}"], [f"c{i}"], pads=[1] * 4), helper.make_node("Relu", [f"c{i}"], [f"r{i}"])]
        last = f"r{i}"
    shape = [1, 32, 56, 56]
    graph = helper.make_graph(nodes, "network", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info(last, TensorProto.FLOAT, shape)], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def run_ort(path, rate, seconds):
    """What bench_paced_runs does, by ONNX Runtime, in this process."""
    run, milliseconds = bound_run(path, 0), []
    for _ in range(5):
        run()
    used, begin = time.process_time(), time.perf_counter()
    while not milliseconds or time.perf_counter() - begin < seconds:
        start = time.perf_counter()
        run()
        milliseconds.append((time.perf_counter() - start) * 1e3)
        if rate > 0:
            time.sleep(max(0, begin + len(milliseconds) / rate - time.perf_counter()))
    share = (time.process_time() - used) / (time.perf_counter() - begin)
    return {"share": share, "median_ms": statistics.median(milliseconds), "runs": len(milliseconds)}


def measure(command):
    return json.loads(subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?")
    parser.add_argument("--rate", type=float, default=6)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--busy", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path(__file__).parents[1] / "build")
    parser.add_argument("--ort", action="store_true", help=argparse.SUPPRESS)  # the process that runs ONNX Runtime
    arguments = parser.parse_args()
    if arguments.ort:
        print(json.dumps(run_ort(arguments.model, arguments.rate, arguments.seconds)))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = arguments.model or os.path.join(folder, "network.onnx")
        if not arguments.model:
            pathlib.Path(path).write_bytes(network().SerializeToString())
        commands = {"Tessera": [arguments.build / "bin/bench_paced_runs", path, arguments.rate, arguments.seconds],
                    "ONNX Runtime": [sys.executable, __file__, path, "--ort", "--rate", arguments.rate, "--seconds", arguments.seconds]}
        others = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(arguments.busy)]
        try:
            rounds = [{name: measure(command) for name, command in commands.items()} for _ in range(arguments.rounds)]
        finally:
            for other in others:
                other.kill()
                other.wait()
    print("| | of one core | median latency |\n|---|---:|---:|")
    for name in commands:
        share, latency = (statistics.median(one[name][key] for one in rounds) for key in ("share", "median_ms"))
        print(f"| {name} | {100 * share:.1f} % | {latency:.2f} ms |")


if __name__ == "__main__":
    main()
