"""com.microsoft operators that stand for a few nodes of ai.onnx. Those without a CPU kernel in ONNX Runtime are compared with numpy."""

import numpy as np

from recipe import choice, ort_session, recipe, shape, single, to_model, values
from recipes_microsoft import contrib, maybe


def run_single(op, inputs, **attributes):
    """ONNX Runtime's result of one node of ai.onnx."""
    case = single(op, inputs, opset=17, **attributes)
    return ort_session(to_model(case)).run(None, case.inputs)[0]


@recipe("Microsoft.BiasAdd")
def bias_add(rng):
    dims = shape(rng, 3, low=1)
    x, skip, bias = values(rng, dims, np.float32), values(rng, dims, np.float32), values(rng, dims[-1:], np.float32)
    return contrib("BiasAdd", [x, bias, skip], peer=lambda _: [x + bias + skip])


@recipe("Microsoft.GatedAdd")
def gated_add(rng):
    dims = shape(rng, int(rng.integers(1, 4)), low=1)
    return contrib("GatedAdd", [values(rng, dims, np.float32), values(rng, dims, np.float32), values(rng, (*dims[:-1], 1), np.float32)])


@recipe("Microsoft.BiasSoftmax")
def bias_softmax(rng):
    dims = shape(rng, int(rng.integers(2, 5)), low=1)
    axis = int(rng.integers(1, len(dims)))
    inner = rng.random() < 0.5
    bias = values(rng, dims[axis:] if inner else (*dims[:1], *[1] * (axis - 1), *dims[axis:]), np.float32)
    x = values(rng, dims, np.float32)

    def peer(_):
        rows = (x + bias).reshape(int(np.prod(dims[:axis])), -1).astype(np.float64)
        powers = np.exp(rows - rows.max(1, keepdims=True))
        return [(powers / powers.sum(1, keepdims=True)).reshape(dims).astype(np.float32)]
    return contrib("BiasSoftmax", [x, bias], axis=axis, is_inner_broadcast=int(inner), peer=peer)


@recipe("Microsoft.BiasDropout")
def bias_dropout(rng):
    """Not in training, where it is random."""
    dims = shape(rng, 3, low=1)
    x, bias, residual = values(rng, dims, np.float32), values(rng, dims[-1:], np.float32), maybe(rng, lambda: values(rng, dims, np.float32))
    return contrib("BiasDropout", [x, bias, residual, maybe(rng, lambda: np.float32(0.3))], peer=lambda _: [x + bias + (0 if residual is None else residual)])


def group_norm_of(x, gamma, beta, groups, epsilon, last, activation):
    x = np.moveaxis(x, -1, 1) if last else x
    rows = x.astype(np.float64).reshape(x.shape[0], groups, -1)
    rows = (rows - rows.mean(-1, keepdims=True)) / np.sqrt(rows.var(-1, keepdims=True) + epsilon)
    y = rows.reshape(x.shape) * gamma[:, None, None] + beta[:, None, None]
    y = y / (1 + np.exp(-y)) if activation else y
    return (np.moveaxis(y, 1, -1) if last else y).astype(np.float32)


@recipe("Microsoft.GroupNorm", "Microsoft.SkipGroupNorm")
def group_norm(rng, name):
    op, groups = name.split(".")[1], int(rng.integers(1, 4))
    batch, height, width, channels = int(rng.integers(1, 4)), int(rng.integers(1, 6)), int(rng.integers(1, 6)), groups * int(rng.integers(1, 5))
    last, activation = rng.random() < 0.6, int(rng.integers(2))
    dims = (batch, height, width, channels) if last else (batch, channels, height, width)
    x, gamma, beta = values(rng, dims, np.float32), values(rng, (channels,), np.float32), values(rng, (channels,), np.float32)
    attributes = {"groups": groups, "epsilon": 1e-3, "activation": activation, "channels_last": None if last and rng.random() < 0.5 else int(last)}
    finish = lambda total: group_norm_of(total, gamma, beta, groups, 1e-3, last, activation)
    if op == "GroupNorm":
        return contrib(op, [x, gamma, beta], atol=1e-4, peer=lambda _: [finish(x)], **attributes)
    across = (batch, 1, 1, channels) if last else (batch, channels, 1, 1)
    skip = values(rng, choice(rng, [dims, across, (batch, channels)]), np.float32)
    bias = maybe(rng, lambda: values(rng, (channels,), np.float32))
    total = x + (skip.reshape(across) if skip.ndim == 2 else skip)
    if bias is not None:
        total = total + bias.reshape((1, 1, 1, channels) if last else (1, channels, 1, 1))
    sums = rng.random() < 0.5
    return contrib(op, [x, gamma, beta, skip, bias], [True, sums], atol=1e-4, peer=lambda _: [finish(total), total][:1 + sums], **attributes)


@recipe("Microsoft.GatedRMSNorm")
def gated_rms_norm(rng):
    width, heads = int(rng.integers(1, 40)), int(rng.integers(1, 4))
    dims = (*shape(rng, int(rng.integers(1, 3)), low=1), heads * width)
    x = values(rng, dims, np.float32) * choice(rng, [np.float32(1), np.float32(0.01)])  # small enough for epsilon to count
    return contrib("GatedRMSNorm", [x, values(rng, (width,), np.float32), values(rng, dims, np.float32)], atol=1e-4,
                   activation=choice(rng, [None, "silu", "swish", "sigmoid"]), epsilon=maybe(rng, lambda: 1e-3))


@recipe("Microsoft.NhwcConv", "Microsoft.NhwcFusedConv")
def nhwc_conv(rng, name):
    op, group = name.split(".")[1], choice(rng, [1, 1, 2])
    channels, outputs = group * int(rng.integers(1, 5)), group * int(rng.integers(1, 5))
    kernel = [int(rng.integers(1, 4)) for _ in range(2)]
    x = values(rng, (int(rng.integers(1, 3)), channels, int(rng.integers(4, 9)), int(rng.integers(4, 9))), np.float32)
    w = values(rng, (outputs, channels // group, *kernel), np.float32)
    bias = maybe(rng, lambda: values(rng, (outputs,), np.float32))
    attributes = {"group": group, "kernel_shape": kernel, "strides": [int(rng.integers(1, 3)) for _ in range(2)], "pads": [int(rng.integers(0, 2)) for _ in range(4)]}
    y = np.moveaxis(run_single("Conv", [x, w, bias], **attributes), 1, -1)
    last = np.moveaxis(x, 1, -1)
    if op == "NhwcConv":
        return contrib(op, [last, np.moveaxis(w, 1, -1), bias], constants=[1, 2], atol=1e-4, peer=lambda _: [y], **attributes)
    z = maybe(rng, lambda: values(rng, y.shape, np.float32))
    total = y if z is None else y + z
    activation, function = choice(rng, [(None, lambda t: t), ("Relu", lambda t: np.maximum(t, 0)), ("Tanh", np.tanh)])
    return contrib(op, [last, w, bias, z], constants=[1, 2], atol=1e-4, activation=activation, peer=lambda _: [function(total).astype(np.float32)], **attributes)


@recipe("Microsoft.ScaledSiLU")
def scaled_silu(rng):
    dims = shape(rng, int(rng.integers(1, 4)), low=1)
    scale = maybe(rng, lambda: np.full(choice(rng, [(), (1,)]), rng.normal(), np.float32))
    return contrib("ScaledSiLU", [values(rng, dims, np.float32), scale], alpha=maybe(rng, lambda: float(rng.normal())))


@recipe("Microsoft.MatMulInteger16")
def matmul_integer_16(rng):
    batch, (m, n, k) = shape(rng, int(rng.integers(0, 2)), low=1), (int(rng.integers(1, 20)) for _ in range(3))
    number = lambda *dims: rng.integers(-300, 300, size=(*batch, *dims)).astype(np.int16)
    return contrib("MatMulInteger16", [number(m, k), number(k, n)], dtype=np.int32)


@recipe("Microsoft.GatherND")
def gather_nd(rng):
    dims = shape(rng, int(rng.integers(1, 4)), low=1)
    depth = int(rng.integers(1, len(dims) + 1))
    indices = np.stack([rng.integers(0, d, size=(3, 2)) for d in dims[:depth]], -1).astype(choice(rng, [np.int32, np.int64]))
    return contrib("GatherND", [values(rng, dims, np.float32), indices])
