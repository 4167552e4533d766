#pragma once

// 8-bit GEMMs with zero points and 32-bit accumulators: what MatMulInteger and QLinearMatMul share.

#include <algorithm>
#include <memory>
#include <vector>

#include "base/checked.h"
#include "base/weight_memory.h"
#include "cpu/types.h"
#include "kernels/gemm/gemm_int8.h"
#include "ops/math/matmul.h"
#include "runtime/memory/packed_store.h"
#include "tessera/provider/kernel.h"

namespace tessera::cpu {

/// Zero points or scales of an operand: one for all, one per row (A) or column (B), or one per row or column of every
/// matrix.
template <class V>
struct PerChannel {
  std::span<const V> values;
  int64_t channels = 1;

  int64_t step() const { return values.size() == 1 ? 0 : 1; }
  /// The values of matrix `i`.
  const V* of(int64_t i) const {
    return values.size() <= static_cast<size_t>(channels) ? values.data() : values.data() + i * channels;
  }
};

template <class V>
PerChannel<V> CheckPerChannel(std::span<const V> values, int64_t channels, int64_t matrices, std::string_view what) {
  const auto count = static_cast<int64_t>(values.size());
  Require(count == 1 || count == channels || count == channels * matrices, "{} has {} values; 1, {} or {} are expected",
          what, count, channels, channels * matrices);
  return {values, channels};
}

/// Element `i` of a tensor of int8 or uint8.
inline int32_t QuantizedOf(const Tensor& tensor, int64_t i) {
  return tensor.is(ElementType::kInt8) ? tensor.data<int8_t>()[i] : tensor.data<uint8_t>()[i];
}

/// Whether zero points (null: none) are of the quantized values' type: one, or one for each row or column.
inline bool ZerosFit(const Tensor& quantized, const Tensor* zeros, int64_t channels) {
  return zeros == nullptr ||
         (zeros->is(quantized.type()) && (zeros->num_elements() == 1 || zeros->num_elements() == channels));
}

/// The zero points of values seen as int8, those of uint8 less 128, by row or column; none where all are 0. `zeros` may be
inline std::vector<int32_t> SignedZeros(const Tensor& quantized, const Tensor* zeros, int64_t channels) {
  std::vector<int32_t> points;
  const int32_t shift = quantized.is(ElementType::kInt8) ? 0 : 128;
  for (int64_t i = 0; i < channels; ++i)
    points.push_back((zeros == nullptr ? 0 : QuantizedOf(*zeros, zeros->num_elements() == 1 ? 0 : i)) - shift);
  const bool none = std::all_of(points.begin(), points.end(), [](int32_t point) { return point == 0; });
  return none ? std::vector<int32_t>() : points;
}

inline std::span<const int32_t> ReadZeroPoints(KernelContext& context, const Tensor* tensor) {
  const auto count = tensor == nullptr ? 1 : tensor->num_elements();
  Require(count > 0, "a zero point has no elements");
  const auto values = context.scratch<int32_t>(static_cast<size_t>(count));
  values[0] = 0;
  for (int64_t i = 0; i < count && tensor != nullptr; ++i) values[i] = QuantizedOf(*tensor, i);
  return values;
}

inline bool IsSigned(ElementType type) { return type == ElementType::kInt8; }

/// Panels of a row-major B.
class DenseInt8Panels final : public GemmPanelSource<int16_t> {
 public:
  DenseInt8Panels(const uint8_t* b, bool is_signed, int64_t n, const int32_t* zero_points, int64_t step)
      : b_(b), signed_(is_signed), n_(n), zero_points_(zero_points), step_(step) {}
  void Pack(int64_t k0, int64_t kc, int64_t n0, int64_t width, int16_t* out) const override {
    InterleavePairs(b_ + k0 * n_ + n0, signed_, n_, kc, width, zero_points_ + n0 * step_, step_, out);
  }

 private:
  const uint8_t* b_;
  bool signed_;
  int64_t n_;
  const int32_t* zero_points_;
  int64_t step_;
};

/// A constant B with constant zero points, packed at load. Inputs are numbered by the operator.
class PackedInt8Matrix {
 public:
  PackedInt8Matrix(const KernelInfo& info, size_t b_input, size_t zero_point_input) {
    const Tensor* b = info.constant_input(b_input);
    const Tensor* zero = info.constant_input(zero_point_input);
    if (b == nullptr || b->shape().rank() != 2 || b->num_elements() == 0) return;
    if (BitWidth(b->type()) != 8 || (!b->is(ElementType::kInt8) && !b->is(ElementType::kUInt8))) return;
    if (info.has_input(zero_point_input) && zero == nullptr) return;
    const int64_t k = b->shape()[0];
    const int64_t n = b->shape()[1];
    const int64_t count = zero == nullptr ? 1 : zero->num_elements();
    if (count != 1 && count != n) return;
    std::vector<int32_t> points(static_cast<size_t>(count), 0);
    std::string key = "int8_b";
    for (int64_t i = 0; i < count && zero != nullptr; ++i) {
      points[static_cast<size_t>(i)] = QuantizedOf(*zero, i);
      key += fmt::format(",{}", points[static_cast<size_t>(i)]);
    }
    const Shape size{static_cast<int64_t>(PackedInt8Size(k, n))};
    packed_ = SharedTensor(info, *b, key, ElementType::kInt16, size, [&] {
      auto packed = std::make_shared<Tensor>(ElementType::kInt16, size, WeightMemory());
      PackInt8(
          info.threads(), k, n,
          DenseInt8Panels(static_cast<const uint8_t*>(b->raw()), IsSigned(b->type()), n, points.data(), count == 1 ? 0 : 1),
          packed->mutable_data<int16_t>());
      return packed;
    });
    shape_ = b->shape();
    info.ReleaseConstant(b_input);
  }

  const Shape& shape() const { return shape_; }
  const int16_t* data() const { return packed_ == nullptr ? nullptr : packed_->data<int16_t>(); }

 private:
  Shape shape_;
  std::shared_ptr<const Tensor> packed_;
};

struct IntegerMatMulInputs {
  const Tensor* a;
  const Tensor* b;  // null when packed
  const Tensor* a_zero;
  const Tensor* b_zero;
  const PackedInt8Matrix* packed;
};

/// Calls `destination(shape)` for the [batch, m, n] destination of the accumulators and fills it.
template <class Destination>
MatMulShape IntegerMatMul(KernelContext& context, const IntegerMatMulInputs& in, Destination&& destination) {
  const Shape& b_shape = in.b == nullptr ? in.packed->shape() : in.b->shape();
  const MatMulShape shape = InferMatMulShape(in.a->shape(), b_shape);
  const int64_t batch = shape.batch.num_elements();
  int32_t* out = destination(shape);
  if (out == nullptr || batch * shape.m * shape.n == 0) return shape;
  const int64_t a_count = in.a->shape().rank() < 2 ? 1 : in.a->shape().SizeOfRange(0, in.a->shape().rank() - 2);
  const int64_t b_count = b_shape.rank() < 2 ? 1 : b_shape.SizeOfRange(0, b_shape.rank() - 2);
  const auto a_zero = CheckPerChannel(ReadZeroPoints(context, in.a_zero), shape.m, a_count, "A's zero point");
  // A's matrices are contiguous, so all are widened at once.
  const int64_t a_row = 2 * Pairs(shape.k);
  const auto wide = context.scratch<int16_t>(static_cast<size_t>(CheckedMul(a_count * shape.m, a_row)));
  context.threads().ParallelFor(a_count * shape.m, static_cast<double>(shape.k) * 0.3, [&](int64_t begin, int64_t end) {
    while (begin < end) {
      const int64_t i = begin / shape.m, row = begin % shape.m, rows = std::min(shape.m - row, end - begin);
      WidenRows(static_cast<const uint8_t*>(in.a->raw()) + begin * shape.k, IsSigned(in.a->type()), rows, shape.k, shape.k,
                a_zero.of(i) + row * a_zero.step(), a_zero.step(), wide.data() + begin * a_row);
      begin += rows;
    }
  });
  GemmProblem<int32_t> args;
  args.k = shape.k;
  args.n = shape.n;
  args.out.row = shape.n;
  args.m = b_count == 1 ? shape.m * batch : shape.m;
  args.lhs = {.data = wide.data(), .row = a_row};
  args.out.data = out;
  if (in.b == nullptr) {
    args.rhs.packed = in.packed->data();
    Gemm(context.threads(), args);
    return shape;
  }
  const auto b_zero = CheckPerChannel(ReadZeroPoints(context, in.b_zero), shape.n, b_count, "B's zero point");
  const auto a_matrices = OperandMatrices(context, in.a->shape(), shape.batch, batch);
  const auto b_matrices = OperandMatrices(context, b_shape, shape.batch, batch);
  for (int64_t i = 0; i < (b_count == 1 ? 1 : batch); ++i) {
    const int64_t b = b_matrices[i];
    const DenseInt8Panels panels(static_cast<const uint8_t*>(in.b->raw()) + b * shape.k * shape.n, IsSigned(in.b->type()),
                                 shape.n, b_zero.of(b), b_zero.step());
    args.rhs.source = &panels;
    args.lhs.data = wide.data() + a_matrices[i] * shape.m * a_row;
    args.out.data = out + i * shape.m * shape.n;
    Gemm(context.threads(), args);
  }
  return shape;
}

}  // namespace tessera::cpu
