#pragma once

// Constant right-hand matrices, packed once and shared by every session of the process.

#include <memory>

#include "base/checked.h"
#include "ops/nn/float_view.h"
#include "runtime/packed_store.h"
#include "simd/gemm.h"
#include "tessera/kernel.h"

namespace tessera::cpu {

/// Packs the matrices [count, k, n] (`transposed`: [count, n, k]) of constant input `i` one after the other. Null when the
/// input is computed at run time, is empty, or T is no float. C is the type computed in.
template <class T, class C = ComputeType<T>>
std::shared_ptr<const Tensor> PackConstantInput(const KernelInfo& info, size_t i, int64_t count, int64_t k, int64_t n,
                                                bool transposed) {
  const Tensor* constant = info.constant_input(i);
  if constexpr (!std::is_floating_point_v<C>) {
    return nullptr;
  } else {
    if (constant == nullptr || constant->num_elements() == 0 || !constant->is(ElementTypeOf<T>)) return nullptr;
    const size_t size = PackedGemmBSize<C>(k, n);
    const Shape shape{count, static_cast<int64_t>(size)};
    auto made = SharedTensor(info, *constant, transposed ? "gemm_b_transposed" : "gemm_b", ElementTypeOf<C>, shape, [&] {
      auto packed = std::make_shared<Tensor>(ElementTypeOf<C>, shape);
      Tensor converted;
      const C* values = nullptr;
      if constexpr (kIsHalf<T>) {
        converted = Tensor(ElementType::kFloat, constant->shape());
        ConvertToFloat(info.threads(), constant->data<T>(), converted.mutable_data<float>(), constant->num_elements());
        values = converted.template data<float>();
      } else {
        values = constant->unaligned_data<T>();
      }
      for (int64_t b = 0; b < count; ++b) {
        PackGemmB<C>(info.threads(), k, n, values + b * k * n, transposed ? 1 : n, transposed ? k : 1,
                     packed->template mutable_data<C>() + b * static_cast<int64_t>(size));
      }
      return packed;
    });
    info.ReleaseConstant(i);
    return made;
  }
}

}  // namespace tessera::cpu
