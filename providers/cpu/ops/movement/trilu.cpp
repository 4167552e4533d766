// Trilu (14): the upper or lower triangle of each matrix, the rest zero.

#include "ops/movement/trilu.h"

#include "cpu/engine/element.h"
#include "cpu/engine/indices.h"
#include "cpu/engine/on_bytes.h"
#include "cpu/ops/ops.h"

namespace tessera::cpu {
namespace {

void ClearElements(std::byte* dst, int64_t count, ElementKind element) {
  if (count > 0) ClearCancellably(dst, static_cast<size_t>(count * element.bytes));
}

class Trilu final : public Kernel {
 public:
  explicit Trilu(const KernelInfo& info) : upper_(TriluAttributes(info.node()).upper) {}

  void Compute(KernelContext& context) override {
    const Tensor& input = context.required_input(0);
    const Shape& dims = input.shape();
    const DiagonalOfMatrix diagonal = TriluAttributes::Diagonal(dims, context.input(1));
    const int64_t rows = diagonal.rows, columns = diagonal.columns, k = diagonal.k;
    const ElementKind element = KindOf(input.type());
    Tensor* output = context.output(0, dims);
    if (output->num_elements() == 0) return;
    const std::byte* from = Bytes(input);
    std::byte* to = Bytes(*output);
    const int64_t total = dims.SizeOfRange(0, dims.rank() - 1);
    context.threads().ParallelFor(total, CopyCost(element) * static_cast<double>(columns), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        // Upper keeps columns from the diagonal on, lower those before the one after it.
        const int64_t split = std::clamp<int64_t>(r % rows + k + (upper_ ? 0 : 1), 0, columns);
        const int64_t keep = (r * columns + (upper_ ? split : 0)) * element.bytes;
        const int64_t clear = (r * columns + (upper_ ? 0 : split)) * element.bytes;
        if (from != to) CopyElements(to + keep, from + keep, upper_ ? columns - split : split, element);
        ClearElements(to + clear, upper_ ? split : columns - split, element);
      }
    });
  }

 private:
  const bool upper_;
};

}  // namespace

void RegisterTrilu(KernelRegistry& registry) {
  registry.Add(Op("Trilu").Versions(14).InPlace(0, 0).Factory(MakeMovement<Trilu>));
}

}  // namespace tessera::cpu
