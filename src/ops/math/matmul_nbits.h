#pragma once

// com.microsoft MatMulNBits (1): matmul with weights of 2, 4 or 8 bits, with a scale for each block of a column.

#include <bit>

#include "base/check.h"
#include "base/checked.h"
#include "base/rounding.h"
#include "tessera/provider/attributes.h"
#include "tessera/value.h"

namespace tessera {

struct MatMulNBitsAttributes {
  explicit MatMulNBitsAttributes(const Node& node)
      : k(AttributeOr<int64_t>(node, "K", 0)),
        n(AttributeOr<int64_t>(node, "N", 0)),
        bits(AttributeOr<int64_t>(node, "bits", 4)),
        block_size(AttributeOr<int64_t>(node, "block_size", 0)),
        accuracy_level(AttributeOr<int64_t>(node, "accuracy_level", 0)) {
    Require(bits == 2 || bits == 4 || bits == 8, "bits is {}; 2, 4 or 8 is expected", bits);
    Require(k > 0 && n > 0, "K is {} and N {}; both must be positive", k, n);
    Require(block_size >= 16 && block_size <= (int64_t{1} << 30) && std::has_single_bit(static_cast<uint64_t>(block_size)),
            "block_size is {}; a power of two from 16 on is expected", block_size);
    Require(AttributeOr<int64_t>(node, "weight_prepacked", 0) == 0, "the weights are packed for another device");
    blocks = CeilDiv(k, block_size);
  }

  int64_t block_bytes() const { return block_size * bits / 8; }
  /// Of the packed zero points of a column.
  int64_t zero_row_bytes() const { return CeilDiv(CheckedMul(blocks, bits), int64_t{8}); }

  /// The result's shape. Throws Error where A does not fit.
  Shape ResultShape(const Shape& a) const {
    Require(a.rank() > 0 && a.back() == k, "A is {}; K is {}", a, k);
    Shape shape = a;
    shape[a.rank() - 1] = n;
    return shape;
  }

  /// Throws Error where inputs 1, 2, 3 and 5 do not fit; null where they are omitted. `real` is A's type.
  void Check(const Tensor& quantized, const Tensor& scales, const Tensor* zeros, const Tensor* bias,
             ElementType real) const {
    const int64_t all = CheckedMul(n, blocks);
    Require(quantized.is(ElementType::kUInt8) && quantized.num_elements() == CheckedMul(all, block_bytes()),
            "B is {}; [{},{},{}] is expected", quantized.shape(), n, blocks, block_bytes());
    Require(scales.type() == real && scales.num_elements() == all, "scales is {}; [{},{}] is expected", scales.shape(), n,
            blocks);
    if (zeros != nullptr) {
      const bool packed = zeros->is(ElementType::kUInt8);
      Require(packed || zeros->type() == real, "zero_points are {}; uint8 or A's type is expected",
              ElementTypeName(zeros->type()));
      Require(zeros->num_elements() == (packed ? CheckedMul(n, zero_row_bytes()) : all),
              "zero_points is {}; [{},{}] is expected", zeros->shape(), n, packed ? zero_row_bytes() : blocks);
    }
    Require(bias == nullptr || (bias->type() == real && bias->num_elements() == n), "the bias is {}; [{}] is expected",
            OptionalShape{bias}, n);
  }

  int64_t k, n, bits, block_size, accuracy_level;
  int64_t blocks;  // of each column
};

}  // namespace tessera
