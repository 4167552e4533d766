"""Sequences, optionals, strings and nested graphs. Sequences and optionals stay inside the models: tensors go in and come out."""

import numpy as np
from onnx import TensorProto, helper

from recipe import FLOATS, INTS, Case, choice, recipe, shape, single, values

WORDS = ["", "a", "b", "aa", "Ab", "tHe", "the", "x y", " lead", "trail ", "a,b,,c", "äöü", "ÄÖ", "日本", "1.5", "ab@cd.ef"]


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs, outputs, **{key: value for key, value in attributes.items() if value is not None})


def words(rng, dims):
    return np.array([choice(rng, WORDS) for _ in range(int(np.prod(dims)))], object).reshape(dims)


def parts(rng, count, dtype):
    """Tensors that differ in their first dimension only."""
    dims = shape(rng, rank=int(rng.integers(0, 3)), low=1)
    return {f"x{i}": values(rng, (int(rng.integers(1, 6)), *dims), dtype) for i in range(count)}


@recipe("SequenceConstruct", "SequenceInsert", "SequenceErase", "SequenceAt", "SequenceLength", "ConcatFromSequence")
def sequence(rng, op):
    """A sequence that is built, edited and taken apart again."""
    count = int(rng.integers(2, 6))
    inputs = parts(rng, count, choice(rng, FLOATS[:3] + INTS))
    nodes = [node("SequenceConstruct", list(inputs), ["s"])]
    last = "s"

    def position(size):
        name = f"p{len(inputs)}"
        inputs[name] = np.asarray(int(rng.integers(-size, size)), choice(rng, [np.int64, np.int32]))
        return name

    for i in range(int(rng.integers(0, 3))):
        at = position(count) if rng.random() < 0.7 else None
        if rng.random() < 0.5:
            nodes.append(node("SequenceInsert", [last, "x0"] + ([at] if at else []), [f"i{i}"]))
            count, last = count + 1, f"i{i}"
        elif count > 1:
            nodes.append(node("SequenceErase", [last] + ([at] if at else []), [f"e{i}"]))
            count, last = count - 1, f"e{i}"
    nodes.append(node("SequenceAt", [last, position(count)], ["element"]))
    nodes.append(node("SequenceLength", [last], ["length"]))
    rank = inputs["x0"].ndim
    new_axis = int(rng.integers(0, 2)) if all(inputs[n].shape == inputs["x0"].shape for n in inputs if n[0] == "x") else 0
    nodes.append(node("ConcatFromSequence", [last], ["joined"], axis=int(choice(rng, [0, -1] if new_axis else [0, -rank])), new_axis=new_axis))
    return Case(nodes, {n: a for n, a in inputs.items() if any(n in m.input for m in nodes)}, ["element", "length", "joined"], rtol=0, atol=0)


@recipe("SplitToSequence")
def split_to_sequence(rng):
    dims = list(shape(rng, rank=int(rng.integers(1, 4)), low=1))
    axis = int(rng.integers(-len(dims), len(dims)))
    kind = int(rng.integers(0, 3))
    x, split = values(rng, dims, choice(rng, [np.float32, np.int32, np.int64])), None
    if kind == 1:
        split = np.asarray(int(rng.integers(1, dims[axis] + 1)), np.int64)
    elif kind == 2:
        cuts = sorted(int(rng.integers(0, dims[axis] + 1)) for _ in range(3))
        split = np.diff([0, *cuts, dims[axis]]).astype(np.int64)
    inputs = {"x": x, "at": np.asarray(0, np.int64)} | ({} if split is None else {"split": split})
    nodes = [node("SplitToSequence", ["x"] + ([] if split is None else ["split"]), ["s"], axis=axis,
                  keepdims=int(rng.integers(0, 2)) if split is None else None),
             node("SequenceLength", ["s"], ["length"]), node("SequenceAt", ["s", "at"], ["first"])]
    return Case(nodes, inputs, ["length", "first"], rtol=0, atol=0)


@recipe("SequenceEmpty")
def sequence_empty(rng):
    nodes = [node("SequenceEmpty", [], ["s"], dtype=TensorProto.FLOAT), node("SequenceInsert", ["s", "x"], ["t"]),
             node("SequenceLength", ["s"], ["none"]), node("SequenceLength", ["t"], ["one"]), node("ConcatFromSequence", ["t"], ["y"], axis=0)]
    return Case(nodes, {"x": values(rng, shape(rng, rank=2), np.float32)}, ["none", "one", "y"], rtol=0, atol=0)


@recipe("SequenceMap")
def sequence_map(rng):
    x = helper.make_tensor_value_info("e", TensorProto.FLOAT, None)
    body = helper.make_graph([node("Mul", ["e", "e"], ["q"]), node("Shape", ["e"], ["d"])], "body", [x],
                             [helper.make_tensor_value_info("q", TensorProto.FLOAT, None), helper.make_tensor_value_info("d", TensorProto.INT64, [None])])
    inputs = parts(rng, int(rng.integers(1, 5)), np.float32)
    nodes = [node("SequenceConstruct", list(inputs), ["s"]), node("SequenceMap", ["s"], ["squares", "dims"], body=body),
             node("ConcatFromSequence", ["squares"], ["y"], axis=0), node("ConcatFromSequence", ["dims"], ["z"], axis=0, new_axis=1)]
    return Case(nodes, inputs, ["y", "z"])


@recipe("Optional", "OptionalHasElement", "OptionalGetElement")
def optional(rng, op):
    nodes = [node("Optional", ["x"], ["o"]), node("OptionalHasElement", ["o"], ["has"]), node("OptionalGetElement", ["o"], ["y"])]
    case = Case(nodes, {"x": values(rng, shape(rng), choice(rng, [np.float32, np.int64, np.bool_]))}, ["has", "y"], rtol=0, atol=0)
    case.peer, case.opset = "ort", 18  # the reference makes a list of one tensor of it
    return case


@recipe("StringConcat")
def string_concat(rng):
    return single("StringConcat", [words(rng, (3, 4)), words(rng, choice(rng, [(3, 4), (4,), (3, 1), ()]))])


@recipe("StringNormalizer")
def string_normalizer(rng):
    count = int(rng.integers(1, 8))
    dims = (count,) if rng.random() < 0.6 else (1, count)
    # Non-ASCII letters change case by locale in the peer.
    # And the peer drops empty strings, which nothing asks for.
    ascii_words = [w for w in WORDS if w.isascii() and w]
    x = np.array([choice(rng, ascii_words) for _ in range(count)], object).reshape(dims)
    action = choice(rng, ["NONE", "LOWER", "UPPER"])
    # Nor does it ignore the case of stop words where it changes none.
    return single("StringNormalizer", [x], case_change_action=action, is_case_sensitive=1 if action == "NONE" else int(rng.integers(0, 2)),
                  stopwords=choice(rng, [None, ["the", "a"]]))


@recipe("StringSplit")
def string_split(rng):
    return single("StringSplit", [words(rng, shape(rng, rank=int(rng.integers(0, 3)), low=1))], outputs=2,
                  delimiter=choice(rng, [None, ",", "a", ",,"]), maxsplit=choice(rng, [None, 0, 1, 2]))


@recipe("RegexFullMatch")
def regex_full_match(rng):
    case = single("RegexFullMatch", [words(rng, shape(rng, rank=int(rng.integers(0, 3)), low=1))],
                  pattern=choice(rng, ["", "a*", "[a-z]+", ".*", r"\w+@\w+\.\w+", "(a|b)+", r"[^,]*", r"\s*\w*"]), opset=20)
    case.peer = "ort"  # the reference needs a package of its own
    return case


@recipe("TfIdfVectorizer")
def tfidf(rng):
    pool = [int(v) for v in rng.integers(0, 6, 3)] + [int(v) for v in rng.integers(0, 6, 4)]
    grams = 3 + 2
    count = int(rng.integers(1, 3))
    dims = (int(rng.integers(4, 20)),) if count == 1 else (int(rng.integers(1, 4)), int(rng.integers(4, 12)))
    case = single("TfIdfVectorizer", [rng.integers(0, 6, dims).astype(choice(rng, [np.int32, np.int64]))], mode=choice(rng, ["TF", "IDF", "TFIDF"]),
                  min_gram_length=int(rng.integers(1, 3)), max_gram_length=2, max_skip_count=int(rng.integers(0, 3)),
                  ngram_counts=[0, 3], ngram_indexes=[int(v) for v in rng.permutation(grams)], pool_int64s=pool,
                  weights=[float(v) for v in rng.uniform(0.5, 2, grams)] if rng.random() < 0.5 else None)
    case.peer, case.opset = "ort", 9
    return case


@recipe("If")
def if_(rng):
    dims = shape(rng, rank=2, low=1)
    out = [helper.make_tensor_value_info("b", TensorProto.FLOAT, None)]
    then = helper.make_graph([node("Add", ["x", "y"], ["b"])], "then", [], out)
    other = helper.make_graph([node("Mul", ["x", "y"], ["t"]), node("Concat", ["t", "x"], ["b"], axis=0)], "else", [], out)
    nodes = [node("If", ["c"], ["r"], then_branch=then, else_branch=other), node("Neg", ["r"], ["z"])]
    return Case(nodes, {"c": np.asarray(rng.random() < 0.5), "x": values(rng, dims, np.float32), "y": values(rng, dims, np.float32)}, ["z"])


@recipe("Loop")
def loop(rng):
    """A carried value, a captured one, a scan output; ends by count or by condition."""
    info = helper.make_tensor_value_info
    body = helper.make_graph(
        [node("Cast", ["i"], ["f"], to=TensorProto.FLOAT), node("Mul", ["v", "x"], ["m"]), node("Add", ["m", "f"], ["w"]),
         node("Less", ["i", "stop"], ["go"]), node("ReduceSum", ["w"], ["scan"], keepdims=0)],
        "body", [info("i", TensorProto.INT64, []), info("c", TensorProto.BOOL, []), info("v", TensorProto.FLOAT, None)],
        [info("go", TensorProto.BOOL, []), info("w", TensorProto.FLOAT, None), info("scan", TensorProto.FLOAT, [])])
    dims = shape(rng, rank=int(rng.integers(0, 3)), low=1)
    inputs = {"m0": np.asarray(int(rng.integers(0, 7)), np.int64), "c0": np.asarray(rng.random() < 0.9), "v0": values(rng, dims, np.float32, -1, 1),
              "x": values(rng, dims, np.float32, -1, 1), "stop": np.asarray(int(rng.integers(0, 8)), np.int64)}
    case = Case([node("Loop", ["m0", "c0", "v0"], ["v_end", "scans"], body=body)], inputs, ["v_end", "scans"], rtol=1e-3, atol=1e-4)
    case.peer, case.opset = "ort", 16  # the reference gives stacked scalars a second dimension
    return case


@recipe("Scan")
def scan(rng):
    info = helper.make_tensor_value_info
    body = helper.make_graph([node("Add", ["s", "e"], ["t"]), node("Mul", ["t", "e"], ["o"])], "body",
                             [info("s", TensorProto.FLOAT, None), info("e", TensorProto.FLOAT, None)],
                             [info("t", TensorProto.FLOAT, None), info("o", TensorProto.FLOAT, None)])
    dims = shape(rng, rank=int(rng.integers(0, 3)), low=1)
    axis = int(rng.integers(0, len(dims) + 1))
    sequence_dims = list(dims)
    sequence_dims.insert(axis, int(rng.integers(1, 6)))
    inputs = {"s0": values(rng, dims, np.float32, -1, 1), "x": values(rng, sequence_dims, np.float32, -1, 1)}
    case = Case([node("Scan", ["s0", "x"], ["s_end", "ys"], body=body, num_scan_inputs=1, scan_input_axes=[axis], scan_output_axes=[int(rng.integers(0, len(dims) + 1))],
                      scan_input_directions=[int(rng.integers(0, 2))], scan_output_directions=[int(rng.integers(0, 2))])],
                inputs, ["s_end", "ys"], rtol=1e-3, atol=1e-4)
    case.peer, case.opset = "ort", 16
    return case
