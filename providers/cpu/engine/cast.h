#pragma once

// Elements of any type to any other but the complex ones, as Cast means it.

#include <cstdint>

#include "kernels/elementwise/cast.h"
#include "tessera/numeric.h"

namespace tessera::cpu {

struct CastOptions {
  /// To the 8-bit floats: the largest value, not infinity or NaN, for what lies beyond.
  bool saturate = true;
  /// To Float8E8M0.
  ScaleRounding rounding = ScaleRounding::kUp;
};

/// A conversion between two element types, chosen once. Source type, then a type of the language that holds its values
/// exactly (float for the narrower floats, int8 and uint8 for the packed integers), the same for the target, then the
/// target.
class ElementCast {
 public:
  /// Throws Error for complex types.
  ElementCast(ElementType from, ElementType to, const CastOptions& options = {});

  ElementType from() const noexcept { return from_; }
  ElementType to() const noexcept { return to_; }

  /// Time of one element on one core.
  double cost_ns() const noexcept { return cost_ns_; }

  /// Elements [from_begin, from_begin + count) of the tensor at `from` to those from `to_begin` on of the tensor at `to`.
  /// Of a packed target, `to_begin` is a multiple of 8. Both may be the same elements of one buffer where their sizes
  /// agree.
  void Run(const void* from, int64_t from_begin, void* to, int64_t to_begin, int64_t count) const;

 private:
  void RunPiece(const void* from, int64_t from_begin, void* to, int64_t to_begin, int64_t count) const;
  void RunBlock(const void* from, int64_t from_begin, void* to, int64_t to_begin, int64_t count) const;

  ElementType from_;
  ElementType to_;
  ElementType from_carrier_;
  ElementType to_carrier_;
  CastOptions options_;
  CastLoop loop_ = nullptr;  // between the carriers
  double cost_ns_ = 0.2;
};

}  // namespace tessera::cpu
