"""Weights of matrix products in 2, 4 or 8 bits, in the layout of MatMulNBits: what ONNX Runtime's quantization asks for.

Each column of the weights [K, N] is cut into blocks of `block_size` rows with a scale each, and a zero point unless they
are symmetric.
"""

from __future__ import annotations

from typing import Any, NoReturn

from tessera import _core


def quantize_matmul_2bits(packed: Any, weights: Any, scales: Any, zero_points: Any, *sizes: Any) -> None:
    """Fills `packed` [N, blocks, bytes], `scales` and `zero_points` from `weights` [K, N]."""
    _quantize(2, packed, weights, scales, zero_points, *sizes)


def quantize_matmul_4bits(packed: Any, weights: Any, scales: Any, zero_points: Any, *sizes: Any) -> None:
    """Fills `packed` [N, blocks, bytes], `scales` and `zero_points` from `weights` [K, N]."""
    _quantize(4, packed, weights, scales, zero_points, *sizes)


def quantize_matmul_8bits(packed: Any, weights: Any, scales: Any, zero_points: Any, *sizes: Any) -> None:
    """Fills `packed` [N, blocks, bytes], `scales` and `zero_points` from `weights` [K, N]."""
    _quantize(8, packed, weights, scales, zero_points, *sizes)


def _quantize(
    bits: int,
    packed: Any,
    weights: Any,
    scales: Any,
    zero_points: Any,
    block_size: int,
    n: int,
    k: int,
    symmetric: bool,
) -> None:
    import numpy as np

    blocks = -(-k // block_size)
    padded = np.zeros((blocks * block_size, n), np.float32)
    padded[:k] = np.asarray(weights, np.float32).reshape(k, n)
    values = padded.T.reshape(n, blocks, block_size)
    top = (1 << bits) - 1
    if symmetric:
        scale, zero = _symmetric(np, values, 1 << (bits - 1))
    else:
        scale, zero = _asymmetric(np, values, top)
    reciprocal = np.divide(1, scale, out=np.zeros_like(scale), where=scale != 0)
    codes = np.clip(_rounded(np, values * reciprocal[..., None] + zero[..., None]), 0, top).astype(np.uint8)
    if k % block_size:  # what the last block has beyond the weights
        codes[:, -1, k % block_size :] = 0
    packed.reshape(n, blocks, -1)[...] = _packed(np, codes, bits)
    scales.reshape(n, blocks)[...] = scale
    if not symmetric and zero_points is not None:
        zero_points.reshape(n, -1)[...] = _packed(np, zero.astype(np.uint8), bits, fill=1 << (bits - 1))


def _symmetric(np: Any, values: Any, middle: int) -> tuple[Any, Any]:
    """The value that is the farthest from zero becomes the lowest code."""
    farthest = np.take_along_axis(values, np.abs(values).argmax(axis=-1)[..., None], axis=-1)[..., 0]
    return farthest / np.float32(-middle), np.full(farthest.shape, middle, np.float32)


def _asymmetric(np: Any, values: Any, top: int) -> tuple[Any, Any]:
    low = np.minimum(values.min(axis=-1), 0)
    high = np.maximum(values.max(axis=-1), 0)
    scale = (high - low) / np.float32(top)
    zero = np.divide(-low, scale, out=np.zeros_like(scale), where=scale != 0)
    return scale, np.clip(_rounded(np, zero), 0, top)


def _rounded(np: Any, values: Any) -> Any:
    """To the nearest; halves away from zero."""
    return np.trunc(values + np.copysign(np.float32(0.5), values))


def _packed(np: Any, codes: Any, bits: int, fill: int = 0) -> Any:
    """Codes of the last axis in bytes, the first in the low bits; `fill` is in bits that no code takes."""
    each = 8 // bits
    count = -(-codes.shape[-1] // each) * each
    full = np.full((*codes.shape[:-1], count), fill, np.uint8)
    full[..., : codes.shape[-1]] = codes
    parts = full.reshape(*codes.shape[:-1], count // each, each)
    shifts = np.arange(each, dtype=np.uint8) * np.uint8(bits)
    return np.bitwise_or.reduce(parts << shifts, axis=-1)


def _refuse(name: str) -> NoReturn:
    raise _core.NotImplemented(
        f"[ONNXRuntimeError] : 9 : NOT_IMPLEMENTED : {name} is not in this build; quantize_matmul_4bits writes MatMulNBits"
    )


def quantize_matmul_bnb4(*args: Any) -> None:
    """Not in this build."""
    _refuse("quantize_matmul_bnb4")


def quantize_qdq_matmul_2bits(*args: Any) -> None:
    """Not in this build."""
    _refuse("quantize_qdq_matmul_2bits")


def quantize_qdq_matmul_4bits(*args: Any) -> None:
    """Not in this build."""
    _refuse("quantize_qdq_matmul_4bits")
