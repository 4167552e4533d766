"""Writes small models that ask for more than a host gives: each into a folder of its name, as model.onnx with input_0.pb, ... beside it.

make_models.py OUT [NAME...]: all of them, or those of these names.
"""

import pathlib
import struct
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

INT64, FLOAT, UINT8, STRING = TensorProto.INT64, TensorProto.FLOAT, TensorProto.UINT8, TensorProto.STRING


def value(name, element=None, shape=None):
    """What the border of a graph declares; without an element type it declares nothing."""
    if element is None:
        return onnx.ValueInfoProto(name=name)
    return helper.make_tensor_value_info(name, element, shape)


def constant(name, array):
    return numpy_helper.from_array(np.asarray(array), name)


def open_shape(output):
    output.type.tensor_type.ClearField("shape")
    return output


class Case:
    """A model and what it is given."""

    def __init__(self, nodes, inputs, outputs, constants=(), given=(), functions=(), imports=(), sparse=(), opset=20):
        graph = helper.make_graph(nodes, "g", inputs, outputs, list(constants), sparse_initializer=list(sparse))
        opsets = [helper.make_opsetid("", opset)] + [helper.make_opsetid(domain, version) for domain, version in imports]
        self.model = helper.make_model(graph, opset_imports=opsets, functions=list(functions), ir_version=10)
        self.given = list(given)
        self.files = {}

    def write(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "model.onnx").write_bytes(self.model if isinstance(self.model, bytes) else self.model.SerializeToString())
        for i, array in enumerate(self.given):
            (folder / f"input_{i}.pb").write_bytes(constant("", array).SerializeToString())
        for name, fill in self.files.items():
            with open(folder / name, "wb") as file:
                fill(file)


def chain(operator, first, count, prefix, **attributes):
    names = [first] + [f"{prefix}{i}" for i in range(1, count + 1)]
    return [helper.make_node(operator, [a, a], [b], **attributes) for a, b in zip(names, names[1:])], names[-1]


def string_doubling(folded):
    nodes, last = chain("StringConcat", "t0", 44, "t")
    text = np.array(["stranger" * 6], dtype=object)
    outputs = [value(last, STRING, [1])]
    if folded:
        return Case(nodes, [], outputs, [constant("t0", text)])
    return Case(nodes, [value("t0", STRING, [1])], outputs, given=[text])


def sparse_many():
    count, dense = 900, [2048, 2048]
    sparse = []
    for i in range(count):
        values = helper.make_tensor(f"s{i}", FLOAT, [1], [0.5 + i])
        sparse.append(helper.make_sparse_tensor(values, helper.make_tensor(f"at{i}", INT64, [1], [4097 * i % 4_000_000]), dense))
    node = helper.make_node("Max", [f"s{i}" for i in range(count)], ["y"])
    return Case([node], [], [value("y", FLOAT, dense)], sparse=sparse)


def function(name, nodes, inputs=("a",), outputs=("b",), attributes=()):
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("own", 1)]
    return helper.make_function("own", name, list(inputs), list(outputs), nodes, opsets, list(attributes))


def function_million():
    leaf = function("L0", [helper.make_node("Abs", ["a"], ["t"]), helper.make_node("Neg", ["t"], ["b"])])
    functions = [leaf]
    for level in range(1, 13):
        call = f"L{level - 1}"
        functions.append(function(f"L{level}", [helper.make_node(call, ["a"], ["t"], domain="own"), helper.make_node(call, ["t"], ["u"], domain="own"),
                                                helper.make_node(call, ["u"], ["b"], domain="own")]))
    node = helper.make_node("L12", ["x"], ["y"], domain="own")
    return Case([node], [value("x", FLOAT, [3, 2])], [value("y", FLOAT, [3, 2])], functions=functions, imports=[("own", 1)])


def function_depth():
    depth = 940
    functions = [function(f"D{i}", [helper.make_node(f"D{i + 1}", ["a"], ["b"], domain="own")]) for i in range(depth)]
    functions.append(function(f"D{depth}", [helper.make_node("Abs", ["a"], ["b"])]))
    node = helper.make_node("D0", ["x"], ["y"], domain="own")
    return Case([node], [value("x", FLOAT, [3, 2])], [value("y", FLOAT, [3, 2])], functions=functions, imports=[("own", 1)])


def tfidf_width():
    nodes, outputs = [], []
    for i in range(80):
        nodes.append(helper.make_node("TfIdfVectorizer", ["x"], [f"y{i}"], mode="TF", min_gram_length=1, max_gram_length=1, max_skip_count=0,
                                      ngram_counts=[0], ngram_indexes=[2**26 - 2], pool_int64s=[5 + i]))
        outputs.append(open_shape(value(f"y{i}", FLOAT, [1])))
    return Case(nodes, [value("x", INT64, [1])], outputs)


def jpeg(width=28000, height=24000):
    """Progressive, so that a decoder keeps all coefficients; one scan of nothing."""
    def segment(marker, body):
        return bytes([0xFF, marker]) + struct.pack(">H", len(body) + 2) + body

    components = bytes([3, 1, 0x11, 0, 2, 0x11, 0, 3, 0x11, 0])
    one_code = bytes([1] + [0] * 15 + [0])
    return (b"\xff\xd8" + segment(0xDB, bytes([0] + [2] * 64)) + segment(0xC2, bytes([8]) + struct.pack(">HH", height, width) + components)
            + segment(0xC4, bytes([0x00]) + one_code) + segment(0xDA, bytes([3, 1, 0, 2, 0, 3, 0, 0, 0, 0])) + bytes(24) + b"\xff\xd9")


def tiff(width=20000, height=20000):
    entries = [(256, 4, width), (257, 4, height), (258, 3, 8), (259, 3, 1), (262, 3, 1), (273, 4, 8), (277, 3, 1), (278, 4, height), (279, 4, 16)]
    directory = struct.pack("<H", len(entries)) + b"".join(struct.pack("<HHII", tag, kind, 1, number) for tag, kind, number in entries)
    return b"II*\0" + struct.pack("<I", 8) + directory + bytes(4)


def jpeg2000(size=30000, tile=512):
    def segment(marker, body):
        return struct.pack(">HH", marker, len(body) + 2) + body

    image = segment(0xFF51, struct.pack(">HIIIIIIIIH", 0, size, size, 0, 0, tile, tile, 0, 0, 3) + bytes([7, 1, 1] * 3))
    style = segment(0xFF52, bytes([0, 0, 0, 1, 1, 5, 4, 4, 0, 1]))
    steps = segment(0xFF5C, bytes([0x40]) + bytes([0x40] * 16))
    part = struct.pack(">HHHIBB", 0xFF90, 10, 0, 14 + 16, 0, 1) + b"\xff\x93" + bytes(16)
    return b"\xff\x4f" + image + style + steps + part + b"\xff\xd9"


def image(bytes_, folded):
    data = np.frombuffer(bytes_, dtype=np.uint8)
    node = helper.make_node("ImageDecoder", ["e"], ["y"])
    output = open_shape(value("y", UINT8, [1]))
    if folded:
        return Case([node], [], [output], [constant("e", data)])
    return Case([node], [value("e", UINT8, ["bytes"])], [output], given=[data])


def gradient_nest():
    nodes = [helper.make_node("Exp", ["x"], ["e"]), helper.make_node("Sin", ["x"], ["s"]), helper.make_node("Mul", ["e", "s"], ["d0"])]
    for i in range(20):
        nodes.append(helper.make_node("Gradient", ["x"], [f"d{i + 1}"], domain="ai.onnx.preview.training", xs=["x"], y=f"d{i}"))
    return Case(nodes, [value("x", FLOAT, [1])], [value("d20", FLOAT, [1])], imports=[("ai.onnx.preview.training", 1)])


def matmul_chain_folded():
    nodes = [helper.make_node("ConstantOfShape", ["n"], ["a"], value=helper.make_tensor("v", FLOAT, [1], [0.002])),
             helper.make_node("Tile", ["a", "r"], ["b"]), helper.make_node("Tile", ["b", "c"], ["m0"])]
    matmuls, last = chain("MatMul", "m0", 300, "m")
    constants = [constant("n", np.array([576, 576])), constant("r", np.array([1, 4])), constant("c", np.array([4, 1]))]
    return Case(nodes + matmuls, [], [open_shape(value(last, FLOAT, [1]))], constants)


def roi_align(folded):
    image_ = np.ones([1, 1, 3, 3], np.float32)
    node = helper.make_node("RoiAlign", ["X", "rois", "batch"], ["y"], mode="max", output_height=192, output_width=200, sampling_ratio=10_000_001)
    constants = [constant("rois", np.array([[0, 0, 2, 2]], np.float32)), constant("batch", np.array([0]))]
    outputs = [open_shape(value("y", FLOAT, [1]))]
    if folded:
        return Case([node], [], outputs, constants + [constant("X", image_)])
    return Case([node], [value("X", FLOAT, [1, 1, 3, 3])], outputs, constants, given=[image_])


def shape_of_many_axes():
    nodes = [helper.make_node("Relu", [f"v{i}"], [f"v{i + 1}"]) for i in range(3000)]
    return Case(nodes, [value("v0", FLOAT, [1] * 60_000)], [open_shape(value("v3000", FLOAT, [1]))])


def functions_with_long_names():
    """What is inlined is named after all calls that led to it."""
    body = [helper.make_node("Abs", ["a" if i == 0 else f"t{i}"], ["b" if i == 7 else f"t{i + 1}"]) for i in range(8)]
    outer = [helper.make_node("N", ["a"], ["t"], domain="own", name="m" * 150_000), helper.make_node("N", ["t"], ["b"], domain="own", name="k" * 150_000)]
    nodes = [helper.make_node("O", [f"x{i}"], [f"x{i + 1}"], domain="own", name=f"call{i}") for i in range(3000)]
    return Case(nodes, [value("x0", FLOAT, [2])], [value("x3000", FLOAT, [2])], functions=[function("N", body), function("O", outer)],
                imports=[("own", 1)])


def function_with_a_table():
    table = helper.make_tensor("table", FLOAT, [512, 1024], np.arange(512 * 1024, dtype=np.float32))  # typed data, which is always copied
    body = [helper.make_node("Constant", [], ["c"], value=table), helper.make_node("Add", ["a", "c"], ["b"])]
    nodes = [helper.make_node("T", [f"x{i}"], [f"x{i + 1}"], domain="own") for i in range(2000)]
    return Case(nodes, [value("x0", FLOAT, [512, 1024])], [value("x2000", FLOAT, [512, 1024])], functions=[function("T", body)], imports=[("own", 1)])


def nodes_without_content():
    def varint(number):
        out = bytearray()
        while number >= 0x80:
            out.append(number & 0x7F | 0x80)
            number >>= 7
        return bytes(out + bytes([number]))

    case = Case([], [], [])
    nodes = b"\x0a\x00" * 4_000_000
    head = helper.make_model(helper.make_graph([], "g", [], []), ir_version=10)
    head.ClearField("graph")
    case.model = head.SerializeToString() + b"\x3a" + varint(len(nodes)) + nodes
    return case


def overlapping_weights():
    count, channels = 600, 768
    constants = [constant(name, np.full([channels], number, np.float32)) for name, number in (("s", 2), ("b", 1), ("m", 0), ("v", 1))]
    nodes, outputs = [], []
    for i in range(count):
        weights = TensorProto(name=f"w{i}", data_type=FLOAT, dims=[channels, channels, 1, 1], data_location=TensorProto.EXTERNAL)
        for key, text in (("location", "weights.bin"), ("offset", str(4 * i)), ("length", str(4 * channels * channels))):
            weights.external_data.add(key=key, value=text)
        constants.append(weights)
        nodes.append(helper.make_node("Conv", ["x", f"w{i}"], [f"c{i}"]))
        nodes.append(helper.make_node("BatchNormalization", [f"c{i}", "s", "b", "m", "v"], [f"y{i}"]))
        outputs.append(value(f"y{i}", FLOAT, [1, channels, 1, 1]))
    case = Case(nodes, [value("x", FLOAT, [1, channels, 1, 1])], outputs, constants)
    data = np.random.default_rng(1).random(channels * channels + count, dtype=np.float32)
    case.files["weights.bin"] = lambda file: file.write(data.tobytes())
    return case


def einsum_folded():
    nodes = [helper.make_node("ConstantOfShape", ["n"], ["q"], value=helper.make_tensor("v", FLOAT, [1], [0.5])),
             helper.make_node("Einsum", ["q", "q", "q"], ["y"], equation="abc,cde,efg->ag")]
    return Case(nodes, [], [open_shape(value("y", FLOAT, [1]))], [constant("n", np.array([90, 90, 90]))])


def split_empty():
    rows = 2**24 + 5
    nodes = [helper.make_node("SplitToSequence", ["e"], ["q"], axis=0), helper.make_node("SequenceLength", ["q"], ["y"])]
    return Case(nodes, [value("e", FLOAT, [rows, 0])], [value("y", INT64, [])], given=[np.zeros([rows, 0], np.float32)])


def resize_tables():
    node = helper.make_node("Resize", ["x", "", "scale"], ["y"], mode="linear")
    return Case([node], [value("x", UINT8, [2])], [open_shape(value("y", UINT8, [1]))], [constant("scale", np.array([9e7], np.float32))],
                given=[np.array([3, 200], np.uint8)])


def zipmap():
    rows, columns = 9000, 1100
    nodes = [helper.make_node("ConstantOfShape", ["n"], ["f"]),
             helper.make_node("ZipMap", ["f"], ["z"], domain="ai.onnx.ml", classlabels_int64s=list(range(columns)))]
    output = helper.make_value_info("z", helper.make_sequence_type_proto(helper.make_map_type_proto(INT64, helper.make_tensor_type_proto(FLOAT, []))))
    return Case(nodes, [value("n", INT64, [2])], [output], given=[np.array([rows, columns])], imports=[("ai.onnx.ml", 3)])


def of_shape(nodes, shape, imports=()):
    """A model whose tensor is as large as its input says."""
    first = helper.make_node("ConstantOfShape", ["n"], ["f"])
    return Case([first] + nodes, [value("n", INT64, [len(shape)])], [open_shape(value("y", FLOAT, [1]))], given=[np.array(shape)], imports=imports)


def cancel_nms():
    boxes = 1_800_000
    nodes = [helper.make_node("RandomUniform", [], ["boxes"], seed=4.0, shape=[1, boxes, 4]),
             helper.make_node("RandomUniform", [], ["scores"], seed=5.0, shape=[1, 1, boxes]),
             helper.make_node("NonMaxSuppression", ["boxes", "scores", "most", "overlap"], ["y"])]
    return Case(nodes, [value("most", INT64, [1])], [open_shape(value("y", INT64, [1]))], [constant("overlap", np.array([1], np.float32))],
                given=[np.array([boxes])])


def cancel_lstm():
    hidden = 16
    constants = [constant("W", np.full([1, 4 * hidden, 1], 0.02, np.float32)), constant("R", np.full([1, 4 * hidden, hidden], 0.01, np.float32))]
    nodes = [helper.make_node("ConstantOfShape", ["n"], ["f"]), helper.make_node("LSTM", ["f", "W", "R"], ["", "y"], hidden_size=hidden)]
    return Case(nodes, [value("n", INT64, [3])], [open_shape(value("y", FLOAT, [1]))], constants, given=[np.array([2_500_000, 1, 1])])


PRIVATE = [("ai.tessera", 1)]


def filled(name, element, number, output):
    return helper.make_node("ConstantOfShape", [name], [output], value=helper.make_tensor("v", element, [1], [number]))


def private_max_pool():
    nodes = [filled("n", UINT8, 80, "f"), helper.make_node("MaxPoolNhwc", ["f"], ["y"], domain="ai.tessera", kernel_shape=[1, 1])]
    return Case(nodes, [], [open_shape(value("y", TensorProto.UINT4, [1]))], [constant("n", np.array([1, 400, 600, 48]))], imports=PRIVATE)


def private_conv():
    constants = [constant("n", np.array([1, 300, 300, 96])), constant("scale", np.float32(1)), constant("zero", np.uint8(0)),
                 constant("w", np.ones([96, 96, 1, 1], np.uint8))]
    nodes = [filled("n", UINT8, 3, "f"),
             helper.make_node("QLinearConvNhwc", ["f", "scale", "zero", "w", "scale", "zero", "scale", "zero"], ["y"], domain="ai.tessera", kernel_shape=[1, 1])]
    return Case(nodes, [], [open_shape(value("y", TensorProto.UINT2, [1]))], constants, imports=PRIVATE)


def untyped_unpool():
    size = 1536
    nodes = [filled("n", UINT8, 80, "f"), helper.make_node("ScatterGrid", ["f", "f"], ["t"], domain="ai.tessera"),
             helper.make_node("Range", ["begin", "end", "step"], ["r"]), helper.make_node("Reshape", ["r", "n"], ["i"]),
             helper.make_node("MaxUnpool", ["t", "i"], ["y"], kernel_shape=[2, 2], strides=[2, 2])]
    constants = [constant("n", np.array([1, 1, size, size])), constant("begin", np.int64(0)), constant("end", np.int64(4 * size * size)),
                 constant("step", np.int64(4))]
    return Case(nodes, [], [open_shape(value("y", TensorProto.FLOAT16, [1]))], constants, imports=PRIVATE)


def untyped_compress():
    nodes = [filled("n", INT64, 0x4242424242424242, "f"), helper.make_node("ScatterGrid", ["f", "f"], ["t"], domain="ai.tessera"),
             filled("n", TensorProto.BOOL, True, "c"), helper.make_node("Compress", ["t", "c"], ["y"])]
    return Case(nodes, [], [open_shape(value("y", UINT8, [1]))], [constant("n", np.array([3_000_000]))], imports=PRIVATE)


def untyped_attention_past():
    node = helper.make_node("Attention", ["q", "k", "v", "", "pk", "pv"], ["y", "ok", "ov"])
    inputs = [value(name, FLOAT, [1, 3, 2, 32]) for name in "qkv"] + [value("pk"), value("pv")]
    new, past = np.ones([1, 3, 2, 32], np.float32), np.full([1, 3, 300, 32], 7, np.uint8)
    return Case([node], inputs, [open_shape(value(name, FLOAT, [1])) for name in ("y", "ok", "ov")], given=[new] * 3 + [past] * 2, opset=24)


def untyped_onehot():
    node = helper.make_node("OneHot", ["i", "depth", "values"], ["y"])
    inputs = [value("i", INT64, [3]), value("depth", INT64, []), value("values")]
    return Case([node], inputs, [open_shape(value("y", STRING, [1]))], given=[np.array([0, 1, 2]), np.int64(3), np.array([0x4141, 0x4242])])


CASES = {
    "string_doubling_folded": lambda: string_doubling(True),
    "sparse_many": sparse_many,
    "function_million": function_million,
    "function_depth": function_depth,
    "tfidf_width": tfidf_width,
    "jpeg_folded": lambda: image(jpeg(), True),
    "tiff_folded": lambda: image(tiff(), True),
    "gradient_nest": gradient_nest,
    "matmul_chain_folded": matmul_chain_folded,
    "roi_align_folded": lambda: roi_align(True),
    "shape_of_many_axes": shape_of_many_axes,
    "functions_with_long_names": functions_with_long_names,
    "function_with_a_table": function_with_a_table,
    "nodes_without_content": nodes_without_content,
    "overlapping_weights": overlapping_weights,
    "einsum_folded": einsum_folded,
    "string_doubling": lambda: string_doubling(False),
    "split_empty": split_empty,
    "resize_tables": resize_tables,
    "zipmap": zipmap,
    "jpeg": lambda: image(jpeg(), False),
    "jpeg2000": lambda: image(jpeg2000(), False),
    "cancel_roi_align": lambda: roi_align(False),
    "cancel_nms": cancel_nms,
    "cancel_lstm": cancel_lstm,
    "cancel_inverse": lambda: of_shape([helper.make_node("EyeLike", ["f"], ["i"]), helper.make_node("Inverse", ["i"], ["y"], domain="com.microsoft")],
                                       [7500, 7500], [("com.microsoft", 1)]),
    "cancel_matmul": lambda: of_shape([helper.make_node("MatMul", ["f", "f"], ["y"])], [10_000, 10_000]),
    "cancel_maxpool": lambda: of_shape([helper.make_node("MaxPool", ["f"], ["y"], kernel_shape=[1801, 1801], pads=[900] * 4, dilations=[1, 1])],
                                       [1, 1, 3600, 3600]),
    "private_max_pool": private_max_pool,
    "private_conv": private_conv,
    "untyped_unpool": untyped_unpool,
    "untyped_compress": untyped_compress,
    "untyped_attention_past": untyped_attention_past,
    "untyped_onehot": untyped_onehot,
}


def main():
    out = pathlib.Path(sys.argv[1])
    for name in sys.argv[2:] or CASES:
        CASES[name]().write(out / name)


if __name__ == "__main__":
    main()
