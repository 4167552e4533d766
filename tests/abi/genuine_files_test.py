#!/usr/bin/env python3
"""Reads files that ONNX Runtime itself wrote: models in its own format, and LoRA adapters.

usage: genuine_files_test.py RUN_FILE LIBRARY

Each is run by RUN_FILE on LIBRARY, and its results compared with those of ONNX Runtime. Then the files are damaged in many
places: each is refused or run; as is a file whose parts refer to the same ones over and over. Skipped where this Python has no onnxruntime."""

import os
import random
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

SKIPPED = 77
REFUSED = 3
DAMAGED = 60  # of each file
QUANTUM = 0.5  # of the quantized model's results

try:
    import numpy as np
    import onnx
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(SKIPPED)

RANDOM = np.random.default_rng(7)


def floats(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def model(nodes, inputs, outputs, weights=(), name="graph"):
    graph = helper.make_graph(nodes, name, inputs, outputs, [numpy_helper.from_array(value, key) for key, value in weights])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def value(name, shape, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def convolution():
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("GlobalAveragePool", ["r"], ["p"]),
        helper.make_node("Flatten", ["p"], ["f"]),
        helper.make_node("Gemm", ["f", "g", "h"], ["y"], transB=1),
    ]
    weights = [("w", floats(16, 3, 3, 3)), ("b", floats(16)), ("g", floats(100, 16)), ("h", floats(100))]
    return model(nodes, [value("x", ["n", 3, 8, 8])], [value("y", ["n", 100])], weights), {"x": floats(2, 3, 8, 8)}


def quantized():
    # Weights of 7 bits: ONNX Runtime saturates sums of two products on some processors.
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "xs", "xz"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "xs", "xz"], ["d"]),
        helper.make_node("DequantizeLinear", ["w", "ws", "wz"], ["v"]),
        helper.make_node("MatMul", ["d", "v"], ["m"]),
        helper.make_node("QuantizeLinear", ["m", "ys", "yz"], ["z"]),
        helper.make_node("DequantizeLinear", ["z", "ys", "yz"], ["y"]),
    ]
    weights = [
        ("xs", np.float32(0.05)), ("xz", np.uint8(128)), ("ws", np.float32(0.02)), ("wz", np.int8(0)), ("ys", np.float32(QUANTUM)),
        ("yz", np.uint8(128)), ("w", RANDOM.integers(-63, 63, (64, 96)).astype(np.int8)),
    ]  # fmt: skip
    return model(nodes, [value("x", [4, 64])], [value("y", [4, 96])], [(k, np.asarray(v)) for k, v in weights]), {"x": floats(4, 64)}


def control_flow():
    branch = lambda op: helper.make_graph([helper.make_node(op, ["x", "w"], [op])], op, [], [value(op, ["n", 3])])  # noqa: E731
    body = helper.make_graph(
        [helper.make_node("Add", ["carried", "chosen"], ["next"]), helper.make_node("Identity", ["go"], ["still"])],
        "body",
        [value("i", [], TensorProto.INT64), value("go", [], TensorProto.BOOL), value("carried", ["n", 3])],
        [value("still", [], TensorProto.BOOL), value("next", ["n", 3])],
    )
    nodes = [
        helper.make_node("If", ["which"], ["chosen"], then_branch=branch("Add"), else_branch=branch("Mul")),
        helper.make_node("Loop", ["times", "", "x"], ["y"], body=body),
    ]
    inputs = [value("x", ["n", 3]), value("which", [], TensorProto.BOOL), value("times", [], TensorProto.INT64)]
    feed = {"x": floats(2, 3), "which": np.array(False), "times": np.array(4, np.int64)}
    return model(nodes, inputs, [value("y", ["n", 3])], [("w", floats(3))]), feed


def adapted():
    """A matmul with a low-rank addition, whose operands an adapter has."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["m"]),
        helper.make_node("MatMul", ["x", "a"], ["l"]),
        helper.make_node("MatMul", ["l", "b"], ["r"]),
        helper.make_node("Add", ["m", "r"], ["y"]),
    ]
    weights = [("w", floats(8, 8)), ("a", np.zeros((8, 2), np.float32)), ("b", np.zeros((2, 8), np.float32))]
    inputs = [value("x", [3, 8]), value("a", [8, "rank"]), value("b", ["rank", 8])]
    return model(nodes, inputs, [value("y", [3, 8])], weights), {"x": floats(3, 8)}


def expected(path, feed, adapter=None):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    run = onnxruntime.RunOptions()
    if adapter is not None:
        loaded = onnxruntime.LoraAdapter()
        loaded.Load(str(adapter))
        run.add_active_adapter(loaded)
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, feed, run), strict=True))


def write_inputs(folder, feed):
    lines = []
    for name, array in feed.items():
        (folder / f"{name}.in").write_bytes(array.tobytes())
        kind = helper.np_dtype_to_tensor_dtype(array.dtype)
        lines.append(" ".join([name, str(kind), *map(str, array.shape)]))
    (folder / "inputs.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


class Runner:
    def __init__(self, program, library):
        self.command = [program, library]
        self.wrong = 0

    def run(self, path, folder, *adapter):
        return subprocess.run([*self.command, path, folder, *adapter], capture_output=True, text=True, timeout=120, check=False)

    def compare(self, name, path, folder, results, *adapter, tolerance=1e-4):
        ran = self.run(path, folder, *adapter)
        if ran.returncode != 0:
            print(f"{name}: {ran.returncode} {ran.stderr.strip()}")
            self.wrong += 1
            return
        for output, wanted in results.items():
            got = np.frombuffer((folder / f"{output}.out").read_bytes(), wanted.dtype)
            if got.size != wanted.size or not np.allclose(got, wanted.ravel(), rtol=1e-4, atol=tolerance):
                print(f"{name}: {output} is {got[:4]}..., expected {wanted.ravel()[:4]}...")
                self.wrong += 1

    def damage(self, name, path, folder, *adapter):
        """The last of the files is the one that is damaged."""
        good = Path(adapter[-1] if adapter else path)
        bytes_ = good.read_bytes()
        bad = folder / f"damaged{good.suffix}"
        stream = random.Random(11)
        refused = 0
        for i in range(DAMAGED):
            damaged = bytearray(bytes_)
            if i % 4 == 0:
                del damaged[stream.randrange(8, len(damaged)) :]
            else:
                for _ in range(stream.randrange(1, 4)):
                    # The offsets that lead through the file stand mostly at its ends.
                    at = stream.choice([stream.randrange(len(damaged)), stream.randrange(min(400, len(damaged)))])
                    damaged[at] = stream.choice([0, 1, 0x7F, 0x80, 0xFF])
            bad.write_bytes(damaged)
            ran = self.run(path, folder, bad) if adapter else self.run(bad, folder)
            refused += ran.returncode == REFUSED
            if ran.returncode not in (0, REFUSED):
                print(f"{name}, damaged as number {i}: {ran.returncode} {ran.stderr.strip()[-200:]}")
                self.wrong += 1
        print(f"{name}: {DAMAGED} damaged, {refused} of them refused")
        if refused == 0:
            self.wrong += 1


def converted(path):
    """The model in ONNX Runtime's format, beside it."""
    command = [sys.executable, "-m", "onnxruntime.tools.convert_onnx_models_to_ort", str(path), "--optimization_style", "Fixed"]
    subprocess.run(command, check=True, capture_output=True)
    return path.with_suffix(".ort")


class Flat:
    """A FlatBuffer under construction, whose tables have fields of four bytes."""

    def __init__(self):
        self.bytes = bytearray(b"\0\0\0\0ORTM")

    def add(self, data):
        self.bytes += b"\0" * (-len(self.bytes) % 4)
        self.bytes += data
        return len(self.bytes) - len(data)

    def table(self, *fields):
        """Where the table is, and where each of its fields."""
        slots = [0] * (max(fields) + 1)
        for k, field in enumerate(fields):
            slots[field] = 4 + 4 * k
        layout = self.add(struct.pack(f"<{len(slots) + 2}H", 4 + 2 * len(slots), 4 + 4 * len(fields), *slots))
        at = self.add(b"\0" * (4 + 4 * len(fields)))
        struct.pack_into("<i", self.bytes, at, at - layout)
        return at, [at + 4 + 4 * k for k in range(len(fields))]

    def vector(self, count):
        at = self.add(struct.pack("<I", count) + b"\0" * (4 * count))
        return at, [at + 4 + 4 * k for k in range(count)]

    def point(self, place, to):
        struct.pack_into("<I", self.bytes, place, to - place)


def graphs_in_graphs(levels):
    """A small file in whose every graph a node has the next graph twice: 2 to the power of `levels` in all."""
    flat = Flat()
    session, (model_field,) = flat.table(1)
    flat.point(0, session)
    made, (graph_field,) = flat.table(7)
    flat.point(model_field, made)
    places = [graph_field]
    for _ in range(levels):
        graph, (nodes_field,) = flat.table(2)
        for place in places:
            flat.point(place, graph)
        nodes, (node_place,) = flat.vector(1)
        flat.point(nodes_field, nodes)
        node, (attributes_field,) = flat.table(10)
        flat.point(node_place, node)
        attributes, attribute_places = flat.vector(2)
        flat.point(attributes_field, attributes)
        places = []
        for place in attribute_places:
            attribute, (kind_field, inner_field) = flat.table(2, 7)
            flat.point(place, attribute)
            struct.pack_into("<i", flat.bytes, kind_field, onnx.AttributeProto.GRAPH)
            places.append(inner_field)
    last, _ = flat.table(0)
    for place in places:
        flat.point(place, last)
    return bytes(flat.bytes)


def main():
    runner = Runner(*sys.argv[1:])
    with tempfile.TemporaryDirectory() as root:
        # A quantized result may be the next one where it lies in the middle.
        for make, tolerance in ((convolution, 1e-4), (quantized, QUANTUM), (control_flow, 1e-4)):
            folder = Path(root) / make.__name__
            folder.mkdir()
            made, feed = make()
            path = folder / "model.onnx"
            onnx.save(made, path)
            write_inputs(folder, feed)
            results = expected(path, feed)
            ort = converted(path)
            runner.compare(f"{make.__name__} as ONNX", path, folder, results, tolerance=tolerance)
            runner.compare(make.__name__, ort, folder, results, tolerance=tolerance)
            runner.damage(make.__name__, ort, folder)
        folder = Path(root) / "adapter"
        folder.mkdir()
        made, feed = adapted()
        path, adapter = folder / "model.onnx", folder / "adapter.onnx_adapter"
        onnx.save(made, path)
        write_inputs(folder, feed)
        parameters = {"a": floats(8, 4), "b": floats(4, 8)}
        written = onnxruntime.AdapterFormat()
        written.set_adapter_version(1)
        written.set_model_version(1)
        written.set_parameters({key: onnxruntime.OrtValue.ortvalue_from_numpy(array) for key, array in parameters.items()})
        written.export_adapter(str(adapter))
        runner.compare("without an adapter", path, folder, expected(path, feed))
        runner.compare("adapter", path, folder, expected(path, feed, adapter), adapter)
        runner.damage("adapter", path, folder, adapter)
        hostile = folder / "hostile.ort"
        hostile.write_bytes(graphs_in_graphs(60))
        ran = runner.run(hostile, folder)
        if ran.returncode != REFUSED or ran.stderr.split(":")[0] != "7":
            print(f"graphs in graphs: {ran.returncode} {ran.stderr.strip()}")
            runner.wrong += 1
    print(f"{runner.wrong} wrong")
    return 1 if runner.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
