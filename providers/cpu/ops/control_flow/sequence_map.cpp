// SequenceMap, ai.onnx, version 17.

#include "base/cancellation.h"
#include "cpu/engine/sequences.h"
#include "cpu/ops/control_flow/rows.h"
#include "cpu/ops/ops.h"

namespace tessera::cpu {
namespace {

class SequenceMap final : public Kernel {
 public:
  explicit SequenceMap(const KernelInfo& info) : body_(info.subgraph("body")), inputs_(info.num_inputs()) {
    Require(body_.num_inputs() == inputs_, "the body takes {} inputs, the node gives {}", body_.num_inputs(), inputs_);
    Require(body_.num_outputs() >= info.num_outputs(), "the body has {} outputs, the node {}", body_.num_outputs(),
            info.num_outputs());
    for (size_t i = 0; i < info.num_outputs(); ++i) {
      const TypeInfo& stated = info.output_info(i);
      element_types_.push_back(stated.inner != nullptr ? *stated.inner : body_.output_type(i));
    }
  }

  void Compute(KernelContext& context) override {
    std::vector<Value> in(inputs_), out(body_.num_outputs());
    size_t length = 0;
    for (size_t i = 0; i < inputs_; ++i) {
      const Value* input = context.input_value(i);
      Require(input != nullptr && !input->is_none(), "input {} is required", i);
      if (i == 0) length = input->sequence().elements.size();
      if (input->kind() != ValueKind::kSequence) {
        in[i] = *input;
      } else {
        Require(input->sequence().elements.size() == length, "input {} has {} elements, the first has {}", i,
                input->sequence().elements.size(), length);
      }
    }
    std::vector<Sequence> results;
    results.reserve(element_types_.size());
    for (const TypeInfo& type : element_types_) results.push_back(MakeSequence(context, type, length));
    for (size_t k = 0; k < length; ++k) {
      CancellationPoint();
      for (size_t i = 0; i < inputs_; ++i) {
        const Value& input = *context.input_value(i);
        if (input.kind() == ValueKind::kSequence) in[i] = input.sequence().elements[k];
        RequireFits(in[i], body_.input_type(i), "the body's input", i);
      }
      body_.Run(context, in, out);
      for (size_t i = 0; i < results.size(); ++i) {
        RequireFits(out[i], element_types_[i], "the body's output", i);
        Append(results[i], std::move(out[i]));
      }
    }
    for (size_t i = 0; i < results.size(); ++i) context.set_output(i, std::move(results[i]));
  }

 private:
  SubgraphRunner& body_;
  size_t inputs_;
  std::vector<TypeInfo> element_types_;
};

}  // namespace

void RegisterSequenceMap(KernelRegistry& registry) { registry.Add(Op("SequenceMap").Versions(17).Make<SequenceMap>()); }

}  // namespace tessera::cpu
