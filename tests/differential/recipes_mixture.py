"""Mixtures of experts (com.microsoft) beside their definition in numpy: ONNX Runtime's CPU kernels refuse most forms of them."""

import math

import numpy as np

from recipe import choice, recipe, values
from recipes_microsoft import contrib, maybe


def softmax(numbers):
    powers = np.exp(numbers - numbers.max())
    return powers / powers.sum()


def sparse_mixer(logits):
    """Two experts; each one's share is among those within 2 % of it."""
    chosen, shares, left = [], [], logits.astype(np.float64)
    for _ in range(2):
        best = int(np.argmax(left))
        with np.errstate(invalid="ignore"):
            near = (left[best] - logits) / np.maximum(np.abs(logits), left[best]) <= 0.02
        near[best] = True
        shares.append(softmax(np.where(near, left, -np.inf))[best])
        chosen.append(best)
        left = left.copy()
        left[best] = -np.inf
    return chosen, shares


def route(logits, weights, k, normalizes, sparse, among_chosen):
    if sparse:
        return sparse_mixer(logits)
    chosen = np.argsort(-logits, kind="stable")[:k]
    shares = softmax(logits)[chosen] if weights is None else weights[chosen]
    return chosen, shares / shares.sum() if normalizes or (among_chosen and weights is None) else shares


def activate(kind, first, third, fusion, alpha, beta, limit):
    if kind == "swiglu":
        gates, linear = (first[0::2], first[1::2]) if fusion == 1 else np.split(first, 2) if fusion == 2 else (first, third)
        gates, linear = np.minimum(gates, limit), np.clip(linear, -limit, limit)
        return gates / (1 + np.exp(-alpha * gates)) * (linear + beta)
    result = {"relu": lambda x: np.maximum(x, 0), "silu": lambda x: x / (1 + np.exp(-x)), "identity": lambda x: x,
              "gelu": lambda x: x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))}[kind](first)
    return result if third is None else result * third


def mixture(x, logits, weights, layers, attributes, sparse, among_chosen):
    """`layers`: for fc1, fc2, fc3 the weights by expert and the biases (or None)."""

    def matmul(i, expert, row):
        matrices, biases = layers[i]
        return matrices[expert].astype(np.float64) @ row + (0 if biases is None else biases[expert].astype(np.float64))

    rows = x.reshape(-1, x.shape[-1]).astype(np.float64)
    result = np.zeros_like(rows)
    for t, row in enumerate(rows):
        logit, weight = logits[t].astype(np.float64), None if weights is None else weights[t].astype(np.float64)
        for expert, share in zip(*route(logit, weight, attributes["k"], attributes.get("normalize_routing_weights"), sparse, among_chosen)):
            inner = activate(attributes["activation_type"], matmul(0, expert, row), matmul(2, expert, row) if layers[2] else None,
                             attributes.get("swiglu_fusion", 0), attributes.get("activation_alpha", 1), attributes.get("activation_beta", 0),
                             attributes.get("swiglu_limit", np.inf))
            result[t] += share * matmul(1, expert, inner)
    return result.reshape(x.shape)


def quantized(rng, experts, n, k, bits, block, with_zeros):
    """Quantized values, scales and zero points as QMoE reads them, and what they stand for."""
    per_byte, blocks = 8 // bits, k // block if block else 1

    def packed(q_values):
        padded = np.zeros((*q_values.shape[:-1], -(-q_values.shape[-1] // per_byte) * per_byte), np.uint8)
        padded[..., :q_values.shape[-1]] = q_values
        return sum(padded[..., i::per_byte].astype(np.int64) << (bits * i) for i in range(per_byte)).astype(np.uint8)

    q_values = rng.integers(0, 1 << bits, (experts, n, k))
    scales = values(rng, (experts, n, blocks), np.float32, 0.02, 0.2) / (1 << (bits - 2))
    zeros = rng.integers(0, 1 << bits, (experts, n, blocks)) if with_zeros else np.full((experts, n, blocks), 1 << (bits - 1))
    numbers = (q_values - np.repeat(zeros, k // blocks, 2)) * np.repeat(scales, k // blocks, 2)
    if not block:
        scales, zeros = scales[:, :, 0], zeros[:, :, 0]
    return packed(q_values), scales, packed(zeros) if with_zeros else None, numbers


def common(rng):
    """Sizes and attributes of either operator, and which biases there are."""
    kind = choice(rng, ["relu", "gelu", "silu", "swiglu", "swiglu", "identity"])
    fusion = int(rng.integers(0, 3)) if kind == "swiglu" else 0
    sparse = rng.random() < 0.1
    experts = int(rng.integers(2, 9))
    attributes = {"activation_type": kind, "swiglu_fusion": fusion, "k": 2 if sparse else int(rng.integers(1, experts + 1)),
                  "normalize_routing_weights": int(rng.integers(0, 2)), "use_sparse_mixer": int(sparse)}
    if kind == "swiglu":
        attributes.update(activation_alpha=choice(rng, [1.0, 1.702]), activation_beta=choice(rng, [0.0, 1.0]))
        if rng.random() < 0.5:
            attributes["swiglu_limit"] = 1.5
    third = fusion == 0 and (kind == "swiglu" or rng.random() < 0.4)
    rows = choice(rng, [1, 2, 5, 30])
    return attributes, experts, rows, 2 if fusion else 1, third, sparse


def shaped(rng, rows, hidden):
    return (rows, hidden) if rng.random() < 0.5 else (1, rows, hidden)


@recipe("Microsoft.MoE")
def moe(rng):
    attributes, experts, rows, fused, third, sparse = common(rng)
    hidden, inner = int(rng.integers(1, 40)), int(rng.integers(1, 50))
    dtype = choice(rng, [np.float32, np.float32, np.float16])
    x, logits = values(rng, shaped(rng, rows, hidden), dtype, -1, 1), values(rng, (rows, experts), dtype, -3, 3)
    layers = [(values(rng, (experts, n, k), dtype, -1, 1), maybe(rng, lambda n=n: values(rng, (experts, n), dtype, -1, 1)))
              for n, k in [(fused * inner, hidden), (hidden, inner)] + ([(inner, hidden)] if third else [])] + ([] if third else [None])
    inputs = [x, logits, *layers[0], *layers[1], *(layers[2] or (None, None))]
    expected = mixture(x, logits, None, layers, attributes, sparse, False).astype(dtype)
    return contrib("MoE", inputs, dtype=dtype, constants=choice(rng, [[2, 3, 4, 5, 6, 7], [2, 4, 6], []]), peer=lambda _: [expected],
                   rtol=2e-2 if dtype == np.float16 else 1e-3, atol=0.1 if dtype == np.float16 else 1e-3, **attributes)


@recipe("Microsoft.QMoE")
def qmoe(rng):
    attributes, experts, rows, fused, third, sparse = common(rng)
    bits, block = choice(rng, [2, 4, 4, 8]), choice(rng, [0, 16, 32])
    step = block or 8 // bits
    hidden, inner = step * int(rng.integers(1, 4 if block else 20)), step * int(rng.integers(1, 4 if block else 20))
    dtype = choice(rng, [np.float32, np.float32, np.float16])
    x, logits = values(rng, shaped(rng, rows, hidden), dtype, -1, 1), values(rng, (rows, experts), dtype, -3, 3)
    with_zeros = rng.random() < 0.5
    layers, inputs, zeros = [], [x, logits], []
    for n, k in [(fused * inner, hidden), (hidden, inner)] + ([(inner, hidden)] if third else []):
        q_values, scales, zero, numbers = quantized(rng, experts, n, k, bits, block, with_zeros)
        bias = maybe(rng, lambda n=n: values(rng, (experts, n), dtype, -1, 1))
        layers.append((numbers, bias))
        inputs += [q_values, scales.astype(np.float32), bias]
        zeros.append(zero)
    if not third:
        layers.append(None)
        inputs += [None, None, None]
        zeros.append(None)
    weights = values(rng, (rows, experts), dtype, 0.1, 1) if not sparse and rng.random() < 0.3 else None
    expected = mixture(x, logits, weights, layers, attributes, sparse, True).astype(dtype)
    scale = max(float(np.abs(expected.astype(np.float64)).max(initial=0)), 1)
    return contrib("QMoE", [*inputs, *zeros, weights], dtype=dtype, constants=choice(rng, [[2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13], [2, 5, 8], []]),
                   peer=lambda _: [expected], rtol=2e-2 if dtype == np.float16 else 1e-3, atol=(2e-2 if dtype == np.float16 else 1e-4) * scale,
                   expert_weight_bits=bits, block_size=block or None, **attributes)
