"""Operators that move data."""

import ml_dtypes
import numpy as np
import onnx

from recipe import FLOATS, NUMBERS, broadcastable, choice, recipe, shape, single
from recipe import values as numbers

PLAIN = NUMBERS + [np.bool_]
BASE = NUMBERS + [np.bool_, np.complex64, np.complex128, np.object_]  # every type before the small ones; object: strings
SMALL = [ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e4m3fnuz, ml_dtypes.float8_e5m2, ml_dtypes.float8_e5m2fnuz,
         ml_dtypes.int4, ml_dtypes.uint4]
ANY = BASE + BASE + SMALL


def values(rng, dims, dtype, low=-4.0, high=4.0):
    dtype = np.dtype(dtype)
    if dtype == np.object_:
        words = ["", "a", "bee", "a string that does not fit inside", "\u00e9"]
        return np.asarray([words[i] for i in rng.integers(len(words), size=int(np.prod(dims)))], np.object_).reshape(dims)
    if np.issubdtype(dtype, np.complexfloating):
        return (rng.uniform(low, high, dims) + 1j * rng.uniform(low, high, dims)).astype(dtype)
    if dtype.name in ("int4", "uint4"):
        return rng.integers(0 if dtype.name == "uint4" else -8, 16 if dtype.name == "uint4" else 8, size=dims).astype(np.int8).astype(dtype)
    return numbers(rng, dims, dtype, low, high)


def indices(rng, dims, limit, dtype=np.int64):
    return rng.integers(-limit, limit, size=dims).astype(dtype)


@recipe("Shape")
def shape_(rng):
    dims = shape(rng)
    start = int(rng.integers(-7, 7)) if rng.random() < 0.5 else None
    end = int(rng.integers(-len(dims), 7)) if rng.random() < 0.5 else None  # below, the reference does not clamp
    return single("Shape", [values(rng, dims, choice(rng, ANY))], start=start, end=end)


@recipe("Size")
def size(rng):
    return single("Size", [values(rng, shape(rng), choice(rng, ANY))])


@recipe("ConstantOfShape")
def constant_of_shape(rng):
    dtype = choice(rng, NUMBERS + [np.bool_] + SMALL)
    value = onnx.numpy_helper.from_array(values(rng, (1,), dtype), "value") if rng.random() < 0.9 else None
    return single("ConstantOfShape", [np.asarray(shape(rng), np.int64)], value=value)


@recipe("Transpose")
def transpose(rng):
    dims = shape(rng)
    perm = [int(i) for i in rng.permutation(len(dims))] if rng.random() < 0.9 else None
    return single("Transpose", [values(rng, dims, choice(rng, ANY))], perm=perm or None)


@recipe("Reshape")
def reshape(rng):
    dims = shape(rng, low=1)
    target = list(dims)[::-1]
    if target and rng.random() < 0.5:
        target[int(rng.integers(len(target)))] = -1
    return single("Reshape", [values(rng, dims, choice(rng, ANY)), np.asarray(target, np.int64)])


@recipe("Concat")
def concat(rng):
    dims = shape(rng, rank=int(rng.integers(1, 6)))
    axis = int(rng.integers(-len(dims), len(dims)))
    dtype = choice(rng, BASE)
    arrays = []
    for _ in range(int(rng.integers(1, 5))):
        part = list(dims)
        part[axis] = int(rng.integers(0, 8))
        arrays.append(values(rng, part, dtype))
    return single("Concat", arrays, axis=axis)


@recipe("Split")
def split(rng):
    dims = list(shape(rng, rank=int(rng.integers(1, 5))))
    axis = int(rng.integers(-len(dims), len(dims)))
    sizes = [int(rng.integers(0, 6)) for _ in range(int(rng.integers(1, 5)))]
    dims[axis] = sum(sizes)
    return single("Split", [values(rng, dims, choice(rng, BASE)), np.asarray(sizes, np.int64)], outputs=len(sizes), axis=axis)


@recipe("Slice")
def slice_(rng):
    dims = shape(rng, rank=int(rng.integers(1, 6)), low=1)
    count = int(rng.integers(1, len(dims) + 1))
    axes = rng.permutation(len(dims))[:count].astype(np.int64)
    starts = np.asarray([rng.integers(-dims[a] - 2, dims[a] + 2) for a in axes], np.int64)
    ends = np.asarray([rng.integers(-dims[a] - 2, dims[a] + 3) for a in axes], np.int64)
    steps = np.asarray([choice(rng, [-3, -2, -1, 1, 1, 1, 2, 3]) for _ in axes], np.int64)
    axes = np.where(rng.random(count) < 0.3, axes - len(dims), axes)
    dtype = np.dtype(choice(rng, BASE))
    # The reference takes nothing backwards from before the first element, where the text has the start clamped to that.
    if dtype.kind == "c":
        return single("Slice", [values(rng, dims, dtype), np.maximum(starts, [-dims[a] for a in axes]), ends, axes, steps])
    case = single("Slice", [values(rng, dims, dtype), starts, ends, axes, steps])
    case.opset, case.peer = 13, "ort"
    return case


@recipe("Pad")
def pad(rng):
    mode = choice(rng, ["constant", "constant", "reflect", "edge", "wrap"])
    dims = shape(rng, rank=int(rng.integers(1, 5)), low=0 if mode == "constant" else 1)
    # A reflection may go there and back again.
    limit = 4 if rng.random() < 0.7 else 12
    axes = rng.permutation(len(dims))[: int(rng.integers(1, len(dims) + 1))] if rng.random() < 0.5 else None
    pads = rng.integers(0, limit, size=2 * len(dims if axes is None else axes)).astype(np.int64)
    pads[rng.random(len(pads)) < 0.3] = 0
    dtype = choice(rng, [t for t in ANY if t is not np.object_])
    constant = values(rng, (), dtype) if mode == "constant" and rng.random() < 0.7 else None
    if axes is not None:
        axes = np.where(rng.random(len(axes)) < 0.3, axes - len(dims), axes).astype(choice(rng, [np.int32, np.int64]))
    return single("Pad", [values(rng, dims, dtype), pads, constant, axes], mode=mode)


@recipe("PadCrop")
def pad_crop(rng):
    """Negative pads, which the reference does not know."""
    dims = shape(rng, rank=int(rng.integers(1, 5)), low=3)
    mode = choice(rng, ["constant", "edge"])
    pads = rng.integers(-1, 3, size=2 * len(dims)).astype(np.int64)
    dtype = choice(rng, [np.float32, np.float64, np.int32, np.int64, np.uint8, np.int8])
    constant = values(rng, (), dtype) if mode == "constant" else None
    case = single("Pad", [values(rng, dims, dtype), pads, constant], mode=mode, opset=18)
    case.peer = "ort"
    return case


@recipe("Pad2")
def pad2(rng):
    dims = shape(rng, rank=int(rng.integers(1, 5)), low=4)
    return single("Pad", [values(rng, dims, choice(rng, [np.float32, np.float64, np.float16]))], opset=2,
                  mode=choice(rng, ["constant", "reflect", "edge"]), pads=rng.integers(0, 4, size=2 * len(dims)).tolist(), value=1.5)


@recipe("Pad1")
def pad1(rng):
    dims = shape(rng, rank=int(rng.integers(1, 5)), low=4)
    case = single("Pad", [values(rng, dims, np.float32)], opset=1, mode=choice(rng, ["constant", "reflect", "edge"]),
                  paddings=rng.integers(0, 4, size=2 * len(dims)).tolist(), value=-2.0)
    case.types["y0"] = onnx.TensorProto.FLOAT
    return case


@recipe("Tile")
def tile(rng):
    dims = shape(rng, rank=int(rng.integers(1, 5)))
    return single("Tile", [values(rng, dims, choice(rng, BASE)), rng.integers(0, 4, size=len(dims)).astype(np.int64)])


@recipe("Expand")
def expand(rng):
    full = shape(rng)
    return single("Expand", [values(rng, broadcastable(rng, full), choice(rng, BASE)), np.asarray(full, np.int64)])


@recipe("Gather")
def gather(rng):
    dims = shape(rng, rank=int(rng.integers(1, 5)), low=1)
    axis = int(rng.integers(-len(dims), len(dims)))
    where = indices(rng, shape(rng, rank=int(rng.integers(0, 4))), dims[axis], choice(rng, [np.int32, np.int64]))
    return single("Gather", [values(rng, dims, choice(rng, BASE)), where], axis=axis)


@recipe("GatherElements")
def gather_elements(rng):
    dims = shape(rng, rank=int(rng.integers(1, 5)), low=1)
    axis = int(rng.integers(-len(dims), len(dims)))
    size = list(dims)
    size[axis] = int(rng.integers(0, 9))
    smaller = rng.random() < 0.3
    if smaller:  # the other dimensions too, which the reference does not know
        size = [d if i == axis % len(dims) else int(rng.integers(1, d + 1)) for i, d in enumerate(size)]
    where = indices(rng, size, dims[axis], choice(rng, [np.int32, np.int64]))
    dtype = choice(rng, [np.float32, np.float64, np.int32, np.int64, np.uint8, np.int16] if smaller else BASE)
    case = single("GatherElements", [values(rng, dims, dtype), where], axis=axis, opset=18)
    case.peer = "ort" if smaller else "reference"
    return case


@recipe("GatherND")
def gather_nd(rng):
    dims = shape(rng, rank=int(rng.integers(1, 5)), low=1)
    batch = int(rng.integers(0, len(dims)))
    depth = int(rng.integers(1, len(dims) - batch + 1))
    size = dims[:batch] + tuple(rng.integers(0 if rng.random() < 0.1 else 1, 6, size=int(rng.integers(0, 3))))
    where = np.stack([indices(rng, size, d) for d in dims[batch:batch + depth]], -1)
    return single("GatherND", [values(rng, dims, choice(rng, BASE)), where], batch_dims=batch)


@recipe("ScatterElements")
def scatter_elements(rng):
    dims = shape(rng, rank=int(rng.integers(1, 4)), low=1)
    axis = int(rng.integers(-len(dims), len(dims)))
    reduction = choice(rng, ["none", "add", "mul", "max", "min"])
    size = list(dims)
    size[axis] = int(rng.integers(1, dims[axis] + 1))
    # Without a reduction, equal indices would leave the result to the order of writes.
    where = np.argsort(rng.random(dims), axis=axis)
    where = np.take(where, range(size[axis]), axis=axis).astype(choice(rng, [np.int32, np.int64]))
    if reduction != "none":
        where = indices(rng, size, dims[axis])
    dtype = choice(rng, BASE if reduction == "none" else NUMBERS)
    return single("ScatterElements", [values(rng, dims, dtype), where, values(rng, size, dtype)], axis=axis, reduction=reduction, dtype=dtype)


@recipe("Scatter")
def scatter(rng):
    dims = shape(rng, rank=int(rng.integers(1, 4)), low=1)
    axis = int(rng.integers(0, len(dims)))
    size = tuple(int(rng.integers(1, d + 1)) for d in dims)
    where = np.argsort(rng.random(dims), axis=axis)[tuple(slice(0, d) for d in size)].astype(choice(rng, [np.int32, np.int64]))
    dtype = choice(rng, [np.float32, np.float64, np.int32, np.uint8, np.bool_])
    case = single("Scatter", [values(rng, dims, dtype), where, values(rng, size, dtype)], axis=axis, opset=choice(rng, [9, 10]))
    case.peer = "ort"
    return case


@recipe("ScatterND")
def scatter_nd(rng):
    dims = shape(rng, rank=int(rng.integers(1, 4)), low=1)
    reduction = choice(rng, ["none", "add", "mul", "max", "min"])
    if reduction == "none":  # equal tuples would leave the result to the order of writes
        rows = rng.permutation(dims[0])[: int(rng.integers(1, dims[0] + 1))].astype(np.int64)[:, None]
    else:
        depth = int(rng.integers(1, len(dims) + 1))
        count = tuple(rng.integers(1, 7, size=int(rng.integers(0, 3))))
        rows = np.stack([indices(rng, count, d) for d in dims[:depth]], -1)
    dtype = choice(rng, BASE if reduction == "none" else NUMBERS)
    updates = values(rng, rows.shape[:-1] + tuple(dims[rows.shape[-1]:]), dtype)
    return single("ScatterND", [values(rng, dims, dtype), rows, updates], reduction=reduction, dtype=dtype)


@recipe("TensorScatter")
def tensor_scatter(rng):
    dims = list(shape(rng, rank=int(rng.integers(2, 5)), low=1))
    axis = int(rng.integers(1, len(dims)))
    new = list(dims)
    new[axis] = int(rng.integers(0, dims[axis] + 1))
    mode = choice(rng, ["linear", "circular"])
    where = rng.integers(0, dims[axis] if mode == "circular" else dims[axis] - new[axis] + 1, size=dims[0]).astype(np.int64)
    dtype = choice(rng, ANY)
    return single("TensorScatter", [values(rng, dims, dtype), values(rng, new, dtype), where if rng.random() < 0.9 else None],
                  axis=axis - (len(dims) if rng.random() < 0.5 else 0), mode=mode)


@recipe("DepthToSpace")
def depth_to_space(rng):
    block = int(rng.integers(1, 4))
    dims = (int(rng.integers(1, 3)), block * block * int(rng.integers(1, 4)), int(rng.integers(1, 6)), int(rng.integers(1, 6)))
    opset = choice(rng, [1, 11, 13, 28])
    # The reference knows the first version's only order as the default of the later ones.
    return single("DepthToSpace", [values(rng, dims, choice(rng, FLOATS[:3] if opset < 13 else PLAIN))], blocksize=block,
                  mode=choice(rng, ["DCR", "CRD"]) if opset > 1 else None, opset=opset)


@recipe("SpaceToDepth")
def space_to_depth(rng):
    block = int(rng.integers(1, 4))
    dims = (int(rng.integers(1, 3)), int(rng.integers(1, 4)), block * int(rng.integers(1, 5)), block * int(rng.integers(1, 5)))
    opset = choice(rng, [1, 13, 28])
    return single("SpaceToDepth", [values(rng, dims, choice(rng, FLOATS[:3] if opset < 13 else PLAIN))], blocksize=block,
                  mode=choice(rng, ["DCR", "CRD"]) if opset == 28 else None, opset=opset)


@recipe("CenterCropPad")
def center_crop_pad(rng):
    dims = shape(rng, rank=int(rng.integers(1, 5)))
    axes = [int(a) for a in rng.permutation(len(dims))[: int(rng.integers(1, len(dims) + 1))]] if rng.random() < 0.6 else None
    sizes = [int(rng.integers(0, dims[a] + 9)) for a in (range(len(dims)) if axes is None else axes)]
    if axes is not None and rng.random() < 0.5:
        axes = [a - len(dims) for a in axes]
    return single("CenterCropPad", [values(rng, dims, choice(rng, PLAIN)), np.asarray(sizes, choice(rng, [np.int32, np.int64]))], axes=axes)


@recipe("ReverseSequence")
def reverse_sequence(rng):
    time_axis = int(rng.integers(0, 2))
    dims = shape(rng, rank=int(rng.integers(2, 5)), low=1)
    lengths = rng.integers(1, dims[time_axis], size=dims[1 - time_axis], endpoint=True).astype(np.int64)
    opset = choice(rng, [10, 28])
    return single("ReverseSequence", [values(rng, dims, choice(rng, [np.float32, np.float64, np.int8, np.uint16] if opset == 10 else PLAIN)), lengths],
                  time_axis=time_axis, batch_axis=1 - time_axis, opset=opset)


@recipe("OneHot")
def one_hot(rng):
    depth = int(rng.integers(1, 9))
    dims = shape(rng, rank=int(rng.integers(0, 4)))
    kind = choice(rng, [np.int32, np.int64, np.int64, np.int8, np.float32, np.uint8, np.uint64, np.float16])
    where = np.abs(indices(rng, dims, depth + 2)) if kind in (np.uint8, np.uint64) else indices(rng, dims, depth + 2)
    dtype = choice(rng, [t for t in NUMBERS if t not in (np.uint8, np.uint16, np.uint32, np.uint64)] + [np.complex64])
    return single("OneHot", [where.astype(kind), np.asarray(depth, choice(rng, [np.int64, np.int32, np.float32])),
                             np.asarray([0, 3], dtype)], axis=int(rng.integers(-len(dims) - 1, len(dims) + 1)))


@recipe("Trilu")
def trilu(rng):
    dims = shape(rng, rank=int(rng.integers(2, 5)))
    k = np.asarray(int(rng.integers(-12, 12)), np.int64) if rng.random() < 0.8 else None
    return single("Trilu", [values(rng, dims, choice(rng, [t for t in BASE if t is not np.object_])), k], upper=int(rng.integers(0, 2)))


@recipe("Compress")
def compress(rng):
    dims = shape(rng, rank=int(rng.integers(1, 4)), low=1)
    axis = int(rng.integers(-len(dims), len(dims))) if rng.random() < 0.7 else None
    length = dims[axis] if axis is not None else int(np.prod(dims))
    condition = values(rng, (int(rng.integers(1, length + 1)) if rng.random() < 0.3 else length,), np.bool_)
    return single("Compress", [values(rng, dims, choice(rng, BASE)), condition], axis=axis)


@recipe("NonZero")
def non_zero(rng):
    data = np.array(values(rng, shape(rng), choice(rng, BASE), -0.5, 0.5))
    if np.issubdtype(data.dtype, np.inexact) and rng.random() < 0.7:
        data[rng.random(data.shape) < 0.5] = choice(rng, [0.0, -0.0, np.nan])
    return single("NonZero", [data])


@recipe("Unique")
def unique(rng):
    dims = shape(rng, rank=int(rng.integers(1, 4)), low=1)
    axis = int(rng.integers(-len(dims), len(dims))) if rng.random() < 0.5 else None
    opset = choice(rng, [11, 28])
    dtype = choice(rng, [np.float32, np.float64, np.float16, np.int64, np.int8, np.uint32, np.bool_] if opset == 11 else PLAIN)
    data = np.asarray(np.round(values(rng, dims, dtype, -1, 1).astype(np.float64)))
    if dtype in (np.float32, np.float64) and rng.random() < 0.3:
        data[rng.random(dims) < 0.1] = np.nan
    # The reference takes unsorted slices along the first axis whatever the attribute says.
    by_occurrence = axis is None or axis % len(dims) == 0
    data = data.reshape(-1) if axis is None and rng.random() < 0.5 else data
    in_order = 1 if not by_occurrence or (axis is None and data.ndim > 1) else int(rng.integers(0, 2))
    return single("Unique", [data.astype(dtype)], outputs=4, axis=axis, sorted=in_order, opset=opset)


@recipe("Range")
def range_(rng):
    dtype = choice(rng, [np.float32, np.float64, np.int16, np.int32, np.int64, np.float16, ml_dtypes.bfloat16])
    low_precision = dtype in (np.float16, ml_dtypes.bfloat16)
    if np.issubdtype(np.dtype(dtype), np.integer):
        start, limit, delta = int(rng.integers(-50, 50)), int(rng.integers(-200, 200)), choice(rng, [-7, -3, -1, 1, 2, 5])
    else:  # quarters are exact, so that every peer counts alike
        start, limit, delta = rng.integers(-20, 20) / 4, rng.integers(-90, 90) / 4, choice(rng, [-0.75, -0.25, 0.25, 0.5, 3.0])
    stash = choice(rng, [None, 1, 11]) if low_precision else None
    return single("Range", [np.asarray(number, dtype) for number in (start, limit, delta)], dtype=dtype, stash_type=stash,
                  opset=None if low_precision else 26)


@recipe("EyeLike")
def eye_like(rng):
    dtypes = NUMBERS + [np.bool_]
    case = single("EyeLike", [values(rng, shape(rng, rank=2), choice(rng, dtypes))], k=int(rng.integers(-12, 12)))
    if rng.random() < 0.7:
        to = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(choice(rng, dtypes)))
        case.nodes[0].attribute.append(onnx.helper.make_attribute("dtype", to))
    return case


@recipe("Flatten")
def flatten(rng):
    dims = shape(rng)
    return single("Flatten", [values(rng, dims, choice(rng, ANY))], axis=int(rng.integers(-len(dims), len(dims) + 1)))


@recipe("Squeeze")
def squeeze(rng):
    dims = [1 if rng.random() < 0.4 else int(d) for d in shape(rng, low=1)]
    ones = [i for i, d in enumerate(dims) if d == 1]
    axes = np.asarray([i - len(dims) if rng.random() < 0.3 else i for i in ones if rng.random() < 0.7], np.int64)
    return single("Squeeze", [values(rng, dims, choice(rng, ANY)), axes if axes.size else None])


@recipe("Unsqueeze")
def unsqueeze(rng):
    dims = shape(rng, rank=int(rng.integers(0, 4)))
    rank = len(dims) + int(rng.integers(1, 3))
    axes = np.asarray([int(a) - rank if rng.random() < 0.3 else int(a) for a in rng.permutation(rank)[: rank - len(dims)]], np.int64)
    return single("Unsqueeze", [values(rng, dims, choice(rng, ANY)), axes])
