// Linear and cubic resampling: one pass over two neighbouring axes (or one) at a time. Every source row is resampled along
// the row once and kept in a ring while the output rows that read it are blended.

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/cancellable_memory.h"
#include "base/checked.h"
#include "base/rounding.h"
#include "cpu/ops/image/resample.h"
#include "cpu/types.h"
#include "kernels/image/resample.h"

namespace tessera::cpu {
namespace {

/// [outer, rows, columns, inner]; null tables leave their axis alone.
struct Pass {
  int64_t outer = 1;
  const AxisTable* rows = nullptr;
  const AxisTable* columns = nullptr;
  int64_t inner = 1;
  int64_t in_rows() const { return rows == nullptr ? 1 : rows->in; }
  int64_t out_rows() const { return rows == nullptr ? 1 : rows->out; }
  int64_t in_row() const { return inner * (columns == nullptr ? 1 : columns->in); }
  int64_t out_row() const { return inner * (columns == nullptr ? 1 : columns->out); }
};

template <class F>
const F* Weights(const AxisTable& table) {
  if constexpr (std::is_same_v<F, float>) {
    return table.weights_f32.data();
  } else {
    return table.weights.data();
  }
}

/// The taps that are read: those between zeros, whose elements would make zero no number where they are infinite.
template <class F>
struct Taps {
  int64_t first, count;

  static Taps Of(const F* weights, int64_t taps) {
    int64_t begin = 0, end = taps;
    while (end - begin > 1 && weights[begin] == 0) ++begin;
    while (end - begin > 1 && weights[end - 1] == 0) --end;
    return {begin, end - begin};
  }
};

/// Ends of a pass: elements of the tensor (converted row by row) or numbers of the compute type (null functions).
template <class F>
struct RowFormat {
  ResampleLoad<F> load = nullptr;
  ResampleStore<F> store = nullptr;
  size_t in_size = sizeof(F);
  size_t out_size = sizeof(F);
};

template <class F>
class PassRunner {
 public:
  PassRunner(const Pass& pass, const RowFormat<F>& format, F fill, const void* in, void* out)
      : pass_(pass),
        format_(format),
        kernels_(GetResampleKernels<F>()),
        fill_(fill),
        in_(static_cast<const unsigned char*>(in)),
        out_(static_cast<unsigned char*>(out)),
        taps_(pass.rows == nullptr ? 1 : pass.rows->taps),
        ring_row_(Padded(pass.out_row())),
        keeps_rows_(pass.columns != nullptr || format.load != nullptr) {}

  /// Elements of scratch for one chunk of rows.
  int64_t scratch() const {
    int64_t size = 0;
    if (keeps_rows_) size = CheckedMul(ring_row_, taps_);
    if (pass_.columns != nullptr && format_.load != nullptr) size += Padded(pass_.in_row());
    if (format_.store != nullptr) size += ring_row_;
    return size;
  }

  void Run(int64_t begin, int64_t end, F* scratch) const {
    F* ring = scratch;
    F* loaded = ring + (keeps_rows_ ? ring_row_ * taps_ : 0);
    F* blended = loaded + (pass_.columns != nullptr && format_.load != nullptr ? Padded(pass_.in_row()) : 0);
    constexpr int64_t kMaxInline = 16;
    int64_t inline_keys[kMaxInline];
    const F* inline_rows[kMaxInline];
    std::unique_ptr<int64_t[]> heap_keys;
    std::unique_ptr<const F*[]> heap_rows;
    int64_t* keys = inline_keys;
    const F** sources = inline_rows;
    if (taps_ > kMaxInline) {  // antialiased shrinking by much
      heap_keys = std::make_unique<int64_t[]>(static_cast<size_t>(taps_));
      heap_rows = std::make_unique<const F*[]>(static_cast<size_t>(taps_));
      keys = heap_keys.get();
      sources = heap_rows.get();
    }
    std::fill_n(keys, taps_, int64_t{-1});

    const int64_t out_rows = pass_.out_rows();
    PacedCancellationPoint look(kTapNs);
    for (int64_t r = begin; r < end; ++r) {
      look.Pass((pass_.in_row() + pass_.out_row()) * (taps_ + row_taps()));
      const int64_t plane = r / out_rows, o = r % out_rows;
      const int64_t first =
          plane * pass_.in_rows() + (pass_.rows == nullptr ? 0 : pass_.rows->first[static_cast<size_t>(o)]);
      for (int64_t t = 0; t < taps_; ++t) sources[t] = SourceRow(first + t, ring, keys, loaded);
      unsigned char* target = out_ + static_cast<size_t>(r * pass_.out_row()) * format_.out_size;
      F* row = format_.store == nullptr ? reinterpret_cast<F*>(target) : blended;
      if (pass_.rows != nullptr && !pass_.rows->outside.empty() && pass_.rows->outside[static_cast<size_t>(o)]) {
        FillCancellably(row, pass_.out_row(), fill_);
      } else if (pass_.rows == nullptr) {
        CopyCancellably(row, sources[0], pass_.out_row());
      } else {
        Blend(sources, Weights<F>(*pass_.rows) + o * taps_, row);
      }
      if (format_.store != nullptr) {
        InCancellablePieces(0, pass_.out_row(), kConvertNs, [&](int64_t i, int64_t last) {
          format_.store(row + i, target + static_cast<size_t>(i) * format_.out_size, last - i);
        });
      }
    }
  }

 private:
  static constexpr double kTapNs = 0.5, kConvertNs = 1;  // of a number

  static int64_t Padded(int64_t n) { return RoundUp(n, int64_t{16}); }  // rows begin on cache lines
  int64_t row_taps() const { return pass_.columns == nullptr ? 0 : pass_.columns->taps; }

  /// Changes `sources`.
  void Blend(const F** sources, const F* weights, F* row) const {
    const auto [first, count] = Taps<F>::Of(weights, taps_);
    const F** read = sources + first;
    InCancellablePieces(0, pass_.out_row(), kTapNs * static_cast<double>(count), [&](int64_t begin, int64_t end) {
      kernels_.blend(read, weights + first, count, end - begin, row + begin);
      for (int64_t t = 0; t < count; ++t) read[t] += end - begin;
    });
  }

  /// Output positions [begin, end) of a row that do without some taps, once more where these made them infinite or no
  /// number.
  void MendPartial(const AxisTable& table, const F* row, int64_t begin, int64_t end, F* to) const {
    const int64_t inner = pass_.inner;
    for (auto at = std::ranges::lower_bound(table.partial, begin); at != table.partial.end() && *at < end; ++at) {
      F* result = to + *at * inner;
      if (std::all_of(result, result + inner, [](F number) { return std::isfinite(number); })) continue;
      const F* weights = Weights<F>(table) + *at * table.taps;
      const auto [first, count] = Taps<F>::Of(weights, table.taps);
      const F* from = row + (table.first[static_cast<size_t>(*at)] + first) * inner;
      for (int64_t c = 0; c < inner; ++c) {
        result[c] = 0;
        for (int64_t t = 0; t < count; ++t) result[c] += weights[first + t] * from[t * inner + c];
      }
    }
  }

  void Load(const unsigned char* raw, F* numbers) const {
    InCancellablePieces(0, pass_.in_row(), kConvertNs, [&](int64_t begin, int64_t end) {
      format_.load(raw + static_cast<size_t>(begin) * format_.in_size, numbers + begin, end - begin);
    });
  }

  /// Row `index` of the source, resampled along the row.
  const F* SourceRow(int64_t index, F* ring, int64_t* keys, F* loaded) const {
    const unsigned char* raw = in_ + static_cast<size_t>(index * pass_.in_row()) * format_.in_size;
    if (!keeps_rows_) return reinterpret_cast<const F*>(raw);
    const int64_t slot = index % taps_;
    F* kept = ring + slot * ring_row_;
    if (keys[slot] == index) return kept;
    keys[slot] = index;
    if (pass_.columns == nullptr) {
      Load(raw, kept);
      return kept;
    }
    const F* row = reinterpret_cast<const F*>(raw);
    if (format_.load != nullptr) {
      Load(raw, loaded);
      row = loaded;
    }
    const AxisTable& table = *pass_.columns;
    InCancellablePieces(0, table.out, kTapNs * static_cast<double>(table.taps * pass_.inner),
                        [&](int64_t begin, int64_t end) {
                          kernels_.resample_row(row, table.first.data() + begin, Weights<F>(table) + begin * table.taps,
                                                table.taps, end - begin, pass_.inner, kept + begin * pass_.inner);
                          MendPartial(table, row, begin, end, kept);
                          if (table.outside.empty()) return;
                          for (int64_t o = begin; o < end; ++o) {
                            if (table.outside[static_cast<size_t>(o)])
                              std::fill_n(kept + o * pass_.inner, pass_.inner, fill_);
                          }
                        });
    return kept;
  }

  const Pass& pass_;
  const RowFormat<F>& format_;
  const ResampleKernels<F>& kernels_;
  F fill_;
  const unsigned char* in_;
  unsigned char* out_;
  int64_t taps_;
  int64_t ring_row_;
  bool keeps_rows_;
};

template <class F>
void RunPass(KernelContext& context, const Pass& pass, const RowFormat<F>& format, F fill, const void* in, void* out) {
  const PassRunner<F> runner(pass, format, fill, in, out);
  const int64_t rows = pass.outer * pass.out_rows();
  const double taps = static_cast<double>((pass.rows ? pass.rows->taps : 1) + (pass.columns ? pass.columns->taps : 0));
  const double cost =
      static_cast<double>(pass.out_row()) * (0.15 * taps + (format.load ? 0.2 : 0.0) + (format.store ? 0.2 : 0.0));
  int64_t chunks = 1;
  if (context.threads().num_threads() > 1 && static_cast<double>(rows) * cost > ThreadPool::kSerialBelowNs) {
    chunks = std::min<int64_t>(rows, context.threads().num_threads() * (pass.outer == 1 ? 1 : 2));
  }
  const int64_t scratch = runner.scratch();
  const std::span<F> memory = context.scratch<F>(static_cast<size_t>(CheckedMul(std::max<int64_t>(scratch, 1), chunks)));
  context.threads().ParallelFor(chunks, cost * static_cast<double>(rows) / static_cast<double>(chunks),
                                [&](int64_t begin, int64_t end) {
                                  for (int64_t c = begin; c < end; ++c) {
                                    runner.Run(rows * c / chunks, rows * (c + 1) / chunks, memory.data() + c * scratch);
                                  }
                                });
}

/// Runs the plan's axes from the last to the first, two at a time where they are neighbours.
template <class F>
void RunPasses(KernelContext& context, const ResamplePlan& plan, const Tensor& input, Tensor& output, int64_t components,
               const RowFormat<F>& ends) {
  Shape sizes(plan.dims.size());
  size_t left = 0;
  for (size_t i = 0; i < plan.dims.size(); ++i) {
    sizes[i] = plan.dims[i].in;
    left += plan.dims[i].table != nullptr;
  }
  const F fill = static_cast<F>(plan.options.extrapolation_value);
  const void* source = input.raw();
  bool first = true;
  for (size_t i = plan.dims.size(); i-- > 0;) {
    if (plan.dims[i].table == nullptr) continue;
    Pass pass;
    pass.inner = CheckedMul(components, sizes.SizeOfRange(i + 1, sizes.rank()));
    size_t front = i;
    const bool pair = i > 0 && plan.dims[i - 1].table != nullptr;
    // A long inner block is blended in place of being copied through a ring.
    if (pair) {
      pass.columns = plan.dims[i].table;
      pass.rows = plan.dims[--front].table;
    } else if (pass.inner == 1) {
      pass.columns = plan.dims[i].table;
    } else {
      pass.rows = plan.dims[i].table;
    }
    pass.outer = sizes.SizeOfRange(0, front);
    for (size_t j = front; j <= i; ++j) sizes[j] = plan.dims[j].out;
    left -= pair ? 2 : 1;
    i = front;

    RowFormat<F> format;
    if (first) {
      format.load = ends.load;
      format.in_size = ends.in_size;
    }
    void* target = output.mutable_raw();
    if (left == 0) {
      format.store = ends.store;
      format.out_size = ends.out_size;
    } else {
      target = context.scratch<F>(static_cast<size_t>(CheckedMul(sizes.num_elements(), components))).data();
    }
    RunPass<F>(context, pass, format, fill, source, target);
    source = target;
    first = false;
  }
}

template <class F, class T>
void RunAs(KernelContext& context, const ResamplePlan& plan, const Tensor& input, Tensor& output, int64_t components) {
  RowFormat<F> ends;
  ends.in_size = ends.out_size = sizeof(T);
  if constexpr (!std::is_same_v<F, T>) {
    ends.load = GetResampleLoad<F, T>();
    ends.store = GetResampleStore<F, T>();
  }
  RunPasses<F>(context, plan, input, output, components, ends);
}

}  // namespace

void ResampleWeighted(KernelContext& context, const ResamplePlan& plan, const Tensor& input, Tensor& output) {
  switch (input.type()) {
    case ElementType::kFloat: return RunAs<float, float>(context, plan, input, output, 1);
    case ElementType::kComplex64: return RunAs<float, float>(context, plan, input, output, 2);
    case ElementType::kDouble: return RunAs<double, double>(context, plan, input, output, 1);
    case ElementType::kComplex128: return RunAs<double, double>(context, plan, input, output, 2);
    case ElementType::kBool: return RunAs<float, bool>(context, plan, input, output, 1);
    case ElementType::kInt32:
    case ElementType::kUInt32:
    case ElementType::kInt64:
    case ElementType::kUInt64:
      return VisitType(TypeList<int32_t, uint32_t, int64_t, uint64_t>{}, input.type(),
                       [&]<class T>() { RunAs<double, T>(context, plan, input, output, 1); });
    default:
      return VisitType(TypeList<Float16, BFloat16, int8_t, uint8_t, int16_t, uint16_t>{}, input.type(),
                       [&]<class T>() { RunAs<float, T>(context, plan, input, output, 1); });
  }
}

}  // namespace tessera::cpu
