"""Weights of matmuls in few bits: what ONNX Runtime's quantization asks for.

Each column of the weights [K, N] is cut into blocks of `block_size` rows with a scale each, and a zero point unless they
are symmetric.
"""

from __future__ import annotations

from typing import Any


def quantize_matmul_2bits(packed: Any, weights: Any, scales: Any, zero_points: Any, *sizes: Any) -> None:
    """Fills `packed` [N, blocks, bytes], `scales` and `zero_points` from `weights` [K, N]."""
    _quantize(2, packed, weights, scales, zero_points, *sizes)


def quantize_matmul_4bits(packed: Any, weights: Any, scales: Any, zero_points: Any, *sizes: Any) -> None:
    """Fills `packed` [N, blocks, bytes], `scales` and `zero_points` from `weights` [K, N]."""
    _quantize(4, packed, weights, scales, zero_points, *sizes)


def quantize_matmul_8bits(packed: Any, weights: Any, scales: Any, zero_points: Any, *sizes: Any) -> None:
    """Fills `packed` [N, blocks, bytes], `scales` and `zero_points` from `weights` [K, N]."""
    _quantize(8, packed, weights, scales, zero_points, *sizes)


def pack_fp4_weights_for_cuda_moe_gemm(q_weights: Any, N: int, K: int) -> Any:  # noqa: N803, as it is called
    """Weights of 4 bits in rows [N, K], two in a byte, as the bytes of columns [K, N]."""
    import numpy as np

    if N % 2 or K % 2:
        raise ValueError(f"two weights share a byte: [{N}, {K}] is to be even")
    packed = np.asarray(q_weights, np.uint8)
    if packed.shape != (N, K // 2):
        raise ValueError(f"weights of shape {packed.shape} are given, expected {(N, K // 2)}")
    quantized = np.stack([packed & 15, packed >> 4], axis=-1).reshape(N, K)
    return _packed(np, quantized.T, 4).reshape(-1)


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

    quantized, scale, zero = _blocks(np, bits, weights, block_size, n, k, symmetric)
    packed.reshape(n, scale.shape[1], -1)[...] = _packed(np, quantized, bits)
    scales.reshape(scale.shape)[...] = scale
    if not symmetric and zero_points is not None:
        zero_points.reshape(n, -1)[...] = _packed(np, zero.astype(np.uint8), bits, fill=1 << (bits - 1))


def _blocks(np: Any, bits: int, weights: Any, block_size: int, n: int, k: int, symmetric: bool) -> tuple[Any, Any, Any]:
    """Quantized values [N, blocks, block_size], and scales and zero points [N, blocks]."""
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
    quantized = np.clip(_rounded(np, values * reciprocal[..., None] + zero[..., None]), 0, top).astype(np.uint8)
    if k % block_size:  # what the last block has beyond the weights
        quantized[:, -1, k % block_size :] = 0
    return quantized, scale, zero


def _symmetric(np: Any, values: Any, middle: int) -> tuple[Any, Any]:
    """The value that is the farthest from zero becomes the lowest quantized value."""
    low, high = values.min(axis=-1), values.max(axis=-1)
    farthest = np.where(-low >= high, low, high)
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


def _packed(np: Any, quantized: Any, bits: int, fill: int = 0) -> Any:
    """Quantized values of the last axis in bytes, the first in the low bits; `fill` is in bits that no value takes."""
    each = 8 // bits
    count = -(-quantized.shape[-1] // each) * each
    full = np.full((*quantized.shape[:-1], count), fill, np.uint8)
    full[..., : quantized.shape[-1]] = quantized
    parts = full.reshape(*quantized.shape[:-1], count // each, each)
    shifts = np.arange(each, dtype=np.uint8) * np.uint8(bits)
    return np.bitwise_or.reduce(parts << shifts, axis=-1)


def quantize_qdq_matmul_2bits(packed: Any, weights: Any, scales: Any, zero_points: Any, *sizes: Any) -> bool:
    """The same as tensors of DequantizeLinear have them; True where the quantized values are signed."""
    return _quantize_qdq(2, packed, weights, scales, zero_points, *sizes)


def quantize_qdq_matmul_4bits(packed: Any, weights: Any, scales: Any, zero_points: Any, *sizes: Any) -> bool:
    """The same as tensors of DequantizeLinear have them; True where the quantized values are signed."""
    return _quantize_qdq(4, packed, weights, scales, zero_points, *sizes)


def _quantize_qdq(
    bits: int,
    packed: Any,
    weights: Any,
    scales: Any,
    zero_points: Any,
    block_size: int,
    n: int,
    k: int,
    symmetric: bool,
) -> bool:
    """Fills `packed` [K, N] and `scales` and `zero_points` [blocks, N], quantized values one after another without gaps."""
    import numpy as np

    quantized, scale, zero = _blocks(np, bits, weights, block_size, n, k, symmetric)
    rows = quantized.reshape(n, -1)[:, :k].T
    if symmetric:
        rows = rows ^ np.uint8(1 << (bits - 1))  # from values around their middle to signed ones
    packed.reshape(-1)[...] = _packed(np, rows.reshape(-1), bits)
    scales.reshape(scale.shape[::-1])[...] = scale.T
    if not symmetric and zero_points is not None:
        zero_points.reshape(-1)[...] = _packed(np, zero.T.reshape(-1).astype(np.uint8), bits)
    return symmetric


# Quantized values of FP4 by their magnitude, and where each ends: halfway to the next, as bitsandbytes rounds that.
_FP4_QUANTIZED = (0, 1, 6, 7, 4, 5, 2, 3)
_FP4_ENDS = (0.00260417, 0.0859375, 0.20833333, 0.29166667, 0.4166667, 0.583333, 0.8333333)
# What the quantized values of NF4 stand for, in order: quantiles of the normal distribution (arXiv:2305.14314, appendix E).
_NF4 = (
    -1.0,
    -0.6961928009986877,
    -0.5250730514526367,
    -0.39491748809814453,
    -0.28444138169288635,
    -0.18477343022823334,
    -0.09105003625154495,
    0.0,
    0.07958029955625534,
    0.16093020141124725,
    0.24611230194568634,
    0.33791524171829224,
    0.44070982933044434,
    0.5626170039176941,
    0.7229568362236023,
    1.0,
)


def quantize_matmul_bnb4(packed: Any, weights: Any, absmax: Any, block_size: int, quant_type: int, n: int, k: int) -> None:
    """Fills `packed` and `absmax` from `weights` [N, K], as MatMulBnb4 has them; quant_type 0: FP4, 1: NF4."""
    import numpy as np

    if block_size not in (16, 32, 64, 128, 256) or quant_type not in (0, 1):
        raise RuntimeError(
            f"blocks of {block_size} and type {quant_type} are asked for, expected 16 to 256 and FP4 (0) or NF4 (1)"
        )
    count = n * k
    blocks = -(-count // block_size)
    padded = np.zeros(blocks * block_size, np.float32)
    padded[:count] = np.asarray(weights, np.float32).reshape(-1)
    values = padded.reshape(blocks, block_size)
    scale = np.abs(values).max(axis=1)
    reciprocal = np.divide(1, scale, out=np.zeros_like(scale), where=scale != 0)
    quantized = _nearest_quantized(np, values * reciprocal[:, None], quant_type).reshape(-1)[: count + count % 2]
    packed.reshape(-1)[...] = _packed(np, quantized.reshape(-1, 2)[:, ::-1].reshape(-1), 4)  # the first in the high bits
    absmax.reshape(-1)[...] = scale


def _nearest_quantized(np: Any, values: Any, quant_type: int) -> Any:
    """Of values from -1 to 1; halfway between two it is the lower one."""
    if quant_type:
        levels = np.array(_NF4, np.float64)
        return np.searchsorted(((levels[1:] + levels[:-1]) / 2).astype(np.float32), values).astype(np.uint8)
    magnitudes = np.array(_FP4_QUANTIZED, np.uint8)[np.searchsorted(np.array(_FP4_ENDS, np.float32), np.abs(values))]
    return magnitudes | ((values < 0).astype(np.uint8) << 3)
