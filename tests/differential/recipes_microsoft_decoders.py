"""com.microsoft operators of decoders: caches that are shared or quantized, beams, positions of images, recurrent attention."""

import dataclasses

import numpy as np
from onnx import TensorProto

from recipe import choice, onnxruntime, ort_session, recipe, to_model, values
from recipes_microsoft import contrib, maybe
from recipes_microsoft_attention import heads_and_width, key_mask, rotary_tables


def cache_codes(rng, sizes, width, bits):
    if bits == 4:
        return rng.integers(0, 256, size=(*sizes, width // 2)).astype(np.uint8)
    return rng.integers(-128, 128, size=(*sizes, width)).astype(np.int8)


@recipe("Microsoft.GroupQueryAttention.quantized")
def quantized_group_query_attention(rng):
    kv_heads, width = int(rng.integers(1, 4)), choice(rng, [16, 24, 64])
    heads = kv_heads * int(rng.integers(1, 4))
    dtype = choice(rng, [np.float32, np.float32, np.float16])
    batch, prompt, bits = int(rng.integers(1, 4)), rng.random() < 0.4, choice(rng, [4, 8])
    steps = int(rng.integers(1, 12)) if prompt else 1
    past = np.zeros(batch, int) if prompt else rng.integers(1, 20, size=batch)
    total, held = past + steps, int(past.max()) + choice(rng, [0, 7])
    query = values(rng, (batch, steps, heads * width), dtype)
    key, value = (values(rng, (batch, steps, kv_heads * width), dtype) for _ in range(2))
    kind = choice(rng, ["PER_TENSOR", "PER_CHANNEL"])
    step = 0.6 if bits == 4 else 0.04  # the largest numbers are cut off
    scales = [values(rng, (1,) if kind == "PER_TENSOR" else (1, kv_heads, 1, width), np.float32, step / 2, step) for _ in range(2)]
    tables = rotary_tables(rng, int(total.max()) + 5, width // 2, dtype) if dtype == np.float32 and rng.random() < 0.4 else (None, None)  # the peer's halves are rounded in between
    caches = [cache_codes(rng, (batch, kv_heads, held), width, bits) for _ in range(2)]
    code = TensorProto.UINT8 if bits == 4 else TensorProto.INT8
    return contrib("GroupQueryAttention", [query, key, value, *caches, (total - 1).astype(np.int32), np.int32(total.max()), *tables, None, None, None, *scales],
                   3, dtype=dtype, types={1: code, 2: code}, num_heads=heads, kv_num_heads=kv_heads, do_rotary=int(tables[0] is not None), k_quant_type=kind,
                   v_quant_type=kind, kv_cache_bit_width=bits, local_window_size=choice(rng, [-1, -1, 4]), atol=2e-2 if dtype == np.float16 else 1e-3)


@recipe("Microsoft.GroupQueryAttention.sliding")
def sliding_group_query_attention(rng):
    """Caches of the size of the window, or a little larger, that drop what no later token sees."""
    kv_heads, width, window = int(rng.integers(1, 3)), 16, int(rng.integers(1, 7))
    heads, capacity, batch = kv_heads * int(rng.integers(1, 3)), window + int(rng.integers(0, 5)), int(rng.integers(1, 4))
    prompt = rng.random() < 0.3
    steps = int(rng.integers(1, 12)) if prompt or batch == 1 else 1
    past = np.zeros(batch, int) if prompt else rng.integers(1, 25, size=batch)
    total = past + steps
    query = values(rng, (batch, steps, heads * width), np.float32)
    key, value = (values(rng, (batch, steps, kv_heads * width), np.float32) for _ in range(2))
    caches = [values(rng, (batch, kv_heads, capacity, width), np.float32) for _ in range(2)]
    tables = rotary_tables(rng, int(total.max()) + 5, width // 2) if rng.random() < 0.4 else (None, None)
    bias = maybe(rng, lambda: values(rng, (choice(rng, [1, batch]), choice(rng, [1, heads]), steps, int(total.max())), np.float32), 0.4)
    case = contrib("GroupQueryAttention", [query, key, value, *caches, (total - 1).astype(np.int32), np.int32(total.max()), *tables, None, bias], 3,
                   num_heads=heads, kv_num_heads=kv_heads, do_rotary=int(tables[0] is not None), local_window_size=window, sliding_window_cache=1, atol=1e-4)

    def peer(inputs):
        """Rows behind those that are kept are whatever was there."""
        y, *presents = ort_session(to_model(case)).run(None, inputs)
        for present in presents:
            for b, count in enumerate(total):
                run = capacity - window + 1
                present[b, :, count - max(0, -(-(count - capacity) // run) * run):] = 0
        return [y, *presents]
    return dataclasses.replace(case, peer=peer)


def head_norm(x, weights, width):
    """Of each head of x, which lie side by side."""
    rows = x.astype(np.float64).reshape(*x.shape[:2], -1, width)
    rows = rows / np.sqrt((rows * rows).mean(-1, keepdims=True) + 1e-5) * weights
    return rows.reshape(x.shape).astype(x.dtype)


@recipe("Microsoft.GroupQueryAttention.norm")
def normalized_group_query_attention(rng):
    """The peer lacks the norm, but not the rest."""
    kv_heads, width = int(rng.integers(1, 4)), choice(rng, [16, 24])
    heads = kv_heads * int(rng.integers(1, 4))
    batch, steps, past = int(rng.integers(1, 3)), int(rng.integers(1, 8)), 0
    if rng.random() < 0.5:
        steps, past = 1, int(rng.integers(1, 9))
    query = values(rng, (batch, steps, heads * width), np.float32)
    key, value = (values(rng, (batch, steps, kv_heads * width), np.float32) for _ in range(2))
    caches = [values(rng, (batch, kv_heads, past, width), np.float32) for _ in range(2)]
    tables = rotary_tables(rng, past + steps + 3, choice(rng, [width // 2, 8])) if rng.random() < 0.6 else (None, None)
    weights = [values(rng, (width,), np.float32, 0.5, 2) for _ in range(2)]
    lengths = [np.full(batch, past + steps - 1, np.int32), np.int32(past + steps)]
    attributes = {"num_heads": heads, "kv_num_heads": kv_heads, "do_rotary": int(tables[0] is not None), "rotary_interleaved": int(rng.integers(2))}
    plain = contrib("GroupQueryAttention", [head_norm(query, weights[0], width), head_norm(key, weights[1], width), value, *caches, *lengths, *tables], 3,
                    **attributes)
    return contrib("GroupQueryAttention", [query, key, value, *caches, *lengths, *tables, *[None] * 5, *weights], 3, qk_norm_epsilon=1e-5, atol=1e-4,
                   peer=lambda _: ort_session(to_model(plain)).run(None, plain.inputs), **attributes)


@recipe("Microsoft.MultiHeadAttention.buffer", "Microsoft.DecoderMaskedMultiHeadAttention")
def shared_buffer(rng, name):
    """Past and present in one buffer, with beams in it."""
    masked = "Decoder" in name
    heads, width = heads_and_width(rng)
    beams, sentences = choice(rng, [1, 2, 4]), int(rng.integers(1, 4))
    batch, past = beams * sentences, int(rng.integers(0, 9))
    steps = 1 if masked or beams > 1 else int(rng.integers(1, 5))
    room = past + steps + int(rng.integers(0, 6))
    query, key, value = (values(rng, (batch, steps, heads * width), np.float32) for _ in range(3))
    buffers = [values(rng, (batch, heads, room, width), np.float32) for _ in range(2)]
    bias = maybe(rng, lambda: values(rng, (3 * heads * width,), np.float32))
    mask = key_mask(rng, batch, steps, past + steps, ["none", "2d"])
    added = maybe(rng, lambda: values(rng, (1, choice(rng, [1, heads]), steps, past + steps), np.float32), 0.3)
    beam_of = rng.integers(0, beams, size=(sentences, beams, room)).astype(np.int32) if masked or beams > 1 else None
    length = np.array([past], np.int32)
    outputs = [True, True, True, rng.random() < 0.3]
    if not masked:
        return contrib("MultiHeadAttention", [query, key, value, bias, mask, added, *buffers, length, beam_of], outputs, num_heads=heads, atol=1e-4)
    return contrib("DecoderMaskedMultiHeadAttention", [query, key, value, mask, added, *buffers, length, np.array([beams], np.int32), beam_of, bias], outputs,
                   num_heads=heads, past_present_share_buffer=1, output_qk=int(outputs[3]), scale=maybe(rng, lambda: 0.3), atol=1e-4)


def run_in_place(case):
    """ONNX Runtime's results where it insists on one buffer for past and present, inputs 3 and 4 and outputs 1 and 2."""
    session = ort_session(to_model(case))
    binding = session.io_binding()
    held = {name: onnxruntime.OrtValue.ortvalue_from_numpy(array.copy()) for name, array in case.inputs.items()}
    for name, value in held.items():
        binding.bind_ortvalue_input(name, value)
    binding.bind_output("y0")
    for name, shared in (("y1", "x3"), ("y2", "x4")):
        binding.bind_ortvalue_output(name, held[shared])
    session.run_with_iobinding(binding)
    return [value.numpy().copy() for value in binding.get_outputs()]


@recipe("Microsoft.SparseAttention")
def sparse_attention(rng):
    kv_heads, width, block, layouts, blocks = int(rng.integers(1, 3)), choice(rng, [16, 32]), 16, choice(rng, [1, 2]), int(rng.integers(2, 5))
    heads = kv_heads * layouts * int(rng.integers(1, 3))
    batch, prompt = int(rng.integers(1, 4)), rng.random() < 0.5
    steps = int(rng.integers(1, blocks * block + 1)) if prompt else 1
    total = np.full(batch, steps) if prompt else rng.integers(2, blocks * block + 1, size=batch)
    # A query's own block is always shown.
    shown = (rng.random((layouts, blocks, blocks)) < 0.4) & np.tri(blocks, dtype=bool) | np.eye(blocks, dtype=bool)
    columns = [[c for row in layout for c in np.flatnonzero(row)] for layout in shown]
    longest = max(len(row) for row in columns)
    columns = np.array([row + [-1] * (longest - len(row)) for row in columns], np.int32)
    ends = np.concatenate([np.zeros((layouts, 1), int), shown.sum(-1).cumsum(-1)], 1).astype(np.int32)
    packed = rng.random() < 0.3
    x = lambda count: values(rng, (batch, steps, count * width), np.float32)
    qkv = [x(heads + 2 * kv_heads), None, None] if packed else [x(heads), x(kv_heads), x(kv_heads)]
    caches = [values(rng, (batch, kv_heads, blocks * block, width), np.float32) for _ in range(2)]
    tables = rotary_tables(rng, blocks * block, width // 2) if rng.random() < 0.4 else (None, None)
    constants = choice(rng, [[5, 6], []])
    attributes = {"num_heads": heads, "kv_num_heads": kv_heads, "sparse_block_size": block, "do_rotary": int(tables[0] is not None),
                  "rotary_interleaved": int(rng.integers(2)), "scale": maybe(rng, lambda: 0.3)}

    def make(rows, longest):
        """The sentences `rows`."""
        own = [None if array is None else array[rows] for array in [*qkv, *caches]]
        return contrib("SparseAttention", [*own, ends, columns, np.array([longest], np.int32), total[rows].astype(np.int32), *tables], 3,
                       constants=constants, atol=1e-4, **attributes)

    def peer(_):
        """One by one: the peer mixes up sentences that are shorter than the longest. Rows behind the new ones are whatever was there."""
        results = []
        for b, count in enumerate(total):
            y, *presents = run_in_place(make(slice(b, b + 1), count))
            for present in presents:
                present[:, :, count:] = 0
            results.append([y, *presents])
        return [np.concatenate(parts) for parts in zip(*results)]
    return dataclasses.replace(make(slice(None), total.max()), peer=peer)


@recipe("Microsoft.MRotaryEmbedding")
def multimodal_rotary_embedding(rng):
    batch, steps, heads, width = int(rng.integers(1, 4)), int(rng.integers(1, 9)), int(rng.integers(1, 4)), choice(rng, [16, 32, 48])
    partial = rng.random() < 0.4
    half = width // 4 if partial else width // 2
    packed = partial or rng.random() < 0.5
    dtype = choice(rng, [np.float32, np.float32, np.float16])
    height, across = (int(rng.integers(0, half // 3 + 1)) for _ in range(2))
    x = values(rng, (batch, steps, heads * width) if packed else (batch, heads, steps, width), dtype)
    positions = rng.integers(0, 30, size=(3, batch, steps)).astype(np.int64)
    return contrib("MRotaryEmbedding", [x, positions, *rotary_tables(rng, 30, half, dtype)], dtype=dtype, mrope_section=[half - height - across, height, across],
                   mrope_layout=int(rng.integers(2)), interleaved=int(rng.integers(2)), num_heads=heads if partial else None,
                   rotary_embedding_dim=2 * half if partial else None)


@recipe("Microsoft.LinearAttention")
def linear_attention(rng):
    batch, steps, kv_heads = int(rng.integers(1, 3)), int(rng.integers(1, 7)), choice(rng, [1, 2])
    heads, width, value_width = choice(rng, [1, kv_heads, 2 * kv_heads]), choice(rng, [2, 4, 16]), choice(rng, [2, 8])
    rule = choice(rng, ["linear", "gated", "delta", "gated_delta"])
    x = lambda size: values(rng, (batch, steps, size), np.float32, -1, 1)
    decay = values(rng, (batch, steps, choice(rng, [kv_heads, kv_heads * width])), np.float32, -1, 0) if "gated" in rule else None
    beta = values(rng, (batch, steps, choice(rng, [1, kv_heads])), np.float32, 0, 1) if "delta" in rule else None
    state = maybe(rng, lambda: values(rng, (batch, kv_heads, width, value_width), np.float32, -1, 1))
    return contrib("LinearAttention", [x(heads * width), x(kv_heads * width), x(kv_heads * value_width), state, decay, beta], 2, q_num_heads=heads,
                   kv_num_heads=kv_heads, update_rule=rule, scale=maybe(rng, lambda: 0.3), chunk_size=maybe(rng, lambda: 16), atol=1e-4)


@recipe("Microsoft.CausalConvWithState")
def causal_conv(rng):
    batch, channels, length, width = (int(rng.integers(1, n)) for n in (3, 6, 12, 5))
    state = maybe(rng, lambda: values(rng, (batch, channels, width - 1), np.float32))
    return contrib("CausalConvWithState", [values(rng, (batch, channels, length), np.float32), values(rng, (channels, 1, width), np.float32),
                                           maybe(rng, lambda: values(rng, (channels,), np.float32)), state], 2,
                   activation=choice(rng, [None, "none", "silu", "swish"]), atol=1e-4)


@recipe("Microsoft.LinearAttentionGate")
def linear_attention_gate(rng):
    batch, steps, heads = (int(rng.integers(1, n)) for n in (4, 8, 9))
    rate = maybe(rng, lambda: values(rng, (batch, steps, heads), np.float32))
    return contrib("LinearAttentionGate", [values(rng, (batch, steps, heads), np.float32), *(values(rng, (heads,), np.float32) for _ in range(2)), rate],
                   [True, rate is not None])
