// SequenceErase (11).

#include <memory>

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
    if (const size_t shape = ShapeBytes(sequence.elements[at]); shape > 0) {
      const size_t others = sequence.charge->bytes() - shape;
      sequence.charge = nullptr;  // both at once may be more than the limit
      sequence.charge = std::make_shared<MemoryCharge>(context.allocator(), others);
    }
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
