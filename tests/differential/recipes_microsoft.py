"""com.microsoft operators against ONNX Runtime, which defines them. Types that its CPU kernels lack are compared with numpy."""

import math

import ml_dtypes
import numpy as np
from onnx import TensorProto, helper

from recipe import FLOATS, Case, choice, name_inputs, recipe, shape, tolerance, values
from recipes_sequence import WORDS, words

MICROSOFT = "com.microsoft"


def contrib(op, inputs, outputs=1, dtype=np.float32, constants=(), types=None, domain=MICROSOFT, opset=17, peer="ort", rtol=None, atol=None,
            **attributes):
    """One node whose inputs are arrays (None: omitted). `outputs` is a number or, for each, whether it is there."""
    names, feeds, initializers = name_inputs(inputs, constants)
    wanted = [True] * outputs if isinstance(outputs, int) else list(outputs)
    while not wanted[-1]:
        wanted.pop()
    results = [f"y{i}" if there else "" for i, there in enumerate(wanted)]
    attributes = {key: value for key, value in attributes.items() if value is not None}
    if "opset_of" in attributes:
        attributes["opset"] = attributes.pop("opset_of")
    node = helper.make_node(op, names, results, domain=domain, **attributes)
    given_rtol, given_atol = tolerance(dtype)
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    declared = {f"y{i}": (types or {}).get(i, kind) for i, there in enumerate(wanted) if there}
    return Case([node], feeds, [name for name in results if name], opset, initializers, rtol or given_rtol, atol or given_atol, peer,
                {MICROSOFT: 1}, declared)


def maybe(rng, make, probability=0.5):
    return make() if rng.random() < probability else None


def some_constants(rng, candidates):
    return [i for i in candidates if rng.random() < 0.5]


def in_double(function, dtype):
    """A peer that computes with numpy in double precision."""
    return lambda inputs: [np.asarray(r).astype(dtype) for r in function(*[np.asarray(v).astype(np.float64) for v in inputs.values()])]


def gelu(x):
    return 0.5 * x * (1 + np.vectorize(math.erf, otypes=[np.float64])(x / np.sqrt(2)))


def fast_gelu(x):
    return 0.5 * x * (1 + np.tanh(0.7978845608028654 * x + 0.035677408136300125 * x * x * x))


@recipe("Microsoft.Gelu", "Microsoft.QuickGelu", "Microsoft.FastGelu", "Microsoft.BiasGelu", "Microsoft.BiasSplitGelu")
def gelus(rng, name):
    op = name.split(".")[1]
    dtype = choice(rng, FLOATS[:1] if op in ("QuickGelu", "BiasSplitGelu") else FLOATS)
    dims = shape(rng, 3, low=1) if op == "BiasSplitGelu" else shape(rng, int(rng.integers(1, 5)), low=1)
    if op == "BiasSplitGelu":
        dims = (*dims[:2], 2 * dims[2])
    x = values(rng, dims, dtype)
    bias = values(rng, dims[-1:], dtype)
    if op == "Gelu":
        return contrib(op, [x], dtype=dtype, peer=in_double(lambda x: [gelu(x)], dtype))
    if op == "QuickGelu":
        alpha = maybe(rng, lambda: float(rng.normal()))
        return contrib(op, [x], dtype=dtype, alpha=alpha)
    if op == "BiasGelu":
        return contrib(op, [x, bias], dtype=dtype, constants=some_constants(rng, [1]),
                       peer=lambda inputs: in_double(lambda x, b=bias.astype(np.float64): [gelu(x + b)], dtype)({"x0": inputs["x0"]}))
    if op == "BiasSplitGelu":
        def split(x):
            left, right = np.split(x + bias.astype(np.float64), 2, axis=-1)
            return [left * gelu(right)]
        return contrib(op, [x, bias], dtype=dtype, peer=lambda inputs: in_double(split, dtype)({"x0": inputs["x0"]}))
    biased = rng.random() < 0.5
    added = bias.astype(np.float64) if biased else 0.0
    return contrib(op, [x, bias if biased else None], dtype=dtype,
                   peer=lambda inputs: in_double(lambda x: [fast_gelu(x + added)], dtype)({"x0": inputs["x0"]}))


def matrix_shapes(rng, batch_first_a, batch_first_b, trans_a, trans_b):
    size = lambda: choice(rng, [1, 2, 3, 5, 8, 16, 17, 33])
    m, n, k = size(), size(), size()
    batch = [int(rng.integers(1, 4)) for _ in range(int(rng.integers(1, 3)))]

    def operand(rows, columns, trans, batch_first):
        if trans:
            rows, columns = columns, rows
        return tuple([rows, *batch, columns] if batch_first else [*batch, rows, columns])

    if batch_first_a or batch_first_b:
        # The first axis trades places with the batch before the last two are transposed.
        def first(rows, columns, trans):
            return (columns, *batch, rows) if trans else (rows, *batch, columns)
        return (first(m, k, trans_a) if batch_first_a else operand(m, k, trans_a, False),
                first(k, n, trans_b) if batch_first_b else operand(k, n, trans_b, False))
    return operand(m, k, trans_a, False), operand(k, n, trans_b, False)


@recipe("Microsoft.FusedMatMul", "Microsoft.TransposeMatMul")
def fused_matmul(rng, name):
    op = name.split(".")[1]
    trans_a, trans_b = (bool(rng.integers(2)) for _ in range(2))
    batch_a, batch_b = ((rng.random() < 0.3 and op == "FusedMatMul") for _ in range(2))
    a, b = matrix_shapes(rng, batch_a, batch_b, trans_a, trans_b)
    if not (batch_a or batch_b) and rng.random() < 0.4:
        b = b[-2:]
    dtype = choice(rng, [np.float32, np.float32, np.float64]) if op == "FusedMatMul" else np.float32
    extra = {"transBatchA": int(batch_a), "transBatchB": int(batch_b)} if op == "FusedMatMul" else {}
    return contrib(op, [values(rng, a, dtype), values(rng, b, dtype)], dtype=dtype, constants=some_constants(rng, [1]),
                   transA=int(trans_a), transB=int(trans_b), alpha=maybe(rng, lambda: float(rng.normal())), atol=1e-4, **extra)


@recipe("Microsoft.FusedConv")
def fused_conv(rng):
    rank = 2
    group = choice(rng, [1, 1, 2])
    channels, outputs = group * int(rng.integers(1, 6)), group * int(rng.integers(1, 9))
    kernel = [int(rng.integers(1, 4)) for _ in range(rank)]
    dims = [int(rng.integers(4, 12)) for _ in range(rank)]
    x = values(rng, (int(rng.integers(1, 3)), channels, *dims), np.float32)
    w = values(rng, (outputs, channels // group, *kernel), np.float32, -1, 1)
    strides = [int(rng.integers(1, 3)) for _ in range(rank)]
    pads = [int(rng.integers(0, 2)) for _ in range(2 * rank)]
    result = [(d + pads[i] + pads[i + rank] - kernel[i]) // strides[i] + 1 for i, d in enumerate(dims)]
    activation, params = choice(rng, [("Relu", None), ("Tanh", None), ("Sigmoid", None), ("LeakyRelu", [0.1]), ("Clip", [-0.5, 2.0]),
                                      ("HardSigmoid", [0.3, 0.4])])
    z = maybe(rng, lambda: values(rng, (x.shape[0], outputs, *result), np.float32))
    return contrib("FusedConv", [x, w, maybe(rng, lambda: values(rng, (outputs,), np.float32)), z], constants=[1, 2], activation=activation,
                   activation_params=params, group=group, kernel_shape=kernel, strides=strides, pads=pads, atol=1e-4)


@recipe("Microsoft.FusedGemm")
def fused_gemm(rng):
    m, n, k = (int(rng.integers(1, 20)) for _ in range(3))
    trans_a, trans_b = int(rng.integers(2)), int(rng.integers(2))
    activation = choice(rng, ["Relu", "Tanh", "Sigmoid", "LeakyRelu", "Elu", "HardSigmoid", "Softplus", "Selu", "ThresholdedRelu"])
    with_alpha = activation in ("LeakyRelu", "Elu", "HardSigmoid", "Selu", "ThresholdedRelu")
    c = maybe(rng, lambda: values(rng, choice(rng, [(n,), (m, n), (1, n), (m, 1)]), np.float32))
    return contrib("FusedGemm", [values(rng, (k, m) if trans_a else (m, k), np.float32), values(rng, (n, k) if trans_b else (k, n), np.float32), c],
                   transA=trans_a, transB=trans_b, alpha=float(rng.uniform(0.5, 1.5)), beta=float(rng.uniform(0.5, 1.5)), activation=activation,
                   activation_alpha=0.3 if with_alpha else None, activation_beta=0.4 if activation == "HardSigmoid" else None,
                   activation_gamma=1.2 if activation == "Selu" else None, atol=1e-4)


@recipe("Microsoft.SkipLayerNormalization", "Microsoft.SkipSimplifiedLayerNormalization")
def skip_layer_normalization(rng, name):
    op = name.split(".")[1]
    simplified = "Simplified" in op
    dtype = choice(rng, [np.float32, np.float32, np.float16])
    rank = choice(rng, [2, 3, 3])
    dims = shape(rng, rank, low=1)
    skip = choice(rng, [dims, dims, (1, *dims[1:]), dims[1:]]) if rank == 3 else dims
    vector = lambda: values(rng, dims[-1:], dtype, -2, 2)
    inputs = [values(rng, dims, dtype), values(rng, skip, dtype), vector()]
    inputs += [maybe(rng, vector)] if simplified else [maybe(rng, vector), maybe(rng, vector)]
    return contrib(op, inputs, [True, False, False, rng.random() < 0.5], dtype=dtype, constants=some_constants(rng, [2, 3]),
                   epsilon=maybe(rng, lambda: 1e-5), atol=4e-2 if dtype == np.float16 else 1e-4)


@recipe("Microsoft.SimplifiedLayerNormalization", "Microsoft.LayerNormalization")
def simplified_layer_normalization(rng, name):
    op = name.split(".")[1]
    dtype = choice(rng, [np.float32, np.float32, np.float64, np.float16])
    dims = shape(rng, int(rng.integers(1, 5)), low=1)
    axis = int(rng.integers(-len(dims), len(dims)))
    inputs = [values(rng, dims, dtype), values(rng, dims[axis:], dtype)]
    full = op == "LayerNormalization"
    if full:
        inputs.append(maybe(rng, lambda: values(rng, dims[axis:], dtype)))
    case = contrib(op, inputs, dtype=dtype, domain="", opset=15, axis=axis, epsilon=maybe(rng, lambda: 1e-3),
                   atol=2e-2 if dtype == np.float16 else 1e-4)
    return case


@recipe("Microsoft.EmbedLayerNormalization")
def embed_layer_normalization(rng):
    dtype = np.float32
    batch, steps, width = (int(rng.integers(1, n)) for n in (4, 12, 40))
    ids = lambda rows, dims=None: rng.integers(0, rows, size=dims or (batch, steps)).astype(np.int32)
    table = lambda rows: values(rng, (rows, width), dtype)
    segments, mask = rng.random() < 0.5, rng.random() < 0.5
    positions = maybe(rng, lambda: ids(15, choice(rng, [(batch, steps), (1, steps)])))
    vector = lambda: values(rng, (width,), dtype)
    lengths = rng.integers(0, steps + 1, size=(batch, 1))
    inputs = [ids(20), ids(2) if segments else None, table(20), table(15), table(2) if segments else None, vector(), vector(),
              (np.arange(steps)[None] < lengths).astype(np.int32) if mask else None, positions]
    return contrib("EmbedLayerNormalization", inputs, [True, True, rng.random() < 0.5], constants=[2, 3, 4, 5, 6], epsilon=1e-6,
                   types={1: TensorProto.INT32}, atol=1e-4)


@recipe("Microsoft.MatMulNBits")
def matmul_nbits(rng):
    bits = choice(rng, [2, 4, 4, 4, 8])
    block = choice(rng, [16, 32, 64, 128])
    n, k = int(rng.integers(1, 70)), int(rng.integers(1, 300))
    blocks = -(-k // block)
    dtype = choice(rng, [np.float32, np.float32, np.float16])
    dims = (choice(rng, [1, 1, 2, 3, 5, 8, 9, 33]), k)
    a = values(rng, choice(rng, [dims, (2, *dims)]), dtype, -1, 1)
    b = rng.integers(0, 256, size=(n, blocks, block * bits // 8)).astype(np.uint8)
    scales = values(rng, choice(rng, [(n, blocks), (n * blocks,)]), dtype, 0.01, 0.1)
    zeros = maybe(rng, lambda: rng.integers(0, 256, size=(n, (blocks * bits + 7) // 8)).astype(np.uint8))
    if zeros is not None and rng.random() < 0.3:  # one for all
        zeros[:] = int(rng.integers(1 << bits)) * (255 // ((1 << bits) - 1))
    elif zeros is not None and bits == 4 and rng.random() < 0.3:
        zeros = values(rng, (n, blocks), dtype, 0, 15)
    if scales.ndim == 1 and zeros is not None:
        zeros = zeros.reshape(-1)
    bias = maybe(rng, lambda: values(rng, (n,), dtype))
    return contrib("MatMulNBits", [a, b, scales, zeros, None, bias], dtype=dtype, constants=choice(rng, [[1, 2, 3, 5], [1, 2, 3, 5], [1, 2, 3], []]),
                   K=k, N=n, bits=bits, block_size=block, atol=3e-2 if dtype == np.float16 else 2e-4)


BNB4 = [[0, 0.0625 / 12, 8 / 12, 1, 4 / 12, 0.5, 2 / 12, 0.25, 0, -0.0625 / 12, -8 / 12, -1, -4 / 12, -0.5, -2 / 12, -0.25],
        [-1, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334, -0.09105003625154495, 0,
         0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224, 0.44070982933044434, 0.5626170039176941,
         0.7229568362236023, 1]]


@recipe("Microsoft.MatMulBnb4")
def matmul_bnb4(rng):
    n, k, block = int(rng.integers(1, 40)), int(rng.integers(1, 80)), choice(rng, [16, 32, 64])
    if rng.random() < 0.6:
        k = -(-k // block) * block
    b = rng.integers(0, 256, size=(n * k + 1) // 2).astype(np.uint8)
    scales = values(rng, (-(-n * k // block),), np.float32, 0.1, 2)
    transposed = rng.random() < 0.7
    a = values(rng, (*shape(rng, int(rng.integers(1, 3)), low=1), k if transposed else n), np.float32)
    kind = int(rng.integers(2))
    weights = (np.array(BNB4[kind])[np.stack([b >> 4, b & 15], 1).reshape(-1)[:n * k]] * np.repeat(scales, block)[:n * k]).reshape(n, k)
    # Of weights that are not transposed, the peer reads others than the definition says.
    peer = "ort" if transposed else lambda inputs: [(a.astype(np.float64) @ weights).astype(np.float32)]
    return contrib("MatMulBnb4", [a, b, scales], constants=[1, 2], K=k, N=n, block_size=block, quant_type=kind, atol=1e-3, peer=peer,
                   transB=int(transposed))


@recipe("Microsoft.GatherBlockQuantized")
def gather_block_quantized(rng):
    kind = choice(rng, ["bytes", ml_dtypes.uint4, ml_dtypes.int4])
    block = choice(rng, [16, 32])
    rank = choice(rng, [2, 2, 3])
    bits = choice(rng, [4, 8]) if kind == "bytes" else 4
    dims = [int(rng.integers(1, 9)) for _ in range(rank)]
    quantize = rank - 1 if kind == "bytes" else int(rng.integers(rank))
    gather = 0 if kind == "bytes" else choice(rng, [axis for axis in range(rank) if axis != quantize])
    dims[quantize] = choice(rng, [block, 2 * block, 5 * block // 2, block // 2])
    scale_dims = list(dims)
    scale_dims[quantize] = -(-dims[quantize] // block)
    indices = rng.integers(-dims[gather], dims[gather], size=choice(rng, [(3,), (2, 2), ()])).astype(choice(rng, [np.int32, np.int64]))

    def q_values(sizes):
        if kind != "bytes":
            return rng.integers(-8 if kind == ml_dtypes.int4 else 0, 8, size=sizes).astype(kind)
        return rng.integers(0, 256, size=[*sizes[:-1], -(-sizes[-1] * bits // 8)]).astype(np.uint8)

    dtype = choice(rng, [np.float32, np.float16])
    return contrib("GatherBlockQuantized", [q_values(dims), indices, values(rng, scale_dims, dtype), maybe(rng, lambda: q_values(scale_dims))],
                   dtype=dtype, constants=[0, 2, 3], gather_axis=gather, quantize_axis=quantize, block_size=block,
                   bits=bits if kind == "bytes" else None)


@recipe("Microsoft.Inverse")
def inverse(rng):
    n = int(rng.integers(1, 12))
    dtype = choice(rng, [np.float32, np.float64])
    x = values(rng, (*shape(rng, int(rng.integers(0, 3)), low=1, high=4), n, n), dtype) + np.eye(n, dtype=dtype) * 20
    return contrib("Inverse", [x], dtype=dtype, atol=1e-5)


@recipe("Microsoft.Trilu")
def trilu(rng):
    dtype = choice(rng, [np.float32, np.float64, np.int64])
    x = values(rng, shape(rng, int(rng.integers(2, 5)), low=1), dtype)
    return contrib("Trilu", [x, maybe(rng, lambda: np.int64(rng.integers(-4, 5)))], dtype=dtype, upper=maybe(rng, lambda: int(rng.integers(2))))


@recipe("Microsoft.Unique")
def unique(rng):
    x = rng.integers(0, 9, size=int(rng.integers(1, 40))).astype(np.float32)
    return contrib("Unique", [x], 3, types={1: TensorProto.INT64, 2: TensorProto.INT64})


@recipe("Microsoft.ExpandDims")
def expand_dims(rng):
    dims = shape(rng, int(rng.integers(1, 4)), low=1)
    return contrib("ExpandDims", [values(rng, dims, np.float32), np.int32(rng.integers(0, len(dims) + 1))])


@recipe("Microsoft.GridSample")
def grid_sample(rng):
    n, c, h, w, oh, ow = (int(rng.integers(1, 9)) for _ in range(6))
    mode = choice(rng, ["bilinear", "bicubic", None])
    padding = choice(rng, ["zeros", "reflection", "border"])
    return contrib("GridSample", [values(rng, (n, c, h, w), np.float32), values(rng, (n, oh, ow, 2), np.float32, -1.2, 1.2)], atol=1e-3,
                   mode=mode, padding_mode=padding, align_corners=int(rng.integers(2)))


@recipe("Microsoft.Pad")
def pad(rng):
    dims = shape(rng, int(rng.integers(1, 4)), low=3)
    mode = choice(rng, ["constant", "reflect", "edge"])
    pads = rng.integers(-1 if mode == "constant" else 0, 3, size=2 * len(dims)).astype(np.int64)
    value = maybe(rng, lambda: np.float32(rng.normal())) if mode == "constant" else None
    return contrib("Pad", [values(rng, dims, np.float32), choice(rng, [pads, pads[None]]), value], mode=mode)


@recipe("Microsoft.ConvTransposeWithDynamicPads")
def conv_transpose_with_dynamic_pads(rng):
    channels, outputs = int(rng.integers(1, 5)), int(rng.integers(1, 5))
    kernel = [int(rng.integers(2, 5)) for _ in range(2)]
    x = values(rng, (1, channels, int(rng.integers(2, 8)), int(rng.integers(2, 8))), np.float32)
    w = values(rng, (channels, outputs, *kernel), np.float32)
    pads = rng.integers(0, 2, size=4).astype(np.int64)
    return contrib("ConvTransposeWithDynamicPads", [x, w, pads, maybe(rng, lambda: values(rng, (outputs,), np.float32))], kernel_shape=kernel,
                   strides=[int(rng.integers(1, 3)) for _ in range(2)], atol=1e-4)


@recipe("Microsoft.CropAndResize")
def crop_and_resize(rng):
    n, c, h, w, count = (int(rng.integers(1, 9)) for _ in range(5))
    boxes = values(rng, (count, 4), np.float32, -0.1, 1.1)
    return contrib("CropAndResize", [values(rng, (n, c, h, w), np.float32), boxes, rng.integers(0, n, size=count).astype(np.int32),
                                     rng.integers(1, 8, size=2).astype(np.int32)], mode=choice(rng, ["bilinear", "nearest", None]),
                   extrapolation_value=maybe(rng, lambda: 2.5), atol=1e-4)


@recipe("Microsoft.CDist")
def cdist(rng):
    rows, others, width = (int(rng.integers(1, n)) for n in (20, 20, 9))
    dtype = choice(rng, [np.float32, np.float64])
    return contrib("CDist", [values(rng, (rows, width), dtype), values(rng, (others, width), dtype)], dtype=dtype, rtol=1e-3, atol=1e-2,
                   metric=choice(rng, [None, "sqeuclidean", "euclidean"]))


@recipe("Microsoft.Range")
def range_of(rng):
    dtype = choice(rng, [np.float32, np.float64, np.int16, np.int32, np.int64])
    first, last = rng.integers(-9, 9), rng.integers(-9, 9)
    step = maybe(rng, lambda: choice(rng, [1, 2, 3]) * (1 if last >= first else -1)) if last >= first else -2
    dims = choice(rng, [(), (1,)])
    return contrib("Range", [None if v is None else np.full(dims, v, dtype) for v in (first, last, step)], dtype=dtype)


@recipe("Microsoft.MurmurHash3")
def murmur_hash(rng):
    dims = shape(rng, int(rng.integers(0, 4)), low=1)
    dtype = choice(rng, [object, np.float32, np.float64, np.int32, np.int64, np.uint32, np.uint64])
    x = words(rng, dims) if dtype is object else values(rng, dims, dtype)
    positive = int(rng.integers(2))
    return contrib("MurmurHash3", [x], dtype=np.uint32 if positive else np.int32, positive=positive, seed=maybe(rng, lambda: int(rng.integers(2**31))))


@recipe("Microsoft.Tokenizer")
def tokenizer(rng):
    texts = [" ".join(choice(rng, WORDS) for _ in range(int(rng.integers(0, 5)))) for _ in range(12)]
    x = np.array(texts[:6] if rng.random() < 0.5 else texts, object).reshape(choice(rng, [(-1,), (2, -1)]))
    way = choice(rng, [{"separators": [""]}, {"tokenexp": "."}, {"separators": [" "]}, {"separators": [",", r"\s+"]}, {"separators": ["[.@]+", " |b"]},
                       {"tokenexp": "[a-z]+"}, {"tokenexp": "a|ab|aa"}, {"tokenexp": r"\w*"}, {"tokenexp": "[^ ]+"}])
    each = way in ({"separators": [""]}, {"tokenexp": "."})
    return contrib("Tokenizer", [x], dtype=object, mark=int(rng.integers(2)), mincharnum=1 if each else int(rng.integers(1, 4)),
                   pad_value=choice(rng, ["", "#"]), **way)


@recipe("Microsoft.GemmFastGelu")
def gemm_fast_gelu(rng):
    m, n, k = (int(rng.integers(1, 30)) for _ in range(3))
    x, w, bias = values(rng, (2, m, k), np.float32), values(rng, (k, n), np.float32, -1, 1), values(rng, (n,), np.float32)
    biased = rng.random() < 0.5
    return contrib("GemmFastGelu", [x, w, bias if biased else None], atol=1e-4,
                   peer=lambda inputs: [fast_gelu(x.astype(np.float64) @ w + (bias if biased else 0)).astype(np.float32)])


@recipe("Microsoft.Empty")
def empty(rng):
    """Nothing to compute, but shapes to give."""
    f = lambda *dims: np.zeros(dims, np.float32)
    op, inputs, attributes = choice(rng, [
        ("FusedMatMul", [f(0, 3, 4), f(4, 5)], {}), ("FusedMatMul", [f(2, 0, 4), f(2, 5, 4)], {"transB": 1}), ("QuickGelu", [f(0, 3)], {}),
        ("BiasGelu", [f(0, 3), f(3)], {}), ("SkipLayerNormalization", [f(0, 2, 3), f(0, 2, 3), f(3), f(3)], {}),
        ("MatMulNBits", [f(0, 32), np.zeros((4, 1, 16), np.uint8), f(4, 1)], {"K": 32, "N": 4, "block_size": 32}),
        ("QLinearAdd", [np.zeros((0, 2), np.uint8), np.float32(1), np.uint8(0), np.zeros((1, 2), np.uint8), np.float32(1), np.uint8(0), np.float32(1),
                        np.uint8(0)], {}),
        ("RotaryEmbedding", [f(0, 2, 8), np.zeros((0, 2), np.int64), f(5, 4), f(5, 4)], {})])
    dtype = inputs[0].dtype
    result = {"FusedMatMul": (*inputs[0].shape[:-1], 5), "MatMulNBits": (0, 4)}.get(op, inputs[0].shape)
    return contrib(op, inputs, dtype=dtype, peer=lambda _: [np.zeros(result, dtype)], **attributes)
