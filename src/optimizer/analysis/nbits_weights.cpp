#include "optimizer/analysis/nbits_weights.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/checked.h"
#include "base/rounding.h"
#include "tessera/numeric.h"

namespace tessera {
namespace {

/// Columns that are gathered together: what is written of one row of quantized values fills whole cache lines.
constexpr int64_t kColumns = 64;

struct QuantizedType {
  int bits = 0;
  bool is_signed = false;
};

std::optional<QuantizedType> QuantizedTypeOf(ElementType type) {
  switch (type) {
    case ElementType::kInt2: return QuantizedType{2, true};
    case ElementType::kUInt2: return QuantizedType{2, false};
    case ElementType::kInt4: return QuantizedType{4, true};
    case ElementType::kUInt4: return QuantizedType{4, false};
    case ElementType::kInt8: return QuantizedType{8, true};
    case ElementType::kUInt8: return QuantizedType{8, false};
    default: return std::nullopt;
  }
}

/// Element `i` as an unsigned value: signed numbers move up by half their range.
uint8_t QuantizedAt(const Tensor& tensor, QuantizedType type, int64_t i) {
  const int64_t bit = i * type.bits;
  const int quantized = (static_cast<const uint8_t*>(tensor.raw())[bit / 8] >> (bit % 8)) & ((1 << type.bits) - 1);
  return static_cast<uint8_t>(type.is_signed ? quantized ^ (1 << (type.bits - 1)) : quantized);
}

/// The index of value `j` of a strip: those at the same bits of their bytes are adjacent, so that none of them moves.
template <int kBits>
int64_t PlaceInStrip(int64_t j) {
  constexpr int kEach = 8 / kBits;
  return j % kEach * (kColumns / kEach) + j / kEach;
}

/// A strip of at most kColumns unsigned values from element `begin` on, one a byte.
template <int kBits>
void ReadStrip(const uint8_t* packed, bool is_signed, int64_t begin, int64_t count, uint8_t* out) {
  constexpr int kEach = 8 / kBits;
  constexpr int kMask = (1 << kBits) - 1;
  const int flip = is_signed ? 1 << (kBits - 1) : 0;
  for (int e = 0; e < kEach; ++e) {
    const uint8_t* bytes = packed + (begin + e) / kEach;
    const int shift = static_cast<int>((begin + e) % kEach) * kBits;
    uint8_t* to = out + PlaceInStrip<kBits>(e);
    const int64_t held = CeilDiv(count - e, kEach);
    for (int64_t i = 0; i < held; ++i) to[i] = static_cast<uint8_t>(((bytes[i] >> shift) & kMask) ^ flip);
  }
}

/// The strides by which the scale of a column and a k is found.
struct ScaleSteps {
  int64_t column = 0;
  int64_t block = 0;
  int64_t k_of_block = 0;  // k that share a scale
  int64_t At(int64_t n, int64_t k) const { return n * column + k / k_of_block * block; }
};

std::optional<ScaleSteps> StepsOf(const QuantizedMatrix& matrix, int64_t k, int64_t n) {
  const Shape& shape = matrix.scales->shape();
  const int64_t k_axis = matrix.transposed ? 1 : 0;
  const int64_t axis = matrix.axis < 0 ? matrix.axis + 2 : matrix.axis;
  if (matrix.block_size == 0) {
    if (matrix.scales->num_elements() == 1 && shape.rank() <= 1) return ScaleSteps{0, 0, k};
    return shape.rank() == 1 && axis == 1 - k_axis && shape[0] == n ? std::optional(ScaleSteps{1, 0, k}) : std::nullopt;
  }
  if (matrix.block_size < 0 || axis != k_axis || shape.rank() != 2) return std::nullopt;
  const int64_t blocks = (k - 1) / matrix.block_size + 1;
  if (shape[static_cast<size_t>(k_axis)] != blocks || shape[static_cast<size_t>(1 - k_axis)] != n) return std::nullopt;
  return matrix.transposed ? ScaleSteps{blocks, 1, matrix.block_size} : ScaleSteps{1, n, matrix.block_size};
}

/// Quantized values of a part of the columns.
template <int kBits>
void PackColumns(const QuantizedMatrix& matrix, bool is_signed, int64_t begin, int64_t end, NBitsMatrix& result) {
  constexpr int kEach = 8 / kBits;
  constexpr int64_t kStep = 64;  // bytes of a row at a time
  const auto* source = static_cast<const uint8_t*>(matrix.values->raw());
  const int64_t row_bytes = result.values.num_elements() / result.n;
  uint8_t* out = result.values.mutable_data<uint8_t>();
  uint8_t quantized[kColumns] = {};
  uint8_t tile[kStep][kColumns];
  for (int64_t n0 = begin; n0 < end; n0 += kColumns) {
    const int64_t columns = std::min(kColumns, end - n0);
    for (int64_t byte0 = 0; byte0 < row_bytes; byte0 += kStep) {
      const int64_t bytes = std::min(kStep, row_bytes - byte0);
      std::memset(tile, 0, sizeof(tile));
      for (int64_t k = byte0 * kEach; k < std::min(result.k, (byte0 + bytes) * kEach); ++k) {
        ReadStrip<kBits>(source, is_signed, k * result.n + n0, columns, quantized);
        uint8_t* to = tile[k / kEach - byte0];
        const int shift = static_cast<int>(k % kEach) * kBits;
        for (int64_t j = 0; j < kColumns; ++j) to[j] = static_cast<uint8_t>(to[j] | (quantized[j] << shift));
      }
      for (int64_t j = 0; j < columns; ++j) {
        const int64_t place = PlaceInStrip<kBits>(j);
        uint8_t* to = out + (n0 + j) * row_bytes + byte0;
        for (int64_t b = 0; b < bytes; ++b) to[b] = tile[b][place];
      }
    }
  }
}

/// The same where the quantized values of a column are adjacent already.
template <int kBits>
void CopyColumns(const QuantizedMatrix& matrix, bool is_signed, int64_t begin, int64_t end, NBitsMatrix& result) {
  constexpr int kEach = 8 / kBits;
  constexpr int kFlipped = kBits == 2 ? 0xAA : kBits == 4 ? 0x88 : 0x80;
  const auto* source = static_cast<const uint8_t*>(matrix.values->raw());
  const int64_t row_bytes = result.values.num_elements() / result.n;
  const int flip = is_signed ? kFlipped : 0;
  for (int64_t n = begin; n < end; ++n) {
    uint8_t* to = result.values.mutable_data<uint8_t>() + n * row_bytes;
    std::memset(to, 0, static_cast<size_t>(row_bytes));
    const int64_t first = n * result.k, whole = first % kEach == 0 ? result.k / kEach : 0;
    const uint8_t* from = source + first / kEach;
    for (int64_t i = 0; i < whole; ++i) to[i] = static_cast<uint8_t>(from[i] ^ flip);
    for (int64_t k = whole * kEach; k < result.k; ++k) {
      const int quantized = QuantizedAt(*matrix.values, {kBits, is_signed}, first + k);
      to[k / kEach] = static_cast<uint8_t>(to[k / kEach] | (quantized << (k % kEach * kBits)));
    }
  }
}

void PackQuantized(const QuantizedMatrix& matrix, QuantizedType type, NBitsMatrix& result, ThreadPool& threads) {
  const auto pack = [&](int64_t begin, int64_t end) {
    const auto run = [&]<int kBits>() {
      (matrix.transposed ? CopyColumns<kBits> : PackColumns<kBits>)(matrix, type.is_signed, begin, end, result);
    };
    if (type.bits == 2) run.template operator()<2>();
    else if (type.bits == 4) run.template operator()<4>();
    else run.template operator()<8>();
  };
  const int64_t strips = CeilDiv(result.n, kColumns);
  threads.ParallelFor(strips, static_cast<double>(result.k * kColumns),
                      [&](int64_t begin, int64_t end) { pack(begin * kColumns, std::min(result.n, end * kColumns)); });
}

float ScaleAt(const Tensor& scales, int64_t i) {
  if (scales.is(ElementType::kFloat)) return scales.data<float>()[i];
  if (scales.is(ElementType::kFloat16)) return static_cast<float>(scales.data<Float16>()[i]);
  return static_cast<float>(scales.data<BFloat16>()[i]);
}

/// A scale of each block; only float scales change their type.
void SpreadScales(const Tensor& scales, const ScaleSteps& steps, NBitsMatrix& result) {
  const int64_t blocks = result.scales.shape()[1];
  const bool converts = !scales.is(result.scales.type());
  for (int64_t n = 0; n < result.n; ++n) {
    for (int64_t b = 0; b < blocks; ++b) {
      const int64_t from = steps.At(n, b * result.block_size), to = n * blocks + b;
      if (converts || scales.is(ElementType::kFloat)) result.scales.mutable_data<float>()[to] = ScaleAt(scales, from);
      else
        std::memcpy(static_cast<char*>(result.scales.mutable_raw()) + 2 * to,
                    static_cast<const char*>(scales.raw()) + 2 * from, 2);
    }
  }
}

void SpreadZeros(const QuantizedMatrix& matrix, QuantizedType type, const ScaleSteps& steps, NBitsMatrix& result) {
  const int middle = 1 << (type.bits - 1);
  const int none = type.is_signed ? middle : 0;  // the quantized value of zero
  const auto zero_at = [&](int64_t i) {
    if (matrix.zeros == nullptr) return none;
    return static_cast<int>(QuantizedAt(*matrix.zeros, type, matrix.zeros->num_elements() == 1 ? 0 : i));
  };
  const int64_t count = matrix.zeros == nullptr ? 1 : matrix.zeros->num_elements();
  bool all_middle = true;
  for (int64_t i = 0; i < count && all_middle; ++i) all_middle = zero_at(i) == middle;
  if (all_middle) return;
  const int64_t blocks = result.scales.shape()[1], row_bytes = (blocks * type.bits + 7) / 8;
  result.zeros = Tensor(ElementType::kUInt8, Shape{result.n, row_bytes});
  std::memset(result.zeros.mutable_raw(), 0, result.zeros.byte_size());
  for (int64_t n = 0; n < result.n; ++n) {
    uint8_t* row = result.zeros.mutable_data<uint8_t>() + n * row_bytes;
    for (int64_t b = 0; b < blocks; ++b) {
      uint8_t& byte = row[b * type.bits / 8];
      byte = static_cast<uint8_t>(byte | (zero_at(steps.At(n, b * result.block_size)) << (b * type.bits % 8)));
    }
  }
}

}  // namespace

int64_t NBitsBlockSize(int64_t given, int64_t k) {
  int64_t best = 0;
  for (int64_t size = 16; size <= 256 && (given >= k || given % size == 0); size *= 2) {
    const int64_t padding = RoundUp(k, size) - k;
    if (best == 0 || padding <= k / 16) best = size;
  }
  return best;
}

std::optional<NBitsMatrix> ToNBits(const QuantizedMatrix& matrix, ElementType scale_type,
                                   const SessionResources& resources) {
  const Shape& shape = matrix.values->shape();
  const auto type = QuantizedTypeOf(matrix.values->type());
  const ElementType given = matrix.scales->type();
  const bool scales_fit = given == ElementType::kFloat || given == ElementType::kFloat16 || given == ElementType::kBFloat16;
  if (!type || shape.rank() != 2 || matrix.values->num_elements() == 0 || !scales_fit) return std::nullopt;
  if (scale_type != given && scale_type != ElementType::kFloat) return std::nullopt;
  NBitsMatrix result;
  result.k = shape[matrix.transposed ? 1 : 0];
  result.n = shape[matrix.transposed ? 0 : 1];
  result.bits = type->bits;
  const auto steps = StepsOf(matrix, result.k, result.n);
  if (!steps) return std::nullopt;
  if (const Tensor* zeros = matrix.zeros) {
    const bool fits = zeros->num_elements() == 1 || zeros->shape() == matrix.scales->shape();
    if (!fits || zeros->type() != matrix.values->type()) return std::nullopt;
  }
  result.block_size = NBitsBlockSize(steps->k_of_block, result.k);
  if (result.block_size == 0) return std::nullopt;
  const int64_t blocks = (result.k - 1) / result.block_size + 1;
  result.values =
      Tensor(ElementType::kUInt8, Shape{result.n, blocks, result.block_size * result.bits / 8}, resources.load_memory());
  result.scales = Tensor(scale_type, Shape{result.n, blocks}, resources.load_memory());
  PackQuantized(matrix, *type, result, resources.load_threads());
  SpreadScales(*matrix.scales, *steps, result);
  SpreadZeros(matrix, *type, *steps, result);
  return result;
}

}  // namespace tessera
