"""Matmuls, convolutions, pooling, resampling, recurrent operators, attention."""

import numpy as np

from recipe import Case, choice, recipe, shape, single, values


@recipe("MatMul")
def matmul(rng):
    dtype = choice(rng, [np.float32, np.float64, np.int32, np.int64])
    m, k, n = (int(rng.integers(1, 40)) for _ in range(3))
    batch = shape(rng, rank=int(rng.integers(0, 3)), low=1, high=4)
    left, right = batch + (m, k), (tuple(1 if rng.random() < 0.3 else d for d in batch) if rng.random() < 0.7 else ()) + (k, n)
    if rng.random() < 0.1:
        left = (k,)
    elif rng.random() < 0.1:
        right = (k,)
    return single("MatMul", [values(rng, left, dtype), values(rng, right, dtype)], dtype=dtype, constants=(1,) if rng.random() < 0.3 else ())


@recipe("Gemm")
def gemm(rng):
    m, k, n = (int(rng.integers(1, 50)) for _ in range(3))
    trans_a, trans_b = (int(rng.integers(0, 2)) for _ in range(2))
    c = values(rng, choice(rng, [(m, n), (n,), (1, n), (m, 1), (), (1,)]), np.float32) if rng.random() < 0.8 else None
    return single("Gemm", [values(rng, (k, m) if trans_a else (m, k), np.float32), values(rng, (n, k) if trans_b else (k, n), np.float32), c],
                  transA=trans_a, transB=trans_b, alpha=float(rng.uniform(0.5, 2)), beta=float(rng.uniform(0, 2)))


@recipe("MatMulInteger")
def matmul_integer(rng):
    m, k, n = (int(rng.integers(1, 40)) for _ in range(3))
    a, b = (choice(rng, [np.uint8, np.int8]) for _ in range(2))
    return single("MatMulInteger", [values(rng, (m, k), a, -32, 60), values(rng, (k, n), b, -32, 60), values(rng, (), a), values(rng, (), b)])


def spatial(rng, dims, kernel):
    """Random strides, dilations and padding for `dims` spatial sizes; `kernel` may be shrunk by the dilation."""
    count = len(dims)
    attributes = {"strides": [int(rng.integers(1, 4)) for _ in range(count)]}
    dilations = [int(rng.integers(1, 3)) for _ in range(count)]
    attributes["dilations"] = [d if (k - 1) * d + 1 <= s else 1 for d, k, s in zip(dilations, kernel, dims)]
    return attributes


@recipe("Conv")
def conv(rng):
    rank = int(rng.integers(1, 4))
    group = choice(rng, [1, 1, 2, 3])
    per_group_in, per_group_out = int(rng.integers(1, 9)), int(rng.integers(1, 9))
    if rng.random() < 0.25:
        per_group_in = per_group_out = 1
    dims = [int(rng.integers(4, 14)) for _ in range(rank)]
    kernel = [int(rng.integers(1, 4)) for _ in range(rank)]
    attributes = spatial(rng, dims, kernel)
    if rng.random() < 0.3:
        attributes["auto_pad"] = choice(rng, ["SAME_UPPER", "SAME_LOWER", "VALID"])
    else:
        attributes["pads"] = [int(rng.integers(0, 3)) for _ in range(2 * rank)]
    bias = values(rng, (group * per_group_out,), np.float32) if rng.random() < 0.6 else None
    case = single("Conv", [values(rng, [int(rng.integers(1, 3)), group * per_group_in, *dims], np.float32),
                           values(rng, [group * per_group_out, per_group_in, *kernel], np.float32), bias],
                  group=group, kernel_shape=kernel, constants=(1, 2) if rng.random() < 0.6 else (), **attributes)
    case.peer, case.opset, case.atol = "ort", 22, 1e-4
    return case


@recipe("ConvTranspose")
def conv_transpose(rng):
    rank = int(rng.integers(1, 4))
    group = choice(rng, [1, 1, 2, 3])
    channels, outputs = choice(rng, [1, 2, 3, 20]), choice(rng, [1, 2, 5, 33])
    dims = [int(rng.integers(1, 8)) for _ in range(rank)]
    dims[-1] = int(rng.integers(2, choice(rng, [8, 70])))
    kernel = [int(rng.integers(1, 6 if rank < 3 else 4)) for _ in range(rank)]
    strides = [int(rng.integers(1, 5 if rank < 3 else 3)) for _ in range(rank)]
    dilations = [int(rng.integers(1, 3)) for _ in range(rank)]
    pads = [int(rng.integers(0, 1 + min(2, (k - 1) * d // 2))) for k, d in zip(kernel * 2, dilations * 2)]
    case = single("ConvTranspose", [values(rng, [2, group * channels, *dims], np.float32), values(rng, [group * channels, outputs, *kernel], np.float32),
                                    values(rng, (group * outputs,), np.float32) if rng.random() < 0.5 else None],
                  group=group, strides=strides, dilations=dilations, pads=pads, kernel_shape=kernel,
                  output_padding=[int(rng.integers(0, s)) for s in strides], constants=(1, 2) if rng.random() < 0.6 else ())
    case.peer, case.opset, case.atol = "ort", 11, 1e-4
    return case


@recipe("MaxPool", "AveragePool", "LpPool")
def pool(rng, op):
    rank = int(rng.integers(1, 4))
    kernel = [int(rng.integers(1, choice(rng, [4, 4, 8]))) for _ in range(rank)]
    dims = [int(rng.integers(max(4, k), 14)) for k in kernel]
    dims[-1] = int(rng.integers(kernel[-1], choice(rng, [14, 80, 2500])))
    attributes = spatial(rng, dims, kernel)
    attributes["pads"] = [int(rng.integers(0, k)) for k in kernel * 2]
    attributes["ceil_mode"] = int(rng.integers(0, 2)) if op != "LpPool" else 0
    if op == "AveragePool":
        attributes["count_include_pad"] = int(rng.integers(0, 2))
        attributes["ceil_mode"] = 0
        attributes["dilations"] = [1] * rank
    case = single(op, [values(rng, [2, int(rng.integers(1, 20 if dims[-1] < 100 else 3)), *dims], np.float32)], kernel_shape=kernel, **attributes)
    case.peer, case.opset = "ort", 18 if op == "LpPool" else 19 if op == "AveragePool" else 12
    return case


@recipe("GlobalAveragePool", "GlobalMaxPool")
def global_pool(rng, op):
    case = single(op, [values(rng, shape(rng, rank=int(rng.integers(3, 6)), low=1), np.float32)], opset=13)
    case.peer = "ort"  # the reference takes the maximum over some axes only unless there are two
    return case


@recipe("Resize")
def resize(rng):
    mode = choice(rng, ["nearest", "linear", "cubic"])
    dims = [int(rng.integers(1, 3)), int(rng.integers(1, 4)), int(rng.integers(2, 12)), int(rng.integers(2, 12))]
    transform = choice(rng, ["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"])
    sizes = np.asarray(dims[:2] + [int(rng.integers(1, 20)), int(rng.integers(1, 20))], np.int64)
    nearest = choice(rng, ["floor", "ceil", "round_prefer_floor", "round_prefer_ceil"]) if mode == "nearest" else None
    if rng.random() < 0.3:  # by scales, which the text's whole length makes a difference to where corners are aligned
        target = [None, np.asarray([1, 1, *rng.uniform(1, 3, 2)], np.float32)]
    else:
        target = [None, None, sizes]
    case = single("Resize", [values(rng, dims, np.float32), *target], mode=mode, coordinate_transformation_mode=transform, nearest_mode=nearest)
    case.peer, case.opset, case.atol = "ort", 18, 1e-4
    return case


@recipe("GridSample")
def grid_sample(rng):
    dims = (2, 3, int(rng.integers(2, 9)), int(rng.integers(2, 9)))
    grid = rng.uniform(-1.2, 1.2, (2, 5, 6, 2)).astype(np.float32)
    case = single("GridSample", [values(rng, dims, np.float32), grid], mode=choice(rng, ["linear", "nearest", "cubic"]), align_corners=int(rng.integers(0, 2)),
                  padding_mode=choice(rng, ["zeros", "border", "reflection"]))
    case.opset, case.atol, case.peer = 20, 1e-4, "ort"
    return case


def recurrent(rng, op, gates):
    length, batch, size, hidden = (int(rng.integers(1, n)) for n in (7, 4, 9, 17))
    direction = choice(rng, ["forward", "reverse", "bidirectional"])
    directions = 2 if direction == "bidirectional" else 1
    def weights(*dims):
        return values(rng, dims, np.float32, -0.5, 0.5)
    inputs = [weights(length, batch, size), weights(directions, gates * hidden, size), weights(directions, gates * hidden, hidden),
              weights(directions, 2 * gates * hidden) if rng.random() < 0.7 else None,
              rng.integers(1, length, size=batch, endpoint=True).astype(np.int32) if rng.random() < 0.3 else None,
              weights(directions, batch, hidden) if rng.random() < 0.5 else None]
    attributes = {"linear_before_reset": int(rng.integers(0, 2))} if op == "GRU" else {}
    case = single(op, inputs, outputs=3 if op == "LSTM" else 2, hidden_size=hidden, direction=direction, constants=(1, 2, 3), **attributes)
    case.peer, case.opset, case.atol = "ort", 14, 1e-4
    return case


@recipe("LSTM")
def lstm(rng):
    return recurrent(rng, "LSTM", 4)


@recipe("GRU")
def gru(rng):
    return recurrent(rng, "GRU", 3)


@recipe("RNN")
def rnn(rng):
    return recurrent(rng, "RNN", 1)


@recipe("Einsum")
def einsum(rng):
    equation, *dims = choice(rng, [("ij,jk->ik", (5, 7), (7, 3)), ("bij,bjk->bik", (2, 5, 7), (2, 7, 3)), ("ij->ji", (5, 7)), ("ii->i", (6, 6)),
                                   ("i,i->", (9,), (9,)), ("bhqd,bhkd->bhqk", (2, 3, 4, 5), (2, 3, 6, 5)), ("...ij,...jk->...ik", (2, 3, 4), (4, 5)),
                                   ("ij->", (4, 5)), ("abc,cd,de->abe", (2, 3, 4), (4, 5), (5, 6)), ("ij,kl->ijkl", (2, 3), (4, 5))])
    return single("Einsum", [values(rng, d, np.float32) for d in dims], equation=equation)


@recipe("Attention")
def attention(rng):
    batch, q_heads, q_len, k_len, size = int(rng.integers(1, 3)), 4, int(rng.integers(1, 9)), int(rng.integers(1, 20)), choice(rng, [4, 8, 16])
    kv_heads = choice(rng, [4, 2, 1])
    mask = values(rng, (q_len, k_len), choice(rng, [np.float32, np.bool_])) if rng.random() < 0.5 else None
    if mask is not None and mask.dtype == np.bool_:
        mask[:, 0] = True  # a row without any key is undefined
    return single("Attention", [values(rng, (batch, q_heads, q_len, size), np.float32), values(rng, (batch, kv_heads, k_len, size), np.float32),
                                values(rng, (batch, kv_heads, k_len, size), np.float32), mask], is_causal=int(rng.integers(0, 2)), opset=24)


@recipe("RotaryEmbedding")
def rotary(rng):
    batch, heads, length, size = 2, 3, int(rng.integers(1, 9)), choice(rng, [4, 8, 16])
    cache = [values(rng, (16, size // 2), np.float32, -1, 1) for _ in range(2)]
    ids = rng.integers(0, 16, size=(batch, length)).astype(np.int64)
    return single("RotaryEmbedding", [values(rng, (batch, heads, length, size), np.float32), *cache, ids], interleaved=int(rng.integers(0, 2)))


@recipe("DFT")
def dft(rng):
    length = int(rng.integers(2, 40))
    return single("DFT", [values(rng, (2, length, choice(rng, [1, 2])), np.float32), None, np.asarray(1, np.int64)], opset=20)


@recipe("Chain")
def chain(rng):
    """Several operators in a row with side branches: what planners get wrong (reuse, in-place, shared inputs)."""
    from onnx import helper
    rows, columns = int(rng.integers(1, 20)), int(rng.integers(1, 20))
    inputs = {"x0": values(rng, (rows, columns), np.float32, -2, 2), "x1": values(rng, (rows, columns), np.float32, -2, 2)}
    names, nodes = list(inputs), []
    for i in range(int(rng.integers(4, 16))):
        op = choice(rng, ["Add", "Mul", "Sub", "Tanh", "Relu", "Sigmoid", "Neg", "Identity", "Max", "Concat", "Transpose2"])
        left, right, out = choice(rng, names), choice(rng, names), f"v{i}"
        if op in ("Add", "Mul", "Sub", "Max"):
            nodes.append(helper.make_node(op, [left, right], [out]))
        elif op == "Concat":
            nodes.append(helper.make_node("Concat", [left, right], [f"c{i}"], axis=0))
            nodes.append(helper.make_node("Split", [f"c{i}"], [out, f"s{i}"], axis=0, num_outputs=2))
        elif op == "Transpose2":
            nodes.append(helper.make_node("Transpose", [left], [f"t{i}"], perm=[1, 0]))
            nodes.append(helper.make_node("Exp", [f"t{i}"], [f"e{i}"]))
            nodes.append(helper.make_node("Tanh", [f"e{i}"], [f"h{i}"]))
            nodes.append(helper.make_node("Transpose", [f"h{i}"], [out], perm=[1, 0]))
        else:
            nodes.append(helper.make_node(op, [left], [out]))
        names.append(out)
    used = sorted({names[-1], choice(rng, names[2:])})
    return Case(nodes, inputs, used, rtol=1e-3, atol=1e-4)
