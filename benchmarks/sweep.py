#!/usr/bin/env python3
"""Times thousands of single operators at sizes of real models against ONNX Runtime, and tells where Tessera is slower.

    benchmarks/sweep.py [--threads 1,2] [--only REGEX] [--results FILE] [--below RATIO] [--config KEY=VALUE]... [--build build]
    benchmarks/sweep.py --table FILE

sweep_points.py has the points. Each runtime is a process of its own, and they take turns at each point; with one thread what counts is
processor time, so that others may use the machine, with more the time that passes; medians over batches of runs of a millisecond. Each
point has two rounds; what is below 1.1 then has four more. Results go to FILE (JSON) as they come, and those that are there already are
not measured again, but with --below those under this ratio. The ratio is ONNX Runtime's time over Tessera's: above 1.0, Tessera is faster.
"""

import argparse
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

import environments  # noqa: F401 (turns ONNX Runtime's telemetry off, before it is imported)
from operators import bound_run

SECONDS, BATCH, WARM_UP, FEWEST_BATCHES = 0.03, 1e-3, 5e-3, 5  # the last three as in session_runs.cpp
ROUNDS, MORE_ROUNDS, SURE = 2, 4, 1.1


def time_runs(path, threads):
    """ONNX Runtime's answer, as bench_session_runs gives Tessera's."""
    run = bound_run(path, threads)
    run()
    run()
    warm, begin = 0, time.perf_counter()
    while warm == 0 or time.perf_counter() - begin < WARM_UP:
        run()
        warm += 1
    batch = range(max(1, int(BATCH * warm / (time.perf_counter() - begin))))
    processor, passed, start = [], [], time.perf_counter()
    while len(passed) < FEWEST_BATCHES or time.perf_counter() - start < SECONDS:
        used, at = time.thread_time(), time.perf_counter()
        for _ in batch:
            run()
        passed.append((time.perf_counter() - at) * 1e6 / len(batch))
        processor.append((time.thread_time() - used) * 1e6 / len(batch))
    return {"processor_us": statistics.median(processor), "us": statistics.median(passed), "runs": len(batch) * len(passed)}


def serve(threads):
    for line in sys.stdin:
        try:
            answer = time_runs(line.strip(), threads)
        except Exception as error:  # whatever it is, the next model may do
            answer = {"error": str(error)}
        print(json.dumps(answer), flush=True)


class Runtime:
    """A process that times one model after another, started anew when it has died."""

    def __init__(self, command):
        self.command, self.process = command, None

    def ask(self, path):
        if self.process is None or self.process.poll() is not None:
            self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            self.process.stdin.write(f"{path}\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        return json.loads(line) if line else {"error": f"ended with status {self.process.wait()}"}

    def close(self):
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait()


def measure(path, runtimes, what):
    """Medians in microseconds of Tessera and ONNX Runtime, and the median of the rounds' ratios."""
    pairs = []
    for rounds in (ROUNDS, ROUNDS + MORE_ROUNDS):
        while len(pairs) < rounds:
            answers = [runtime.ask(path) for runtime in runtimes]
            for name, answer in zip(("Tessera", "ONNX Runtime"), answers):
                if "error" in answer:
                    return {"error": f"{name}: {answer['error'].strip().splitlines()[-1][:200]}"}
            pairs.append([answer[what] for answer in answers])
        ratio = statistics.median(theirs / ours for ours, theirs in pairs)
        if ratio >= SURE:
            break
    ours, theirs = (statistics.median(column) for column in zip(*pairs))
    return {"tessera_us": round(ours, 2), "onnxruntime_us": round(theirs, 2), "ratio": round(ratio, 3), "rounds": len(pairs)}


def save(path, results):
    beside = path.with_suffix(".new")
    beside.write_text(json.dumps(results, indent=0))
    beside.replace(path)


def sweep(arguments, threads, results):
    from sweep_points import all_points

    done = results.setdefault(str(threads), {})
    wanted = lambda point: point.name not in done or (arguments.below is not None and done[point.name].get("ratio", math.inf) < arguments.below)
    points = [point for point in all_points() if re.search(arguments.only, point.name) and wanted(point)]
    runtimes = [Runtime([arguments.build / "bin/bench_session_runs", str(threads), str(SECONDS), *arguments.config]),
                Runtime([sys.executable, __file__, "--serve", str(threads)])]
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "model.onnx")
        for i, point in enumerate(points):
            path.write_bytes(point.make().SerializeToString())
            result = measure(path, runtimes, "processor_us" if threads == 1 else "us")
            done[point.name] = {"family": point.family, "work": point.work, **result}
            if "error" in result or result["ratio"] < 1:
                print(f"{i + 1}/{len(points)} {point.name}: {result.get('error') or result}", flush=True)
            if i % 20 == 0:
                save(arguments.results, results)
    save(arguments.results, results)
    for runtime in runtimes:
        runtime.close()
    print(f"{len(points)} points at {threads} threads in {(time.perf_counter() - begin) / 60:.1f} minutes")


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def table(results):
    """A table of all families, and one of all points below 1.0, for each number of threads."""
    for threads, points in results.items():
        timed = [point for point in points.values() if "ratio" in point]
        rows = {}
        for point in timed:
            rows.setdefault(point["family"], []).append(point["ratio"])
        rows = {"all": [point["ratio"] for point in timed], **rows}
        print(f"## {threads} thread{'s' * (threads != '1')}\n\n| family | points | geometric mean | least | below 1.0 | below 0.9 |\n|---|---:|---:|---:|---:|---:|")
        for name, ratios in rows.items():
            print(f"| {name} | {len(ratios)} | {mean(ratios):.2f} | {min(ratios):.2f} | {sum(r < 1 for r in ratios)} | {sum(r < 0.9 for r in ratios)} |")
        print("\n| point | Tessera (us) | ONNX Runtime (us) | ratio |\n|---|---:|---:|---:|")
        for name, point in sorted(((name, point) for name, point in points.items() if point.get("ratio", 1) < 1), key=lambda pair: pair[1]["ratio"]):
            print(f"| {name} | {point['tessera_us']:.1f} | {point['onnxruntime_us']:.1f} | {point['ratio']:.2f} |")
        failed = {name: point["error"] for name, point in points.items() if "error" in point}
        print("".join(f"\nNot timed: {name}: {error}" for name, error in failed.items()))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", default="1")
    parser.add_argument("--only", default="", help="a regular expression that names of points hold")
    parser.add_argument("--results", type=pathlib.Path, default=pathlib.Path("sweep.json"))
    parser.add_argument("--below", type=float, help="measure points again whose ratio is less")
    parser.add_argument("--config", action="append", default=[], help="KEY=VALUE: an entry of the configuration of Tessera's sessions")
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path(__file__).parents[1] / "build")
    parser.add_argument("--table", type=pathlib.Path, help="print the tables of these results")
    parser.add_argument("--serve", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve is not None:
        serve(arguments.serve)
        return
    if arguments.table is not None:
        table(json.loads(arguments.table.read_text()))
        return
    results = json.loads(arguments.results.read_text()) if arguments.results.exists() else {}
    for threads in arguments.threads.split(","):
        sweep(arguments, int(threads), results)
    table(results)


if __name__ == "__main__":
    main()
