#!/usr/bin/env python3
"""Times single operators against ONNX Runtime and prints a Markdown table.

    benchmarks/operators.py [--threads 1,4] [--only REGEX] [--rounds N] [--fastest] [--build build]

Each measurement is its own process; the two runtimes take turns, and a row shows the median over the rounds, or with --fastest
the fastest run of all. Where the two are within a fifth of each other, three times as many rounds are run. The ratio is ONNX
Runtime's time over Tessera's: above 1.0, Tessera is faster.
"""

import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

# ONNX Runtime sends telemetry and writes to the home folder unless it is told not to, before it is imported.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
SECONDS = 0.25


def bound_run(path, threads):
    """A function that runs the model in ONNX Runtime once, on made-up inputs, with inputs and outputs bound."""
    import numpy as np
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    random = np.random.default_rng(0)
    binding = session.io_binding()
    kinds = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(float16)": np.float16, "tensor(int64)": np.int64,
             "tensor(int32)": np.int32, "tensor(int8)": np.int8, "tensor(uint8)": np.uint8, "tensor(bool)": np.bool_}
    for value in session.get_inputs():
        dtype = kinds[value.type]
        array = random.uniform(-1, 1, value.shape).astype(dtype) if np.issubdtype(dtype, np.floating) else random.integers(0, 2, value.shape).astype(dtype)
        binding.bind_ortvalue_input(value.name, onnxruntime.OrtValue.ortvalue_from_numpy(array))
    for value in session.get_outputs():
        binding.bind_output(value.name, "cpu")
    return lambda: session.run_with_iobinding(binding)


def time_ort(path, threads, statistic):
    """Median or least milliseconds of ONNX Runtime with inputs and outputs bound; runs in its own process."""
    import time

    run = bound_run(path, threads)
    for _ in range(5):
        run()
    times, begin = [], time.perf_counter()
    while time.perf_counter() - begin < SECONDS or len(times) < 5:
        start = time.perf_counter()
        run()
        times.append((time.perf_counter() - start) * 1e3)
    return min(times) if statistic == "min" else statistics.median(times)


def run_ort(path, threads, statistic):
    command = [sys.executable, __file__, "--ort", path, "--threads", str(threads)] + (["--fastest"] if statistic == "min" else [])
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def run_tessera(build, path, threads, provider, statistic):
    out = subprocess.run([build / "bin/tessera_perf", path, "-e", provider, "-t", str(threads), "--seconds", str(SECONDS), "--json"],
                         capture_output=True, text=True)
    if out.returncode != 0:
        raise RuntimeError(out.stderr.strip())
    return json.loads(out.stdout)["latency_ms"][statistic]


def compare(path, threads, arguments):
    """Milliseconds of Tessera and of ONNX Runtime, and the ratio."""
    pairs = []
    for rounds in (arguments.rounds, 3 * arguments.rounds):
        while len(pairs) < rounds:
            pairs.append((run_tessera(arguments.build, path, threads, arguments.provider, arguments.statistic),
                          run_ort(path, threads, arguments.statistic)))
        pick = min if arguments.statistic == "min" else statistics.median
        ours, theirs = (pick(column) for column in zip(*pairs))
        ratio = theirs / ours if arguments.statistic == "min" else statistics.median(b / a for a, b in pairs)
        if not 0.8 < ratio < 1.25:
            break
    return ours, theirs, ratio


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", default=f"1,{os.cpu_count()}")
    parser.add_argument("--only", default="")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--fastest", dest="statistic", action="store_const", const="min", default="median",
                        help="compare the fastest runs, not the medians: for a machine that others use, too")
    parser.add_argument("--provider", default="cpu")
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path(__file__).parents[1] / "build")
    parser.add_argument("--ort", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    threads = [int(t) for t in arguments.threads.split(",")]
    if arguments.ort:
        print(time_ort(arguments.ort, threads[0], arguments.statistic))
        return
    from operator_models import MODELS
    print("| operator | " + " | ".join(f"Tessera, {t} thr. (ms) | ONNX Runtime (ms) | ratio" for t in threads) + " |")
    print("|---|" + "---:|---:|---:|" * len(threads))
    slower = []
    with tempfile.TemporaryDirectory() as folder:
        for name, model in MODELS.items():
            if not re.search(arguments.only, name):
                continue
            path = os.path.join(folder, "model.onnx")
            pathlib.Path(path).write_bytes(model.SerializeToString())
            cells = []
            for count in threads:
                try:
                    ours, theirs, ratio = compare(path, count, arguments)
                    cells.append(f"{ours:.4f} | {theirs:.4f} | {ratio:.2f}")
                    if ratio < 1.0:
                        slower.append(f"{name} at {count}: {ratio:.2f}")
                except (RuntimeError, subprocess.CalledProcessError) as error:
                    cells.append(f"failed | failed | {str(error).splitlines()[-1][:60]}")
            print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
    print(f"\n{len(slower)} slower than ONNX Runtime: {'; '.join(slower) or 'none'}")


if __name__ == "__main__":
    main()
