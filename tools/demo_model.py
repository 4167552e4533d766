#!/usr/bin/env python3
"""Writes ResNet-50 as frameworks export it, with stored weights, which are random: something to try programs on without a download.

    tools/demo_model.py OUT.onnx
"""

import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class Network:
    def __init__(self):
        self.nodes, self.weights, self.random = [], [], np.random.default_rng(0)

    def weight(self, name, array):
        self.weights.append(numpy_helper.from_array(np.asarray(array, np.float32), name))
        return name

    def add(self, op, inputs, **attributes):
        output = f"{op.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [output], name=output, **attributes))
        return output

    def convolve(self, x, inputs, outputs, size, stride=1, gain=2.0):
        """Convolution and BatchNormalization; the spread of the values stays what it was."""
        name, pad = f"conv_{len(self.nodes)}", size // 2
        w = self.random.standard_normal((outputs, inputs, size, size)) * np.sqrt(gain / (inputs * size * size))
        x = self.add("Conv", [x, self.weight(f"{name}.weight", w)], kernel_shape=[size, size], strides=[stride, stride], pads=[pad] * 4)
        ones, zeros = np.ones(outputs), np.zeros(outputs)
        statistics = {"scale": ones, "bias": zeros, "mean": zeros, "var": ones}
        return self.add("BatchNormalization", [x, *(self.weight(f"{name}.{key}", value) for key, value in statistics.items())])

    def bottleneck(self, x, inputs, width, stride):
        y = self.add("Relu", [self.convolve(x, inputs, width, 1)])
        y = self.add("Relu", [self.convolve(y, width, width, 3, stride)])
        y = self.convolve(y, width, 4 * width, 1, gain=0.1)
        shortcut = x if inputs == 4 * width else self.convolve(x, inputs, 4 * width, 1, stride, gain=1.0)
        return self.add("Relu", [self.add("Add", [y, shortcut])])


def main():
    path = pathlib.Path(sys.argv[1])
    network = Network()
    x = network.add("Relu", [network.convolve("image", 3, 64, 7, 2)])
    x = network.add("MaxPool", [x], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    channels = 64
    for width, blocks in ((64, 3), (128, 4), (256, 6), (512, 3)):
        for block in range(blocks):
            x = network.bottleneck(x, channels, width, 2 if block == 0 and width > 64 else 1)
            channels = 4 * width
    x = network.add("Flatten", [network.add("GlobalAveragePool", [x])])
    w = network.weight("classifier.weight", network.random.standard_normal((1000, channels)) / np.sqrt(channels))
    network.nodes.append(helper.make_node("Gemm", [x, w, network.weight("classifier.bias", np.zeros(1000))], ["scores"], name="classifier", transB=1))
    graph = helper.make_graph(network.nodes, "ResNet-50", [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, 224, 224])],
                              [helper.make_tensor_value_info("scores", TensorProto.FLOAT, [1, 1000])], network.weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8, producer_name="Tessera's demo")
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(model, path)


if __name__ == "__main__":
    main()
