"""The points of sweep.py: single operators at sizes that real models have, small ones above all.

A family draws its points from all combinations of its sizes, by a seed of its own, the same points each time, and leaves out what no
model has: too much work, images larger than their channels allow.
"""

import random

import numpy as np
from onnx import TensorProto, helper

from operator_models import F32, I8, U8, lstm_like, microsoft, model, rng, weights

MOST_WORK, LEAST_WORK = 60e6, 2e4  # multiply-adds, or elements times 16, of a point
MOST_ELEMENTS = 2 << 20            # of what a run reads or writes
KINDS = {U8: np.uint8, I8: np.int8}


class Point:
    """`make()` gives the model; `work` its multiply-adds, 0 where it has none."""

    def __init__(self, family, name, work, make):
        self.family, self.name, self.work, self.make = family, f"{family}: {name}", work, make


def family(name, count, builder, **sizes):
    """`count` points, or as many as are found, of builder(**one size of each): (text, work, elements, make), or None for what no model has."""
    draw, points = random.Random(name), {}
    for _ in range(400 * count):
        built = builder(**{key: draw.choice(values) for key, values in sizes.items()})
        if built is not None:
            text, work, elements, make = built
            if LEAST_WORK <= max(work, 16 * elements) <= MOST_WORK and elements <= MOST_ELEMENTS:
                points.setdefault(text, Point(name, text, work, make))
        if len(points) == count:
            break
    return list(points.values())


def numbers(shape):
    return "x".join(str(size) for size in shape)


def q_values(kind, *shape):
    """8-bit weights, spread as a trained model's are: few are large. Where processors multiply bytes in pairs, that decides the speed."""
    largest, deviations = 127, 4
    values = np.clip(np.rint(rng.standard_normal(shape) * largest / deviations), -largest, largest)
    return (values + (128 if kind == U8 else 0)).astype(KINDS[kind])


# ---- convolutions


class Window:
    """A convolution's sizes; `image`: its spatial axes, `pads`: as many as keep an odd window's size at stride 1."""

    def __init__(self, batch, channels, outputs, image, kernel, stride=1, group=1, dilation=1, transposed=False):
        self.batch, self.channels, self.outputs, self.image, self.kernel, self.group = batch, channels, outputs, image, kernel, group
        self.stride, self.dilation, self.transposed = stride, dilation, transposed
        self.pads = [(k - 1) * dilation // 2 if k % 2 else max(0, (k - stride) // 2) for k in kernel]

    def attributes(self):
        rank = len(self.kernel)
        return dict(kernel_shape=list(self.kernel), pads=self.pads * 2, strides=[self.stride] * rank, dilations=[self.dilation] * rank, group=self.group)

    def result(self):
        if self.transposed:
            return [(s - 1) * self.stride + k - 2 * p for s, k, p in zip(self.image, self.kernel, self.pads)]
        return [(s + 2 * p - (k - 1) * self.dilation - 1) // self.stride + 1 for s, k, p in zip(self.image, self.kernel, self.pads)]

    def real(self):
        """Whether networks have such a layer: whole groups, an image that shrinks as channels grow, windows inside."""
        spans = [(k - 1) * self.dilation + 1 for k in self.kernel]
        fits = all(size + 2 * pad >= span for size, pad, span in zip(self.image, self.pads, spans))
        whole = self.channels % self.group == 0 and self.outputs % self.group == 0
        return fits and whole and max(self.channels, self.outputs) <= 16 * max(min(self.channels, self.outputs), 8)

    def shape(self):
        return [self.batch, self.channels, *self.image]

    def weights(self):
        if self.transposed:
            return [self.channels, self.outputs // self.group, *self.kernel]
        return [self.outputs, self.channels // self.group, *self.kernel]

    def work(self):
        positions = np.prod(self.image if self.transposed else self.result()) * self.batch
        return int(positions * np.prod(self.kernel) * self.channels * self.outputs // self.group)

    def elements(self):
        return int(self.batch * max(self.channels * np.prod(self.image), self.outputs * np.prod(self.result())))

    def text(self):
        parts = [numbers(self.shape()), f"by {numbers(self.weights())}"]
        parts += [f"{word} {value}" for word, value in (("stride", self.stride), ("groups", self.group), ("dilation", self.dilation)) if value != 1]
        return " ".join(parts)


def convolution(operator="Conv", weight=None, per_channel=False):
    """A builder of Conv, ConvTranspose, or QLinearConv and ConvInteger whose weights have the type `weight`."""

    def build(batch, channels, image, kernel, outputs=None, stride=1, group=1, dilation=1):
        outputs = outputs or channels
        group = channels if group == "depthwise" else group
        window = Window(batch, channels, outputs, image, kernel, stride, group, dilation, operator == "ConvTranspose")
        if not window.real():
            return None
        return window.text(), window.work(), window.elements(), lambda: convolution_model(operator, window, weight, per_channel)

    return build


def convolution_model(operator, window, weight, per_channel):
    shape, attributes = window.shape(), window.attributes()
    if weight is None:
        return model(operator, [(shape, F32)], [weights(*window.weights()), weights(window.outputs)], **attributes)
    middle = np.asarray(128 if weight == U8 else 0, KINDS[weight])
    w = q_values(weight, *window.weights())
    if operator == "ConvInteger":
        return model(operator, [(shape, U8)], [w, np.uint8(128).reshape(()), middle], **attributes)
    count = window.outputs if per_channel else 1
    scales = np.full(count, 0.002, np.float32) if per_channel else np.float32(0.002).reshape(())
    zeros = np.full(count, middle) if per_channel else middle
    node = helper.make_node("QLinearConv", ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz", "b"], ["y"], **attributes)
    constants = dict(xs=np.float32(0.02), xz=np.uint8(128), w=w, ws=scales, wz=zeros, ys=np.float32(0.05), yz=np.uint8(120),
                     b=rng.integers(-500, 500, window.outputs).astype(np.int32))
    return microsoft([node], {"x": (U8, shape)}, {"y": (U8, [window.batch, window.outputs, *window.result()])}, constants)


IMAGES = [(s, s) for s in (1, 2, 3, 4, 5, 7, 8, 10, 13, 14, 16, 20, 24, 28, 32, 40, 56, 64, 80, 112)] + [(1, 25), (8, 32), (3, 40), (4, 100), (60, 80), (12, 24)]
FEW_IMAGES = [(s, s) for s in (2, 4, 7, 8, 14, 16, 20, 28, 32, 56)] + [(1, 25), (8, 32), (12, 24)]
LINES = [(s,) for s in (1, 2, 4, 7, 16, 25, 50, 61, 100, 128, 200, 250, 400, 500, 1000, 2000)]
VOLUMES = [(2, 4, 4), (4, 7, 7), (4, 14, 14), (8, 8, 8), (8, 28, 28), (16, 16, 16), (16, 28, 28), (32, 32, 32)]
BATCHES = (1, 1, 2, 8, 16, 32, 64, 100, 128)
CHANNELS = (8, 12, 16, 24, 32, 40, 48, 64, 80, 96, 112, 128, 160, 192, 240, 256, 320, 512, 960)
FEW_CHANNELS = (8, 16, 24, 32, 48, 64, 96, 128, 256, 512)
SQUARE = {k: [(k, k)] for k in (1, 2, 3, 5, 7)}
ODD_WINDOWS = [(2, 2), (4, 4), (5, 5), (7, 7), (1, 3), (3, 1), (1, 5), (1, 7), (7, 1), (3, 2), (2, 3)]


def float_convolutions():
    conv, dense = convolution(), dict(batch=BATCHES, channels=CHANNELS, outputs=CHANNELS, image=IMAGES)
    line = dict(batch=BATCHES, channels=FEW_CHANNELS + (80, 129), image=LINES)
    yield family("Conv 1x1", 130, conv, kernel=SQUARE[1], stride=(1, 1, 1, 2), **dense)
    yield family("Conv 3x3", 170, conv, kernel=SQUARE[3], stride=(1, 1, 2), **dense)
    yield family("Conv other windows", 120, conv, kernel=ODD_WINDOWS, stride=(1, 1, 2), **dense)
    yield family("Conv of an image", 60, conv, batch=(1, 1, 4, 8, 32), channels=(1, 2, 3, 4), outputs=(8, 16, 24, 32, 64, 96),
                 image=[(28, 28), (32, 32), (48, 48), (64, 64), (96, 96), (112, 112), (160, 160), (224, 224), (32, 100), (48, 320)],
                 kernel=SQUARE[3] + SQUARE[5] + SQUARE[7] + [(4, 4), (8, 8)], stride=(1, 2, 4))
    yield family("Conv depthwise", 130, conv, group=("depthwise",), kernel=SQUARE[3] + SQUARE[5] + SQUARE[7] + [(1, 3), (3, 1)], stride=(1, 1, 2),
                 dilation=(1, 1, 1, 2), batch=BATCHES, channels=CHANNELS, image=IMAGES)
    yield family("Conv of groups", 80, conv, group=(2, 3, 4, 8, 16, 32), kernel=SQUARE[1] + SQUARE[3], stride=(1, 1, 2),
                 batch=BATCHES, channels=CHANNELS, outputs=CHANNELS, image=FEW_IMAGES)
    yield family("Conv dilated", 50, conv, kernel=SQUARE[3], dilation=(2, 4, 6), batch=BATCHES, channels=FEW_CHANNELS, outputs=FEW_CHANNELS,
                 image=FEW_IMAGES)
    yield family("Conv 1-D", 130, conv, outputs=FEW_CHANNELS, kernel=[(k,) for k in (1, 2, 3, 4, 5, 7, 8, 11)], stride=(1, 1, 2), dilation=(1, 1, 1, 3), **line)
    yield family("Conv 1-D of a signal", 30, conv, batch=(1, 1, 8, 32), channels=(1, 1, 2, 6), outputs=(8, 16, 32, 64, 258), kernel=[(k,) for k in (3, 7, 10, 16, 256)],
                 stride=(1, 2, 4, 8, 128), image=[(s,) for s in (128, 512, 640, 1000, 4000, 16000)])
    yield family("Conv 1-D depthwise", 50, conv, group=("depthwise",), kernel=[(k,) for k in (3, 4, 5, 7, 9, 15, 31)], stride=(1, 1, 2), dilation=(1, 1, 2, 4), **line)
    yield family("Conv 3-D", 60, conv, batch=(1, 1, 2, 8), channels=(1, 3, 8, 16, 32, 64), outputs=(8, 16, 32, 64), image=VOLUMES,
                 kernel=[(1, 1, 1), (3, 3, 3), (1, 3, 3), (3, 1, 1), (2, 2, 2)], stride=(1, 1, 2))
    transposed = convolution("ConvTranspose")
    yield family("ConvTranspose 2-D", 90, transposed, batch=(1, 1, 2, 8, 16, 32), channels=FEW_CHANNELS, outputs=FEW_CHANNELS + (1, 3), image=FEW_IMAGES,
                 kernel=[(2, 2), (3, 3), (4, 4), (5, 5), (8, 8)], stride=(1, 2, 2, 2, 4))
    yield family("ConvTranspose 1-D", 60, transposed, batch=(1, 1, 2, 8, 16), channels=FEW_CHANNELS, outputs=FEW_CHANNELS + (1,), image=LINES,
                 kernel=[(k,) for k in (2, 4, 8, 16, 20)], stride=(2, 4, 8, 10))
    yield family("ConvTranspose depthwise", 20, transposed, group=("depthwise",), batch=(1, 1, 4), channels=FEW_CHANNELS, image=FEW_IMAGES,
                 kernel=[(2, 2), (3, 3), (4, 4)], stride=(2,))
    yield family("ConvTranspose 3-D", 20, transposed, batch=(1, 2), channels=(8, 16, 32, 64), outputs=(8, 16, 32), image=VOLUMES, kernel=[(2, 2, 2), (4, 4, 4)],
                 stride=(2,))


def integer_convolutions():
    dense = dict(batch=BATCHES, channels=CHANNELS, outputs=CHANNELS, image=IMAGES)
    line = dict(batch=BATCHES, channels=FEW_CHANNELS + (80, 129), image=LINES)
    windows = SQUARE[3] + SQUARE[5] + [(1, 3), (3, 1), (1, 7), (2, 2)]
    for text, kind, per_channel in (("uint8", U8, False), ("int8 by channel", I8, True)):
        conv = convolution("QLinearConv", kind, per_channel)
        yield family(f"QLinearConv 1x1, {text}", 50, conv, kernel=SQUARE[1], stride=(1, 1, 1, 2), **dense)
        yield family(f"QLinearConv windows, {text}", 70, conv, kernel=windows, stride=(1, 1, 2), **dense)
        yield family(f"QLinearConv depthwise, {text}", 40, conv, group=("depthwise",), kernel=SQUARE[3] + SQUARE[5], stride=(1, 1, 2), batch=BATCHES,
                     channels=CHANNELS, image=IMAGES)
        yield family(f"QLinearConv 1-D, {text}", 35, conv, outputs=FEW_CHANNELS, kernel=[(k,) for k in (1, 3, 5, 7)], stride=(1, 1, 2), **line)
        yield family(f"QLinearConv of groups, {text}", 20, conv, group=(2, 4, 8), kernel=SQUARE[3], batch=BATCHES, channels=CHANNELS, outputs=CHANNELS,
                     image=FEW_IMAGES)
        yield family(f"QLinearConv of an image, {text}", 15, conv, batch=(1, 4), channels=(1, 3), outputs=(8, 16, 32, 64),
                     image=[(28, 28), (32, 32), (64, 64), (96, 96), (160, 160), (224, 224)], kernel=SQUARE[3] + SQUARE[7], stride=(1, 2))
        conv = convolution("ConvInteger", kind)
        kind_text = text.split()[0]
        yield family(f"ConvInteger 2-D, {kind_text}", 40, conv, kernel=SQUARE[1] + windows, stride=(1, 1, 2), **dense)
        yield family(f"ConvInteger 1-D, {kind_text}", 40, conv, outputs=FEW_CHANNELS, kernel=[(k,) for k in (1, 3, 5, 7, 11)], dilation=(1, 1, 3), **line)
        yield family(f"ConvInteger depthwise, {kind_text}", 15, conv, group=("depthwise",), kernel=SQUARE[3] + SQUARE[5], batch=BATCHES, channels=CHANNELS,
                     image=FEW_IMAGES)


# ---- matmuls

ROWS = (1, 1, 2, 3, 4, 7, 8, 16, 32, 49, 64, 100, 128, 197, 256, 500)
WIDTHS = (3, 8, 10, 16, 32, 48, 64, 96, 100, 128, 192, 256, 320, 384, 512, 768, 1000, 1024, 1280, 2048, 3072)


def of_matmul(make):
    def build(rows, k, n):
        return f"{rows}x{k} by {k}x{n}", rows * k * n, max(rows * k, k * n // 4, rows * n), lambda: make(rows, k, n)

    return build


def gemm(rows, k, n):
    return model("Gemm", [((rows, k), F32)], [weights(n, k), weights(n)], transB=1)


def matmul(rows, k, n):
    return model("MatMul", [((rows, k), F32)], [weights(k, n)])


def both_fed(batch, rows, k, n):
    text = f"{numbers(batch)}x{rows}x{k} by {k}x{n}"
    return text, int(np.prod(batch)) * rows * k * n, int(np.prod(batch)) * max(rows * k, k * n, rows * n), lambda: model(
        "MatMul", [((*batch, rows, k), F32), ((*batch, k, n), F32)])


def matmul_integer(kind):
    return of_matmul(lambda rows, k, n: model("MatMulInteger", [((rows, k), U8)], [q_values(kind, k, n), np.uint8(128).reshape(()),
                                                                                np.asarray(0 if kind == I8 else 128, KINDS[kind])]))


def qlinear_matmul(kind):
    def make(rows, k, n):
        constants = dict(s=np.float32(0.02), z=np.uint8(128), b=q_values(kind, k, n), bs=np.float32(0.002), bz=np.asarray(0 if kind == I8 else 128, KINDS[kind]),
                         ys=np.float32(0.05))
        node = helper.make_node("QLinearMatMul", ["a", "s", "z", "b", "bs", "bz", "ys", "z"], ["y"])
        return microsoft([node], {"a": (U8, [rows, k])}, {"y": (U8, [rows, n])}, constants)

    return of_matmul(make)


def dynamic_quantize_matmul(per_column):
    def make(rows, k, n):
        count = n if per_column else 1
        node = helper.make_node("DynamicQuantizeMatMul", ["a", "b", "s", "z"], ["y"], domain="com.microsoft")
        constants = dict(b=q_values(I8, k, n), s=np.full(count, 0.002, np.float32), z=np.zeros(count, np.int8))
        return microsoft([node], {"a": (F32, [rows, k])}, {"y": (F32, [rows, n])}, constants)

    return of_matmul(make)


def dynamic_chain(rows, k, n):
    """What dynamic quantization by ONNX's own operators writes of a matmul."""
    nodes = [helper.make_node("DynamicQuantizeLinear", ["a"], ["q", "qs", "qz"]), helper.make_node("MatMulInteger", ["q", "b", "qz", "z"], ["i"]),
             helper.make_node("Cast", ["i"], ["f"], to=F32), helper.make_node("Mul", ["qs", "s"], ["t"]), helper.make_node("Mul", ["f", "t"], ["m"]),
             helper.make_node("Add", ["m", "c"], ["y"])]
    return microsoft(nodes, {"a": (F32, [rows, k])}, {"y": (F32, [rows, n])}, dict(b=q_values(I8, k, n), z=np.int8(0), s=np.float32(0.002), c=weights(n)))


def few_bits(bits, level):
    def build(rows, k, n, block):
        if k % block:
            return None

        def make():
            blocks = k // block
            constants = {"b": rng.integers(0, 256, (n, blocks, block * bits // 8), np.uint8), "scales": np.abs(weights(n * blocks)) * 0.01}
            node = helper.make_node("MatMulNBits", ["a", *constants], ["y"], domain="com.microsoft", K=k, N=n, bits=bits, block_size=block,
                                    accuracy_level=level)
            return microsoft([node], {"a": (F32, [rows, k])}, {"y": (F32, [rows, n])}, constants)

        return f"{rows}x{k} by {k}x{n}, block {block}", rows * k * n, max(rows * k, k * n // 4, rows * n), make

    return build


def matmuls():
    sizes = dict(rows=ROWS, k=WIDTHS, n=WIDTHS)
    yield family("MatMul", 90, of_matmul(matmul), **sizes)
    yield family("Gemm", 70, of_matmul(gemm), **sizes)
    yield family("MatMul of two inputs", 80, both_fed, batch=[(1,), (1, 4), (1, 8), (12,), (4, 8), (16, 12), (64, 3)], rows=(1, 4, 16, 49, 64, 100, 128, 197),
                 k=(8, 16, 32, 64, 100, 128, 197), n=(1, 16, 32, 49, 64, 100, 128, 197, 256))
    yield family("MatMulInteger, int8", 40, matmul_integer(I8), **sizes)
    yield family("MatMulInteger, uint8", 25, matmul_integer(U8), **sizes)
    yield family("QLinearMatMul, int8", 30, qlinear_matmul(I8), **sizes)
    yield family("QLinearMatMul, uint8", 25, qlinear_matmul(U8), **sizes)
    yield family("DynamicQuantizeMatMul", 30, dynamic_quantize_matmul(False), **sizes)
    yield family("DynamicQuantizeMatMul by column", 20, dynamic_quantize_matmul(True), **sizes)
    yield family("Dynamically quantized product", 25, of_matmul(dynamic_chain), **sizes)
    large = dict(rows=(1, 1, 1, 2, 4, 8, 32, 128), k=(256, 512, 768, 896, 1024, 2048, 3072), n=(64, 128, 256, 512, 896, 1024, 2048, 3072), block=(32, 64, 128))
    yield family("MatMulNBits, 4 bits", 30, few_bits(4, 0), **large)
    yield family("MatMulNBits, 4 bits at int8", 30, few_bits(4, 4), **large)
    yield family("MatMulNBits, 8 bits at int8", 20, few_bits(8, 4), **large)


# ---- recurrent

STEPS = dict(length=(1, 1, 2, 5, 10, 20, 50, 100, 200, 500), batch=(1, 1, 2, 4, 8, 16, 32, 128), size=(1, 8, 16, 32, 40, 64, 80, 128, 256, 512),
             hidden=(8, 16, 32, 48, 64, 100, 128, 192, 256, 512))


def recurrent(operator, gates, directions):
    def build(length, batch, size, hidden):
        def make():
            if directions == 1:
                return lstm_like(operator, gates, length, batch, size, hidden)
            return model(operator, [((length, batch, size), F32)], [weights(2, gates * hidden, size), weights(2, gates * hidden, hidden),
                                                                  weights(2, 2 * gates * hidden)], hidden_size=hidden, direction="bidirectional")

        work = directions * length * batch * gates * hidden * (size + hidden)
        return f"{length} steps, batch {batch}, {size} to {hidden}", work, length * batch * max(size, hidden), make

    return build


def quantized_lstm(directions):
    def build(length, batch, size, hidden):
        def make():
            names = ["x", "w", "r", "b", "", "", "", "", "s", "z", "s", "z"]
            node = helper.make_node("DynamicQuantizeLSTM", names, ["y"], domain="com.microsoft", hidden_size=hidden,
                                    direction="bidirectional" if directions == 2 else "forward")
            constants = dict(w=q_values(I8, directions, size, 4 * hidden), r=q_values(I8, directions, hidden, 4 * hidden), b=weights(directions, 8 * hidden),
                             s=np.full(directions, 0.002, np.float32), z=np.zeros(directions, np.int8))
            return microsoft([node], {"x": (F32, [length, batch, size])}, {"y": (F32, [length, directions, batch, hidden])}, constants)

        work = directions * length * batch * 4 * hidden * (size + hidden)
        return f"{length} steps, batch {batch}, {size} to {hidden}", work, length * batch * max(size, hidden), make

    return build


def recurrences():
    for operator, gates, count in (("LSTM", 4, 50), ("GRU", 3, 45), ("RNN", 1, 30)):
        yield family(operator, count, recurrent(operator, gates, 1), **STEPS)
        yield family(f"{operator} both ways", count // 2, recurrent(operator, gates, 2), **STEPS)
    yield family("DynamicQuantizeLSTM", 35, quantized_lstm(1), **STEPS)
    yield family("DynamicQuantizeLSTM both ways", 20, quantized_lstm(2), **STEPS)


# ---- pooling and normalization


def pool(operator):
    def build(batch, channels, image, kernel, stride):
        window = Window(batch, channels, channels, image, kernel, stride)
        if any(size + pad < k for size, pad, k in zip(image, window.pads, kernel)) or any(2 * pad > k for pad, k in zip(window.pads, kernel)):
            return None
        attributes = {name: value for name, value in window.attributes().items() if name in ("kernel_shape", "pads", "strides")}
        return f"{numbers(window.shape())} window {numbers(kernel)} stride {stride}", 0, window.elements(), lambda: model(
            operator, [(window.shape(), F32)], **attributes)

    return build


def over_image(operator, constants=lambda channels: [], **attributes):
    """An operator of one image; `constants`: of so many channels."""
    def build(batch, channels, image):
        if attributes.get("num_groups", 1) > channels or channels % attributes.get("num_groups", 1):
            return None
        shape = (batch, channels, *image)
        return numbers(shape), 0, int(np.prod(shape)), lambda: model(operator, [(shape, F32)], constants(channels), **attributes)

    return build


def over_rows(operator, constants=lambda width: [], domain="", inputs=1, **attributes):
    """An operator of rows, along the last axis."""
    def build(batch, rows, width):
        shape = [batch, rows, width]

        def make():
            if not domain:
                return model(operator, [(shape, F32)] * inputs, constants(width), **attributes)
            names = [f"x{i}" for i in range(inputs)]
            held = {f"c{i}": array for i, array in enumerate(constants(width))}
            node = helper.make_node(operator, [*names, *held], ["y"], domain=domain, **attributes)
            return microsoft([node], {name: (F32, shape) for name in names}, {"y": (F32, shape)}, held)

        return numbers(shape), 0, batch * rows * width, make

    return build


def pooling():
    image = dict(batch=BATCHES, channels=CHANNELS, image=IMAGES)
    for operator in ("MaxPool", "AveragePool"):
        yield family(operator, 40, pool(operator), kernel=SQUARE[2] + SQUARE[3] + SQUARE[5] + [(1, 2), (2, 1)], stride=(1, 2), **image)
        yield family(f"{operator} 1-D", 20, pool(operator), kernel=[(k,) for k in (2, 3, 5, 8)], stride=(1, 2, 4), batch=BATCHES, channels=FEW_CHANNELS, image=LINES)
        yield family(f"{operator} 3-D", 12, pool(operator), kernel=[(2, 2, 2), (3, 3, 3), (1, 2, 2)], stride=(1, 2), batch=(1, 2), channels=(8, 16, 32, 64), image=VOLUMES)
    yield family("GlobalAveragePool", 25, over_image("GlobalAveragePool"), **image)
    yield family("GlobalMaxPool", 15, over_image("GlobalMaxPool"), **image)


def normalizations():
    image, rows = dict(batch=BATCHES, channels=CHANNELS, image=IMAGES), dict(batch=(1, 1, 4, 16, 64), rows=(1, 4, 16, 50, 100, 197, 500), width=(16, 32, 50, 64, 96, 128, 197, 256, 384, 768, 1024))
    pair = lambda size: [weights(size), weights(size)]
    yield family("BatchNormalization", 25, over_image("BatchNormalization", lambda c: [weights(c), weights(c), weights(c), np.abs(weights(c)) + 0.1]), **image)
    yield family("InstanceNormalization", 35, over_image("InstanceNormalization", pair), **image)
    for groups in (8, 32):
        yield family(f"GroupNormalization, {groups} groups", 15, over_image("GroupNormalization", pair, num_groups=groups, opset=21), **image)
    yield family("LRN", 10, over_image("LRN", size=5), **image)
    yield family("LpNormalization", 10, over_rows("LpNormalization"), **rows)
    yield family("LayerNormalization", 40, over_rows("LayerNormalization", pair), **rows)
    yield family("SkipLayerNormalization", 20, over_rows("SkipLayerNormalization", pair, "com.microsoft", 2), **rows)
    yield family("SimplifiedLayerNormalization", 15, over_rows("SimplifiedLayerNormalization", lambda width: [weights(width)]), **rows)
    yield family("Softmax", 30, over_rows("Softmax", axis=-1), **rows)
    yield family("Softmax of channels", 15, over_image("Softmax", axis=1), **image)
    yield family("LogSoftmax", 15, over_rows("LogSoftmax", axis=-1), **rows)


# ---- operators on quantized values


def on_quantized(operator, inputs=1, domain="com.microsoft", shape_of=lambda shape: shape, **attributes):
    def build(batch, channels, image):
        shape = [batch, channels, *image]

        def make():
            names = [name for i in range(inputs) for name in (f"x{i}", "s", "z")]
            node = helper.make_node(operator, [*names, "s", "z"], ["y"], domain=domain, **attributes)
            return microsoft([node], {f"x{i}": (U8, shape) for i in range(inputs)}, {"y": (U8, shape_of(shape))}, dict(s=np.float32(0.02), z=np.uint8(128)))

        return numbers(shape), 0, int(np.prod(shape)), make

    return build


def converter(operator, kind_in, per_channel=False):
    def build(batch, channels, image):
        shape = (batch, channels, *image)
        count = channels if per_channel else 1
        scale, zero = np.full(count, 0.02, np.float32), np.full(count, 3, np.uint8)
        constants = [] if operator == "DynamicQuantizeLinear" else [scale, zero] if per_channel else [scale[0], zero[0]]
        outputs = 3 if operator == "DynamicQuantizeLinear" else 1
        return numbers(shape), 0, int(np.prod(shape)), lambda: model(operator, [(shape, kind_in)], constants, outputs, 19, **({"axis": 1} if per_channel else {}))

    return build


def quantized():
    image = dict(batch=BATCHES, channels=CHANNELS, image=IMAGES)
    pixel = lambda shape: [*shape[:2], *[1] * len(shape[2:])]
    yield family("QLinearAdd", 20, on_quantized("QLinearAdd", 2), **image)
    yield family("QLinearMul", 20, on_quantized("QLinearMul", 2), **image)
    yield family("QLinearSigmoid", 12, on_quantized("QLinearSigmoid"), **image)
    yield family("QLinearLeakyRelu", 12, on_quantized("QLinearLeakyRelu", alpha=0.1), **image)
    yield family("QLinearGlobalAveragePool", 15, on_quantized("QLinearGlobalAveragePool", shape_of=pixel), **image)
    yield family("QuantizeLinear", 20, converter("QuantizeLinear", F32), **image)
    yield family("QuantizeLinear by channel", 15, converter("QuantizeLinear", F32, True), **image)
    yield family("DequantizeLinear", 20, converter("DequantizeLinear", U8), **image)
    yield family("DequantizeLinear by channel", 15, converter("DequantizeLinear", U8, True), **image)
    yield family("DynamicQuantizeLinear", 20, converter("DynamicQuantizeLinear", F32), **image)


def all_points():
    """All points, in their order."""
    parts = (float_convolutions(), integer_convolutions(), matmuls(), recurrences(), pooling(), normalizations(), quantized())
    points = [point for part in parts for made in part for point in made]
    return points
