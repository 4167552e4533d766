// SequenceInsert (11).

#include "cpu/ops/sequence/elements.h"

namespace tessera::cpu {
namespace {

class SequenceInsert final : public Kernel {
 public:
  explicit SequenceInsert(const KernelInfo&) {}

  void Compute(KernelContext& context) override {
    Require(context.input_value(0) != nullptr && context.input_value(1) != nullptr,
            "a sequence and an element are required");
    const size_t size = context.input_value(0)->sequence().elements.size();
    size_t at = size;
    if (const Tensor* position = context.input(2)) {
      // The end is a valid place to insert at: [-n, n].
      const int64_t given = ScalarIndex(*position), n = static_cast<int64_t>(size);
      Require(given >= -n && given <= n, "position {} is outside [-{}, {}]", given, n, n);
      at = static_cast<size_t>(given < 0 ? given + n : given);
    }
    Value element = OwnedElement(context, *context.input_value(1));
    Sequence sequence = EditableSequence(context);
    // All that were there already fit.
    RequireFits(sequence, element);
    ChargeMore(sequence, ShapeBytes(element));
    sequence.elements.insert(sequence.elements.begin() + static_cast<std::ptrdiff_t>(at), std::move(element));
    if (sequence.num_owned >= at) ++sequence.num_owned;
    context.set_output(0, std::move(sequence));
  }
};

}  // namespace

void RegisterSequenceInsert(KernelRegistry& registry) {
  registry.Add(Op("SequenceInsert").Versions(11).Make<SequenceInsert>());
}

}  // namespace tessera::cpu
