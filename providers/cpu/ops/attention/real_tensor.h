#pragma once

// Tensors of any floating-point type as float or double, where an operator mixes types.

#include <limits>

#include "base/rounding.h"
#include "cpu/types.h"
#include "kernels/elementwise/convert.h"

namespace tessera::cpu {

template <class C>
void LoadReals(const Tensor& tensor, int64_t first, int64_t count, C* out) {
  VisitType(FloatTypes{}, tensor.type(), [&]<class T>() {
    const T* in = tensor.data<T>() + first;
    if constexpr (std::is_same_v<C, float> && !std::is_same_v<T, double>) {
      ConvertToFloat(in, out, count);
    } else {
      for (int64_t i = 0; i < count; ++i) out[i] = static_cast<C>(in[i]);
    }
  });
}

template <class C>
void StoreReals(const C* in, int64_t count, Tensor& tensor, int64_t first) {
  VisitType(FloatTypes{}, tensor.type(), [&]<class T>() {
    T* out = tensor.mutable_data<T>() + first;
    if constexpr (std::is_same_v<C, float> && !std::is_same_v<T, double>) {
      ConvertFromFloat(in, out, count);
    } else {
      for (int64_t i = 0; i < count; ++i) out[i] = static_cast<T>(in[i]);
    }
  });
}

/// The elements as C: in place when that is their type, else converted into scratch.
template <class C>
const C* RealView(KernelContext& context, const Tensor& tensor) {
  if (tensor.is(ElementTypeOf<C>)) return tensor.data<C>();
  constexpr int64_t kBlock = 8192;
  const int64_t count = tensor.num_elements();
  C* out = context.scratch<C>(static_cast<size_t>(count)).data();
  context.threads().ParallelFor(CeilDiv(count, kBlock), kBlock * 0.4, [&](int64_t begin, int64_t end) {
    LoadReals(tensor, begin * kBlock, std::min(count, end * kBlock) - begin * kBlock, out + begin * kBlock);
  });
  return out;
}

/// Where to compute a tensor as C; Finish() converts.
template <class C>
class RealResult {
 public:
  RealResult(KernelContext& context, Tensor& tensor) : context_(context), tensor_(tensor) {
    values_ = tensor.is(ElementTypeOf<C>) ? tensor.mutable_data<C>()
                                          : context.scratch<C>(static_cast<size_t>(tensor.num_elements())).data();
  }
  C* data() const { return values_; }
  void Finish() {
    if (tensor_.is(ElementTypeOf<C>)) return;
    constexpr int64_t kBlock = 8192;
    const int64_t count = tensor_.num_elements();
    context_.threads().ParallelFor(CeilDiv(count, kBlock), kBlock * 0.4, [&](int64_t begin, int64_t end) {
      StoreReals(values_ + begin * kBlock, std::min(count, end * kBlock) - begin * kBlock, tensor_, begin * kBlock);
    });
  }

 private:
  KernelContext& context_;
  Tensor& tensor_;
  C* values_;
};

}  // namespace tessera::cpu
