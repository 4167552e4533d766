"""com.microsoft operators of attention against ONNX Runtime: masks, biases, caches and rotated positions."""

import numpy as np

from recipe import choice, recipe, values
from recipes_microsoft import contrib, maybe


def heads_and_width(rng):
    return int(rng.integers(1, 5)), choice(rng, [1, 2, 5, 8, 16, 24])


def key_mask(rng, batch, queries, total, forms):
    """A mask_index or key_padding_mask in one of the given forms, None among them."""
    form = choice(rng, forms)
    if form == "none":
        return None
    if form == "ends":
        return rng.integers(1, total + 1, size=(batch,)).astype(np.int32)
    if form == "ends and starts":
        starts = rng.integers(0, total, size=(batch,))
        ends = np.array([int(rng.integers(start + 1, total + 1)) for start in starts])
        return np.concatenate([ends, starts]).astype(np.int32)
    sizes = (batch, total) if form == "2d" else (batch, queries, total)
    mask = (rng.random(sizes) < 0.8).astype(np.int32)
    mask[..., 0] = 1  # where all keys are hidden, the sum with the filter value rounds scores away
    return mask


def score_bias(rng, batch, heads, queries, total):
    return maybe(rng, lambda: values(rng, (choice(rng, [1, batch]), choice(rng, [1, heads]), queries, total), np.float32), 0.4)


@recipe("Microsoft.Attention")
def attention(rng):
    batch, steps, inputs = (int(rng.integers(1, n)) for n in (4, 20, 20))
    heads, width = heads_and_width(rng)
    past = choice(rng, [None, None, 0, 3, 11])
    value_width = width if past is not None or rng.random() < 0.6 else choice(rng, [3, 8])
    hidden = [heads * width, heads * width, heads * value_width]
    total = steps + (past or 0)
    weights = values(rng, (inputs, sum(hidden)), np.float32, -1, 1)
    filter_value = maybe(rng, lambda: -100.0, 0.3)
    mask = key_mask(rng, batch, steps, total, ["none", "none", "ends", "ends and starts" if filter_value else "ends", "2d", "3d"])
    state = None if past is None else values(rng, (2, batch, heads, past, width), np.float32)
    causal = int(rng.random() < 0.4)
    return contrib("Attention", [values(rng, (batch, steps, inputs), np.float32, -1, 1), weights, values(rng, (sum(hidden),), np.float32, -1, 1),
                                 mask, state, None if past is not None else score_bias(rng, batch, heads, steps, total)], [True, past is not None], constants=choice(rng, [[1, 2], []]),
                   num_heads=heads, unidirectional=causal, scale=maybe(rng, lambda: 0.3), mask_filter_value=filter_value,
                   qkv_hidden_sizes=hidden if value_width != width else None, atol=1e-4)


@recipe("Microsoft.MultiHeadAttention")
def multi_head_attention(rng):
    batch, steps = int(rng.integers(1, 4)), int(rng.integers(1, 20))
    heads, width = heads_and_width(rng)
    form = choice(rng, ["self", "self", "cross", "separate", "past", "past"])
    keys = int(rng.integers(1, 20)) if form in ("cross", "separate") else steps
    past = int(rng.integers(0, 12)) if form == "past" else 0
    total = keys + past
    value_width = width if form in ("past", "separate") or rng.random() < 0.7 else choice(rng, [3, 8])
    query = values(rng, (batch, steps, heads * width), np.float32)
    if form == "separate":
        key, value = (values(rng, (batch, heads, keys, width), np.float32) for _ in range(2))
    else:
        key, value = values(rng, (batch, keys, heads * width), np.float32), values(rng, (batch, keys, heads * value_width), np.float32)
    bias = maybe(rng, lambda: values(rng, (2 * heads * width + heads * value_width,), np.float32)) if form != "separate" else None
    mask = key_mask(rng, batch, steps, total, ["none", "none", "2d", "3d"])
    state = [values(rng, (batch, heads, past, width), np.float32) for _ in range(2)] if form == "past" else [None, None]
    present = form == "past" or (form == "self" and value_width == width and rng.random() < 0.3)
    return contrib("MultiHeadAttention", [query, key, value, bias, mask, score_bias(rng, batch, heads, steps, total), *state],
                   [True, present, present], num_heads=heads, scale=maybe(rng, lambda: 0.3), unidirectional=int(form in ("self", "past") and rng.random() < 0.3),
                   mask_filter_value=maybe(rng, lambda: -100.0, 0.3), atol=1e-4)


def rotary_tables(rng, positions, half, dtype=np.float32):
    angles = rng.uniform(-3, 3, size=(positions, half))
    return np.cos(angles).astype(dtype), np.sin(angles).astype(dtype)


@recipe("Microsoft.GroupQueryAttention")
def group_query_attention(rng):
    kv_heads = int(rng.integers(1, 4))
    heads = kv_heads * int(rng.integers(1, 4))
    width = choice(rng, [16, 32, 48])
    dtype = choice(rng, [np.float32, np.float32, np.float32, np.float16])
    prompt = rng.random() < 0.4
    batch = int(rng.integers(1, 4))
    steps = int(rng.integers(1, 20)) if prompt else choice(rng, [1, 1, int(rng.integers(2, 6)) if batch == 1 else 1])
    past = np.zeros(batch, int) if prompt else rng.integers(1, 30, size=batch)
    total = past + steps
    held = int(past.max()) + choice(rng, [0, 0, 9, 40]) if not prompt else choice(rng, [0, 0, steps + 5])
    packed = rng.random() < 0.3
    query = values(rng, (batch, steps, (heads + (2 * kv_heads if packed else 0)) * width), dtype)
    key, value = (None, None) if packed else (values(rng, (batch, steps, kv_heads * width), dtype) for _ in range(2))
    caches = [values(rng, (batch, kv_heads, held, width), dtype) for _ in range(2)]
    rotary = rng.random() < 0.6
    half = choice(rng, [width // 2, 8])
    tables = rotary_tables(rng, int(total.max()) + 5, half, dtype) if rotary else (None, None)
    ids = maybe(rng, lambda: (past[:, None] + np.arange(steps)[None]).astype(np.int64), 0.3) if rotary else None
    bias = maybe(rng, lambda: values(rng, (choice(rng, [1, batch]), choice(rng, [1, heads]), steps, int(total.max())), dtype), 0.25)
    sink = maybe(rng, lambda: values(rng, (heads,), dtype), 0.2)
    return contrib("GroupQueryAttention", [query, key, value, *caches, (total - 1).astype(np.int32), np.int32(total.max()), *tables, ids, bias, sink],
                   3, dtype=dtype, num_heads=heads, kv_num_heads=kv_heads, do_rotary=int(rotary), rotary_interleaved=int(rng.integers(2)),
                   local_window_size=choice(rng, [-1, -1, 1, 4, 9]), softcap=maybe(rng, lambda: 5.0, 0.3), scale=maybe(rng, lambda: 0.4, 0.3),
                   smooth_softmax=1 if sink is None and rng.random() < 0.2 else None, atol=2e-2 if dtype == np.float16 else 1e-4)


@recipe("Microsoft.RotaryEmbedding")
def rotary_embedding(rng):
    batch, steps = int(rng.integers(1, 4)), int(rng.integers(1, 12))
    heads, width = int(rng.integers(1, 5)), choice(rng, [2, 8, 16, 48])
    dtype = choice(rng, [np.float32, np.float32, np.float16])
    partial = width >= 16 and rng.random() < 0.4
    half = width // 4 if partial else width // 2
    packed = partial or rng.random() < 0.5
    x = values(rng, (batch, steps, heads * width) if packed else (batch, heads, steps, width), dtype)
    tables = rotary_tables(rng, steps + 20, half, dtype)
    ids = choice(rng, [rng.integers(0, steps + 20, size=(batch, steps)), rng.integers(0, 20, size=(1,))]).astype(np.int64)
    return contrib("RotaryEmbedding", [x, ids, *tables], dtype=dtype, interleaved=int(rng.integers(2)), num_heads=heads if partial else None,
                   rotary_embedding_dim=2 * half if partial else None)
