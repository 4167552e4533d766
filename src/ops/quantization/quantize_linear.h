#pragma once

// QuantizeLinear (10, 13, 19, 21, 23, 24, 25), DequantizeLinear (10, 13, 19, 21, 23, 24, 25, 28): one scale for the tensor,
// one for each index of an axis (13), or one for each block along an axis (21).

#include <algorithm>

#include "base/check.h"
#include "ops/axis.h"
#include "tessera/provider/attributes.h"

namespace tessera {

struct QuantizeLinearAttributes {
  explicit QuantizeLinearAttributes(const Node& node)
      : axis(AttributeOr<int64_t>(node, "axis", 1)),
        block_size(AttributeOr<int64_t>(node, "block_size", 0)),
        output_dtype(AttributeOr<int64_t>(node, "output_dtype", 0)),
        precision(AttributeOr<int64_t>(node, "precision", 0)),
        saturate(AttributeOr<int64_t>(node, "saturate", 1) != 0) {
    Require(block_size >= 0, "attribute 'block_size' is {}, expected at least 0", block_size);
    Require(output_dtype >= 0 && output_dtype < kElementTypeCount,
            "attribute 'output_dtype' is {}, expected an element type", output_dtype);
    Require(precision == 0 || (precision > 0 && precision < kElementTypeCount && kFloats.contains(rounding())),
            "attribute 'precision' is {}, expected a type of float, double, float16 or bfloat16", precision);
  }

  /// What x / scale is rounded to, where the attribute says it.
  ElementType rounding() const { return static_cast<ElementType>(precision); }

  int64_t axis;
  int64_t block_size;    // 0: not blocked
  int64_t output_dtype;  // 0: as the zero point, or the operator's default
  int64_t precision;     // 0: as numpy computes
  bool saturate;         // of floats of 8 bits

 private:
  static constexpr TypeSet kFloats = {ElementType::kFloat, ElementType::kDouble, ElementType::kFloat16,
                                      ElementType::kBFloat16};
};

/// Consecutive elements; the scale of the first, and whether it advances with them (1) or stays (0).
struct ScaleRun {
  int64_t count;
  int64_t scale;
  int64_t step;
};

/// Which scale belongs to which element of a quantized tensor.
class QuantizationLayout {
 public:
  /// Throws Error unless `scales` fits `x`. `block_size` 0: not blocked.
  QuantizationLayout(const Shape& x, const Shape& scales, int64_t axis, int64_t block_size) {
    if (scales.num_elements() == 1) return;
    single_ = false;
    // A vector has one axis, whatever the attribute's default.
    const size_t at = x.rank() == 1 ? 0 : NormalizeAxis(axis, x.rank());
    const AxisView view(x, at);
    count_ = view.count;
    inner_ = view.inner;
    Shape expected{count_};
    if (block_size > 0) {
      block_ = block_size;
      blocks_ = count_ / block_ + (count_ % block_ != 0 ? 1 : 0);
      expected = x;
      expected[at] = blocks_;
    }
    Require(scales == expected, "scale of shape {} for an input of shape {} along axis {}, expected {}", scales, x, at,
            expected);
  }

  bool single() const noexcept { return single_; }   // one scale for all
  int64_t count() const noexcept { return count_; }  // of the axis
  int64_t inner() const noexcept { return inner_; }  // elements of one of its indices
  int64_t block() const noexcept { return block_; }  // indices that share a scale; 0: not blocked
  int64_t blocks() const noexcept { return blocks_; }

  /// The longest run that starts at flat index `begin` and ends before `end`.
  ScaleRun Run(int64_t begin, int64_t end) const noexcept {
    const int64_t left = end - begin;
    if (single_) return {left, 0, 0};
    if (inner_ == 1) {
      const int64_t outer = begin / count_;
      const int64_t i = begin - outer * count_;
      if (block_ == 0) return {std::min(left, count_ - i), i, 1};
      const int64_t block = i / block_;
      return {std::min({left, count_ - i, (block + 1) * block_ - i}), outer * blocks_ + block, 0};
    }
    const int64_t row = begin / inner_;
    const int64_t k = begin - row * inner_;
    const int64_t outer = row / count_;
    const int64_t i = row - outer * count_;
    if (block_ == 0) return {std::min(left, inner_ - k), i, 0};
    return {std::min(left, inner_ - k), (outer * blocks_ + i / block_) * inner_ + k, 1};
  }

  /// Of the indices of the axis that one run after the other covers from `run` at `begin` on, all with one scale each: how
  /// many end before `end`, and before the axis does. At least 1.
  int64_t WholeIndices(const ScaleRun& run, int64_t begin, int64_t end) const noexcept {
    if (block_ > 0 || run.step != 0 || run.count != inner_) return 1;
    return std::min(count_ - run.scale, (end - begin) / inner_);
  }

 private:
  bool single_ = true;
  int64_t count_ = 1;
  int64_t inner_ = 1;
  int64_t block_ = 0;
  int64_t blocks_ = 1;
};

}  // namespace tessera
