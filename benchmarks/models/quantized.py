"""Quantized forms of other models, made by ONNX Runtime's tools: 8-bit QDQ, dynamic 8-bit, 4-bit weights."""

import logging
import pathlib
import tempfile

import numpy as np
import onnx
import onnx.version_converter
from onnxruntime import quantization
from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer
from onnxruntime.quantization.shape_inference import quant_pre_process

from .exportable import Derived

# Roundings that fall apart by one step of a scale add up through a network; and beside 4-bit weights ONNX Runtime computes
# with 8-bit activations where the model says float32.
TOLERANCE = 0.1


class RandomData(quantization.CalibrationDataReader):
    def __init__(self, description, count=4):
        self.description, self.left, self.random = description, count, np.random.default_rng(1)

    def get_next(self):
        if self.left == 0:
            return None
        self.left -= 1
        return {value["name"]: self.values(value) for value in self.description["inputs"]}

    def values(self, value):
        shape = [self.description["dims"].get(d, d) for d in value["shape"]]
        if value["dtype"].startswith("float"):
            return self.random.uniform(value["low"], value["high"], shape).astype(value["dtype"])
        return self.random.integers(int(value["low"]), int(value["high"]), shape).astype(value["dtype"])


def prepared(source, folder):
    """With shapes inferred and constants folded, as the tools ask for."""
    path = pathlib.Path(folder) / "prepared.onnx"
    quant_pre_process(str(source), str(path), skip_symbolic_shape=True)
    return path


def static_int8(activations):
    def transform(source, target, description):
        with tempfile.TemporaryDirectory() as folder:
            quantization.quantize_static(str(prepared(source, folder)), str(target), RandomData(description),
                                         quant_format=quantization.QuantFormat.QDQ, per_channel=True,
                                         # 7 bits: without VNNI, ONNX Runtime's products of 8 bits overflow 16.
                                         reduce_range=True,
                                         activation_type=activations, weight_type=quantization.QuantType.QInt8)
        description["tolerance"] = TOLERANCE

    return transform


def dynamic_int8(source, target, description):
    with tempfile.TemporaryDirectory() as folder:
        quantization.quantize_dynamic(str(prepared(source, folder)), str(target), weight_type=quantization.QuantType.QInt8)
    description["tolerance"] = TOLERANCE


def split_gemms(model):
    """Gemm becomes MatMul and Add: the weight-only tool looks at MatMul alone, and GPT-2's layers are Gemms."""
    nodes = []
    for node in model.graph.node:
        plain = {"alpha": 1.0, "beta": 1.0, "transA": 0, "transB": 0}
        values = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
        if node.op_type != "Gemm" or any(values.get(name, default) != default for name, default in plain.items()):
            nodes.append(node)
            continue
        product = node.output[0] + "_product"
        nodes.append(onnx.helper.make_node("MatMul", list(node.input[:2]), [product], node.name + "_matmul"))
        nodes.append(onnx.helper.make_node("Add", [product, node.input[2]], list(node.output), node.name + "_add"))
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    return model


def int4_weights(quant_format):
    """Blocks of 32 weights with one scale: as com.microsoft's MatMulNBits, or as standard DequantizeLinear before MatMul."""

    def transform(source, target, description):
        model = split_gemms(onnx.load(str(source)))
        if quant_format == Qdq:  # int4 is a type since version 21
            model = onnx.version_converter.convert_version(model, 21)
            model.ir_version = 10
        quantizer = MatMulNBitsQuantizer(model, bits=4, block_size=32, is_symmetric=True,
                                         quant_format=quant_format)
        quantizer.process()
        quantizer.model.save_model_to_file(str(target), False)
        if quant_format == Qdq:
            description["tolerance"] = TOLERANCE

    return transform


logging.disable(logging.WARNING)
QOperator, Qdq = quantization.QuantFormat.QOperator, quantization.QuantFormat.QDQ
UInt8 = quantization.QuantType.QUInt8
MODELS = [
    Derived("resnet50_int8", "resnet50", static_int8(UInt8)),
    Derived("mobilenet_v2_int8", "mobilenet_v2", static_int8(UInt8)),
    Derived("bert_base_int8", "bert_base", static_int8(UInt8)),
    Derived("bert_base_dynamic_int8", "bert_base", dynamic_int8),
    *(Derived(f"{name}_int4{suffix}", name, int4_weights(form))
      for name in ("gpt2_prefill", "gpt2_step", "llama_prefill", "llama_step") for suffix, form in (("", QOperator), ("_qdq", Qdq))),
]
