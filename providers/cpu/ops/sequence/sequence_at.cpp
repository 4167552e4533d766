// SequenceAt (11).

#include "cpu/ops/sequence/elements.h"

namespace tessera::cpu {
namespace {

class SequenceAt final : public Kernel {
 public:
  explicit SequenceAt(const KernelInfo&) {}

  void Compute(KernelContext& context) override {
    Require(context.input_value(0) != nullptr, "a sequence is required");
    const Sequence& sequence = context.input_value(0)->sequence();
    context.set_output(
        0, sequence.elements[ResolvePosition(ScalarIndex(context.required_input(1)), sequence.elements.size())]);
  }
};

}  // namespace

void RegisterSequenceAt(KernelRegistry& registry) { registry.Add(Op("SequenceAt").Versions(11).Make<SequenceAt>()); }

}  // namespace tessera::cpu
