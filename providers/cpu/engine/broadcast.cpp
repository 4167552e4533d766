#include "cpu/engine/broadcast.h"

#include <algorithm>
#include <complex>
#include <cstring>

#include "base/check.h"
#include "base/work_array.h"

namespace tessera::cpu {
namespace {

// Spans shorter than this are gathered into longer ones: a loop call costs about as much as eight elements.
constexpr int64_t kShortSpan = 16;
constexpr int64_t kBroadcastChunk = 512;
constexpr size_t kMaxTrivialSize = 16;

int64_t DimFromBack(const Shape& shape, size_t i) noexcept { return i < shape.rank() ? shape[shape.rank() - 1 - i] : 1; }

template <class T>
void GatherAs(const BroadcastGroups& groups, const void* data, size_t operand, int64_t begin, int64_t count, void* buffer) {
  int64_t index[BroadcastGroups::kMaxGroups];
  int64_t offset = 0;
  int64_t rest = begin;
  for (size_t g = 0; g < groups.count(); ++g) {
    index[g] = rest % groups.size(g);
    rest /= groups.size(g);
    offset += index[g] * groups.stride(operand, g);
  }
  const T* source = static_cast<const T*>(data);
  T* target = static_cast<T*>(buffer);
  const int64_t row = groups.size(0);
  const bool advances = groups.stride(operand, 0) != 0;
  const bool repeats = groups.count() > 1 && groups.stride(operand, 1) == 0;
  while (count > 0) {
    const int64_t run = std::min(row - index[0], count);
    const T* from = source + offset;
    if (advances) {
      for (int64_t k = 0; k < run; ++k) target[k] = from[k];
      offset -= index[0];
    } else {
      const T value = *from;
      for (int64_t k = 0; k < run; ++k) target[k] = value;
    }
    int64_t filled = run;
    if (repeats && run == row) {  // the next rows are the same
      const int64_t rows = std::min(groups.size(1) - index[1], count / row);
      for (; filled < rows * row; filled += std::min(filled, rows * row - filled)) {
        std::memcpy(target + filled, target, static_cast<size_t>(std::min(filled, rows * row - filled)) * sizeof(T));
      }
      index[1] += rows - 1;
    }
    target += filled;
    count -= filled;
    index[0] = 0;
    for (size_t g = 1; g < groups.count(); ++g) {
      offset += groups.stride(operand, g);
      if (++index[g] < groups.size(g)) break;
      offset -= groups.stride(operand, g) * groups.size(g);
      index[g] = 0;
    }
  }
}

/// Rows of group 0, each one call of the loop.
void RunRows(const BroadcastGroups& groups, std::span<const Operand> inputs, int64_t begin, int64_t end, char* output,
             size_t output_size, SpanLoop loop, const void* params) {
  int64_t index[BroadcastGroups::kMaxGroups];
  int64_t offset[kMaxOperands] = {};
  int64_t rest = begin;
  for (size_t g = 0; g < groups.count(); ++g) {
    index[g] = rest % groups.size(g);
    rest /= groups.size(g);
    for (size_t i = 0; i < inputs.size(); ++i) offset[i] += index[g] * groups.stride(i, g);
  }
  const unsigned advancing = groups.advancing(0);
  while (begin < end) {
    const int64_t run = std::min(groups.size(0) - index[0], end - begin);
    const void* pointers[kMaxOperands];
    for (size_t i = 0; i < inputs.size(); ++i) {
      pointers[i] = static_cast<const char*>(inputs[i].data) + offset[i] * static_cast<int64_t>(inputs[i].element_size);
      offset[i] -= index[0] * groups.stride(i, 0);
    }
    loop(pointers, advancing, output + begin * static_cast<int64_t>(output_size), run, params);
    begin += run;
    index[0] = 0;
    for (size_t g = 1; g < groups.count(); ++g) {
      for (size_t i = 0; i < inputs.size(); ++i) offset[i] += groups.stride(i, g);
      if (++index[g] < groups.size(g)) break;
      for (size_t i = 0; i < inputs.size(); ++i) offset[i] -= groups.stride(i, g) * groups.size(g);
      index[g] = 0;
    }
  }
}

/// Chunks into which the operands that repeat are copied first.
void RunGathered(const BroadcastGroups& groups, std::span<const Operand> inputs, unsigned whole, unsigned single,
                 int64_t begin, int64_t end, char* output, size_t output_size, SpanLoop loop, const void* params) {
  constexpr int64_t kBuffer = kBroadcastChunk * static_cast<int64_t>(kMaxTrivialSize);
  const WorkArray<char> buffers(inputs.size() * kBuffer);
  for (; begin < end; begin += kBroadcastChunk) {
    const int64_t count = std::min(kBroadcastChunk, end - begin);
    const void* pointers[kMaxOperands];
    for (size_t i = 0; i < inputs.size(); ++i) {
      if ((single >> i & 1) != 0) {
        pointers[i] = inputs[i].data;
      } else if ((whole >> i & 1) != 0) {
        pointers[i] = static_cast<const char*>(inputs[i].data) + begin * static_cast<int64_t>(inputs[i].element_size);
      } else {
        char* const buffer = buffers + static_cast<int64_t>(i) * kBuffer;
        groups.Gather(inputs[i], i, begin, count, buffer);
        pointers[i] = buffer;
      }
    }
    loop(pointers, ~single, output + begin * static_cast<int64_t>(output_size), count, params);
  }
}

}  // namespace

Shape BroadcastShape(const Shape& a, const Shape& b) {
  const size_t rank = std::max(a.rank(), b.rank());
  Shape result(rank);
  for (size_t i = 0; i < rank; ++i) {
    const int64_t x = DimFromBack(a, i);
    const int64_t y = DimFromBack(b, i);
    Require(x == y || x == 1 || y == 1, "shapes {} and {} do not broadcast: {} against {}", a, b, x, y);
    result[rank - 1 - i] = x == 1 ? y : x;
  }
  return result;
}

bool BroadcastsTo(const Shape& from, const Shape& to) noexcept {
  if (from.rank() > to.rank()) return false;
  for (size_t i = 0; i < from.rank(); ++i) {
    const int64_t dim = DimFromBack(from, i);
    if (dim != 1 && dim != DimFromBack(to, i)) return false;
  }
  return true;
}

Shape LegacyBroadcastShape(const Shape& a, const Shape& b, int64_t axis) {
  if (b.num_elements() == 1) return Shape(a.rank(), 1);
  const int64_t rank_a = static_cast<int64_t>(a.rank());
  const int64_t rank_b = static_cast<int64_t>(b.rank());
  if (axis == kSuffix) {
    axis = rank_a - rank_b;
  } else if (axis < 0) {
    axis += rank_a;
  }
  Require(axis >= 0 && axis <= rank_a && rank_b <= rank_a - axis, "shape {} does not lie on {} at axis {}", b, a, axis);
  Shape result(a.rank(), 1);
  for (size_t i = 0; i < b.rank(); ++i) {
    const size_t d = static_cast<size_t>(axis) + i;
    Require(b[i] == a[d] || b[i] == 1, "shape {} does not lie on {} at axis {}", b, a, axis);
    result[d] = b[i];
  }
  return result;
}

BroadcastGroups::BroadcastGroups(std::span<const Operand> inputs, const Shape& output_shape) {
  int64_t extent[kMaxOperands];
  std::fill_n(extent, kMaxOperands, 1);
  for (size_t i = 0; i < output_shape.rank(); ++i) {
    const int64_t dim = DimFromBack(output_shape, i);
    if (dim == 1) continue;
    unsigned advancing = 0;
    for (size_t k = 0; k < inputs.size(); ++k) {
      if (DimFromBack(*inputs[k].shape, i) != 1) advancing |= 1u << k;
    }
    if (count_ > 0 && advancing_[count_ - 1] == advancing) {
      sizes_[count_ - 1] *= dim;
    } else {
      Require(count_ < kMaxGroups, "broadcasting to {} alternates more than {} times", output_shape, kMaxGroups);
      sizes_[count_] = dim;
      advancing_[count_] = advancing;
      for (size_t k = 0; k < inputs.size(); ++k) strides_[k][count_] = (advancing >> k & 1) != 0 ? extent[k] : 0;
      ++count_;
    }
    for (size_t k = 0; k < inputs.size(); ++k) {
      if ((advancing >> k & 1) != 0) extent[k] *= dim;
    }
  }
  if (count_ == 0) {
    sizes_[0] = 1;
    advancing_[0] = ~0u;
    for (size_t k = 0; k < inputs.size(); ++k) strides_[k][0] = 1;
    count_ = 1;
  }
}

void BroadcastGroups::Gather(const Operand& operand, size_t i, int64_t begin, int64_t count, void* buffer) const {
  switch (operand.element_size) {
    case 1: return GatherAs<uint8_t>(*this, operand.data, i, begin, count, buffer);
    case 2: return GatherAs<uint16_t>(*this, operand.data, i, begin, count, buffer);
    case 4: return GatherAs<uint32_t>(*this, operand.data, i, begin, count, buffer);
    case 8: return GatherAs<uint64_t>(*this, operand.data, i, begin, count, buffer);
    case 16: return GatherAs<std::complex<double>>(*this, operand.data, i, begin, count, buffer);
    default: Fail(ErrorCode::kNotImplemented, "elements of {} bytes cannot be gathered", operand.element_size);
  }
}

void BroadcastFlat(std::span<const Operand> inputs, unsigned advancing, int64_t count, void* output,
                   size_t output_element_size, SpanLoop loop, const void* params, double cost_ns, ThreadPool& threads) {
  threads.ParallelFor(count, cost_ns, [&](int64_t begin, int64_t end) {
    const void* pointers[kMaxOperands];
    for (size_t i = 0; i < inputs.size(); ++i) {
      const int64_t offset = (advancing >> i & 1) != 0 ? begin * static_cast<int64_t>(inputs[i].element_size) : 0;
      pointers[i] = static_cast<const char*>(inputs[i].data) + offset;
    }
    loop(pointers, advancing, static_cast<char*>(output) + begin * static_cast<int64_t>(output_element_size), end - begin,
         params);
  });
}

void Broadcast(std::span<const Operand> inputs, const Shape& output_shape, void* output, size_t output_element_size,
               SpanLoop loop, const void* params, double cost_ns, ThreadPool& threads) {
  const int64_t total = output_shape.num_elements();
  if (total == 0) return;
  const BroadcastGroups groups(inputs, output_shape);
  if (groups.count() == 1) {
    return BroadcastFlat(inputs, groups.advancing(0), total, output, output_element_size, loop, params, cost_ns, threads);
  }
  unsigned whole = ~0u;
  unsigned single = ~0u;
  bool trivial = output_element_size <= kMaxTrivialSize;
  for (size_t g = 0; g < groups.count(); ++g) {
    whole &= groups.advancing(g);
    single &= ~groups.advancing(g);
  }
  for (const Operand& input : inputs) trivial = trivial && input.element_size <= kMaxTrivialSize;
  if (trivial && groups.size(0) < kShortSpan) {
    threads.ParallelFor(total, cost_ns + 0.5, [&](int64_t begin, int64_t end) {
      RunGathered(groups, inputs, whole, single, begin, end, static_cast<char*>(output), output_element_size, loop, params);
    });
    return;
  }
  const double row_share = 4.0 / static_cast<double>(groups.size(0));
  threads.ParallelFor(total, cost_ns + row_share, [&](int64_t begin, int64_t end) {
    RunRows(groups, inputs, begin, end, static_cast<char*>(output), output_element_size, loop, params);
  });
}

}  // namespace tessera::cpu
