"""com.microsoft operators on quantized tensors against ONNX Runtime, which defines them."""

import numpy as np
from onnx import TensorProto, helper

from recipe import broadcastable, choice, recipe, shape, values
from recipes_microsoft import contrib, maybe
from recipes_microsoft_attention import heads_and_width, key_mask


def q_values(rng, dims, dtype, narrow=False):
    """`narrow`: few enough bits that the peer's sums of signed products do not saturate."""
    info = np.iinfo(dtype)
    if narrow and info.min < 0:
        return rng.integers(-60, 61, size=dims).astype(dtype)
    return rng.integers(info.min, info.max, size=dims, endpoint=True).astype(dtype)


def scale_of(rng, low=0.01, high=0.1):
    return np.float32(rng.uniform(low, high))


def quantized(op, inputs, outputs=1, dtype=np.uint8, **options):
    """Results may be one quantized value apart: the peer rounds elsewhere."""
    options.setdefault("atol", 1.01 if np.issubdtype(dtype, np.integer) else 1e-3)
    return contrib(op, inputs, outputs, dtype=dtype, rtol=1e-3, **options)


@recipe("Microsoft.QLinearAdd", "Microsoft.QLinearMul")
def qlinear_binary(rng, name):
    op, dtype = name.split(".")[1], choice(rng, [np.uint8, np.int8])
    dims = shape(rng, int(rng.integers(1, 5)), low=1)
    zero = lambda: q_values(rng, (), dtype)
    a, b = q_values(rng, dims, dtype), q_values(rng, broadcastable(rng, dims), dtype)
    if rng.random() < 0.5:
        a, b = b, a
    scale = scale_of(rng) * 10 if op == "QLinearMul" else scale_of(rng)
    return quantized(op, [a, scale_of(rng), zero(), b, scale_of(rng), zero(), scale, zero()], dtype=dtype, constants=[1, 2, 4, 5, 6, 7])


@recipe("Microsoft.QLinearSigmoid", "Microsoft.QLinearLeakyRelu")
def qlinear_unary(rng, name):
    op, dtype = name.split(".")[1], choice(rng, [np.uint8, np.int8])
    alpha = float(rng.uniform(0, 0.5)) if "Leaky" in op else None
    return quantized(op, [q_values(rng, shape(rng, low=1), dtype), scale_of(rng), q_values(rng, (), dtype), scale_of(rng, 0.002, 0.05), q_values(rng, (), dtype)],
                     dtype=dtype, constants=choice(rng, [[1, 2, 3, 4], []]), alpha=alpha)


@recipe("Microsoft.QLinearSoftmax")
def qlinear_softmax(rng):
    dtype = choice(rng, [np.uint8, np.int8])
    dims = shape(rng, int(rng.integers(1, 5)), low=2)  # the peer makes 0 of the softmax of one element
    opset = choice(rng, [12, 13])
    zero = np.array(0 if dtype == np.uint8 else -128, dtype)
    return quantized("QLinearSoftmax", [q_values(rng, dims, dtype), scale_of(rng), q_values(rng, (), dtype), np.float32(1 / 200), zero], dtype=dtype,
                     constants=[1, 2, 3, 4], opset=13, axis=int(rng.integers(-len(dims), len(dims))), **{"opset_of": opset})


@recipe("Microsoft.QLinearConcat")
def qlinear_concat(rng):
    dtype = choice(rng, [np.uint8, np.int8])
    dims = list(shape(rng, int(rng.integers(1, 4)), low=1))
    axis = int(rng.integers(-len(dims), len(dims)))
    inputs = [scale_of(rng), q_values(rng, (), dtype)]
    for _ in range(int(rng.integers(1, 5))):
        dims[axis] = int(rng.integers(1, 9))
        inputs += [q_values(rng, dims, dtype), scale_of(rng), q_values(rng, (), dtype)]
    return quantized("QLinearConcat", inputs, dtype=dtype, constants=[i for i in range(len(inputs)) if i < 2 or i % 3 != 2], axis=axis)


@recipe("Microsoft.QLinearWhere")
def qlinear_where(rng):
    dtype = choice(rng, [np.uint8, np.int8])
    dims = shape(rng, int(rng.integers(1, 5)), low=1)
    condition, x, y = (broadcastable(rng, dims) for _ in range(3))
    scales = lambda: [scale_of(rng), q_values(rng, (), dtype)]
    inputs = [rng.random(size=condition) < 0.5, q_values(rng, x, dtype), *scales(), q_values(rng, y, dtype), *scales(), *scales()]
    return quantized("QLinearWhere", inputs, dtype=dtype, constants=[2, 3, 5, 6, 7, 8])


@recipe("Microsoft.QEmbedLayerNormalization")
def qembed_layer_normalization(rng):
    dtype = choice(rng, [np.uint8, np.int8])
    batch, steps, width = (int(rng.integers(1, n)) for n in (4, 12, 40))
    segments, mask = rng.random() < 0.5, rng.random() < 0.5
    given = [True, True, segments, True, True]
    ids = lambda rows: rng.integers(0, rows, size=(batch, steps)).astype(np.int32)
    tables = [q_values(rng, dims, dtype) if there else None for there, dims in zip(given, [(20, width), (15, width), (2, width), (width,), (width,)])]
    lengths = rng.integers(0, steps + 1, size=(batch, 1))
    inputs = [ids(20), ids(2) if segments else None, *tables, (np.arange(steps)[None] < lengths).astype(np.int32) if mask else None,
              *(scale_of(rng) if there else None for there in given), *(q_values(rng, (), dtype) if there else None for there in given)]
    return contrib("QEmbedLayerNormalization", inputs, 2, constants=[i for i in range(2, 18) if i != 7], epsilon=1e-6, types={1: TensorProto.INT32},
                   atol=1e-2, rtol=1e-2)


@recipe("Microsoft.QLinearAveragePool", "Microsoft.QLinearGlobalAveragePool", "Microsoft.NhwcMaxPool")
def quantized_pools(rng, name):
    op, dtype = name.split(".")[1], choice(rng, [np.uint8, np.int8])
    spatial = int(rng.integers(1, 4)) if op == "QLinearAveragePool" else 2
    sizes = [int(rng.integers(4, 12)) for _ in range(spatial)]
    last = op == "NhwcMaxPool" or rng.random() < 0.5
    batch, channels = int(rng.integers(1, 3)), int(rng.integers(1, 20))
    x = q_values(rng, (batch, *sizes, channels) if last else (batch, channels, *sizes), dtype)
    window = {"kernel_shape": [int(rng.integers(1, 4)) for _ in sizes], "strides": [int(rng.integers(1, 3)) for _ in sizes],
              "pads": [0] * (2 * spatial) if rng.random() < 0.5 else None}
    if op == "NhwcMaxPool":
        return quantized(op, [x], dtype=dtype, **window)
    scales = [scale_of(rng), q_values(rng, (), dtype), scale_of(rng, 0.02), q_values(rng, (), dtype)]
    if op == "QLinearAveragePool":
        window["count_include_pad"] = int(rng.integers(2))
    else:
        window = {}
    return quantized(op, [x, *scales], dtype=dtype, constants=[1, 2, 3, 4], channels_last=int(last), **window)


@recipe("Microsoft.QLinearConv")
def qlinear_conv(rng):
    dtype = np.uint8
    channels, outputs = int(rng.integers(1, 9)), int(rng.integers(1, 9))
    last = rng.random() < 0.7
    dims = (int(rng.integers(5, 10)), int(rng.integers(5, 10)))
    x = q_values(rng, (2, *dims, channels) if last else (2, channels, *dims), dtype)
    w = q_values(rng, (outputs, channels, 3, 3), np.int8, narrow=True)
    return quantized("QLinearConv", [x, scale_of(rng), q_values(rng, (), dtype), w, scale_of(rng), np.int8(0), np.float32(2.0), q_values(rng, (), dtype),
                                     maybe(rng, lambda: rng.integers(-5000, 5000, size=outputs).astype(np.int32))],
                     dtype=dtype, constants=list(range(1, 9)), channels_last=int(last), kernel_shape=[3, 3], pads=[1, 1, 1, 1],
                     strides=[int(rng.integers(1, 3))] * 2)


@recipe("Microsoft.DynamicQuantizeMatMul", "Microsoft.MatMulIntegerToFloat")
def quantized_matmul(rng, name):
    op, dtype = name.split(".")[1], choice(rng, [np.uint8, np.int8])
    m, n, k = (int(rng.integers(1, 40)) for _ in range(3))
    lead = choice(rng, [(), (2,), (2, 3)])
    b = q_values(rng, (k, n), dtype, narrow=True)
    each = rng.random() < 0.4
    b_scale = values(rng, (n,), np.float32, 0.01, 0.1) if each else scale_of(rng)
    b_zero = maybe(rng, lambda: q_values(rng, (n,) if each else (), dtype))
    bias = maybe(rng, lambda: values(rng, (n,), np.float32))
    if op == "DynamicQuantizeMatMul":
        return contrib(op, [values(rng, (*lead, m, k), np.float32), b, b_scale, b_zero, bias], constants=[1, 2, 3, 4], atol=0.5, rtol=2e-2)
    # The peer has no kernel for signed A.
    a_zero = maybe(rng, lambda: q_values(rng, (), np.uint8))
    return contrib(op, [q_values(rng, (*lead, m, k), np.uint8), b, scale_of(rng), b_scale, a_zero, b_zero, bias], constants=[1, 3, 5, 6], atol=1e-2)


@recipe("Microsoft.QGemm")
def qgemm(rng):
    m, n, k = (int(rng.integers(1, 30)) for _ in range(3))
    trans_a, trans_b = int(rng.integers(2)), int(rng.integers(2))
    dtype = choice(rng, [np.uint8, np.int8])
    each = rng.random() < 0.4
    a, b = q_values(rng, (k, m) if trans_a else (m, k), np.uint8), q_values(rng, (n, k) if trans_b else (k, n), dtype, narrow=True)
    b_scale = values(rng, (n,), np.float32, 0.01, 0.1) if each else scale_of(rng)
    c = maybe(rng, lambda: rng.integers(-9999, 9999, size=choice(rng, [(n,), (m, n), (1, n)])).astype(np.int32))
    quantizes = rng.random() < 0.6
    inputs = [a, scale_of(rng), q_values(rng, (), np.uint8), b, b_scale, q_values(rng, (n,) if each else (), dtype), c]
    if quantizes:
        inputs += [np.float32(rng.uniform(0.5, 3)), q_values(rng, (), np.uint8)]
    case = quantized("QGemm", inputs, dtype=np.uint8 if quantizes else np.float32, constants=list(range(1, 9)), transA=trans_a, transB=trans_b,
                     alpha=float(rng.uniform(0.5, 1.5)))
    if quantizes and rng.random() < 0.5:  # nothing declares the type between the two
        case.nodes.append(helper.make_node("DequantizeLinear", ["y0", "x7", "x8"], ["real"]))
        case.outputs, case.types, case.atol = ["real"], {"real": TensorProto.FLOAT}, 3.01
    return case


@recipe("Microsoft.QAttention")
def qattention(rng):
    batch, steps, inputs = (int(rng.integers(1, n)) for n in (4, 12, 20))
    heads, width = heads_and_width(rng)
    hidden = heads * width
    past = choice(rng, [None, None, 3])
    state = None if past is None else values(rng, (2, batch, heads, past, width), np.float32)
    causal = int(past is not None or rng.random() < 0.4)
    mask = None if causal else key_mask(rng, batch, steps, steps, ["none", "ends"])
    weight_type = choice(rng, [np.int8, np.uint8])
    return contrib("QAttention", [q_values(rng, (batch, steps, inputs), np.uint8), q_values(rng, (inputs, 3 * hidden), weight_type, narrow=True),
                                  values(rng, (3 * hidden,), np.float32), scale_of(rng, 0.001, 0.01), scale_of(rng, 0.001, 0.01), mask,
                                  q_values(rng, (), np.uint8), q_values(rng, (), weight_type), state], [True, past is not None],
                   constants=[1, 2, 3, 4, 6, 7], num_heads=heads, unidirectional=causal, atol=1e-3)


@recipe("Microsoft.DynamicQuantizeLSTM")
def dynamic_quantize_lstm(rng):
    steps, batch, width, hidden = (int(rng.integers(1, n)) for n in (6, 12, 90, 90))
    direction = choice(rng, ["forward", "reverse", "bidirectional"])
    count = 2 if direction == "bidirectional" else 1
    dtype = choice(rng, [np.int8, np.uint8])
    each = (count, 4 * hidden) if rng.random() < 0.3 else (count,)
    zeros = np.full(each, 0 if dtype == np.int8 or len(each) == 2 else 128, dtype)
    # ONNX Runtime rounds all of X and of a state by one scale: what that does to a gate grows with what it sums.
    largest = 0.1 / max(10, width, hidden)
    scale = lambda: values(rng, each, np.float32, largest / 5, largest)
    return contrib("DynamicQuantizeLSTM", [
        values(rng, (steps, batch, width), np.float32, -1, 1), q_values(rng, (count, width, 4 * hidden), dtype, narrow=True),
        q_values(rng, (count, hidden, 4 * hidden), dtype, narrow=True),
        maybe(rng, lambda: values(rng, (count, 8 * hidden), np.float32, -1, 1)),
        maybe(rng, lambda: rng.integers(1, steps + 1, batch).astype(np.int32)),
        maybe(rng, lambda: values(rng, (count, batch, hidden), np.float32, -1, 1)), None, None, scale(), zeros, scale(), zeros], 3,
        constants=[1, 2, 3, 8, 9, 10, 11] if rng.random() < 0.7 else [8, 9, 10, 11], direction=direction, hidden_size=hidden, atol=5e-2, rtol=5e-2)


@recipe("Microsoft.QuantizeLinear", "Microsoft.DequantizeLinear")
def quantize_linear(rng, name):
    op = name.split(".")[1]
    dims = shape(rng, int(rng.integers(1, 5)), low=1)
    axis = maybe(rng, lambda: int(rng.integers(-len(dims), len(dims))))
    kinds = [np.uint8, np.int8, np.uint16, np.int16]
    dtype = choice(rng, kinds)
    sizes = () if axis is None else (dims[axis],)
    scale = values(rng, sizes, np.float32, 0.01, 0.2)
    zero = q_values(rng, sizes, dtype)
    if op == "QuantizeLinear":
        return quantized(op, [values(rng, dims, np.float32, -9, 9), scale, zero], dtype=dtype, axis=axis)
    return contrib(op, [q_values(rng, dims, dtype), scale, maybe(rng, lambda: zero)], axis=axis)
