// If, ai.onnx, versions 1, 11, 13, 16, 19, 21, 23, 24, 25.

#include "cpu/ops/control_flow/rows.h"
#include "cpu/ops/ops.h"

namespace tessera::cpu {
namespace {

class If final : public Kernel {
 public:
  explicit If(const KernelInfo& info) : then_(info.subgraph("then_branch")), else_(info.subgraph("else_branch")) {
    for (const SubgraphRunner* branch : {&then_, &else_}) {
      Require(branch->num_inputs() == 0, "a branch of If takes no inputs, this one takes {}", branch->num_inputs());
      Require(branch->num_outputs() >= info.num_outputs(), "a branch has {} outputs, the node {}", branch->num_outputs(),
              info.num_outputs());
    }
    for (size_t i = 0; i < info.num_outputs(); ++i) types_.push_back(info.output_info(i));
  }

  void Compute(KernelContext& context) override {
    const Tensor& condition = context.required_input(0);
    Require(condition.is(ElementType::kBool) && condition.num_elements() == 1,
            "the condition is {} {}, one bool is expected", ElementTypeName(condition.type()), condition.shape());
    SubgraphRunner& branch = *condition.data<bool>() ? then_ : else_;
    std::vector<Value> outputs(branch.num_outputs());
    branch.Run(context, {}, outputs);
    for (size_t i = 0; i < types_.size(); ++i) {
      RequireFits(outputs[i], types_[i], "output", i);
      context.set_output(i, std::move(outputs[i]));
    }
  }

 private:
  SubgraphRunner& then_;
  SubgraphRunner& else_;
  std::vector<TypeInfo> types_;
};

}  // namespace

void RegisterIf(KernelRegistry& registry) { registry.Add(Op("If").Versions(1).Make<If>()); }

}  // namespace tessera::cpu
