"""Reductions, normalizations, softmax, TopK, scans along an axis."""

import numpy as np

from recipe import FLOATS, broadcastable, choice, recipe, shape, single, values


@recipe("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare",
        "ReduceLogSum", "ReduceLogSumExp")
def reduce(rng, op):
    dtype = choice(rng, [np.float32, np.float64] + ([np.int32, np.int64] if op in ("ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd") else []))
    dims = shape(rng, low=1)
    low, high = (0.5, 2.0) if op in ("ReduceLogSum", "ReduceProd") else (-3, 3)
    count = int(rng.integers(0, len(dims) + 1))
    axes = np.asarray(sorted(rng.permutation(len(dims))[:count]), np.int64)
    if rng.random() < 0.3:
        axes = axes - len(dims)
    use_axes = axes if count or rng.random() < 0.5 else None
    return single(op, [values(rng, dims, dtype, low, high), use_axes], dtype=dtype, keepdims=int(rng.integers(0, 2)),
                  noop_with_empty_axes=int(rng.integers(0, 2)), opset=25)


@recipe("ArgMax", "ArgMin")
def arg(rng, op):
    dims = shape(rng, rank=int(rng.integers(1, 5)), low=1)
    return single(op, [values(rng, dims, choice(rng, [np.float32, np.float64, np.int32, np.int8])).round()],
                  axis=int(rng.integers(-len(dims), len(dims))), keepdims=int(rng.integers(0, 2)), select_last_index=int(rng.integers(0, 2)))


@recipe("Softmax", "LogSoftmax", "Hardmax")
def softmax(rng, op):
    opset = choice(rng, [11, 13, None])
    dtype = choice(rng, [np.float32, np.float64] if opset == 11 else [np.float32, np.float64, np.float16])
    dims = shape(rng, rank=int(rng.integers(1, 5)), low=1)
    case = single(op, [values(rng, dims, dtype)], dtype=dtype, axis=int(rng.integers(-len(dims), len(dims))), opset=opset)
    if opset == 11:
        case.peer = "ort"  # the reference has no version that flattens its input
    return case


@recipe("LayerNormalization")
def layer_norm(rng):
    dims = shape(rng, rank=int(rng.integers(1, 5)), low=1)
    axis = int(rng.integers(-len(dims), len(dims)))
    size = lambda: choice(rng, [dims[axis:], dims[axis:], broadcastable(rng, dims[axis:]), broadcastable(rng, dims)])
    bias = values(rng, size(), np.float32) if rng.random() < 0.7 else None
    case = single("LayerNormalization", [values(rng, dims, np.float32), values(rng, size(), np.float32), bias], axis=axis, epsilon=1e-3,
                  constants=choice(rng, [(), (1,), (1, 2)] if bias is not None else [(), (1,)]))
    case.dynamic = rng.random() < 0.3
    return case


@recipe("RMSNormalization")
def rms_norm(rng):
    dims = shape(rng, rank=int(rng.integers(1, 5)), low=1)
    axis = int(rng.integers(-len(dims), len(dims)))
    return single("RMSNormalization", [values(rng, dims, np.float32), values(rng, dims[axis:], np.float32)], axis=axis, epsilon=1e-3)


@recipe("BatchNormalization")
def batch_norm(rng):
    dims = shape(rng, rank=int(rng.integers(2, 6)), low=1)
    channels = (dims[1],)
    return single("BatchNormalization", [values(rng, dims, np.float32), *[values(rng, channels, np.float32) for _ in range(3)],
                                         values(rng, channels, np.float32, 0.5, 2)])


@recipe("InstanceNormalization")
def instance_norm(rng):
    dims = shape(rng, rank=int(rng.integers(3, 6)), low=2)
    return single("InstanceNormalization", [values(rng, dims, np.float32), *[values(rng, (dims[1],), np.float32) for _ in range(2)]], epsilon=1e-3)


@recipe("GroupNormalization")
def group_norm(rng):
    groups = int(rng.integers(1, 4))
    channels = groups * int(rng.integers(1, 5))
    dims = (int(rng.integers(1, 4)), channels) + shape(rng, rank=2, low=2)
    return single("GroupNormalization", [values(rng, dims, np.float32), *[values(rng, (channels,), np.float32) for _ in range(2)]],
                  num_groups=groups, epsilon=1e-3)


@recipe("LRN")
def lrn(rng):
    dims = shape(rng, rank=4, low=1)
    case = single("LRN", [values(rng, dims, np.float32)], size=choice(rng, [1, 3, 5]), alpha=0.01, beta=0.6, bias=1.5)
    case.peer, case.opset = "ort", 13  # the reference counts channels by the batch size
    return case


@recipe("LpNormalization")
def lp_norm(rng):
    dims = shape(rng, rank=int(rng.integers(1, 5)), low=1)
    return single("LpNormalization", [values(rng, dims, np.float32, 0.1, 2)], axis=int(rng.integers(-len(dims), len(dims))), p=int(rng.integers(1, 3)))


@recipe("MeanVarianceNormalization")
def mvn(rng):
    return single("MeanVarianceNormalization", [values(rng, shape(rng, rank=4, low=2), np.float32)], axes=choice(rng, [[0, 2, 3], [2, 3], [1, 2, 3]]))


@recipe("CumSum")
def cumsum(rng):
    dtype = choice(rng, [np.float32, np.float64, np.int32, np.int64])
    dims = shape(rng, rank=int(rng.integers(1, 5)), low=1)
    return single("CumSum", [values(rng, dims, dtype), np.asarray(int(rng.integers(-len(dims), len(dims))), np.int64)], dtype=dtype,
                  exclusive=int(rng.integers(0, 2)), reverse=int(rng.integers(0, 2)))


@recipe("TopK")
def topk(rng):
    dims = shape(rng, rank=int(rng.integers(1, 5)), low=1)
    axis = int(rng.integers(-len(dims), len(dims)))
    k = int(rng.integers(1, dims[axis], endpoint=True))
    return single("TopK", [values(rng, dims, choice(rng, [np.float32, np.float64, np.int64, np.int32])), np.asarray([k], np.int64)],
                  outputs=2, axis=axis, largest=int(rng.integers(0, 2)), sorted=1)


@recipe("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
def loss(rng, op):
    classes = int(rng.integers(2, 8))
    rest = shape(rng, rank=int(rng.integers(0, 3)), low=1)
    batch = int(rng.integers(1, 6))
    labels = rng.integers(0, classes, size=(batch,) + rest).astype(np.int64)
    weight = values(rng, (classes,), np.float32, 0.1, 2) if rng.random() < 0.5 else None
    return single(op, [values(rng, (batch, classes) + rest, np.float32), labels, weight], reduction=choice(rng, ["none", "mean", "sum"]))


@recipe("CumProd")
def cumprod(rng):
    dtype = choice(rng, [np.float32, np.float64, np.int32, np.int64])
    dims = shape(rng, rank=int(rng.integers(1, 4)), low=1, high=9)
    return single("CumProd", [values(rng, dims, dtype, 0.5, 1.5), np.asarray(int(rng.integers(-len(dims), len(dims))), np.int64)], dtype=dtype,
                  exclusive=int(rng.integers(0, 2)), reverse=int(rng.integers(0, 2)))


@recipe("Det")
def det(rng):
    size = int(rng.integers(1, 8))
    dtype = choice(rng, [np.float32, np.float64])
    case = single("Det", [values(rng, (*shape(rng, rank=int(rng.integers(0, 3)), low=1, high=5), size, size), dtype, -1, 1)], dtype=dtype)
    case.atol = 1e-5
    return case


@recipe("GlobalLpPool")
def global_lp_pool(rng):
    case = single("GlobalLpPool", [values(rng, shape(rng, rank=int(rng.integers(3, 6)), low=1), np.float32)], p=int(rng.integers(1, 4)), opset=18)
    case.peer = "ort"
    return case
