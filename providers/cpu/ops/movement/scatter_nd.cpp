// ScatterND (11, 13; 16, 18: reduction): slices of the output set or combined per tuple of indices.

#include "base/cancellation.h"
#include "cpu/engine/index_tuples.h"
#include "cpu/engine/on_bytes.h"
#include "cpu/engine/scatter_reduction.h"
#include "cpu/engine/strided_copy.h"
#include "cpu/ops/ops.h"

namespace tessera::cpu {
namespace {

template <ScatterReduction kReduction, class T>
void ScatterSlice(T* output, const T* update, int64_t count) {
  InCancellablePieces(0, count, std::is_same_v<T, std::string> ? 25 : 1, [&](int64_t begin, int64_t end) {
    if constexpr (kReduction == ScatterReduction::kNone) {
      std::copy(update + begin, update + end, output + begin);
    } else {
      for (int64_t i = begin; i < end; ++i) output[i] = Combine<kReduction>(output[i], update[i]);
    }
  });
}

template <ScatterReduction kReduction, class T>
void ScatterPoint(T& target, const T& update) {
  if constexpr (kReduction == ScatterReduction::kNone) {
    target = update;
  } else {
    target = Combine<kReduction>(target, update);
  }
}

class ScatterND final : public Kernel {
 public:
  explicit ScatterND(const KernelInfo& info) : reduction_(ScatterReductionOf(info.node())) {}

  void Compute(KernelContext& context) override {
    const Tensor& data = context.required_input(0);
    const Tensor& indices = context.required_input(1);
    const Tensor& updates = context.required_input(2);
    const int64_t depth = CheckScatterND(data, indices, updates);
    const ElementKind element = KindOf(data.type());
    Tensor* output = context.output(0, data.type(), data.shape());
    ReserveTexts(data, updates, *output);
    CopyUnlessInPlace(context.threads(), data, *output);
    const int64_t tuples = indices.shape().SizeOfRange(0, indices.shape().rank() - 1);
    if (tuples == 0) return;
    const std::span<int64_t> steps = context.scratch<int64_t>(static_cast<size_t>(depth));
    const int64_t slice = TupleSteps(data.shape(), 0, steps);
    if (depth == 0 && slice == 0) return;  // nothing to write, and no index to check
    const TupleGeometry g{data.shape().data(), steps.data(), depth};
    const int64_t* tuple = indices.data<int64_t>();
    const double cost =
        (element.is_string ? 25.0 : 0.1 * static_cast<double>(element.bytes)) * static_cast<double>(slice) + 2;
    ThreadPool& threads = context.threads();
    // Threads that look for their own among short slices take longer than one that writes all.
    if (slice * element.bytes < kMinSharedSlice || threads.num_threads() == 1 ||
        cost * static_cast<double>(tuples) < ThreadPool::kSerialBelowNs) {
      VisitScatter(data.type(), reduction_, [&]<class T, ScatterReduction kReduction>() {
        T* to = static_cast<T*>(output->mutable_raw());
        const T* from = static_cast<const T*>(updates.raw());
        InCancellablePieces(0, tuples, 2 + static_cast<double>(depth), [&](int64_t begin, int64_t end) {
          if (slice == 1) {
            for (int64_t i = begin; i < end; ++i) ScatterPoint<kReduction>(to[TupleOffset(g, tuple + i * depth)], from[i]);
          } else {
            for (int64_t i = begin; i < end; ++i)
              ScatterSlice<kReduction>(to + TupleOffset(g, tuple + i * depth), from + i * slice, slice);
          }
        });
      });
      return;
    }
    // Equal tuples must meet in their order: a thread owns a range of the output's slices and looks at all tuples.
    const std::span<int64_t> offsets = context.scratch<int64_t>(static_cast<size_t>(tuples));
    threads.ParallelFor(tuples, 1.5 * static_cast<double>(depth), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) offsets[static_cast<size_t>(i)] = TupleOffset(g, tuple + i * depth);
    });
    const int64_t shares = threads.num_threads(), total = output->num_elements();
    const int64_t share = (total / slice + shares - 1) / shares * slice;
    VisitScatter(data.type(), reduction_, [&]<class T, ScatterReduction kReduction>() {
      threads.ParallelFor(shares, ThreadPool::kSerialBelowNs, [&](int64_t begin, int64_t end) {
        const int64_t first = begin * share, last = std::min(end * share, total);
        PacedCancellationPoint look(1);
        for (int64_t i = 0; i < tuples; ++i) {
          const int64_t offset = offsets[static_cast<size_t>(i)];
          look.Pass();
          if (offset < first || offset >= last) continue;
          ScatterSlice<kReduction>(static_cast<T*>(output->mutable_raw()) + offset,
                                   static_cast<const T*>(updates.raw()) + i * slice, slice);
        }
      });
    });
  }

 private:
  static constexpr int64_t kMinSharedSlice = 256;

  const ScatterReduction reduction_;
};

}  // namespace

void RegisterScatterND(KernelRegistry& registry) {
  registry.Add(Op("ScatterND").Versions(11).InPlace(0, 0).Factory(MakeScatter<ScatterND>));
}

}  // namespace tessera::cpu
