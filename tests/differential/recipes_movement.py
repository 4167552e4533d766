"""Operators that move data."""

import numpy as np

from recipe import FLOATS, INTS, NUMBERS, broadcastable, choice, recipe, shape, single, values

ANY = NUMBERS + [np.bool_]


def indices(rng, dims, limit, dtype=np.int64):
    return rng.integers(-limit, limit, size=dims).astype(dtype)


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
    dtype = choice(rng, ANY)
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
    return single("Split", [values(rng, dims, choice(rng, ANY)), np.asarray(sizes, np.int64)], outputs=len(sizes), axis=axis)


@recipe("Slice")
def slice_(rng):
    dims = shape(rng, rank=int(rng.integers(1, 6)), low=1)
    count = int(rng.integers(1, len(dims) + 1))
    axes = rng.permutation(len(dims))[:count].astype(np.int64)
    starts = np.asarray([rng.integers(-dims[a] - 2, dims[a] + 2) for a in axes], np.int64)
    ends = np.asarray([rng.integers(-dims[a] - 2, dims[a] + 3) for a in axes], np.int64)
    steps = np.asarray([choice(rng, [-3, -2, -1, 1, 1, 1, 2, 3]) for _ in axes], np.int64)
    axes = np.where(rng.random(count) < 0.3, axes - len(dims), axes)
    return single("Slice", [values(rng, dims, choice(rng, ANY)), starts, ends, axes, steps])


@recipe("Pad")
def pad(rng):
    dims = shape(rng, rank=int(rng.integers(1, 5)), low=2)
    mode = choice(rng, ["constant", "reflect", "edge", "wrap"])
    pads = np.asarray([rng.integers(0, min(3, d - 1), endpoint=True) for d in dims * 2], np.int64)
    dtype = choice(rng, NUMBERS)
    constant = values(rng, (), dtype) if mode == "constant" and rng.random() < 0.7 else None
    return single("Pad", [values(rng, dims, dtype), pads, constant], mode=mode)


@recipe("Tile")
def tile(rng):
    dims = shape(rng, rank=int(rng.integers(1, 5)))
    return single("Tile", [values(rng, dims, choice(rng, ANY)), rng.integers(0, 4, size=len(dims)).astype(np.int64)])


@recipe("Expand")
def expand(rng):
    full = shape(rng)
    return single("Expand", [values(rng, broadcastable(rng, full), choice(rng, ANY)), np.asarray(full, np.int64)])


@recipe("Gather")
def gather(rng):
    dims = shape(rng, rank=int(rng.integers(1, 5)), low=1)
    axis = int(rng.integers(-len(dims), len(dims)))
    where = indices(rng, shape(rng, rank=int(rng.integers(0, 4))), dims[axis], choice(rng, [np.int32, np.int64]))
    return single("Gather", [values(rng, dims, choice(rng, ANY)), where], axis=axis)


@recipe("GatherElements")
def gather_elements(rng):
    dims = shape(rng, rank=int(rng.integers(1, 5)), low=1)
    axis = int(rng.integers(-len(dims), len(dims)))
    size = list(dims)
    size[axis] = int(rng.integers(0, 9))
    return single("GatherElements", [values(rng, dims, choice(rng, ANY)), indices(rng, size, dims[axis])], axis=axis)


@recipe("GatherND")
def gather_nd(rng):
    dims = shape(rng, rank=int(rng.integers(2, 5)), low=1)
    depth = int(rng.integers(1, len(dims) + 1))
    where = np.stack([indices(rng, (4,), d) for d in dims[:depth]], -1)
    return single("GatherND", [values(rng, dims, choice(rng, ANY)), where])


@recipe("ScatterElements")
def scatter_elements(rng):
    dims = shape(rng, rank=int(rng.integers(1, 4)), low=1)
    axis = int(rng.integers(-len(dims), len(dims)))
    reduction = choice(rng, ["none", "add", "mul", "max", "min"])
    size = list(dims)
    size[axis] = int(rng.integers(1, dims[axis] + 1))
    # Without a reduction, equal indices would leave the result to the order of writes.
    where = np.argsort(rng.random(dims), axis=axis)
    where = np.take(where, range(size[axis]), axis=axis).astype(np.int64)
    dtype = choice(rng, [np.float32, np.float64, np.int32, np.int64])
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
    rows = rng.permutation(dims[0])[: int(rng.integers(1, dims[0] + 1))].astype(np.int64)[:, None]
    dtype = choice(rng, [np.float32, np.float64, np.int32, np.int64])
    updates = values(rng, (len(rows),) + tuple(dims[1:]), dtype)
    return single("ScatterND", [values(rng, dims, dtype), rows, updates], reduction=choice(rng, ["none", "add", "mul", "max", "min"]), dtype=dtype)


@recipe("DepthToSpace")
def depth_to_space(rng):
    block = int(rng.integers(1, 4))
    dims = (int(rng.integers(1, 3)), block * block * int(rng.integers(1, 4)), int(rng.integers(1, 6)), int(rng.integers(1, 6)))
    opset = choice(rng, [1, 11, 13, 28])
    # The reference knows the first version's only order as the default of the later ones.
    return single("DepthToSpace", [values(rng, dims, choice(rng, FLOATS[:3] if opset < 13 else ANY))], blocksize=block,
                  mode=choice(rng, ["DCR", "CRD"]) if opset > 1 else None, opset=opset)


@recipe("SpaceToDepth")
def space_to_depth(rng):
    block = int(rng.integers(1, 4))
    dims = (int(rng.integers(1, 3)), int(rng.integers(1, 4)), block * int(rng.integers(1, 5)), block * int(rng.integers(1, 5)))
    opset = choice(rng, [1, 13, 28])
    return single("SpaceToDepth", [values(rng, dims, choice(rng, FLOATS[:3] if opset < 13 else ANY))], blocksize=block,
                  mode=choice(rng, ["DCR", "CRD"]) if opset == 28 else None, opset=opset)


@recipe("CenterCropPad")
def center_crop_pad(rng):
    dims = shape(rng, rank=int(rng.integers(1, 5)))
    axes = [int(a) for a in rng.permutation(len(dims))[: int(rng.integers(1, len(dims) + 1))]] if rng.random() < 0.6 else None
    sizes = [int(rng.integers(0, dims[a] + 9)) for a in (range(len(dims)) if axes is None else axes)]
    if axes is not None and rng.random() < 0.5:
        axes = [a - len(dims) for a in axes]
    return single("CenterCropPad", [values(rng, dims, choice(rng, ANY)), np.asarray(sizes, choice(rng, [np.int32, np.int64]))], axes=axes)


@recipe("ReverseSequence")
def reverse_sequence(rng):
    time_axis = int(rng.integers(0, 2))
    dims = shape(rng, rank=int(rng.integers(2, 5)), low=1)
    lengths = rng.integers(1, dims[time_axis], size=dims[1 - time_axis], endpoint=True).astype(np.int64)
    opset = choice(rng, [10, 28])
    return single("ReverseSequence", [values(rng, dims, choice(rng, [np.float32, np.float64, np.int8, np.uint16] if opset == 10 else ANY)), lengths],
                  time_axis=time_axis, batch_axis=1 - time_axis, opset=opset)


@recipe("OneHot")
def one_hot(rng):
    depth = int(rng.integers(1, 9))
    dims = shape(rng, rank=int(rng.integers(1, 4)))
    return single("OneHot", [indices(rng, dims, depth), np.asarray(depth, np.int64), np.asarray([0, 3], np.float32)],
                  axis=int(rng.integers(-len(dims) - 1, len(dims) + 1)), opset=27)


@recipe("Trilu")
def trilu(rng):
    dims = shape(rng, rank=int(rng.integers(2, 5)))
    return single("Trilu", [values(rng, dims, choice(rng, NUMBERS)), np.asarray(int(rng.integers(-4, 5)), np.int64)], upper=int(rng.integers(0, 2)))


@recipe("Compress")
def compress(rng):
    dims = shape(rng, rank=int(rng.integers(1, 4)), low=1)
    axis = int(rng.integers(-len(dims), len(dims)))
    return single("Compress", [values(rng, dims, choice(rng, FLOATS[:3] + INTS)), values(rng, (dims[axis],), np.bool_)], axis=axis, opset=27)


@recipe("NonZero")
def non_zero(rng):
    return single("NonZero", [values(rng, shape(rng, rank=int(rng.integers(1, 5))), choice(rng, [np.float32, np.int64, np.bool_]), -0.5, 0.5)])


@recipe("Unique")
def unique(rng):
    dims = shape(rng, rank=int(rng.integers(1, 4)), low=1)
    axis = int(rng.integers(-len(dims), len(dims))) if rng.random() < 0.5 else None
    opset = choice(rng, [11, 28])
    dtype = choice(rng, [np.float32, np.float64, np.float16, np.int64, np.int8, np.uint32, np.bool_] if opset == 11 else ANY)
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
    dtype = choice(rng, [np.float32, np.float64, np.int32, np.int64])
    return single("Range", [np.asarray(int(rng.integers(-5, 5)), dtype), np.asarray(int(rng.integers(-20, 20)), dtype),
                            np.asarray(choice(rng, [-3, -1, 1, 2]), dtype)], opset=26)


@recipe("EyeLike")
def eye_like(rng):
    return single("EyeLike", [values(rng, shape(rng, rank=2), choice(rng, [np.float32, np.int32] + INTS[:2]))], k=int(rng.integers(-3, 4)))


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


@recipe("Shape", "Size")
def shape_of(rng, op):
    dims = shape(rng)
    # The reference does not clamp what lies below -rank.
    low, high = -len(dims), len(dims) + 3
    bounds = {} if op == "Size" or rng.random() < 0.4 else {"start": int(rng.integers(low, high)), "end": int(rng.integers(low, high))}
    return single(op, [values(rng, dims, choice(rng, ANY))], **bounds)


@recipe("ConstantOfShape")
def constant_of_shape(rng):
    from onnx import numpy_helper
    dtype = choice(rng, [np.float32, np.int64, np.float16, np.uint8, np.bool_, np.float64])
    value = numpy_helper.from_array(values(rng, (1,), dtype)) if rng.random() < 0.8 else None
    return single("ConstantOfShape", [np.asarray(shape(rng), np.int64)], value=value)


@recipe("TensorScatter")
def tensor_scatter(rng):
    batch, heads, cache, size = int(rng.integers(1, 4)), int(rng.integers(1, 3)), int(rng.integers(3, 12)), int(rng.integers(1, 5))
    length = int(rng.integers(1, cache + 1))
    mode = choice(rng, ["linear", "circular"])
    limit = cache - length + 1 if mode == "linear" else cache
    start = rng.integers(0, limit, size=batch).astype(np.int64) if rng.random() < 0.8 else None
    dtype = choice(rng, [np.float32, np.float16, np.int8])
    return single("TensorScatter", [values(rng, (batch, heads, cache, size), dtype), values(rng, (batch, heads, length, size), dtype), start],
                  mode=mode, axis=choice(rng, [-2, 2]))
