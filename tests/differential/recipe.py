"""What a recipe is made of: random shapes, values and models for one operator."""

import dataclasses
import os

# ONNX Runtime sends telemetry and writes to the home folder unless it is told not to, before it is imported.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

FLOATS = [np.float32, np.float64, np.float16, ml_dtypes.bfloat16]
SIGNED = [np.int8, np.int16, np.int32, np.int64]
UNSIGNED = [np.uint8, np.uint16, np.uint32, np.uint64]
INTS = SIGNED + UNSIGNED
NUMBERS = FLOATS + INTS

# Sizes at which vector loops change paths: empty, one, around vector widths, primes.
EDGE_SIZES = [0, 1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 33, 37]


@dataclasses.dataclass
class Case:
    """A single- or multi-operator model with its inputs. `opset` None means the newest."""

    nodes: list
    inputs: dict
    outputs: list
    opset: int | None = None
    constants: dict = dataclasses.field(default_factory=dict)
    rtol: float = 1e-3
    atol: float = 1e-5
    peer: object = "reference"  # or "ort", or a function of the inputs: what computes the expected outputs
    domains: dict = dataclasses.field(default_factory=dict)
    types: dict = dataclasses.field(default_factory=dict)  # of outputs that inference does not know: element type or TypeProto
    input_types: dict = dataclasses.field(default_factory=dict)  # TypeProto of inputs that are no tensors
    unsteady: bool = False  # "ort" now and then answers otherwise: what two of its sessions agree on counts
    dynamic: bool = False  # no dimension of an input is declared, so that `variants` fit too
    variants: list = dataclasses.field(default_factory=list)  # more inputs for the same session


RECIPES = {}


def recipe(*names):
    """Registers a function rng -> Case under one or several operator names; with several, the name is its second argument."""

    def register(function):
        for name in names:
            assert name not in RECIPES, f"two recipes for {name}"
            RECIPES[name] = function if len(names) == 1 else (lambda rng, name=name: function(rng, name))
        return function

    return register


def choice(rng, options):
    return options[int(rng.integers(len(options)))]


def shape(rng, rank=None, low=0, high=None):
    """A random shape; sizes come from EDGE_SIZES in low ranks and stay small in high ones."""
    rank = int(rng.integers(0, 6)) if rank is None else rank
    limit = high or {0: 1, 1: 64, 2: 40, 3: 20, 4: 10}.get(rank, 5)
    sizes = [s for s in EDGE_SIZES if low <= s <= limit]
    # Zero-size dimensions are rare, so that most cases compute something.
    return tuple(int(choice(rng, [s for s in sizes if s > 0] if rng.random() < 0.95 else sizes)) for _ in range(rank))


def broadcastable(rng, full):
    """A shape that broadcasts to `full`: some dimensions 1, some leading ones missing."""
    dims = [1 if rng.random() < 0.3 else d for d in full]
    return tuple(dims[int(rng.integers(0, len(dims) + 1)):]) if rng.random() < 0.3 else tuple(dims)


def values(rng, dims, dtype, low=-4.0, high=4.0, special=False):
    dtype = np.dtype(dtype)
    if dtype == np.bool_:
        return rng.random(dims) < 0.5
    if np.issubdtype(dtype, np.integer):
        info = np.iinfo(dtype)
        low, high = max(info.min, int(low * 4)), min(info.max, int(high * 4))
        return rng.integers(low, high, size=dims, endpoint=True).astype(dtype)
    array = rng.uniform(low, high, size=dims)
    if special and array.size:
        flat = array.reshape(-1)
        for number in (np.nan, np.inf, -np.inf, -0.0):
            flat[int(rng.integers(flat.size))] = number
        array = flat.reshape(dims)
    return np.asarray(array).astype(dtype)


def tolerance(dtype):
    """rtol and atol for results computed in `dtype`."""
    name = np.dtype(dtype).name
    return {"float16": (4e-3, 4e-3), "bfloat16": (2e-2, 2e-2), "float64": (1e-6, 1e-9)}.get(name, (1e-3, 1e-5))


def name_inputs(inputs, constants):
    """Names x0, x1, ... of one node's inputs (None: omitted), and their arrays by name: fed, and those in `constants`."""
    names, feeds, initializers = [], {}, {}
    for i, array in enumerate(inputs):
        names.append("" if array is None else f"x{i}")
        if array is not None:
            (initializers if i in constants else feeds)[f"x{i}"] = np.asarray(array)
    while names and not names[-1]:
        names.pop()
    return names, feeds, initializers


def single(op, inputs, outputs=1, opset=None, dtype=np.float32, constants=(), **attributes):
    """One node whose inputs are the given arrays (None: omitted), named x0, x1, ...; `constants` become initializers."""
    names, feeds, initializers = name_inputs(inputs, constants)
    results = [f"y{i}" for i in range(outputs)]
    attributes = {key: value for key, value in attributes.items() if value is not None}
    rtol, atol = tolerance(dtype)
    return Case([helper.make_node(op, names, results, **attributes)], feeds, results, opset, initializers, rtol, atol)


def declared_dims(case, name):
    """A number where all inputs of this name agree, else a symbol."""
    shapes = [np.asarray(inputs[name]).shape for inputs in [case.inputs, *case.variants]]
    return [sizes[0] if len(set(sizes)) == 1 and not case.dynamic else f"{name}_{i}" for i, sizes in enumerate(zip(*shapes))]


def declared_output(case, name):
    declared = case.types.get(name)
    if declared is None:
        return helper.make_empty_tensor_value_info(name)
    return helper.make_value_info(name, declared) if isinstance(declared, onnx.TypeProto) else helper.make_tensor_value_info(name, declared, None)


def to_model(case):
    """The ModelProto: inputs typed with their ranks and sizes, outputs left to inference."""
    opset = case.opset or onnx.defs.onnx_opset_version()
    inputs = [
        helper.make_value_info(name, case.input_types[name]) if name in case.input_types
        else helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.asarray(a).dtype), declared_dims(case, name))
        for name, a in case.inputs.items()
    ]
    constants = [onnx.numpy_helper.from_array(array, name) for name, array in case.constants.items()]
    outputs = [declared_output(case, name) for name in case.outputs]
    graph = helper.make_graph(case.nodes, "differential", inputs, outputs, initializer=constants)
    imports = [helper.make_opsetid("", opset)] + [helper.make_opsetid(d, v) for d, v in case.domains.items()]
    model = helper.make_model(graph, opset_imports=imports, ir_version=min(13, onnx.IR_VERSION))
    inferred = onnx.shape_inference.infer_shapes(model)
    for i, output in enumerate(inferred.graph.output):
        if output.type.WhichOneof("value") is None:
            inferred.graph.output[i].type.tensor_type.elem_type = TensorProto.UNDEFINED
    return inferred


def ort_session(model, arena=True):
    """ONNX Runtime's for a model, without its optimizer."""
    model.ir_version = 10
    options = onnxruntime.SessionOptions()
    options.enable_cpu_mem_arena = arena
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
