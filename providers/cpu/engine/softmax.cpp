#include "cpu/engine/softmax.h"

#include "base/checked.h"
#include "base/rounding.h"
#include "cpu/engine/convert_row.h"
#include "cpu/engine/slots.h"
#include "kernels/normalize/softmax.h"

namespace tessera::cpu {
namespace {

template <class C>
const SoftmaxKernels<C>& Kernels() {
  if constexpr (std::is_same_v<C, double>) {
    return SoftmaxKernelsF64();
  } else {
    return SoftmaxKernelsF32();
  }
}

}  // namespace

template <class T>
void SoftmaxAlong(KernelContext& context, const AxisView& view, const T* x, T* y, bool log) {
  using C = ComputeType<T>;
  constexpr bool kDirect = std::is_same_v<T, C>;
  const SoftmaxKernels<C>& kernels = Kernels<C>();
  ThreadPool& threads = context.threads();
  const double element_ns = sizeof(T) == 8 ? 2.0 : 0.6;
  const int64_t count = view.count, inner = view.inner;
  if (inner == 1) {
    const double row_ns = element_ns * static_cast<double>(count) + 10;
    if constexpr (kDirect) {
      threads.ParallelFor(view.outer, row_ns, [&](int64_t begin, int64_t end) {
        kernels.rows(x + begin * count, y + begin * count, end - begin, count, log);
      });
    } else {
      const int64_t slots = SlotCount(threads, view.outer, row_ns);
      const auto rows = context.scratch<C>(static_cast<size_t>(CheckedMul(slots, count)));
      ParallelSlots(threads, slots, view.outer, row_ns, [&](int64_t slot, int64_t begin, int64_t end) {
        C* row = rows.data() + slot * count;
        for (int64_t o = begin; o < end; ++o) {
          LoadRow(x + o * count, row, count);
          kernels.rows(row, row, 1, count, log);
          StoreRow(row, y + o * count, count);
        }
      });
    }
    return;
  }
  // Blocks of columns that stay in the second-level cache between the passes.
  const int64_t fit = 32 * 1024 / std::max<int64_t>(count, 1) / 16 * 16;
  const int64_t block = std::min(inner, std::clamp<int64_t>(fit, 32, kSoftmaxColumns));
  const int64_t blocks = CeilDiv(inner, block), units = view.outer * blocks;
  const double unit_ns = element_ns * static_cast<double>(count * block) + 20;
  const int64_t slots = SlotCount(threads, units, unit_ns);
  const int64_t panel_size = kDirect ? 0 : CheckedMul(count, block);
  const auto panels = context.scratch<C>(static_cast<size_t>(CheckedMul(slots, panel_size)));
  ParallelSlots(threads, slots, units, unit_ns, [&](int64_t slot, int64_t begin, int64_t end) {
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t column = unit % blocks * block, columns = std::min(block, inner - column);
      const int64_t base = unit / blocks * count * inner + column;
      if constexpr (kDirect) {
        (void)slot;
        kernels.columns(x + base, y + base, count, inner, columns, log);
      } else {
        C* panel = panels.data() + slot * panel_size;
        for (int64_t i = 0; i < count; ++i) LoadRow(x + base + i * inner, panel + i * columns, columns);
        kernels.columns(panel, panel, count, columns, columns, log);
        for (int64_t i = 0; i < count; ++i) StoreRow(panel + i * columns, y + base + i * inner, columns);
      }
    }
  });
}

template void SoftmaxAlong<float>(KernelContext&, const AxisView&, const float*, float*, bool);
template void SoftmaxAlong<double>(KernelContext&, const AxisView&, const double*, double*, bool);
template void SoftmaxAlong<Float16>(KernelContext&, const AxisView&, const Float16*, Float16*, bool);
template void SoftmaxAlong<BFloat16>(KernelContext&, const AxisView&, const BFloat16*, BFloat16*, bool);

}  // namespace tessera::cpu
