#pragma once

// ScatterElements (11, 13, 16, 18), Scatter (9, 11), ScatterND (11, 13, 16, 18), TensorScatter (24).

#include <string>

#include "base/check.h"
#include "ops/movement/gather.h"
#include "tessera/provider/attributes.h"
#include "tessera/value.h"

namespace tessera {

/// How updates are combined with what is there.
enum class ScatterReduction : uint8_t { kNone, kAdd, kMul, kMax, kMin };

inline ScatterReduction ScatterReductionOf(const Node& node) {
  const auto name = AttributeOr<std::string>(node, "reduction", "none");
  if (name == "none") return ScatterReduction::kNone;
  if (name == "add") return ScatterReduction::kAdd;
  if (name == "mul") return ScatterReduction::kMul;
  if (name == "max") return ScatterReduction::kMax;
  if (name == "min") return ScatterReduction::kMin;
  Fail(ErrorCode::kInvalidGraph, "reduction is '{}', expected none, add, mul, max or min", name);
}

struct ScatterNDAttributes {
  explicit ScatterNDAttributes(const Node& node) : reduction(ScatterReductionOf(node)) {}

  ScatterReduction reduction;
};

struct ScatterElementsAttributes {
  explicit ScatterElementsAttributes(const Node& node)
      : axis(AttributeOr<int64_t>(node, "axis", 0)), reduction(ScatterReductionOf(node)) {}

  /// The dimension that the axis names. Throws Error where shapes or types do not fit.
  size_t Check(const Tensor& data, const Tensor& indices, const Tensor& updates) const {
    Require(updates.shape() == indices.shape(), "updates have shape {}, indices {}", updates.shape(), indices.shape());
    Require(updates.type() == data.type(), "updates are {}, data {}", ElementTypeName(updates.type()),
            ElementTypeName(data.type()));
    return ElementsAxis(data.shape(), indices.shape(), axis);
  }

  int64_t axis;
  ScatterReduction reduction;
};

/// How many dimensions a tuple of ScatterND's indices names. Throws Error where shapes or types do not fit.
inline int64_t CheckScatterND(const Tensor& data, const Tensor& indices, const Tensor& updates) {
  Require(indices.is(ElementType::kInt64), "indices are {}, expected int64", ElementTypeName(indices.type()));
  Require(updates.type() == data.type(), "updates are {}, data {}", ElementTypeName(updates.type()),
          ElementTypeName(data.type()));
  const Shape &dims = data.shape(), &index_dims = indices.shape();
  Require(dims.rank() > 0 && index_dims.rank() > 0, "data has shape {}, indices {}: scalars are not allowed", dims,
          index_dims);
  const int64_t depth = index_dims.back();
  Require(depth <= static_cast<int64_t>(dims.rank()), "tuples of {} indices do not fit data of shape {}", depth, dims);
  const Shape expected = SlicesShape(dims, index_dims, static_cast<size_t>(depth));
  Require(updates.shape() == expected, "updates have shape {}, expected {}", updates.shape(), expected);
  return depth;
}

struct TensorScatterAttributes {
  explicit TensorScatterAttributes(const Node& node) : axis(AttributeOr<int64_t>(node, "axis", -2)) {
    const auto mode = AttributeOr<std::string>(node, "mode", "linear");
    Require(mode == "linear" || mode == "circular", "mode is '{}', expected linear or circular", mode);
    circular = mode == "circular";
  }

  /// The dimension of sequences. Throws Error where shapes or types do not fit, or a linear update reaches beyond the
  /// cache. `write_indices`, in host memory, may be null.
  size_t Check(const Tensor& past, const Tensor& update, const Tensor* write_indices) const {
    const Shape &dims = past.shape(), &fresh = update.shape();
    const size_t at = NormalizeAxis(axis, dims.rank());
    Require(at != 0, "the sequence axis cannot be the batch axis");
    bool fits = update.type() == past.type() && fresh.rank() == dims.rank();
    for (size_t i = 0; fits && i < dims.rank(); ++i) fits = i == at ? fresh[i] <= dims[i] : fresh[i] == dims[i];
    Require(fits, "update {} {} does not fit the cache {} {} along axis {}", ElementTypeName(update.type()), fresh,
            ElementTypeName(past.type()), dims, at);
    if (write_indices == nullptr) return at;
    Require(write_indices->is(ElementType::kInt64) && write_indices->shape() == Shape{dims[0]},
            "write_indices are {} {}, expected int64 [{}]", ElementTypeName(write_indices->type()), write_indices->shape(),
            dims[0]);
    const int64_t last = dims[at] - fresh[at];
    for (int64_t b = 0; !circular && b < dims[0]; ++b) {
      const int64_t first = write_indices->data<int64_t>()[b];
      Require(first >= 0 && first <= last, "write index {} of batch {} is outside [0, {}]", first, b, last);
    }
    return at;
  }

  int64_t axis;
  bool circular;
};

}  // namespace tessera
