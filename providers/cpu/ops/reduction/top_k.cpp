// TopK: versions 1 (k is an attribute), 10 (an input), 11 (`largest`, `sorted`; results are always sorted), 24. NaN counts
// as larger than any number; of equal elements the one with the lower index comes first.

#include "kernels/reduce/top_k.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>

#include "base/cancellable_sort.h"
#include "base/cancellation.h"
#include "base/checked.h"
#include "base/rounding.h"
#include "cpu/engine/convert_row.h"
#include "cpu/engine/found_position.h"
#include "cpu/engine/slots.h"
#include "cpu/ops/ops.h"
#include "cpu/types.h"
#include "ops/axis.h"
#include "ops/reduction/top_k.h"

namespace tessera::cpu {
namespace {

constexpr int64_t kPanel = 16;        // columns whose keys are gathered together
constexpr int64_t kPart = 64 * 1024;  // elements of a row that are worth a thread

template <class T>
using Key = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;

/// A signed integer that orders as the element does; `flip` is 0, or -1 to turn the order around.
template <class T>
Key<T> KeyOf(T x, Key<T> flip) {
  if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>) {
    return KeyOf(static_cast<float>(x), flip);
  } else if constexpr (std::is_floating_point_v<T>) {
    return TopKKeyOf(x, flip);
  } else if constexpr (std::is_same_v<T, uint64_t> || std::is_same_v<T, uint32_t>) {
    return static_cast<Key<T>>(x ^ (T{1} << (8 * sizeof(T) - 1))) ^ flip;
  } else {
    return static_cast<Key<T>>(x) ^ flip;
  }
}

template <class T>
class TopK final : public Kernel {
 public:
  explicit TopK(const KernelInfo& info) : attributes_(info.node()), flip_(attributes_.largest ? 0 : -1) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const size_t axis = NormalizeAxis(attributes_.axis, x.shape().rank());
    const int64_t k = attributes_.Count(context.input(1), x.shape()[axis]);
    Shape shape = x.shape();
    shape[axis] = k;
    Tensor* values = context.output(0, shape);
    Tensor* indices = context.output(1, shape);
    if (shape.num_elements() == 0) return;
    const AxisView view(x.shape(), axis);
    Require(sizeof(T) == 8 || view.count <= std::numeric_limits<uint32_t>::max(), "an axis of {} elements is too long",
            view.count);
    Job job{view, k, x.data<T>(), values == nullptr ? nullptr : values->mutable_data<T>(),
            indices == nullptr ? nullptr : indices->mutable_data<int64_t>()};
    const int64_t threads = context.threads().num_threads(), parts = std::min(threads, view.count / kPart);
    if (view.inner == 1 && view.outer < threads && parts > 1 && TopKSelectsFew(view.count / parts, k)) {
      ByParts(context, job, parts);
    } else {
      ByRows(context, job);
    }
  }

 private:
  using Candidate = typename TopKCandidate<Key<T>>::Type;

  struct Job {
    AxisView view;
    int64_t k;
    const T* x;
    T* values;
    int64_t* indices;
  };

  void MakeKeys(const T* x, Key<T>* keys, int64_t count) const {
    if constexpr (std::is_floating_point_v<T>) {
      kernels_.make_keys(x, keys, count, flip_);
    } else {
      InCancellablePieces(0, count, 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) keys[i] = KeyOf(x[i], flip_);
      });
    }
  }

  void Write(const Job& job, int64_t outer, int64_t column, const Candidate* candidates) const {
    const int64_t inner = job.view.inner, to = outer * job.k * inner + column,
                  from = outer * job.view.count * inner + column;
    PacedCancellationPoint look(5);
    for (int64_t i = 0; i < job.k; ++i) {
      look.Pass();
      const int64_t position = FoundPosition(PositionOf(candidates[i]), job.view.count);
      if (job.indices != nullptr) job.indices[to + i * inner] = position;
      if (job.values != nullptr) job.values[to + i * inner] = job.x[from + position * inner];
    }
  }

  /// Contiguous rows, or panels of columns whose keys are gathered together.
  void ByRows(KernelContext& context, const Job& job) const {
    const int64_t count = job.view.count, inner = job.view.inner, columns = std::min(inner, kPanel);
    const int64_t panels = CeilDiv(inner, kPanel), units = job.view.outer * panels;
    const int64_t workspace_size = TopKScratch(count, job.k);
    const double element_ns = TopKSelectsFew(count, job.k) ? 0.5 : 20;
    const double unit_ns = element_ns * static_cast<double>(count * columns) + 200;
    const int64_t slots = SlotCount(context.threads(), units, unit_ns);
    const auto keys = context.scratch<Key<T>>(static_cast<size_t>(CheckedMul(slots, CheckedMul(count, columns))));
    const auto candidates = context.scratch<Candidate>(static_cast<size_t>(CheckedMul(slots, workspace_size)));
    ParallelSlots(context.threads(), slots, units, unit_ns, [&](int64_t slot, int64_t begin, int64_t end) {
      Key<T>* panel = keys.data() + slot * count * columns;
      Candidate* best = candidates.data() + slot * workspace_size;
      for (int64_t unit = begin; unit < end; ++unit) {
        const int64_t outer = unit / panels, column = unit % panels * kPanel, n = std::min(kPanel, inner - column);
        const T* x = job.x + outer * count * inner + column;
        if (inner == 1) {
          MakeKeys(x, panel, count);
        } else {
          PacedCancellationPoint look(2);
          for (int64_t i = 0; i < count; ++i) {
            look.Pass(n);
            for (int64_t c = 0; c < n; ++c) panel[c * count + i] = KeyOf(x[i * inner + c], flip_);
          }
        }
        for (int64_t c = 0; c < n; ++c) {
          kernels_.select(panel + c * count, count, 0, job.k, best);
          Write(job, outer, column + c, best);
        }
      }
    });
  }

  /// Few long rows: the best of each part, then the best of those.
  void ByParts(KernelContext& context, const Job& job, int64_t parts) const {
    const int64_t count = job.view.count, k = job.k, longest = count / parts + 1, workspace_size = TopKScratch(longest, k);
    const auto keys = context.scratch<Key<T>>(static_cast<size_t>(longest * parts));
    const auto candidates = context.scratch<Candidate>(static_cast<size_t>(workspace_size * parts));
    const auto merged = context.scratch<Candidate>(static_cast<size_t>(2 * k * parts));
    for (int64_t outer = 0; outer < job.view.outer; ++outer) {
      const T* x = job.x + outer * count;
      context.threads().ParallelFor(parts, 0.5 * static_cast<double>(longest), [&](int64_t begin, int64_t end) {
        for (int64_t part = begin; part < end; ++part) {
          const int64_t first = count * part / parts, n = count * (part + 1) / parts - first;
          Key<T>* row = keys.data() + part * longest;
          MakeKeys(x + first, row, n);
          kernels_.select(row, n, first, k, candidates.data() + part * workspace_size);
        }
      });
      for (int64_t part = 0; part < parts; ++part)
        std::copy_n(candidates.data() + part * workspace_size, k, merged.data() + part * k);
      SortCancellably(merged.begin(), merged.begin() + k * parts, std::greater<Candidate>());
      Write(job, outer, 0, merged.data());
    }
  }

  TopKAttributes attributes_;
  Key<T> flip_;
  const TopKKernels<Key<T>>& kernels_ = TopKKernelsOf<Key<T>>();
};

}  // namespace

void RegisterTopK(KernelRegistry& registry) {
  registry.Add(Op("TopK").Types(0, kNumbers).HostInput(1).Factory(MakeTyped<TopK, NumberTypes>));
}

}  // namespace tessera::cpu
