#include "ops/nn/byte_product.h"

#include <algorithm>

#include "base/check.h"
#include "base/checked.h"
#include "base/rounding.h"
#include "ops/nn/integer_matmul.h"
#include "ops/nn/shared_lines.h"
#include "simd/pair_corrections.h"
#include "types.h"

namespace tessera::cpu {
namespace {

constexpr int64_t kLeftBytes = 192 << 10;  // of rows that stay in the second cache while blocks pass

}  // namespace

bool IsSingle(const KernelInfo& info, size_t i) {
  if (!info.has_input(i)) return true;
  const TypeInfo& type = info.input_info(i);
  const auto shape = type.is_tensor() && type.shape ? ToShape(*type.shape) : std::nullopt;
  return shape && shape->num_elements() == 1;
}

ByteProduct::ByteProduct(const KernelInfo& info, size_t matrix, size_t zero_point, bool turned) {
  const Tensor* b = info.constant_input(matrix);
  const Tensor* zero = info.constant_input(zero_point);
  if (b == nullptr || b->shape().rank() != 2 || b->num_elements() == 0 || (info.has_input(zero_point) && zero == nullptr)) return;
  if (!b->is(ElementType::kInt8) && !b->is(ElementType::kUInt8)) return;
  const int64_t k = b->shape()[turned ? 1 : 0], n = b->shape()[turned ? 0 : 1];
  if (!ZerosFit(*b, zero, n)) return;
  zeros_ = SignedZeros(*b, zero, n);
  const LineSource source{static_cast<const uint8_t*>(b->raw()), b->is(ElementType::kInt8), n, k, turned ? k : 1, turned ? 1 : n};
  lines_ = SharedLines(info, *b, turned ? "u8s8_turned" : "u8s8", [&] { return PackLines(info.threads(), source, LineSide::kVectors); });
  if (lines_ == nullptr) return;
  shape_ = Shape{k, n};
  info.ReleaseConstant(matrix);
}

ByteProduct::Rows ByteProduct::LayOut(KernelContext& context, const Tensor& a, int64_t rows) const {
  const int64_t k = shape_[0];
  const auto* data = static_cast<const uint8_t*>(a.raw());
  const bool is_signed = a.is(ElementType::kInt8);
  int32_t* sums = zeros_.empty() ? nullptr : context.scratch<int32_t>(static_cast<size_t>(rows)).data();
  const bool wide = lines_->wide();
  const bool copies = is_signed || wide || k % 4 != 0;
  const bool corrected = !lines_->corrections.empty();
  if (!copies && sums == nullptr && !corrected) return {{data, k}, nullptr};
  const int64_t row = wide ? 2 * RoundUp(k, 2) : copies ? RoundUp(k, 4) : k;
  uint8_t* to = copies ? context.scratch<uint8_t>(static_cast<size_t>(CheckedMul(rows, row))).data() : nullptr;
  const uint8_t flip = is_signed ? 0x80 : 0;
  context.threads().ParallelFor(rows, static_cast<double>(k) * 0.1, [&](int64_t begin, int64_t end) {
    for (int64_t m = begin; m < end; ++m) {
      const uint8_t* from = data + m * k;
      if (wide) {
        auto* pairs = reinterpret_cast<int16_t*>(to + m * row);
        for (int64_t i = 0; i < k; ++i) pairs[i] = static_cast<uint8_t>(from[i] ^ flip);
        if (k % 2 != 0) pairs[k] = 0;
      } else if (copies) {
        for (int64_t i = 0; i < k; ++i) to[m * row + i] = static_cast<uint8_t>(from[i] ^ flip);
        std::fill_n(to + m * row + k, row - k, uint8_t{0});
      }
      if (sums == nullptr) continue;
      int32_t sum = 0;
      for (int64_t i = 0; i < k; ++i) sum += static_cast<uint8_t>(from[i] ^ flip);
      sums[m] = sum;
    }
  });
  const ByteRows bytes{copies ? to : data, row, corrected ? Turn(context, copies ? to : data, row, rows) : nullptr};
  return {bytes, sums};
}

const int16_t* ByteProduct::Turn(KernelContext& context, const uint8_t* data, int64_t row, int64_t rows) const {
  const int64_t k = shape_[0], size = TurnedSize(k), parts = CeilDiv(rows, kTurnedRows);
  int16_t* turned = context.scratch<int16_t>(static_cast<size_t>(CheckedMul(parts, size))).data();
  context.threads().ParallelFor(parts, static_cast<double>(size) * 0.2, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      TurnPairs(data + i * kTurnedRows * row, row, std::min(kTurnedRows, rows - i * kTurnedRows), k, turned + i * size);
    }
  });
  return turned;
}

void ByteProduct::Run(KernelContext& context, const Tensor& a, int64_t rows, int32_t a_zero, const ByteProductOutput& out) const {
  const int64_t k = shape_[0], n = shape_[1];
  if (rows == 0) return;
  if (a.is(ElementType::kInt8)) a_zero += 128;
  const Rows left = LayOut(context, a, rows);
  const int64_t blocks = CeilDiv(n, lines_->width);
  const auto padded = static_cast<size_t>(blocks * lines_->width);
  // Sums wrap as in the definition.
  const auto add = context.scratch<uint32_t>(padded);
  const bool scaled = out.kind != Int8Store::kSums;
  const auto scales = context.scratch<float>(scaled ? padded : 0);
  std::fill(add.begin() + n, add.end(), 0u);
  if (scaled) std::fill(scales.begin() + n, scales.end(), 0.0f);
  for (int64_t i = 0; i < n; ++i) {
    const int32_t zero = zeros_.empty() ? 0 : zeros_[static_cast<size_t>(i)];
    add[i] = static_cast<uint32_t>(out.bias == nullptr ? 0 : out.bias[i]) + static_cast<uint32_t>(lines_->offsets[static_cast<size_t>(i)]) -
             static_cast<uint32_t>(a_zero) * static_cast<uint32_t>(lines_->sums[static_cast<size_t>(i)]) +
             static_cast<uint32_t>(k) * static_cast<uint32_t>(a_zero) * static_cast<uint32_t>(zero);
    if (scaled) scales[i] = out.scales[out.scales.size() == 1 ? 0 : static_cast<size_t>(i)];
  }
  Int8Store store{out.kind, out.data, n, reinterpret_cast<const int32_t*>(add.data()), scaled ? scales.data() : nullptr, nullptr, out.zero, left.sums, nullptr};
  if (out.shift != nullptr) {
    const auto shift = context.scratch<float>(padded);
    std::copy_n(out.shift, n, shift.begin());
    std::fill(shift.begin() + n, shift.end(), 0.0f);
    store.bias = shift.data();
  }
  if (left.sums != nullptr) {
    const auto zeros = context.scratch<int32_t>(padded);
    std::transform(zeros_.begin(), zeros_.end(), zeros.begin(), [](int32_t zero) { return -zero; });
    std::fill(zeros.begin() + n, zeros.end(), 0);
    store.line_zeros = zeros.data();
  }
  const int64_t want = context.threads().num_threads() == 1 ? 1 : 4 * context.threads().num_threads();
  const int64_t block_tasks = std::min(blocks, want);
  const int64_t most_rows = std::max<int64_t>(kLeftBytes / left.bytes.row, 24);
  const int64_t row_tasks = std::max(CeilDiv(rows, most_rows), std::min(CeilDiv(want, block_tasks), (rows + 11) / 12));
  const int64_t step = RoundUp(CeilDiv(rows, row_tasks), left.bytes.turned == nullptr ? 12 : 3 * kTurnedRows);
  const double work = static_cast<double>(rows) * static_cast<double>(n) * static_cast<double>(k) * 0.008;
  const int64_t tasks = block_tasks * row_tasks;
  context.threads().ParallelFor(tasks, work / static_cast<double>(tasks), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t m0 = i / block_tasks * step, part = i % block_tasks;
      if (m0 >= rows) continue;
      MultiplyRows(*lines_, left.bytes, m0, std::min(rows, m0 + step), blocks * part / block_tasks, blocks * (part + 1) / block_tasks, store);
    }
  });
}

}  // namespace tessera::cpu
