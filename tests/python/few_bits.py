"""Compares tessera._nbits with ONNX Runtime's functions of the same names, sizes that do not divide among them."""

from __future__ import annotations

import os

import numpy as np

os.environ["ORT_DISABLE_TELEMETRY"] = "1"
from onnxruntime.capi import onnxruntime_pybind11_state as genuine  # noqa: E402

from tessera import _nbits as own  # noqa: E402


def filled(package, bits: int, weights: np.ndarray, block: int, symmetric: bool) -> list[np.ndarray]:
    k, n = weights.shape
    blocks = -(-k // block)
    packed = np.zeros((n, blocks, block * bits // 8), np.uint8)
    scales = np.zeros((n, blocks), np.float32)
    zeros = np.zeros((n, -(-blocks * bits // 8)), np.uint8)
    function = getattr(package, f"quantize_matmul_{bits}bits")
    function(packed, weights, scales.reshape(-1), zeros.reshape(-1), block, n, k, symmetric)
    return [packed, scales, zeros]


for bits in (4, 8):
    for symmetric in (True, False):
        for k, n, block in ((32, 8, 16), (64, 3, 32), (48, 5, 32), (128, 16, 128)):
            weights = np.random.default_rng(k + n).normal(size=(k, n)).astype(np.float32)
            pairs = zip(filled(genuine, bits, weights, block, symmetric), filled(own, bits, weights, block, symmetric))
            for name, (expected, given) in zip(("codes", "scales", "zero points"), pairs):
                case = f"{name} of {bits} bits, symmetric {symmetric}, {k} x {n} in blocks of {block}"
                np.testing.assert_array_equal(given, expected, err_msg=case)
