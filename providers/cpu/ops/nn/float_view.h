#pragma once

// 16-bit float tensors seen as float: converted into scratch on the way in and out; float tensors are used in place.

#include <type_traits>

#include "base/rounding.h"
#include "cpu/engine/convert_row.h"
#include "kernels/elementwise/convert.h"
#include "tessera/provider/kernel.h"

namespace tessera::cpu {

template <class T>
inline constexpr bool kIsHalf = std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;

template <class T>
void ConvertToFloat(ThreadPool& threads, const T* in, float* out, int64_t count) {
  constexpr int64_t kBlock = 4096;
  threads.ParallelFor(CeilDiv(count, kBlock), kBlock * 0.3, [&](int64_t begin, int64_t end) {
    ConvertToFloat(in + begin * kBlock, out + begin * kBlock, std::min(count, end * kBlock) - begin * kBlock);
  });
}

template <class T>
void ConvertFromFloat(ThreadPool& threads, const float* in, T* out, int64_t count) {
  constexpr int64_t kBlock = 4096;
  threads.ParallelFor(CeilDiv(count, kBlock), kBlock * 0.5, [&](int64_t begin, int64_t end) {
    ConvertFromFloat(in + begin * kBlock, out + begin * kBlock, std::min(count, end * kBlock) - begin * kBlock);
  });
}

/// The tensor's elements in the type they are computed in; null for a null tensor. Signed integers are computed as unsigned
/// T.
template <class T>
const ComputeType<T>* ComputeView(KernelContext& context, const Tensor* tensor) {
  if (tensor == nullptr) return nullptr;
  if constexpr (kIsHalf<T>) {
    float* values = context.scratch<float>(static_cast<size_t>(tensor->num_elements())).data();
    ConvertToFloat(context.threads(), tensor->data<T>(), values, tensor->num_elements());
    return values;
  } else {
    return static_cast<const T*>(tensor->raw());
  }
}

/// Where to compute a tensor of type T; Finish() stores the result.
template <class T>
class ComputeResult {
 public:
  ComputeResult(KernelContext& context, Tensor& tensor) : context_(context), tensor_(tensor) {
    if constexpr (kIsHalf<T>) {
      values_ = context.scratch<float>(static_cast<size_t>(tensor.num_elements())).data();
    } else {
      values_ = static_cast<T*>(tensor.mutable_raw());
    }
  }
  ComputeType<T>* data() const { return values_; }
  void Finish() {
    if constexpr (kIsHalf<T>)
      ConvertFromFloat(context_.threads(), values_, tensor_.mutable_data<T>(), tensor_.num_elements());
  }

 private:
  KernelContext& context_;
  Tensor& tensor_;
  ComputeType<T>* values_;
};

}  // namespace tessera::cpu
