#pragma once

// Constant rhs, packed once and shared by every session of the process.

#include <algorithm>
#include <memory>

#include "base/checked.h"
#include "base/mapped_file.h"
#include "base/rounding.h"
#include "base/weight_memory.h"
#include "cpu/ops/nn/float_view.h"
#include "kernels/gemm/gemm.h"
#include "runtime/memory/packed_store.h"
#include "tessera/provider/kernel.h"

namespace tessera::cpu {

/// Visits the panels of one large matrix of a model's file, strip by strip: what has been visited needs no memory any more.
/// `pack(from, depth, width, to)` packs `depth` rows of `width` columns that begin at `from`, to element `to` of what is
/// packed.
template <class C, class S, class Pack>
void VisitPanelsInStrips(ThreadPool& threads, int64_t k, int64_t n, const S* b, bool transposed, const Pack& pack) {
  constexpr int64_t kStripElements = (int64_t{16} << 20) / static_cast<int64_t>(sizeof(S));
  const int64_t width = GemmPanelWidth<C>(), panels = CeilDiv(n, width);
  const int64_t row = transposed ? k : n, rows = transposed ? n : k;
  // Of a transposed matrix whole panels, of others whole pairs of rows.
  const int64_t unit = transposed ? width : 2;
  const int64_t strip = std::max<int64_t>(kStripElements / row / unit, 1) * unit;
  for (int64_t first = 0; first < rows; first += strip) {
    const int64_t count = std::min(strip, rows - first);
    const int64_t depth = transposed ? k : count, k0 = transposed ? 0 : first;
    const int64_t first_panel = transposed ? first / width : 0;
    const int64_t last_panel = transposed ? CeilDiv(first + count, width) : panels;
    const S* from = transposed ? b : b + first * n;
    threads.ParallelFor(last_panel - first_panel, static_cast<double>(depth * width) * 0.5,
                        [&](int64_t begin, int64_t end) {
                          for (int64_t i = first_panel + begin; i < first_panel + end; ++i) {
                            pack(from + i * width * (transposed ? k : 1), depth, std::min(width, n - i * width),
                                 i * width * k + k0 * width);
                          }
                        });
    ForgetPages(b + first * row, static_cast<size_t>(count * row) * sizeof(S));
  }
}

/// PackGemmB of such a matrix.
template <class C>
void PackGemmBInStrips(ThreadPool& threads, int64_t k, int64_t n, const C* b, bool transposed, C* packed) {
  VisitPanelsInStrips<C>(threads, k, n, b, transposed, [&](const C* from, int64_t depth, int64_t width, int64_t to) {
    PackGemmPanel<C>(from, transposed ? 1 : n, transposed ? k : 1, depth, width, packed + to);
  });
}

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
      auto packed = std::make_shared<Tensor>(ElementTypeOf<C>, shape, WeightMemory());
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
        PackGemmBInStrips<C>(info.threads(), k, n, values + b * k * n, transposed,
                             packed->template mutable_data<C>() + b * static_cast<int64_t>(size));
      }
      return packed;
    });
    info.ReleaseConstant(i);
    return made;
  }
}

}  // namespace tessera::cpu
