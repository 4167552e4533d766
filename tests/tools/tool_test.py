"""What the tests of the tools share: running a program, and writing test cases of one node."""

import os
import pathlib
import subprocess
import tempfile
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

BIN = pathlib.Path(os.environ["TESSERA_BIN"])


def start(tool, *arguments):
    return subprocess.Popen([BIN / tool, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def run(tool, *arguments):
    """Exit code, standard output and standard error."""
    process = start(tool, *arguments)
    output, errors = process.communicate(timeout=120)
    return process.returncode, output, errors


def model_of(nodes, inputs, outputs):
    """Inputs and outputs are ValueInfoProto, or a name and its array."""

    def info(value):
        if isinstance(value, onnx.ValueInfoProto):
            return value
        return helper.make_tensor_value_info(value[0], helper.np_dtype_to_tensor_dtype(value[1].dtype), value[1].shape)

    graph = helper.make_graph(nodes, "g", [info(value) for value in inputs], [info(value) for value in outputs])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid("ai.onnx.ml", 3)], ir_version=10)


def endless_loop():
    """A model that computes until it is ended, without growing."""
    body = helper.make_graph(
        [helper.make_node("Identity", ["c"], ["c_out"]), helper.make_node("Neg", ["v"], ["v_out"])], "body",
        [helper.make_tensor_value_info("i", TensorProto.INT64, []), helper.make_tensor_value_info("c", TensorProto.BOOL, []),
         helper.make_tensor_value_info("v", TensorProto.FLOAT, [1])],
        [helper.make_tensor_value_info("c_out", TensorProto.BOOL, []), helper.make_tensor_value_info("v_out", TensorProto.FLOAT, [1])])
    forever, x = np.asarray(True), np.ones(1, np.float32)
    model = model_of([helper.make_node("Loop", ["", "c", "v"], ["y"], body=body)], [("c", forever), ("v", x)], [("y", x)])
    return model, [forever, x], [x]


class ToolTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.cases = self.root / "cases"

    def write_case(self, name, model, inputs, outputs, tolerance=None):
        """Values are arrays or messages of ONNX."""
        data_set = self.cases / name / "test_data_set_0"
        data_set.mkdir(parents=True)
        (self.cases / name / "model.onnx").write_bytes(model.SerializeToString())
        if tolerance is not None:
            (self.cases / name / "tolerance.json").write_text(tolerance)
        for role, values in (("input", inputs), ("output", outputs)):
            for i, value in enumerate(values):
                proto = numpy_helper.from_array(value) if isinstance(value, np.ndarray) else value
                (data_set / f"{role}_{i}.pb").write_bytes(proto.SerializeToString())
        return self.cases / name

    def write_identity(self, name, value, expected, **options):
        """A case that is fed `value` and gives it back."""
        model = model_of([helper.make_node("Identity", ["x"], ["y"])], [("x", value)], [("y", value)])
        return self.write_case(name, model, [value], [expected], **options)

    def write_open_relu(self):
        """Of a vector whose length is called n; the model's path."""
        x = np.zeros(2, np.float32)
        symbolic = helper.make_tensor_value_info("x", 1, ["n"])
        return self.write_case("n", model_of([helper.make_node("Relu", ["x"], ["y"])], [symbolic], [("y", x)]), [x], [x]) / "model.onnx"

    def write_relu(self, name, expected=(0, 2)):
        x = np.asarray([-1, 2], np.float32)
        model = model_of([helper.make_node("Relu", ["x"], ["y"])], [("x", x)], [("y", x)])
        return self.write_case(name, model, [x], [np.asarray(expected, np.float32)])
