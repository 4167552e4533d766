#include "cpu/engine/normalize.h"

#include <cmath>

#include "base/checked.h"
#include "base/rounding.h"
#include "cpu/engine/slots.h"
#include "cpu/types.h"
#include "kernels/normalize/moments.h"
#include "kernels/normalize/normalize.h"

namespace tessera::cpu {
namespace {

constexpr int64_t kPiece = 8192;       // elements of a row that are looked at together
constexpr double kNormalizeNs = 0.35;  // statistics and map

RowStatistics ToStatistics(const Moments& moments, double epsilon) {
  return {moments.mean, 1 / std::sqrt(moments.squares / moments.count + epsilon)};
}

template <class C>
class RowNormalization {
 public:
  using Map = FunctionRef<void(int64_t, int64_t, int64_t, const C*, C*, RowStatistics)>;

  RowNormalization(KernelContext& context, const RowReader<C>& x, const RowWriter<C>& y, int64_t rows, int64_t count,
                   bool center, double epsilon, RowStatistics* statistics, Map map)
      : context_(context),
        x_(x),
        y_(y),
        rows_(rows),
        count_(count),
        center_(center),
        epsilon_(epsilon),
        statistics_(statistics),
        map_(map) {}

  void Run() {
    if (rows_ == 0 || count_ == 0) return;
    const double row_ns = kNormalizeNs * static_cast<double>(count_) + 15;
    ThreadPool& threads = context_.threads();
    const int64_t pieces = CeilDiv(count_, kPiece);
    const bool buffered = !x_.direct() || !y_.direct();
    if (rows_ < threads.num_threads() && pieces > 1) return ByPieces(pieces, buffered);
    const int64_t slots = SlotCount(threads, rows_, row_ns);
    const int64_t size = buffered ? std::min(kPiece, count_) : 0;
    const auto buffers = context_.scratch<C>(static_cast<size_t>(size * slots));
    ParallelSlots(threads, slots, rows_, row_ns, [&](int64_t slot, int64_t begin, int64_t end) {
      C* buffer = buffers.data() + slot * size;
      PacedCancellationPoint look(kNormalizeNs);
      for (int64_t row = begin; row < end; ++row) {
        Moments moments;
        const C* in = nullptr;
        for (int64_t p = 0; p < pieces; ++p, look.Pass(kPiece)) moments = Join(moments, MomentsOf(row, p, buffer, in));
        const RowStatistics statistics = ToStatistics(moments, epsilon_);
        if (statistics_ != nullptr) statistics_[row] = statistics;
        for (int64_t p = 0; p < pieces; ++p, look.Pass(kPiece))
          MapPiece(row, p, buffer, pieces == 1 ? in : nullptr, statistics);
      }
    });
  }

 private:
  Moments MomentsOf(int64_t row, int64_t piece, C* buffer, const C*& in) const {
    const int64_t n = std::min(kPiece, count_ - piece * kPiece);
    in = x_.Read(row * count_ + piece * kPiece, n, buffer);
    Moments moments;
    moments.count = static_cast<double>(n);
    if (center_) {
      kernels_.moments(in, n, &moments.mean, &moments.squares);
    } else {
      moments.squares = kernels_.sum_squares(in, n);
    }
    return moments;
  }

  void MapPiece(int64_t row, int64_t piece, C* buffer, const C* in, RowStatistics statistics) const {
    const int64_t first = piece * kPiece, n = std::min(kPiece, count_ - first), at = row * count_ + first;
    if (in == nullptr) in = x_.Read(at, n, buffer);
    map_(row, first, n, in, y_.At(at, buffer), statistics);
    y_.Flush(at, n, buffer);
  }

  /// Few long rows: the pieces of a row go to different threads.
  void ByPieces(int64_t pieces, bool buffered) {
    ThreadPool& threads = context_.threads();
    const int64_t units = rows_ * pieces, size = buffered ? kPiece : 0;
    const double unit_ns = kNormalizeNs * kPiece / 2;
    const int64_t slots = SlotCount(threads, units, unit_ns);
    const auto buffers = context_.scratch<C>(static_cast<size_t>(size * slots));
    const auto moments = context_.scratch<Moments>(static_cast<size_t>(units));
    ParallelSlots(threads, slots, units, unit_ns, [&](int64_t slot, int64_t begin, int64_t end) {
      for (int64_t unit = begin; unit < end; ++unit) {
        const C* in = nullptr;
        moments[static_cast<size_t>(unit)] = MomentsOf(unit / pieces, unit % pieces, buffers.data() + slot * size, in);
      }
    });
    const auto statistics = context_.scratch<RowStatistics>(static_cast<size_t>(rows_));
    for (int64_t row = 0; row < rows_; ++row) {
      Moments all;
      for (int64_t p = 0; p < pieces; ++p) all = Join(all, moments[static_cast<size_t>(row * pieces + p)]);
      statistics[static_cast<size_t>(row)] = ToStatistics(all, epsilon_);
      if (statistics_ != nullptr) statistics_[row] = statistics[static_cast<size_t>(row)];
    }
    ParallelSlots(threads, slots, units, unit_ns, [&](int64_t slot, int64_t begin, int64_t end) {
      for (int64_t unit = begin; unit < end; ++unit) {
        const int64_t row = unit / pieces;
        MapPiece(row, unit % pieces, buffers.data() + slot * size, nullptr, statistics[static_cast<size_t>(row)]);
      }
    });
  }

  KernelContext& context_;
  const RowReader<C>& x_;
  const RowWriter<C>& y_;
  int64_t rows_;
  int64_t count_;
  bool center_;
  double epsilon_;
  RowStatistics* statistics_;
  Map map_;
  const NormalizeKernels<C>& kernels_ = NormalizeKernelsOf<C>();
};

int64_t PieceOffset(int64_t index, const Shape& sizes, const Shape& strides) {
  int64_t offset = 0;
  for (size_t i = sizes.rank(); index > 0 && i-- > 0;) {
    offset += index % sizes[i] * strides[i];
    index /= sizes[i];
  }
  return offset;
}

}  // namespace

template <class C>
void NormalizeRows(KernelContext& context, const RowReader<C>& x, const RowWriter<C>& y, int64_t rows, int64_t count,
                   bool center, double epsilon, RowStatistics* statistics,
                   FunctionRef<void(int64_t, int64_t, int64_t, const C*, C*, RowStatistics)> map) {
  RowNormalization<C>(context, x, y, rows, count, center, epsilon, statistics, map).Run();
}

template <class C>
void AffineOfReduced(KernelContext& context, const Reduction& reduction, const RowReader<C>& x, const RowWriter<C>& y,
                     const C* mean, const C* a, const C* b) {
  const NormalizeKernels<C>& kernels = NormalizeKernelsOf<C>();
  if (reduction.outputs == 0 || reduction.reduced == 0) return;
  const int64_t inner = reduction.inner;
  const int64_t reduced_rows = reduction.inner_reduced ? reduction.reduced / inner : reduction.reduced;
  const int64_t pieces = CeilDiv(inner, kPiece);
  const int64_t rows = reduction.outputs / (reduction.inner_reduced ? 1 : inner) * reduced_rows;
  const int64_t units = rows * pieces;
  const double unit_ns = 0.15 * static_cast<double>(std::min(inner, kPiece)) + 10;
  ThreadPool& threads = context.threads();
  const int64_t slots = SlotCount(threads, units, unit_ns);
  const int64_t size = x.direct() && y.direct() ? 0 : std::min(kPiece, inner);
  const auto buffers = context.scratch<C>(static_cast<size_t>(size * slots));
  ParallelSlots(threads, slots, units, unit_ns, [&](int64_t slot, int64_t begin, int64_t end) {
    C* buffer = buffers.data() + slot * size;
    // Counted up: rows may be too short for divisions.
    int64_t piece = begin % pieces, row = begin / pieces % reduced_rows, output = begin / pieces / reduced_rows;
    int64_t kept = PieceOffset(output, reduction.kept_sizes, reduction.kept_strides);
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t first = piece * kPiece, n = std::min(kPiece, inner - first);
      const int64_t at = kept + PieceOffset(row, reduction.reduced_sizes, reduction.reduced_strides) + first;
      const C* in = x.Read(at, n, buffer);
      C* out = y.At(at, buffer);
      if (reduction.inner_reduced) {
        kernels.affine(in, out, n, mean[output], a[output], b[output]);
      } else {
        const int64_t o = output * inner + first;
        kernels.affine_each(in, out, n, mean + o, a + o, b + o);
      }
      y.Flush(at, n, buffer);
      if (++piece < pieces) continue;
      piece = 0;
      if (++row < reduced_rows) continue;
      row = 0;
      kept = PieceOffset(++output, reduction.kept_sizes, reduction.kept_strides);
    }
  });
}

void VisitPlanes(KernelContext& context, int64_t planes, int64_t channels, int64_t size,
                 FunctionRef<void(int64_t first, int64_t count, int64_t channel)> visit) {
  context.threads().ParallelFor(planes, 10 + 0.3 * static_cast<double>(size), [&](int64_t begin, int64_t end) {
    while (begin < end) {
      const int64_t channel = begin % channels, count = std::min(channels - channel, end - begin);
      visit(begin, count, channel);
      begin += count;
    }
  });
}

template <class C>
void MomentsOfReduced(KernelContext& context, const Reduction& reduction, const Tensor& x, C* mean, double* variance) {
  const double count = static_cast<double>(reduction.reduced);
  VisitType(FloatTypes{}, x.type(), [&]<class T>() {
    if constexpr (std::is_same_v<ComputeType<T>, C>) {
      FoldTensor<T, C>(context, reduction, Fold::kSum, x.data<T>(), nullptr,
                       [&](int64_t first, const Wide<C>* values, int64_t n) {
                         for (int64_t i = 0; i < n; ++i) mean[first + i] = static_cast<C>(values[i] / count);
                       });
      FoldTensor<T, C>(context, reduction, Fold::kSumSquareCentered, x.data<T>(), mean,
                       [&](int64_t first, const Wide<C>* values, int64_t n) {
                         for (int64_t i = 0; i < n; ++i) variance[first + i] = values[i] / count;
                       });
    }
  });
}

template <class C>
void ExpandTo(const Tensor& tensor, std::span<const int64_t> shape, C* out) {
  const RowReader<C> reader(tensor);
  const Shape& from = tensor.shape();
  int64_t total = 1;
  for (const int64_t dim : shape) total = CheckedMul(total, dim);
  Shape strides(shape.size(), 0);
  int64_t stride = 1;
  for (size_t i = 0; i < from.rank(); ++i) {
    const size_t dim = from.rank() - 1 - i;
    const bool fits = i < shape.size() && (from[dim] == 1 || from[dim] == shape[shape.size() - 1 - i]);
    Require(fits || from[dim] == 1, "shape {} does not broadcast to {}", from, Shape(shape));
    if (i < shape.size() && from[dim] != 1) strides[shape.size() - 1 - i] = stride;
    stride *= from[dim];
  }
  if (tensor.num_elements() == total) return reader.Copy(0, total, out);  // only dimensions of 1 differ
  PacedCancellationPoint look(10);
  for (int64_t i = 0; i < total; ++i) {
    look.Pass();
    int64_t rest = i, offset = 0;
    for (size_t d = shape.size(); d-- > 0;) {
      offset += rest % shape[d] * strides[d];
      rest /= shape[d];
    }
    C value;
    out[i] = *reader.Read(offset, 1, &value);
  }
}

#define TESSERA_NORMALIZE(C)                                                                                               \
  template void NormalizeRows<C>(KernelContext&, const RowReader<C>&, const RowWriter<C>&, int64_t, int64_t, bool, double, \
                                 RowStatistics*,                                                                           \
                                 FunctionRef<void(int64_t, int64_t, int64_t, const C*, C*, RowStatistics)>);               \
  template void AffineOfReduced<C>(KernelContext&, const Reduction&, const RowReader<C>&, const RowWriter<C>&, const C*,   \
                                   const C*, const C*);                                                                    \
  template void MomentsOfReduced<C>(KernelContext&, const Reduction&, const Tensor&, C*, double*);                         \
  template void ExpandTo<C>(const Tensor&, std::span<const int64_t>, C*)
TESSERA_NORMALIZE(float);
TESSERA_NORMALIZE(double);
#undef TESSERA_NORMALIZE

}  // namespace tessera::cpu
