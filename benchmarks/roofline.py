#!/usr/bin/env python3
"""How near a model of float32 runs to what the machine allows: floating-point operations, bytes, time and share of the peak by layer.

    benchmarks/roofline.py MODELS_DIR [--only REGEX] [--threads N] [--layers] [--peer]

A layer's operations are the multiply-adds of its convolution, matmul, attention or recurrence, two each, as the definition has them:
Winograd's convolutions need fewer and may pass the peak. Its bytes are inputs, weights and outputs, once. The least time of a layer is
its operations at the speed of multiply-adds on registers or, where all weights together exceed the last cache, its weights at the
speed of memory, whichever is longer; bench_machine measures both speeds. Layers of other kinds count no operations and no least time.
The least time of the model is what no runtime can pass that computes in float32 and by the definition; a peer's time over it, what
faster a runtime could be than that peer. Each node's time is the median of its profiled runs; clocks change from minute to minute, so
that the machine is measured again before each model.
"""

import argparse
import collections
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

import compare
from environments import enter

Layer = collections.namedtuple("Layer", "name flop bytes weights ms")
SHAPE = re.compile(r"(\w+)\[([\d,]*)\]|(unknown|-)")
SMALL = 0.01  # share of a model's time below which kinds of layers are summed up
BYTES = {"float": 4, "int64": 8, "double": 8, "float16": 2, "bfloat16": 2, "int32": 4}


def machine(build, threads):
    """(FLOP/s, bytes/s) of as many threads, or of all there are."""
    command = [build / "bin/bench_machine", "--benchmark_format=json", f"--benchmark_filter=threads:{min(threads, os.cpu_count())}$",
               "--benchmark_min_time=0.1", "--benchmark_repetitions=5"]
    results = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)["benchmarks"]
    return tuple(statistics.median(result[unit] for result in results if unit in result and result["run_type"] == "iteration")
                 for unit in ("FLOP", "bytes"))


def last_cache():
    """Bytes of the largest cache of the first processor; 0 where the system does not tell."""
    sizes = [0]
    for path in pathlib.Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size"):
        sizes.append(int(path.read_text().strip().rstrip("K")) * 1024)
    return max(sizes)


def shapes(text):
    """Of "float[2,3], unknown": [(4, [2, 3]), None]."""
    found = []
    for kind, dims, unknown in SHAPE.findall(text):
        found.append(None if unknown else (BYTES.get(kind, 1), [int(d) for d in dims.split(",") if d]))
    return found


def size(shape):
    return 0 if shape is None else shape[0] * math.prod(shape[1])


def window(weights):
    return "x".join(str(d) for d in weights[2:])


class Counter:
    """Names layers and counts their operations and weights (numbers, not bytes), from a profiled node and the model's own."""

    def __init__(self, path):
        import onnx

        model = onnx.load(str(path), load_external_data=False)
        constants = {tensor.name: list(tensor.dims) for tensor in model.graph.initializer}
        convolutions = [node for node in model.graph.node if node.op_type in ("Conv", "ConvTranspose")]
        self.weights = {node.name: constants.get(node.input[1]) for node in convolutions}

    def __call__(self, kind, name, inputs, outputs):
        """(name, operations, weights); None for other kinds of nodes."""
        if "Conv" in kind:
            return self.convolution(kind, name, inputs, outputs)
        if not inputs or inputs[0] is None or not outputs or outputs[0] is None:
            return None
        given, made = inputs[0][1], outputs[0][1]
        if kind in ("Linear", "MatMul", "Gemm", "FusedMatMul"):
            rows, columns, depth = math.prod(made[:-1]), made[-1], given[-1]
            constant = len(inputs) < 2 or inputs[1] is None
            return f"{rows} x {columns} x {depth}", 2 * rows * columns * depth, columns * depth if constant else 0
        if "Attention" in kind:
            keys = next((x[1][-2] for x in (inputs[1:2] + inputs[3:]) if x is not None and len(x[1]) > 2), made[-2])
            return f"attention, {made[-2]} by {keys}", 4 * math.prod(made) * keys, 0
        if kind in ("LSTM", "GRU") and len(made) == 4:
            gates = {"LSTM": 4, "GRU": 3}[kind]
            length, directions, batch, hidden = made
            weights = directions * gates * hidden * (given[-1] + hidden)
            return f"{kind} of {length}, {given[-1]} to {hidden}", 2 * length * batch * weights, weights
        return None

    def convolution(self, kind, name, inputs, outputs):
        weights = self.weights.get(name)
        transposed = "Transpose" in kind
        source = inputs[0] if transposed else outputs[0]
        if weights is None or source is None:
            return None
        dims = source[1]
        nchw8c = len(dims) == len(weights) + 1
        spatial = dims[1:-1] if kind.endswith("Nhwc") else dims[2:-1] if nchw8c else dims[2:]
        flop = 2 * dims[0] * math.prod(spatial) * math.prod(weights)
        image = "x".join(str(d) for d in spatial)
        text = f"{window(weights)} transposed, {weights[0]} to {weights[1]}" if transposed else f"{window(weights)}, {weights[1]} to {weights[0]}"
        return f"{text}, {image}", flop, math.prod(weights)


def measure(command, arguments, path, work):
    """What a runtime's command measures of a model with the inputs in `work`."""
    common = [path, "--inputs", work, "--seconds", str(arguments.seconds), "--threads", str(arguments.threads)]
    compare.settle([*path.parent.glob(path.stem + ".*")])
    return json.loads(subprocess.run([*command, *common], capture_output=True, text=True, check=True).stdout)


def profile(arguments, path, work):
    """(median ms of a run, layers) of a model."""
    trace = pathlib.Path(work) / "trace.json"
    result = measure([arguments.build / "bin/tessera_perf", "-e", "cpu", "--trace", trace, "--json"], arguments, path, work)
    events = json.loads(trace.read_text())
    trace.unlink()
    runs = collections.defaultdict(list)
    for event in events:
        if event.get("cat") == "Node":
            runs[event["name"]].append(event)
    count, layers = Counter(path), []
    for label, run in runs.items():
        kind = run[-1]["args"]["op_type"]
        inputs, outputs = (shapes(run[-1]["args"][side]) for side in ("inputs", "outputs"))
        found = count(kind, label.split("'")[1] if "'" in label else "", inputs, outputs)
        name, flop, weights = found or (kind, 0, 0)
        total = sum(map(size, inputs)) + sum(map(size, outputs)) + 4 * weights
        layers.append(Layer(name, flop, total, 4 * weights, statistics.median(event["dur"] for event in run) / 1e3))
    return result["latency_ms"]["median"], layers


def least_ms(layer, peak, memory, in_cache):
    return 1e3 * max(layer.flop / peak, 0 if in_cache else layer.weights / memory)


def print_layers(model, layers, peak, bounds):
    print(f"\n| {model}, layer | nodes | GFLOP | MB | ms | GFLOP/s | share of peak | least ms |\n|---|---:|---:|---:|---:|---:|---:|---:|")
    groups = collections.defaultdict(list)
    for layer, bound in zip(layers, bounds):
        groups[layer.name].append((layer, bound))

    def line(name, group):
        flop, moved, ms = (sum(getattr(layer, field) for layer, _ in group) for field in ("flop", "bytes", "ms"))
        speed = f"{flop / ms / 1e6:.0f} | {flop / ms / 1e-3 / peak:.2f}" if flop else "|"
        print(f"| {name} | {len(group)} | {flop / 1e9:.2f} | {moved / 1e6:.1f} | {ms:.3f} | {speed} | {sum(bound for _, bound in group):.3f} |")

    time = {name: sum(layer.ms for layer, _ in group) for name, group in groups.items()}
    small = [name for name in groups if time[name] < SMALL * sum(time.values())]
    for name in sorted(set(groups) - set(small), key=lambda name: -time[name]):
        line(name, groups[name])
    if small:
        line(f"others, below {SMALL:.0%} each", [pair for name in small for pair in groups[name]])
    line("all", list(zip(layers, bounds)))


def peer_ms(arguments, path, work):
    """The median of ONNX Runtime."""
    return measure([sys.executable, compare.HERE / "peers.py", "ort"], arguments, path, work)["latency_ms"]["median"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", type=pathlib.Path)
    parser.add_argument("--only", default="^(?!.*(int8|int4))")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--layers", action="store_true", help="a table of each model's layers")
    parser.add_argument("--peer", action="store_true", help="ONNX Runtime's time beside")
    parser.add_argument("--build", type=pathlib.Path, default=compare.HERE.parent / "build")
    parser.add_argument("--venv", type=pathlib.Path, default=compare.HERE.parent / "build/peers-venv")
    arguments = parser.parse_args()
    enter(arguments.venv, compare.PACKAGES)
    rows, possible, reached = [], [], []
    for path in sorted(p for p in arguments.models.glob("*.onnx") if p.with_suffix(".json").exists() and re.search(arguments.only, p.stem)):
        peak, memory = machine(arguments.build, arguments.threads)
        with tempfile.TemporaryDirectory() as work:
            compare.write_inputs(json.loads(path.with_suffix(".json").read_text()), pathlib.Path(work))
            ms, layers = profile(arguments, path, work)
            other = peer_ms(arguments, path, work) if arguments.peer else math.nan
        weights = sum(layer.weights for layer in layers)
        bounds = [least_ms(layer, peak, memory, weights <= last_cache()) for layer in layers]
        if arguments.layers:
            print_layers(path.stem, layers, peak, bounds)
        least, flop = sum(bounds), sum(layer.flop for layer in layers)
        row = f"| {path.stem} | {flop / 1e9:.2f} | {weights / 1e6:.0f} | {peak / 1e9:.0f} | {memory / 1e9:.1f} | {least:.2f} | {ms:.2f} | {least / ms:.2f} |"
        if arguments.peer:
            possible.append(other / least)
            reached.append(other / ms)
            row += f" {other:.2f} | {other / ms:.2f} | {other / least:.2f} |"
        rows.append(row)
    print("\n| model | GFLOP | weights, MB | peak, GFLOP/s | memory, GB/s | least ms | Tessera, ms | least / Tessera |" + " ORT, ms | ratio | ORT / least |" * arguments.peer)
    print("|---" + "|---:" * (10 if arguments.peer else 7) + "|\n" + "\n".join(rows))
    if arguments.peer:
        mean = lambda values: math.exp(sum(map(math.log, values)) / len(values))
        print(f"\nGeometric means: {mean(reached):.2f}x ONNX Runtime, at the least times {mean(possible):.2f}x")


if __name__ == "__main__":
    main()
