#include "opencl/ops/slices.h"

#include "base/cancellation.h"

namespace tessera::opencl {

SentData SentIntegers::Send(KernelContext& context, const Shape& shape, int64_t count,
                            const std::function<void(std::span<int64_t>)>& fill) {
  if (constant_) {
    const std::lock_guard lock(mutex_);
    if (kept_ && shape_ == shape) return SentData(*kept_);
  }
  const std::span<int64_t> integers = context.scratch<int64_t>(static_cast<size_t>(count));
  fill(integers);
  if (!constant_) return SentData(context, integers.data(), integers.size_bytes());
  MemoryCharge charge(context.allocator(), integers.size_bytes());
  Buffer sent = device_.BufferOf(integers.data(), integers.size_bytes());
  const std::lock_guard lock(mutex_);
  shape_ = shape;
  kept_.emplace(std::move(sent));
  charge_ = std::move(charge);
  return SentData(*kept_);
}

void TupleOffsets(std::span<const int64_t> dims, int64_t depth, std::span<const int64_t> tuples,
                  std::span<int64_t> offsets) {
  std::array<int64_t, kMostDims> steps{};
  Require(dims.size() <= kMostDims, "{} dimensions; OpenCL kernels take at most {}", dims.size(), kMostDims);
  int64_t step = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    steps[i] = step;
    step *= dims[i];
  }
  PacedCancellationPoint point(5);
  for (size_t i = 0; i < offsets.size(); ++i) {
    point.Pass();
    offsets[i] = 0;
    for (size_t d = 0; d < static_cast<size_t>(depth); ++d) {
      offsets[i] += CheckedIndex(tuples[i * static_cast<size_t>(depth) + d], dims[d]) * steps[d];
    }
  }
}

}  // namespace tessera::opencl
