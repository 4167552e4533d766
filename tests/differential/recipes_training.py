"""Optimizers of ai.onnx.preview.training."""

import numpy as np
from onnx import helper

from recipe import Case, choice, recipe, shape, values


@recipe("Adagrad", "Adam", "Momentum")
def optimizer(rng, op):
    states = {"Adagrad": 1, "Adam": 2, "Momentum": 1}[op]
    count = int(rng.integers(1, 4))
    inputs = {"rate": np.asarray(rng.uniform(0.01, 0.5), np.float32), "step": np.asarray(int(rng.integers(0, 5)), np.int64)}
    kinds = ["x", "g"] + [f"s{i}_" for i in range(states)]
    for i in range(count):
        dims = shape(rng, rank=int(rng.integers(0, 4)), low=1)
        for kind in kinds:
            low = 0 if kind.startswith("s") and op != "Momentum" else -1
            inputs[f"{kind}{i}"] = values(rng, dims, np.float32, low, 1)
    names = ["rate", "step"] + [f"{kind}{i}" for kind in kinds for i in range(count)]
    outputs = [f"y{kind}{i}" for kind in ["x"] + kinds[2:] for i in range(count)]
    attributes = {"norm_coefficient": float(rng.uniform(0, 0.01))}
    if op == "Adagrad":
        attributes |= {"decay_factor": float(rng.uniform(0, 0.1)), "epsilon": 1e-5}
    elif op == "Adam":
        attributes |= {"alpha": 0.9, "beta": 0.99, "epsilon": 1e-4, "norm_coefficient_post": float(rng.uniform(0, 0.01))}
    else:
        attributes |= {"alpha": 0.9, "beta": 0.8, "mode": choice(rng, ["standard", "nesterov"])}
    node = helper.make_node(op, names, outputs, domain="ai.onnx.preview.training", **attributes)
    return Case([node], inputs, outputs, 22, rtol=1e-3, atol=1e-5, domains={"ai.onnx.preview.training": 1})
"""Gradient, against central differences of onnx's reference evaluator."""

import numpy as np
import onnx
import onnx.reference
from onnx import helper

from recipe import Case, choice, recipe

DOMAIN = "ai.onnx.preview.training"
STEP = 1e-5


def small(rng, rank, low=1, high=4):
    return tuple(int(rng.integers(low, high + 1)) for _ in range(rank))


def uniform(rng, dims, low=-2.0, high=2.0):
    return rng.uniform(low, high, size=dims)


def forward_model(nodes, inputs, constants, result, opset):
    infos = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for n, a in inputs.items()]
    initializers = [onnx.numpy_helper.from_array(a, n) for n, a in constants.items()]
    graph = helper.make_graph(nodes, "forward", infos, [helper.make_empty_tensor_value_info(result)], initializer=initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def differences(nodes, constants, xs, opset, width=STEP):
    """The peer: the slope of sum(y) along every element of every x."""

    def expected(inputs):
        evaluator = onnx.reference.ReferenceEvaluator(forward_model(nodes, inputs, constants, "y", opset))
        gradients = []
        for name in xs:
            gradient = np.zeros_like(inputs[name])
            for index in np.ndindex(gradient.shape):
                sums = []
                for step in (width, -width):
                    moved = inputs[name].copy()
                    moved[index] += step
                    sums.append(evaluator.run(None, {**inputs, name: moved})[0].sum())
                gradient[index] = (sums[0] - sums[1]) / (2 * width)
            gradients.append(gradient)
        return gradients

    return expected


def gradient_case(rng, nodes, inputs, xs, result="f", constants=None, opset=21, written=None, rtol=1e-4, width=STEP):
    """The gradient of `result`, weighted at random, in all of `xs`; `written` are the nodes that the peer evaluates."""
    written = written or nodes
    constants = dict(constants or {})
    value = onnx.reference.ReferenceEvaluator(forward_model(written, inputs, constants, result, opset)).run(None, inputs)[0]
    constants["weights"] = uniform(rng, value.shape)
    weighted = [helper.make_node("Mul", [result, "weights"], ["y"])]
    outputs = [f"d_{x}" for x in xs]
    node = helper.make_node("Gradient", xs, outputs, domain=DOMAIN, xs=xs, y="y")
    return Case(nodes + weighted + [node], inputs, outputs, opset, constants, rtol=rtol, atol=1e-5 if width == STEP else 1e-3, domains={DOMAIN: 1},
                peer=differences(written + weighted, constants, xs, opset, width), types={o: onnx.TensorProto.DOUBLE for o in outputs})


def one(rng, op, inputs, xs=None, outputs=("f",), opset=21, **attributes):
    """A single node; inputs that are None are omitted. Derives by the floating-point ones unless `xs` says which."""
    feeds = {f"x{i}": np.asarray(a) for i, a in enumerate(inputs) if a is not None}
    names = ["" if a is None else f"x{i}" for i, a in enumerate(inputs)]
    attributes = {key: value for key, value in attributes.items() if value is not None}
    xs = xs or [n for n, a in feeds.items() if a.dtype == np.float64]
    # These are computed in float, the first two by the reference.
    coarse = {"rtol": 2e-3, "width": 1e-3} if op in ("Erf", "Gelu", "LayerNormalization") else {}
    return gradient_case(rng, [helper.make_node(op, names, list(outputs), **attributes)], feeds, xs, opset=opset, **coarse)


# Intervals in which each function is smooth.
UNARY = {
    "Abs": (0.1, 2), "Acos": (-0.9, 0.9), "Acosh": (1.2, 3), "Asin": (-0.9, 0.9), "Asinh": (-2, 2), "Atan": (-2, 2), "Atanh": (-0.9, 0.9),
    "Cos": (-2, 2), "Cosh": (-2, 2), "Elu": (-2, -0.1), "Erf": (-2, 2), "Exp": (-2, 2), "Gelu": (-2, 2), "HardSigmoid": (-2, 2),
    "HardSwish": (-2, 2), "Identity": (-2, 2), "LeakyRelu": (-2, -0.1), "Log": (0.2, 3), "Mish": (-2, 2), "Neg": (-2, 2), "Reciprocal": (0.3, 2),
    "Relu": (0.1, 2), "Selu": (-2, -0.1), "Sigmoid": (-2, 2), "Sin": (-2, 2), "Sinh": (-2, 2), "Softplus": (-2, 2), "Softsign": (0.1, 2),
    "Sqrt": (0.2, 3), "Tan": (-1, 1), "Tanh": (-2, 2), "ThresholdedRelu": (1.1, 2), "Shrink": (0.6, 2),
}


@recipe(*[f"Gradient{op}" for op in UNARY])
def unary(rng, name):
    op = name.removeprefix("Gradient")
    low, high = UNARY[op]
    if op in ("Abs", "Elu", "LeakyRelu", "Relu", "Selu", "Softsign") and rng.random() < 0.5:
        low, high = -high, -low
    approximate = choice(rng, ["none", "tanh"]) if op == "Gelu" else None
    return one(rng, op, [uniform(rng, small(rng, 2), low, high)], approximate=approximate)


@recipe("GradientAdd", "GradientSub", "GradientMul", "GradientDiv", "GradientPow", "GradientMax", "GradientMin", "GradientSum", "GradientMean",
        "GradientPRelu")
def binary(rng, name):
    full = small(rng, 3)
    short = tuple(1 if rng.random() < 0.4 else d for d in full)[int(rng.integers(0, 3)):]
    a, b = uniform(rng, full, 0.3, 2), uniform(rng, short, 0.3, 2)
    if name == "GradientPRelu":
        a = a * np.where(rng.random(full) < 0.5, -1, 1)
    elif name != "GradientMean" and rng.random() < 0.5:  # the reference adds to its first input
        a, b = b, a
    return one(rng, name.removeprefix("Gradient"), [a, b])


@recipe("GradientWhere")
def where(rng):
    dims = small(rng, 2)
    return one(rng, "Where", [rng.random(dims) < 0.5, uniform(rng, dims), uniform(rng, dims[1:])])


@recipe("GradientClip")
def clip(rng):
    return one(rng, "Clip", [uniform(rng, small(rng, 2)), np.asarray(-0.7), np.asarray(0.9)])


@recipe("GradientMatMul")
def matmul(rng):
    m, k, n = small(rng, 3)
    batch = small(rng, 2)
    a = choice(rng, [(k,), (m, k), batch + (m, k), (1, m, k), batch[1:] + (m, k)])
    b = choice(rng, [(k,), (k, n), batch + (k, n), batch[:1] + (1, k, n)])
    return one(rng, "MatMul", [uniform(rng, a), uniform(rng, b)])


@recipe("GradientGemm")
def gemm(rng):
    m, k, n = small(rng, 3)
    trans_a, trans_b = int(rng.integers(0, 2)), int(rng.integers(0, 2))
    c = choice(rng, [None, (n,), (m, 1), (m, n), ()])
    return one(rng, "Gemm", [uniform(rng, (k, m) if trans_a else (m, k)), uniform(rng, (n, k) if trans_b else (k, n)),
                             None if c is None else uniform(rng, c)], transA=trans_a, transB=trans_b, alpha=0.7, beta=1.3)


@recipe("GradientEinsum")
def einsum(rng):
    i, j, k = small(rng, 3)
    equation, dims = choice(rng, [("ij,jk->ik", [(i, j), (j, k)]), ("ij,jk", [(i, j), (j, k)]), ("ij,ik->i", [(i, j), (i, k)]),
                                  ("...ij,...jk->...ik", [(2, i, j), (1, j, k)]), ("ij->ji", [(i, j)]), ("ij->", [(i, j)]),
                                  ("i,j,k->kij", [(i,), (j,), (k,)]), ("...i,ij->...j", [(2, 3, i), (i, j)])])
    return one(rng, "Einsum", [uniform(rng, d) for d in dims], equation=equation)


REDUCTIONS = ["ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp"]


@recipe(*[f"Gradient{op}" for op in REDUCTIONS])
def reduction(rng, name):
    dims = small(rng, 3)
    data = uniform(rng, dims, 0.3, 2)
    if name == "GradientReduceProd" and rng.random() < 0.5:
        data.reshape(-1)[int(rng.integers(data.size))] = 0
    axes = sorted(int(a) for a in rng.permutation(3)[: int(rng.integers(1, 4))])
    if rng.random() < 0.2:
        axes = None
    keepdims = int(rng.integers(0, 2))
    op = name.removeprefix("Gradient")
    if rng.random() < 0.3:
        return one(rng, op, [data], opset=11, axes=axes, keepdims=keepdims)
    return one(rng, op, [data, None if axes is None else np.asarray(axes, np.int64)], keepdims=keepdims)


@recipe("GradientCumSum")
def cumsum(rng):
    return one(rng, "CumSum", [uniform(rng, small(rng, 2)), np.asarray(int(rng.integers(-2, 2)), np.int64)], exclusive=int(rng.integers(0, 2)),
               reverse=int(rng.integers(0, 2)))


@recipe("GradientTopK")
def topk(rng):
    data = rng.permutation(12).reshape(3, 4) * 0.37
    return one(rng, "TopK", [data, np.asarray([2], np.int64)], outputs=("f", "where"), axis=int(rng.integers(-2, 2)))


@recipe("GradientSoftmax", "GradientLogSoftmax")
def softmax(rng, name):
    return one(rng, name.removeprefix("Gradient"), [uniform(rng, small(rng, 3))], axis=int(rng.integers(0, 3)), opset=21)


@recipe("GradientShapes")
def shapes(rng):
    data = uniform(rng, (2, 3, 4))
    op, inputs, attributes = choice(rng, [
        ("Reshape", [np.asarray([4, -1], np.int64)], {}), ("Flatten", [], {"axis": 2}), ("Unsqueeze", [np.asarray([0, -1], np.int64)], {}),
        ("Transpose", [], {"perm": [2, 0, 1]}), ("Transpose", [], {}), ("Expand", [np.asarray([5, 2, 3, 4], np.int64)], {}),
        ("Tile", [np.asarray([2, 1, 3], np.int64)], {}), ("Slice", [np.asarray([3, 0], np.int64), np.asarray([-9, 2], np.int64), np.asarray([2, 1], np.int64), np.asarray([-2, 1], np.int64)], {}),
        ("Gather", [np.asarray([[0, 1], [1, -1]], np.int64)], {"axis": 0}), ("Gather", [np.asarray([2, 2, 0], np.int32)], {"axis": 1}),
        ("GatherElements", [rng.integers(0, 3, size=(2, 3, 4))], {"axis": 1}), ("GatherND", [np.asarray([[0, 1], [1, 2], [0, 1]], np.int64)], {}),
        ("Trilu", [np.asarray(1, np.int64)], {"upper": 0}), ("Pad", [np.asarray([0, 1, 0, 2, 0, 1], np.int64)], {}),
        ("Pad", [np.asarray([0, 1, 1, 1, 0, 2], np.int64)], {"mode": choice(rng, ["reflect", "edge"])}), ("Compress", [np.asarray([True, False, True])], {"axis": 1}),
    ])
    return one(rng, op, [data] + inputs, **attributes)


@recipe("GradientBlocks")
def blocks(rng):
    op = choice(rng, ["DepthToSpace", "SpaceToDepth"])
    return one(rng, op, [uniform(rng, (1, 4, 2, 2))], blocksize=2, mode=choice(rng, ["DCR", "CRD"]) if op == "DepthToSpace" else None)


@recipe("GradientConcat")
def concat(rng):
    axis = int(rng.integers(0, 2))
    parts = [uniform(rng, (2, n) if axis else (n, 2)) for n in (1, 3, 2)]
    return one(rng, "Concat", parts, axis=axis)


@recipe("GradientSplit")
def split(rng):
    data = {"x0": uniform(rng, (2, 6)), "x1": np.asarray([1, 2, 3], np.int64)}
    nodes = [helper.make_node("Split", ["x0", "x1"], ["a", "b", "c"], axis=1), helper.make_node("ReduceSum", ["a"], ["s"]), helper.make_node("Mul", ["s", "c"], ["f"])]
    return gradient_case(rng, nodes, data, ["x0"])


@recipe("GradientScatter")
def scatter(rng):
    reduction = choice(rng, ["none", "add"])
    if rng.random() < 0.5:
        return one(rng, "ScatterND", [uniform(rng, (4, 3)), np.asarray([[2], [0]], np.int64), uniform(rng, (2, 3))], reduction=reduction)
    return one(rng, "ScatterElements", [uniform(rng, (3, 3)), np.asarray([[2, 0, 1]], np.int64), uniform(rng, (1, 3))], axis=0, reduction=reduction)


@recipe("GradientConv")
def conv(rng):
    group = int(rng.integers(1, 3))
    spatial = int(rng.integers(1, 3))
    x = uniform(rng, (2, 2 * group) + small(rng, spatial, 4, 5))
    w = uniform(rng, (2 * group, 2) + small(rng, spatial, 1, 3))
    padding = {"auto_pad": choice(rng, ["SAME_UPPER", "SAME_LOWER", "VALID"])} if rng.random() < 0.4 else {"pads": [int(p) for p in rng.integers(0, 2, 2 * spatial)]}
    if "auto_pad" in padding and padding["auto_pad"] != "VALID":
        dilations = [1] * spatial
    else:
        dilations = [int(d) for d in rng.integers(1, 3, spatial)]
        if any((k - 1) * d + 1 > n for k, d, n in zip(w.shape[2:], dilations, x.shape[2:])):
            dilations = [1] * spatial
    return one(rng, "Conv", [x, w, uniform(rng, (2 * group,))], group=group, strides=[int(s) for s in rng.integers(1, 3, spatial)], dilations=dilations, **padding)


@recipe("GradientConvTranspose")
def conv_transpose(rng):
    inputs = {"x": uniform(rng, (2, 4, 3, 2)), "w": uniform(rng, (4, 2, 2, 3))}
    attributes = {"strides": [2, 2], "pads": [int(p) for p in rng.integers(0, 2, 4)], "output_padding": [1, 0]}
    if rng.random() < 0.5:
        return gradient_case(rng, [helper.make_node("ConvTranspose", ["x", "w"], ["f"], **attributes)], inputs, ["x", "w"])
    # The reference knows no groups: it computes them one by one.
    written = [helper.make_node("Split", ["x"], ["xa", "xb"], axis=1, num_outputs=2), helper.make_node("Split", ["w"], ["wa", "wb"], axis=0, num_outputs=2)]
    written += [helper.make_node("ConvTranspose", ["x" + g, "w" + g], ["f" + g], **attributes) for g in "ab"]
    written.append(helper.make_node("Concat", ["fa", "fb"], ["f"], axis=1))
    return gradient_case(rng, [helper.make_node("ConvTranspose", ["x", "w"], ["f"], group=2, **attributes)], inputs, ["x", "w"], written=written)


@recipe("GradientMaxPool", "GradientAveragePool")
def pool(rng, name):
    x = rng.permutation(2 * 2 * 5 * 6).reshape(2, 2, 5, 6) * 0.1
    # The reference's MaxPool mistakes pads that differ, and pads with ceil_mode.
    average = name == "GradientAveragePool"
    pads, ceil = ([int(p) for p in rng.integers(0, 2, 4)], int(rng.integers(0, 2))) if average else choice(rng, [([1] * 4, 0), ([0] * 4, 1)])
    include = int(rng.integers(0, 2)) if average else None
    return one(rng, name.removeprefix("Gradient"), [x], kernel_shape=[2, 3], strides=[int(s) for s in rng.integers(1, 3, 2)], pads=pads,
               ceil_mode=ceil, count_include_pad=include)


@recipe("GradientGlobalPool")
def global_pool(rng):
    return one(rng, choice(rng, ["GlobalAveragePool", "GlobalMaxPool"]), [uniform(rng, (2, 3, 2, 3))])


@recipe("GradientBatchNormalization")
def batch_normalization(rng):
    inputs = [uniform(rng, (3, 2, 3)), uniform(rng, (2,)), uniform(rng, (2,)), uniform(rng, (2,)), uniform(rng, (2,), 0.5, 2)]
    if rng.random() < 0.5:
        return one(rng, "BatchNormalization", inputs)
    return one(rng, "BatchNormalization", inputs, xs=["x0", "x1", "x2"], outputs=("f", "mean", "variance"), training_mode=1)


@recipe("GradientInstanceNormalization")
def instance_normalization(rng):
    return one(rng, "InstanceNormalization", [uniform(rng, (2, 3, 4)), uniform(rng, (3,)), uniform(rng, (3,))])


@recipe("GradientLayerNormalization")
def layer_normalization(rng):
    return one(rng, "LayerNormalization", [uniform(rng, (2, 3, 4)), uniform(rng, (4,)), uniform(rng, (4,))])


@recipe("GradientLpNormalization")
def lp_normalization(rng):
    return one(rng, "LpNormalization", [uniform(rng, (3, 4), 0.2, 2)], p=int(rng.integers(1, 3)), axis=int(rng.integers(-2, 2)), opset=22)


@recipe("GradientLRN")
def lrn(rng):
    # The reference normalizes as many channels as there are images.
    return one(rng, "LRN", [uniform(rng, (5, 5, 2, 1))], size=int(rng.integers(1, 5)), alpha=0.3, beta=0.7, bias=1.2)


@recipe("GradientLoss")
def loss(rng):
    labels = rng.integers(0, 3, size=(4,)).astype(np.int64)
    return one(rng, "SoftmaxCrossEntropyLoss", [uniform(rng, (4, 3)), labels], reduction=choice(rng, ["none", "sum", "mean"]))


@recipe("GradientSecond")
def second(rng):
    """The gradient of a gradient, and of a network at another place than its inputs."""
    inputs = {"x": uniform(rng, (2, 3)), "w": uniform(rng, (3, 2))}
    first = [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("Tanh", ["h"], ["f"])]
    # What the inner Gradient gives, written out for the peer: (1 - tanh(xw)^2) w'.
    written = first + [helper.make_node("Mul", ["f", "f"], ["ff"]), helper.make_node("Sub", ["one", "ff"], ["slope"]),
                       helper.make_node("Transpose", ["w"], ["wt"]), helper.make_node("MatMul", ["slope", "wt"], ["dx"])]
    constants = {"one": np.asarray(1.0), "weights": uniform(rng, (2, 3))}
    weighted = [helper.make_node("Mul", ["dx", "weights"], ["y"])]
    nodes = first + [helper.make_node("Gradient", ["x"], ["dx"], domain=DOMAIN, xs=["x"], y="f")] + weighted
    nodes.append(helper.make_node("Gradient", ["x", "w"], ["ddx", "ddw"], domain=DOMAIN, xs=["x", "w"], y="y"))
    return Case(nodes, inputs, ["ddx", "ddw"], 21, constants, rtol=1e-4, atol=1e-5, domains={DOMAIN: 1},
                peer=differences(written + weighted, constants, ["x", "w"], 21), types={o: onnx.TensorProto.DOUBLE for o in ("ddx", "ddw")})


@recipe("GradientElsewhere")
def elsewhere(rng):
    """Inputs other than the tensors that the attributes name: the network is evaluated anew for them."""
    inputs = {"x": uniform(rng, (2, 3)), "z": uniform(rng, (2, 3)), "v": uniform(rng, (2, 3))}
    nodes = [helper.make_node("Mul", ["x", "z"], ["h"]), helper.make_node("Sin", ["h"], ["y"]), helper.make_node("Neg", ["y"], ["unused"]),
             helper.make_node("Gradient", ["v", "z"], ["dv", "dz"], domain=DOMAIN, xs=["x", "z"], y="y")]
    forward = [helper.make_node("Mul", ["v", "z"], ["h"]), helper.make_node("Sin", ["h"], ["y"])]
    return Case(nodes, inputs, ["dv", "dz"], 21, rtol=1e-4, atol=1e-5, domains={DOMAIN: 1}, peer=differences(forward, {}, ["v", "z"], 21),
                types={o: onnx.TensorProto.DOUBLE for o in ("dv", "dz")})
