// SequenceConstruct (11).

#include "cpu/ops/sequence/elements.h"

namespace tessera::cpu {
namespace {

class SequenceConstruct final : public Kernel {
 public:
  explicit SequenceConstruct(const KernelInfo& info)
      : element_type_(ElementTypeOfSequence(info.output_info(0), info.input_info(0))) {}

  void Compute(KernelContext& context) override {
    Sequence sequence = MakeSequence(context, element_type_, context.num_inputs());
    for (size_t i = 0; i < context.num_inputs(); ++i) Append(sequence, OwnedElement(context, context.required_input(i)));
    RequireOneType(sequence);
    context.set_output(0, std::move(sequence));
  }

 private:
  TypeInfo element_type_;
};

}  // namespace

void RegisterSequenceConstruct(KernelRegistry& registry) {
  registry.Add(Op("SequenceConstruct").Versions(11).Make<SequenceConstruct>());
}

}  // namespace tessera::cpu
