#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>

#include "optimizer/analysis/nbits_weights.h"

namespace tessera {
namespace {

/// Columns quantized together.
constexpr int64_t kStrip = 32;
constexpr int64_t kMostBlock = 64;
/// Quantized values are 1 to 255.
constexpr int kZero = 128;
constexpr float kMaxQuantized = 127;

/// [k][column] of a block of a strip; zeros past k.
void ReadBlock(const Tensor& weights, bool transposed, const NBitsMatrix& matrix, int64_t k0, int64_t n0, int64_t columns,
               float (&out)[kMostBlock][kStrip]) {
  const float* values = weights.unaligned_data<float>();
  const int64_t count = std::clamp<int64_t>(matrix.k - k0, 0, matrix.block_size);
  std::memset(out, 0, sizeof(out));
  if (transposed) {
    for (int64_t j = 0; j < columns; ++j) {
      for (int64_t i = 0; i < count; ++i) out[i][j] = LoadUnaligned(values + (n0 + j) * matrix.k + k0 + i);
    }
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(out[i], static_cast<const void*>(values + (k0 + i) * matrix.n + n0),
                static_cast<size_t>(columns) * sizeof(float));
  }
}

/// False where a weight is not finite.
bool QuantizeStrip(const Tensor& weights, bool transposed, int64_t n0, NBitsMatrix& matrix) {
  const int64_t columns = std::min(kStrip, matrix.n - n0), blocks = matrix.scales.shape()[1];
  float values[kMostBlock][kStrip];
  uint8_t quantized[kMostBlock][kStrip];
  for (int64_t b = 0; b < blocks; ++b) {
    ReadBlock(weights, transposed, matrix, b * matrix.block_size, n0, columns, values);
    float most[kStrip] = {}, inverse[kStrip];
    bool finite = true;
    for (int64_t i = 0; i < matrix.block_size; ++i) {
      for (int64_t j = 0; j < kStrip; ++j) {
        const float magnitude = std::abs(values[i][j]);
        finite &= magnitude <= std::numeric_limits<float>::max();
        most[j] = std::max(most[j], magnitude);
      }
    }
    if (!finite) return false;
    for (int64_t j = 0; j < kStrip; ++j) {
      const float scale = most[j] / kMaxQuantized;
      inverse[j] = scale >= std::numeric_limits<float>::min() ? 1 / scale : 0;
      if (j < columns) matrix.scales.mutable_data<float>()[(n0 + j) * blocks + b] = inverse[j] > 0 ? scale : 0;
    }
    for (int64_t i = 0; i < matrix.block_size; ++i) {
      for (int64_t j = 0; j < kStrip; ++j) {
        quantized[i][j] =
            static_cast<uint8_t>(static_cast<int>(values[i][j] * inverse[j] + (kZero + 0.5f)));  // halves go up
      }
    }
    for (int64_t j = 0; j < columns; ++j) {
      uint8_t* to = matrix.values.mutable_data<uint8_t>() + ((n0 + j) * blocks + b) * matrix.block_size;
      for (int64_t i = 0; i < matrix.block_size; ++i) to[i] = quantized[i][j];
    }
  }
  return true;
}

}  // namespace

std::optional<NBitsMatrix> QuantizeToNBits(const Tensor& weights, bool transposed, const SessionResources& resources) {
  ThreadPool& threads = resources.load_threads();
  Allocator& memory = resources.load_memory();
  const Shape& shape = weights.shape();
  NBitsMatrix result;
  result.k = shape[transposed ? 1 : 0];
  result.n = shape[transposed ? 0 : 1];
  result.bits = 8;
  result.block_size = NBitsBlockSize(kMostBlock, result.k);
  const int64_t blocks = (result.k - 1) / result.block_size + 1;
  result.values = Tensor(ElementType::kUInt8, Shape{result.n, blocks, result.block_size}, memory);
  result.scales = Tensor(ElementType::kFloat, Shape{result.n, blocks}, memory);
  std::atomic<bool> finite = true;
  threads.ParallelFor((result.n - 1) / kStrip + 1, static_cast<double>(result.k * kStrip), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end && finite; ++i) {
      if (!QuantizeStrip(weights, transposed, i * kStrip, result)) finite = false;
    }
  });
  return finite ? std::optional(std::move(result)) : std::nullopt;
}

}  // namespace tessera
