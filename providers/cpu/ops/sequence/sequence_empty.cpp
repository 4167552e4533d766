// SequenceEmpty (11).

#include "cpu/ops/sequence/elements.h"

namespace tessera::cpu {
namespace {

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

void RegisterSequenceEmpty(KernelRegistry& registry) {
  registry.Add(Op("SequenceEmpty").Versions(11).Make<SequenceEmpty>());
}

}  // namespace tessera::cpu
