"""What a run costs beside the model: a tiny one, Tessera and ONNX Runtime in turn in one process, best of several rounds.

PYTHONPATH=build/python python benchmarks/python_overhead.py
"""

from __future__ import annotations

import os
import sys
import timeit
from typing import Callable

import numpy as np
import onnx
from onnx import TensorProto, helper

os.environ["ORT_DISABLE_TELEMETRY"] = "1"
import onnxruntime  # noqa: E402

import tessera  # noqa: E402

ROUNDS, RUNS = 9, 5000


def tiny_model() -> bytes:
    """z = x + y"""
    info = helper.make_tensor_value_info
    inputs = [info("x", TensorProto.FLOAT, ["n", 4]), info("y", TensorProto.FLOAT, [4])]
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "y"], ["z"])], "g", inputs, [info("z", TensorProto.FLOAT, ["n", 4])]
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9).SerializeToString()


def ways(ort) -> dict[str, Callable[[], object]]:
    """The ways to run, ready to be called."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(tiny_model(), options, providers=["CPUExecutionProvider"])
    feed = {"x": np.ones((2, 4), np.float32), "y": np.arange(4, dtype=np.float32)}
    binding = session.io_binding()
    for name, array in feed.items():
        binding.bind_cpu_input(name, array)
    binding.bind_ortvalue_output("z", ort.OrtValue.ortvalue_from_shape_and_type([2, 4], np.float32))
    values = {name: ort.OrtValue.ortvalue_from_numpy(array) for name, array in feed.items()}
    return {
        "run": lambda: session.run(None, feed),
        "run_with_iobinding": lambda: session.run_with_iobinding(binding),
        "run_with_ort_values": lambda: session.run_with_ort_values(["z"], values),
    }


def main() -> None:
    """Prints microseconds of each and their ratio."""
    own, genuine = ways(tessera), ways(onnxruntime)
    print(f"{'':22}{'Tessera':>10}{'ONNX Runtime':>14}{'ratio':>8}")
    for name in own:
        times = [[], []]
        for _ in range(ROUNDS):  # in turn, so that both see the same machine
            for kept, function in zip(times, (own[name], genuine[name])):
                kept.append(timeit.timeit(function, number=RUNS) / RUNS * 1e6)
        mine, theirs = map(min, times)
        print(f"{name:22}{mine:8.2f}us{theirs:12.2f}us{mine / theirs:8.2f}")


if __name__ == "__main__":
    print(f"Python {sys.version.split()[0]}, onnx {onnx.__version__}, numpy {np.__version__}")
    main()
