#pragma once

// Gather (1, 11, 13), GatherElements (11, 13), GatherND (11, 12, 13): axes, and the shapes that indices ask for.

#include "base/check.h"
#include "ops/axis.h"
#include "tessera/provider/attributes.h"
#include "tessera/shape.h"

namespace tessera {

struct GatherAttributes {
  explicit GatherAttributes(const Node& node) : axis(AttributeOr<int64_t>(node, "axis", 0)) {}

  /// The dimensions of `indices` in the place of `at`, a dimension of data.
  static Shape ResultShape(const Shape& data, const Shape& indices, size_t at) {
    Shape result(data.dims().first(at));
    for (const int64_t dim : indices) result.Append(dim);
    for (size_t i = at + 1; i < data.rank(); ++i) result.Append(data[i]);
    return result;
  }

  int64_t axis;
};

/// The dimension of data that `axis` names, of GatherElements and ScatterElements. Throws Error unless each position of
/// `indices` is one of data in all others.
inline size_t ElementsAxis(const Shape& data, const Shape& indices, int64_t axis) {
  Require(data.rank() == indices.rank(), "data has shape {}, indices {}: the ranks differ", data, indices);
  const size_t at = NormalizeAxis(axis, data.rank());
  if (indices.num_elements() == 0) return at;
  for (size_t i = 0; i < data.rank(); ++i) {
    Require(i == at || indices[i] <= data[i], "dimension {} of indices is {}, of data {}", i, indices[i], data[i]);
  }
  return at;
}

struct GatherNDAttributes {
  explicit GatherNDAttributes(const Node& node) : batch_dims(AttributeOr<int64_t>(node, "batch_dims", 0)) {
    Require(batch_dims >= 0, "batch_dims is {}", batch_dims);
  }

  /// Data from here on are slices, behind the batch's dimensions and those that a tuple of indices names. Throws Error
  /// where the shapes do not fit.
  size_t FirstOfSlice(const Shape& data, const Shape& indices) const {
    const auto batch = static_cast<size_t>(batch_dims);
    Require(data.rank() > batch && indices.rank() > batch, "batch_dims is {}, data has shape {}, indices {}", batch, data,
            indices);
    const int64_t depth = indices.back();
    Require(depth <= static_cast<int64_t>(data.rank() - batch),
            "tuples of {} indices do not fit data of shape {} after {} batch dimensions", depth, data, batch);
    for (size_t i = 0; i < batch && i + 1 < indices.rank(); ++i) {
      Require(indices[i] == data[i], "batch dimension {} is {} in data, {} in indices", i, data[i], indices[i]);
    }
    return batch + static_cast<size_t>(depth);
  }

  int64_t batch_dims;
};

/// A slice for each tuple of indices: the result of GatherND, and the updates of ScatterND.
inline Shape SlicesShape(const Shape& data, const Shape& indices, size_t first_of_slice) {
  Shape shape(indices.dims().first(indices.rank() - 1));
  for (size_t i = first_of_slice; i < data.rank(); ++i) shape.Append(data[i]);
  return shape;
}

}  // namespace tessera
