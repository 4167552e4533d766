"""Windows over images beside Conv and the pools: quantized, deformed, undone."""

import numpy as np

from onnx import helper

from recipe import Case, choice, recipe, single, values


def geometry(rng, rank, low=4, high=11):
    dims = [int(rng.integers(low, high)) for _ in range(rank)]
    kernel = [int(rng.integers(1, 4)) for _ in range(rank)]
    return dims, kernel, {"strides": [int(rng.integers(1, 3)) for _ in range(rank)], "pads": [int(rng.integers(0, 2)) for _ in range(2 * rank)]}


def quantized(rng, dims, dtype):
    """Seven bits of signed values: with eight, ONNX Runtime's products of uint8 and int8 saturate on some processors."""
    return values(rng, dims, dtype, *((-16, 15) if dtype == np.int8 else (0, 60)))


@recipe("ConvInteger")
def conv_integer(rng):
    dims, kernel, attributes = geometry(rng, 2)
    group = choice(rng, [1, 1, 2])
    x, w = np.uint8, choice(rng, [np.uint8, np.int8])
    case = single("ConvInteger", [quantized(rng, (2, 2 * group, *dims), x), quantized(rng, (3 * group, 2, *kernel), w), quantized(rng, (), x), np.zeros((), w)],
                  group=group, **attributes)
    case.peer, case.opset = "ort", 21
    return case


@recipe("QLinearConv")
def qlinear_conv(rng):
    dims, kernel, attributes = geometry(rng, 2)
    group = choice(rng, [1, 1, 2])
    x, w = np.uint8, choice(rng, [np.uint8, np.int8])
    channels = 3 * group

    def scale(size=()):
        return rng.uniform(0.01, 0.1, size).astype(np.float32)

    per_channel = rng.random() < 0.5 and w == np.int8
    w_zero = np.zeros((channels,) if per_channel else (), w)
    bias = rng.integers(-500, 500, channels).astype(np.int32) if rng.random() < 0.5 else None
    case = single("QLinearConv", [quantized(rng, (2, 2 * group, *dims), x), scale(), quantized(rng, (), x), quantized(rng, (channels, 2, *kernel), w),
                                  scale((channels,) if per_channel else ()), w_zero, np.float32(0.5), quantized(rng, (), x), bias],
                  group=group, constants=(3,) if rng.random() < 0.5 else (), **attributes)
    case.peer, case.opset, case.atol = "ort", 21, 1  # a tie in the last bit
    return case


@recipe("QLinearMatMul")
def qlinear_matmul(rng):
    m, k, n = (int(rng.integers(1, 40)) for _ in range(3))
    a, b = (choice(rng, [np.uint8, np.int8]) for _ in range(2))
    case = single("QLinearMatMul", [quantized(rng, (m, k), a), np.float32(0.05), quantized(rng, (), a), quantized(rng, (k, n), b), np.float32(0.03),
                                    quantized(rng, (), b), np.float32(0.3), quantized(rng, (), a)])
    case.atol = 1
    return case


@recipe("Col2Im")
def col2im(rng):
    rank = int(rng.integers(1, 3))
    image, block = [int(rng.integers(4, 9)) for _ in range(rank)], [int(rng.integers(1, 4)) for _ in range(rank)]
    pads, strides = [int(rng.integers(0, 2)) for _ in range(2 * rank)], [int(rng.integers(1, 3)) for _ in range(rank)]
    steps = [(i + pads[a] + pads[a + rank] - block[a]) // strides[a] + 1 for a, i in enumerate(image)]
    x = values(rng, (2, 3 * int(np.prod(block)), int(np.prod(steps))), np.float32)
    return single("Col2Im", [x, np.asarray(image, np.int64), np.asarray(block, np.int64)], pads=pads, strides=strides)


@recipe("DeformConv")
def deform_conv(rng):
    height, width = int(rng.integers(3, 8)), int(rng.integers(3, 8))
    kernel = [int(rng.integers(1, 4)), int(rng.integers(1, 4))]
    offset_group, channels = choice(rng, [1, 2]), 4
    out = (height - kernel[0] + 1 + 2, width - kernel[1] + 1 + 2)
    positions = offset_group * kernel[0] * kernel[1]
    mask = values(rng, (1, positions, *out), np.float32, 0, 1) if rng.random() < 0.5 else None
    case = single("DeformConv", [values(rng, (1, channels, height, width), np.float32), values(rng, (3, channels, *kernel), np.float32),
                                 values(rng, (1, 2 * positions, *out), np.float32, -1.5, 1.5), values(rng, (3,), np.float32) if rng.random() < 0.5 else None, mask],
                  pads=[1, 1, 1, 1], offset_group=offset_group, kernel_shape=kernel)
    case.atol = 1e-4
    return case


@recipe("MaxUnpool")
def max_unpool(rng):
    dims, size = (int(rng.integers(1, 3)), int(rng.integers(1, 3))), [int(rng.integers(1, 5)), int(rng.integers(1, 5))]
    cells = dims[0] * dims[1] * size[0] * size[1]
    indices = rng.permutation(4 * cells)[:cells].reshape(*dims, *size).astype(np.int64)
    wanted = np.asarray([*dims, 2 * size[0] + 1, 2 * size[1] + 2], np.int64) if rng.random() < 0.4 else None
    return single("MaxUnpool", [values(rng, (*dims, *size), np.float32), indices, wanted], kernel_shape=[2, 2], strides=[2, 2])


@recipe("MaxRoiPool")
def max_roi_pool(rng):
    dims = (int(rng.integers(1, 3)), int(rng.integers(1, 4)), int(rng.integers(4, 12)), int(rng.integers(4, 12)))
    count = int(rng.integers(1, 5))
    corner = rng.integers(0, 4, (count, 2))
    rois = np.concatenate([rng.integers(0, dims[0], (count, 1)), corner, corner + rng.integers(0, 8, (count, 2))], axis=1).astype(np.float32)
    case = single("MaxRoiPool", [values(rng, dims, np.float32), rois], pooled_shape=[int(rng.integers(1, 4)), int(rng.integers(1, 4))],
                  spatial_scale=choice(rng, [1.0, 0.5]), opset=21)
    case.peer = "ort"  # the reference has none
    return case


@recipe("CausalConvWithState")
def causal_conv(rng):
    batch, channels, length, width = (int(rng.integers(1, n)) for n in (3, 6, 12, 5))
    state = values(rng, (batch, channels, width - 1), np.float32) if rng.random() < 0.5 else None
    return single("CausalConvWithState", [values(rng, (batch, channels, length), np.float32), values(rng, (channels, 1, width), np.float32),
                                          values(rng, (channels,), np.float32) if rng.random() < 0.5 else None, state],
                  outputs=2, activation=choice(rng, ["none", "silu"]))


@recipe("LinearAttention")
def linear_attention(rng):
    batch, heads, length, size = int(rng.integers(1, 3)), choice(rng, [1, 2]), int(rng.integers(1, 6)), choice(rng, [2, 4])
    rule = choice(rng, ["linear", "gated", "delta", "gated_delta"])
    width = heads * size
    decay = values(rng, (batch, length, width), np.float32, -1, 0) if "gated" in rule else None
    beta = values(rng, (batch, length, heads), np.float32, 0, 1) if "delta" in rule else None
    x = [values(rng, (batch, length, width), np.float32, -1, 1) for _ in range(3)]
    state = values(rng, (batch, heads, size, size), np.float32, -1, 1) if rng.random() < 0.5 else None
    case = single("LinearAttention", [*x, state, decay, beta], outputs=2, q_num_heads=heads, kv_num_heads=heads, update_rule=rule)
    case.atol = 1e-4
    return case


@recipe("EmptyWindows")
def empty_windows(rng):
    """Along one axis the window is up to a stride larger than the image: no window fits, by the formula that both peers bend."""
    rank, channels = int(rng.integers(1, 4)), 4 * int(rng.integers(1, 5))
    dims, kernel, attributes = geometry(rng, rank)
    axis = int(rng.integers(rank))
    kernel[axis], attributes["pads"][axis], attributes["pads"][rank + axis] = 3, 0, 0
    attributes["strides"][axis] = stride = int(rng.integers(1, 4))
    dims[axis] = int(rng.integers(max(1, 3 - stride), 3))
    attributes["pads"] = [min(pad, kernel[i % rank] - 1) for i, pad in enumerate(attributes["pads"])]
    op = choice(rng, ["AveragePool", "Conv", "ConvInteger", "LpPool", "MaxPool"])
    dtype, result = (np.uint8, np.int32) if op == "ConvInteger" else (np.float32, np.float32)
    inputs = {"x": values(rng, (int(rng.integers(1, 3)), channels, *dims), dtype)}
    if op.startswith("Conv"):
        attributes["group"] = group = choice(rng, [1, 2, channels])
        inputs["w"] = values(rng, (channels, channels // group, *kernel), dtype)
    nodes = [helper.make_node(op, list(inputs), ["y"], kernel_shape=kernel, **attributes), helper.make_node("Shape", ["y"], ["dims"])]
    sizes = [size + attributes["pads"][i] + attributes["pads"][rank + i] - kernel[i] for i, size in enumerate(dims)]
    output = (*inputs["x"].shape[:2], *(size // attributes["strides"][i] + 1 for i, size in enumerate(sizes)))
    case = Case(nodes, inputs, ["y", "dims"], dynamic=bool(rng.random() < 0.5))
    case.constants = {"w": case.inputs.pop("w")} if "w" in inputs and rng.random() < 0.6 else {}
    case.peer = lambda _: [np.zeros(output, result), np.array(output, np.int64)]
    return case
