#!/usr/bin/env python3
"""Makes the files that the unit tests of the crate `ort` read: models and an adapter with the answers that they expect.

usage: rust_test_data.py FOLDER"""

import os
import sys
from pathlib import Path

import numpy as np

os.environ["ORT_DISABLE_TELEMETRY"] = "1"
import onnxruntime as ort  # noqa: E402
from onnx import TensorProto, checker, helper, numpy_helper, save


def model(nodes, inputs, outputs, weights=()):
    graph = helper.make_graph(nodes, "graph", inputs, outputs, [numpy_helper.from_array(value, name) for name, value in weights])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    checker.check_model(made)
    return made


def upsample():
    """An image twice as large."""
    scales = np.array([1, 2, 2, 1], np.float32)
    return model(
        [helper.make_node("Resize", ["x", "", "scales"], ["y"], mode="nearest")],
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", "height", "width", 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", None, None, 3])],
        [("scales", scales)],
    )


def lora():
    """A matmul with a weight, and with two small ones that an adapter gives: nothing without one."""
    weight = np.arange(1, 17, dtype=np.float32).reshape(4, 4)
    small = [("a", np.zeros((4, 1), np.float32)), ("b", np.zeros((1, 4), np.float32))]
    return model(
        [
            helper.make_node("MatMul", ["x", "weight"], ["whole"]),
            helper.make_node("MatMul", ["x", "a"], ["narrow"]),
            helper.make_node("MatMul", ["narrow", "b"], ["change"]),
            helper.make_node("Add", ["whole", "change"], ["output"]),
        ],
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 4]),
            helper.make_tensor_value_info("a", TensorProto.FLOAT, [4, 1]),
            helper.make_tensor_value_info("b", TensorProto.FLOAT, [1, 4]),
        ],
        [helper.make_tensor_value_info("output", TensorProto.FLOAT, [4, 4])],
        [("weight", weight), *small],
    )


def main():
    folder = Path(sys.argv[1])
    save(upsample(), folder / "upsample.onnx")
    save(lora(), folder / "lora_model.onnx")
    options = ort.SessionOptions()
    options.optimized_model_filepath = str(folder / "upsample.ort")
    options.add_session_config_entry("session.save_model_format", "ORT")
    ort.InferenceSession(str(folder / "upsample.onnx"), options, providers=["CPUExecutionProvider"])
    adapter = ort.AdapterFormat()
    adapter.set_adapter_version(1)
    adapter.set_model_version(1)
    # Sums of the columns of the weight are 28, 32, 36 and 40; with these they are 154, 176, 198 and 220.
    values = {"a": np.full((4, 1), 4.5, np.float32), "b": np.array([[7, 8, 9, 10]], np.float32)}
    adapter.set_parameters({name: ort.OrtValue.ortvalue_from_numpy(value) for name, value in values.items()})
    adapter.export_adapter(str(folder / "adapter.orl"))


if __name__ == "__main__":
    main()
