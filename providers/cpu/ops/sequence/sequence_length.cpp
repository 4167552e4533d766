// SequenceLength (11).

#include "cpu/ops/sequence/elements.h"

namespace tessera::cpu {
namespace {

class SequenceLength final : public Kernel {
 public:
  explicit SequenceLength(const KernelInfo&) {}

  void Compute(KernelContext& context) override {
    Require(context.input_value(0) != nullptr, "a sequence is required");
    const auto length = static_cast<int64_t>(context.input_value(0)->sequence().elements.size());
    context.output(0, Shape{})->mutable_data<int64_t>()[0] = length;
  }
};

}  // namespace

void RegisterSequenceLength(KernelRegistry& registry) {
  registry.Add(Op("SequenceLength").Versions(11).Make<SequenceLength>());
}

}  // namespace tessera::cpu
