// SequenceErase (11).

#include "cpu/ops/sequence/elements.h"

namespace tessera::cpu {
namespace {

class SequenceErase final : public Kernel {
 public:
  explicit SequenceErase(const KernelInfo&) {}

  void Compute(KernelContext& context) override {
    Require(context.input_value(0) != nullptr, "a sequence is required");
    const Tensor* position = context.input(1);
    const size_t at = ResolvePosition(position != nullptr ? ScalarIndex(*position) : -1,
                                      context.input_value(0)->sequence().elements.size());
    Sequence sequence = EditableSequence(context);
    ChargeLess(sequence, ShapeBytes(sequence.elements[at]));
    sequence.elements.erase(sequence.elements.begin() + static_cast<std::ptrdiff_t>(at));
    if (sequence.num_owned > at) --sequence.num_owned;
    context.set_output(0, std::move(sequence));
  }
};

}  // namespace

void RegisterSequenceErase(KernelRegistry& registry) {
  registry.Add(Op("SequenceErase").Versions(11).Make<SequenceErase>());
}

}  // namespace tessera::cpu
