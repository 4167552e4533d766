#!/usr/bin/env python3
"""Runs models in Tessera, ONNX Runtime and OpenVINO and prints Markdown tables of latency, load time and peak memory.

    benchmarks/compare.py MODELS_DIR [--threads 1,4] [--rounds N] [--only REGEX] [--provider cpu,dnnl] [--json FILE]
    benchmarks/compare.py MODELS_DIR --throughput
    benchmarks/compare.py MODELS_DIR --before BUILD      # this build beside that of another commit

Every measurement is its own process; the runtimes take turns, and a row shows medians over the rounds. All get the same seeded
inputs, and their outputs are compared with ONNX Runtime's. A ratio is the peer's time over Tessera's: above 1.0, Tessera is
faster. --throughput: as many callers as cores on one session, one thread each; runs a second instead of latency. --context: Tessera
loads from a context that it wrote before. Before each measurement files are read and memory is touched, so that loads are compared
and not what of both the kernel and a virtual machine's host have at hand. --before: the peer is the Tessera of another commit, built
there, with the first provider; what it reads of the command line must be what this one reads.
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

from environments import enter

HERE = pathlib.Path(__file__).resolve().parent
PACKAGES = ("numpy", "onnx==1.23.2", "onnxruntime==1.31.1", "openvino==2026.4.1")
NAMES = {"ort": "ORT", "openvino": "OpenVINO", "openvino-default": "OpenVINO (own precision)", "before": "before"}


class Failed(Exception):
    pass


def write_inputs(description, folder):
    import numpy as np
    import onnx

    random = np.random.default_rng(0)
    for i, value in enumerate(description["inputs"]):
        shape = [description["dims"].get(d, d) for d in value["shape"]]
        if value["dtype"].startswith("float"):
            array = random.uniform(value["low"], value["high"], shape)
        else:
            array = random.integers(int(value["low"]), int(value["high"]), shape)
        tensor = onnx.numpy_helper.from_array(array.astype(value["dtype"]), value["name"])
        onnx.save_tensor(tensor, str(folder / f"input_{i}.pb"))


def settle(paths):
    """Leaves files in the kernel's memory, and free memory to run in that a virtual machine's host has already given."""
    import numpy as np

    for path in paths:
        with open(path, "rb", buffering=0) as file:
            while file.read(16 << 20):
                pass
    np.ones(min(4 * sum(path.stat().st_size for path in paths), 4 << 30), np.uint8)


def error_against(folder, reference):
    """The largest difference of any output from the reference, as a share of that output's largest magnitude."""
    import numpy as np
    import onnx

    worst = 0.0
    for path in reference.glob("output_*.pb"):
        expected, actual = (onnx.numpy_helper.to_array(onnx.load_tensor(str(f / path.name))) for f in (reference, folder))
        if expected.shape != actual.shape:
            raise Failed(f"{path.stem}: shape {list(actual.shape)}, ONNX Runtime gives {list(expected.shape)}")
        if expected.size == 0:
            continue
        difference = np.abs(expected.astype(np.float64) - actual.astype(np.float64)).max()
        worst = max(worst, float(difference / max(np.abs(expected.astype(np.float64)).max(), 1e-30)))
        if not math.isfinite(worst):
            raise Failed(f"{path.stem}: not finite where ONNX Runtime's is")
    return worst


class Measurer:
    def __init__(self, arguments, model, work):
        self.arguments, self.model, self.work = arguments, model, work
        self.description = json.loads(model.with_suffix(".json").read_text())
        write_inputs(self.description, work)
        self.errors, self.contexts = {}, {}
        self.run("ort", 1, seconds=0.01)  # the reference

    def command(self, runtime, threads, seconds):
        common = [self.model, "--inputs", self.work, "--seconds", str(seconds), "--threads", str(threads),
                  "--callers", str(self.arguments.callers), "--warmup", str(self.arguments.warmup)]
        common += [part for entry in self.arguments.config for part in ("--config", entry)]
        if runtime == "before":
            return [self.arguments.before / "bin/tessera_perf", *common, "-e", self.arguments.provider[0], "--json"]
        if runtime in NAMES:
            return [sys.executable, HERE / "peers.py", runtime, *common]
        options = ["--precision", self.arguments.precision] if self.arguments.precision else []
        if self.arguments.context:
            options += ["--context", self.contexts.setdefault((runtime, threads), self.work / f"{runtime}_{threads}.context")]
        return [self.arguments.build / "bin/tessera_perf", *common, "-e", runtime, "--json", *options]

    def run(self, runtime, threads, seconds=None):
        """One measurement; the first one of each runtime and number of threads also yields outputs to compare."""
        command = self.command(runtime, threads, self.arguments.seconds if seconds is None else seconds)
        first = (runtime, threads) not in self.errors and self.arguments.callers == 1
        outputs = self.work / ("reference" if seconds is not None else runtime)
        if first:
            command += ["--outputs", outputs]
        context = self.contexts.get((runtime, threads))
        if context and not context.exists():
            self.execute(command)
        settle([*self.model.parent.glob(self.model.stem + ".*"), *([context] if context else [])])
        measurement = self.execute(command)
        if first and seconds is None:
            self.errors[runtime, threads] = error_against(outputs, self.work / "reference")
        return measurement

    def execute(self, command):
        try:
            out = subprocess.run(command, capture_output=True, text=True, timeout=self.arguments.timeout)
        except subprocess.TimeoutExpired:
            raise Failed(f"took over {self.arguments.timeout} s") from None
        if out.returncode != 0:
            raise Failed((out.stderr.strip().splitlines() or [f"exit code {out.returncode}"])[-1])
        return json.loads(out.stdout)

    def rounds(self, threads):
        """Measurements by runtime, or an error's text; the runtimes take turns."""
        runtimes = [*self.arguments.provider, *self.arguments.peers]
        found = {runtime: [] for runtime in runtimes}
        for _ in range(self.arguments.rounds):
            for runtime in runtimes:
                if isinstance(found[runtime], str):
                    continue
                try:
                    found[runtime].append(self.run(runtime, threads))
                except Failed as failure:
                    found[runtime] = str(failure)
        return found


def speed(measurement, arguments):
    """Runs a second: of all callers together, or one over the latency that counts."""
    return measurement["runs_per_second"] if arguments.throughput else 1e3 / measurement["latency_ms"][arguments.statistic]


def ratios_of(ours, theirs, arguments):
    """How many times as fast Tessera is, runs and loads, and its share of the peer's memory: medians over the rounds."""
    pairs = list(zip(ours, theirs))
    return {"speed": statistics.median(speed(a, arguments) / speed(b, arguments) for a, b in pairs),
            "load": statistics.median(b["load_ms"] / a["load_ms"] for a, b in pairs),
            "memory": statistics.median(a["peak_rss_mib"] / b["peak_rss_mib"] for a, b in pairs)}


def cell(measurements, pick, form="{:.2f}"):
    return "failed" if isinstance(measurements, str) else form.format(statistics.median(map(pick, measurements)))


def row(name, provider, found, errors, arguments):
    """A table's row for one provider, and its ratios by peer."""
    runtimes = [provider, *arguments.peers]
    shown = (lambda m: m["runs_per_second"]) if arguments.throughput else (lambda m: m["latency_ms"][arguments.statistic])
    ratios = {}
    for peer in arguments.peers:
        if not isinstance(found[provider], str) and not isinstance(found[peer], str):
            ratios[peer] = ratios_of(found[provider], found[peer], arguments)
    limit = arguments.limit
    difference = errors.get(provider)
    agrees = "" if difference is None else f"{difference:.1e}" if difference <= limit else f"**{difference:.1e}**"
    cells = [name, provider, *(cell(found[r], shown) for r in runtimes),
             *(f"{ratios[p]['speed']:.2f}" if p in ratios else "-" for p in arguments.peers),
             *(cell(found[r], lambda m: m["load_ms"], "{:.0f}") for r in runtimes),
             *(cell(found[r], lambda m: m["peak_rss_mib"], "{:.0f}") for r in runtimes), agrees]
    return "| " + " | ".join(cells) + " |", ratios


def header(arguments):
    unit = "runs/s" if arguments.throughput else "ms"
    peers = [NAMES[p] for p in arguments.peers]
    columns = ["model", "provider", *(f"{r}, {unit}" for r in ["Tessera", *peers]), *(f"{p} ratio" for p in peers),
               *(f"{r} load, ms" for r in ["Tessera", *peers]), *(f"{r} peak, MiB" for r in ["Tessera", *peers]), "difference"]
    return "| " + " | ".join(columns) + " |\n|---|---|" + "---:|" * (len(columns) - 2)


def summary(ratios, failures):
    """Geometric means and what is slower than a peer or failed, of (model, provider, threads, peer) -> ratios."""
    lines = []
    for provider, peer, threads in sorted({(key[1], key[3], key[2]) for key in ratios}):
        chosen = [r for key, r in ratios.items() if key[1:] == (provider, threads, peer)]
        mean = {of: math.exp(statistics.fmean(math.log(r[of]) for r in chosen)) for of in chosen[0]}
        below = sum(r["speed"] < 1 for r in chosen)
        lines.append(f"- {provider}, {threads} threads: {mean['speed']:.2f}x {NAMES[peer]} (geometric mean of {len(chosen)}; {below} below "
                     f"1.0); load {mean['load']:.1f}x as fast, memory {mean['memory']:.2f}x")
    slower = sorted((r["speed"], key) for key, r in ratios.items() if r["speed"] < 1)
    lines.append("\nBelow 1.0: " + ("; ".join(f"{k[0]} {k[1]} at {k[2]} beside {NAMES[k[3]]} {r:.2f}" for r, k in slower) or "none"))
    lines.append("\nFailed or wrong: " + ("; ".join(failures) or "none"))
    return "\n".join(lines)


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", type=pathlib.Path)
    split = lambda text: text.split(",")
    parser.add_argument("--threads", type=lambda text: [int(t) for t in split(text)], default=[1, os.cpu_count()])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1, help="how long each measurement runs")
    parser.add_argument("--warmup", type=int, default=5, help="runs before each measurement")
    parser.add_argument("--timeout", type=float, default=300, help="seconds after which a measurement counts as failed")
    parser.add_argument("--only", default="")
    parser.add_argument("--precision", default="", help="session.precision of Tessera: bf16, bf16-weights, fp16, int8-dynamic")
    parser.add_argument("--config", action="append", default=[], metavar="KEY=VALUE",
                        help="a session configuration entry of Tessera and ONNX Runtime")
    parser.add_argument("--provider", type=split, default=["cpu", "dnnl"])
    parser.add_argument("--peers", type=split, default=["ort", "openvino"], help="of ort, openvino, openvino-default")
    parser.add_argument("--before", type=pathlib.Path, metavar="BUILD", help="the build folder of the Tessera to compare with, for peers")
    parser.add_argument("--throughput", action="store_true")
    parser.add_argument("--context", action="store_true")
    parser.add_argument("--fastest", dest="statistic", action="store_const", const="min", default="median",
                        help="compare the fastest run of each measurement, not the median: for a machine that others use, too")
    parser.add_argument("--limit", type=float, default=1e-3, help="difference above which outputs do not agree")
    parser.add_argument("--json", type=pathlib.Path, help="every measurement")
    parser.add_argument("--build", type=pathlib.Path, default=HERE.parent / "build")
    parser.add_argument("--venv", type=pathlib.Path, default=HERE.parent / "build/peers-venv")
    arguments = parser.parse_args()
    if arguments.before:
        arguments.provider, arguments.peers = arguments.provider[:1], ["before"]
    arguments.callers = os.cpu_count() if arguments.throughput else 1
    if arguments.throughput:
        arguments.threads = [1]
    return arguments


def compare_model(arguments, model, threads, kept):
    """Rows of one model at one number of threads; the measurements go to `kept`, by (model, provider, threads)."""
    with tempfile.TemporaryDirectory() as work:
        measurer = Measurer(arguments, model, pathlib.Path(work))
        found = measurer.rounds(threads)
    limit = measurer.description.get("tolerance", arguments.limit)
    errors = {runtime: measurer.errors.get((runtime, threads)) for runtime in found}
    kept["results"].append({"model": model.stem, "threads": threads, "measurements": found, "differences": errors})
    for runtime, measurements in found.items():
        if isinstance(measurements, str):
            kept["failures"].append(f"{model.stem} {runtime} at {threads}: {measurements}")
        elif errors[runtime] is not None and errors[runtime] > limit:
            kept["failures"].append(f"{model.stem} {runtime} at {threads}: differs by {errors[runtime]:.1e}")
    for provider in arguments.provider:
        text, ratios = row(model.stem, provider, found, errors, argparse.Namespace(**{**vars(arguments), "limit": limit}))
        kept["ratios"].update({(model.stem, provider, threads, peer): r for peer, r in ratios.items()})
        print(text, flush=True)


def main():
    arguments = parse()
    enter(arguments.venv, PACKAGES)
    models = sorted(p for p in arguments.models.glob("*.onnx") if p.with_suffix(".json").exists() and re.search(arguments.only, p.stem))
    kept = {"results": [], "failures": [], "ratios": {}}
    for threads in arguments.threads:
        title = f"{arguments.callers} callers, one thread each" if arguments.throughput else f"{threads} thread{'s' * (threads > 1)}"
        print(f"\n### {title}\n\n{header(arguments)}")
        for model in models:
            try:
                compare_model(arguments, model, threads, kept)
            except Failed as failure:
                kept["failures"].append(f"{model.stem}: no reference: {failure}")
            if arguments.json:
                arguments.json.write_text(json.dumps({k: kept[k] for k in ("results", "failures")}, indent=1) + "\n")
    print(f"\n### In short\n\n{summary(kept['ratios'], kept['failures'])}")


if __name__ == "__main__":
    main()
