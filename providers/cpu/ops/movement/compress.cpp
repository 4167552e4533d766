// Compress (9, 11, 28): the slices along `axis`, or the elements, for which the condition holds.

#include "ops/movement/compress.h"

#include "base/cancellation.h"
#include "base/rounding.h"
#include "cpu/engine/indices.h"
#include "cpu/engine/on_bytes.h"
#include "cpu/engine/strided_copy.h"
#include "cpu/ops/ops.h"

namespace tessera::cpu {
namespace {

constexpr int64_t kLookedThrough = 8192;

int64_t CountTrue(const uint8_t* condition, int64_t count) {
  int64_t sum = 0;
  InCancellablePieces(0, count, 0.2, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) sum += condition[i] != 0 ? 1 : 0;
  });
  return sum;
}

/// Packs the elements whose condition holds; `kept` is their number.
template <class T>
void Pick(const T* data, const uint8_t* condition, int64_t kept, T* output) {
  for (int64_t i = 0, n = 0; n < kept; ++i) {
    output[n] = data[i];
    n += condition[i] != 0 ? 1 : 0;
  }
}

struct Run {
  int64_t begin, target, length;  // slices
};

class Compress final : public Kernel {
 public:
  explicit Compress(const KernelInfo& info) : attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Tensor& input = context.required_input(0);
    const Tensor& condition = context.required_input(1);
    const auto [outer, dim, inner] = attributes_.View(input.shape(), condition);
    const int64_t length = std::min(dim, condition.num_elements());
    const auto* wanted = static_cast<const uint8_t*>(condition.raw());
    const int64_t kept = CountTrue(wanted, length);
    Tensor* output = context.output(0, attributes_.ResultShape(input.shape(), kept));
    if (output->num_elements() == 0) return;
    const ElementKind element = KindOf(input.type());
    if (inner > 1) return CopySlices(context, input, wanted, length, dim, outer, inner, kept, *output);
    VisitElement(element, [&]<class T>() {
      const T* from = static_cast<const T*>(input.raw());
      T* to = static_cast<T*>(output->mutable_raw());
      const double cost = CopyCost(element) + 1;
      if (outer > 1) {
        context.threads().ParallelFor(outer, cost * static_cast<double>(length), [&](int64_t begin, int64_t end) {
          for (int64_t r = begin; r < end; ++r) Pick(from + r * dim, wanted, kept, to + r * kept);
        });
        return;
      }
      const int64_t chunks = CeilDiv(length, kLookedThrough);
      const auto targets = context.scratch<int64_t>(static_cast<size_t>(chunks + 1));
      targets[0] = 0;
      PacedCancellationPoint look(1);
      for (int64_t c = 0; c < chunks; ++c) {
        look.Pass(kLookedThrough);
        const auto i = static_cast<size_t>(c);
        targets[i + 1] =
            targets[i] + CountTrue(wanted + c * kLookedThrough, std::min(kLookedThrough, length - c * kLookedThrough));
      }
      context.threads().ParallelFor(chunks, cost * kLookedThrough, [&](int64_t begin, int64_t end) {
        for (int64_t c = begin; c < end; ++c) {
          const int64_t target = targets[static_cast<size_t>(c)];
          Pick(from + c * kLookedThrough, wanted + c * kLookedThrough, targets[static_cast<size_t>(c + 1)] - target,
               to + target);
        }
      });
    });
  }

 private:
  /// Neighbouring slices go together.
  static void CopySlices(KernelContext& context, const Tensor& input, const uint8_t* wanted, int64_t length, int64_t dim,
                         int64_t outer, int64_t inner, int64_t kept, Tensor& output) {
    const std::span<Run> runs = context.scratch<Run>(static_cast<size_t>(kept));
    size_t count = 0;
    PacedCancellationPoint look(2);
    for (int64_t i = 0, target = 0; i < length; ++i) {
      look.Pass();
      if (wanted[i] == 0) continue;
      if (count > 0 && runs[count - 1].begin + runs[count - 1].length == i) {
        ++runs[count - 1].length;
      } else {
        runs[count++] = {i, target, 1};
      }
      ++target;
    }
    const ElementKind element = KindOf(input.type());
    const int64_t slice = inner * element.bytes;
    const std::byte* from = Bytes(input);
    std::byte* to = Bytes(output);
    const double cost = CopyCost(element) * static_cast<double>(kept * inner) / static_cast<double>(count) + 2;
    const auto total = static_cast<int64_t>(count);
    context.threads().ParallelFor(outer * total, cost, [&](int64_t begin, int64_t end) {
      int64_t row = begin / total, at = begin % total;
      for (int64_t i = begin; i < end; ++row, at = 0) {
        for (; at < total && i < end; ++at, ++i) {
          const Run& run = runs[static_cast<size_t>(at)];
          CopyElements(to + (row * kept + run.target) * slice, from + (row * dim + run.begin) * slice, run.length * inner,
                       element);
        }
      }
    });
  }

  const CompressAttributes attributes_;
};

}  // namespace

void RegisterCompress(KernelRegistry& registry) {
  registry.Add(Op("Compress").Versions(9).Factory(MakeMovement<Compress>));
}

}  // namespace tessera::cpu
