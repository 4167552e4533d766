"""Images, boxes and signals: every type, version and attribute of the resampling, detection and spectral operators."""

from fractions import Fraction

import numpy as np
from onnx import TensorProto, helper
from onnx.reference.ops import op_resize

from recipe import choice, recipe, single, values

COORDINATES = ["half_pixel", "half_pixel_symmetric", "align_corners", "asymmetric", "tf_crop_and_resize"]


def has_tie(coordinates, nearest_mode, size_in, size_out):
    """Whether a position lies exactly where `nearest_mode` changes its mind: there the peer's rounding errors decide."""
    if size_in == size_out or coordinates == "tf_crop_and_resize":
        return False
    half = Fraction(1, 2)
    for x in range(size_out):
        if coordinates == "align_corners":
            position = Fraction(x * (size_in - 1), max(size_out - 1, 1))
        elif coordinates == "asymmetric":
            position = Fraction(x * size_in, size_out)
        else:
            position = (x + half) * size_in / size_out - half
        exact = position == 0 or coordinates == "align_corners" and x == size_out - 1
        if not exact and (position if nearest_mode in ("floor", "ceil") else position + half).denominator == 1:
            return True
    return False


def whole_positions(*arguments, compute=op_resize._compute_x_ori):
    """Source positions; those that a rounding error keeps off an element lie on it. The evaluator loses that error where it adds its
    padding to a position, but not where it takes the weights, and so takes the element on the left: 3.0000000000000004 is element 2."""
    positions, outside = compute(*arguments)
    nearest = np.round(positions)
    return np.where(np.abs(positions - nearest) < 1e-9, nearest, positions), outside


op_resize._compute_x_ori = whole_positions


def grant_one_unit(case, dtype):
    """Lets integer results differ by one. Wide ones are compared as reals: the runner holds them for indices, which are exact."""
    case.rtol, case.atol = 0, 1
    if np.dtype(dtype).itemsize > 2:
        case.nodes.append(helper.make_node("Cast", case.outputs, ["real"], to=TensorProto.DOUBLE))
        case.outputs = ["real"]


@recipe("ResizeReference")
def resize_reference(rng):
    """Any rank, type and attribute, as onnx's reference evaluator has it."""
    mode = choice(rng, ["nearest", "linear", "cubic"])
    dtype = choice(rng, [np.float32, np.float32, np.float64, np.float16, np.uint8, np.int8, np.int32, np.int64])
    rank = int(rng.integers(1, 5))
    dims = [int(rng.integers(1, 9 if rank > 2 else 20)) for _ in range(rank)]
    coordinates = choice(rng, COORDINATES)
    axes = sorted(rng.permutation(rank)[: int(rng.integers(1, rank + 1))].tolist()) if rng.random() < 0.4 else None
    count = len(axes) if axes else rank
    # Scales whose lengths are no integers mean another length there than to the reference evaluator: docs/operator_notes.md.
    by_scale = rng.random() < 0.5 and coordinates not in ("align_corners", "tf_crop_and_resize")
    scales = rng.uniform(0.3, 3, count).astype(np.float32) if by_scale else None
    sizes = None if by_scale else rng.integers(1, 24, count).astype(np.int64)
    roi = None
    if coordinates == "tf_crop_and_resize":
        roi = np.concatenate([rng.uniform(-0.2, 0.4, count), rng.uniform(0.6, 1.2, count)]).astype(np.float32)
    attributes = {"mode": mode, "coordinate_transformation_mode": coordinates, "axes": axes}
    if mode == "nearest":
        attributes["nearest_mode"] = choice(rng, ["floor", "ceil", "round_prefer_floor", "round_prefer_ceil"])
    else:
        attributes["antialias"] = int(rng.integers(0, 2))
        attributes["exclude_outside"] = int(rng.integers(0, 2))
    if mode == "cubic":
        attributes["cubic_coeff_a"] = choice(rng, [-0.5, -0.75])
    if roi is not None:
        attributes["extrapolation_value"] = 3.0
    if not by_scale and roi is None:
        # The other policies make scales of sizes again, as above.
        attributes["keep_aspect_ratio_policy"] = choice(rng, ["stretch"] if coordinates == "align_corners" else ["stretch", "not_larger", "not_smaller"])
    if mode == "nearest" and not by_scale:
        for i, axis in enumerate(axes or range(rank)):
            while has_tie(coordinates, attributes["nearest_mode"], dims[axis], int(sizes[i])):
                sizes[i] += 1
    case = single("Resize", [values(rng, dims, dtype), roi, scales, sizes], dtype=dtype, opset=19, **attributes)
    if np.issubdtype(np.dtype(dtype), np.integer):
        if mode != "nearest":
            grant_one_unit(case, dtype)  # a sum that is a tie but for its last bit
    elif np.dtype(dtype) == np.float32:
        case.atol = 2e-4
    elif by_scale or roi is not None or mode == "cubic":  # the peer's positions and weights are float where scales, roi and cubic_coeff_a are
        case.rtol, case.atol = max(case.rtol, 1e-4), max(case.atol, 2e-4)
    return case


@recipe("Upsample")
def upsample(rng):
    dims = [1, 2, int(rng.integers(1, 9)), int(rng.integers(1, 9))]
    scales = np.asarray([1, 1, *rng.integers(1, 4, 2)], np.float32)
    case = single("Upsample", [values(rng, dims, np.float32), scales], opset=9, mode=choice(rng, ["nearest", "linear"]))
    case.peer = "ort"
    return case


@recipe("Resize10")
def resize10(rng):
    dims = [1, 2, int(rng.integers(2, 12)), int(rng.integers(2, 12))]
    scales = np.asarray([1, 1, *rng.choice([0.25, 0.5, 2, 3], 2)], np.float32)
    case = single("Resize", [values(rng, dims, np.float32), scales], opset=10, mode=choice(rng, ["nearest", "linear"]))
    case.peer = "ort"
    return case


@recipe("GridSampleReference")
def grid_sample_reference(rng):
    spatial = int(rng.integers(1, 4))
    dtype = choice(rng, [np.float32, np.float64, np.float32])
    dims = (int(rng.integers(1, 3)), int(rng.integers(1, 4)), *(int(rng.integers(2, 7)) for _ in range(spatial)))
    out = tuple(int(rng.integers(1, 5)) for _ in range(spatial))
    grid = rng.uniform(-1.6, 1.6, (dims[0], *out, spatial)).astype(np.float32)
    mode = choice(rng, ["linear", "nearest", "cubic"])
    # Before a border, the reference's cubic clamps the sample instead of its neighbours, unlike PyTorch and ONNX Runtime.
    padding = choice(rng, ["zeros", "reflection", "zeros" if mode == "cubic" else "border"])
    case = single("GridSample", [values(rng, dims, dtype), grid], dtype=dtype, mode=mode, align_corners=int(rng.integers(0, 2)), padding_mode=padding,
                  opset=choice(rng, [20, 22]))
    case.rtol, case.atol = 1e-3, 1e-4
    return case


@recipe("AffineGrid")
def affine_grid(rng):
    axes = int(rng.integers(2, 4))
    size = [int(rng.integers(1, 4)), 3, *(int(rng.integers(2, 9)) for _ in range(axes))]
    return single("AffineGrid", [values(rng, (size[0], axes, axes + 1), np.float32), np.asarray(size, np.int64)], align_corners=int(rng.integers(0, 2)))


@recipe("NonMaxSuppression")
def non_max_suppression(rng):
    batches, classes, count = int(rng.integers(1, 4)), int(rng.integers(1, 4)), int(rng.integers(1, 80))
    boxes = rng.uniform(0, 1, (batches, count, 4)).astype(np.float32)
    scores = np.round(rng.uniform(0, 1, (batches, classes, count)), 1 if rng.random() < 0.5 else 6).astype(np.float32)
    inputs = [boxes, scores, np.asarray([int(rng.integers(0, count + 3))], np.int64), np.asarray([rng.uniform(0, 0.9)], np.float32)]
    if rng.random() < 0.6:
        inputs.append(np.asarray([rng.uniform(0, 0.9)], np.float32))
    return single("NonMaxSuppression", inputs, center_point_box=int(rng.integers(0, 2)), opset=choice(rng, [10, 11]))


@recipe("RoiAlign")
def roi_align(rng):
    dtype = choice(rng, [np.float32, np.float64])
    dims = (int(rng.integers(1, 3)), int(rng.integers(1, 6)), int(rng.integers(1, 20)), int(rng.integers(1, 20)))
    count = int(rng.integers(1, 6))
    corner, size = rng.uniform(-2, 12, (count, 2)), rng.uniform(0.1, 14, (count, 2))
    rois = np.concatenate([corner, corner + size], axis=1).astype(dtype)
    case = single("RoiAlign", [values(rng, dims, dtype), rois, rng.integers(0, dims[0], count).astype(np.int64)], dtype=dtype, opset=16,
                  mode=choice(rng, ["avg", "max"]), output_height=int(rng.integers(1, 8)), output_width=int(rng.integers(1, 8)),
                  sampling_ratio=int(rng.integers(0, 4)), spatial_scale=choice(rng, [0.5, 1.0]),
                  coordinate_transformation_mode=choice(rng, ["half_pixel", "output_half_pixel"]))
    case.rtol, case.atol = 1e-3, 1e-4
    return case


@recipe("DFTReference")
def dft_reference(rng):
    dtype = choice(rng, [np.float32, np.float64])
    dims = [int(rng.integers(1, 4)), int(rng.integers(2, 300)), int(rng.integers(1, 4))]
    axis = int(rng.integers(0, 3))
    dims[axis], dims[1] = dims[1], dims[axis]
    inverse, onesided = int(rng.integers(0, 2)), int(rng.integers(0, 2))
    components = (2 if inverse else 1) if onesided else choice(rng, [1, 2])
    length = np.asarray(int(rng.integers(1, 320)), np.int64) if rng.random() < 0.5 else None
    data = values(rng, (*dims, components), dtype)
    if rng.random() < 0.5:
        case = single("DFT", [data, length, np.asarray(axis - 4 if rng.random() < 0.5 else axis, np.int64)], dtype=dtype, opset=20,
                      inverse=inverse, onesided=onesided)
    else:
        case = single("DFT", [data, length], dtype=dtype, opset=17, axis=axis, inverse=inverse, onesided=onesided)
    case.rtol, case.atol = (1e-3, 1e-3) if dtype == np.float32 else (1e-7, 1e-8)
    return case


@recipe("STFT")
def stft(rng):
    batch, length, frame = int(rng.integers(1, 3)), int(rng.integers(40, 200)), int(rng.integers(2, 40))
    step = np.asarray(int(rng.integers(1, 20)), np.int64)
    window = values(rng, (frame,), np.float32, 0, 1) if rng.random() < 0.6 else None
    components = choice(rng, [1, 2])
    onesided = 0 if components == 2 else int(rng.integers(0, 2))
    case = single("STFT", [values(rng, (batch, length, components), np.float32), step, window, None if window is not None else np.asarray(frame, np.int64)],
                  onesided=onesided)
    case.atol = 1e-3
    return case


@recipe("HannWindow", "HammingWindow", "BlackmanWindow")
def window(rng, op):
    size = np.asarray(int(rng.integers(2, 60)), choice(rng, [np.int32, np.int64]))
    return single(op, [size], periodic=int(rng.integers(0, 2)), output_datatype=choice(rng, [1, 11]))


@recipe("MelWeightMatrix")
def mel(rng):
    scalars = [np.asarray(int(rng.integers(1, 20)), np.int64), np.asarray(int(rng.integers(8, 300)), np.int64), np.asarray(8192, np.int64)]
    return single("MelWeightMatrix", scalars + [np.asarray(0.0, np.float32), np.asarray(4096.0, np.float32)])


def long_recurrent(rng, op, gates):
    """Batch-first or not, activations with parameters, peepholes, clips."""
    length, batch, size, hidden = (int(rng.integers(1, n)) for n in (9, 5, 20, 40))
    direction = choice(rng, ["forward", "reverse", "bidirectional"])
    directions = 2 if direction == "bidirectional" else 1

    def weights(*dims):
        return values(rng, dims, np.float32, -0.6, 0.6)

    inputs = [weights(length, batch, size), weights(directions, gates * hidden, size), weights(directions, gates * hidden, hidden),
              weights(directions, 2 * gates * hidden) if rng.random() < 0.5 else None,
              rng.integers(1, length, size=batch, endpoint=True).astype(np.int32) if rng.random() < 0.5 else None,
              weights(directions, batch, hidden) if rng.random() < 0.5 else None]
    attributes = {"hidden_size": hidden, "direction": direction}
    if op == "LSTM":
        inputs += [weights(directions, batch, hidden) if rng.random() < 0.5 else None,
                   weights(directions, 3 * hidden) if rng.random() < 0.5 else None]
        attributes["input_forget"] = int(rng.integers(0, 2))
    if op == "GRU":
        attributes["linear_before_reset"] = int(rng.integers(0, 2))
    if rng.random() < 0.4:
        names = {"LSTM": ["HardSigmoid", "Tanh", "Softsign"], "GRU": ["HardSigmoid", "Elu"], "RNN": [choice(rng, ["Relu", "Sigmoid", "Softplus"])]}[op]
        attributes["activations"] = names * directions
    if rng.random() < 0.3:
        attributes["clip"] = 0.7
    case = single(op, inputs, outputs=3 if op == "LSTM" else 2, opset=14, constants=(1, 2) if rng.random() < 0.6 else (), **attributes)
    case.peer, case.atol = "ort", 1e-4
    return case


@recipe("LstmLong")
def lstm_long(rng):
    return long_recurrent(rng, "LSTM", 4)


@recipe("GruLong")
def gru_long(rng):
    return long_recurrent(rng, "GRU", 3)


@recipe("RnnLong")
def rnn_long(rng):
    return long_recurrent(rng, "RNN", 1)
