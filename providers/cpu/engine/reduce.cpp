#include "cpu/engine/reduce.h"

#include <algorithm>

#include "base/cancellation.h"
#include "base/checked.h"
#include "base/rounding.h"
#include "base/work_array.h"
#include "cpu/engine/convert_row.h"

namespace tessera::cpu {

Reduction::Reduction(const Shape& input, const Shape& reduced_dims) {
  Shape sizes, strides, is_reduced;  // groups, innermost first
  uint64_t stride = 1;               // may wrap where a dimension is 0, and is not used then
  for (size_t i = input.rank(); i-- > 0;) {
    const int64_t flag = reduced_dims[i] != 0;
    int64_t& count = flag ? reduced : outputs;
    count = CheckedMul(count, input[i]);
    if (input[i] == 1) continue;
    if (sizes.rank() > 0 && is_reduced.back() == flag) {
      sizes[sizes.rank() - 1] *= input[i];  // divides a count above
    } else {
      sizes.Append(input[i]);
      strides.Append(static_cast<int64_t>(stride));
      is_reduced.Append(flag);
    }
    stride *= static_cast<uint64_t>(input[i]);
  }
  if (sizes.rank() == 0) return;
  inner_reduced = is_reduced[0] != 0;
  inner = sizes[0];
  for (size_t i = sizes.rank(); i-- > 1;) {
    (is_reduced[i] ? reduced_sizes : kept_sizes).Append(sizes[i]);
    (is_reduced[i] ? reduced_strides : kept_strides).Append(strides[i]);
  }
}

namespace {

constexpr int64_t kChunk = 256;                 // results that one thread gathers before it hands them on
constexpr int64_t kConvert = 1024;              // elements converted at a time
constexpr int64_t kLongRow = int64_t{4} << 20;  // elements between cancellation points
constexpr int64_t kNarrow = 32;                 // elements of a row that fill too few vectors, or parts of one
constexpr double kElementNs = 0.15;             // cost of one element

int64_t Offset(int64_t index, const Shape& sizes, const Shape& strides) {
  int64_t offset = 0;
  for (size_t i = sizes.rank(); i-- > 0;) {
    offset += index % sizes[i] * strides[i];
    index /= sizes[i];
  }
  return offset;
}

template <class T, class C>
class TensorFold {
 public:
  using Finish = FunctionRef<void(int64_t, const Wide<C>*, int64_t)>;

  TensorFold(KernelContext& context, const Reduction& reduction, Fold fold, const T* data, const C* shift, Finish finish)
      : context_(context),
        reduction_(reduction),
        fold_(fold),
        kernels_(FoldKernelsOf<C>(fold)),
        data_(data),
        shift_(shift),
        finish_(finish),
        element_ns_(kElementNs * (fold == Fold::kSumExp ? 6 : 1) * (sizeof(C) / 4.0)) {}

  void Run() {
    if (reduction_.outputs == 0) return;
    if (reduction_.reduced == 0) return Empty();
    if (reduction_.inner_reduced) {
      Rows();
    } else {
      Columns();
    }
  }

 private:
  void Empty() {
    Wide<C> values[kChunk];
    std::fill_n(values, kChunk, FoldIdentity<Wide<C>>(fold_));
    for (int64_t o = 0; o < reduction_.outputs; o += kChunk) finish_(o, values, std::min(kChunk, reduction_.outputs - o));
  }

  /// How many parts to cut each of `units` pieces of work into, so that all threads have some.
  int64_t Parts(int64_t units, double unit_ns, int64_t most) const {
    const int64_t threads = context_.threads().num_threads();
    if (units >= threads || unit_ns * static_cast<double>(units) < 2 * ThreadPool::kSerialBelowNs) return 1;
    return std::clamp<int64_t>(static_cast<int64_t>(unit_ns / 10'000), 1, std::min(most, CeilDiv(threads, units)));
  }

  // --- the last group is reduced ----------------------------------------------------------------------------------------
  void Rows() {
    const int64_t outputs = reduction_.outputs;
    const double output_ns = element_ns_ * static_cast<double>(reduction_.reduced) + 4;
    const int64_t parts = Parts(outputs, output_ns, reduction_.reduced);
    if (parts == 1) {
      context_.threads().ParallelFor(outputs, output_ns, [&](int64_t begin, int64_t end) {
        Wide<C> values[kChunk];
        for (int64_t first = begin; first < end; first += kChunk) {
          const int64_t count = std::min(kChunk, end - first);
          std::fill_n(values, count, FoldIdentity<Wide<C>>(fold_));
          FoldOutputs(first, count, values);
          finish_(first, values, count);
        }
      });
      return;
    }
    const auto partial = context_.scratch<Wide<C>>(static_cast<size_t>(outputs * parts));
    context_.threads().ParallelFor(
        outputs * parts, output_ns / static_cast<double>(parts), [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            Wide<C> value = FoldIdentity<Wide<C>>(fold_);
            const int64_t part = i % parts;
            FoldPart(i / parts, reduction_.reduced * part / parts, reduction_.reduced * (part + 1) / parts, value);
            partial[static_cast<size_t>(i)] = value;
          }
        });
    for (int64_t o = 0; o < outputs; ++o) {
      Wide<C> value = partial[static_cast<size_t>(o * parts)];
      for (int64_t p = 1; p < parts; ++p) value = JoinFolds(fold_, value, partial[static_cast<size_t>(o * parts + p)]);
      finish_(o, &value, 1);
    }
  }

  void FoldOutputs(int64_t first, int64_t count, Wide<C>* values) const {
    const C* shift = shift_ == nullptr ? nullptr : shift_ + first;
    if (reduction_.reduced_sizes.rank() == 0 && reduction_.kept_sizes.rank() == 1) {
      FoldRows(data_ + first * reduction_.inner, count, reduction_.inner, shift, values);
      return;
    }
    const int64_t outer = reduction_.reduced / reduction_.inner;
    for (int64_t o = 0; o < count; ++o) {
      const T* base = data_ + Offset(first + o, reduction_.kept_sizes, reduction_.kept_strides);
      PacedCancellationPoint look(kElementNs);
      for (int64_t r = 0; r < outer; ++r) {
        look.Pass(reduction_.inner + 16);
        FoldRows(base + Offset(r, reduction_.reduced_sizes, reduction_.reduced_strides), 1, reduction_.inner,
                 shift == nullptr ? nullptr : shift + o, values + o);
      }
    }
  }

  /// The elements [begin, end) of those that fold to one output.
  void FoldPart(int64_t output, int64_t begin, int64_t end, Wide<C>& value) const {
    const T* base = data_ + Offset(output, reduction_.kept_sizes, reduction_.kept_strides);
    while (begin < end) {
      const int64_t row = begin / reduction_.inner, column = begin % reduction_.inner;
      const int64_t count = std::min(reduction_.inner - column, end - begin);
      FoldRows(base + Offset(row, reduction_.reduced_sizes, reduction_.reduced_strides) + column, 1, count,
               shift_ == nullptr ? nullptr : shift_ + output, &value);
      begin += count;
    }
  }

  /// Contiguous rows of `count` elements.
  void FoldRows(const T* x, int64_t rows, int64_t count, const C* shift, Wide<C>* values) const {
    if constexpr (std::is_same_v<T, C>) {
      if (count <= kLongRow) return kernels_.rows(x, rows, count, count, shift, values);
      for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = 0; j < count; j += kLongRow) {
          CancellationPoint();
          const int64_t n = std::min(kLongRow, count - j);
          kernels_.rows(x + i * count + j, 1, n, n, shift == nullptr ? nullptr : shift + i, values + i);
        }
      }
    } else if (count <= kConvert / 2) {
      alignas(64) C buffer[kConvert];
      const int64_t batch = kConvert / count;
      for (int64_t i = 0; i < rows; i += batch) {
        const int64_t n = std::min(batch, rows - i);
        LoadRow(x + i * count, buffer, n * count);
        kernels_.rows(buffer, n, count, count, shift == nullptr ? nullptr : shift + i, values + i);
      }
    } else {
      alignas(64) C buffer[kConvert];
      PacedCancellationPoint look(kElementNs);
      for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = 0; j < count; j += kConvert) {
          look.Pass(kConvert);
          const int64_t n = std::min(kConvert, count - j);
          LoadRow(x + i * count + j, buffer, n);
          kernels_.rows(buffer, 1, n, n, shift == nullptr ? nullptr : shift + i, values + i);
        }
      }
    }
  }

  // --- the last group is kept -------------------------------------------------------------------------------------------
  void Columns() {
    const int64_t columns = reduction_.inner, outer = reduction_.outputs / columns, rows = reduction_.reduced;
    const int64_t threads = context_.threads().num_threads();
    int64_t block = std::min(columns, kFoldColumns);
    if (outer < threads) block = std::min(block, std::max<int64_t>((columns * outer / threads + 63) / 64 * 64, 64));
    const int64_t blocks = CeilDiv(columns, block), units = outer * blocks;
    const double unit_ns = element_ns_ * static_cast<double>(rows) * static_cast<double>(block) + 10;
    const int64_t parts = Parts(units, unit_ns, rows);
    const auto columns_of = [&](int64_t unit) { return std::min(block, columns - unit % blocks * block); };
    if (parts == 1) {
      context_.threads().ParallelFor(units, unit_ns, [&](int64_t begin, int64_t end) {
        Wide<C> values[kFoldColumns];
        for (int64_t unit = begin; unit < end; ++unit) {
          const int64_t column = unit % blocks * block, count = columns_of(unit);
          std::fill_n(values, count, FoldIdentity<Wide<C>>(fold_));
          FoldColumns(unit / blocks, column, count, 0, rows, values);
          finish_(unit / blocks * columns + column, values, count);
        }
      });
      return;
    }
    const auto partial = context_.scratch<Wide<C>>(static_cast<size_t>(units * parts * block));
    context_.threads().ParallelFor(units * parts, unit_ns / static_cast<double>(parts), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t unit = i / parts, part = i % parts, count = columns_of(unit);
        Wide<C>* values = partial.data() + i * block;
        std::fill_n(values, count, FoldIdentity<Wide<C>>(fold_));
        FoldColumns(unit / blocks, unit % blocks * block, count, rows * part / parts, rows * (part + 1) / parts, values);
      }
    });
    for (int64_t unit = 0; unit < units; ++unit) {
      Wide<C>* values = partial.data() + unit * parts * block;
      const int64_t count = columns_of(unit);
      for (int64_t p = 1; p < parts; ++p) {
        for (int64_t j = 0; j < count; ++j) values[j] = JoinFolds(fold_, values[j], values[p * block + j]);
      }
      finish_(unit / blocks * columns + unit % blocks * block, values, count);
    }
  }

  /// Rows [begin, end) of the reduced ones, `count` columns from `column` on, of the results of one outer index.
  void FoldColumns(int64_t outer, int64_t column, int64_t count, int64_t begin, int64_t end, Wide<C>* values) const {
    const T* base = data_ + Offset(outer, reduction_.kept_sizes, reduction_.kept_strides) + column;
    const C* shift = shift_ == nullptr ? nullptr : shift_ + outer * reduction_.inner + column;
    if (reduction_.reduced_sizes.rank() == 0) return FoldRun(base, end - begin, count, count, shift, values);
    const int64_t run = reduction_.reduced_sizes.back(), stride = reduction_.reduced_strides.back();
    while (begin < end) {
      const int64_t n = std::min(run - begin % run, end - begin);
      FoldRun(base + Offset(begin, reduction_.reduced_sizes, reduction_.reduced_strides), n, stride, count, shift, values);
      begin += n;
    }
  }

  void FoldRun(const T* x, int64_t rows, int64_t stride, int64_t count, const C* shift, Wide<C>* values) const {
    if (count < kNarrow && stride == count && rows >= 8 && shift == nullptr) return FoldNarrow(x, rows, count, values);
    if constexpr (std::is_same_v<T, C>) {
      const int64_t piece = std::max<int64_t>(kLongRow / count, 1);
      for (int64_t i = 0; i < rows; i += piece) {
        if (i > 0) CancellationPoint();
        kernels_.columns(x + i * stride, std::min(piece, rows - i), stride, count, shift, values);
      }
    } else {
      const WorkArray<C> buffer(kFoldColumns * 4);
      const int64_t batch = std::max<int64_t>(kFoldColumns * 4 / count, 1);
      PacedCancellationPoint look(kElementNs);
      for (int64_t i = 0; i < rows; i += batch) {
        const int64_t n = std::min(batch, rows - i);
        look.Pass(n * count);
        for (int64_t r = 0; r < n; ++r) LoadRow(x + (i + r) * stride, buffer + r * count, count);
        kernels_.columns(buffer, n, count, count, shift, values);
      }
    }
  }

  /// Short contiguous rows: several make one wide row, which is folded down in the end.
  void FoldNarrow(const T* x, int64_t rows, int64_t count, Wide<C>* values) const {
    const int64_t together = std::clamp<int64_t>(rows / 4, 1, kFoldColumns / count), width = together * count;
    const WorkArray<Wide<C>> wide(static_cast<size_t>(width));
    std::fill_n(wide.data(), width, FoldIdentity<Wide<C>>(fold_));
    const int64_t whole = rows / together;
    if constexpr (std::is_same_v<T, C>) {
      InCancellablePieces(0, whole, kElementNs * static_cast<double>(width), [&](int64_t begin, int64_t end) {
        kernels_.columns(x + begin * width, end - begin, width, width, nullptr, wide);
      });
      if (rows % together != 0) {
        kernels_.columns(x + whole * width, 1, width, rows % together * count, nullptr, wide);
      }
    } else {
      const WorkArray<C> buffer(static_cast<size_t>(width));
      PacedCancellationPoint look(kElementNs);
      for (int64_t begin = 0; begin < rows; begin += together) {
        const int64_t n = std::min(together, rows - begin) * count;
        look.Pass(n);
        LoadRow(x + begin * count, buffer.data(), n);
        kernels_.columns(buffer, 1, n, n, nullptr, wide);
      }
    }
    for (int64_t i = 0; i < together; ++i) {
      for (int64_t j = 0; j < count; ++j) values[j] = JoinFolds(fold_, values[j], wide[i * count + j]);
    }
  }

  KernelContext& context_;
  const Reduction& reduction_;
  Fold fold_;
  const FoldKernels<C>& kernels_;
  const T* data_;
  const C* shift_;
  Finish finish_;
  double element_ns_;
};

}  // namespace

template <class T, class C>
void FoldTensor(KernelContext& context, const Reduction& reduction, Fold fold, const T* data, const C* shift,
                FunctionRef<void(int64_t, const Wide<C>*, int64_t)> finish) {
  TensorFold<T, C>(context, reduction, fold, data, shift, finish).Run();
}

#define TESSERA_FOLD(T, C)                                                                   \
  template void FoldTensor<T, C>(KernelContext&, const Reduction&, Fold, const T*, const C*, \
                                 FunctionRef<void(int64_t, const Wide<C>*, int64_t)>)
TESSERA_FOLD(float, float);
TESSERA_FOLD(double, double);
TESSERA_FOLD(Float16, float);
TESSERA_FOLD(BFloat16, float);
TESSERA_FOLD(int8_t, int8_t);
TESSERA_FOLD(uint8_t, uint8_t);
TESSERA_FOLD(int32_t, int32_t);
TESSERA_FOLD(uint32_t, uint32_t);
TESSERA_FOLD(int64_t, int64_t);
TESSERA_FOLD(uint64_t, uint64_t);
TESSERA_FOLD(int32_t, double);
TESSERA_FOLD(uint32_t, double);
TESSERA_FOLD(int64_t, double);
TESSERA_FOLD(uint64_t, double);
#undef TESSERA_FOLD

}  // namespace tessera::cpu
