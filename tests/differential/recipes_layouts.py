"""Models as exporters write them, where rewrites must see through the spelling: channels last between Transposes, rotary embeddings
in elementwise operators."""

import dataclasses

import ml_dtypes
import numpy as np
import onnx

from recipe import choice, recipe
from recipes_models import Builder, activation, floats

TO_LAST, TO_FIRST = [0, 2, 3, 1], [0, 3, 1, 2]


def convolution(b, x, channels, out, size=3):
    """Of an image with channels last."""
    group = channels if out == channels and b.rng.random() < 0.3 else 1
    first = b("Transpose", x, perm=TO_FIRST)
    return b("Transpose", b("Conv", first, b.weights(out, channels // group, size, size), pads=[size // 2] * 4, group=group), perm=TO_LAST)


def between(b, x, channels):
    """Something that has no need of an order, on an image with channels last; gives as many channels."""
    kind = int(b.rng.integers(0, 15))
    if kind == 0:
        return b(choice(b.rng, ["Add", "Mul", "Sub", "Max"]), x, b.weights(*choice(b.rng, [(channels,), (1, 1, channels), (1, 1, 1, channels), ()])))
    if kind == 1:
        half = b("Split", x, np.asarray([channels // 2, channels - channels // 2], np.int64), axis=choice(b.rng, [3, -1]), outputs=2)
        return b("Concat", half[1], half[0], axis=choice(b.rng, [3, -1]))
    if kind == 2:
        pads = np.asarray([0, 1, 0, 0, 0, 0, 2, 0], np.int64)
        return b("Pad", x, pads, *([np.float32(0.5)] if b.rng.random() < 0.5 else []), mode=choice(b.rng, ["constant", "constant", "edge"]))
    if kind == 3:
        return b("Slice", x, np.asarray([1], np.int64), np.asarray([9], np.int64), np.asarray([choice(b.rng, [1, 2, -2])], np.int64))
    if kind == 4:
        gate = b(choice(b.rng, ["ReduceMean", "ReduceMax"]), x, np.asarray([1, 2], np.int64))
        return b("Mul", x, b("Sigmoid", convolution(b, gate, channels, channels, 1)))
    if kind == 5:
        gate = b("Concat", b("ReduceMean", x, np.asarray([-1], np.int64)), b("ReduceMax", x, np.asarray([3], np.int64)), axis=-1)
        return b("Mul", b("HardSigmoid", convolution(b, gate, 2, 1)), x)
    if kind == 6:
        return b("Softmax", x, axis=choice(b.rng, [-1, 2, 1]))
    if kind == 7:
        return b("PRelu", x, b.weights(*choice(b.rng, [(channels,), (1, 1, channels)])))
    if kind == 8:
        mean = b("ReduceMean", x)
        return b("Add", b("Where", b("Greater", x, mean), x, mean), choice(b.rng, [np.float32(-0.5), b.weights(channels)]))
    if kind == 9:
        # Of 16 bits: a step that rounding takes the other way is within the tolerance.
        scale, zero = b.rng.uniform(1e-4, 2e-4, channels).astype(np.float32), np.full(channels, 32768, np.uint16)
        return b("DequantizeLinear", b("QuantizeLinear", x, scale, zero, axis=3), scale, zero, axis=-1)
    if kind == 10:
        # Apart from each other, lest rounding decide which is the largest.
        apart = b("Add", b("Clip", x, np.float32(-9), np.float32(9)), (b.rng.permutation(channels) * 20).astype(np.float32))
        return b("Add", x, b("Cast", b("ArgMax", apart, axis=3, keepdims=1), to=1))
    if kind == 11:
        rows = b("Cast", b("Slice", b("Shape", x), np.asarray([1], np.int64), np.asarray([2], np.int64)), to=1)
        return b("Div", x, rows)
    if kind == 12:  # an order that is another's
        return b("Transpose", b("Abs", b("Transpose", x, perm=[0, 3, 2, 1])), perm=choice(b.rng, [[0, 3, 2, 1], [0, 2, 3, 1]]))
    if kind == 13:
        return b("Sub", x, b("Squeeze", b("ReduceMean", x, np.asarray([0, 1, 2], np.int64)), np.asarray([0, 1, 2], np.int64)))
    return b("Concat", x, x, axis=choice(b.rng, [1, 2]))


@recipe("ModelNhwc")
def channels_last(rng):
    channels, size = choice(rng, [3, 8, 16]), int(rng.integers(4, 9))
    b = Builder(rng, {"x": floats(rng, 2, size, size, channels)})
    x, outputs = "x", []
    for _ in range(int(rng.integers(2, 6))):
        start = x
        out = channels if rng.random() < 0.6 else choice(rng, [4, 8, 16])
        x = convolution(b, x, channels, out)
        if rng.random() < 0.7:
            x = b("Add", x, b.weights(out))
        if rng.random() < 0.7:
            x = activation(b, x)
        if out == channels and rng.random() < 0.7:
            x = b("Add", *choice(rng, [(x, start), (start, x)]))
        channels = out
        for _ in range(int(rng.integers(0, 3))):
            x = between(b, x, channels)
        if rng.random() < 0.15:
            outputs.append(b("Transpose", x, perm=TO_FIRST) if rng.random() < 0.5 else b("Neg", x))
    end = int(rng.integers(0, 4))
    if end == 0:
        x = b("MatMul", b("ReduceMean", x, np.asarray([1, 2], np.int64), keepdims=0), b.weights(channels, 5))
    elif end == 1:
        x = b("Reshape", b("ReduceSum", x, np.asarray([1, 2], np.int64)), np.asarray([-1, channels], np.int64))
    elif end == 2:
        x = b("MatMul", x, b.weights(channels, 5))
    return b.case([*outputs, x] if end < 3 else [*outputs, b("Identity", x)], peer="ort", opset=21, dynamic=rng.random() < 0.5, rtol=2e-3, atol=2e-3,
                  variants=[{"x": floats(rng, 1, size + 3, size, b.inputs["x"].shape[3])}, dict(b.inputs)])


def rotary_angles(b, batch, steps, half, kind):
    """Cosines and sines of each step, with both halves of a row the same, in float32; how they follow from the inputs is `kind`."""
    frequency = (1 / 100 ** (np.arange(half) / half)).astype(np.float32)
    if kind == "positions":  # [batch, steps, 2 * half]
        angles = b("Mul", b("Unsqueeze", b("Cast", "positions", to=1), np.asarray([-1], np.int64)), frequency)
        both = b("Concat", angles, angles, axis=-1)
        return b("Cos", both), b("Sin", both)
    table = np.outer(np.arange(40), np.concatenate([frequency] * 2)).astype(np.float32)
    if kind == "gathered":
        return b("Gather", np.cos(table), "positions"), b("Gather", np.sin(table), "positions")
    return np.cos(table[:steps]), np.sin(table[:steps])  # the same for all batches


def rotated(b, x, cosine, sine, half):
    """x * cos + rotate_half(x) * sin in one of its spellings."""
    if b.rng.random() < 0.5:
        first, second = b("Split", x, num_outputs=2, axis=-1, outputs=2)
    else:
        bound = lambda value: np.asarray([value], np.int64)
        first, second = b("Slice", x, bound(0), bound(half), bound(3)), b("Slice", x, bound(half), bound(2**63 - 1), bound(-1))
    product = lambda p, q: b("Mul", *choice(b.rng, [(p, q), (q, p)]))
    added = lambda p, q: b("Add", *choice(b.rng, [(p, q), (q, p)]))
    if b.rng.random() < 0.25:  # each half by itself
        row = lambda angles: b("Slice", angles, np.asarray([0], np.int64), np.asarray([half], np.int64), np.asarray([-1], np.int64))
        cosine, sine = row(cosine), row(sine)
        return b("Concat", b("Sub", product(first, cosine), product(second, sine)), added(product(second, cosine), product(first, sine)), axis=-1)
    turned = b("Concat", b("Neg", second), first, axis=-1) if b.rng.random() < 0.9 else b("Concat", first, b("Neg", second), axis=-1)
    return added(product(x, cosine), product(turned, sine))


@recipe("ModelRotary")
def rotary(rng):
    """Queries turned by the angles of their positions, beside the same network in float32."""
    batch, steps, heads, half, rest = choice(rng, [1, 2, 3]), int(rng.integers(1, 9)), choice(rng, [1, 2, 4]), choice(rng, [1, 2, 4, 8]), choice(rng, [0, 0, 0, 3, 8])
    kind, heads_first, type_ = choice(rng, ["positions", "gathered", "constant"]), rng.random() < 0.7, choice(rng, [np.float32, np.float32, np.float16, ml_dtypes.bfloat16])
    width = 2 * half + rest
    element = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(type_))

    def inputs(batch, steps):
        return {"positions": rng.integers(0, 40, (batch, steps))}

    b = Builder(rng, inputs(batch, steps))
    x = b("Reshape", b("Gather", floats(rng, 40, heads * width).astype(type_), "positions"), np.asarray([0, 0, heads, width], np.int64))
    if heads_first:
        x = b("Transpose", x, perm=[0, 2, 1, 3])
    angles = rotary_angles(b, batch, steps, half, kind)
    cosine, sine = [b("Unsqueeze", b("Cast", part, to=element), np.asarray([-3 if heads_first else -2], np.int64)) for part in angles]
    if rest:
        row = lambda begin, end: b("Slice", x, np.asarray([begin], np.int64), np.asarray([end], np.int64), np.asarray([3], np.int64))
        y = b("Concat", rotated(b, row(0, 2 * half), cosine, sine, half), row(2 * half, 2**62), axis=-1)
    else:
        y = rotated(b, x, cosine, sine, half)
    outputs = [b("Transpose", y, perm=[0, 2, 1, 3]) if heads_first and rng.random() < 0.5 else y]
    if rng.random() < 0.2:
        outputs.append(b("Neg", x))
    variants = [inputs(batch + 1, steps), dict(b.inputs)] if kind == "constant" else [inputs(batch + 1, steps + 2), dict(b.inputs)]
    case = b.case(outputs, opset=choice(rng, [21, 23]), dynamic=False, variants=variants, rtol=1e-4, atol=1e-4)
    case.peer = "ort" if type_ == np.float32 else case.peer
    return case if type_ == np.float32 else dataclasses.replace(case, rtol=5e-2, atol=5e-2)
