"""Models of one node or a few, as bytes."""

from __future__ import annotations

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper

FLOAT, DOUBLE, STRING = TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.STRING


def tensor(name: str, element: int = FLOAT, shape: list | None = None):
    return helper.make_tensor_value_info(name, element, shape)


def model(nodes, inputs, outputs, *, initializers=(), custom=None, **fields) -> ModelProto:
    graph = helper.make_graph(nodes, "g", inputs, outputs, initializer=list(initializers))
    fields.setdefault("opset_imports", [helper.make_opsetid("", 17)])
    made = helper.make_model(graph, ir_version=9, **fields)
    if custom:
        helper.set_model_props(made, custom)
    return made


def identity(element: int = FLOAT, shape: list | None = None) -> bytes:
    node = helper.make_node("Identity", ["x"], ["y"])
    return model([node], [tensor("x", element, shape)], [tensor("y", element, shape)]).SerializeToString()


def add() -> bytes:
    node = helper.make_node("Add", ["x", "y"], ["z"], name="sum")
    inputs = [tensor("x", FLOAT, ["batch", 4]), tensor("y", FLOAT, [4])]
    return model([node], inputs, [tensor("z", FLOAT, ["batch", 4])], custom={"key": "value"}).SerializeToString()


def add_chain(length: int) -> bytes:
    names = ["x", *(f"v{i}" for i in range(length - 1)), "y"]
    nodes = [helper.make_node("Add", [names[i], "x"], [names[i + 1]]) for i in range(length)]
    return model(nodes, [tensor("x", FLOAT, ["n"])], [tensor("y", FLOAT, ["n"])]).SerializeToString()


def sequence() -> bytes:
    node = helper.make_node("SequenceConstruct", ["x", "x"], ["y"])
    output = helper.make_tensor_sequence_value_info("y", FLOAT, None)
    return model([node], [tensor("x")], [output]).SerializeToString()


def joined_sequence() -> bytes:
    node = helper.make_node("ConcatFromSequence", ["s"], ["y"], axis=0)
    given = helper.make_tensor_sequence_value_info("s", FLOAT, None)
    return model([node], [given], [tensor("y")]).SerializeToString()


def outside() -> tuple[bytes, str, bytes]:
    """y = x + w, whose w = 1, 2, 3, 4 lies in a file: the model, the file's name and its bytes."""
    weights = TensorProto(name="w", data_type=FLOAT, dims=[4], data_location=TensorProto.EXTERNAL)
    for key, value in (("location", "w.bin"), ("offset", "4"), ("length", "16")):
        weights.external_data.add(key=key, value=value)
    node = helper.make_node("Add", ["x", "w"], ["y"])
    made = model([node], [tensor("x", FLOAT, [4])], [tensor("y", FLOAT, [4])], initializers=[weights])
    return made.SerializeToString(), "w.bin", b"skip" + np.arange(1, 5, dtype=np.float32).tobytes()


def slow(size: int = 512, steps: int = 40) -> bytes:
    """Matmuls in a row, some tenths of a second on one core."""
    weights = numpy_helper.from_array(np.eye(size, dtype=np.float32), "w")
    nodes = [
        helper.make_node("MatMul", [f"v{i}" if i else "x", "w" if i == 0 else "x"], [f"v{i + 1}" if i + 1 < steps else "y"])
        for i in range(steps)
    ]
    return model(
        nodes, [tensor("x", FLOAT, [size, size])], [tensor("y", FLOAT, [size, size])], initializers=[weights]
    ).SerializeToString()


def distance(element: int = FLOAT, operator: str = "Distance", **attributes: int) -> bytes:
    """A node of docs/examples/custom_operators: how far the rows of a and b are apart."""
    domain = "example.geometry"
    node = helper.make_node(operator, ["a", "b"], ["c"], domain=domain, **attributes)
    inputs = [tensor(name, element, ["n", 2]) for name in ("a", "b")]
    imports = [helper.make_opsetid("", 17), helper.make_opsetid(domain, 1)]
    return model([node], inputs, [tensor("c", element, ["n"])], opset_imports=imports).SerializeToString()


def table(megabytes: int) -> bytes:
    """Rows of 1 KiB by their number; each is full of it."""
    rows = np.repeat(np.arange(megabytes * 1024, dtype=np.float32)[:, None], 256, axis=1)
    node = helper.make_node("Gather", ["rows", "i"], ["y"])
    weights = [numpy_helper.from_array(rows, "rows")]
    given = [tensor("i", TensorProto.INT64, ["n"])]
    return model([node], given, [tensor("y", FLOAT, ["n", 256])], initializers=weights).SerializeToString()


def perceptron() -> ModelProto:
    """Two layers with weights, for quantization."""
    numbers = np.random.default_rng(7)
    first = numpy_helper.from_array(numbers.normal(size=(16, 32)).astype(np.float32), "w1")
    second = numpy_helper.from_array(numbers.normal(size=(32, 8)).astype(np.float32), "w2")
    nodes = [
        helper.make_node("MatMul", ["x", "w1"], ["a"], name="first"),
        helper.make_node("Relu", ["a"], ["b"], name="activation"),
        helper.make_node("MatMul", ["b", "w2"], ["y"], name="second"),
    ]
    return model(nodes, [tensor("x", FLOAT, ["n", 16])], [tensor("y", FLOAT, ["n", 8])], initializers=[first, second])


def transformer_block() -> ModelProto:
    """What transformers.optimizer fuses: a layer normalization and a Gelu written out."""
    scale = numpy_helper.from_array(np.ones(8, np.float32), "scale")
    shift = numpy_helper.from_array(np.zeros(8, np.float32), "shift")
    numbers = {"two": 2.0, "epsilon": 1e-5, "root": 1.4142135, "one": 1.0, "half": 0.5}
    constants = [numpy_helper.from_array(np.array(value, np.float32), name) for name, value in numbers.items()]
    nodes = [
        helper.make_node("ReduceMean", ["x"], ["mean"], axes=[-1]),
        helper.make_node("Sub", ["x", "mean"], ["centred"]),
        helper.make_node("Pow", ["centred", "two"], ["square"]),
        helper.make_node("ReduceMean", ["square"], ["variance"], axes=[-1]),
        helper.make_node("Add", ["variance", "epsilon"], ["safe"]),
        helper.make_node("Sqrt", ["safe"], ["deviation"]),
        helper.make_node("Div", ["centred", "deviation"], ["normal"]),
        helper.make_node("Mul", ["normal", "scale"], ["scaled"]),
        helper.make_node("Add", ["scaled", "shift"], ["h"]),
        helper.make_node("Div", ["h", "root"], ["d"]),
        helper.make_node("Erf", ["d"], ["e"]),
        helper.make_node("Add", ["e", "one"], ["p"]),
        helper.make_node("Mul", ["h", "p"], ["m"]),
        helper.make_node("Mul", ["m", "half"], ["y"]),
    ]
    shape = ["batch", 8]
    return model(nodes, [tensor("x", FLOAT, shape)], [tensor("y", FLOAT, shape)], initializers=[scale, shift, *constants])
