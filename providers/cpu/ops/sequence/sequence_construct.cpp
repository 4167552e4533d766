// SequenceConstruct (11), SequenceEmpty (11): https://onnx.ai/onnx/operators/onnx__SequenceConstruct.html

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

class SequenceEmpty final : public Kernel {
 public:
  explicit SequenceEmpty(const KernelInfo& info)
      : element_type_(TypeInfo::OfTensor(
            static_cast<ElementType>(info.attribute<int64_t>("dtype", static_cast<int64_t>(ElementType::kFloat))))) {}

  void Compute(KernelContext& context) override { context.set_output(0, Sequence{element_type_, {}}); }

 private:
  TypeInfo element_type_;
};

}  // namespace

void RegisterSequenceConstruct(KernelRegistry& registry) {
  registry.Add(Op("SequenceConstruct").Versions(11).Make<SequenceConstruct>());
  registry.Add(Op("SequenceEmpty").Versions(11).Make<SequenceEmpty>());
}

}  // namespace tessera::cpu
