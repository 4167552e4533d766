"""Greedy search, sampling and beam search of com.microsoft around small decoders as ONNX Runtime's tools export them; tokens are equal."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from recipe import choice, ort_session, recipe, to_model, values
from recipes_microsoft import contrib, maybe, some_constants

HEADS, WIDTH = 2, 4  # of one head
HIDDEN = HEADS * WIDTH
FEATURES = 3
RESULTS = {0: TensorProto.INT32, 1: TensorProto.FLOAT, 2: TensorProto.FLOAT}  # of beam searches


class Graph:
    """Nodes and constants of a nested graph. Some constants lie in the graph around it, as in exported models."""

    def __init__(self, rng, prefix, outer):
        self.rng, self.prefix, self.outer, self.nodes, self.constants, self.count = rng, prefix, outer, [], [], 0

    def name(self):
        self.count += 1
        return f"{self.prefix}{self.count}"

    def __call__(self, op, *inputs, outputs=1, to=None, **attributes):
        names = [i if isinstance(i, str) else self.constant(i) for i in inputs]
        results = [to or self.name()] if outputs == 1 else [self.name() for _ in range(outputs)]
        self.nodes.append(helper.make_node(op, names, results, **attributes))
        return results[0] if outputs == 1 else results

    def constant(self, value):
        name = self.name()
        array = np.asarray(value)
        if array.ndim > 1 and self.outer is not None and self.rng.random() < 0.5:
            self.outer[name] = array
        else:
            self.constants.append(numpy_helper.from_array(array, name))
        return name

    def weights(self, *dims, scale=1.0):
        return self.constant(values(self.rng, dims, np.float32, -scale, scale))

    def finish(self, inputs, outputs):
        info = lambda name, kind, dims: helper.make_tensor_value_info(name, kind, dims)
        return helper.make_graph(self.nodes, self.prefix, [info(*i) for i in inputs], [info(*o) for o in outputs], self.constants)


def heads(g, x):
    return g("Transpose", g("Reshape", x, np.array([0, 0, HEADS, WIDTH])), perm=[0, 2, 1, 3])


def attend(g, q, k, v, bias):
    scores = g("MatMul", q, g("Transpose", k, perm=[0, 1, 3, 2]))
    weights = g("Softmax", g("Add", g("Mul", scores, np.float32(WIDTH ** -0.5)), bias), axis=-1)
    together = g("Transpose", g("MatMul", weights, v), perm=[0, 2, 1, 3])
    return g("MatMul", g("Reshape", together, np.array([0, 0, HIDDEN])), g.weights(HIDDEN, HIDDEN))


def mask_bias(g, mask):
    """[batch, 1, 1, keys]: -10000 where the mask is 0."""
    hidden = g("Sub", np.float32(1), cast(g, mask))
    return g("Unsqueeze", g("Mul", hidden, np.float32(-10000)), np.array([1, 2]))


def cast(g, x):
    name = g.name()
    g.nodes.append(helper.make_node("Cast", [x], [name], to=TensorProto.FLOAT))
    return name


def causal_bias(g, ids, past):
    """[queries, keys]: -10000 above the diagonal."""
    steps = g("Shape", ids, start=1, end=2)
    before = g("Shape", past, start=-2, end=-1)
    ones = g("ConstantOfShape", g("Concat", steps, g("Add", steps, before), axis=0), value=helper.make_tensor("", TensorProto.FLOAT, [1], [1]))
    seen = g("Trilu", ones, g("Squeeze", before), upper=0)
    return g("Mul", g("Sub", np.float32(1), seen), np.float32(-10000))


def gpt(rng, vocabulary, layers, outer, prefix="d"):
    g = Graph(rng, prefix, outer)
    x = g("Add", g("Gather", g.weights(vocabulary, HIDDEN), "input_ids"), g("Gather", g.weights(40, HIDDEN), "position_ids"))
    fused = rng.random() < 0.5  # as exports have it
    bias = None if fused else g("Add", mask_bias(g, "attention_mask"), causal_bias(g, "input_ids", "past_0"))
    for i in range(layers):
        if fused:
            inputs = [x, g.weights(HIDDEN, 3 * HIDDEN), g.weights(3 * HIDDEN), "attention_mask", f"past_{i}"]
            together = g.name()
            g.nodes.append(helper.make_node("Attention", inputs, [together, f"present_{i}"], domain="com.microsoft", num_heads=HEADS, unidirectional=1))
            x = g("Add", x, g("MatMul", together, g.weights(HIDDEN, HIDDEN)))
            continue
        q, k, v = (heads(g, p) for p in g("Split", g("MatMul", x, g.weights(HIDDEN, 3 * HIDDEN)), outputs=3, axis=-1, num_outputs=3))
        k, v = (g("Concat", g("Gather", f"past_{i}", np.int64(j)), part, axis=2) for j, part in enumerate([k, v]))
        g("Concat", g("Unsqueeze", k, np.array([0])), g("Unsqueeze", v, np.array([0])), axis=0, to=f"present_{i}")
        x = g("Add", x, attend(g, q, k, v, bias))
    g("MatMul", x, g.weights(HIDDEN, vocabulary), to="logits")
    state = lambda name, i, length: (f"{name}_{i}", TensorProto.FLOAT, [2, "b", HEADS, length, WIDTH])
    return g.finish([("input_ids", TensorProto.INT32, ["b", "s"]), ("position_ids", TensorProto.INT32, ["b", "s"]),
                     ("attention_mask", TensorProto.INT32, ["b", "t"]), *[state("past", i, "p") for i in range(layers)]],
                    [("logits", TensorProto.FLOAT, ["b", "s", vocabulary]), *[state("present", i, "t") for i in range(layers)]])


def scalar(rng, value, dtype=np.int32):
    return np.array(value, dtype).reshape(choice(rng, [(), (1,)]))


def prompt(rng, vocabulary, pad):
    ids = rng.integers(0, vocabulary, size=(int(rng.integers(1, 4)), int(rng.integers(1, 6)))).astype(np.int32)
    if rng.random() < 0.4:
        for row in ids:
            row[:int(rng.integers(0, ids.shape[1]))] = pad
    return ids


def rules(rng, batch, vocabulary, pad, longest):
    """Minimal length, masks of the vocabulary and of the first tokens. Either searches do not end early, or tokens never are `pad`, so that one
    sees what the peer leaves as its memory was."""
    mask = lambda *dims: (rng.random(dims) < 0.8).astype(np.int32)
    first = maybe(rng, lambda: mask(batch, vocabulary), 0.3)
    if rng.random() < 0.3:
        return scalar(rng, longest - 1), None, first
    allowed = mask(vocabulary)
    allowed[pad] = 0
    return maybe(rng, lambda: scalar(rng, rng.integers(0, longest))), allowed, first


def scalars(rng, *options):
    return [maybe(rng, lambda: scalar(rng, rng.uniform(*o), np.float32)) for o in options]


def attention(rng, ids):
    return maybe(rng, lambda: (rng.random(ids.shape) < 0.8).astype(np.int32), 0.3)


def decoder_graphs(rng, vocabulary, outer):
    """Of GPT-2's form; with constants outside, the peer does not run a graph of its own for the first step."""
    layers = int(rng.integers(1, 3))
    if rng.random() < 0.3:
        return {"decoder": gpt(rng, vocabulary, layers, None), "init_decoder": gpt(rng, vocabulary, layers, None, "f")}
    return {"decoder": gpt(rng, vocabulary, layers, outer)}


def padded_after_the_end(case, allowed, pad, prompt_length):
    """The peer's tokens; where all sequences have ended, it leaves its memory as it was."""
    if allowed is None:
        return "ort"

    def run(inputs):
        tokens = ort_session(to_model(case)).run(None, inputs)[0].copy()
        ended = np.cumsum(tokens[:, prompt_length:] == pad, axis=1) > 0
        for step in np.flatnonzero(ended.all(0))[:1]:
            tokens[:, prompt_length + step:] = pad
        return [tokens]
    return run


@recipe("Microsoft.GreedySearch")
def greedy_search(rng):
    vocabulary, outer = int(rng.integers(8, 20)), {}
    eos, pad = (int(t) for t in rng.choice(vocabulary, size=2, replace=False))
    ids = prompt(rng, vocabulary, pad)
    longest = ids.shape[1] + int(rng.integers(1, 12))
    least, allowed, first = rules(rng, ids.shape[0], vocabulary, pad, longest)
    inputs = [ids, scalar(rng, longest), least, *scalars(rng, (0.5, 2)), allowed, first, attention(rng, ids)]
    case = contrib("GreedySearch", inputs, dtype=np.int32, constants=some_constants(rng, [1]), eos_token_id=eos, pad_token_id=pad,
                   model_type=choice(rng, [None, 0]), no_repeat_ngram_size=choice(rng, [None, 0, 2]), vocab_size=choice(rng, [None, vocabulary]), opset=18,
                   **decoder_graphs(rng, vocabulary, outer))
    case.constants.update(outer)
    case.peer = padded_after_the_end(case, allowed, pad, ids.shape[1])
    return case


@recipe("Microsoft.Sampling")
def sampling(rng):
    vocabulary, outer = int(rng.integers(8, 20)), {}
    eos, pad = (int(t) for t in rng.choice(vocabulary, size=2, replace=False))
    ids = prompt(rng, vocabulary, pad)
    longest = ids.shape[1] + int(rng.integers(1, 12))
    least, allowed, first = rules(rng, ids.shape[0], vocabulary, pad, longest)
    inputs = [ids, scalar(rng, longest), least, *scalars(rng, (0.5, 2)), allowed, first, attention(rng, ids), None,
              maybe(rng, lambda: scalar(rng, rng.integers(0, 1000)))]
    case = contrib("Sampling", inputs, dtype=np.int32, constants=some_constants(rng, [1]), eos_token_id=eos, pad_token_id=pad,
                   no_repeat_ngram_size=choice(rng, [None, 0, 2]), top_p=float(rng.uniform(0.3, 0.95)), temperature=maybe(rng, lambda: float(rng.uniform(1, 3))),
                   custom=choice(rng, [None, 0, 1]),
                   min_tokens_to_keep=int(rng.integers(1, 3)), filter_value=maybe(rng, lambda: -1e4), opset=18, **decoder_graphs(rng, vocabulary, outer))
    case.constants.update(outer)
    case.peer = padded_after_the_end(case, allowed, pad, ids.shape[1])
    return case


def encoder_states(g, vocabulary):
    x = g("Gather", g.weights(vocabulary, HIDDEN), "encoder_input_ids")
    bias = mask_bias(g, "encoder_attention_mask")
    q, k, v = (heads(g, p) for p in g("Split", g("MatMul", x, g.weights(HIDDEN, 3 * HIDDEN)), outputs=3, axis=-1, num_outputs=3))
    return g("Add", x, attend(g, q, k, v, bias))


def decode(g, weights, vocabulary, layers, ids, mask, pasts, cross):
    """The decoder's logits; keys and values of layers that grow, and of the encoder, by their names."""
    def weight(name, *dims):
        if name not in weights:
            weights[name] = values(g.rng, dims, np.float32, -1, 1)
        return g.constant(weights[name])

    position = g("Shape", pasts[0], start=2, end=3) if pasts else g.constant(np.array([0]))
    x = g("Add", g("Gather", weight("e", vocabulary, HIDDEN), ids), g("Gather", weight("p", 40, HIDDEN), position))
    bias = mask_bias(g, mask) if mask else np.float32(0)
    for i in range(layers):
        q, k, v = (heads(g, p) for p in g("Split", g("MatMul", x, weight(f"s{i}", HIDDEN, 3 * HIDDEN)), outputs=3, axis=-1, num_outputs=3))
        if pasts:
            k, v = g("Concat", pasts[2 * i], k, axis=2, to=f"present_key_self_{i}"), g("Concat", pasts[2 * i + 1], v, axis=2, to=f"present_value_self_{i}")
        else:
            k, v = g("Identity", k, to=f"present_key_self_{i}"), g("Identity", v, to=f"present_value_self_{i}")
        x = g("Add", x, attend(g, q, k, v, np.float32(0)))
        q = heads(g, g("MatMul", x, weight(f"q{i}", HIDDEN, HIDDEN)))
        x = g("Add", x, attend(g, q, cross[2 * i], cross[2 * i + 1], bias))
    g("MatMul", x, weight("o", HIDDEN, vocabulary), to="logits")


def caches(layers, kind, part, length):
    """Declares keys and values: `kind` is past or present, `part` self or cross."""
    return [(f"{kind}_{what}_{part}_{i}", TensorProto.FLOAT, ["b", HEADS, length, WIDTH]) for i in range(layers) for what in ("key", "value")]


def t5_graphs(rng, vocabulary, outer):
    """Encoder and decoder. As older exports have it, the encoder runs the decoder's first step."""
    layers, begins = int(rng.integers(1, 3)), rng.random() < 0.5
    states, weights = begins and rng.random() < 0.5, {}
    ids = lambda name, *dims: (name, TensorProto.INT32, ["b", *dims])
    cache = lambda *what: caches(layers, *what)

    g = Graph(rng, "e", outer)
    x = encoder_states(g, vocabulary)
    cross = [heads(g, g("MatMul", x, g.weights(HIDDEN, HIDDEN))) for _ in range(2 * layers)]
    cross = [g("Identity", c, to=name) for c, (name, _, _) in zip(cross, cache("present", "cross", "n"))]
    inputs, outputs = [ids("encoder_input_ids", "n"), ids("encoder_attention_mask", "n")], cache("present", "cross", "n")
    if begins:
        g("Identity", x, to="encoder_hidden_states")
        decode(g, weights, vocabulary, layers, "decoder_input_ids", "encoder_attention_mask", [], cross)
        inputs.append(ids("decoder_input_ids", 1))
        outputs = [("logits", TensorProto.FLOAT, ["b", 1, vocabulary]), ("encoder_hidden_states", TensorProto.FLOAT, ["b", "n", HIDDEN]),
                   *cache("present", "self", 1), *outputs]
    encoder = g.finish(inputs, outputs)

    g = Graph(rng, "d", outer)
    pasts, others = cache("past", "self", "p"), cache("past", "cross", "n")
    if states:  # taken, and of no weight
        used = g("Mul", "encoder_hidden_states", np.float32(0))
    names = [name for name, _, _ in others]
    if states:
        zero = g("Squeeze", g("ReduceSum", used, np.array([0, 1, 2])))
        names[0] = g("Add", names[0], zero)
    decode(g, weights, vocabulary, layers, "input_ids", "encoder_attention_mask", [name for name, _, _ in pasts], names)
    hidden = [("encoder_hidden_states", TensorProto.FLOAT, ["b", "n", HIDDEN])] if states else []
    decoder = g.finish([ids("input_ids", 1), ids("encoder_attention_mask", "n"), *hidden, *pasts, *others],
                       [("logits", TensorProto.FLOAT, ["b", 1, vocabulary]), *cache("present", "self", "t")])
    return {"encoder": encoder, "decoder": decoder}


def whisper_graphs(rng, vocabulary):
    """The encoder takes features, and runs the decoder on what is given of the text. The peer cannot run graphs with constants outside."""
    layers, states, weights = int(rng.integers(1, 3)), rng.random() < 0.5, {}
    cache = lambda *what: caches(layers, *what)
    hidden = ("encoder_hidden_states", TensorProto.FLOAT, ["b", "n", HIDDEN])

    g = Graph(rng, "e", None)
    x = g("MatMul", g("Transpose", "encoder_input_ids", perm=[0, 2, 1]), g.weights(FEATURES, HIDDEN))
    cross = [heads(g, g("MatMul", x, g.weights(HIDDEN, HIDDEN))) for _ in range(2 * layers)]
    cross = [g("Identity", c, to=name) for c, (name, _, _) in zip(cross, cache("present", "cross", "n"))]
    g("Identity", x, to="encoder_hidden_states")
    decode(g, weights, vocabulary, layers, "decoder_input_ids", None, [], cross)
    encoder = g.finish([("encoder_input_ids", TensorProto.FLOAT, ["b", FEATURES, "n"]), ("decoder_input_ids", TensorProto.INT32, ["b", "s"])],
                       [("logits", TensorProto.FLOAT, ["b", "s", vocabulary]), hidden, *cache("present", "self", "s"), *cache("present", "cross", "n")])

    g = Graph(rng, "d", None)
    pasts, others = cache("past", "self", "p"), cache("past", "cross", "n")
    names = [name for name, _, _ in others]
    if states:  # taken, and of no weight
        names[0] = g("Add", names[0], g("Squeeze", g("ReduceSum", g("Mul", "encoder_hidden_states", np.float32(0)), np.array([0, 1, 2]))))
    decode(g, weights, vocabulary, layers, "input_ids", None, [name for name, _, _ in pasts], names)
    decoder = g.finish([("input_ids", TensorProto.INT32, ["b", 1])] + [hidden] * states + pasts + others,
                       [("logits", TensorProto.FLOAT, ["b", 1, vocabulary]), *cache("present", "self", "t")])
    return {"encoder": encoder, "decoder": decoder}


def beam_case(rng, kind):
    vocabulary, outer = int(rng.integers(8, 20)), {}
    eos, pad = (int(t) for t in rng.choice(vocabulary, size=2, replace=False))
    ids = prompt(rng, vocabulary, pad)
    longest = (ids.shape[1] if kind == 0 else 1) + int(rng.integers(1 + kind, 12))
    beams = int(rng.integers(1, 5))
    mask = lambda *dims: (rng.random(dims) < 0.9).astype(np.int32)
    # The peer asks for a minimal length and for an exponent of the length. Scores of steps after an early end are as its memory was.
    outputs = choice(rng, [1, 2, 2, 3])
    least = longest - 1 if outputs == 3 else int(rng.integers(0, longest)) if rng.random() < 0.5 else 0
    inputs = [ids, scalar(rng, longest), scalar(rng, least), scalar(rng, beams),
              scalar(rng, rng.integers(1, beams + 1)), scalar(rng, rng.uniform(0.2, 2), np.float32), *scalars(rng, (0.5, 2)),
              maybe(rng, lambda: mask(vocabulary), 0.3),
              maybe(rng, lambda: mask(ids.shape[0], vocabulary), 0.3), attention(rng, ids)]
    graphs = decoder_graphs(rng, vocabulary, outer) if kind == 0 else t5_graphs(rng, vocabulary, outer)
    case = contrib("BeamSearch", inputs, outputs, constants=some_constants(rng, [1, 2, 3, 4, 5]), types=RESULTS, eos_token_id=eos,
                   pad_token_id=pad, model_type=kind, decoder_start_token_id=int(rng.integers(vocabulary)) if kind == 1 else None,
                   early_stopping=choice(rng, [None, 0, 1]), no_repeat_ngram_size=choice(rng, [None, 0, 2, 3]), opset=18, atol=1e-4, **graphs)
    case.constants.update(outer)
    case.unsteady = True
    return case


@recipe("Microsoft.BeamSearch")
def beam_search(rng):
    return beam_case(rng, 0)


@recipe("Microsoft.BeamSearch.T5")
def beam_search_t5(rng):
    return beam_case(rng, 1)


@recipe("Microsoft.WhisperBeamSearch")
def whisper_beam_search(rng):
    vocabulary = int(rng.integers(14, 24))
    eos, pad = (int(t) for t in rng.choice(8, size=2, replace=False))
    features = values(rng, (int(rng.integers(1, 4)), FEATURES, int(rng.integers(1, 6))), np.float32)
    text = rng.integers(0, vocabulary, size=(features.shape[0], int(rng.integers(1, 4)))).astype(np.int32)
    given = rng.random() < 0.7
    longest = (text.shape[1] if given else 1) + int(rng.integers(2, 12))
    beams = int(rng.integers(1, 5))
    timed = rng.random() < 0.5
    outputs = choice(rng, [1, 2, 2, 3])
    least = longest - 1 if outputs == 3 else int(rng.integers(0, longest)) if rng.random() < 0.5 else 0
    mask = lambda *dims: (rng.random(dims) < 0.9).astype(np.int32)
    inputs = [features, scalar(rng, longest), scalar(rng, least), scalar(rng, beams), scalar(rng, rng.integers(1, beams + 1)),
              scalar(rng, rng.uniform(0.2, 2), np.float32), *scalars(rng, (0.5, 2)),
              maybe(rng, lambda: mask(vocabulary), 0.3),
              maybe(rng, lambda: mask(features.shape[0], vocabulary), 0.3), None, text if given else None,
              scalar(rng, int(timed)) if timed or rng.random() < 0.5 else None, None, None, maybe(rng, lambda: scalar(rng, rng.uniform(1, 3), np.float32))]
    token = lambda: int(rng.integers(8, 12))
    case = contrib("WhisperBeamSearch", inputs, outputs, constants=some_constants(rng, [1, 2, 3, 4, 5]), types=RESULTS, eos_token_id=eos,
                   pad_token_id=pad, decoder_start_token_id=int(rng.integers(8)), early_stopping=choice(rng, [None, 0, 1]),
                   no_repeat_ngram_size=choice(rng, [None, 0, 2, 3]), translate_token_id=token(), transcribe_token_id=token(), start_of_lm_token_id=token(),
                   no_timestamps_token_id=token(), beginning_timestamp_token_id=12, no_speech_token_id=token(), opset=18, atol=1e-4,
                   **whisper_graphs(rng, vocabulary))
    case.unsteady = True
    return case
