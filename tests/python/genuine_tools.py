"""Calls a tool of ONNX Runtime's package: `genuine_tools.py TOOL FOLDER` writes FOLDER/out.onnx and says who ran it."""

from __future__ import annotations

import logging
import os
import pathlib
import sys

import models
import numpy as np
import onnx

os.environ["ORT_DISABLE_TELEMETRY"] = "1"
import onnxruntime  # noqa: E402

logging.disable(logging.WARNING)


def calibration():
    from onnxruntime.quantization import CalibrationDataReader

    class Reader(CalibrationDataReader):
        def __init__(self) -> None:
            numbers = np.random.default_rng(1)
            self.rows = iter([{"x": numbers.normal(size=(4, 16)).astype(np.float32)} for _ in range(3)])

        def get_next(self):
            return next(self.rows, None)

    return Reader()


def main(tool: str, folder: pathlib.Path) -> None:
    given, made = folder / "in.onnx", folder / "out.onnx"
    onnx.save(models.transformer_block() if tool == "optimizer" else models.perceptron(), given)
    if tool == "optimizer":
        from onnxruntime.transformers import optimizer

        optimized = optimizer.optimize_model(str(given), model_type="bert", num_heads=2, hidden_size=8, opt_level=0)
        assert any(node.op_type in ("LayerNormalization", "Gelu") for node in optimized.model.graph.node)
        optimized.save_model_to_file(str(made))
    elif tool == "quantize_dynamic":
        from onnxruntime.quantization import quantize_dynamic

        quantize_dynamic(given, made)
    else:
        from onnxruntime.quantization import quantize_static

        quantize_static(given, made, calibration())
    print("tessera" if "tessera" in onnxruntime.get_build_info().lower() else "genuine")


if __name__ == "__main__":
    main(sys.argv[1], pathlib.Path(sys.argv[2]))
