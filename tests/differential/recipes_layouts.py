"""Models as exporters write them, where rewrites must see through the spelling: channels last between Transposes."""

import numpy as np

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
        return b("Where", b("Greater", x, b("ReduceMean", x)), x, choice(b.rng, [np.float32(-0.5), b.weights(channels)]))
    if kind == 9:
        scale, zero = b.rng.uniform(0.02, 0.05, channels).astype(np.float32), np.full(channels, 128, np.uint8)
        return b("DequantizeLinear", b("QuantizeLinear", x, scale, zero, axis=3), scale, zero, axis=-1)
    if kind == 10:
        best = b("ArgMax", x, axis=choice(b.rng, [3, 1]))
        return b("Add", x, b("Cast", best, to=1))
    if kind == 11:
        rows = b("Cast", b("Slice", b("Shape", x), np.asarray([1], np.int64), np.asarray([2], np.int64)), to=1)
        return b("Div", x, rows)
    if kind == 12:  # an order that is another's
        return b("Transpose", b("Abs", b("Transpose", x, perm=[0, 3, 2, 1])), perm=choice(b.rng, [[0, 3, 2, 1], [0, 2, 3, 1]]))
    if kind == 13:
        return b("Sub", x, b("Squeeze", b("ReduceMean", x, np.asarray([0, 1, 2], np.int64)), np.asarray([0, 1, 2], np.int64)))
    return b("Concat", x, x, axis=choice(b.rng, [1, 2]))


@recipe("ModelChannelsLast")
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
    return b.case([*outputs, x] if end < 3 else [*outputs, b("Identity", x)], peer="ort", opset=21, dynamic=True, rtol=2e-3, atol=2e-3,
                  variants=[{"x": floats(rng, 1, size + 3, size, b.inputs["x"].shape[3])}, dict(b.inputs)])
