"""Models of several operators: what planners, partitioners and rewrites get wrong, not kernels. Most have symbolic dimensions
and run on inputs of several shapes in one session."""

import dataclasses

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from recipe import Case, choice, ort_session, recipe, to_model, values


class Builder:
    """Nodes with names of their own; constants become initializers."""

    def __init__(self, rng, inputs):
        self.rng, self.inputs, self.nodes, self.constants, self.count = rng, dict(inputs), [], {}, 0

    def name(self):
        self.count += 1
        return f"v{self.count}"

    def __call__(self, op, *inputs, outputs=1, **attributes):
        names = [i if isinstance(i, str) else self.constant(i) for i in inputs]
        results = [self.name() for _ in range(outputs)]
        attributes = {key: value for key, value in attributes.items() if value is not None}
        self.nodes.append(helper.make_node(op, names, results, **attributes))
        return results[0] if outputs == 1 else results

    def constant(self, value):
        array = np.asarray(value)
        name = self.name()
        if self.rng.random() < 0.2:  # some exporters write nodes instead
            self.nodes.append(helper.make_node("Constant", [], [name], value=numpy_helper.from_array(array)))
        else:
            self.constants[name] = array
        return name

    def weights(self, *dims, scale=0.5):
        return values(self.rng, dims, np.float32, -scale, scale)

    def case(self, outputs, **extra):
        return Case(self.nodes, self.inputs, outputs, constants=self.constants, **{"rtol": 1e-3, "atol": 1e-4, **extra})


def floats(rng, *dims):
    return values(rng, dims, np.float32, -2, 2)


def activation(b, x):
    kind = int(b.rng.integers(0, 9))
    if kind == 0:
        return b("Clip", x, np.float32(0), np.float32(6))
    if kind == 1:
        return b("Mul", x, b("Sigmoid", x))
    if kind == 2:
        return b("LeakyRelu", x, alpha=0.1)
    if kind == 3:
        return b("Mul", x, b("Tanh", b("Softplus", x)))
    if kind == 4:
        return b("Div", b("Mul", x, b("Clip", b("Add", x, np.float32(3)), np.float32(0), np.float32(6))), np.float32(6))
    return b(["Relu", "Relu", "HardSwish", "Sigmoid"][kind - 5], x)


@recipe("ModelConvolutions")
def convolutions(rng):
    channels, size = int(rng.integers(1, 9)), int(rng.integers(6, 13))
    b = Builder(rng, {"x": floats(rng, 2, channels, size, size)})
    x = "x"
    for _ in range(int(rng.integers(1, 5))):
        start, wide = x, int(rng.integers(1, 20))
        residual = rng.random() < 0.4
        out = channels if residual else wide
        kernel = choice(rng, [1, 3])
        depthwise = residual and rng.random() < 0.4
        x = b("Conv", x, b.weights(out, 1 if depthwise else channels, kernel, kernel), *([b.weights(out)] if rng.random() < 0.6 else []),
              pads=[kernel // 2] * 4, group=channels if depthwise else 1)
        channels = out
        if rng.random() < 0.5:
            x = b("BatchNormalization", x, *[b.weights(channels) for _ in range(3)], values(rng, (channels,), np.float32, 0.5, 2))
        elif rng.random() < 0.3:
            x = b("Add", b("Mul", x, b.weights(1, channels, 1, 1)), b.weights(1, channels, 1, 1))
        if rng.random() < 0.8:
            x = activation(b, x)
        if residual:
            x = b("Add", x, start)
            if rng.random() < 0.5:
                x = b("Relu", x)
        elif rng.random() < 0.4:
            x = b(choice(rng, ["MaxPool", "AveragePool"]), x, kernel_shape=[2, 2], strides=[1, 1])
        if rng.random() < 0.2:
            x = b("Pad", x, np.asarray([0, 0, 1, 1, 0, 0, 1, 1], np.int64))
    if rng.random() < 0.5:
        gate = b("Sigmoid", b("Conv", b("GlobalAveragePool", x), b.weights(channels, channels, 1, 1)))
        x = b("Mul", x, gate)
    x = b("Flatten", b("GlobalAveragePool", x)) if rng.random() < 0.5 else b("ReduceMean", x, np.asarray([2, 3], np.int64), keepdims=0)
    x = b("Softmax", b("Gemm", x, b.weights(5, channels), b.weights(5), transB=1))
    return b.case([x], peer="ort", opset=21, dynamic=True, variants=[{"x": floats(rng, 1, *b.inputs["x"].shape[1:-1], size + 3)}, {"x": b.inputs["x"]}])


def layer_norm(b, x, width):
    scale, bias, axes = b.weights(width), b.weights(width), np.asarray([-1], np.int64)
    if b.rng.random() < 0.5:
        return b("LayerNormalization", x, scale, bias, axis=-1)
    centred = b("Sub", x, b("ReduceMean", x, axes))
    variance = b("ReduceMean", b("Pow", centred, np.float32(2)), axes)
    return b("Add", b("Mul", b("Div", centred, b("Sqrt", b("Add", variance, np.float32(1e-5)))), scale), bias)


def gelu(b, x):
    if b.rng.random() < 0.5:
        return b("Gelu", x)
    return b("Mul", b("Mul", x, b("Add", b("Erf", b("Div", x, np.float32(np.sqrt(2)))), np.float32(1))), np.float32(0.5))


@recipe("ModelTransformer")
def transformer(rng):
    batch, length, heads, size = 2, int(rng.integers(2, 9)), choice(rng, [1, 2, 4]), choice(rng, [2, 4, 8])
    width = heads * size
    b = Builder(rng, {"x": floats(rng, batch, length, width)})
    x = "x"
    for _ in range(int(rng.integers(1, 3))):
        normal = layer_norm(b, x, width)

        def head(order):
            flat = b("Add", b("MatMul", normal, b.weights(width, width)), b.weights(width))
            return b("Transpose", b("Reshape", flat, np.asarray([0, 0, heads, size], np.int64)), perm=order)

        scores = b("MatMul", head([0, 2, 1, 3]), head([0, 2, 3, 1]))
        scores = b("Div", scores, np.float32(np.sqrt(size))) if rng.random() < 0.5 else b("Mul", scores, np.float32(1 / np.sqrt(size)))
        mixed = b("MatMul", b("Softmax", scores, axis=-1), head([0, 2, 1, 3]))
        merged = b("Reshape", b("Transpose", mixed, perm=[0, 2, 1, 3]), np.asarray([0, 0, width], np.int64))
        x = b("Add", x, b("Add", b("MatMul", merged, b.weights(width, width)), b.weights(width)))
        hidden = gelu(b, b("Add", b("MatMul", layer_norm(b, x, width), b.weights(width, 2 * width)), b.weights(2 * width)))
        x = b("Add", b("Add", b("MatMul", hidden, b.weights(2 * width, width)), b.weights(width)), x)
    return b.case([x], peer="ort", opset=21, dynamic=True, atol=1e-3,
                  variants=[{"x": floats(rng, 1, length + 5, width)}, {"x": floats(rng, 3, 1, width)}, {"x": b.inputs["x"]}])


def in_half(array, half):
    """Floats of a type of 16 bits; others as they are."""
    return array.astype(half) if array.dtype == np.float32 else array


def with_tensors(node, convert):
    """The node with the tensors in its attributes converted."""
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    for attribute in copy.attribute:
        if attribute.type == onnx.AttributeProto.TENSOR:
            attribute.t.CopyFrom(numpy_helper.from_array(convert(numpy_helper.to_array(attribute.t)), attribute.t.name))
    return copy


@recipe("ModelHalves")
def halves(rng):
    """A network of float16 or bfloat16 beside the same numbers in float32, which is what it rounds."""
    half = choice(rng, [np.float16, ml_dtypes.bfloat16])
    whole = (convolutions if rng.random() < 0.5 else transformer)(rng)

    def rounded(array):
        return in_half(array, half).astype(array.dtype)

    exact = dataclasses.replace(whole, nodes=[with_tensors(node, rounded) for node in whole.nodes],
                                constants={name: rounded(array) for name, array in whole.constants.items()})

    def expected(inputs):
        results = ort_session(to_model(exact)).run(None, {name: np.asarray(array).astype(np.float32) for name, array in inputs.items()})
        return [in_half(result, half) for result in results]

    def narrow(arrays):
        return {name: in_half(np.asarray(array), half) for name, array in arrays.items()}

    error = 3e-2 if half == np.float16 else 0.25
    return dataclasses.replace(whole, nodes=[with_tensors(node, lambda array: in_half(array, half)) for node in whole.nodes],
                               inputs=narrow(whole.inputs), constants=narrow(whole.constants), peer=expected, rtol=error, atol=error,
                               variants=[narrow(variant) for variant in whole.variants], opset=23)


@recipe("ModelMaskedAttention")
def masked_attention(rng):
    """Attention with rows that are masked altogether: their probabilities are NaN, or equal where a number replaces the scores."""
    dtype, heads, queries, keys = choice(rng, [np.float32, np.float16]), int(rng.integers(1, 4)), int(rng.integers(1, 20)), int(rng.integers(1, 20))
    b = Builder(rng, {"q": values(rng, (2, heads, queries, 8), dtype, -1, 1), "k": values(rng, (2, heads, keys, 8), dtype, -1, 1),
                      "v": values(rng, (2, heads, keys, 4), dtype, -1, 1)})
    allowed = rng.random(choice(rng, [(2, 1, 1, keys), (queries, keys), (2, 1, queries, keys), (2, heads, queries, keys)])) < 0.6
    allowed.reshape(-1, keys)[int(rng.integers(allowed.size // keys))] = False
    fill, how = dtype(choice(rng, [-np.inf, -1e4])), choice(rng, ["Where", "inverted", "Add"])
    fill = dtype(-np.inf) if how == "Add" else fill  # numbers that are added to halves are rounded with them
    b.inputs["mask"] = {"Where": allowed, "inverted": ~allowed, "Add": np.where(allowed, dtype(0), fill)}[how]
    scores = b("Mul", b("MatMul", "q", b("Transpose", "k", perm=[0, 1, 3, 2])), dtype(0.35))
    masked = b("Add", scores, "mask") if how == "Add" else b("Where", "mask", *([scores, fill] if how == "Where" else [fill, scores]))
    output = b("MatMul", b("Softmax", masked, axis=-1), "v")
    if rng.random() < 0.5:
        output = b("Transpose", output, perm=[0, 2, 1, 3])
    return Case(b.nodes, b.inputs, [output], 22, b.constants, 1e-3 if dtype == np.float32 else 2e-2, 1e-4 if dtype == np.float32 else 1e-2)


@recipe("ModelShapes")
def shapes(rng):
    """Sizes computed from sizes."""
    b = Builder(rng, {"x": floats(rng, int(rng.integers(1, 6)), int(rng.integers(1, 6)), 4), "y": floats(rng, 1, int(rng.integers(1, 5)))})
    sizes = b("Shape", "x")
    first = b("Gather", sizes, np.asarray(0, np.int64))
    second = b("Slice", sizes, np.asarray([1], np.int64), np.asarray([2], np.int64))
    both = b("Mul", b("Unsqueeze", first, np.asarray([0], np.int64)), second)
    flat = b("Reshape", "x", b("Concat", both, np.asarray([-1], np.int64), axis=0))
    halves = b("Reshape", "x", b("Concat", sizes if rng.random() < 0.3 else b("Concat", second, b("Unsqueeze", first, np.asarray([0], np.int64)), axis=0),
                                 np.asarray([4], np.int64) if rng.random() < 0.5 else np.asarray([-1], np.int64), axis=0)) if rng.random() < 0.5 else flat
    counted = b("Cast", b("Range", np.asarray(0, np.int64), first, np.asarray(1, np.int64)), to=TensorProto.FLOAT)
    tall = b("Mul", b("Unsqueeze", counted, np.asarray([1], np.int64)), "y")
    ones = b("ConstantOfShape", b("Shape", tall))
    wide = b("Expand", "y", b("Concat", both, np.asarray([1], np.int64), axis=0))
    padded = b("Where", b("Greater", tall, ones), tall, b("Neg", tall))
    total = b("ReduceSum", b("Tile", padded, np.asarray([2, 1], np.int64)), np.asarray([0], np.int64), keepdims=1)
    def variant():
        return {"x": floats(rng, int(rng.integers(1, 6)), int(rng.integers(1, 6)), 4), "y": floats(rng, 1, int(rng.integers(1, 5)))}
    outputs = [b("Identity", flat), b("Add", wide, total), b("ReduceMax", halves, keepdims=0)]
    return b.case(outputs, dynamic=True, variants=[variant(), variant(), dict(b.inputs)])


@recipe("ModelTypes")
def types(rng):
    """Integers, booleans, indices and casts between them."""
    rows, columns = int(rng.integers(2, 9)), int(rng.integers(2, 9))
    b = Builder(rng, {"x": floats(rng, rows, columns), "n": values(rng, (rows, columns), np.int64)})
    pool = {"float": ["x"], "int": ["n"], "bool": []}
    for _ in range(int(rng.integers(5, 15))):
        kind = int(rng.integers(0, 9))
        real, whole = choice(rng, pool["float"]), choice(rng, pool["int"])
        if kind == 0:
            pool["bool"].append(b(choice(rng, ["Less", "GreaterOrEqual", "Equal"]), real, choice(rng, pool["float"])))
        elif kind == 1:
            pool["int"].append(b(choice(rng, ["Add", "Sub", "Max", "Min"]), whole, choice(rng, pool["int"])))
        elif kind == 2:
            pool["float"].append(b("Cast", whole, to=TensorProto.FLOAT))
        elif kind == 3:
            pool["int"].append(b("Cast", b("Round", b("Clip", real, np.float32(-50), np.float32(50))), to=TensorProto.INT64))
        elif kind == 4 and pool["bool"]:
            pool["float"].append(b("Where", choice(rng, pool["bool"]), real, choice(rng, pool["float"])))
        elif kind == 5 and pool["bool"]:
            pool["bool"].append(b(choice(rng, ["And", "Or", "Xor"]), choice(rng, pool["bool"]), choice(rng, pool["bool"])))
        elif kind == 6:
            order = b("TopK", real, np.asarray([columns], np.int64), outputs=2, axis=1)
            pool["float"].append(b("GatherElements", order[0], order[1], axis=1))
        elif kind == 7:
            halved = b("Cast", b("Mul", b("Cast", b("Tanh", real), to=TensorProto.DOUBLE), np.float64(0.5)), to=TensorProto.FLOAT)
            pool["float"].append(halved)
        else:
            taken = b("Gather", real, b("Mod", b("Abs", b("Reshape", b("Slice", whole, np.asarray([0], np.int64), np.asarray([1], np.int64), np.asarray([1], np.int64)),
                                                        np.asarray([-1], np.int64))), np.asarray([rows], np.int64)), axis=0)
            pool["float"].append(b("Tanh", b("Add", b("ReduceMean", taken, np.asarray([0], np.int64), keepdims=1), real)))
    outputs = sorted({pool["float"][-1], pool["int"][-1], *pool["bool"][-1:]} - {"x", "n"}) or [b("Neg", "x")]
    return b.case(outputs)


@recipe("ModelQuantized")
def quantized(rng):
    """Quantize and dequantize around a matmul or a convolution, as quantizers write them."""
    image = rng.random() < 0.6
    channels, out = int(rng.integers(1, 40)), int(rng.integers(1, 40))
    group = 1
    if image and rng.random() < 0.4:
        group, out = channels, channels * int(rng.integers(1, 3))
    size = int(rng.integers(3, 20))
    b = Builder(rng, {"x": floats(rng, 2, channels, size, size) if image else floats(rng, 5, channels)})
    dtype = choice(rng, [np.uint8, np.int8])
    zero = np.asarray(128 if dtype == np.uint8 else 0, dtype)

    def around(x, scale):
        return b("DequantizeLinear", b("QuantizeLinear", x, np.float32(scale), zero), np.float32(scale), zero)

    kernel = choice(rng, [1, 3, 3, 5])
    dims = (out, channels // group, kernel, kernel) if image else (channels, out)
    per_axis = rng.random() < 0.5
    scales = rng.uniform(0.005, 0.02, (out,) if per_axis else ()).astype(np.float32)
    w = b("DequantizeLinear", rng.integers(-63, 64, dims).astype(np.int8), scales, np.zeros(scales.shape, np.int8), axis=(0 if image else 1) if per_axis else None)
    x = around("x", 0.02)
    if image:
        y = b("Conv", x, w, b.weights(out), pads=[kernel // 2] * 4, group=group, strides=[int(rng.integers(1, 3))] * 2)
    else:
        y = b("MatMul", x, w)
        if rng.random() < 0.3:
            return b.case([b("Add", y, b.weights(out))], peer="ort", opset=21, atol=1e-3)
    if rng.random() < 0.5:
        y = b("Relu", y)
    y = around(y, 0.05)
    after = choice(rng, ["nothing", "Sigmoid", "gelu", "Transpose", "Add", "MaxPool", "GlobalAveragePool"])
    if after == "Sigmoid":
        y = around(b("Sigmoid", y), 0.01)
    elif after == "gelu":
        y = around(b("Mul", y, around(b("Add", around(b("Erf", b("Div", y, np.float32(1.4142135))), 0.01), np.float32(1)), 0.02)), 0.05)
    elif after == "Transpose":
        y = around(b("Transpose", y), 0.05)
    elif after == "Add":
        y = around(b("Add", y, b("DequantizeLinear", np.asarray(7, dtype), np.float32(0.1), zero)), 0.05)
    elif image and after == "MaxPool":
        y = around(b("MaxPool", y, kernel_shape=[2, 2], pads=[1, 1, 1, 1]), 0.05)
    elif image and after == "GlobalAveragePool":
        y = around(b("GlobalAveragePool", y), 0.02)
    # One step of a quantization may go either way, and take up to three of the next along.
    return b.case([y], peer="ort", opset=21, atol=0.161)


@recipe("ModelWeights")
def weights(rng):
    """Matmuls with weights of 2, 4 or 8 bits that are dequantized in the model."""
    dtype = np.dtype(choice(rng, [ml_dtypes.int4, ml_dtypes.int4, ml_dtypes.uint4, np.int8, np.uint8, ml_dtypes.int2, ml_dtypes.uint2]))
    k, n, rows = int(rng.integers(1, 200)), int(rng.integers(1, 80)), choice(rng, [1, 1, 2, 5, 17, 40])
    swapped, operator = rng.random() < 0.4, choice(rng, ["MatMul", "MatMul", "Gemm"])
    bits = 8 if dtype.itemsize == 1 and dtype in (np.int8, np.uint8) else 2 if "2" in dtype.name else 4
    low = -(1 << (bits - 1)) if dtype.name.startswith("int") else 0
    q_values = lambda dims: rng.integers(low, low + (1 << bits), size=dims).astype(np.int16).astype(dtype)
    axis, block = (1 if swapped else 0), choice(rng, [None, 8, 16, 32, 48, 64, 128])
    kind = choice(rng, ["tensor", "column", "block", "block"])
    dims = {"tensor": (), "column": (n,)}.get(kind)
    if dims is None:
        block = block or 32
        blocks = -(-k // block)
        dims = (n, blocks) if swapped else (blocks, n)
    floating = choice(rng, [np.float32, np.float32, np.float32, np.float16]) if operator == "MatMul" else np.float32
    b = Builder(rng, {"x": values(rng, (rows, k) if operator == "Gemm" else choice(rng, [(rows, k), (2, rows, k), (k,)]), floating, -1, 1)})
    scales = rng.uniform(0.005, 0.02, dims).astype(floating)
    parts = [q_values((n, k) if swapped else (k, n)), scales] + ([q_values(dims)] if rng.random() < 0.5 else [])
    w = b("DequantizeLinear", *parts, axis={"tensor": None, "column": 1 - axis}.get(kind, axis), block_size=block if kind == "block" else None)
    bias = rng.random() < 0.4
    if operator == "Gemm":
        y = b("Gemm", "x", w, *([b.weights(*choice(rng, [(n,), (1, n), (1,), (rows, n)]))] if bias else []), transB=int(swapped))
    else:
        y = b("MatMul", "x", b("Transpose", w, perm=[1, 0]) if swapped else w)
        if bias:
            y = b("Add", *choice(rng, [(y, b.weights(n).astype(floating)), (b.weights(1, n).astype(floating), y)]))
    outputs = [b("Relu", y)] if rng.random() < 0.3 else [y]
    return b.case(outputs, opset=25 if bits == 2 else choice(rng, [21, 23, 24, 25]), atol=2e-2 if floating == np.float16 else 1e-4)


@recipe("ModelBranches")
def branches(rng):
    """Nested graphs that read values of the outer one, in a row with other operators."""
    rows, columns = int(rng.integers(1, 6)), int(rng.integers(1, 6))
    b = Builder(rng, {"x": floats(rng, rows, columns), "y": floats(rng, rows, columns), "count": np.asarray(int(rng.integers(0, 5)), np.int64)})
    info = helper.make_tensor_value_info
    z = b("Mul", "x", "y")
    positive = b("Greater", b("ReduceSum", z, keepdims=0), np.float32(0))
    then = helper.make_graph([helper.make_node("Add", [z, "x"], ["t"])], "then", [], [info("t", TensorProto.FLOAT, None)])
    other = helper.make_graph([helper.make_node("Tanh", ["y"], ["u0"]), helper.make_node("Sub", ["u0", z], ["u"])], "else", [], [info("u", TensorProto.FLOAT, None)])
    picked = b("If", positive, then_branch=then, else_branch=other)
    body = helper.make_graph(
        [helper.make_node("Identity", ["c"], ["go"]), helper.make_node("Mul", ["v", "y"], ["m"]), helper.make_node("Sigmoid", ["m"], ["s"]),
         helper.make_node("Add", ["s", picked], ["w"])],
        "body", [info("i", TensorProto.INT64, []), info("c", TensorProto.BOOL, []), info("v", TensorProto.FLOAT, None)],
        [info("go", TensorProto.BOOL, []), info("w", TensorProto.FLOAT, None)])
    last = b("Loop", "count", np.asarray(True), b("Relu", picked), body=body)
    outputs = [b("Add", last, z), picked]
    return b.case(outputs, peer="ort", opset=21, dynamic=True,
                  variants=[{"x": floats(rng, 3, 2), "y": floats(rng, 3, 2), "count": np.asarray(2, np.int64)}, dict(b.inputs)])


def number(b, value):
    """A constant of one element and up to four dimensions: more than the other operand has add to the result's."""
    return b.constant(np.full((1,) * choice(b.rng, [0, 0, 0, 1, 1, 2, 4]), value, np.float32))


def near_normalization(b, x):
    axes = np.asarray(choice(b.rng, [[-1], [-1], [-1], [-2, -1], [0]]), np.int64)
    centred = b("Sub", x, b("ReduceMean", x, axes)) if b.rng.random() < 0.7 else x
    square = b("Pow", centred, number(b, 2)) if b.rng.random() < 0.5 else b("Mul", centred, centred)
    deviation = b("Sqrt", b("Add", b("ReduceMean", square, axes), number(b, 1e-3)))
    divided = b("Div", centred, deviation) if b.rng.random() < 0.5 else b("Mul", centred, b("Div", number(b, 1), deviation))
    return b("Add", b("Mul", divided, number(b, 0.7)), number(b, 0.1))


def near_activation(b, x):
    kind = int(b.rng.integers(0, 4))
    if kind == 0:
        return b("Mul", b("Mul", x, b("Add", b("Erf", b("Div", x, number(b, np.sqrt(2)))), number(b, 1))), number(b, 0.5))
    if kind == 1:
        return b("Div", b("Mul", x, b("Clip", b("Add", x, number(b, 3)), np.float32(0), np.float32(6))), number(b, 6))
    if kind == 2:
        return b("Mul", x, b("Sigmoid", b("Mul", x, number(b, 1.702))))
    bounds = [np.float32(choice(b.rng, [-np.inf, -1, 0, 0.5, 2, np.inf])) for _ in range(2)]
    return b("Clip", b(choice(b.rng, ["Relu", "Abs", "Tanh"]), x), *bounds) if b.rng.random() < 0.5 else b("Relu", b("Clip", x, "", bounds[0]))


@recipe("ModelNearPatterns")
def near_patterns(rng):
    """What rewrites recognize, but for the ranks of its constants, and with readers of what lies between."""
    b = Builder(rng, {"x": floats(rng, 2, int(rng.integers(1, 5)), int(rng.integers(1, 9)))})
    x, outputs = "x", []
    for _ in range(int(rng.integers(3, 8))):
        x = (near_normalization if rng.random() < 0.5 else near_activation)(b, x)
        if rng.random() < 0.3:
            outputs.append(choice(rng, [node.output[0] for node in b.nodes if node.op_type != "Constant"]))
    return b.case(list(dict.fromkeys([*outputs, x])), peer="ort", opset=21, dynamic=bool(rng.random() < 0.2), atol=1e-3)
