"""Forms of other models with 16-bit floats: all of float16, or of float32 with weights that were bfloat16."""

import numpy as np
import onnx
from onnx import numpy_helper
from onnxruntime.transformers.float16 import convert_float_to_float16

from .exportable import Derived

# Runtimes differ in what they round to float16: networks of random weights make that much larger.
TOLERANCE = 2e-2


def float16(source, target, description):
    """Inputs and outputs stay float32."""
    model = onnx.shape_inference.infer_shapes(onnx.load(str(source)))
    onnx.save(convert_float_to_float16(model, keep_io_types=True, disable_shape_infer=True), str(target))
    description["tolerance"] = TOLERANCE


def bfloat16_weights(source, target, _):
    """As a network trained in bfloat16 comes out of an exporter that writes float32."""
    model = onnx.load(str(source))
    for tensor in model.graph.initializer:
        if tensor.data_type != onnx.TensorProto.FLOAT or len(tensor.dims) < 2:
            continue
        bits = numpy_helper.to_array(tensor).view(np.uint32)
        rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)
        tensor.CopyFrom(numpy_helper.from_array(rounded.astype(np.uint32).view(np.float32), tensor.name))
    onnx.save(model, str(target))


MODELS = [
    *(Derived(f"{name}_fp16", name, float16)
      for name in ("resnet50", "mobilenet_v2", "efficientnet_b0", "unet", "convnext_tiny", "vit_b_16", "swin_t", "distilbert",
                   "gpt2_step", "llama_step", "llama_prefill", "lstm")),
    *(Derived(f"{name}_bf16_weights", name, bfloat16_weights) for name in ("gpt2_step", "llama_step")),
]
