// CumSum: versions 11, 14. CumProd: version 26. The axis is an input.

#include "ops/reduction/cum_sum.h"
#include "base/cancellation.h"
#include "base/rounding.h"
#include "cpu/engine/convert_row.h"
#include "cpu/ops/ops.h"
#include "cpu/types.h"
#include "kernels/reduce/scan.h"
#include "ops/axis.h"

namespace tessera::cpu {
namespace {

/// 64-bit and 32-bit integers wrap: they accumulate unsigned.
template <class T>
struct AccumulatorOf {
  using Type = ComputeType<T>;
};
template <>
struct AccumulatorOf<int32_t> {
  using Type = uint32_t;
};
template <>
struct AccumulatorOf<int64_t> {
  using Type = uint64_t;
};

template <bool kProduct, class A>
A Join(A a, A b) {
  return kProduct ? a * b : a + b;
}

constexpr int64_t kLongRow = int64_t{1} << 18;  // elements between cancellation points

/// Running totals of kRows rows at once, so that the additions of different rows overlap. `step` is 1 or -1.
template <bool kProduct, bool kExclusive, int kRows, class T>
void ScanRows(const T* x, T* y, int64_t count, int64_t row_stride, int64_t step) {
  using A = typename AccumulatorOf<T>::Type;
  A total[kRows];
  std::fill_n(total, kRows, kProduct ? A{1} : A{0});
  for (int64_t k = 0, i = step > 0 ? 0 : count - 1; k < count;) {
    for (const int64_t end = std::min(count, k + kLongRow); k < end; ++k, i += step) {
      for (int r = 0; r < kRows; ++r) {
        const A v = static_cast<A>(x[r * row_stride + i]);  // before y, which may be x, is written
        const A next = Join<kProduct>(total[r], v);
        y[r * row_stride + i] = static_cast<T>(kExclusive ? total[r] : next);
        total[r] = next;
      }
    }
    if (k < count) CancellationPoint();
  }
}

/// Half types keep their totals in float between the rows.
template <bool kProduct, bool kExclusive, class T>
void ScanHalfColumns(const T* x, T* y, const ScanArguments& a) {
  float total[kScanColumns];
  std::fill_n(total, a.columns, kProduct ? 1.0f : 0.0f);
  PacedCancellationPoint look(0.5);
  for (int64_t k = 0, i = a.step > 0 ? 0 : a.count - 1; k < a.count; ++k, i += a.step) {
    look.Pass(a.columns);
    const T* in = x + i * a.stride;
    T* out = y + i * a.stride;
    for (int64_t j = 0; j < a.columns; ++j) {
      const float next = Join<kProduct>(total[j], static_cast<float>(in[j]));
      out[j] = static_cast<T>(kExclusive ? total[j] : next);
      total[j] = next;
    }
  }
}

/// Columns as wide as the threads leave them: long runs of memory.
inline int64_t ColumnsOfBlock(const ThreadPool& threads, const AxisView& view) {
  const int64_t blocks = std::max<int64_t>(threads.num_threads() / std::max<int64_t>(view.outer, 1), 1);
  return std::clamp<int64_t>(CeilDiv(view.inner, blocks), std::min<int64_t>(view.inner, 256), kScanColumns);
}

template <class T, bool kProduct, bool kExclusive>
void Scan(ThreadPool& threads, const AxisView& view, const T* x, T* y, int64_t step) {
  const int64_t count = view.count, inner = view.inner;
  if (inner == 1) {
    constexpr int kRows = 4;
    const int64_t groups = CeilDiv(view.outer, kRows);
    threads.ParallelFor(groups, 1.5 * static_cast<double>(count * kRows), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin * kRows; row < std::min(end * kRows, view.outer); row += kRows) {
        if (row + kRows <= view.outer) {
          ScanRows<kProduct, kExclusive, kRows>(x + row * count, y + row * count, count, count, step);
        } else {
          for (int64_t r = row; r < view.outer; ++r) {
            ScanRows<kProduct, kExclusive, 1>(x + r * count, y + r * count, count, count, step);
          }
        }
      }
    });
    return;
  }
  const int64_t width = ColumnsOfBlock(threads, view), blocks = CeilDiv(inner, width);
  threads.ParallelFor(view.outer * blocks, 0.4 * static_cast<double>(count * width), [&](int64_t begin, int64_t end) {
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t column = unit % blocks * width, at = unit / blocks * count * inner + column;
      const ScanArguments arguments{count, inner, std::min(width, inner - column), step, kExclusive};
      if constexpr (std::is_same_v<T, ComputeType<T>>) {
        using A = typename AccumulatorOf<T>::Type;
        ScanColumnsOf<A>(kProduct)(reinterpret_cast<const A*>(x + at), reinterpret_cast<A*>(y + at), arguments);
      } else {
        ScanHalfColumns<kProduct, kExclusive>(x + at, y + at, arguments);
      }
    }
  });
}

template <class T, bool kProduct>
class Cumulative final : public Kernel {
 public:
  explicit Cumulative(const KernelInfo& info) : attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const AxisView view = CumSumAttributes::View(x.shape(), context.required_input(1));
    Tensor* y = context.output(0, x.shape());
    if (y == nullptr || y->num_elements() == 0) return;
    const auto scan = attributes_.exclusive ? Scan<T, kProduct, true> : Scan<T, kProduct, false>;
    scan(context.threads(), view, x.data<T>(), y->mutable_data<T>(), attributes_.reverse ? -1 : 1);
  }

 private:
  CumSumAttributes attributes_;
};

using CumulativeTypes = TypeList<float, double, Float16, BFloat16, int32_t, int64_t, uint32_t, uint64_t>;

template <class T>
using CumSum = Cumulative<T, false>;
template <class T>
using CumProd = Cumulative<T, true>;

}  // namespace

void RegisterCumSum(KernelRegistry& registry) {
  registry.Add(Op("CumSum")
                   .Types(0, ToTypeSet(CumulativeTypes{}))
                   .HostInput(1)
                   .InPlace(0, 0)
                   .Factory(MakeTyped<CumSum, CumulativeTypes>));
}
void RegisterCumProd(KernelRegistry& registry) {
  registry.Add(Op("CumProd")
                   .Types(0, ToTypeSet(CumulativeTypes{}))
                   .HostInput(1)
                   .InPlace(0, 0)
                   .Factory(MakeTyped<CumProd, CumulativeTypes>));
}

}  // namespace tessera::cpu
