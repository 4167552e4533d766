"""Parts of tensors that are read and assigned as PyTorch exports it: one axis at a time, and at all combinations of indices."""

import numpy as np

from recipe import choice, recipe, values
from recipes_models import Builder


def integers(*numbers):
    return np.asarray(numbers, np.int64)


def bounds(rng):
    """What a Slice takes of an axis: to the end, from the end, every other, backwards."""
    start, stop = int(rng.integers(-3, 3)), choice(rng, [2, 3, -1, 2**63 - 1])
    return choice(rng, [(0, stop, 1), (start, stop, 1), (start, stop, 2), (-1, -5, -1)])


def read(b, value, parts, rank):
    for axis in b.rng.permutation(sorted(parts)):
        start, stop, step = parts[axis]
        value = b("Slice", value, integers(start), integers(stop), integers(axis - (rank if b.rng.random() < 0.3 else 0)), integers(step))
    return value


def assign(b, value, part, parts, rank, reduction):
    sizes, vectors = b("Shape", value), []
    for axis in range(rank):
        along = b("Range", np.asarray(0, np.int64), b("Gather", sizes, np.asarray(axis, np.int64)), np.asarray(1, np.int64))
        if axis in parts:
            start, stop, step = parts[axis]
            along = b("Slice", along, integers(start), integers(stop), integers(0), integers(step))
        vectors.append(along if axis == rank - 1 else b("Reshape", along, integers(-1, *[1] * (rank - 1 - axis))))
    total = vectors[0]
    for vector in vectors[1:]:
        total = b("Add", total, vector)
    common = b("Shape", total)
    if b.rng.random() < 0.5:  # as the exporter guards sizes of -1
        ones = b("Expand", integers(1), b("Shape", common))
        common = b("Where", b("Equal", common, b("Neg", ones)), ones, common)
    tuples = b("Concat", *[b("Unsqueeze", b("Expand", vector, common), integers(-1)) for vector in vectors], axis=-1)
    return b("ScatterND", value, tuples, b("Reshape", part, common), reduction=reduction)


@recipe("ModelSlices")
def slices(rng):
    rank = int(rng.integers(2, 5))
    dtype = choice(rng, [np.float32, np.float32, np.int64, np.uint8, np.float16])

    def inputs():
        return {"x": values(rng, [int(size) for size in rng.integers(1, 7, rank)], dtype)}

    b = Builder(rng, inputs())
    value = b("Identity", "x")
    for _ in range(int(rng.integers(1, 4))):
        parts = {axis: bounds(rng) for axis in range(rank) if rng.random() < 0.6}
        reduction = choice(rng, ["none", "none", "none", "add"])
        value = assign(b, value, b("Add", read(b, value, parts, rank), np.asarray(1, dtype)), parts, rank, reduction)
    parts = {axis: bounds(rng) for axis in range(rank) if rng.random() < 0.6}
    return b.case([b("Identity", value), b("Identity", read(b, value, parts, rank))], opset=18, dynamic=True, variants=[inputs(), inputs()])
