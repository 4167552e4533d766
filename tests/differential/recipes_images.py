"""Networks over images of one to three spatial axes: what goes through layouts made for convolutions, and where it leaves them."""

import dataclasses

import numpy as np

from recipe import choice, recipe, values
from recipes_models import Builder


@dataclasses.dataclass
class Image:
    name: str
    channels: int
    size: list

    def with_size(self, name, size):
        return Image(name, self.channels, list(size))


class Network:
    """Nodes, each of which reads one of the images that are there."""

    MOST_ELEMENTS = 60000

    def __init__(self, rng, batch, channels, size):
        self.rng, self.axes = rng, len(size)
        self.b = Builder(rng, {"x": values(rng, (batch, channels, *size), np.float32, -2, 2)})
        self.batch, self.images = batch, [Image("x", channels, size)]

    def pick(self):
        return self.images[-1] if self.rng.random() < 0.7 else choice(self.rng, self.images)

    def like(self, image):
        return [other for other in self.images if (other.channels, other.size) == (image.channels, image.size)]

    def add(self, image):
        if min(image.size) > 0 and image.channels * np.prod(image.size) <= self.MOST_ELEMENTS:
            self.images.append(image)

    def weights(self, *dims):
        return self.b.weights(*dims, scale=1.5 / np.sqrt(max(1, np.prod(dims[1:]))))

    def each_axis(self, options):
        """Mostly the same along all axes."""
        return [choice(self.rng, options)] * self.axes if self.rng.random() < 0.6 else [choice(self.rng, options) for _ in range(self.axes)]

    def convolution(self, x):
        kernel = self.each_axis([1, 1, 2, 3, 3, 3, 4, 5, 7, 11] if self.axes < 3 else [1, 3])
        dilations = self.each_axis([1, 1, 1, 2, 3, 6])
        strides = self.each_axis([1, 1, 1, 2, 3])
        reach = [(k - 1) * d for k, d in zip(kernel, dilations)]
        begin = [r // 2 if self.rng.random() < 0.7 else int(self.rng.integers(0, r + 1)) for r in reach]
        end = [b if self.rng.random() < 0.7 else int(self.rng.integers(0, r + 1)) for b, r in zip(begin, reach)]
        room = [s + b + e - r - 1 for s, b, e, r in zip(x.size, begin, end, reach)]
        if min(room) < 0:
            return
        group = choice(self.rng, [g for g in (1, 1, 1, 2, 8, x.channels) if x.channels % g == 0])
        outputs = group * choice(self.rng, [1, 2, 8] if group > 1 else [1, 3, 8, 16, 24, 40])
        y = self.b("Conv", x.name, self.weights(outputs, x.channels // group, *kernel), *([self.weights(outputs)] if self.rng.random() < 0.7 else []),
                   strides=strides, dilations=dilations, pads=begin + end, group=group)
        self.add(Image(y, outputs, [r // s + 1 for r, s in zip(room, strides)]))

    def transposed_convolution(self, x):
        kernel, strides = self.each_axis([1, 2, 3, 4, 5, 6]), self.each_axis([1, 2, 2, 2, 3, 4])
        begin = [min(1, k - 1) if self.rng.random() < 0.6 else int(self.rng.integers(0, k)) for k in kernel]
        end = [b if self.rng.random() < 0.7 else int(self.rng.integers(0, k)) for b, k in zip(begin, kernel)]
        more = [int(self.rng.integers(0, s)) if self.rng.random() < 0.3 else 0 for s in strides]
        size = [(n - 1) * s + k + m - b - e for n, s, k, m, b, e in zip(x.size, strides, kernel, more, begin, end)]
        outputs = choice(self.rng, [1, 3, 8, 16, 24])
        if min(size) < 1 or outputs * np.prod(size) > self.MOST_ELEMENTS:
            return
        y = self.b("ConvTranspose", x.name, self.weights(x.channels, outputs, *kernel), *([self.weights(outputs)] if self.rng.random() < 0.6 else []),
                   strides=strides, pads=begin + end, output_padding=more)
        self.add(Image(y, outputs, size))

    def activation(self, x):
        op = choice(self.rng, ["Relu", "LeakyRelu", "PRelu", "Sigmoid", "HardSwish", "Clip", "Tanh", "HardSigmoid", "Silu", "Elu", "Abs"])
        if op == "PRelu":
            y = self.b(op, x.name, self.weights(*choice(self.rng, [(x.channels, *[1] * self.axes), (1,)])))
        elif op == "Clip":
            y = self.b(op, x.name, np.float32(-0.3), np.float32(0.6))
        else:
            y = self.b("Mul", x.name, self.b("Sigmoid", x.name)) if op == "Silu" else self.b(op, x.name)
        self.add(x.with_size(y, x.size))

    def combination(self, x):
        others = [other for other in self.like(x) if other is not x]
        if others and self.rng.random() < 0.7:
            op = choice(self.rng, ["Add", "Add", "Sub", "Sum", "Max", "Min", "Mean"])
            more = [choice(self.rng, others).name] if op in ("Sum", "Max", "Min", "Mean") and self.rng.random() < 0.4 else []
            y = self.b(op, x.name, choice(self.rng, others).name, *more)
        else:
            dims = choice(self.rng, [(1, x.channels, *[1] * self.axes), (x.channels, *[1] * self.axes), (1,)])
            y = self.b(choice(self.rng, ["Add", "Mul", "Div", "Sub"]), x.name, values(self.rng, dims, np.float32, 0.5, 1.5))
        self.add(x.with_size(y, x.size))

    def gate(self, x):
        gate = self.b("Sigmoid", self.b("GlobalAveragePool", x.name))
        pair = [x.name, gate] if self.rng.random() < 0.5 else [gate, x.name]
        self.add(x.with_size(self.b(choice(self.rng, ["Mul", "Add"]), *pair), x.size))

    def concatenation(self, x):
        parts = [x] + [choice(self.rng, [i for i in self.images if i.size == x.size]) for _ in range(int(self.rng.integers(1, 3)))]
        y = self.b("Concat", *[part.name for part in parts], axis=choice(self.rng, [1, -1 - self.axes]))
        self.add(Image(y, sum(part.channels for part in parts), x.size))

    def resize(self, x):
        scales = [choice(self.rng, [1, 2, 2, 0.5]) for _ in range(self.axes)]
        if any(size * scale % 1 for size, scale in zip(x.size, scales)):
            return
        nearest = self.axes == 3 or self.rng.random() < 0.5
        how = ["asymmetric"] if nearest else ["half_pixel", "asymmetric", "align_corners"]
        y = self.b("Resize", x.name, "", np.asarray([1, 1, *scales], np.float32), mode="nearest" if nearest else "linear",
                   coordinate_transformation_mode=choice(self.rng, how), nearest_mode="floor" if nearest else None)
        self.add(x.with_size(y, [int(size * scale) for size, scale in zip(x.size, scales)]))

    def pad(self, x):
        mode = choice(self.rng, ["constant", "reflect", "edge"])
        begin, end = [[int(self.rng.integers(0, min(4, size))) for size in x.size] for _ in range(2)]
        value = [np.float32(choice(self.rng, [0, 0.5]))] if mode == "constant" else []
        y = self.b("Pad", x.name, np.asarray([0, 0, *begin, 0, 0, *end], np.int64), *value, mode=mode)
        self.add(x.with_size(y, np.add(np.add(x.size, begin), end).tolist()))

    def split(self, x):
        if x.channels < 2:
            return
        first = choice(self.rng, [x.channels // 2, min(8, x.channels - 1)])
        parts = [first, x.channels - first]
        names = self.b("Split", x.name, np.asarray(parts, np.int64), outputs=2, axis=choice(self.rng, [1, -1 - self.axes]))
        for name, channels in zip(names, parts):
            self.add(Image(name, channels, x.size))

    def slice(self, x):
        axis = int(self.rng.integers(0, self.axes + 1))
        sizes = [x.channels, *x.size]
        step = 8 if axis == 0 and x.channels > 8 and self.rng.random() < 0.7 else 1
        begin = int(self.rng.integers(0, (sizes[axis] + step - 1) // step)) * step
        end = min(sizes[axis], begin + step * int(self.rng.integers(1, sizes[axis] // step + 1)))
        stride = choice(self.rng, [1, 1, 2]) if step == 1 else 1
        y = self.b("Slice", x.name, *[np.asarray([number], np.int64) for number in (begin, end, axis + 1, stride)])
        sizes[axis] = (end - begin + stride - 1) // stride
        self.add(Image(y, sizes[0], sizes[1:]))

    def pool(self, x):
        kernel, stride = choice(self.rng, [2, 3]), choice(self.rng, [1, 2])
        if min(x.size) >= kernel:
            y = self.b(choice(self.rng, ["MaxPool", "AveragePool"]), x.name, kernel_shape=[kernel] * self.axes, strides=[stride] * self.axes)
            self.add(x.with_size(y, [(size - kernel) // stride + 1 for size in x.size]))

    LAYERS = [convolution] * 8 + [transposed_convolution] * 3 + [activation] * 4 + [combination] * 4 + [
        gate, concatenation, concatenation, resize, resize, pad, pad, split, slice, pool]


@recipe("ModelImages")
def images(rng):
    axes = choice(rng, [1, 2, 2, 2, 3])
    net = Network(rng, choice(rng, [1, 1, 2]), choice(rng, [1, 3, 8, 16, 24]), [int(rng.integers(5, 33 if axes < 3 else 11)) for _ in range(axes)])
    for _ in range(int(rng.integers(4, 14))):
        choice(rng, Network.LAYERS)(net, net.pick())
    if len(net.images) == 1:
        net.activation(net.images[0])
    read = {name for node in net.b.nodes for name in node.input}
    made = [image.name for image in net.images[1:]]
    outputs = [name for name in made if name not in read] + [name for name in made if rng.random() < 0.1]
    return net.b.case(list(dict.fromkeys(outputs or made[-1:])), peer="ort", opset=18, dynamic=bool(rng.random() < 0.3))
