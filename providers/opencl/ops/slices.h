#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <span>

#include "opencl/device/kernel.h"
#include "opencl/device/scratch.h"

namespace tessera::opencl {

/// An index counted from the front. Throws Error where it is outside.
inline int64_t CheckedIndex(int64_t index, int64_t size) {
  Require(index >= -size && index < size, "an index is {}, expected one in [{}, {})", index, -size, size);
  return index < 0 ? index + size : index;
}

/// Integers that the host makes of an operator's index input and sends to the device: once where the input is constant and
/// the other tensor has the same shape again.
class SentIntegers {
 public:
  SentIntegers(const KernelInfo& info, size_t input)
      : device_(DeviceOf(info)), constant_(info.constant_input(input) != nullptr) {}

  /// `count` integers that `fill` writes; `shape` is what they depend on besides the index input.
  SentData Send(KernelContext& context, const Shape& shape, int64_t count,
                const std::function<void(std::span<int64_t>)>& fill);

 private:
  Device& device_;
  bool constant_;
  std::mutex mutex_;
  Shape shape_;
  std::optional<Buffer> kept_;
  MemoryCharge charge_;  // of what is kept
};

/// Offsets of the slices of `dims` that tuples of `depth` indices name. Throws Error where an index is outside.
void TupleOffsets(std::span<const int64_t> dims, int64_t depth, std::span<const int64_t> tuples,
                  std::span<int64_t> offsets);

/// Elements of an int32 or int64 tensor in host memory, one at a time.
class HostIndices {
 public:
  explicit HostIndices(const Tensor& tensor) : wide_(tensor.is(ElementType::kInt64)), data_(tensor.raw()) {
    Require(wide_ || tensor.is(ElementType::kInt32), "indices are {}, expected int32 or int64",
            ElementTypeName(tensor.type()));
  }
  int64_t operator[](int64_t i) const {
    return wide_ ? static_cast<const int64_t*>(data_)[i] : int64_t{static_cast<const int32_t*>(data_)[i]};
  }

 private:
  bool wide_;
  const void* data_;
};

}  // namespace tessera::opencl
