"""Single-operator models at sizes that real networks use; operators.py times them."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

F32, F64, F16 = TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16
I64, I32, U8, I8, BOOL = TensorProto.INT64, TensorProto.INT32, TensorProto.UINT8, TensorProto.INT8, TensorProto.BOOL
rng = np.random.default_rng(0)


def weights(*shape):
    return rng.uniform(-0.5, 0.5, shape).astype(np.float32)


def ints(*numbers):
    return np.asarray(numbers, np.int64)


def model(op, inputs, constants=(), outputs=1, opset=20, **attributes):
    """`inputs`: (shape, type) pairs fed at run time; `constants`: arrays after them, None for an omitted input."""
    names, infos, initializers = [], [], []
    for i, (shape, kind) in enumerate(inputs):
        names.append(f"x{i}")
        infos.append(helper.make_tensor_value_info(f"x{i}", kind, shape))
    for i, array in enumerate(constants):
        names.append("" if array is None else f"c{i}")
        if array is not None:
            initializers.append(numpy_helper.from_array(array, f"c{i}"))
    results = [f"y{i}" for i in range(outputs)]
    graph = helper.make_graph([helper.make_node(op, names, results, **attributes)], op, infos,
                              [helper.make_empty_tensor_value_info(r) for r in results], initializers)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)
    return onnx.shape_inference.infer_shapes(made)


def lstm_like(op, gates, length, batch, size, hidden):
    return model(op, [((length, batch, size), F32)], [weights(1, gates * hidden, size), weights(1, gates * hidden, hidden),
                                                      weights(1, 2 * gates * hidden)], outputs=2, hidden_size=hidden)


def conv(channels, outputs, size, kernel, stride=1, group=1):
    """One square image, padded so that a stride of 1 keeps its size."""
    return model("Conv", [((1, channels, size, size), F32)], [weights(outputs, channels // group, kernel, kernel), weights(outputs)],
                 pads=[kernel // 2] * 4, strides=[stride] * 2, group=group)


def microsoft(nodes, inputs, outputs, constants):
    """Operators of com.microsoft; `inputs` and `outputs`: (type, shape) by name, `constants`: arrays by name."""
    declare = lambda values: [helper.make_tensor_value_info(name, *value) for name, value in values.items()]
    graph = helper.make_graph(nodes, nodes[0].op_type, declare(inputs), declare(outputs),
                              [numpy_helper.from_array(array, name) for name, array in constants.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)], ir_version=9)


def quantized_swish(kind, zero):
    """x * Sigmoid(x) on quantized values, as quantizers write it for operators on these."""
    how = ["scale", "zero"]
    nodes = [helper.make_node("QLinearSigmoid", ["x0", *how, *how], ["gate"], domain="com.microsoft"),
             helper.make_node("QLinearMul", ["x0", *how, "gate", *how, *how], ["y0"], domain="com.microsoft")]
    q_values = (helper.np_dtype_to_tensor_dtype(np.dtype(kind)), BYTES[0])
    return microsoft(nodes, {"x0": q_values}, {"y0": q_values}, {"scale": np.float32(0.05), "zero": np.asarray(zero, kind)})


def int4_cache_step(heads, kv_heads, width, past, scales):
    """GroupQueryAttention of one new token over a cache of quantized values of 4 bits; `scales`: PER_TENSOR or PER_CHANNEL."""
    cache = [1, kv_heads, past, width // 2]
    inputs = {"q": (F32, [1, 1, heads * width]), "k": (F32, [1, 1, kv_heads * width]), "v": (F32, [1, 1, kv_heads * width]),
              "past_k": (U8, cache), "past_v": (U8, cache)}
    scale = np.full(1 if scales == "PER_TENSOR" else kv_heads * width, 0.1, np.float32)
    constants = {"last": np.array([past], np.int32), "total": np.array(past + 1, np.int32), "scale": scale}
    node = helper.make_node("GroupQueryAttention", [*inputs, "last", "total", *[""] * 5, "scale", "scale"], ["y", "key", "value"],
                            domain="com.microsoft", num_heads=heads, kv_num_heads=kv_heads, kv_cache_bit_width=4,
                            k_quant_type=scales, v_quant_type=scales)
    grown = [1, kv_heads, past + 1, width // 2]
    return microsoft([node], inputs, {"y": (F32, [1, 1, heads * width]), "key": (U8, grown), "value": (U8, grown)}, constants)


def few_bits(rows, bits, zeros, level=4, k=2048, n=8192, block=32):
    """MatMulNBits; `zeros`: each block has a zero point of its own."""
    blocks = k // block
    q_values = lambda *shape: rng.integers(0, 256, shape, np.uint8)
    constants = {"b": q_values(n, blocks, block * bits // 8), "scales": np.abs(weights(n, blocks)) * 0.01}
    if zeros:
        constants["zeros"] = q_values(n, blocks * bits // 8)
    node = helper.make_node("MatMulNBits", ["a", *constants], ["y"], domain="com.microsoft", K=k, N=n, bits=bits, block_size=block,
                            accuracy_level=level)
    return microsoft([node], {"a": (F32, [rows, k])}, {"y": (F32, [rows, n])}, constants)


def boxes(count):
    corner = rng.uniform(0, 1, (1, count, 2))
    return np.concatenate([corner, corner + rng.uniform(0.01, 0.2, (1, count, 2))], -1).astype(np.float32)


def as_type(value, kind):
    return value[0], kind


IMAGE = ((1, 64, 112, 112), F32)
TOKENS = ((8, 128, 768), F32)
BYTES = ((1, 64, 112, 112), U8)
SCORES = ((8, 12, 128, 128), F32)

MODELS = {
    # elementwise
    **{op: model(op, [TOKENS]) for op in (
        "Relu", "Sigmoid", "Tanh", "Exp", "Log", "Erf", "Sqrt", "Abs", "Neg", "Floor", "Ceil", "Round", "Reciprocal", "Sign", "Sin",
        "Cos", "Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh", "Asinh", "Atanh", "Softplus", "Softsign", "LeakyRelu", "Elu", "Selu",
        "Celu", "ThresholdedRelu", "HardSigmoid", "HardSwish", "Gelu", "Mish", "IsNaN", "IsInf")},
    "Gelu tanh": model("Gelu", [TOKENS], approximate="tanh"),
    **{f"{op} same": model(op, [TOKENS, TOKENS]) for op in ("Add", "Sub", "Mul", "Div", "Max", "Min", "Pow", "Greater", "Less",
                                                            "GreaterOrEqual", "LessOrEqual", "Equal")},
    **{f"{op} i64": model(op, [as_type(TOKENS, I64), as_type(TOKENS, I64)]) for op in ("Add", "Mul", "Equal", "Max", "BitwiseAnd")},
    **{f"{op} i64 scalar": model(op, [as_type(TOKENS, I64)], [np.int64(7).reshape(())]) for op in ("Div", "Mod")},
    **{f"{op} f16": model(op, [as_type(TOKENS, F16)] * count, opset=14) for op, count in (("Add", 2), ("Tanh", 1), ("Relu", 1))},
    "Exp f64": model("Exp", [as_type(TOKENS, F64)]),
    "Add i32": model("Add", [as_type(TOKENS, I32), as_type(TOKENS, I32)]),
    "And": model("And", [as_type(TOKENS, BOOL), as_type(TOKENS, BOOL)]),
    "Not": model("Not", [as_type(TOKENS, BOOL)]),
    "Add row": model("Add", [TOKENS], [weights(768)]),
    "Add channel": model("Add", [IMAGE], [weights(64, 1, 1)]),
    "Mul column": model("Mul", [TOKENS], [weights(8, 128, 1)]),
    "Mul outer": model("Mul", [((1024, 1), F32), ((1, 768), F32)]),
    "Add bias of heads": model("Add", [SCORES], [weights(8, 1, 1, 128)]),
    "Mul scalar": model("Mul", [TOKENS], [np.float32(0.5).reshape(())]),
    "Sum 3": model("Sum", [TOKENS, TOKENS, TOKENS]),
    "Mean 3": model("Mean", [TOKENS, TOKENS, TOKENS]),
    **{f"Pow {y:g}": model("Pow", [TOKENS], [np.float32(y).reshape(())]) for y in (2, 3, 0.5, 1.7)},
    "Where": model("Where", [((8, 12, 128, 128), BOOL), SCORES], [np.float32(-1e9).reshape(())]),
    "Where same": model("Where", [as_type(TOKENS, BOOL), TOKENS, TOKENS]),
    "Clip": model("Clip", [IMAGE], [np.float32(0), np.float32(6)]),
    "PRelu": model("PRelu", [IMAGE], [weights(64, 1, 1)]),
    # conversions
    **{f"Cast {names[a]} {names[b]}": model("Cast", [as_type(TOKENS, a)], to=b) for names in [
        {F32: "f32", F64: "f64", F16: "f16", I64: "i64", I32: "i32", U8: "u8", I8: "i8", BOOL: "bool"}] for a, b in (
        (F32, I64), (F32, I32), (F32, U8), (F32, BOOL), (F32, F16), (F32, F64), (I64, F32), (I64, I32), (I64, BOOL), (I32, F32),
        (I32, I64), (U8, F32), (BOOL, F32), (BOOL, I64), (F16, F32), (F64, F32))},
    "QuantizeLinear": model("QuantizeLinear", [IMAGE], [np.float32(0.02), np.uint8(128)], opset=19),
    "QuantizeLinear i8": model("QuantizeLinear", [IMAGE], [np.float32(0.02), np.int8(0)], opset=19),
    "QuantizeLinear channel": model("QuantizeLinear", [IMAGE], [np.abs(weights(64)) + 0.01, np.zeros(64, np.int8)], opset=19, axis=1),
    "QuantizeLinear last": model("QuantizeLinear", [TOKENS], [np.abs(weights(768)) + 0.01, np.zeros(768, np.int8)], opset=19, axis=-1),
    "QuantizeLinear blocks": model("QuantizeLinear", [((4096, 256), F32)], [np.abs(weights(4096, 8)) + 0.01], opset=21, axis=1,
                                   block_size=32, output_dtype=TensorProto.INT4),
    "QuantizeLinear f8": model("QuantizeLinear", [TOKENS], [np.float32(0.02)], opset=21, output_dtype=TensorProto.FLOAT8E4M3FN),
    "DequantizeLinear": model("DequantizeLinear", [BYTES], [np.float32(0.02), np.uint8(128)], opset=19),
    "DequantizeLinear i8": model("DequantizeLinear", [as_type(BYTES, I8)], [np.float32(0.02), np.int8(0)], opset=19),
    "DequantizeLinear i32": model("DequantizeLinear", [as_type(BYTES, I32)], [np.float32(0.02)], opset=19),
    "DequantizeLinear channel": model("DequantizeLinear", [BYTES], [np.abs(weights(64)), np.zeros(64, np.uint8)], opset=19, axis=1),
    "DequantizeLinear last": model("DequantizeLinear", [as_type(TOKENS, U8)], [np.abs(weights(768)), np.zeros(768, np.uint8)],
                                   opset=19, axis=-1),
    "DequantizeLinear blocks": model("DequantizeLinear", [((4096, 256), I8)], [np.abs(weights(4096, 8))], opset=21, axis=1,
                                     block_size=32),
    "DynamicQuantizeLinear": model("DynamicQuantizeLinear", [TOKENS], outputs=3),
    "QLinearSigmoid Mul": quantized_swish(np.uint8, 128),
    "QLinearSigmoid Mul i8": quantized_swish(np.int8, 0),
    **{f"MatMulNBits {rows} by {bits} bits{' zeros' if zeros else ''}": few_bits(rows, bits, zeros)
       for rows in (1, 4, 128) for bits in (4, 8) for zeros in (False, True)},
    **{f"MatMulNBits 1 by {bits} bits, floats": few_bits(1, bits, False, level=0) for bits in (4, 8)},
    **{f"GroupQueryAttention int4 {scales.lower()}": int4_cache_step(32, 8, 128, 2048, scales) for scales in ("PER_TENSOR", "PER_CHANNEL")},
    # reductions and normalizations
    "ReduceMean last": model("ReduceMean", [TOKENS], [ints(-1)]),
    "ReduceMean tokens": model("ReduceMean", [((64, 49, 96), F32)], [ints(1)]),
    "ReduceMax tokens": model("ReduceMax", [((64, 49, 96), F32)], [ints(1)]),
    "ReduceMean spatial": model("ReduceMean", [IMAGE], [ints(2, 3)]),
    "ReduceSum first": model("ReduceSum", [((512, 4096), F32)], [ints(0)]),
    "ReduceMax last": model("ReduceMax", [TOKENS], [ints(-1)]),
    **{f"{op} last": model(op, [TOKENS], [ints(-1)]) for op in ("ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare",
                                                                "ReduceLogSum", "ReduceLogSumExp")},
    "ReduceMean channel": model("ReduceMean", [IMAGE], [ints(1)]),
    "ReduceMax spatial": model("ReduceMax", [IMAGE], [ints(2, 3)]),
    "ReduceSum all": model("ReduceSum", [TOKENS]),
    "ReduceSum int64": model("ReduceSum", [((512, 4096), I64)], [ints(1)]),
    "ArgMax channel": model("ArgMax", [((1, 21, 256, 256), F32)], axis=1),
    "ArgMax last": model("ArgMax", [((128, 30522), F32)], axis=-1),
    "Softmax last": model("Softmax", [SCORES], axis=-1),
    "Softmax channel": model("Softmax", [((1, 21, 256, 256), F32)], axis=1),
    "Softmax 49": model("Softmax", [((64, 12, 49, 49), F32)], axis=-1),
    "LogSoftmax 29": model("LogSoftmax", [((1, 1000, 29), F32)], axis=-1),
    "LogSoftmax": model("LogSoftmax", [((64, 30522), F32)], axis=-1),
    "LayerNormalization": model("LayerNormalization", [TOKENS], [weights(768), weights(768)], axis=-1),
    "BatchNormalization": model("BatchNormalization", [IMAGE], [weights(64), weights(64), weights(64), np.abs(weights(64)) + 0.5]),
    "BatchNormalization 7x7": model("BatchNormalization", [((8, 512, 7, 7), F32)],
                                    [weights(512), weights(512), weights(512), np.abs(weights(512)) + 0.5]),
    "InstanceNormalization": model("InstanceNormalization", [IMAGE], [weights(64), weights(64)]),
    "GroupNormalization": model("GroupNormalization", [IMAGE], [weights(64), weights(64)], num_groups=8, opset=21),
    "LRN": model("LRN", [IMAGE], size=5),
    "LpNormalization": model("LpNormalization", [((512, 768), F32)]),
    "Hardmax": model("Hardmax", [((64, 1000), F32)]),
    "MeanVarianceNormalization": model("MeanVarianceNormalization", [IMAGE], axes=[0, 2, 3]),
    "CumSum first": model("CumSum", [((512, 4096), F32)], [np.int64(0)]),
    "CumSum": model("CumSum", [((512, 4096), F32)], [np.int64(1)]),
    "TopK small": model("TopK", [((1, 100000), F32)], [ints(100)], outputs=2),
    "TopK full": model("TopK", [((16, 4096), F32)], [ints(4096)], outputs=2),
    "TopK first axis": model("TopK", [((256, 1024), F32)], [ints(5)], outputs=2, axis=0),
    "TopK experts": model("TopK", [((512, 64), F32)], [ints(2)], outputs=2),
    "TopK middle axis": model("TopK", [((16, 128, 64), F32)], [ints(4)], outputs=2, axis=1),
    "TopK rows": model("TopK", [((128, 4096), F32)], [ints(5)], outputs=2),
    # data movement
    "Transpose 0213": model("Transpose", [((8, 128, 12, 64), F32)], perm=[0, 2, 1, 3]),
    "Transpose 0231": model("Transpose", [IMAGE], perm=[0, 2, 3, 1]),
    "Transpose 10": model("Transpose", [((2048, 2048), F32)], perm=[1, 0]),
    "Concat channel": model("Concat", [IMAGE, IMAGE], axis=1),
    "Concat last": model("Concat", [((8, 128, 64), F32), ((8, 128, 64), F32)], axis=-1),
    "Split last": model("Split", [((8, 128, 2304), F32)], [ints(768, 768, 768)], outputs=3, axis=-1),
    "Slice": model("Slice", [IMAGE], [ints(8, 8), ints(104, 104), ints(2, 3)]),
    "Slice step 2": model("Slice", [IMAGE], [ints(0, 0), ints(112, 112), ints(2, 3), ints(2, 2)]),
    "Pad": model("Pad", [IMAGE], [ints(0, 0, 1, 1, 0, 0, 1, 1)]),
    "Pad reflect": model("Pad", [IMAGE], [ints(0, 0, 3, 3, 0, 0, 3, 3)], mode="reflect"),
    "Pad reflect along a line": model("Pad", [((1, 16000), F32)], [ints(0, 256, 0, 256)], mode="reflect"),
    "Pad edge": model("Pad", [IMAGE], [ints(0, 0, 3, 3, 0, 0, 3, 3)], mode="edge"),
    "Pad wrap": model("Pad", [IMAGE], [ints(0, 0, 3, 3, 0, 0, 3, 3)], mode="wrap"),
    "Pad small rows": model("Pad", [((1, 512, 7, 7), F32)], [ints(0, 0, 1, 1, 0, 0, 1, 1)]),
    "Pad channels last": model("Pad", [((1, 224, 224, 3), F32)], [ints(0, 3, 3, 0, 0, 3, 3, 0)]),
    "Pad bytes": model("Pad", [((1, 64, 112, 112), U8)], [ints(0, 0, 1, 1, 0, 0, 1, 1)]),
    "Tile": model("Tile", [((8, 128, 64), F32)], [ints(1, 1, 12)]),
    "Tile rows": model("Tile", [((1, 128, 64), F32)], [ints(16, 1, 1)]),
    "Expand": model("Expand", [((8, 1, 1, 128), F32)], [ints(8, 12, 128, 128)]),
    "GatherElements": model("GatherElements", [((512, 1024), F32), ((512, 1024), I64)], axis=0),
    "GatherElements last": model("GatherElements", [((512, 1024), F32), ((512, 1024), I64)], axis=1),
    "ScatterElements": model("ScatterElements", [((512, 1024), F32), ((256, 1024), I64), ((256, 1024), F32)], axis=0),
    "ScatterElements add": model("ScatterElements", [((512, 1024), F32), ((512, 256), I64), ((512, 256), F32)], axis=1, reduction="add"),
    "DepthToSpace": model("DepthToSpace", [((1, 64, 112, 112), F32)], blocksize=2),
    "SpaceToDepth": model("SpaceToDepth", [((1, 16, 224, 224), F32)], blocksize=2),
    "CenterCropPad": model("CenterCropPad", [((3, 480, 640), F32)], [ints(224, 800)], axes=[1, 2]),
    "ReverseSequence": model("ReverseSequence", [((128, 64, 256), F32)], [rng.integers(1, 129, 64)], time_axis=0, batch_axis=1),
    "ReverseSequence batch first": model("ReverseSequence", [((256, 512), F32)], [rng.integers(1, 513, 256)], time_axis=1, batch_axis=0),
    "Unique": model("Unique", [((65536,), I64)], outputs=4),
    "Unique float": model("Unique", [((65536,), F32)], outputs=4),
    "NonZero": model("NonZero", [((512, 512), BOOL)]),
    "NonZero float": model("NonZero", [((64, 64, 64), F32)]),
    "Compress": model("Compress", [((512, 1024), F32)], [rng.random(1024) < 0.5], axis=1),
    "Compress rows": model("Compress", [((1024, 512), F32)], [rng.random(1024) < 0.5], axis=0),
    "Compress flat": model("Compress", [((512, 512), F32)], [rng.random(512 * 512) < 0.5]),
    "Trilu": model("Trilu", [((8, 512, 512), F32)]),
    "EyeLike": model("EyeLike", [((1024, 1024), F32)]),
    # pooling, resampling, detection, recurrent
    "MaxPool 3x3 s2": model("MaxPool", [IMAGE], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]),
    "MaxPool 2x2 s2": model("MaxPool", [IMAGE], kernel_shape=[2, 2], strides=[2, 2]),
    "MaxPool 2x2 s2 indices": model("MaxPool", [IMAGE], outputs=2, kernel_shape=[2, 2], strides=[2, 2]),
    "MaxPool 3x3 s2 indices": model("MaxPool", [IMAGE], outputs=2, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]),
    "MaxPool 3x3 small": model("MaxPool", [((1, 512, 14, 14), F32)], kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
    "MaxPool 5x5 small": model("MaxPool", [((1, 256, 20, 20), F32)], kernel_shape=[5, 5], pads=[2, 2, 2, 2]),
    "MaxPool 3d": model("MaxPool", [((1, 32, 16, 28, 28), F32)], kernel_shape=[2, 2, 2], strides=[2, 2, 2]),
    "AveragePool 3x3": model("AveragePool", [IMAGE], kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
    "AveragePool 2x2 s2 small": model("AveragePool", [((1, 512, 14, 14), F32)], kernel_shape=[2, 2], strides=[2, 2]),
    "AveragePool 7x7": model("AveragePool", [((1, 1024, 7, 7), F32)], kernel_shape=[7, 7]),
    "GlobalAveragePool": model("GlobalAveragePool", [((1, 2048, 7, 7), F32)]),
    "Resize linear 2x": model("Resize", [((1, 64, 56, 56), F32)], [None, np.float32([1, 1, 2, 2])], mode="linear"),
    "Resize nearest 2x": model("Resize", [((1, 64, 56, 56), F32)], [None, np.float32([1, 1, 2, 2])], mode="nearest",
                               coordinate_transformation_mode="asymmetric", nearest_mode="floor"),
    "Resize cubic 2x": model("Resize", [((1, 16, 56, 56), F32)], [None, np.float32([1, 1, 2, 2])], mode="cubic"),
    "Resize linear down": model("Resize", [((1, 3, 640, 480), F32)], [None, None, ints(1, 3, 224, 224)], mode="linear"),
    "GridSample": model("GridSample", [((1, 32, 64, 64), F32), ((1, 64, 64, 2), F32)], mode="linear"),
    "RoiAlign": model("RoiAlign", [((1, 64, 56, 56), F32)], [(boxes(64)[0] * 56).astype(np.float32), np.zeros(64, np.int64)],
                      output_height=7, output_width=7, sampling_ratio=2),
    "LSTM": lstm_like("LSTM", 4, 64, 4, 128, 128),
    "GRU": lstm_like("GRU", 3, 64, 4, 128, 128),
    "RNN": lstm_like("RNN", 1, 64, 4, 128, 128),
    "DFT": model("DFT", [((16, 1024, 1), F32)], [None, np.int64(1)], opset=20),
    # matmuls and convolutions, at the layers of BERT, ResNet-50, MobileNetV2 and EfficientNet
    "MatMul 512": model("MatMul", [((512, 768), F32)], [weights(768, 768)]),
    "MatMul BERT": model("MatMul", [((128, 768), F32)], [weights(768, 768)]),
    "MatMul BERT up": model("MatMul", [((384, 768), F32)], [weights(768, 3072)]),
    "MatMul BERT down": model("MatMul", [((128, 3072), F32)], [weights(3072, 768)]),
    "MatMul decode": model("MatMul", [((1, 4096), F32)], [weights(4096, 4096)]),
    "MatMul few columns": model("MatMul", [((1024, 768), F32)], [weights(768, 3)]),
    "MatMul windows": model("MatMul", [((64, 3, 49, 32), F32), ((64, 3, 32, 49), F32)]),
    "MatMul batched": model("MatMul", [((8, 12, 128, 64), F32), ((8, 12, 64, 128), F32)]),
    "Gemm vector": model("Gemm", [((1, 2048), F32)], [weights(1000, 2048), weights(1000)], transB=1),
    "Conv 3x3": conv(64, 64, 56, 3),
    "Conv 3x3 14": conv(256, 256, 14, 3),
    "Conv 3x3 head 12": conv(256, 12, 19, 3),
    "Conv 3x3 head 63": conv(256, 63, 19, 3),
    "Conv 3x3 7": conv(512, 512, 7, 3),
    "Conv 3x3 s2": conv(128, 128, 56, 3, stride=2),
    "Conv 7x7 s2": conv(3, 64, 224, 7, stride=2),
    "Conv 5x5": conv(64, 192, 27, 5),
    "Conv 4x4 s2": model("Conv", [((1, 64, 64, 64), F32)], [weights(128, 64, 4, 4), weights(128)], strides=[2, 2], pads=[1, 1, 1, 1]),
    "Conv 1x7": model("Conv", [((1, 192, 17, 17), F32)], [weights(192, 192, 1, 7), weights(192)], pads=[0, 3, 0, 3]),
    "Conv 7x1": model("Conv", [((1, 192, 17, 17), F32)], [weights(192, 192, 7, 1), weights(192)], pads=[3, 0, 3, 0]),
    "Conv 1x3": model("Conv", [((1, 384, 8, 8), F32)], [weights(384, 384, 1, 3), weights(384)], pads=[0, 1, 0, 1]),
    "Conv 3x1": model("Conv", [((1, 64, 64, 128), F32)], [weights(64, 64, 3, 1), weights(64)], pads=[1, 0, 1, 0]),
    "Conv 11x11 s4": model("Conv", [((1, 3, 224, 224), F32)], [weights(64, 3, 11, 11), weights(64)], pads=[2] * 4, strides=[4, 4]),
    "Conv 6x6 s2": model("Conv", [((1, 3, 320, 320), F32)], [weights(32, 3, 6, 6), weights(32)], pads=[2] * 4, strides=[2, 2]),
    "Conv 4x4 s4": model("Conv", [((1, 3, 224, 224), F32)], [weights(96, 3, 4, 4), weights(96)], strides=[4, 4]),
    "Conv 1x1": conv(256, 64, 56, 1),
    "Conv 1x1 expand": conv(24, 144, 56, 1),
    "Conv 1x1 14": conv(1024, 256, 14, 1),
    "Conv 1x1 7": conv(512, 2048, 7, 1),
    "Conv 1x1 project": conv(960, 160, 7, 1),
    "Conv depthwise": conv(96, 96, 56, 3, group=96),
    "Conv depthwise s2": conv(96, 96, 112, 3, stride=2, group=96),
    "Conv depthwise 7": conv(960, 960, 7, 3, group=960),
    "Conv depthwise 5x5": conv(240, 240, 28, 5, group=240),
    "Conv depthwise 5x5 s2": conv(144, 144, 56, 5, stride=2, group=144),
    "Conv depthwise 7x7": conv(96, 96, 56, 7, group=96),
    "Conv depthwise 3x3, dilated": model("Conv", [((1, 512, 28, 28), F32)], [weights(512, 1, 3, 3), weights(512)], pads=[2] * 4,
                                         dilations=[2, 2], group=512),
    "Conv 9x9 to RGB": model("Conv", [((1, 32, 128, 128), F32)], [weights(3, 32, 9, 9), weights(3)], pads=[4] * 4),
    "DeformConv": model("DeformConv", [((1, 32, 28, 28), F32)], [weights(32, 32, 3, 3), weights(1, 18, 28, 28)], pads=[1] * 4, opset=19),
    "Conv along a line": model("Conv", [((1, 64, 4000), F32)], [weights(128, 64, 3), weights(128)], pads=[1, 1]),
    "Conv along a line, dilated": model("Conv", [((1, 64, 4000), F32)], [weights(128, 64, 3), weights(128)], pads=[16, 16],
                                        dilations=[16]),
    "ConvTranspose": model("ConvTranspose", [((1, 64, 28, 28), F32)], [weights(64, 32, 2, 2)], strides=[2, 2]),
    "ConvTranspose wide": model("ConvTranspose", [((1, 256, 64, 64), F32)], [weights(256, 64, 2, 2), weights(64)], strides=[2, 2]),
    "ConvTranspose 4x4 s2": model("ConvTranspose", [((1, 128, 32, 32), F32)], [weights(128, 64, 4, 4), weights(64)], strides=[2, 2],
                                  pads=[1, 1, 1, 1]),
    "ConvTranspose 3x3 s2": model("ConvTranspose", [((1, 128, 32, 32), F32)], [weights(128, 64, 3, 3), weights(64)], strides=[2, 2],
                                  pads=[1, 1, 1, 1], output_padding=[1, 1]),
    "ConvTranspose 5x5 s2": model("ConvTranspose", [((1, 256, 16, 16), F32)], [weights(256, 128, 5, 5), weights(128)], strides=[2, 2],
                                  pads=[2, 2, 2, 2], output_padding=[1, 1]),
    "ConvTranspose 3x3": model("ConvTranspose", [((1, 128, 32, 32), F32)], [weights(128, 128, 3, 3), weights(128)], pads=[1, 1, 1, 1]),
    "ConvTranspose depthwise": model("ConvTranspose", [((1, 21, 64, 64), F32)], [weights(21, 1, 4, 4)], group=21, strides=[2, 2],
                                     pads=[1, 1, 1, 1]),
    "Einsum": model("Einsum", [((8, 12, 128, 64), F32), ((8, 12, 128, 64), F32)], equation="bhqd,bhkd->bhqk"),
}


def with_constant_inputs():
    """Operators whose index inputs must be sensible: constants, with the data fed."""
    ids = rng.integers(0, 30522, (8, 128))
    MODELS["Gather embedding"] = model_gather((30522, 768), ids)
    nms = model("NonMaxSuppression", [((1, 1, 2000), F32)])
    nms.graph.node[0].input[:] = ["boxes", "x0", "most", "iou", "score"]
    for name, array in (("boxes", boxes(2000)), ("most", ints(100)), ("iou", np.float32([0.5])), ("score", np.float32([0.0]))):
        nms.graph.initializer.append(numpy_helper.from_array(array, name))
    MODELS["NonMaxSuppression"] = onnx.shape_inference.infer_shapes(nms)
    scatter = model("ScatterND", [((512, 1024), F32)], [rng.permutation(512)[:256].astype(np.int64)[:, None], weights(256, 1024)])
    MODELS["ScatterND rows"] = scatter
    MODELS["ScatterND points"] = model("ScatterND", [((512, 1024), F32)], [rng.integers(0, 512, (65536, 2)), weights(65536)])
    MODELS["GatherND points"] = model("GatherND", [((512, 1024), F32)], [rng.integers(0, 512, (65536, 2))])
    MODELS["GatherND rows"] = model("GatherND", [((512, 1024), F32)], [rng.integers(0, 512, (512, 1))])
    MODELS["Gather last"] = model("Gather", [((512, 1024), F32)], [rng.integers(0, 1024, 512)], axis=-1)
    MODELS["Gather scalar"] = model("Gather", [((8, 128, 768), F32)], [np.int64(0)], axis=1)
    MODELS["OneHot axis 1"] = model("OneHot", [((8, 64, 64), I64)], [np.int64(21), np.float32([0, 1])], axis=1)
    MODELS["OneHot"] = model("OneHot", [((64, 128), I64)], [np.int64(512), np.float32([0, 1])])


def model_gather(table, ids):
    made = model("Gather", [(table, F32)], [ids])
    # The table is the weight and the ids are given: what an embedding is.
    return made


with_constant_inputs()
