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


def filled_for_dequantize(package, weights: np.ndarray, block: int, symmetric: bool) -> list[np.ndarray]:
    k, n = weights.shape
    blocks = -(-k // block)
    packed = np.zeros((k * n + 1) // 2, np.uint8)
    scales = np.zeros((blocks, n), np.float32)
    zeros = np.zeros((blocks * n + 1) // 2, np.uint8)
    signed = package.quantize_qdq_matmul_4bits(packed, weights, scales, zeros, block, n, k, symmetric)
    return [packed, scales, zeros, np.array(signed)]


def filled_bnb4(package, weights: np.ndarray, block: int, kind: int) -> list[np.ndarray]:
    packed = np.full((weights.size + 1) // 2, 0xAA, np.uint8)
    largest = np.ones(-(-weights.size // block), weights.dtype)
    package.quantize_matmul_bnb4(packed, weights, largest, block, kind, *weights.shape)
    return [packed, largest]


def compare(expected: list[np.ndarray], given: list[np.ndarray], case: str) -> None:
    for i, (theirs, ours) in enumerate(zip(expected, given)):
        np.testing.assert_array_equal(ours, theirs, err_msg=f"array {i} of {case}")


SIZES = ((32, 8, 16), (64, 3, 32), (48, 5, 32), (128, 16, 128))
ODD_SIZES = ((17, 3, 32), (7, 13, 16))  # where ONNX Runtime fills a byte of MatMulNBits from beyond the weights

for symmetric in (True, False):
    for k, n, block in (*SIZES, *ODD_SIZES):
        weights = np.random.default_rng(k + n).normal(size=(k, n)).astype(np.float32)
        weights[0, 0], weights[1, 0] = -9, 9  # as far from zero
        case = f"symmetric {symmetric}, {k} x {n} in blocks of {block}"
        for bits in (8,) if k % 2 else (4, 8):
            expected = filled(genuine, bits, weights, block, symmetric)
            compare(expected, filled(own, bits, weights, block, symmetric), f"{bits} bits, {case}")
        expected = filled_for_dequantize(genuine, weights, block, symmetric)
        compare(expected, filled_for_dequantize(own, weights, block, symmetric), f"4 bits for DequantizeLinear, {case}")

for kind in (0, 1):
    for dtype in (np.float32, np.float16):
        for n, k, block in (*SIZES, *ODD_SIZES, (64, 1000, 64)):
            weights = np.random.default_rng(k + n).normal(size=(n, k)).astype(dtype)
            weights[-1] = 0
            weights.reshape(-1)[:4] = -0.0, 1e-3, -1e-3, 5
            case = f"bnb4 of type {kind}, {n} x {k} {np.dtype(dtype)} in blocks of {block}"
            compare(filled_bnb4(genuine, weights, block, kind), filled_bnb4(own, weights, block, kind), case)
