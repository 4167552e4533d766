"""com.microsoft operators around text generation, and what new decoders' exports bring along, against ONNX Runtime."""

import numpy as np
from onnx import TensorProto, helper

from recipe import choice, recipe, shape, values
from recipes_microsoft import contrib, maybe, some_constants


@recipe("Microsoft.NGramRepeatBlock")
def ngram_repeat_block(rng):
    batch, length, vocabulary = int(rng.integers(1, 4)), int(rng.integers(0, 30)), int(rng.integers(2, 20))
    ids = rng.integers(0, choice(rng, [2, vocabulary]), size=(batch, length)).astype(np.int64)
    return contrib("NGramRepeatBlock", [ids, values(rng, (batch, vocabulary), np.float32)], ngram_size=int(rng.integers(1, 5)))


@recipe("Microsoft.BifurcationDetector")
def bifurcation_detector(rng):
    tokens = lambda n: rng.integers(0, choice(rng, [3, 8]), size=n).astype(np.int64)
    source, current = tokens(int(rng.integers(1, 20))), tokens(int(rng.integers(0, 12)))
    begin = int(rng.integers(0, len(source) + 1))
    predicted = None
    if rng.random() < 0.7:
        predicted = np.append(source[begin:], tokens(1))
        if rng.random() < 0.6:
            predicted[int(rng.integers(len(predicted)))] += 1
    least = int(rng.integers(1, 4))
    return contrib("BifurcationDetector", [source, current, np.array(begin if predicted is not None else -1, np.int64).reshape(choice(rng, [(), (1,)])), predicted],
                   2, dtype=np.int64, min_ngram_size=least, max_ngram_size=least + int(rng.integers(0, 3)))


@recipe("Microsoft.DynamicTimeWarping")
def dynamic_time_warping(rng):
    m, n = int(rng.integers(1, 20)), int(rng.integers(1, 20))
    costs = values(rng, choice(rng, [(m, n), (1, m, n)]), np.float32)
    if rng.random() < 0.3:  # ties
        costs = np.round(costs)
    return contrib("DynamicTimeWarping", [costs], dtype=np.int32)


@recipe("Microsoft.WordConvEmbedding")
def word_conv_embedding(rng):
    words, length, width, rows, filters = (int(rng.integers(1, n)) for n in (6, 12, 9, 20, 20))
    window = int(rng.integers(1, length + 1))
    characters = rng.integers(1, rows + 1, size=(words, length)).astype(np.int32)
    for row in characters:  # the peer leaves empty words' vectors as its memory is
        row[int(rng.integers(1, length + 1)):] = 0
    w = values(rng, (filters, 1, window, width), np.float32, -0.3, 0.3)
    given = rng.random() < 0.5
    return contrib("WordConvEmbedding", [characters, w, values(rng, (filters,), np.float32, -1, 1), values(rng, (rows + 1, width), np.float32, -1, 1)],
                   constants=some_constants(rng, [1, 2, 3]), embedding_size=filters if given else None, conv_window_size=window if given else None,
                   char_embedding_size=width if given else None)


@recipe("Microsoft.UnfoldTensor")
def unfold_tensor(rng):
    dims = shape(rng, int(rng.integers(1, 5)), low=1)
    dim = int(rng.integers(-len(dims), len(dims)))
    size, step = int(rng.integers(1, dims[dim] + 1)), int(rng.integers(1, 4))
    dtype = choice(rng, [np.float32, np.float64, np.int32, np.int64, np.uint8, np.float16, np.bool_])

    def slices(inputs):
        return [np.lib.stride_tricks.sliding_window_view(inputs["x0"], size, axis=dim)[(slice(None),) * (dim % len(dims)) + (slice(None, None, step),)]]

    # The peer's kernel takes four types.
    return contrib("UnfoldTensor", [values(rng, dims, dtype)], dtype=dtype, dim=dim, size=size, step=step,
                   peer=slices if np.dtype(dtype) in (np.uint8, np.float16, np.bool_) else "ort")


@recipe("Microsoft.SampleOp")
def sample_op(rng):
    return contrib("SampleOp", [values(rng, shape(rng, 2), np.float32)])


def streams(rng):
    """Parallel residual streams: their leading dimensions, branches, features, whether they are flattened, and types."""
    lead, branches, features = shape(rng, int(rng.integers(0, 3)), low=1, high=9), int(rng.integers(1, 6)), int(rng.integers(1, 20))
    dtype, other = choice(rng, [np.float32, np.float16]), choice(rng, [np.float32, np.float16])
    flat = bool(lead) and rng.random() < 0.5
    return lead, branches, features, flat, dtype, other


def loose(dtype, other):
    return 1e-2 if np.float16 in (dtype, other) else 1e-4


@recipe("Microsoft.HyperConnectionPreMix")
def hyper_connection_pre_mix(rng):
    lead, c, h, flat, dtype, other = streams(rng)
    gates = choice(rng, [(*lead, c), (*lead, c, 1), (*lead, c, h)] + [(*lead, c * h)] * flat)
    return contrib("HyperConnectionPreMix", [values(rng, (*lead, c * h) if flat else (*lead, c, h), dtype), values(rng, gates, other)], dtype=dtype,
                   num_branches=c if flat else None, reduction_scale=maybe(rng, lambda: float(rng.normal())), atol=loose(dtype, other))


@recipe("Microsoft.HyperConnectionPostMix")
def hyper_connection_post_mix(rng):
    lead, c, h, flat, dtype, other = streams(rng)
    gates = choice(rng, [(*lead, c), (*lead, c, 1), (*lead, c, h)])
    return contrib("HyperConnectionPostMix", [values(rng, (*lead, c * h) if flat else (*lead, c, h), dtype), values(rng, (*lead, h), dtype),
                                              values(rng, gates, other), maybe(rng, lambda: values(rng, (*lead, c, c), other, -1, 1))], dtype=dtype,
                   num_branches=c if flat else None, atol=loose(dtype, other))


@recipe("Microsoft.BranchwiseRMSNorm")
def branchwise_rms_norm(rng):
    lead, c, h, flat, dtype, other = streams(rng)
    scale = maybe(rng, lambda: values(rng, choice(rng, [(c * h,), (c, h), (h,)]), other))
    return contrib("BranchwiseRMSNorm", [values(rng, (*lead, c * h) if flat else (*lead, c, h), dtype), scale], dtype=dtype,
                   num_branches=c if flat else None, epsilon=maybe(rng, lambda: 1e-3), atol=loose(dtype, other))


@recipe("Microsoft.EngramGate")
def engram_gate(rng):
    batch, steps, c, h = (int(rng.integers(1, n)) for n in (4, 8, 5, 20))
    dtype = choice(rng, [np.float32, np.float16])
    keys, rows = lambda: values(rng, (batch, steps, c, h), dtype), lambda: values(rng, (c, h), dtype)
    normed = rng.random() < 0.5
    return contrib("EngramGate", [keys(), keys(), values(rng, (batch, steps, h), dtype), rows(), rows(), rows() if normed else None], 1 + normed, dtype=dtype,
                   epsilon=maybe(rng, lambda: 1e-3), atol=loose(dtype, dtype))


def hash_inputs(rng, reach):
    """A type, numbers that overflow it, the order of n-grams and their heads."""
    dtype = choice(rng, [np.int32, np.int64])
    heads = int(rng.integers(1, 4))
    wide = lambda *dims: rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, size=dims, dtype=dtype)
    return dtype, heads, wide, rng.integers(1, 100, size=(reach * heads,)).astype(dtype)


@recipe("Microsoft.NGramHashMapping")
def ngram_hash_mapping(rng):
    batch, length, reach = int(rng.integers(1, 4)), int(rng.integers(0, 12)), int(rng.integers(1, 5))
    dtype, heads, wide, vocabularies = hash_inputs(rng, reach)
    ids = lambda *dims: rng.integers(0, 9, size=dims).astype(dtype)
    end = maybe(rng, lambda: ids())
    return contrib("NGramHashMapping", [ids(batch, length), wide(reach + 1 + int(rng.integers(2))), vocabularies, maybe(rng, lambda: ids(batch, reach)),
                                        maybe(rng, lambda: rng.integers(0, 1 << 20, size=reach * heads).astype(dtype)), end,
                                        maybe(rng, lambda: np.sort(rng.integers(0, 3, size=(batch, length)), 1).astype(np.int32))],
                   [True, rng.random() < 0.7], dtype=dtype, max_ngram_size=reach + 1, n_head_per_ngram=heads, pad_id=int(rng.integers(9)),
                   reset_on_eos=choice(rng, [None, 0, 1, 1]), types={1: helper.np_dtype_to_tensor_dtype(np.dtype(dtype))})


@recipe("Microsoft.VarlenNGramHashMapping")
def varlen_ngram_hash_mapping(rng):
    lengths, reach = rng.integers(1, 9, size=int(rng.integers(1, 5))), int(rng.integers(1, 5))
    batch, total = len(lengths), int(lengths.sum())
    dtype, heads, wide, vocabularies = hash_inputs(rng, reach)
    ids = lambda *dims: rng.integers(0, 9, size=dims).astype(dtype)
    segments = maybe(rng, lambda: np.sort(rng.integers(0, 3, size=total)).astype(np.int32))
    past_segments = maybe(rng, lambda: np.sort(rng.integers(0, 3, size=(batch, reach)), 1).astype(np.int32)) if segments is not None else None
    capacity = int(rng.integers(1, 9)) if rng.random() < 0.5 else 0
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    return contrib("VarlenNGramHashMapping",
                   [ids(total), wide(reach + 1 + int(rng.integers(2))), vocabularies, np.append(0, np.cumsum(lengths)).astype(np.int32),
                    maybe(rng, lambda: ids(batch, reach)), maybe(rng, lambda: wide(reach * heads)), maybe(rng, lambda: ids()), segments, past_segments,
                    rng.integers(-1, 10, size=batch).astype(np.int32) if capacity else None],
                   [True, rng.random() < 0.7, segments is not None and rng.random() < 0.7, capacity > 0], dtype=dtype,
                   max_ngram_size=reach + 1, n_head_per_ngram=heads, pad_id=int(rng.integers(9)), reset_on_eos=choice(rng, [None, 0, 1, 1]),
                   state_update_capacity=capacity or None, types={1: kind, 2: TensorProto.INT32, 3: kind})
