// ConcatFromSequence (11).

#include "cpu/ops/control_flow/rows.h"
#include "cpu/ops/sequence/elements.h"

namespace tessera::cpu {
namespace {

class ConcatFromSequence final : public Kernel {
 public:
  explicit ConcatFromSequence(const KernelInfo& info)
      : axis_(info.attribute<int64_t>("axis")), new_axis_(info.attribute<int64_t>("new_axis", 0) != 0) {}

  void Compute(KernelContext& context) override {
    Require(context.input_value(0) != nullptr, "a sequence is required");
    const auto& elements = context.input_value(0)->sequence().elements;
    Require(!elements.empty(), "an empty sequence cannot be joined");
    const Tensor& first = elements.front().tensor();
    const auto rank = static_cast<int64_t>(first.shape().rank());
    const size_t axis = new_axis_ ? ResolveAxis(axis_, -rank - 1, rank + 1) : ResolveAxis(axis_, -rank, rank);
    const auto extent = [&](const Tensor& t) { return new_axis_ ? 1 : t.shape()[axis]; };
    Shape result;
    for (size_t i = 0; i < first.shape().rank() + (new_axis_ ? 1 : 0); ++i) {
      result.Append(i == axis ? 0 : first.shape()[new_axis_ && i > axis ? i - 1 : i]);
    }
    for (const Value& element : elements) {
      const Tensor& tensor = element.tensor();
      bool fits = tensor.type() == first.type() && tensor.shape().rank() == first.shape().rank();
      for (size_t i = 0; fits && i < tensor.shape().rank(); ++i) {
        fits = tensor.shape()[i] == first.shape()[i] || (!new_axis_ && i == axis);
      }
      Require(fits, "elements {} {} and {} {} cannot be joined along axis {}", ElementTypeName(first.type()), first.shape(),
              ElementTypeName(tensor.type()), tensor.shape(), axis);
      result[axis] = CheckedAdd(result[axis], extent(tensor));
    }
    Tensor& y = *context.output(0, first.type(), result);
    if (y.num_elements() == 0) return;
    const int64_t outer = result.SizeOfRange(0, axis), inner = result.SizeOfRange(axis + 1, result.rank());
    int64_t at = 0;
    PacedCancellationPoint look(1);
    for (const Value& element : elements) {
      const Tensor& tensor = element.tensor();
      look.Pass(10);
      const int64_t run = extent(tensor) * inner;
      for (int64_t row = 0; row < outer; ++row) {
        look.Pass(run + 10);
        CopyElements(tensor, row * run, y, row * result[axis] * inner + at, run);
      }
      at += run;
    }
  }

 private:
  int64_t axis_;
  bool new_axis_;
};

}  // namespace

void RegisterConcatFromSequence(KernelRegistry& registry) {
  registry.Add(Op("ConcatFromSequence").Versions(11).Make<ConcatFromSequence>());
}

}  // namespace tessera::cpu
