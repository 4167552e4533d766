"""Casts and quantization, over all of ONNX's element types."""

import ml_dtypes
import numpy as np
from onnx import helper

from recipe import FLOATS, INTS, NUMBERS, choice, recipe, shape, single, values

FLOAT8 = [ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e4m3fnuz, ml_dtypes.float8_e5m2, ml_dtypes.float8_e5m2fnuz]
SMALL_FLOATS = [ml_dtypes.float4_e2m1fn]
SMALL_INTS = [ml_dtypes.int4, ml_dtypes.uint4, ml_dtypes.int2, ml_dtypes.uint2]
QUANTIZED = [np.uint8, np.int8, np.uint16, np.int16] + SMALL_INTS


def tensor_type(dtype):
    return helper.np_dtype_to_tensor_dtype(np.dtype(dtype))


def is_integer(dtype):
    return dtype in INTS or dtype in SMALL_INTS


def limits(dtype):
    info = ml_dtypes.iinfo(dtype)
    return int(info.min), int(info.max)


def integers(rng, dims, dtype):
    low, high = limits(dtype)
    return np.asarray(rng.integers(low, high, size=dims, endpoint=True)).astype(dtype)


def castable(rng, source, target):
    """Values of `source` for which a cast to `target` is defined."""
    dims = shape(rng)
    if source == np.bool_:
        return values(rng, dims, np.bool_)
    if is_integer(source):
        if target in FLOAT8 + SMALL_FLOATS or not is_integer(target):
            return np.clip(values(rng, dims, np.int32, -25, 25), *limits(source)).astype(source)
        low, high = limits(source)  # integers lose their high bits
        return np.asarray(rng.integers(max(low, -2**62), min(high, 2**62), size=dims, endpoint=True)).astype(source)
    low, high = (-100, 100)
    if is_integer(target):
        low, high = (max(low, limits(target)[0]), min(high, limits(target)[1]))
    return values(rng, dims, source, low, high, special=target in FLOATS + FLOAT8)


@recipe("Cast", "CastLike")
def cast(rng, op):
    source = choice(rng, NUMBERS + FLOAT8 + SMALL_FLOATS + SMALL_INTS + [np.bool_])
    target = choice(rng, NUMBERS + FLOAT8 + SMALL_FLOATS + SMALL_INTS + [np.bool_])
    array = castable(rng, source, target)
    saturate = int(rng.integers(0, 2)) if target in FLOAT8 else None
    if op == "Cast":
        case = single("Cast", [array], to=tensor_type(target), saturate=saturate)
    else:
        case = single("CastLike", [array, np.zeros(1, target)], saturate=saturate)
    case.rtol = case.atol = 0
    return case


@recipe("CastText")
def cast_text(rng):
    number = choice(rng, [np.float32, np.float64, np.int32, np.int64, np.uint8])
    array = values(rng, shape(rng), number, 0, 1000 if number in (np.float32, np.float64) else 50)
    if rng.random() < 0.5:
        return single("Cast", [array], to=8)
    case = single("Cast", [array.astype(np.str_).astype(object)], to=tensor_type(number))
    case.rtol = case.atol = 0
    return case


def parameters(rng):
    """Shapes of the input and its scales, the axis and the block size."""
    dims = shape(rng, rank=int(rng.integers(1, 5)), low=1)
    axis = int(rng.integers(len(dims)))
    kind = choice(rng, ["tensor", "axis", "block"])
    if kind == "tensor":
        return dims, (), axis, None
    if kind == "axis":
        return dims, (dims[axis],), axis, None
    block = int(rng.integers(1, dims[axis] + 1))
    blocks = -(-dims[axis] // block)
    return dims, dims[:axis] + (blocks,) + dims[axis + 1:], axis, block


@recipe("QuantizeLinear")
def quantize(rng):
    target = choice(rng, QUANTIZED + FLOAT8 + SMALL_FLOATS)
    dims, scale_dims, axis, block = parameters(rng)
    dtype = choice(rng, [np.float32, np.float32, np.float16, ml_dtypes.bfloat16])
    spread = limits(target)[1] / 2 if target in QUANTIZED else 4
    array = values(rng, dims, dtype, -spread * 0.1, spread * 0.1)
    scale = np.asarray(rng.uniform(0.05, 0.2, scale_dims)).astype(dtype)
    if rng.random() < 0.5 or target not in QUANTIZED:
        zero = None if rng.random() < 0.5 else np.zeros(scale_dims, target)
    else:
        zero = integers(rng, scale_dims, target)
    # Quotients in float16 and bfloat16 are what is compared, so any type's ties count.
    precision = choice(rng, [None, 1, 10, 16]) if dtype != np.float32 else None
    case = single("QuantizeLinear", [array, scale, zero], axis=axis, block_size=block, precision=precision,
                  output_dtype=tensor_type(target) if zero is None else None)
    case.rtol = case.atol = 0
    return case


@recipe("DequantizeLinear")
def dequantize(rng):
    source = choice(rng, QUANTIZED + [np.int32] + FLOAT8 + SMALL_FLOATS)
    dims, scale_dims, axis, block = parameters(rng)
    array = integers(rng, dims, source) if source in QUANTIZED else values(rng, dims, source)
    dtype = choice(rng, [np.float32, np.float32, np.float16, ml_dtypes.bfloat16])
    scale = np.asarray(rng.uniform(0.01, 0.1, scale_dims)).astype(dtype)
    zero = None
    if rng.random() < 0.6:
        zero = integers(rng, scale_dims, source) if source in QUANTIZED else np.zeros(scale_dims, source)
    output = choice(rng, [None, 1, 10, 16])
    return single("DequantizeLinear", [array, scale, zero], dtype=dtype if output is None else np.float16, axis=axis,
                  block_size=block, output_dtype=output)


@recipe("DynamicQuantizeLinear")
def dynamic_quantize(rng):
    low, high = choice(rng, [(-4, 4), (0.5, 3), (-5, -1)])
    return single("DynamicQuantizeLinear", [values(rng, shape(rng, low=1), np.float32, low, high)], outputs=3)
