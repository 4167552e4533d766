#include "plugin/single_node.h"

#include "base/check.h"
#include "plugin/run.h"

namespace tessera::plugin {

SubgraphRunner& SingleNodeInfo::subgraph(std::string_view attribute) const {
  Fail(ErrorCode::kNotImplemented, "graph '{}' is run by Tessera's control flow, not by a library's kernel", attribute);
}

bool OnHost(const std::map<size_t, OrtMemType>& memory, size_t i) {
  const auto found = memory.find(i);
  return found != memory.end() && found->second != OrtMemTypeDefault;
}

KernelDef OperandsOf(const OrtKernelDef& def, const GraphViewer& graph) {
  const Node& node = NodeOf(graph);
  const std::vector<int32_t> inputs = IndicesOf(node.inputs, graph.inputs());
  const std::vector<int32_t> outputs = IndicesOf(node.outputs, graph.outputs());
  KernelDef operands(node.op_type, node.domain);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] < 0 || !OnHost(def.input_memory, i)) continue;
    for (size_t k = 0; k < inputs.size(); ++k) {
      if (inputs[k] != inputs[i] || OnHost(def.input_memory, k)) continue;
      Fail(ErrorCode::kNotImplemented,
           "the library's kernel reads inputs {} and {} in two memories, and they are one value", i, k);
    }
    operands.HostInput(static_cast<size_t>(inputs[i]));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i] >= 0 && OnHost(def.output_memory, i)) operands.HostOutput(static_cast<size_t>(outputs[i]));
  }
  return operands;
}

}  // namespace tessera::plugin
